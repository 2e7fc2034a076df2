"""Writes the files of a compile into a folder, with a manifest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from neuralart import jsontext, outputs
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes, write_text
from neuralart.network.facts import MANIFEST

FACTS = "network.json"
PROVENANCE = "provenance.txt"
_UNFINISHED = ".neuralart-unfinished"  # Is there while files are written or removed, and has their hashes
_RAW = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_]+\.raw")


def listed(folder: Path) -> tuple[str, dict[str, str]]:
    """Read a folder's manifest: its network, and SHA-256 by name of file; empty if it is not ours."""
    try:
        data = jsontext.loads((folder / MANIFEST).read_bytes())
        rows = {str(row["name"]): str(row.get("sha256")) for row in data["files"]}
        plain = {name: rows[name] for name in rows if PurePosixPath(name).name == name and "\\" not in name}
        return str(data["network"]), plain
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def check_owner(folder: Path, network: str) -> None:
    """Refuse a folder that holds another network."""
    owner, _ = listed(folder)
    if owner and owner != network:
        what = f"the folder holds network '{owner}', whose {FACTS} would be lost"
        hint = "give each network a folder of its own (--output), or empty this one"
        raise NeuralArtError(what, where=str(folder), hint=hint)


def _unfinished(folder: Path) -> set[str]:
    path = folder / _UNFINISHED
    return set(path.read_text("ascii", "replace").split()) if path.is_file() and not path.is_symlink() else set()


def begin(folder: Path, files: Mapping[str, bytes] = MappingProxyType({})) -> None:
    """Note the files of this and the earlier compile, so that the next compile recognizes them if this one is killed.
    NeuralArtError: the note cannot be written.
    """
    hashes = {*listed(folder)[1].values(), *_unfinished(folder)}
    hashes |= {sha256(data).hexdigest() for data in files.values()}
    write_text(folder / _UNFINISHED, "\n".join([*sorted(hashes), ""]))


def end(folder: Path) -> None:
    """Remove the note: the files are complete, or gone. OSError: it cannot be removed."""
    (folder / _UNFINISHED).unlink(missing_ok=True)


def refuse_foreign(folder: Path, network: str, names: Iterable[str]) -> None:
    """Check the places of a compile's files, and what it would remove. NeuralArtError: a link, or a file that no
    compile wrote or that was edited, is there.
    """
    owner, made = listed(folder)
    if owner and owner != network:
        return  # A compile refuses that itself, behind what is wrong with its words
    known = {*made.values(), *_unfinished(folder)}
    for name in sorted({*names, *_earlier(folder, network)} - {MANIFEST, PROVENANCE}):
        outputs.refuse(folder / name, lambda data: sha256(data).hexdigest() in known)
    # These two are in no list.
    outputs.refuse(folder / MANIFEST, lambda data: bool(owner) or sha256(data).hexdigest() in known)
    outputs.refuse(folder / PROVENANCE, outputs.says(b"tool: "))


def _earlier(folder: Path, network: str) -> set[str]:
    """Names that an earlier run of this network wrote here."""
    check_owner(folder, network)
    names = set(listed(folder)[1])
    if folder.is_dir():
        names |= {
            path.name
            for path in folder.iterdir()
            if path.name.startswith(f"{network}_") and _RAW.fullmatch(path.name.removeprefix(f"{network}_"))
        }
    # A compile that was killed has taken the manifest away, and what was not written yet is of the one before.
    names |= {name for name in (f"{network}_generate_report.txt",) if (folder / name).is_file()}
    safe = (f"{network}.", f"{network}_")
    return {name for name in names if name.startswith(safe) or name == FACTS}


def write_set(folder: Path, network: str, files: Mapping[str, bytes]) -> None:
    """Write a complete set and remove files of an earlier compile. The manifest is removed first and written last, so
    it is never wrong. NeuralArtError: the folder cannot be written, or belongs to another network.
    """
    stale = _earlier(folder, network) - set(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        begin(folder, files)
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in sorted(stale):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        hint = "is it a folder, and writable?"
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(folder), hint=hint) from error
    for name in sorted(files, key=lambda name: (name == MANIFEST, name)):
        write_bytes(folder / name, files[name])
    end(folder)
