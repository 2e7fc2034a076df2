"""Finds, reads and checks boards: built-in ones, those of users, those of plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from neuralart import plugins, resources
from neuralart import quick as dataclasses
from neuralart.boards import fields
from neuralart.boards.types import Board, BoardSection, FlashWindow, LoadSlots, MemoryRegion, Registers
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import lazy_regex
from neuralart.resources import stable_name
from neuralart.text import yaml_values
from neuralart.text.values import Value
from neuralart.text.yaml_values import YamlValue

SCHEMA = 1
FAMILY_KEYS = ("schema", *fields.BOARD)
KEYS = (*FAMILY_KEYS, "family", "base")
# Mappings join key by key down to one field of one memory: memory -> xSPI2 -> size.
_DEPTH = 2
_SUFFIXES = (".yaml", ".yml")
_NAME = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
    """Join two mappings ``depth`` levels deep; values of ``above`` win, and each keeps its place."""
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
    """Load a board by its name, the stem of its file; ``BOARD+MODE``: in another boot mode. ``where``: who asks."""
    plain, mark, mode = name.partition("+")
    top, files = read(locate(plain, extra, where), extra)
    board = made(plain, top, files)
    if not mark:
        return board
    from neuralart.boards.boot_modes import in_mode

    return in_mode(board, mode, where)


def made(name: str, top: Value, files: Sequence[Path]) -> Board:
    """Make a board from the joined contents of ``files``, its own last. NeuralArtError: something in it is wrong."""
    board = Board(
        **{"registers": Registers(), **fields.board(top)},
        name=name,
        where=str(files[-1]),
        files=tuple(str(file) for file in files),
        places=_places(top.mapping()),
    )
    board = dataclasses.replace(board, windows=_fitted_windows(board, top), relocatable=_load_slots(board, top))
    _check(board, top)
    return board


def _fitted_windows(board: Board, top: Value) -> tuple[FlashWindow, ...]:
    """The windows but for those of memories that are not fitted (size 0)."""
    memories, fitted = top.mapping()["memory"].mapping(), {region.name for region in board.memory}
    for window, item in zip(board.windows, top.mapping()["windows"].items() if board.windows else (), strict=True):
        if window.region not in memories:
            what = f"no memory '{window.region}'"
            raise item.mapping()["region"].error(what, nearest(window.region, tuple(memories)))
    return tuple(window for window in board.windows if window.region in fitted)


def _load_slots(board: Board, top: Value) -> LoadSlots | None:
    """Where relocatable models are; None as well if only a base board says it and this flash has no such place."""
    slots, flash = board.relocatable, board.flash
    if slots is None:
        return None
    members, memories = top.mapping()["relocatable"].mapping(), top.mapping()["memory"].mapping()
    if slots.ext_ram and slots.ext_ram not in memories:
        raise members["ext_ram"].error(f"no memory '{slots.ext_ram}'", nearest(slots.ext_ram, tuple(memories)))
    if slots.ext_ram and memories[slots.ext_ram].mapping()["kind"].text() not in ("ram", "psram"):
        raise members["ext_ram"].error(f"{slots.ext_ram} is not RAM", "activations of models are written there")
    if flash and all(member.file != top.file for member in members.values()):
        first, size = int(flash["base"]), int(flash["size"])
        sectors = range(first, first + size, int(flash["sector"]))
        if not all(address in sectors for address in (slots.table, slots.model, slots.params)):
            return None
    return slots


def _places(entries: Mapping[str, Value]) -> dict[str, str]:
    """Where the keys that decide addresses were written."""
    found = {key: value for key, value in entries.items() if key in ("code", "data", "flash", "boot")}
    for group in ("slots", "relocatable"):
        if group in entries:
            found.update({f"{group}.{name}": entry for name, entry in entries[group].mapping().items()})
    return {key: stable_name(str(entry.where)) for key, entry in found.items()}


@dataclasses.dataclass(frozen=True)
class BoardFile:
    """A board as a plugin brings it.

    Attributes:
        path: Its YAML file (docs/reference/boards.md); files that it names are relative to it.
    """

    path: Path


def names(extra: Sequence[Path] = ()) -> tuple[str, ...]:
    """List the names of all boards, sorted; no file is opened. NeuralArtError: a file's name is impossible or taken."""
    return tuple(sorted({*_files(extra), *plugins.names("boards")}))


def locate(name: str, extra: Sequence[Path], where: str) -> Path:
    """Find the file of a board; ``where``: who asks. NeuralArtError: there is none."""
    files = _files(extra)
    if name in files:
        return files[name]
    known = {*files, *plugins.names("boards")}
    if name not in known:
        raise NeuralArtError(f"no board '{name}'", where=where, hint=nearest(name, tuple(known)))
    found: Path = plugins.find("boards", name, where).made.path
    return found


def yaml_files(folder: Path) -> dict[str, Path]:
    """Find the board files of a folder, by name of the board."""
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _files(extra: Sequence[Path]) -> dict[str, Path]:
    """Name -> file of the built-in boards and of the user's own files."""
    files = {plugin.name: plugin.made.path for plugin in plugins.own("boards")}
    own: dict[str, Path] = {}
    for path in extra:
        if path.suffix.lower() not in _SUFFIXES or not _NAME.fullmatch(path.stem):
            hint = "NAME.yaml, with letters, digits, '.', '_', '-'"
            raise NeuralArtError("not the name of a board file", where=str(path), hint=hint)
        if path.stem in files:
            hint = f"give the file another name and begin it with 'base: {path.stem}'"
            raise NeuralArtError(f"board '{path.stem}' is built in", where=str(path), hint=hint)
        if own.setdefault(path.stem, path) != path:
            what = f"board '{path.stem}' has two files, the other is {own[path.stem]}"
            raise NeuralArtError(what, where=str(path), hint="rename one")
    return {**files, **own}


for _name, _file in yaml_files(resources.board_data_dir()).items():
    plugins.register("boards", _name, BoardFile(_file), protocol=1)


def _check(board: Board, top: Value) -> None:
    """Check memories, registers, sections, flash and slots together. NeuralArtError: something does not fit."""
    memory = top.mapping()["memory"]
    if not board.memory:
        raise memory.error("is empty", "a board needs at least one memory")
    _check_overlaps(board, memory)
    _check_pool_names(board, memory)
    _check_enables(board, memory)
    taken: list[tuple[str, int, int]] = []
    for key, section in (("code", board.code), ("data", board.data)):
        if section is not None:
            start = _check_section(board, section, top.mapping()[key])
            for other, begin, end in taken:
                if start < end and begin < start + section.size:
                    mine = f"[{start:#010x}, {start + section.size:#010x})"
                    raise top.mapping()[key].error(f"{mine} overlaps {other} [{begin:#010x}, {end:#010x})")
            taken.append((key, start, start + section.size))
    _check_flash(board, top)
    _check_boot(board, top)
    _check_windows(board, top)


def _spans(region: MemoryRegion) -> list[tuple[int, int, str, MemoryRegion]]:
    spans = [(region.base, region.base + region.size, "base", region)]
    if region.alias is not None:
        spans.append((region.alias, region.alias + region.size, "alias", region))
    return spans


def _check_overlaps(board: Board, memory: Value) -> None:
    spans = sorted((span for region in board.memory for span in _spans(region)), key=lambda span: span[:2])
    # Who is to blame: what the board's own file says before what it is based on, then the later of the two.
    entries = memory.mapping()
    blame = {r.name: (entries[r.name].file == memory.file, index) for index, r in enumerate(board.memory)}
    last = spans[0]
    for span in spans[1:]:
        if span[0] < last[1]:
            new, old = (span, last) if blame[span[3].name] >= blame[last[3].name] else (last, span)
            raise entries[new[3].name].error(
                f"{new[2]} [{new[0]:#010x}, {new[1]:#010x}) overlaps {old[3].name} "
                f"{old[2]} [{old[0]:#010x}, {old[1]:#010x})"
            )
        if span[1] > last[1]:
            last = span


def _check_pool_names(board: Board, memory: Value) -> None:
    seen: dict[str, str] = {}
    for region in board.memory:
        if region.pool_name and seen.setdefault(region.pool_name, region.name) != region.name:
            what = f"'{region.pool_name}' is the pool name of {seen[region.pool_name]} already"
            raise memory.mapping()[region.name].mapping()["pool_name"].error(what)


def _check_enables(board: Board, memory: Value) -> None:
    registers = board.registers
    for region in board.memory:
        if region.enable is None:
            continue
        place = memory.mapping()[region.name].mapping()["enable"]
        if region.enable.clock_bit is not None and registers.memory_clock is None:
            raise place.error("clock_bit needs 'registers: memory_clock'")
        if region.enable.ramcfg_offset is not None and None in (registers.ramcfg, registers.shutdown_bit):
            raise place.error("ramcfg_offset needs 'registers: ramcfg' and 'shutdown_bit'")


def _check_section(board: Board, section: BoardSection, place: Value) -> int:
    """A section may run on into the memory that follows without a gap (FLEXRAM and AXISRAM1 of the STM32N6)."""
    known = {region.name: region for region in board.memory}
    if section.region not in known:
        raise place.mapping()["region"].error(f"no memory '{section.region}'", nearest(section.region, tuple(known)))
    region = known[section.region]
    start = region.base + section.offset
    if section.offset >= region.size:
        raise place.mapping()["offset"].error(f"{section.offset:#x} is outside {region.name} ({region.size:#x} bytes)")
    for at, below in _met(board, start, start + section.size):
        if below is None:
            what = f"{section.size:#x} bytes from {start:#010x} run over the end of memory at {at:#010x}"
            raise place.mapping()["size"].error(what)
        if not below.on_at_reset:
            raise place.error(f"{below.name} is off after reset, firmware cannot start there")
    return start


def _met(board: Board, start: int, end: int) -> Iterator[tuple[int, MemoryRegion | None]]:
    """The memories that a range of addresses leads through, and where it enters each; None: there is none."""
    while start < end:
        region = next((each for each in board.memory if each.base <= start < each.end), None)
        yield start, region
        start = region.end if region is not None else end


def _check_flash(board: Board, top: Value) -> None:
    fields = top.mapping()
    first, last = 0, 0
    if board.flash:
        place = fields["flash"].mapping()["base"]
        first = int(board.flash["base"])
        last = first + int(board.flash["size"])
        region = board.region_at(first)
        if region is None or region.kind != "flash" or last > region.end:
            raise place.error(f"[{first:#010x}, {last:#010x}) is not inside a memory of kind flash")
        if first % int(board.flash["sector"]):
            raise place.error(f"{first:#010x} is not a multiple of the sector, {board.flash['sector']} bytes")
    named = {("slots", name): address for name, address in board.slots.items()}
    if board.relocatable is not None:
        slots = board.relocatable
        named |= {("relocatable", name): getattr(slots, name) for name in ("table", "model", "params")}
    for (group, name), address in named.items():
        place = fields[group].mapping()[name]
        region = board.region_at(address)
        if region is None or region.kind != "flash":
            raise place.error(f"{address:#010x} is not in a memory of kind flash")
        if board.flash and not first <= address < last:
            raise place.error(f"{address:#010x} is outside {board.flash['part']} [{first:#010x}, {last:#010x})")
        if board.flash and address % int(board.flash["sector"]):
            raise place.error(f"{address:#010x} is not a multiple of the sector, {board.flash['sector']} bytes")


def _check_boot(board: Board, top: Value) -> None:
    """What is copied goes into memory that is on, and the code begins behind the header."""
    boot = board.boot
    if boot is None:
        return
    place = top.mapping()["boot"].mapping()
    if boot.slot not in board.slots:
        raise place["slot"].error(f"no slot '{boot.slot}'", nearest(boot.slot, tuple(board.slots)))
    slot = board.slots[boot.slot]
    if board.flash and slot + boot.copy_size > int(board.flash["base"]) + int(board.flash["size"]):
        raise place["copy_size"].error(
            f"{boot.copy_size:#x} bytes from slot {boot.slot} at {slot:#010x} run over the end of {board.flash['part']}"
        )
    for at, below in _met(board, boot.copy_to, boot.copy_to + boot.copy_size):
        if below is None or below.kind == "flash" or not below.on_at_reset:
            raise place["copy_to"].error(
                f"[{boot.copy_to:#010x}, {boot.copy_to + boot.copy_size:#010x}): "
                + (f"{below.name} is no RAM that is on after reset" if below else f"there is no memory at {at:#010x}")
            )
    if board.code is None:
        return
    start = board.region(board.code.region).base + board.code.offset
    if start != boot.copy_to + boot.header:
        what = f"copy_to + header is {boot.copy_to + boot.header:#010x}, but 'code' begins at {start:#010x}"
        raise place["header"].error(what)
    if start + board.code.size > boot.copy_to + boot.copy_size:
        raise place["copy_size"].error(
            f"'code' ends at {start + board.code.size:#010x}, what is copied at {boot.copy_to + boot.copy_size:#010x}"
        )


def _check_windows(board: Board, top: Value) -> None:
    """A control register is no memory: a wrong address must not be written to as if it were one."""
    place = top.mapping().get("windows")
    for item in place.items() if place is not None else ():
        for key in ("control", "clock_register"):
            address = item.mapping()[key].integer()
            region = board.region_at(address)
            if region is not None:
                raise item.mapping()[key].error(f"{address:#010x} is in memory {region.name}, not a register")
