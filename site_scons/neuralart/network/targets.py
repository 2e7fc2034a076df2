"""Targets of a compile, for the NPU or for the core, and names of networks."""

from __future__ import annotations

from typing import NamedTuple

from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import lazy_regex

NPU, CPU = "NPU", "CPU"
_IDENTIFIER = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
# The C interface of networks that applications without an NPU are written for.
LEGACY_OPTIONS = ("--c-api", "legacy")
_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
)


class Target(NamedTuple):
    """A target."""

    flow: str = NPU  # ``NPU`` or ``CPU``
    board: str = ""  # The board whose stock profile is used when none is named (NPU flow)
    why: str = ""  # Why it is refused; empty: it is not


_UNTRIED = Target(CPU, why="no board of it is known here, on which what comes out was ever tried")
_OTHERS = "f3 f4 f7 g0 g4 h5 l4 l5 u5 wl wb wba"

TARGETS: dict[str, Target] = {
    **{"stm32n6": Target(NPU, "stm32n6570-dk"), "mps3-an547": Target(NPU, "mps3-an547")},
    **{"stm32h7": Target(CPU), "mps2-an500": Target(CPU), "stm32": _UNTRIED},
    **{f"stm32{series}": _UNTRIED for series in _OTHERS.split()},
}


def flow_of(name: str) -> str:
    """``NPU`` or ``CPU``; for unknown names ``NPU``, unless they are other targets of the vendor."""
    return TARGETS[name].flow if name in TARGETS else CPU if name.startswith("stm32") else NPU


def usable(name: str, flow: str = NPU) -> Target:
    """Find a target. NeuralArtError: it is unknown, refused, or of the other flow."""
    possible = [key for key, target in TARGETS.items() if not target.why]
    target = TARGETS.get(name)
    if target is None:
        raise NeuralArtError(f"unknown target '{name}'", where="--target", hint=nearest(name, possible))
    if target.why:
        hint = f"possible: {', '.join(possible)}"
        raise NeuralArtError(f"'{name}' is refused: {target.why}", where="--target", hint=hint)
    if target.flow != flow:
        fitting = [key for key in possible if TARGETS[key].flow == flow]
        what = f"'{name}' is a target of the {target.flow} flow, this is the {flow} flow"
        raise NeuralArtError(what, where="--target", hint=f"possible: {', '.join(fitting)}")
    return target


def check_name(name: str, where: str) -> None:
    """Refuse a network's name that is no C identifier of at most 63 characters, or is a keyword (NeuralArtError)."""
    if not _IDENTIFIER.fullmatch(name) or name in _KEYWORDS.split():
        hint = "letters, digits and _, no digit first, 63 at most"
        raise NeuralArtError(f"'{name}' is not a C identifier", where=where, hint=hint)


def relative_symbol(fname: str, c_name: str) -> str:
    """The C symbol of the base of a relative pool."""
    return f"_mem_pool_{fname}_{c_name}"
