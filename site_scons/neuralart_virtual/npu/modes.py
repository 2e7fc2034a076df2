"""Modes of units that the model does not execute, and what of them it executes by an assumption.

No public network was seen to need them, or too few to know what they do. A program that uses one
stops; ``--assume UNIT.FIELD=VALUE`` executes it as the table says, and the result names it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from dataclasses import field as member

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
    register = {"CONVACC": "DFORMAT"}.get(unit.kind, "CTRL")
    return bool(unit.get(register, "ROUND"))


def _vague_input(port: str) -> Callable[[UnitState], bool]:
    register = {"F": "CTRL", "X": "INSHIFTER", "Y": "INSHIFTER"}[port]
    suffix = "" if port == "F" else port
    return lambda unit: bool(unit.get(register, f"FROUND{suffix}"))


_OFF = (0,)
_NEAREST = (1, 3)
_NEVER = "no public network uses it: what it does is unknown"
_MODE_0 = "rounding mode 0 is unknown"
_HALF_UP = {0: "ties are rounded up", 2: "ties are rounded up, after the rectifier"}

MODES: tuple[Mode, ...] = (
    *(
        Mode("STRENG", "CTRL", name, _OFF, _NEVER)
        for name in ("NOINC", "ISTART", "SUBSAMPLE", "DESCR", "ROUND", "BEFORCE", "SERDES")
    ),
    Mode("STRENG", "STOPTAG", "EN", _OFF, _NEVER),
    Mode("STRENG", "EXTSYNC", "EN", _OFF, _NEVER),
    Mode("STRENG", "STRD", "FGAP", _OFF, "gaps in front of elements are unknown"),
    Mode("STRENG", "STRD", "BGAP", _OFF, "gaps behind elements are unknown"),
    Mode("STRENG", "CTRL", "SIZE0", (8,), "elements have 8, 16 or 24 bits, from the lowest lane on"),
    Mode("STRENG", "CTRL", "SIZE1", (0, 8), "elements have 8, 16 or 24 bits"),
    Mode("STRENG", "CTRL", "SIZE2", (0, 8), "elements have 8, 16 or 24 bits"),
    Mode(
        "STRENG",
        "CTRL",
        "SIZE1",
        (8,),
        "elements have 8, 16 or 24 bits, without a gap",
        when=lambda unit: unit.get("CTRL", "SIZE2") != 0,
    ),
    *(
        Mode("STRENG", "POS", name, (value,), "another order of bytes is unknown")
        for name, value in (("POS0", 0), ("POS1", 1), ("POS2", 2))
    ),
    *(Mode("STRENG", "POS", name, _OFF, "swapped bytes are unknown") for name in ("WSWAP", "HSWAP", "BSWAP")),
    Mode("STRENG", "LIMITEN", "FRAMELIMIT", (1,), "an engine without a limit of frames never ends"),
    Mode("STRENG", "ENCR_MSB", "EN", _OFF, "encrypted streams are not modeled"),
    Mode("CONVACC", "CTRL", "KT1", _OFF, _NEVER),
    Mode("CONVACC", "CTRL", "FC", _OFF, _NEVER),
    Mode("CONVACC", "ITER", "NUMBER", _OFF, _NEVER),
    Mode("CONVACC", "ITER", "PERIOD", _OFF, _NEVER),
    Mode(
        "CONVACC",
        "CTRL",
        "SIMD",
        (1, 2),
        "only copies of one public network were checked",
        {0: "kernels have the width of the elements at port 1"},
    ),
    Mode("CONVACC", "CTRL", "KSETEN", (0, 3), _NEVER),
    Mode("CONVACC", "CTRL", "AFILTMODE", (0, 3), "dropped pixels and frames are unknown"),
    Mode(
        "CONVACC",
        "CTRL",
        "KUNSIGNED",
        _OFF,
        "only copies of one public network were checked",
        {1: "kernels have no sign, nor have sums of features without sign"},
    ),
    Mode(
        "CONVACC",
        "DFORMAT",
        "SAT",
        (1,),
        "the width of the accumulator is unknown",
        {0: "what does not fit is cut off"},
    ),
    Mode("CONVACC", "DFORMAT", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    Mode("CONVACC", "DFORMAT", "FROUND", _OFF, _NEVER, {1: "features are rounded when shifted"}),
    Mode("CONVACC", "DFORMAT", "FSAT", _OFF, _NEVER, {1: "features are clipped when shifted"}),
    Mode(
        "CONVACC",
        "CTRL",
        "GEN1SUM",
        _OFF,
        "it makes a first sum where nothing is summed up",
        {1: "it has no effect there"},
        lambda unit: unit.get("CTRL", "NOSUM") == 1,
    ),
    *(
        Mode(
            "CONVACC",
            "CTRL",
            name,
            _OFF,
            "not together with FSTAT",
            when=lambda unit: unit.get("CTRL", "FSTAT") == 1,
        )
        for name in ("DEEPMODE", "DSS2MODE")
    ),
    Mode(
        "CONVACC",
        "CTRL",
        "DSS2MODE",
        _OFF,
        "not together with DEEPMODE",
        when=lambda unit: unit.get("CTRL", "DEEPMODE") == 1,
    ),
    *(
        Mode(
            "CONVACC",
            "KFORMAT",
            name,
            (1,),
            "DEEPMODE is for kernels of 1x1",
            when=lambda unit: unit.get("CTRL", "DEEPMODE") == 1,
        )
        for name in ("WIDTH", "HEIGHT")
    ),
    Mode(
        "ARITH",
        "CTRL",
        "OP",
        (0, 1, 2, 7),
        "this operation was never checked",
        {0x37: "X is clipped to A..C"},
    ),
    Mode("ARITH", "CTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    *(Mode("ARITH", "INSHIFTER", f"FRNDMODE{port}", _NEAREST, _MODE_0, _HALF_UP, _vague_input(port)) for port in "XY"),
    Mode(
        "ACTIV",
        "CTRL",
        "TYPE",
        (3,),
        "only the function by segments was checked",
        {2: "x above PARAM, else PARAM2, or PARAM where that is 0"},
    ),
    Mode("ACTIV", "CTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    Mode("ACTIV", "CTRL", "FRNDMODE", _NEAREST, _MODE_0, _HALF_UP, _vague_input("F")),
    Mode(
        "POOL",
        "CTRL",
        "TYPE",
        (0, 10),
        "only the maximum and the global average were checked",
        {
            1: "the minimum of the window; padding never wins",
            2: "the sum of the window, padding counts as 0, times MULVAL",
            8: "the maximum of the frame",
            9: "the minimum of the frame",
        },
    ),
    Mode("POOL", "RNDCTRL", "ORNDMODE", _NEAREST, _MODE_0, _HALF_UP, _rounds),
    Mode("POOL", "RNDCTRL", "FRNDMODE", _NEAREST, _MODE_0, _HALF_UP, _vague_input("F")),
    Mode("EPOCHCTRL", "ENCR_MSB", "EN", _OFF, "encrypted programs are not modeled"),
    Mode("EPOCHCTRL", "CTRL", "SM", _OFF, "single steps are not modeled"),
    Mode("DECUN", "CTRL", "EN", _OFF, "decompression of weights is not modeled"),
    Mode("RECBUF", "CTRL", "EN", _OFF, "the reconfigurable buffer is not modeled"),
)
_BY_KIND: dict[str, list[Mode]] = {}
for _mode in MODES:
    _BY_KIND.setdefault(_mode.kind, []).append(_mode)


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
            raise NpuError(
                "ticks of another type are unknown",
                epoch=label,
                unit=switch.name,
                register=f"DST{port[0]}{port[1]}{port[2]}",
                offset=offset,
                field="TICKTYPE",
                value=1,
            )
