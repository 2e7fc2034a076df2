"""What GDB is told before it asks: registers of an M-profile core and the memory map of a board, as XML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

from neuralart.boards.types import Board, MemoryRegion

# Address ranges of every M-profile core (Armv8-M ARM, system address map): peripherals, private peripheral bus.
DEVICES = ((0x40000000, 0x20000000), (0xE0000000, 0x100000))
_SMALLEST_SECTOR = 0x1000


@dataclass(frozen=True)
class CoreRegister:
    """A register of the core, as GDB numbers them: by their place in :data:`REGISTERS`."""

    name: str  # As GDB calls it
    bits: int  # Its size
    kind: str = ""  # GDB's type; empty: a number


# Feature (GDB manual, "ARM Features") and its registers.
FEATURES: Mapping[str, tuple[CoreRegister, ...]] = {
    "org.gnu.gdb.arm.m-profile": (
        *(CoreRegister(f"r{number}", 32) for number in range(13)),
        CoreRegister("sp", 32, "data_ptr"),
        CoreRegister("lr", 32, "code_ptr"),
        CoreRegister("pc", 32, "code_ptr"),
        CoreRegister("xpsr", 32),
    ),
    "org.gnu.gdb.arm.vfp": (
        *(CoreRegister(f"d{number}", 64, "ieee_double") for number in range(16)),
        CoreRegister("fpscr", 32),
    ),
    "org.gnu.gdb.arm.m-system": tuple(
        CoreRegister(name, 32) for name in ("msp", "psp", "primask", "basepri", "faultmask", "control")
    ),
}
REGISTERS = tuple(register for registers in FEATURES.values() for register in registers)


def target_xml() -> str:
    """The registers."""
    lines = ['<?xml version="1.0"?>', '<!DOCTYPE target SYSTEM "gdb-target.dtd">', '<target version="1.0">']
    lines.append("<architecture>arm</architecture>")
    for feature, registers in FEATURES.items():
        lines.append(f'<feature name="{feature}">')
        for register in registers:
            kind = f' type="{register.kind}"' if register.kind else ""
            lines.append(f'<reg name="{register.name}" bitsize="{register.bits}"{kind}/>')
        lines.append("</feature>")
    return "\n".join([*lines, "</target>", ""])


def sector_of(board: Board, region: MemoryRegion) -> int:
    """Bytes of a flash that are erased together."""
    own = int(board.flash["sector"]) if board.flash.get("base") == region.base and "sector" in board.flash else 0
    return region.sector or own or _SMALLEST_SECTOR


def _ranges(board: Board) -> Iterator[tuple[int, int, str, int]]:
    """(address, bytes, type, bytes of a sector or 0) of all that answers anywhere."""
    for region in board.memory:
        kind = region.kind if region.kind in ("flash", "rom") else "ram"
        sector = sector_of(board, region) if kind == "flash" else 0
        for base in dict.fromkeys((region.base, region.alias)):
            if base is not None:
                yield base, region.size, kind, sector
    # To GDB, registers are memory that can be written.
    yield from ((base, size, "ram", 0) for base, size in DEVICES)


def memory_map_xml(board: Board) -> str:
    """The memories, both aliases of each; GDB writes flash by other packets than RAM."""
    lines = [
        '<?xml version="1.0"?>',
        '<!DOCTYPE memory-map PUBLIC "+//IDN gnu.org//DTD GDB Memory Map V1.0//EN" '
        '"http://sourceware.org/gdb/gdb-memory-map.dtd">',
        "<memory-map>",
    ]
    for base, size, kind, sector in sorted(_ranges(board)):
        memory = f'<memory type={quoteattr(kind)} start="0x{base:x}" length="0x{size:x}"'
        inside = f'><property name="blocksize">0x{sector:x}</property></memory>' if sector else "/>"
        lines.append(memory + inside)
    return "\n".join([*lines, "</memory-map>", ""])
