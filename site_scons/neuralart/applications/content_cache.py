"""Hashes large trees without reading what has not changed: contents are remembered by size and times. SCons would look
at each of thousands of files in each build.
"""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from neuralart import jsontext
from neuralart.applications.staging import Tree
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text

SCHEMA = 1
# A file that changes again within one tick of its file system's clock keeps its time: such are read again.
_TICK = 2_000_000_000


def _remembered(record: Path) -> dict[str, list[object]]:
    try:
        data = jsontext.loads(record.read_bytes())
        rows = data["files"]
        return rows if data["schema"] == SCHEMA and isinstance(rows, dict) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def digest(tree: Tree, record: Path) -> str:
    """Hash names, contents and executable bits of all files of a tree. ``record``: the file that remembers the last
    hashes; a damaged one is made anew. NeuralArtError: a file cannot be read, or the record cannot be written.
    """
    known = _remembered(record)
    whole = hashlib.sha256()
    rows: dict[str, list[object]] = {}
    fresh = time.time_ns() - _TICK
    try:
        for name, path in sorted(tree.files.items()):
            state = path.stat()
            times = [state.st_size, state.st_mtime_ns, state.st_ctime_ns]
            row = known.get(name)
            if isinstance(row, list) and len(row) == 4 and row[:3] == times and isinstance(row[3], str):
                found = row[3]
            else:
                found = hashlib.sha256(read_bytes(path)).hexdigest()
            if max(state.st_mtime_ns, state.st_ctime_ns) < fresh:
                rows[name] = [*times, found]
            whole.update(f"{name}\0{found}\0{bool(state.st_mode & 0o111)}\n".encode("utf-8", "surrogateescape"))
        for folder in tree.folders:
            whole.update(f"{folder}/\n".encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise NeuralArtError(f"cannot read: {error.strerror}", where=str(error.filename)) from error
    if rows != known:
        write_text(record, json.dumps({"schema": SCHEMA, "files": rows}) + "\n")
    return whole.hexdigest()
