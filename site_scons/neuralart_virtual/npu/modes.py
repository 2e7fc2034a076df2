"""Modes of units that the model does not execute, and what of them it executes by an assumption.

No public network was seen to need them, or too few to know what they do. A program that uses one
stops; ``--assume UNIT.FIELD=VALUE`` executes it as the table says, and the result names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from dataclasses import field as member
from typing import Any

from neuralart.errors import similar
from neuralart_virtual.npu import registers
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.state import NpuState, UnitState


@dataclass(frozen=True)
class Mode:
    """Values of a field that are not executed."""

    kind: str  # Of unit
    register: str
    field: str
    known: tuple[int, ...]  # Values that are executed
    reason: str  # Why the others are not
    assumed: dict[int, str] = member(default_factory=dict)  # What --assume executes, by value
    # The row holds for such units only
    when: Callable[[UnitState], bool] = lambda unit: True


def _rounds(unit: UnitState) -> bool:
    return bool(unit.get("DFORMAT" if unit.kind == "CONVACC" else "CTRL", "ROUND"))


def _vague_input(port: str) -> Callable[[UnitState], bool]:
    register, field = ("CTRL", "FROUND") if port == "F" else ("INSHIFTER", f"FROUND{port}")
    return lambda unit: bool(unit.get(register, field))


def _is(field: str, value: int = 1) -> Callable[[UnitState], bool]:
    return lambda unit: unit.get("CTRL", field) == value


def _rows(
    place: str,
    fields: str,
    known: tuple[int, ...],
    reason: str,
    assumed: dict[int, str] | None = None,
    when: Callable[[UnitState], bool] = lambda unit: True,
) -> list[Mode]:
    """A row for each of some fields of a register. ``place``: kind of unit and register."""
    kind, register = place.split()
    return [Mode(kind, register, field, known, reason, assumed or {}, when) for field in fields.split()]


_OFF, _ON = (0,), (1,)
_NEAREST = (1, 3)
_NEVER = "no public network uses it: what it does is unknown"
_COPIES = "only copies of one public network were checked"
_MODE_0 = "rounding mode 0 is unknown"
_HALF_UP = {0: "ties are rounded up", 2: "ties are rounded up, after the rectifier"}
_POOLS = {
    1: "the minimum of the window; padding never wins",
    2: "the sum of the window, padding counts as 0, times MULVAL",
    8: "the maximum of the frame",
    9: "the minimum of the frame",
}
_WIDTHS, _ORDER = "elements have 8, 16 or 24 bits", "another order of bytes is unknown"
_WIDE, _CUT = "kernels have the width of the elements at port 1", "what does not fit is cut off"
_NO_SIGN = "kernels have no sign, nor have sums of features without sign"
_FIRST = "it makes a first sum where nothing is summed up"
_TRELU = "x above PARAM, else PARAM2, or PARAM where that is 0"

MODES: tuple[Mode, ...] = (
    *_rows("STRENG CTRL", "NOINC ISTART SUBSAMPLE DESCR ROUND BEFORCE SERDES", _OFF, _NEVER),
    *_rows("STRENG STOPTAG", "EN", _OFF, _NEVER),
    *_rows("STRENG EXTSYNC", "EN", _OFF, _NEVER),
    *_rows("STRENG STRD", "FGAP", _OFF, "gaps in front of elements are unknown"),
    *_rows("STRENG STRD", "BGAP", _OFF, "gaps behind elements are unknown"),
    *_rows("STRENG CTRL", "SIZE0", (8,), f"{_WIDTHS}, from the lowest lane on"),
    *_rows("STRENG CTRL", "SIZE1 SIZE2", (0, 8), _WIDTHS),
    *_rows("STRENG CTRL", "SIZE1", (8,), f"{_WIDTHS}, without a gap", when=lambda unit: unit.get("CTRL", "SIZE2") != 0),
    *(Mode("STRENG", "POS", f"POS{number}", (number,), _ORDER) for number in range(3)),
    *_rows("STRENG POS", "WSWAP HSWAP BSWAP", _OFF, "swapped bytes are unknown"),
    *_rows("STRENG LIMITEN", "FRAMELIMIT", _ON, "an engine without a limit of frames never ends"),
    *_rows("STRENG ENCR_MSB", "EN", _OFF, "encrypted streams are not modeled"),
    *_rows("CONVACC CTRL", "KT1 FC", _OFF, _NEVER),
    *_rows("CONVACC ITER", "NUMBER PERIOD", _OFF, _NEVER),
    *_rows("CONVACC CTRL", "SIMD", (1, 2), _COPIES, {0: _WIDE}),
    *_rows("CONVACC CTRL", "KSETEN", (0, 3), _NEVER),
    *_rows("CONVACC CTRL", "AFILTMODE", (0, 3), "dropped pixels and frames are unknown"),
    *_rows("CONVACC CTRL", "KUNSIGNED", _OFF, _COPIES, {1: _NO_SIGN}),
    *_rows("CONVACC DFORMAT", "SAT", _ON, "the width of the accumulator is unknown", {0: _CUT}),
    *_rows("CONVACC DFORMAT", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    *_rows("CONVACC DFORMAT", "FROUND", _OFF, _NEVER, {1: "features are rounded when shifted"}),
    *_rows("CONVACC DFORMAT", "FSAT", _OFF, _NEVER, {1: "features are clipped when shifted"}),
    *_rows("CONVACC CTRL", "GEN1SUM", _OFF, _FIRST, {1: "it has no effect there"}, _is("NOSUM")),
    *_rows("CONVACC CTRL", "DEEPMODE DSS2MODE", _OFF, "not together with FSTAT", when=_is("FSTAT")),
    *_rows("CONVACC CTRL", "DSS2MODE", _OFF, "not together with DEEPMODE", when=_is("DEEPMODE")),
    *_rows("CONVACC KFORMAT", "WIDTH HEIGHT", _ON, "DEEPMODE is for kernels of 1x1", when=_is("DEEPMODE")),
    *_rows("ARITH CTRL", "OP", (0, 1, 2, 7), "this operation was never checked", {0x37: "X is clipped to A..C"}),
    *_rows("ARITH CTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    *_rows("ARITH INSHIFTER", "FRNDMODEX", _NEAREST, _MODE_0, _HALF_UP, _vague_input("X")),
    *_rows("ARITH INSHIFTER", "FRNDMODEY", _NEAREST, _MODE_0, _HALF_UP, _vague_input("Y")),
    *_rows("ACTIV CTRL", "TYPE", (3,), "only the function by segments was checked", {2: _TRELU}),
    *_rows("ACTIV CTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    *_rows("ACTIV CTRL", "FRNDMODE", _NEAREST, _MODE_0, _HALF_UP, _vague_input("F")),
    *_rows("POOL CTRL", "TYPE", (0, 10), "only the maximum and the global average were checked", _POOLS),
    *_rows("POOL RNDCTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    *_rows("POOL RNDCTRL", "FRNDMODE", _NEAREST, _MODE_0, _HALF_UP, _vague_input("F")),
    *_rows("EPOCHCTRL ENCR_MSB", "EN", _OFF, "encrypted programs are not modeled"),
    *_rows("EPOCHCTRL CTRL", "SM", _OFF, "single steps are not modeled"),
    *_rows("DECUN CTRL", "EN", _OFF, "decompression of weights is not modeled"),
    *_rows("RECBUF CTRL", "EN", _OFF, "the reconfigurable buffer is not modeled"),
)
_BY_KIND = {kind: [mode for mode in MODES if mode.kind == kind] for kind in registers.KINDS}


def assumable() -> dict[str, str]:
    """What can be assumed: ``POOL.TYPE=2`` -> what is executed then."""
    return {f"{mode.kind}.{mode.field}={value}": text for mode in MODES for value, text in mode.assumed.items()}


@dataclass
class Assumptions:
    """What a user lets the model assume, and what of that a program needed."""

    allowed: frozenset[str] = frozenset()
    used: set[str] = member(default_factory=set)

    @staticmethod
    def of(names: Collection[str]) -> Assumptions:
        """Those of a command line. NpuError: one is none of the table."""
        known = assumable()
        for name in names:
            if name not in known:
                raise NpuError(f"nothing to assume is called '{name}'", hint=similar(name, known))
        return Assumptions(frozenset(names))

    def notes(self) -> list[str]:
        """A line for each assumption that was needed."""
        known = assumable()
        return [f"assumed {name}: {known[name]}" for name in sorted(self.used)]


def check(unit: UnitState, assumptions: Assumptions) -> None:
    """Stop if a unit is in a mode that the model does not execute. Raises NpuError."""
    for mode in _BY_KIND.get(unit.kind, ()):
        value = unit.get(mode.register, mode.field)
        if value in mode.known or not mode.when(unit):
            continue
        name = f"{mode.kind}.{mode.field}={value}"
        text = mode.assumed.get(value)
        if text is None:
            unit.refuse(mode.register, mode.field, mode.reason)
        if name not in assumptions.allowed:
            hint = f"--assume {name} executes it so: {text}"
            unit.refuse(mode.register, mode.field, mode.reason, hint=hint)
        assumptions.used.add(name)


def check_all(state: NpuState, label: str, assumptions: Assumptions) -> None:
    """Stop if an enabled unit, or a destination of the switch, is in such a mode. Raises NpuError."""
    for unit in state.by_ip.values():
        unit.label = label
        if unit.enabled:
            check(unit, assumptions)
    switch = state.unit("STRSWITCH")
    for offset, port in registers.DESTINATIONS.items():
        word = switch.word(offset)
        if registers.get(word, registers.DESTINATION.fields["TICKTYPE"]):
            name, reason = f"DST{port[0]}{port[1]}{port[2]}", "ticks of another type are unknown"
            where: dict[str, Any] = {"unit": switch.name, "register": name, "offset": offset, "field": "TICKTYPE"}
            raise NpuError(reason, epoch=label, **where, value=1)
