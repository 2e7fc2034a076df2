"""What builds have made: each folder has a list of its files with their hashes, ``made.sha256``.

The step that makes a file writes its line (:mod:`neuralart.scons.making`). A command that flashes,
loads, signs, exports or runs a file reads it by :func:`read`: the bytes that are hashed are those that
are used. The list has the form of ``sha256sum``, which can check it without this package
(``sha256sum --check made.sha256``). It finds damage and edits, not an attacker, who can write the list
as well.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.quick import lazy_regex

LIST = "made.sha256"
_ROW = lazy_regex(r"(\\?)([0-9a-f]{64})  (.+)")
_ESCAPED = lazy_regex(r"\\(.)")
_LETTERS = {"\n": "\\n", "\r": "\\r", "\\": "\\\\"}
# A folder that has these has been filled by a build of a variant.
_OF_VARIANT = ("index.json", "summary.txt")


def listed(folder: Path) -> dict[str, str] | None:
    """Read the list of a folder: SHA-256 by name of file; None if there is no list. Lines that are no rows are ignored.
    NeuralArtError: the list cannot be read.
    """
    path = folder / LIST
    if not os.path.lexists(path):
        return None
    rows = map(_ROW.fullmatch, read_bytes(path).decode("utf-8", "surrogateescape").split("\n"))
    return {_unescaped(row[3]) if row[1] else row[3]: row[2] for row in rows if row is not None}


def _unescaped(name: str) -> str:
    letters = {text[1]: letter for letter, text in _LETTERS.items()}
    return _ESCAPED.sub(lambda found: letters.get(found[1], found[0]), name)


def write_list(folder: Path, hashes: dict[str, str]) -> None:
    """Write the list of a folder, without files that are gone; an empty list is deleted. NeuralArtError: it cannot be
    written.
    """
    rows = []
    for name, digest in sorted(hashes.items()):
        if os.path.lexists(folder / name):
            plain = "".join(_LETTERS.get(letter, letter) for letter in name)
            mark = "\\" if plain != name else ""
            rows.append(f"{mark}{digest}  {plain}\n")
    if rows:
        write_bytes(folder / LIST, "".join(rows).encode("utf-8", "surrogateescape"))
        return
    try:
        (folder / LIST).unlink(missing_ok=True)
    except OSError as error:
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(folder / LIST)) from error


def read(path: Path, hint: str = "") -> bytes:
    """Read a file that will be shipped. ``hint``: what to do if it is missing. NeuralArtError: it cannot be read, or is
    not what the build made.
    """
    data = read_bytes(path, hint)
    check(path, hashlib.sha256(data).hexdigest())
    return data


def check(path: Path, digest: str) -> None:
    """Refuse a file that is not what the build made; in the folder of a variant also a file that is not listed.
    ``digest``: SHA-256 of the bytes that are used, 64 hex digits. NeuralArtError: it is refused.
    """
    folder = Path(os.path.abspath(path)).parent  # noqa: PTH100 - a link on the way is no link in the place of a file
    variant = next((at for at in (folder, folder.parent) if all(os.path.lexists(at / it) for it in _OF_VARIANT)), None)
    hashes = listed(folder)
    if path.name not in (hashes or {}) and variant is None:
        return
    if hashes is None:
        wrong = f"its folder has no {LIST}"
    elif path.name not in hashes:
        wrong = f"it is not in {LIST}"
    elif path.is_symlink():
        wrong = "it is a link"
    elif hashes[path.name] != digest:
        wrong = f"sha256 is {digest[:16]}..., {LIST} has {hashes[path.name][:16]}..."
    else:
        return
    hint = _remedy(variant) if variant is not None else "scons makes it again where it was built"
    raise NeuralArtError(f"is not what the build made: {wrong}", where=str(path), hint=hint)


def _remedy(folder: Path) -> str:
    """Say what makes a file of a variant again: in a copy of its folder, which its summary does not name, no target."""
    text = read_bytes(folder / "summary.txt").decode("utf-8", "replace")
    if "\n  artefacts\n" not in text or f"{folder.parent.name}/{folder.name}/" in text:
        return f"scons {folder.name} makes it again"
    return f"scons {text.split()[0].rstrip(':')} makes it again in its build folder: take it from there"
