"""A board and networks made by hand: numbers that a test can count on its fingers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from neuralart.boards.types import Board, BoardSection, Console, Enable, Machine, MemoryRegion, Registers
from neuralart.network.facts import Epoch, Network, PoolUse, Port

REGISTERS = Registers(
    memory_clock=0x5000_0010,
    memory_sleep_clock=0x5000_0020,
    ramcfg=0x5100_0000,
    ramcfg_clock=0x5000_0030,
    ramcfg_clock_bit=12,
    shutdown_bit=20,
    source="a header",
)

# Banks of 4 KiB, BANK1 to BANK3 without a gap, each 0x1000_0000 lower in the other security state.
MEMORY = (
    MemoryRegion("CODE", 0x3000_0000, 0x1000, "ram"),
    MemoryRegion("ALWAYS", 0x3001_0000, 0x1000, "ram", alias=0x2001_0000),
    MemoryRegion("BANK1", 0x3400_0000, 0x1000, "ram", alias=0x2400_0000, enable=Enable(clock_bit=7)),
    MemoryRegion("BANK2", 0x3400_1000, 0x1000, "ram", alias=0x2400_1000, enable=Enable(0, 0x100), on_at_reset=False),
    MemoryRegion("BANK3", 0x3400_2000, 0x1000, "ram", alias=0x2400_2000, enable=Enable(1, 0x180), on_at_reset=False),
    MemoryRegion("NOR", 0x7000_0000, 0x10_0000, "flash"),
)


def board(**changes: Any) -> Board:
    """The board, with some of its fields changed."""
    fields: dict[str, Any] = {
        "name": "small",
        "title": "A small board",
        "target": "small",
        "device": "SMALL1",
        "cpu": "cortex-m55",
        "security": "secure",
        "memory": MEMORY,
        "registers": REGISTERS,
        "machines": {"silicon": Machine("silicon", ("-mcpu=cortex-m55",))},
        "console": Console("uart_small", 0x5200_1000),
        "code": BoardSection("CODE", 0x100, 0x800),
        "data": BoardSection("ALWAYS", 0, 0x400),
        **changes,
    }
    return Board(**fields)


def pool(fname: str, address: int, used: int, **changes: Any) -> PoolUse:
    """A pool of which some bytes are used by activations, unless told otherwise."""
    fields: dict[str, Any] = {
        "name": fname.lower(),
        "fname": fname,
        "address": address,
        "size": max(used, 0x1000),
        "used": used,
        "weights": 0,
        "activations": used,
        "rights": "ACC_WRITE",
        **changes,
    }
    return PoolUse(**fields)


def network(*pools: PoolUse, name: str = "net", kinds: Sequence[str] = ("SW",)) -> Network:
    """A network in these pools."""
    port = Port("in", "", 0, 4, (1, 4), "int8", 0.5, 0)
    return Network(
        name=name,
        runtime="neuralart",
        runtime_version=(0, 1, 0, 0),
        abi_stamp="0123456789abcdef",
        numerics="litert-2.20",
        pools=tuple(pools),
        inputs=(port,),
        outputs=(port,),
        epochs=tuple(Epoch(number, kind, ("ADD",)) for number, kind in enumerate(kinds)),
        macc=1234,
    )
