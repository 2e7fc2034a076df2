"""``manifest.json``: sizes and hashes of every file of a compile, and whether those in a folder are still these.

Schema 1::

    {"schema": 1, "network": "digits", "files": [
      {"name": "digits.c", "bytes": 81920, "sha256": "...", "crc32": "..."}, ...]}

To hash all files of all networks before each step would cost more than the step: sizes and times are looked at first.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

SCHEMA = 1
NAME = "manifest.json"


@dataclass(frozen=True)
class Listed:
    """A file of a compile."""

    name: str  # In the manifest's folder
    bytes: int  # Its size
    sha256: str  # 64 hex digits


def manifest(network: str, files: Mapping[str, bytes]) -> str:
    """The JSON text; ``files`` are name -> content of everything that is listed."""
    rows = [
        {
            "name": name,
            "bytes": len(data),
            "sha256": hashlib.sha256(data).hexdigest(),
            "crc32": f"{zlib.crc32(data):08x}",
        }
        for name, data in sorted(files.items())
    ]
    return json.dumps({"schema": SCHEMA, "network": network, "files": rows}, indent=1) + "\n"


def listed(folder: Path) -> tuple[Listed, ...]:
    """The files of a compile, as its manifest has them. NeuralArtError: there is no manifest, or it is damaged."""
    path = folder / NAME
    try:
        rows = [Listed(row["name"], row["bytes"], row["sha256"]) for row in jsontext.loads(read_bytes(path))["files"]]
        for row in rows:
            kinds = (type(row.name), type(row.bytes), type(row.sha256))
            if kinds != (str, int, str) or row.name in ("", ".", "..") or "/" in row.name or "\\" in row.name:
                raise TypeError(f"'{row.name}' is no row of it")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NeuralArtError(
            f"not the manifest of a compile: {error}", where=str(path), hint="compile the network again"
        ) from error
    return tuple(rows)


def _is(path: Path, row: Listed) -> bool:
    """A file has the contents that its row says."""
    if path.is_symlink() or path.stat().st_size != row.bytes:
        return False
    return hashlib.sha256(read_bytes(path)).hexdigest() == row.sha256


def _touched(path: Path) -> int:
    """When a file was written, renamed or given other times: nobody can set that back. On Windows: or made."""
    state = path.lstat()
    return max(state.st_mtime_ns, state.st_ctime_ns)


def changed(folder: Path) -> tuple[str, ...]:
    """Names of files that are not what the compile wrote, the manifest itself among them if it says nothing.

    Files that are not there are not named: whoever needs them sees that. Without a manifest nothing is known.
    NeuralArtError: a file cannot be read.
    """
    if not (folder / NAME).is_file():
        return ()
    try:
        rows = listed(folder)
    except NeuralArtError:
        return (NAME,)
    names = []
    for row in rows:
        path = folder / row.name
        if (path.is_file() or path.is_symlink()) and not (path.exists() and _is(path, row)):
            names.append(row.name)
    return tuple(names)


def check(folder: Path) -> tuple[Listed, ...]:
    """All files of a compile. NeuralArtError: the manifest or a file is missing, damaged or another one."""
    rows = listed(folder)
    for row in rows:
        if not (folder / row.name).is_file():
            raise NeuralArtError(f"{row.name} is not there", where=str(folder / NAME), hint="compile the network again")
    wrong = changed(folder)
    if wrong:
        raise NeuralArtError(
            f"{', '.join(wrong)} changed since the network was compiled",
            where=str(folder),
            hint=f"{NAME} holds the hashes; compile the network again",
        )
    return rows


def changed_since(folder: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of files (of ``names``) that are not what the compile wrote; no file is opened where nobody touched one.

    The manifest is written last: where it is the newest file of all, nothing was touched since. Without one nothing is
    known and nothing named. NeuralArtError: a file cannot be read.
    """
    try:
        last = _touched(folder / NAME)
    except OSError:
        return ()
    files = [folder / name for name in names if name != NAME]
    if all(_touched(path) < last for path in files if path.is_symlink() or path.exists()):
        return ()
    return changed(folder)
