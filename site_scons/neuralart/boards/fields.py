"""The keys of a board file, each group into its dataclass. Each reader raises NeuralArtError for what is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuralart.boards import types
from neuralart.boards.types import (
    Boot,
    Console,
    DebugAccess,
    Enable,
    FlashWindow,
    LoadSlots,
    Machine,
    MemoryRegion,
    Registers,
)
from neuralart.errors import nearest
from neuralart.files import is_file
from neuralart.patterns import later
from neuralart.text.values import Value

KINDS = ("ram", "flash", "psram", "rom")
OWNERS = ("cpu", "npu", "cpu+npu", "periph")
SECURITIES = ("secure", "none")
MACHINES = ("silicon", "unicorn", "qemu")
CONNECT_MODES = ("NORMAL", "HOTPLUG", "UR", "POWERDOWN")
# Cores that gcc takes to have MVE unless told otherwise.
_MVE_CORES = ("cortex-m55", "cortex-m85")
_ADDRESS_SPACE = 1 << 32
# As in text/image_header.py, which a build that signs nothing does not load; a test compares.
HEADER_VERSIONS, _BEHIND_HEADER = ("2.3", "2.1"), 0x400
_NAME = later(r"[A-Za-z][A-Za-z0-9_]*")
_WORD = later(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_SLOT = later(r"[a-z][a-z0-9_-]*")
_FLAG = later(r"-\S+")


def keys_of(owner: type, *without: str) -> tuple[str, ...]:
    """Keys of a group: the fields of its dataclass but for some."""
    return tuple(field.name for field in dataclasses.fields(owner) if field.name not in without)


def word(top: Value, key: str) -> str:
    """A required word such as ``stm32n6``."""
    return need(top, key).matching(_WORD, "one word")


def need(value: Value, key: str) -> Value:
    """A required key."""
    found = value.mapping().get(key)
    if found is None:
        raise value.error(f"'{key}' is missing")
    return found


def text(value: Value, key: str) -> str:
    """An optional text, which may be empty."""
    found = value.mapping().get(key)
    return "" if found is None else found.text(empty=True)


def flag(value: Value, key: str, default: bool = False) -> bool:
    """An optional truth value."""
    found = value.mapping().get(key)
    return default if found is None else found.boolean()


def _number(value: Value, key: str, low: int = 0, high: int = _ADDRESS_SPACE - 1) -> int | None:
    found = value.mapping().get(key)
    return None if found is None else found.integer(low, high)


def _bit(value: Value, key: str) -> int | None:
    return _number(value, key, 0, 31)


def _register(value: Value, key: str) -> int | None:
    """The address of a 32-bit register."""
    address = _number(value, key)
    if address is not None and address % 4:
        raise need(value, key).error(f"{address:#010x} is not a multiple of 4")
    return address


def _needed_register(value: Value, key: str) -> int:
    need(value, key)
    return _register(value, key) or 0


def _together(value: Value, one: str, other: str) -> None:
    if (one in value.mapping()) != (other in value.mapping()):
        raise value.error(f"'{one}' and '{other}' belong together", "give both, or none")


def _check_end(place: Value, start: int, size: int) -> None:
    if start + size > _ADDRESS_SPACE:
        raise place.error(f"{start:#010x} + {size:#x} bytes runs over the end of the address space")


def _power_of_two(value: Value) -> int:
    """A number such as the size of a sector or a page, at most 16M."""
    number = value.integer(1, 1 << 24)
    if number & (number - 1):
        raise value.error(f"{number} is not a power of two")
    return number


def memory(value: Value) -> tuple[MemoryRegion, ...]:
    """All memories that are fitted (size above 0)."""
    regions = [_region(name, entry) for name, entry in value.mapping().items()]
    return tuple(region for region in regions if region.size)


def _region(name: str, value: Value) -> MemoryRegion:
    fields = value.fields(keys_of(MemoryRegion, "name"))
    if not _NAME.fullmatch(name):
        raise value.error("the name of a memory must be letters, digits and '_'")
    size = need(value, "size").integer(0, _ADDRESS_SPACE)
    base = need(value, "base").integer()
    alias = _number(value, "alias")
    for key, start in (("base", base), ("alias", alias)):
        if start is not None:
            _check_end(fields.get(key, value), start, size)
    kind = need(value, "kind").choice(KINDS)
    if "sector" in fields and kind != "flash":
        raise fields["sector"].error(f"only flash is erased by sectors, this is {kind}")
    return MemoryRegion(
        name=name,
        base=base,
        size=size,
        kind=kind,
        pool_name=text(value, "pool_name"),
        alias=alias,
        owner=fields["owner"].choice(OWNERS) if "owner" in fields else "cpu",
        enable=_enable(fields["enable"]) if "enable" in fields else None,
        on_at_reset=flag(value, "on_at_reset", True),
        note=text(value, "note"),
        risaf=_number(value, "risaf", 1, 63),
        sector=_power_of_two(fields["sector"]) if "sector" in fields else None,
        mpu_normal=flag(value, "mpu_normal"),
    )


def _enable(value: Value) -> Enable:
    value.fields(keys_of(Enable))
    offset = _number(value, "ramcfg_offset", 0, 0xFFC)
    if offset is not None and offset % 4:
        raise need(value, "ramcfg_offset").error(f"{offset:#x} is not a multiple of 4")
    return Enable(_bit(value, "clock_bit"), offset)


def window(value: Value) -> tuple[int, int]:
    """A range of addresses: the first and the one behind the last."""
    value.fields(("base", "size"))
    base, size = need(value, "base").integer(), need(value, "size").integer(1, _ADDRESS_SPACE)
    _check_end(value, base, size)
    return base, base + size


def registers(value: Value) -> Registers:
    """Addresses and bits of the registers that turn banks on."""
    value.fields(keys_of(Registers))
    source = need(value, "source").text()
    _together(value, "rimc_npu", "rimc_npu_value")
    for clock in ("npu_cache_clock", "rimc_clock"):
        _together(value, clock, f"{clock}_bit")
    made: dict[str, Any] = {"source": source, "rimc_npu_value": _number(value, "rimc_npu_value")}
    for key in keys_of(Registers, *made):
        made[key] = _bit(value, key) if key.endswith("_bit") else _register(value, key)
    return Registers(**made)


def console(value: Value) -> Console:
    """The serial port."""
    value.fields(keys_of(Console))
    driver = need(value, "driver").matching(_NAME, "the name of a driver, like uart_stm32")
    base = _needed_register(value, "base")
    _together(value, "clock_register", "clock_bit")
    return Console(driver, base, _register(value, "clock_register"), _bit(value, "clock_bit"))


def section(value: Value) -> types.BoardSection:
    """Where a part of the firmware goes."""
    value.fields(keys_of(types.BoardSection))
    region, size = need(value, "region").text(), need(value, "size").integer(1, _ADDRESS_SPACE)
    return types.BoardSection(region, _number(value, "offset") or 0, size)


def machines(value: Value) -> dict[str, Machine]:
    """Where images execute, by kind; at least one."""
    found = value.fields(MACHINES)
    if not found:
        raise value.error("is empty", f"name at least one of {', '.join(MACHINES)}")
    return {kind: _machine(kind, entry) for kind, entry in found.items()}


def _machine(kind: str, value: Value) -> Machine:
    value.fields(keys_of(Machine, "kind"))
    flags = tuple(item.matching(_FLAG, "a flag of gcc, like -mthumb") for item in need(value, "cpu_flags").items())
    if not flags:
        raise need(value, "cpu_flags").error("is empty", "name at least -mcpu=...")
    # An emulator has to be told what to emulate.
    model = text(value, "model") if kind == "silicon" else word(value, "model")
    mve = flag(value, "mve")
    if mve and not _compiles_mve(flags):
        hint = "they need -mcpu=" + " or ".join(_MVE_CORES) + " without +nomve, and -mfloat-abi=hard"
        raise need(value, "mve").error("'cpu_flags' do not let gcc use MVE", hint)
    numbers = {key: _number(value, key) for key in ("cpuid", "counter", "counter_hz")}
    return Machine(kind, flags, model, isa=text(value, "isa"), note=text(value, "note"), mve=mve, **numbers)


def _compiles_mve(flags: tuple[str, ...]) -> bool:
    """Vectors live in the registers of the FPU: without it gcc has no MVE either."""
    named = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    core, *less = named.get("-mcpu", "").split("+")
    with_it = core in _MVE_CORES and "nomve" not in less
    with_it |= any(part in ("mve", "mve.fp") for part in named.get("-march", "").split("+"))
    return with_it and named.get("-mfloat-abi") in ("hard", "softfp")


def flash(value: Value) -> dict[str, str | int]:
    """The flash that slots are in."""
    value.fields(("part", "base", "size", "sector", "page", "loader"))
    made: dict[str, str | int] = {"part": need(value, "part").text(), "base": need(value, "base").integer()}
    made["size"] = need(value, "size").integer(1, _ADDRESS_SPACE)
    for key in ("sector", "page"):
        made[key] = _power_of_two(need(value, key))
    return {**made, "loader": text(value, "loader")}


def debug(value: Value) -> DebugAccess:
    """How debug probes reach the device."""
    fields = value.fields(keys_of(DebugAccess))
    return DebugAccess(
        device_id=need(value, "device_id").integer(1, 0xFFF),
        idcode=_register(value, "idcode"),
        access_port=_number(value, "access_port", 0, 255) or 0,
        mode=fields["mode"].choice(CONNECT_MODES) if "mode" in fields else "NORMAL",
        programmer=text(value, "programmer"),
        openocd=file(fields["openocd"]) if "openocd" in fields else "",
        pyocd=text(value, "pyocd"),
    )


def slots(value: Value) -> dict[str, int]:
    """Flash addresses by name."""
    made = {}
    for name, entry in value.mapping().items():
        if not _SLOT.fullmatch(name):
            raise entry.error("the name of a slot must be small letters, digits, '_' and '-'")
        made[name] = entry.integer()
    return made


def clocks(value: Value) -> dict[str, int]:
    """Clocks in MHz."""
    return {name: entry.integer(1, 100_000) for name, entry in value.fields(("cpu_mhz", "npu_mhz")).items()}


def switches(value: Value) -> dict[str, str]:
    """Boot switches in words, by mode."""
    return {mode: entry.text() for mode, entry in value.mapping().items()}


def file(value: Value) -> str:
    """A file (empty: none), relative to the board file that names it."""
    name = value.text(empty=True)
    path = Path(value.file).parent / name
    if name and not is_file(path):
        raise value.error(f"no file {path}", "the path is relative to the board file that names it")
    return str(path) if name else ""


def _header_version(value: Value, header: Value, room: int) -> str:
    said = value.mapping().get("header_version")
    if said is None:
        return ""
    if room != _BEHIND_HEADER:
        raise header.error(f"{room:#x}, but behind an image header the vector table is at {_BEHIND_HEADER:#x}")
    return said.choice(HEADER_VERSIONS)


def boot(value: Value) -> Boot:
    """How the boot chain brings an image to where it runs."""
    value.fields(keys_of(Boot, "in_place"))
    header = need(value, "header").integer(0, _ADDRESS_SPACE)
    made = Boot(
        slot=need(value, "slot").text(),
        copy_to=need(value, "copy_to").integer(),
        copy_size=need(value, "copy_size").integer(1, _ADDRESS_SPACE),
        header=header,
        header_version=_header_version(value, need(value, "header"), header),
    )
    if made.header >= made.copy_size:
        raise need(value, "header").error(f"{made.header:#x} leaves nothing of the {made.copy_size:#x} bytes copied")
    # The vector table follows the header; VTOR ignores its low seven bits.
    if made.header % 128:
        raise need(value, "header").error(f"{made.header:#x} is not a multiple of 128, a vector table cannot follow it")
    _check_end(need(value, "copy_to"), made.copy_to, made.copy_size)
    return made


def windows(value: Value, memory: Value) -> tuple[FlashWindow, ...]:
    """Memories behind a controller that must be in memory-mapped mode, but for those not fitted (size 0)."""
    found: dict[str, FlashWindow] = {}
    known = memory.mapping()
    for item in value.items():
        fields = item.fields(keys_of(FlashWindow))
        region = need(item, "region").text()
        if region not in known:
            raise fields["region"].error(f"no memory '{region}'", nearest(region, tuple(known)))
        if region in found:
            raise fields["region"].error(f"'{region}' has a window already")
        mask, wanted = need(item, "mask").integer(1), need(item, "value").integer()
        if wanted & ~mask:
            raise fields["value"].error(f"{wanted:#x} has bits that the mask {mask:#x} does not look at")
        found[region] = FlashWindow(
            region=region,
            control=_needed_register(item, "control"),
            mask=mask,
            value=wanted,
            clock_register=_needed_register(item, "clock_register"),
            clock_bit=need(item, "clock_bit").integer(0, 31),
            mapped_by_boot=flag(item, "mapped_by_boot", True),
        )
    return tuple(each for each in found.values() if need(known[each.region], "size").integer(0, _ADDRESS_SPACE))


def load_slots(value: Value, top: Value, flash: Mapping[str, int | str]) -> LoadSlots | None:
    """Where relocatable models are loaded from; None: only a base board says it, and this flash has no such place."""
    known = need(top, "memory").mapping()
    fields = value.fields(keys_of(LoadSlots))
    ext_ram = text(value, "ext_ram")
    if ext_ram and ext_ram not in known:
        raise fields["ext_ram"].error(f"no memory '{ext_ram}'", nearest(ext_ram, tuple(known)))
    if ext_ram and need(known[ext_ram], "kind").text() not in ("ram", "psram"):
        raise fields["ext_ram"].error(f"{ext_ram} is not RAM", "activations of models are written there")
    table, model, params = (need(value, key).integer() for key in ("table", "model", "params"))
    if flash and all(field.file != top.file for field in fields.values()):
        first, sector = int(flash["base"]), int(flash["sector"])
        last = first + int(flash["size"])
        if not all(first <= at < last and at % sector == 0 for at in (table, model, params)):
            return None
    return LoadSlots(table, model, params, ext_ram)
