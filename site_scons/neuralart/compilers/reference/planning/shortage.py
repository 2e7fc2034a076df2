"""Errors with numbers: what does not fit, where it was tried, and what to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuralart.compilers.reference.ir import Program
from neuralart.compilers.reference.planning.arenas import Arena
from neuralart.compilers.reference.planning.lifetimes import Block, Constant, live_bytes
from neuralart.errors import NeuralArtError

_SHOWN = 3


def _when(program: Program, time: int) -> str:
    """A point of time in words; 0 is before the first epoch."""
    if time == 0:
        return "before the first epoch"
    if time > len(program.calls):
        return "after the last epoch"
    return f"in epoch {time - 1} ({program.calls[time - 1].kind})"


def _span(block: Block, epochs: int) -> str:
    first = "start" if block.first < 0 else str(block.first)
    last = "end" if block.last >= epochs else str(block.last)
    return f"epochs {first} to {last}"


def no_room_for_constants(items: Sequence[Constant], item: Constant, arenas: Sequence[Arena]) -> NeuralArtError:
    """The error when an initializer fits nowhere."""
    total = sum(len(each.data) for each in items)
    listed = ", ".join(f"{arena.fname} {arena.size}" for arena in arenas)
    return NeuralArtError(
        f"constants do not fit: {total} bytes in all, '{item.label}' with {len(item.data)} bytes found no place; "
        f"bytes per pool: {listed}",
        where=arenas[0].pools[0].where.rsplit(":", 2)[0] if arenas else "",
        hint="enlarge a pool that prefers constants, or enable one (size, ACC_READ, constants_preferred)",
    )


def no_room_for_activations(
    program: Program,
    items: Sequence[Block],
    failed: Block,
    arenas: Sequence[Arena],
    free_from: Mapping[str, int],
    where: str,
    *,
    virtual_helps: bool,
) -> NeuralArtError:
    """The error when activations do not fit."""
    epochs = len(program.calls)
    live = live_bytes(items, epochs)
    peak = max(live)
    time = live.index(peak)
    at_peak = sorted((block for block in items if block.first + 1 <= time <= block.last + 1), key=lambda b: -b.size)
    largest = ", ".join(f"'{block.name}' {block.size} ({_span(block, epochs)})" for block in at_peak[:_SHOWN])
    free = {arena.fname: max(0, arena.end - free_from.get(arena.fname, arena.address)) for arena in arenas}
    room = ", ".join(f"{fname} {size}" for fname, size in free.items())
    total = sum(free.values())
    what = (
        f"activations do not fit: {peak} bytes are live {_when(program, time)}, the largest {largest}; "
        f"writable pools have {total} bytes for them ({room})"
    )
    if peak <= total:
        what += f"; enough in sum, but no gap takes '{failed.name}' with {failed.size} bytes ({_span(failed, epochs)})"
    if virtual_helps:
        hint = "the profile option --enable-virtual-mem-pools would make it fit: adjoining pools then form one"
    elif peak > total:
        hint = f"at least {peak - total} bytes more are needed: enlarge or enable an ACC_WRITE pool"
    else:
        hint = "enlarge or enable an ACC_WRITE pool, or join adjoining ones"
    return NeuralArtError(what, where=where, hint=hint)
