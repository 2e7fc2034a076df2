"""Bringing an export folder up to date without losing what others put there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError, first_names
from neuralart.files import read_bytes, write_bytes
from neuralart_bring.export.plan import MANIFEST, SCHEMA, ExportInputs, files, is_name, sha256

_SHOWN = 5
_UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Done:
    """What an export did; names are relative to the folder."""

    written: tuple[str, ...]  # New files, and those with other contents than before
    removed: tuple[str, ...]  # Files of an earlier export that this one does not have
    kept: tuple[str, ...]  # Files that were right already


def _listed(folder: Path) -> tuple[dict[str, str], bool]:
    """SHA-256 by name as the manifest of an earlier export has them, and whether that export came to its end."""
    path = folder / MANIFEST
    if not path.exists():
        return {}, True
    hint = "restore it, or delete the folder and export again; --force takes the folder as it is"
    try:
        data = jsontext.loads(read_bytes(path))
        schema = data["schema"]
        if schema != SCHEMA or isinstance(schema, bool):
            raise NeuralArtError(f"schema {schema}, this version writes {SCHEMA}", where=str(path), hint=hint)
        found = {row["name"]: row["sha256"] for row in data["files"]}
        if not all(isinstance(name, str) and isinstance(digest, str) for name, digest in found.items()):
            raise TypeError("names and hashes must be texts")
        finished = not data.get(_UNFINISHED, False)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NeuralArtError(f"not the manifest of an export: {error}", where=str(path), hint=hint) from error
    for name in found:
        if not is_name(name) or name == MANIFEST:
            raise NeuralArtError(f"not the manifest of an export: it lists '{name}'", where=str(path), hint=hint)
    return found, finished


def _outside(folder: Path, names: Iterator[str]) -> Iterator[str]:
    """Names that a symbolic link leads out of the folder."""
    root = folder.resolve()
    for name in names:
        path = folder / name
        if path.is_symlink() or not path.parent.resolve().is_relative_to(root):
            yield name


def _present(path: Path) -> bytes | None:
    if path.is_dir():
        raise NeuralArtError("a folder is where a file is to be written", where=str(path), hint="remove or rename it")
    return read_bytes(path) if path.is_file() else None


def _refuse_strangers(
    folder: Path, now: Mapping[str, bytes | None], wanted: Mapping[str, bytes], listed: set[str]
) -> None:
    there = {name: data for name, data in now.items() if data is not None and name not in listed}
    strange = [name for name, data in there.items() if data != wanted.get(name, data)]
    if strange:
        them = "it" if len(strange) == 1 else "them"
        what = f"no export wrote {first_names(strange, _SHOWN)}, and this one would overwrite {them}"
        raise NeuralArtError(what, where=str(folder), hint="export into a folder of its own, or --force")


def _refuse_edited(
    folder: Path, now: Mapping[str, bytes | None], wanted: Mapping[str, bytes], listed: Mapping[str, str]
) -> None:
    edited = [
        name
        for name, digest in listed.items()
        if (data := now[name]) is not None and sha256(data) != digest and data != wanted.get(name)
    ]
    if edited:
        hint = "what you change there is lost with each export: keep it elsewhere; --force overwrites it"
        raise NeuralArtError(
            f"edited since the last export: {first_names(edited, _SHOWN)}", where=str(folder), hint=hint
        )


def write(folder: Path, inputs: ExportInputs, *, force: bool = False) -> Done:
    """Write an export to a folder, which is made if it is not there, or bring an earlier one up to date.

    Files that no export wrote stay; so do the times of files that are right already. The manifest is written last.
    ``force`` overwrites what was edited since, and what no export wrote. NeuralArtError: something cannot be read or
    written, was edited, or is not from an export; what can be checked is checked before anything is written.
    """
    wanted = files(inputs)
    if folder.exists() and not folder.is_dir():
        raise NeuralArtError("this is a file, an export needs a folder", where=str(folder))
    try:
        listed, finished = _listed(folder)
    except NeuralArtError:
        if not force:
            raise
        listed, finished = {}, True
    for name in _outside(folder, iter(sorted({*wanted, *listed}))):
        hint = "an export writes plain files only"
        raise NeuralArtError(f"{name} is a symbolic link, or behind one", where=str(folder), hint=hint)
    now = {name: _present(folder / name) for name in sorted({*wanted, *listed})}
    if not force:
        body = {name: data for name, data in now.items() if name != MANIFEST}
        _refuse_strangers(folder, body, wanted, set(listed))
        if finished:
            _refuse_edited(folder, body, wanted, listed)
    done = Done(
        written=tuple(name for name in wanted if now[name] != wanted[name]),
        removed=tuple(name for name in listed if name not in wanted and now[name] is not None),
        kept=tuple(name for name in wanted if now[name] == wanted[name]),
    )
    if done.written or done.removed:
        _announce(folder, {**listed, **{name: sha256(data) for name, data in wanted.items() if name != MANIFEST}})
        for name in done.written:
            if name != MANIFEST:
                write_bytes(folder / name, wanted[name])
        for name in done.removed:
            _remove(folder, name)
        write_bytes(folder / MANIFEST, wanted[MANIFEST])
    return done


def _announce(folder: Path, names: Mapping[str, str]) -> None:
    """Say what is about to be written: files of a killed export do not count as edited."""
    rows = [{"name": name, "sha256": digest} for name, digest in sorted(names.items())]
    data = {"schema": SCHEMA, _UNFINISHED: True, "files": rows}
    write_bytes(folder / MANIFEST, (json.dumps(data, indent=1) + "\n").encode())


def _remove(folder: Path, name: str) -> None:
    path = folder / name
    try:
        path.unlink()
    except OSError as error:
        raise NeuralArtError(f"cannot remove: {error.strerror}", where=str(path)) from error
    for above in path.parents:
        if above == folder:
            break
        with contextlib.suppress(OSError):  # it is not empty: it has other uses
            above.rmdir()
