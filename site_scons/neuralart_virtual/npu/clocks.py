"""Clock gates of the NPU: which bit belongs to which unit. They are kept, and refuse nothing."""

from __future__ import annotations

from neuralart_virtual.npu.state import NpuState

# Bits of BGATES in the order of the units.
_GATED = ("STRENG", "CONVACC", "DECUN", "ACTIV", "ARITH", "POOL", "RECBUF", "EPOCHCTRL")


def gate_bits() -> dict[tuple[str, int], int]:
    """The bit of BGATES of each unit that has one."""
    state = NpuState()
    keys = [key for kind in _GATED for key in state.units if key[0] == kind]
    return {key: bit for bit, key in enumerate(keys)}


def closed(state: NpuState) -> list[str]:
    """Names of enabled units whose clock is off by BGATES, while the clock controller is on.

    A model without time runs them all the same; on silicon they would stand still.
    """
    controller = state.unit("CLKCTRL")
    if not controller.enabled:
        return []
    gates = controller.get("BGATES")
    return [
        state.units[key].name for key, bit in gate_bits().items() if state.units[key].enabled and not gates >> bit & 1
    ]
