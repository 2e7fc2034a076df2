"""Small programs for the virtual NPU: registers by names, memory, streams, and a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuralart_virtual.npu.dataflow import Dataflow, EpochWork, Settings
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.modes import Assumptions
from neuralart_virtual.npu.state import NpuState, UnitState
from neuralart_virtual.npu.units.rounding import Ties

RAM, FLASH = 0x34000000, 0x70000000


def memory(ram: int = 1 << 16, flash: int = 1 << 14) -> NpuMemory:
    """RAM and flash, filled with a pattern."""
    made = NpuMemory()
    made.add("RAM", RAM, (np.arange(ram) * 7 % 251).astype(np.uint8))
    made.add("FLASH", FLASH, (np.arange(flash) * 31 % 253).astype(np.uint8))
    return made


def setup(state: NpuState, kind: str, index: int = 0, **registers: dict[str, int]) -> UnitState:
    """Set fields of registers; the unit is enabled."""
    unit = state.unit(kind, index)
    for register, fields in registers.items():
        unit.set(register, **fields)
    unit.set("CTRL", EN=1)
    return unit


def word(unit: UnitState, **registers: int) -> None:
    """Set whole registers."""
    for name, value in registers.items():
        unit.words[unit.facts.registers[name].offset] = value & 0xFFFFFFFF


def engine(
    state: NpuState,
    index: int,
    address: int,
    count: int,
    *,
    write: bool = False,
    size: int = 1,
    frames: int = 1,
    step: int | None = None,
    **fields: int,
) -> UnitState:
    """A raw stream engine: ``count`` elements a frame, frames side by side. ``fields``: more of CTRL."""
    lanes = {f"SIZE{lane}": 8 if lane < size else 0 for lane in range(3)}
    unit = setup(
        state, "STRENG", index, CTRL={"DIR": int(write), "RAW": 1, **lanes, **fields}, LIMITEN={"FRAMELIMIT": 1}
    )
    offset = count * size if step is None else step
    word(unit, ADDR=address, FSIZE=count, FOFFSET=offset, LIMIT=frames)
    return unit


def convolution(state: NpuState, index: int = 0, **fields: Any) -> UnitState:
    """A plain 1x1 accelerator without partial sums; ``fields``: more registers."""
    unit = setup(
        state,
        "CONVACC",
        index,
        CTRL={"NOSUM": 1, "NO1SUM": 1, "SIMD": 1},
        KFORMAT={"WIDTH": 1, "HEIGHT": 1, "BTCDEPTH": 1, "NR": 1},
        DFORMAT={"ROUND": 1, "SAT": 1, "ORNDMODE": 1, "OUTSHIFT": 0, "OBYTES": 2, "FBYTES": 1, "INSHIFT": 0},
        FFORMAT={"WIDTH": 1, "HEIGHT": 1},
    )
    for register, values in fields.items():
        unit.set(register, **values)
    return unit


def arithmetic(state: NpuState, index: int = 0, **fields: Any) -> UnitState:
    """A plain multiplication by a scalar, of bytes; ``fields``: more registers."""
    unit = setup(
        state,
        "ARITH",
        index,
        CTRL={"ROUND": 1, "SAT": 1, "ORNDMODE": 1, "OBYTES": 1},
        INSHIFTER={"FBYTESX": 1, "FBYTESY": 1, "FOBYTESX": 1, "FOBYTESY": 1},
        COEFFAC={"A": 1},
    )
    for register, values in fields.items():
        unit.set(register, **values)
    return unit


def run(
    state: NpuState, where: NpuMemory, *, ties: Ties | None = None, assume: tuple[str, ...] = (), work: int = 1 << 22
) -> EpochWork:
    """Run what is enabled."""
    settings = Settings(ties or Ties(), Assumptions.of(assume), work)
    return Dataflow(state, where, "7", settings).run()


def plain(where: NpuMemory, address: int, count: int, kind: str = "<i1") -> list[int]:
    """Elements of memory."""
    size = np.dtype(kind).itemsize
    return [int(value) for value in where.view(address, count * size).copy().view(kind)]
