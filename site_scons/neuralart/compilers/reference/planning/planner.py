"""Placement: constants and activations get addresses in the pools.

Constants come first in each pool, in the order of their first use, so that an initializer starts at the base of its
pool. Activations follow, each into the first arena of the order of preference that has a gap for as long as it lives
(:mod:`~neuralart.compilers.reference.planning.arenas` has the order): in several orders, of which the one counts that
reaches least far into the least preferred arena, then into the one before, and so on. Sizes, lifetimes and order decide
everything: never the value of a weight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.ir import Program
from neuralart.compilers.reference.planning.arenas import Arena, for_activations, for_constants, usable
from neuralart.compilers.reference.planning.lifetimes import Block, Constant, blocks, constants, live_bytes
from neuralart.compilers.reference.planning.placement import place_best, place_constants
from neuralart.compilers.reference.planning.shortage import no_room_for_activations
from neuralart.compilers.reference.usage import PoolPlan, images, pool_plans
from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile


@dataclass(frozen=True)
class Plan:
    """Where everything is."""

    # Enabled pools, preferred first (activations' order, then read-only ones), then virtual ones in use
    pools: tuple[PoolPlan, ...]
    tensors: Mapping[int, int]  # address of each placed owner
    scratch: Mapping[int, int]  # address of the working memory of an epoch
    constants: tuple[Constant, ...]  # all constants in order
    constant_address: Mapping[tuple[str, int], int]  # address by key
    constant_of: Mapping[tuple[int, int], tuple[str, int]]  # (epoch, argument number) -> key of a constant
    images: Mapping[str, bytes]  # initializer per pool (fname); only of pools with constants
    blocks: tuple[Block, ...]  # what was placed
    lower_bound: int  # largest sum of activations that are live at once: no placement needs less

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
) -> Plan:
    """Place a program.

    With ``virtual``, adjoining writable pools of equal properties form one; with ``keep_inputs``, no input is ever
    overwritten; the application provides what is ``user_owned``. Raises NeuralArtError when there is no usable pool or
    not enough room; the numbers are in the message.
    """
    chosen = usable(pools)
    items = blocks(program, user_owned, keep_inputs=keep_inputs)
    fixed, constant_of = constants(program)
    epochs = len(program.calls)
    writable = for_activations(chosen, virtual=virtual)
    failed: Block | None = None
    free_from: dict[str, int] = {}
    for fastest in (False, True):
        addresses, free_from = place_constants(fixed, for_constants(chosen, virtual=virtual, fastest_spill=fastest))
        placed, failed = place_best(items, epochs, writable, free_from)
        if failed is None:
            return _result(program, chosen, writable, items, fixed, constant_of, addresses, placed)
    assert failed is not None
    could_join = not virtual and _fits(program, pools, user_owned, keep_inputs)
    raise no_room_for_activations(program, items, failed, writable, free_from, pools.path, virtual_helps=could_join)


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
    fixed: Sequence[Constant],
    constant_of: Mapping[tuple[int, int], tuple[str, int]],
    addresses: Mapping[tuple[str, int], int],
    placed: Mapping[tuple[str, int], int],
) -> Plan:
    raws = images(fixed, addresses, chosen)
    ranges = [(placed[block.key], placed[block.key] + block.size) for block in items]
    constant_ranges = [(addresses[item.key], addresses[item.key] + len(item.data)) for item in fixed]
    return Plan(
        pools=pool_plans(chosen, writable, raws, ranges, constant_ranges),
        tensors={key[1]: at for key, at in placed.items() if key[0] == "tensor"},
        scratch={key[1]: at for key, at in placed.items() if key[0] == "scratch"},
        constants=tuple(fixed),
        constant_address=dict(addresses),
        constant_of=dict(constant_of),
        images=raws,
        blocks=tuple(items),
        lower_bound=max(live_bytes(items, len(program.calls)), default=0),
    )
