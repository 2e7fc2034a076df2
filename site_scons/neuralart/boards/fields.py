"""The keys of a board file, each group into its dataclass."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from neuralart.boards.types import (
    BoardSection,
    Boot,
    Console,
    Enable,
    FlashWindow,
    LoadSlots,
    Machine,
    MemoryRegion,
    Registers,
)
from neuralart.errors import nearest
from neuralart.text.values import Value

KINDS = ("ram", "flash", "psram", "rom")
OWNERS = ("cpu", "npu", "cpu+npu", "periph")
SECURITIES = ("secure", "none")
MACHINES = ("silicon", "unicorn", "qemu")
# Cores that gcc takes to have MVE unless told otherwise.
_MVE_CORES = ("cortex-m55", "cortex-m85")

_ADDRESS_SPACE = 1 << 32
_REGION_KEYS = (
    "base",
    "alias",
    "size",
    "kind",
    "pool_name",
    "owner",
    "risaf",
    "enable",
    "on_at_reset",
    "sector",
    "mpu_normal",
    "note",
)
_REGISTER_KEYS = (
    "memory_clock",
    "memory_sleep_clock",
    "ramcfg",
    "ramcfg_clock",
    "ramcfg_clock_bit",
    "shutdown_bit",
    "npu_cache",
    "npu_cache_clock",
    "npu_cache_clock_bit",
    "rimc_npu",
    "rimc_npu_value",
    "rimc_clock",
    "rimc_clock_bit",
    "source",
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*", re.ASCII)
_SLOT = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_FLAG = re.compile(r"-\S+")


def word(top: Value, key: str) -> str:
    """A required word such as ``stm32n6``. NeuralArtError: it is missing or no word."""
    return need(top, key).matching(_WORD, "one word")


def need(value: Value, key: str) -> Value:
    """A required key. NeuralArtError: it is missing."""
    found = value.mapping().get(key)
    if found is None:
        raise value.error(f"'{key}' is missing")
    return found


def text(value: Value, key: str, default: str = "") -> str:
    """An optional text. NeuralArtError: it is something else."""
    found = value.mapping().get(key)
    return default if found is None else found.text(empty=True)


def _number(value: Value, key: str, low: int = 0, high: int = _ADDRESS_SPACE - 1) -> int | None:
    found = value.mapping().get(key)
    return None if found is None else found.integer(low, high)


def memory(value: Value) -> tuple[MemoryRegion, ...]:
    """All memories that are fitted (size above 0). NeuralArtError: a key or a value is wrong."""
    regions = [_region(name, entry) for name, entry in value.mapping().items()]
    return tuple(region for region in regions if region.size)


def _region(name: str, value: Value) -> MemoryRegion:
    fields = value.fields(_REGION_KEYS)
    if not _NAME.fullmatch(name):
        raise value.error("the name of a memory must be letters, digits and '_'")
    size = need(value, "size").integer(0, _ADDRESS_SPACE)
    base = need(value, "base").integer()
    alias = _number(value, "alias")
    for key, start in (("base", base), ("alias", alias)):
        if start is not None and start + size > _ADDRESS_SPACE:
            raise fields[key].error(f"{start:#010x} + {size:#x} bytes runs over the end of the address space")
    enable, on = fields.get("enable"), fields.get("on_at_reset")
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
        enable=_enable(enable) if enable is not None else None,
        on_at_reset=on.boolean() if on is not None else True,
        note=text(value, "note"),
        risaf=_number(value, "risaf", 1, 63),
        sector=power_of_two(fields["sector"]) if "sector" in fields else None,
        mpu_normal=fields["mpu_normal"].boolean() if "mpu_normal" in fields else False,
    )


def window(value: Value | None) -> tuple[int, int] | None:
    """A range of addresses: the first and the one behind the last. NeuralArtError: it leaves the address space."""
    if value is None:
        return None
    value.fields(("base", "size"))
    base, size = need(value, "base").integer(), need(value, "size").integer(1, _ADDRESS_SPACE)
    if base + size > _ADDRESS_SPACE:
        raise value.error(f"{base:#010x} + {size:#x} bytes runs over the end of the address space")
    return base, base + size


def power_of_two(value: Value) -> int:
    """A number such as the size of a sector or a page. NeuralArtError: no power of two, or more than 16M."""
    number = value.integer(1, 1 << 24)
    if number & (number - 1):
        raise value.error(f"{number} is not a power of two")
    return number


def _enable(value: Value) -> Enable:
    value.fields(("clock_bit", "ramcfg_offset"))
    offset = _number(value, "ramcfg_offset", 0, 0xFFC)
    if offset is not None and offset % 4:
        raise need(value, "ramcfg_offset").error(f"{offset:#x} is not a multiple of 4")
    return Enable(_number(value, "clock_bit", 0, 31), offset)


def registers(value: Value | None) -> Registers:
    """Addresses and bits of the registers that turn banks on. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return Registers()
    value.fields(_REGISTER_KEYS)
    source = need(value, "source").text()
    if ("rimc_npu" in value.mapping()) != ("rimc_npu_value" in value.mapping()):
        raise value.error("'rimc_npu' and 'rimc_npu_value' belong together", "give both, or none")
    for clock in ("npu_cache_clock", "rimc_clock"):
        if (clock in value.mapping()) != (f"{clock}_bit" in value.mapping()):
            raise value.error(f"'{clock}' and '{clock}_bit' belong together", "give both, or none")
    return Registers(
        memory_clock=register(value, "memory_clock"),
        memory_sleep_clock=register(value, "memory_sleep_clock"),
        ramcfg=register(value, "ramcfg"),
        ramcfg_clock=register(value, "ramcfg_clock"),
        ramcfg_clock_bit=_number(value, "ramcfg_clock_bit", 0, 31),
        shutdown_bit=_number(value, "shutdown_bit", 0, 31),
        source=source,
        npu_cache=register(value, "npu_cache"),
        rimc_npu=register(value, "rimc_npu"),
        rimc_npu_value=_number(value, "rimc_npu_value"),
        npu_cache_clock=register(value, "npu_cache_clock"),
        npu_cache_clock_bit=_number(value, "npu_cache_clock_bit", 0, 31),
        rimc_clock=register(value, "rimc_clock"),
        rimc_clock_bit=_number(value, "rimc_clock_bit", 0, 31),
    )


def register(value: Value, key: str) -> int | None:
    """The address of a 32-bit register. NeuralArtError: not such an address."""
    address = _number(value, key)
    if address is not None and address % 4:
        raise need(value, key).error(f"{address:#010x} is not a multiple of 4")
    return address


def console(value: Value | None) -> Console | None:
    """The serial port. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return None
    fields = value.fields(("driver", "base", "clock_register", "clock_bit"))
    driver = need(value, "driver").matching(_NAME, "the name of a driver, like uart_stm32")
    need(value, "base")
    base = register(value, "base") or 0
    if ("clock_register" in fields) != ("clock_bit" in fields):
        raise value.error("'clock_register' and 'clock_bit' belong together", "give both, or none")
    return Console(driver, base, register(value, "clock_register"), _number(value, "clock_bit", 0, 31))


def section(value: Value | None) -> BoardSection | None:
    """Where a part of the firmware goes. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return None
    value.fields(("region", "offset", "size"))
    return BoardSection(
        region=need(value, "region").text(),
        offset=_number(value, "offset") or 0,
        size=need(value, "size").integer(1, _ADDRESS_SPACE),
    )


def machines(value: Value) -> dict[str, Machine]:
    """Where images execute, by kind. NeuralArtError: a key or a value is wrong, or there is none."""
    found = value.fields(MACHINES)
    if not found:
        raise value.error("is empty", f"name at least one of {', '.join(MACHINES)}")
    return {kind: _machine(kind, entry) for kind, entry in found.items()}


def _machine(kind: str, value: Value) -> Machine:
    value.fields(("model", "cpu_flags", "cpuid", "isa", "note", "mve"))
    flags = tuple(item.matching(_FLAG, "a flag of gcc, like -mthumb") for item in need(value, "cpu_flags").items())
    if not flags:
        raise need(value, "cpu_flags").error("is empty", "name at least -mcpu=...")
    # An emulator has to be told what to emulate.
    model = text(value, "model") if kind == "silicon" else need(value, "model").matching(_WORD, "one word")
    mve = value.mapping().get("mve")
    with_mve = mve is not None and mve.boolean()
    if mve is not None and with_mve and not _compiles_mve(flags):
        raise mve.error(
            "'cpu_flags' do not let gcc use MVE",
            "they need -mcpu=" + " or ".join(_MVE_CORES) + " without +nomve, and -mfloat-abi=hard",
        )
    return Machine(kind, flags, model, _number(value, "cpuid"), text(value, "isa"), text(value, "note"), with_mve)


def _compiles_mve(flags: tuple[str, ...]) -> bool:
    """Vectors live in the registers of the FPU: without it gcc has no MVE either."""
    named = dict(flag.split("=", 1) for flag in flags if "=" in flag)
    core, *less = named.get("-mcpu", "").split("+")
    with_it = core in _MVE_CORES and "nomve" not in less
    with_it |= any(part in ("mve", "mve.fp") for part in named.get("-march", "").split("+"))
    return with_it and named.get("-mfloat-abi") in ("hard", "softfp")


def flash(value: Value | None) -> dict[str, str | int]:
    """The flash that slots are in. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return {}
    value.fields(("part", "base", "size", "sector", "page", "loader"))
    made: dict[str, str | int] = {
        "part": need(value, "part").text(),
        "base": need(value, "base").integer(),
        "size": need(value, "size").integer(1, _ADDRESS_SPACE),
    }
    for key in ("sector", "page"):
        made[key] = power_of_two(need(value, key))
    made["loader"] = text(value, "loader")
    return made


def slots(value: Value | None) -> dict[str, int]:
    """Flash addresses by name. NeuralArtError: a name or an address is wrong."""
    made = {}
    for name, entry in value.mapping().items() if value is not None else ():
        if not _SLOT.fullmatch(name):
            raise entry.error("the name of a slot must be small letters, digits, '_' and '-'")
        made[name] = entry.integer()
    return made


def switches(value: Value | None) -> dict[str, str]:
    """Boot switches in words, by mode. NeuralArtError: not text."""
    return {mode: entry.text() for mode, entry in value.mapping().items()} if value is not None else {}


def file(value: Value | None) -> str:
    """A file (empty: none), relative to the board file that names it. NeuralArtError: there is no such file."""
    name = value.text(empty=True) if value is not None else ""
    if value is None or not name:
        return ""
    path = Path(value.file).parent / name
    if not path.is_file():
        raise value.error(f"no file {path}", "the path is relative to the board file that names it")
    return str(path)


_ADDRESS_SPACE = 1 << 32


def boot(value: Value | None) -> Boot | None:
    """How the boot chain brings an image to where it runs. NeuralArtError: a key or a value is wrong."""
    if value is None:
        return None
    value.fields(("slot", "copy_to", "copy_size", "header"))
    made = Boot(
        slot=need(value, "slot").text(),
        copy_to=need(value, "copy_to").integer(),
        copy_size=need(value, "copy_size").integer(1, _ADDRESS_SPACE),
        header=need(value, "header").integer(0, _ADDRESS_SPACE),
    )
    if made.header >= made.copy_size:
        raise need(value, "header").error(f"{made.header:#x} leaves nothing of the {made.copy_size:#x} bytes copied")
    # The vector table follows the header; VTOR ignores its low seven bits.
    if made.header % 128:
        raise need(value, "header").error(f"{made.header:#x} is not a multiple of 128, a vector table cannot follow it")
    if made.copy_to + made.copy_size > _ADDRESS_SPACE:
        raise need(value, "copy_to").error(
            f"{made.copy_to:#010x} + {made.copy_size:#x} bytes runs over the end of the address space"
        )
    return made


def windows(value: Value | None, memory: Value) -> tuple[FlashWindow, ...]:
    """Memories behind a controller that must be in memory-mapped mode, but for those not fitted (size 0)."""
    found: dict[str, FlashWindow] = {}
    for item in value.items() if value is not None else ():
        fields = item.fields(("region", "control", "mask", "value", "clock_register", "clock_bit", "mapped_by_boot"))
        region = need(item, "region").text()
        if region not in memory.mapping():
            raise fields["region"].error(f"no memory '{region}'", nearest(region, tuple(memory.mapping())))
        if region in found:
            raise fields["region"].error(f"'{region}' has a window already")
        need(item, "control")
        need(item, "clock_register")
        mask = need(item, "mask").integer(1)
        wanted = need(item, "value").integer()
        if wanted & ~mask:
            raise fields["value"].error(f"{wanted:#x} has bits that the mask {mask:#x} does not look at")
        found[region] = FlashWindow(
            region=region,
            control=register(item, "control") or 0,
            mask=mask,
            value=wanted,
            clock_register=register(item, "clock_register") or 0,
            clock_bit=need(item, "clock_bit").integer(0, 31),
            mapped_by_boot=fields["mapped_by_boot"].boolean() if "mapped_by_boot" in fields else True,
        )
    fitted = [name for name, entry in memory.mapping().items() if need(entry, "size").integer(0, _ADDRESS_SPACE)]
    return tuple(window for region, window in found.items() if region in fitted)


def load_slots(top: Value, flash: Mapping[str, int | str]) -> LoadSlots | None:
    """Where relocatable models are loaded from; None: nobody said, or only a base board in whose flash they fit."""
    value = top.mapping().get("relocatable")
    if value is None:
        return None
    memory = need(top, "memory")
    fields = value.fields(("table", "model", "params", "ext_ram"))
    ext_ram = fields["ext_ram"].text(empty=True) if "ext_ram" in fields else ""
    if ext_ram and ext_ram not in memory.mapping():
        raise fields["ext_ram"].error(f"no memory '{ext_ram}'", nearest(ext_ram, tuple(memory.mapping())))
    if ext_ram and need(memory.mapping()[ext_ram], "kind").text() not in ("ram", "psram"):
        raise fields["ext_ram"].error(f"{ext_ram} is not RAM", "activations of models are written there")
    made = LoadSlots(
        table=need(value, "table").integer(),
        model=need(value, "model").integer(),
        params=need(value, "params").integer(),
        ext_ram=ext_ram,
    )
    if flash and all(field.file != top.file for field in fields.values()):
        first, sector = int(flash["base"]), int(flash["sector"])
        last = first + int(flash["size"])
        if not all(first <= at < last and at % sector == 0 for at in (made.table, made.model, made.params)):
            return None
    return made
