"""The keys of a board file: the fields of its dataclasses, with their defaults. The type of a field chooses the reader
of its value, unless a reader is named here. Readers raise NeuralArtError for wrong values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from neuralart.boards import types
from neuralart.config.keys import MACHINES, all_machines, one_of, text_or_none, whole
from neuralart.errors import NeuralArtError
from neuralart.files import is_file
from neuralart.quick import lazy_regex
from neuralart.text.values import Value

Reader = Callable[..., Any]
"""Takes a value, and the fields of the dataclass that the value does not say."""

# Cores that gcc takes to have MVE unless told otherwise.
_MVE_CORES = ("cortex-m55", "cortex-m85")
_ADDRESS_SPACE = 1 << 32
# As in text/image_header.py, which a build that signs nothing does not load; a test compares.
HEADER_VERSIONS, _BEHIND_HEADER = ("2.3", "2.1"), 0x400
_NAME = lazy_regex(r"[A-Za-z][A-Za-z0-9_]*")
_WORD = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SLOT = lazy_regex(r"[a-z][a-z0-9_-]*")
_FLAG = lazy_regex(r"-\S+")


def need(value: Value, key: str) -> Value:
    member = value.mapping().get(key)
    if member is None:
        raise value.error(f"'{key}' is missing")
    return member


# Readers of single values ----------------------------------------------------------------------------------------

_address, _bit = whole(0, _ADDRESS_SPACE - 1), whole(0, 31)
_bytes, _bytes_or_none = whole(1, _ADDRESS_SPACE), whole(0, _ADDRESS_SPACE)


def _word(value: Value) -> str:
    return value.matching(_WORD, "one word")


def _multiple_of_4(high: int, form: str) -> Reader:
    def read(value: Value) -> int:
        number = value.integer(0, high)
        if number % 4:
            raise value.error(f"{number:{form}} is not a multiple of 4")
        return number

    return read


_register = _multiple_of_4(_ADDRESS_SPACE - 1, "#010x")


def _power_of_two(value: Value) -> int:
    """A number such as the size of a sector or a page, at most 16M."""
    number = value.integer(1, 1 << 24)
    if number & (number - 1):
        raise value.error(f"{number} is not a power of two")
    return number


def _file(value: Value) -> str:
    """A file (empty: none), relative to the board file that names it."""
    name = value.text(empty=True)
    path = Path(value.file).parent / name
    if name and not is_file(path):
        raise value.error(f"no file {path}", "the path is relative to the board file that names it")
    return str(path) if name else ""


def _cpu_flags(value: Value) -> tuple[str, ...]:
    flags = tuple(item.matching(_FLAG, "a flag of gcc, like -mthumb") for item in value.items())
    if not flags:
        raise value.error("is empty", "name at least -mcpu=...")
    return flags


# Groups of keys --------------------------------------------------------------------------------------------------

_BY_TYPE: dict[object, Reader] = {"int": _address, "Register": _register, "bool": Value.boolean}


def _usual(field: dataclasses.Field[Any]) -> Reader:
    if field.name.endswith("_bit"):
        return _bit
    if field.type == "str":
        return Value.text if field.default is dataclasses.MISSING else text_or_none
    return _BY_TYPE[str(field.type).removesuffix(" | None")]


def _values(value: Value, readers: Mapping[str, Reader], optional: Collection[str]) -> dict[str, Any]:
    """What a mapping says under the keys of ``readers``, of which some are ``optional``."""
    keys = [key for key in readers if key not in optional or key in value.mapping()]
    return {key: readers[key](need(value, key)) for key in keys}


def _only_values(value: Value, readers: Mapping[str, Reader], optional: Collection[str]) -> dict[str, Any]:
    """The same of a mapping that has no other keys."""
    value.fields(tuple(readers))
    return _values(value, readers, optional)


def _group(dataclass: type, /, *without: str, **special: Reader) -> Reader:
    """A reader of a mapping into a dataclass: no key for the fields ``without``, ``special`` readers by field."""
    fields = [field for field in dataclasses.fields(dataclass) if field.name not in without]
    readers = {field.name: special.get(field.name) or _usual(field) for field in fields}
    optional = [field.name for field in fields if field.default is not dataclasses.MISSING]
    return lambda value, **given: dataclass(**given, **_only_values(value, readers, optional))


def _together(value: Value, one: str, other: str) -> None:
    if (one in value.mapping()) != (other in value.mapping()):
        raise value.error(f"'{one}' and '{other}' belong together", "give both, or none")


def _check_end(place: Value, start: int, size: int) -> None:
    if start + size > _ADDRESS_SPACE:
        raise place.error(f"{start:#010x} + {size:#x} bytes runs over the end of the address space")


_read_region = _group(
    types.MemoryRegion,
    "name",
    size=_bytes_or_none,
    kind=one_of(("ram", "flash", "psram", "rom")),
    owner=one_of(("cpu", "npu", "cpu+npu", "periph")),
    enable=_group(types.Enable, ramcfg_offset=_multiple_of_4(0xFFC, "#x")),
    risaf=whole(1, 63),
    sector=_power_of_two,
)


def _memory(value: Value) -> tuple[types.MemoryRegion, ...]:
    regions = [_region(name, entry) for name, entry in value.mapping().items()]
    return tuple(region for region in regions if region.size)


def _region(name: str, value: Value) -> types.MemoryRegion:
    region: types.MemoryRegion = _read_region(value, name=name)
    if not _NAME.fullmatch(name):
        raise value.error("the name of a memory must be letters, digits and '_'")
    for key, start in (("base", region.base), ("alias", region.alias)):
        if start is not None:
            _check_end(value.mapping().get(key, value), start, region.size)
    if region.sector is not None and region.kind != "flash":
        raise need(value, "sector").error(f"only flash is erased by sectors, this is {region.kind}")
    return region


def _window(value: Value) -> tuple[int, int]:
    """A range of addresses: the first and the one behind the last."""
    base, size = _only_values(value, {"base": _address, "size": _bytes}, ()).values()
    _check_end(value, base, size)
    return base, base + size


_read_registers = _group(types.Registers, source=Value.text)


def _registers(value: Value) -> types.Registers:
    """Addresses and bits of the registers that turn banks on."""
    made: types.Registers = _read_registers(value)
    need(value, "source")
    _together(value, "rimc_npu", "rimc_npu_value")
    for clock in ("npu_cache_clock", "rimc_clock"):
        _together(value, clock, f"{clock}_bit")
    return made


_read_console = _group(
    types.Console, driver=lambda value: value.matching(_NAME, "the name of a driver, like uart_stm32")
)


def _console(value: Value) -> types.Console:
    made: types.Console = _read_console(value)
    _together(value, "clock_register", "clock_bit")
    return made


def _section(value: Value) -> types.BoardSection:
    """Where a part of the firmware goes."""
    readers: dict[str, Reader] = {"region": Value.text, "offset": _address, "size": _bytes}
    return types.BoardSection(**{"offset": 0, **_only_values(value, readers, ("offset",))})


_read_machine = _group(types.Machine, "kind", cpu_flags=_cpu_flags)


def _machines(value: Value) -> dict[str, types.Machine]:
    """Where images execute, by kind; at least one."""
    try:
        entries = value.fields(MACHINES)
    except NeuralArtError:
        # Plugins are looked for only where there is another name.
        if not value.is_mapping:
            raise
        entries = value.fields(all_machines())
    if not entries:
        raise value.error("is empty", f"name at least one of {', '.join(MACHINES)}")
    return {kind: _machine(kind, entry) for kind, entry in entries.items()}


def _machine(kind: str, value: Value) -> types.Machine:
    machine: types.Machine = _read_machine(value, kind=kind)
    # An emulator has to be told what to emulate; a plugin's machine may know it.
    if kind in ("unicorn", "qemu"):
        _word(need(value, "model"))
    if machine.mve and not _compiles_mve(machine.cpu_flags):
        hint = "they need -mcpu=" + " or ".join(_MVE_CORES) + " without +nomve, and -mfloat-abi=hard"
        raise need(value, "mve").error("'cpu_flags' do not let gcc use MVE", hint)
    return machine


def _compiles_mve(flags: tuple[str, ...]) -> bool:
    """Vectors live in the registers of the FPU: without it gcc has no MVE either."""
    named = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    core, *less = named.get("-mcpu", "").split("+")
    with_it = core in _MVE_CORES and "nomve" not in less
    with_it |= any(part in ("mve", "mve.fp") for part in named.get("-march", "").split("+"))
    return with_it and named.get("-mfloat-abi") in ("hard", "softfp")


_FLASH: dict[str, Reader] = {
    "part": Value.text,
    "base": _address,
    "size": _bytes,
    "sector": _power_of_two,
    "page": _power_of_two,
    "loader": text_or_none,
}


def _flash(value: Value) -> dict[str, Any]:
    """The flash that slots are in."""
    return {**dict.fromkeys(_FLASH, ""), **_only_values(value, _FLASH, ("loader",))}


def _slots(value: Value) -> dict[str, int]:
    """Flash addresses by name."""
    for name, entry in value.mapping().items():
        if not _SLOT.fullmatch(name):
            raise entry.error("the name of a slot must be small letters, digits, '_' and '-'")
    return {name: entry.integer() for name, entry in value.mapping().items()}


_read_boot = _group(
    types.Boot, "in_place", copy_size=_bytes, header=_bytes_or_none, header_version=one_of(HEADER_VERSIONS)
)


def _boot(value: Value) -> types.Boot:
    """How the boot chain brings an image to where it runs."""
    boot: types.Boot = _read_boot(value)
    header = need(value, "header")
    if boot.header_version and boot.header != _BEHIND_HEADER:
        raise header.error(f"{boot.header:#x}, but behind an image header the vector table is at {_BEHIND_HEADER:#x}")
    if boot.header >= boot.copy_size:
        raise header.error(f"{boot.header:#x} leaves nothing of the {boot.copy_size:#x} bytes copied")
    # The vector table follows the header; VTOR ignores its low seven bits.
    if boot.header % 128:
        raise header.error(f"{boot.header:#x} is not a multiple of 128, a vector table cannot follow it")
    _check_end(need(value, "copy_to"), boot.copy_to, boot.copy_size)
    return boot


def _windows(value: Value) -> tuple[types.FlashWindow, ...]:
    """Memories behind a controller that must be in memory-mapped mode."""
    windows: dict[str, types.FlashWindow] = {}

    def region(value: Value) -> str:
        if value.text() in windows:
            raise value.error(f"'{value.text()}' has a window already")
        return value.text()

    read = _group(types.FlashWindow, region=region, mask=whole(1, _ADDRESS_SPACE - 1))
    for item in value.items():
        window: types.FlashWindow = read(item)
        if window.value & ~window.mask:
            what = f"{window.value:#x} has bits that the mask {window.mask:#x} does not look at"
            raise need(item, "value").error(what)
        windows[window.region] = window
    return tuple(windows.values())


_CLOCKS = dict.fromkeys(("cpu_mhz", "npu_mhz"), whole(1, 100_000))
BOARD: dict[str, Reader] = {
    "title": Value.text,
    "target": _word,
    "device": _word,
    "cpu": _word,
    "security": one_of(("secure", "none")),
    "memory": _memory,
    "registers": _registers,
    "machines": _machines,
    "console": _console,
    "code": _section,
    "data": _section,
    "mpool": _file,
    "profile": _file,
    "memory_pools": _file,
    "flash": _flash,
    "slots": _slots,
    "switches": lambda value: {mode: entry.text() for mode, entry in value.mapping().items()},
    "debug": _group(
        types.DebugAccess,
        device_id=whole(1, 0xFFF),
        access_port=whole(0, 255),
        mode=one_of(("NORMAL", "HOTPLUG", "UR", "POWERDOWN")),
        openocd=_file,
    ),
    "boot": _boot,
    "windows": _windows,
    "relocatable": _group(types.LoadSlots),
    "firmware": _word,
    "external_ram": _window,
    "narrow_display": Value.boolean,
    "clocks": lambda value: _only_values(value, _CLOCKS, tuple(_CLOCKS)),
    "note": text_or_none,
}
"""Keys of a board -> reader of the field of the same name."""
_NEEDED = ("title", "target", "device", "cpu", "security", "memory", "machines")


def board(top: Value) -> dict[str, Any]:
    """Read the fields of a board; how they fit together is not checked."""
    return _values(top, BOARD, BOARD.keys() - set(_NEEDED))
