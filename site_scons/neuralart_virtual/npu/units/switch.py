"""The stream switch: which source feeds which destination, and how contexts alternate."""

from __future__ import annotations

from typing import Any, NamedTuple

from neuralart_virtual.npu import registers
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.state import NpuState

Source = tuple[str, int]  # Unit and number
Port = tuple[str, int, int]  # Unit, number and number of its input


class SwitchContext(NamedTuple):
    """What a destination takes for some frames."""

    source: Source
    passes: bool  # Its frames arrive; else they are dropped
    frames: int  # Before the other context's turn; 0: for ever


class Link(NamedTuple):
    """What feeds a destination."""

    contexts: tuple[SwitchContext, ...]  # One: a plain link. Two: they alternate


def links(state: NpuState) -> dict[Port, Link]:
    """All links of the switch. NpuError: a source is none."""
    switch = state.unit("STRSWITCH")
    found = {}
    for offset, port in registers.DESTINATIONS.items():
        word = switch.word(offset)
        if word:
            link = _link(word, port, offset, switch.label)
            if link is not None:
                found[port] = link
    return found


def _link(word: int, port: Port, offset: int, label: str) -> Link | None:
    fields = registers.DESTINATION.fields
    enabled = [registers.get(word, fields[f"EN{i}"]) for i in range(2)]
    frames = [registers.get(word, fields[f"FNR{i}"]) for i in range(2)]
    if not any(enabled):
        return None
    alternates = bool(frames[1] or (frames[0] and enabled[1]) or (frames[0] and not enabled[0]))
    name = f"DST{port[0]}{port[1]}{port[2]}"
    place: Any = {"epoch": label, "unit": "STRSWITCH", "register": name, "offset": offset}
    used = (0, 1) if alternates else (0,) if enabled[0] else (1,)
    contexts = []
    for i in used:
        number = registers.get(word, fields[f"LINK{i}"])
        source = registers.SOURCES.get(number)
        if source is None:
            raise NpuError("no such source", **place, field=f"LINK{i}", value=number)
        contexts.append(SwitchContext(source, bool(enabled[i]), frames[i]))
    if alternates and not any(context.frames for context in contexts if context.passes):
        raise NpuError("contexts alternate, and the one that passes has no frames", **place)
    return Link(tuple(contexts))
