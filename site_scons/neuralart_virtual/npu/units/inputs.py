"""The input shifter that several units have: bytes, shift, rounding, saturation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from neuralart_virtual.npu.state import UnitState
from neuralart_virtual.npu.units.rounding import UP, Ties, Values, limits, low_bytes, shift_right


def rule(mode: int, enabled: int, stage: str, ties: Ties) -> str | None:
    """How a stage rounds, by its fields ROUND and RNDMODE; None: it cuts off. Mode 0 is an assumption."""
    if not enabled:
        return None
    return ties.of(stage) if mode & 1 else UP


class InputShifter(NamedTuple):
    """What happens to each element before a unit computes."""

    size: int  # Bytes that are taken of an element
    shift: int  # To the right; below 0 to the left
    ties: str | None  # How it rounds; None: it does not
    clips: int  # Bytes that the result is clipped to; 0: not at all
    signed: bool

    def apply(self, values: Values) -> Values:
        """Shifted elements; as they are if there is nothing to do."""
        taken = low_bytes(values, self.size, signed=self.signed)
        if not self.shift and not self.clips:
            return taken
        shifted = shift_right(taken.astype(np.int64), self.shift, self.ties)
        return np.clip(shifted, *limits(self.clips)) if self.clips else shifted


def shifter(
    unit: UnitState, register: str, port: str, ties: Ties, *, modes: str = "", out: str = "", signed: bool = True
) -> InputShifter:
    """Decode FBYTES, FSHIFT, FROUND, FSAT and FRNDMODE with the letter of a port behind them.

    ``modes``: the register of FRNDMODE, if another one; ``out``: the one of FOBYTES, if there is any.
    """
    size = unit.get(register, f"FBYTES{port}")
    if size == 0:
        unit.refuse(register, f"FBYTES{port}", "elements have 1, 2 or 3 bytes")
    mode = unit.get(modes or register, f"FRNDMODE{port}")
    clips = 0
    if unit.get(register, f"FSAT{port}"):
        clips = (unit.get(out, f"FOBYTES{port}") if out else size) or size
    # 16 stands for no shift.
    shift = unit.get(register, f"FSHIFT{port}") - 16
    ties_here = rule(mode, unit.get(register, f"FROUND{port}"), "input", ties)
    return InputShifter(size, shift, ties_here, clips, signed)
