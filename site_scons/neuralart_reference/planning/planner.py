"""Placement: constants and activations get addresses in the pools.

Constants come first in each pool, in the order of their first use, so that an initializer starts at the base of its
pool. Activations follow, each into the first arena of the order of preference that has a gap for as long as it lives
(:mod:`~neuralart_reference.planning.arenas` has the order): in several orders, of which the one counts that
reaches least far into the least preferred arena, then into the one before, and so on. Sizes, lifetimes and order decide
everything: never the value of a weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart_reference.ir import Program
from neuralart_reference.planning.arenas import Arena, for_activations, for_constants, speed_rank, usable
from neuralart_reference.planning.exact import lowered
from neuralart_reference.planning.lifetimes import Block, Constant, Key, blocks, constants, live_bytes
from neuralart_reference.planning.placement import ASK_FIT, place_best, place_constants


@dataclass(frozen=True)
class PoolPlan:
    """How a pool is used."""

    pool: MemoryPool  # the pool; of a virtual one the first part
    fname: str  # its fname; joined with ``_`` for a virtual one
    name: str  # report name, likewise
    size: int  # capacity in bytes
    weights: int  # bytes of its initializer (0 for a virtual pool: its parts have them)
    activations: int  # bytes that activations ever occupy
    used: int  # highest offset in use
    parts: tuple[str, ...] = ()  # fnames of the parts of a virtual pool

    @property
    def address(self) -> int:
        """Base."""
        return self.pool.address


def _covered(ranges: Sequence[tuple[int, int]], low: int, high: int) -> int:
    """Bytes of [low, high) that are in any range."""
    total, seen = 0, low
    for start, end in sorted(ranges):
        start, end = max(start, seen), min(end, high)
        if end > start:
            total += end - start
            seen = end
    return total


def images(items: Sequence[Constant], addresses: Mapping[Key, int], pools: Sequence[MemoryPool]) -> dict[str, bytes]:
    """Initializer of each pool that holds constants: from its base to the last byte of a constant, gaps zero."""
    result = {}
    for pool in pools:
        inside = [(addresses[item.key], item) for item in items if item.data]
        inside = [(at, item) for at, item in inside if at < pool.end and at + len(item.data) > pool.address]
        if not inside:
            continue
        last = min(max(at + len(item.data) for at, item in inside), pool.end)
        image = bytearray(last - pool.address)
        for at, item in inside:
            # A constant in a virtual pool may begin in the pool before, or go on in the next.
            skip = max(0, pool.address - at)
            part = item.data[skip : pool.end - at]
            offset = at + skip - pool.address
            image[offset : offset + len(part)] = part
        result[pool.fname] = bytes(image)
    return result


def pool_plans(
    pools: Sequence[MemoryPool],
    arenas: Sequence[Arena],
    raws: Mapping[str, bytes],
    ranges: Sequence[tuple[int, int]],
    constant_ranges: Sequence[tuple[int, int]],
) -> tuple[PoolPlan, ...]:
    """Every pool in the order of preference, then virtual ones that something (ranges [start, end)) lies across."""
    both = (*ranges, *constant_ranges)

    def made(one: MemoryPool | Arena, pool: MemoryPool, parts: tuple[str, ...] = ()) -> PoolPlan:
        low, high = one.address, one.end
        used = max((min(end, high) - low for start, end in both if start < high and end > low), default=0)
        weights = 0 if parts else len(raws.get(one.fname, b""))
        return PoolPlan(pool, one.fname, one.name, one.size, weights, _covered(ranges, low, high), used, parts)

    def across(arena: Arena) -> bool:
        return any(
            arena.address <= start < arena.end and not any(p.address <= start and end <= p.end for p in arena.pools)
            for start, end in both
        )

    ordered = dict.fromkeys((*(pool for arena in arenas for pool in arena.pools), *pools))
    plans = [made(pool, pool) for pool in ordered]
    for arena in arenas:
        if arena.virtual and across(arena):
            plans.append(made(arena, arena.pools[0], tuple(pool.fname for pool in arena.pools)))
    return tuple(plans)


@dataclass(frozen=True)
class MemoryPlan:
    """Where everything is."""

    # Enabled pools, preferred first (activations' order, then read-only ones), then virtual ones in use
    pools: tuple[PoolPlan, ...]
    tensors: Mapping[int, int]  # address of each placed owner
    scratch: Mapping[int, int]  # address of the working memory of an epoch
    constants: tuple[Constant, ...]  # all constants in order
    constant_address: Mapping[Key, int]  # address by key
    constant_of: dict[tuple[int, int], Key]  # (epoch, argument number) -> key of a constant
    images: Mapping[str, bytes]  # initializer per pool (fname); only of pools with constants
    blocks: tuple[Block, ...]  # what was placed
    # No placement needs less: the largest sum of activations that are live at once, or more where all were tried
    lower_bound: int

    def address(self, block: Block) -> int:
        """Where a block begins."""
        kind, number = block.key
        return self.tensors[number] if kind == "tensor" else self.scratch[number]

    def pool_of(self, address: int, size: int) -> PoolPlan:
        """The pool that holds a range: a single one if it can, else the virtual one it lies across."""
        for pool in self.pools:
            if pool.address <= address and address + size <= pool.address + pool.size:
                return pool
        raise KeyError(f"0x{address:08x}")


def plan(
    program: Program,
    pools: PoolFile,
    *,
    virtual: bool = False,
    user_owned: Sequence[int] = (),
    keep_inputs: bool = False,
) -> MemoryPlan:
    """Place a program.

    With ``virtual``, adjoining writable pools of equal properties form one, and of different speed if less is in the
    slowest memory then; with ``keep_inputs``, no input is ever
    overwritten; the application provides what is ``user_owned``. Raises NeuralArtError when there is no usable pool or
    not enough room; the numbers are in the message.
    """
    chosen = usable(pools)
    items = blocks(program, user_owned, keep_inputs=keep_inputs)
    fixed, _ = constants(program)
    writable = for_activations(chosen, virtual=virtual)
    failed: Block | None = None
    free_from: dict[str, int] = {}
    for fastest in (False, True):
        addresses, free_from = place_constants(fixed, for_constants(chosen, virtual=virtual, fastest_spill=fastest))
        placed, failed = place_best(items, len(program.calls), writable, free_from)
        if failed is None:
            break
    # Banks that differ in speed are joined only if that keeps something out of the slowest memory, outside the chip.
    wide = for_activations(chosen, virtual=virtual, any_speed=True)
    apart = [arena for arena in writable if arena not in wide]
    if apart and all(free_from[arena.fname] == arena.address for arena in apart):
        slow = 0 if failed else _in_slowest(items, placed, chosen)
        again, missing = place_best(items, len(program.calls), wide, free_from) if failed or slow else (placed, failed)
        if missing is None and (failed or _in_slowest(items, again, chosen) < slow):
            writable, placed, failed = wide, again, None
    if failed is not None:
        could_join = not virtual and _fits(program, pools, user_owned, keep_inputs)
        raise _no_room(program, items, failed, writable, free_from, pools.path, virtual_helps=could_join)
    bound = max(live_bytes(items, len(program.calls)), default=0)
    if program.overlap:
        placed, bound = lowered(items, placed, writable, free_from, bound)
    return _result(program, chosen, writable, items, addresses, placed, bound)


def _in_slowest(items: Sequence[Block], placed: Mapping[Key, int], pools: Sequence[MemoryPool]) -> int:
    """Bytes of activations that begin in the slowest writable pools."""
    writable = [pool for pool in pools if pool.writable]
    slow = [pool for pool in writable if speed_rank(pool) == max(map(speed_rank, writable))]
    return sum(b.size for b in items if any(pool.address <= placed[b.key] < pool.end for pool in slow))


def _fits(program: Program, pools: PoolFile, user_owned: Sequence[int], keep_inputs: bool) -> bool:
    try:
        plan(program, pools, virtual=True, user_owned=user_owned, keep_inputs=keep_inputs)
    except NeuralArtError:
        return False
    return True


def _result(
    program: Program,
    chosen: Sequence[MemoryPool],
    writable: Sequence[Arena],
    items: Sequence[Block],
    addresses: Mapping[Key, int],
    placed: Mapping[Key, int],
    bound: int,
) -> MemoryPlan:
    fixed, constant_of = constants(program)
    raws = images(fixed, addresses, chosen)
    ranges = [(placed[block.key], placed[block.key] + block.size) for block in items]
    constant_ranges = [(addresses[item.key], addresses[item.key] + len(item.data)) for item in fixed]
    return MemoryPlan(
        pools=pool_plans(chosen, writable, raws, ranges, constant_ranges),
        tensors={key[1]: at for key, at in placed.items() if key[0] == "tensor"},
        scratch={key[1]: at for key, at in placed.items() if key[0] == "scratch"},
        constants=tuple(fixed),
        constant_address=addresses,
        constant_of=constant_of,
        images=raws,
        blocks=tuple(items),
        lower_bound=bound,
    )


_SHOWN = 3


def when(program: Program, time: int) -> str:
    """A point of time of :func:`~neuralart_reference.planning.lifetimes.live_bytes` in words."""
    if time == 0:
        return "before the first epoch"
    if time > len(program.calls):
        return "after the last epoch"
    return f"in epoch {time - 1} ({program.calls[time - 1].kind})"


def _epochs(block: Block, epochs: int) -> str:
    return f"epochs {' to '.join(block.span(epochs))}"


def _no_room(
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
    largest = ", ".join(f"'{block.name}' {block.size} ({_epochs(block, epochs)})" for block in at_peak[:_SHOWN])
    free = {arena.fname: max(0, arena.end - free_from.get(arena.fname, arena.address)) for arena in arenas}
    room = ", ".join(f"{fname} {size}" for fname, size in free.items())
    total = sum(free.values())
    what = (
        f"activations do not fit: {peak} bytes are live {when(program, time)}, the largest {largest}; "
        f"writable pools have {total} bytes for them ({room})"
    )
    if peak <= total:
        what += (
            f"; enough in sum, but no gap takes '{failed.name}' with {failed.size} bytes ({_epochs(failed, epochs)})"
        )
    if virtual_helps:
        hint = "the profile option --enable-virtual-mem-pools would make it fit: adjoining pools then form one"
    elif peak > total:
        hint = f"at least {peak - total} bytes more are needed: enlarge or enable an ACC_WRITE pool; {ASK_FIT}"
    else:
        hint = "enlarge or enable an ACC_WRITE pool, or join adjoining ones; " + ASK_FIT
    return NeuralArtError(what, where=where, hint=hint)
