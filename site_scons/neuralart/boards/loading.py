"""Finds and reads boards: the built-in ones, the user's own files, and those of plugins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from neuralart import plugins, resources
from neuralart.boards import checks, fields
from neuralart.boards.types import Board, Registers
from neuralart.errors import NeuralArtError, nearest
from neuralart.resources import stable_name
from neuralart.text import yaml_values
from neuralart.text.values import Value
from neuralart.text.yaml_values import YamlValue

T = TypeVar("T")

SCHEMA = 1
FAMILY_KEYS = ("schema", *fields.keys_of(Board, "name", "where", "files", "places"))
KEYS = (*FAMILY_KEYS, "family", "base")
# Mappings join key by key down to one field of one memory: memory -> xSPI2 -> size.
_DEPTH = 2


def read(path: Path, extra: Sequence[Path] = (), seen: tuple[Path, ...] = ()) -> tuple[YamlValue, tuple[Path, ...]]:
    """Read a board file and everything it is based on; ``seen`` are files that are based on this one. Returns the
    joined mapping, whose values keep the file and line they came from, and the files, this one last. NeuralArtError:
    a file cannot be read, has unknown keys, or is based on something unknown or on itself.
    """
    top = _open(path, KEYS)
    entries = top.mapping()
    family, base = entries.get("family"), entries.get("base")
    if family is not None and base is not None:
        raise base.error("a board has a family or a base, not both", "the base brings its family with it")
    if family is not None:
        name = family.text()
        families = yaml_files(resources.board_data_dir() / "families")
        if name not in families:
            raise family.error(f"no family '{name}'", nearest(name, tuple(families)))
        return overlaid(_open(families[name], FAMILY_KEYS), top, _DEPTH), (families[name], path)
    if base is not None:
        name = base.text()
        below_path = locate(name, extra, str(base.where))
        if below_path in (*seen, path):
            raise base.error(f"'{name}' is based on this very board")
        below, files = read(below_path, extra, (*seen, path))
        return overlaid(below, top, _DEPTH), (*files, path)
    return top, (path,)


def overlaid(below: YamlValue, above: YamlValue, depth: int) -> YamlValue:
    """Join two mappings, so many levels deep; values of the upper one win, and each keeps its place."""
    entries = dict(below.mapping())
    for name, value in above.mapping().items():
        under = entries.get(name)
        if depth > 0 and under is not None and under.is_mapping and value.is_mapping:
            value = overlaid(under, value, depth - 1)
        entries[name] = value
    return above.with_members(entries)


def _open(path: Path, known: Sequence[str]) -> YamlValue:
    top = yaml_values.read(path)
    yaml_values.check_schema(top, SCHEMA)
    top.fields(known)
    return top


def load(name: str, extra: Sequence[Path] = (), where: str = "") -> Board:
    """Read a board by its name (the stem of its file), built in or of the user's own files; ``where``: who asks."""
    path = locate(name, extra, where)
    top, files = read(path, extra)
    entries = top.mapping()
    memory = fields.need(top, "memory")
    flash = fields.flash(entries["flash"]) if "flash" in entries else {}
    board = Board(
        name=name,
        title=fields.need(top, "title").text(),
        target=fields.word(top, "target"),
        device=fields.word(top, "device"),
        cpu=fields.word(top, "cpu"),
        security=fields.need(top, "security").choice(fields.SECURITIES),
        memory=fields.memory(memory),
        registers=_given(entries, "registers", fields.registers, Registers()),
        machines=fields.machines(fields.need(top, "machines")),
        console=_given(entries, "console", fields.console, None),
        code=_given(entries, "code", fields.section, None),
        data=_given(entries, "data", fields.section, None),
        mpool=_given(entries, "mpool", fields.file, ""),
        profile=_given(entries, "profile", fields.file, ""),
        memory_pools=_given(entries, "memory_pools", fields.file, ""),
        flash=flash,
        slots=_given(entries, "slots", fields.slots, {}),
        switches=_given(entries, "switches", fields.switches, {}),
        boot=_given(entries, "boot", fields.boot, None),
        windows=_given(entries, "windows", lambda value: fields.windows(value, memory), ()),
        relocatable=_given(entries, "relocatable", lambda value: fields.load_slots(value, top, flash), None),
        firmware=fields.word(top, "firmware") if "firmware" in entries else "",
        external_ram=_given(entries, "external_ram", fields.window, None),
        narrow_display=fields.flag(top, "narrow_display"),
        note=fields.text(top, "note"),
        where=str(path),
        files=tuple(str(file) for file in files),
        places=_places(entries),
    )
    checks.check(board, top)
    return board


def _given(entries: Mapping[str, YamlValue], key: str, read: Callable[[Value], T], default: T) -> T:
    return read(entries[key]) if key in entries else default


def _places(entries: dict[str, YamlValue]) -> dict[str, str]:
    """Where the keys that decide addresses were written."""
    found = {key: value for key, value in entries.items() if key in ("code", "data", "flash", "boot")}
    for group in ("slots", "relocatable"):
        if group in entries:
            found.update({f"{group}.{name}": entry for name, entry in entries[group].mapping().items()})
    return {key: stable_name(str(entry.where)) for key, entry in found.items()}


_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True)
class BoardFile:
    """A board as a plugin brings it.

    Attributes:
        path: Its YAML file (docs/reference/boards.md); files that it names are relative to it.
    """

    path: Path


def names(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """Names of all boards, sorted; no file is opened. NeuralArtError: a file's name cannot be used, or is taken."""
    return tuple(sorted({*_files(extra), *plugins.names("boards")}))


def locate(name: str, extra: Sequence[Path], where: str) -> Path:
    """The file of a board; ``where``: who asks. NeuralArtError: there is no such board."""
    files = _files(extra)
    if name in files:
        return files[name]
    known = {*files, *plugins.names("boards")}
    if name not in known:
        raise NeuralArtError(f"no board '{name}'", where=where, hint=nearest(name, tuple(known)))
    found: Path = plugins.find("boards", name, where).made.path
    return found


def yaml_files(folder: Path) -> dict[str, Path]:
    """Name -> file of the boards in a folder."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _files(extra: Sequence[Path]) -> dict[str, Path]:
    """Name -> file of the built-in boards and of the user's own files."""
    files = {plugin.name: plugin.made.path for plugin in plugins.own("boards")}
    own: dict[str, Path] = {}
    for path in extra:
        if path.suffix.lower() not in _SUFFIXES or not _NAME.fullmatch(path.stem):
            raise NeuralArtError(
                "not the name of a board file", where=str(path), hint="NAME.yaml, with letters, digits, '.', '_', '-'"
            )
        if path.stem in files:
            raise NeuralArtError(
                f"board '{path.stem}' is built in",
                where=str(path),
                hint=f"give the file another name and begin it with 'base: {path.stem}'",
            )
        if own.setdefault(path.stem, path) != path:
            raise NeuralArtError(
                f"board '{path.stem}' has two files, the other is {own[path.stem]}", where=str(path), hint="rename one"
            )
    return {**files, **own}


for _name, _file in yaml_files(resources.board_data_dir()).items():
    plugins.register("boards", _name, BoardFile(_file), protocol=1)
