"""Out of tree: copies of the folders that hold patched files, with the patched ones in them. All of a folder is copied,
because a C compiler looks for ``#include "x.h"`` first beside the file that says so: a header left behind would find
the original of a patched one beside itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import alone_with, is_within, read_bytes, searched
from neuralart.text.c_source import CSource
from neuralart_bring.patching import journal
from neuralart_bring.patching.apply import edited_by_hand
from neuralart_bring.patching.edit_sites import content, find_block
from neuralart_bring.patching.journal import Change
from neuralart_bring.patching.patchlist import BLOCK, PatchList
from neuralart_bring.patching.plan import Plan

SCHEMA = 1
INDEX = "patched.json"
SOURCES = (".c", ".cpp", ".cc", ".s")
"""Suffixes of what is compiled, in small letters."""
OUTPUT, APPLICATION, ELSEWHERE = "output", "application", "elsewhere"


@dataclass(frozen=True)
class IncludeDir:
    base: str  # ``output`` (a patched copy), ``application`` (below the root), or ``elsewhere``
    path: str  # from there with ``/``; as given if elsewhere

    def resolve(self, root: Path, output: Path) -> Path:
        return {OUTPUT: output, APPLICATION: root}.get(self.base, Path()) / self.path


def include_path(root: Path, folders: Sequence[str], given: Sequence[str]) -> tuple[IncludeDir, ...]:
    """The include path ``given`` (from the root, or absolute), in its order, without originals of mirrored ``folders``.
    A mirrored folder (or one within it) is its copy; in front of a folder that contains a mirrored one stands that
    folder's place in the copy, so that ``#include "CM7/main.h"`` finds it there first.
    """
    real = Path(os.path.realpath(root))
    mirrored = [PurePosixPath(folder) for folder in folders]
    found: list[IncludeDir] = []
    for text in given:
        try:
            inner = PurePosixPath(Path(os.path.realpath(root / text)).relative_to(real).as_posix())
        except ValueError:
            found.append(IncludeDir(ELSEWHERE, text))
            continue
        within = any(folder in (inner, *inner.parents) for folder in mirrored)
        if within or any(inner in folder.parents for folder in mirrored):
            found.append(IncludeDir(OUTPUT, inner.as_posix()))
        if not within:
            found.append(IncludeDir(APPLICATION, inner.as_posix()))
    return tuple(dict.fromkeys(found))


def listing(root: Path, patches: PatchList, without: Collection[str] = ()) -> tuple[str, ...]:
    """Files of the mirrored folders, from the root, sorted: what a copy will have, besides ``patched.json``. Without
    files named as in ``without``, whose place generated ones take. NeuralArtError: a folder in them is a link.
    """
    found: list[str] = []
    for folder in patches.folders:
        for where, folders, files in os.walk(searched(root / folder, deep=True)):
            folders[:] = sorted(name for name in folders if not name.startswith("."))  # git, IDEs, ours
            for name in folders:
                if (Path(where) / name).is_symlink():
                    raise NeuralArtError("a folder that is a link is not copied", where=str(Path(where) / name))
            found += [(Path(where) / name).relative_to(root).as_posix() for name in files if name not in without]
    return tuple(sorted(found))


def check_output(plan_root: Path, patches: PatchList, output: Path) -> None:
    """NeuralArtError: the copies would hit the originals: it is the application, or lies in a folder that is copied."""
    root, place = Path(os.path.realpath(plan_root)), Path(os.path.realpath(output))
    for folder in patches.folders:
        if place == root or root / folder in (place, *place.parents):
            what = f"the copies of {folder} would be the originals, or lie among them"
            raise NeuralArtError(what, where=str(output), hint="name another folder, or say --in-place")


def contents(plan: Plan, include: Sequence[str] = (), without: Collection[str] = ()) -> dict[str, bytes]:
    """Every file of the copy: path from the output folder -> bytes; arguments as for :func:`changes`."""
    made = {path: read_bytes(plan.root / path) for path in listing(plan.root, plan.patches, without)}
    made.update({each.path: each.new for each in plan.files})
    made[INDEX] = _index(plan, sorted(made), include)
    return made


_OF_IMAGE = ("section", "region", "bytes")
_OF_ACTIVATION = ("number", "pool", "symbol", *_OF_IMAGE)


def _index(plan: Plan, paths: Sequence[str], include: Sequence[str]) -> bytes:
    decision, what, camera = plan.decision, plan.patches, plan.decision.camera
    buffer = [camera.buffer_width, camera.buffer_height]
    patched = {each.path for each in plan.files}
    path = include_path(plan.root, what.folders, include or what.folders)
    data = {
        "schema": SCHEMA,
        "list": what.name,
        "folders": list(what.folders),
        "patched": sorted(patched),
        "copied": [each for each in paths if each not in patched],
        "sources": [each for each in paths if PurePosixPath(each).suffix.lower() in SOURCES],
        "include_path": [asdict(each) for each in path],
        "dropped_include_path": [folder for folder in what.folders if IncludeDir(OUTPUT, folder) in path],
        "camera": {"mode": camera.mode, "resolution": camera.constant, "buffer": buffer},
        "activations": [{key: getattr(each, key) for key in _OF_ACTIVATION} for each in decision.activations],
        "input": decision.input.number if decision.input else None,
        "images": {each.name: {key: getattr(each, key) for key in _OF_IMAGE} for each in decision.images.values()},
        "regions": {each.name: {"capacity": each.capacity, "used": each.used} for each in decision.regions},
    }
    return (json.dumps(data, indent=1) + "\n").encode()


def changes(
    plan: Plan, output: Path, include: Sequence[str] = (), *, without: Collection[str] = (), force: bool = False
) -> list[Change]:
    """What must be written for the copy to be right; nothing is written. NeuralArtError: something is in the way.
    ``include`` is the application's include path, ``without`` names files that are left out. ``force`` overwrites what
    is not from an earlier patch, and blocks that were changed by hand in the copy.
    """
    check_output(plan.root, plan.patches, output)
    wanted = contents(plan, include, without)
    before = _listed(output)
    made = []
    for path, data in wanted.items():
        target = output / path
        old = read_bytes(target) if target.is_file() else None
        if old == data:
            continue
        if old is not None and path != INDEX and not force:
            if path not in before:
                what = "is in the way: it is not the copy of an earlier patch"
                hint = "name an empty folder, or say --force to overwrite it"
                raise NeuralArtError(what, where=str(target), hint=hint)
            _check_block(plan.patches, path, str(target), old)
        like = plan.root / path
        made.append(Change(path, data, like if like.is_file() else None))
    stale = [path for path in sorted(before) if path not in wanted and (output / path).is_file()]
    return [*made, *(Change(path, None) for path in stale)]


def _check_block(patches: PatchList, path: str, name: str, data: bytes) -> None:
    if not any(each.path == path and any(one.kind == BLOCK for one in each.operations) for each in patches.files):
        return
    source = CSource(name, data)
    try:
        why = edited_by_hand(content(source, find_block(source, patches.markers)))
    except NeuralArtError:
        why = "its marker lines are gone"
    if why:
        hint = "move the changes to the application's own files, or say --force to overwrite them"
        raise NeuralArtError(f"the generated block of the copy was changed by hand: {why}", where=name, hint=hint)


def _listed(output: Path) -> set[str]:
    """Files that an earlier patch put there: names from a file that is not to be trusted."""
    try:
        data: Any = jsontext.loads((output / INDEX).read_bytes())
        names = [*data["patched"], *data["copied"]] if data["schema"] == SCHEMA else []
        return {str(name) for name in names if is_within(name)}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def write(
    plan: Plan, output: Path, include: Sequence[str] = (), *, without: Collection[str] = (), force: bool = False
) -> list[str]:
    """Bring the copy up to date, as :func:`changes`: all of it or nothing. Returns the paths that changed, from the
    output folder. NeuralArtError: it cannot be done; the copy is as it was.
    """
    check_output(plan.root, plan.patches, output)
    with alone_with(output.resolve(), patience=60):
        try:
            journal.recover(output, force=force)
        except OSError as error:
            raise NeuralArtError(f"cannot write: {error.strerror or error}", where=str(output)) from error
        return journal.commit(output, changes(plan, output, include, without=without, force=force))
