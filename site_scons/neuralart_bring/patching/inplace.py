"""Patching an application's own files, for those who build with an IDE, and taking it back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import alone_with, read_bytes
from neuralart.text.c_source import CSource
from neuralart_bring.patching import journal
from neuralart_bring.patching import patchlist as lists
from neuralart_bring.patching import plan as plans
from neuralart_bring.patching.apply import PatchedPiece, pieces_from_json, pieces_to_json, undo
from neuralart_bring.patching.journal import STATE, Change
from neuralart_bring.patching.patchlist import PatchList
from neuralart_bring.patching.plan import PatchRequest, Plan

SCHEMA = 1
RECORD = f"{STATE}/record.json"
BACKUP = f"{STATE}/original"
IGNORE = f"{STATE}/.gitignore"


@dataclass(frozen=True)
class Record:
    """What patches in place did since the first of them."""

    list: str  # name of the patch list, or its file
    files: Mapping[str, Mapping[str, PatchedPiece]]  # by file and operation


def read_record(root: Path) -> Record | None:
    """What is known of earlier patches here; None if there were none; NeuralArtError: the record is damaged."""
    path = root / RECORD
    if not path.is_file():
        return None
    try:
        data: Any = jsontext.loads(read_bytes(path))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema {data['schema']}")
        files = {str(name): pieces_from_json(pieces) for name, pieces in data["files"].items()}
        return Record(str(data["list"]), files)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"the record of earlier patches cannot be read: {error}"
        hint = f"the files from before the first patch are in {BACKUP}"
        raise NeuralArtError(what, where=str(path), hint=hint) from error


def plan(request: PatchRequest, name: str = "") -> tuple[Plan, list[Change]]:
    """Work out a patch in place, with all changes it takes: none if all is up to date; nothing is written. ``name``: of
    the patch list in the record, where ``--restore`` finds it again; the list's own name if empty. NeuralArtError: it
    cannot be done.
    """
    record = read_record(lists.find_root(request.application, request.patches) or request.application)
    made = plans.make(request, record.files if record else None)
    changes = [Change(each.path, each.new) for each in made.files if each.new != each.old]
    if record is None and not changes:
        return made, []
    files = {**(record.files if record else {}), **{each.path: each.pieces for each in made.files}}
    kept = {f"{BACKUP}/{each.path}": each.old for each in made.files}
    backups = [Change(path, data) for path, data in kept.items() if not (made.root / path).is_file()]
    rows = {path: pieces_to_json(pieces) for path, pieces in sorted(files.items())}
    text = json.dumps({"schema": SCHEMA, "list": name or request.patches.name, "files": rows}, indent=1) + "\n"
    own = [Change(IGNORE, b"*\n"), Change(RECORD, text.encode())]
    every = [*own, *backups, *changes]
    current = {each.path for each in every if _bytes(made.root / each.path) == each.new}
    return made, [each for each in every if each.path not in current]


def _bytes(path: Path) -> bytes | None:
    return read_bytes(path) if path.is_file() else None


def patch(request: PatchRequest, name: str = "") -> tuple[Plan, list[str]]:
    """Patch in place, after an interrupted patch is finished or undone. Returns the plan, and the application's files
    that changed. NeuralArtError: it cannot be done; the application is as it was.
    """
    # Without a root, making the plan says which files are missing.
    root = lists.find_root(request.application, request.patches) or plans.make(request).root
    with _alone(root):
        _recover(root, force=request.force)
        made, changes = plan(request, name)
        journal.commit(made.root, changes)
    return made, [each.path for each in changes if not each.path.startswith(f"{STATE}/")]


def _alone(root: Path) -> AbstractContextManager[None]:
    """One process at a time reads and changes a tree: what another has half changed is not an original."""
    return alone_with(root.resolve() / STATE, patience=60)


def _recover(root: Path, *, force: bool) -> str:
    try:
        way = journal.recover(root, force=force)
        if not (root / RECORD).is_file():
            journal.clear(root, "original")
        return way
    except OSError as error:
        what = f"an interrupted patch cannot be finished: {error.strerror or error}"
        raise NeuralArtError(what, where=str(error.filename or root)) from error


def find_state(application: Path) -> Path | None:
    """The root of an application in which a patch in place left something; None if there is none."""
    roots = [application, *(application / lists.load(name).root for name in lists.names())]
    # A lock without a state is what a killed --restore may leave.
    return next((root for root in roots if (root / STATE).is_dir() or (root / f"{STATE}.lock").is_file()), None)


def restore(root: Path, patches: PatchList | None = None, *, force: bool = False) -> list[str]:
    """Put back what was there before the first patch, by default of the record's list; other changes since stay.
    ``force``: also where what a patch wrote was changed since. Returns the files that changed. NeuralArtError: it
    cannot be done; nothing was changed.
    """
    with _alone(root):
        return _restore(root, patches, force=force)


def _restore(root: Path, patches: PatchList | None, *, force: bool) -> list[str]:
    _recover(root, force=force)
    record = read_record(root)
    if record is None:
        return []
    what = patches or lists.load(record.list)
    files = {each.path: each for each in what.files}
    changes = []
    for path, pieces in record.files.items():
        if path not in files:
            text, hint = f"patch list {what.name} knows no {path}, which was patched", "name the one used then: --list"
            raise NeuralArtError(text, where=str(root), hint=hint)
        source = CSource(str(root / path), read_bytes(root / path))
        changes.append(Change(path, undo(source, files[path], what.markers, pieces, force=force)))
    changed = [each.path for each in changes if each.new != _bytes(root / each.path)]
    own = [path.relative_to(root).as_posix() for path in sorted((root / BACKUP).rglob("*")) if path.is_file()]
    gone = [Change(path, None) for path in (RECORD, IGNORE, *own) if (root / path).is_file()]
    journal.commit(root, [*changes, *gone])
    journal.clear(root, "original")
    return changed
