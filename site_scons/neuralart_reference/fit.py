"""Which boards a model fits, and where it would lie, before anything is built.

The model is read and lowered once. For each board it is placed in the board's own memory pools, as a compile with the
board's stock profile does; where that fails, in stripes (``memory: smallest``). No code is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart.network.targets import CPU, flow_of

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart_reference.ir import Program
    from neuralart_reference.planning.planner import MemoryPlan

STRIPES = "smallest"


@dataclass(frozen=True)
class Demand:
    """What a model needs on any board."""

    epochs: int
    macc: int  # Multiply-accumulate operations of an inference
    weights: int  # Bytes of all constants
    peak: int  # Bytes of activations that are live at once
    peak_at: str  # The epoch of that, with its operator
    largest: tuple[tuple[str, int], ...]  # The largest tensors then, with their bytes


@dataclass(frozen=True)
class InPool:
    """What would be in a memory pool."""

    pool: str
    weights: int  # Bytes
    activations: int  # Bytes
    size: int  # Bytes of the pool; 0: it has no end of its own


@dataclass(frozen=True)
class Fit:
    """The answer for one board."""

    board: str
    memory: str  # The value of the key ``memory`` that it takes: empty, or ``smallest``
    uses: tuple[InPool, ...] = ()  # Empty: it does not fit
    why: str = ""  # What does not fit
    hint: str = ""

    @property
    def fits(self) -> bool:
        """It can be built for this board."""
        return bool(self.uses)


def need(program: Program) -> Demand:
    """What a lowered program needs, before it is placed."""
    from neuralart_reference.planning.lifetimes import blocks, constants, live_bytes
    from neuralart_reference.planning.planner import when
    from neuralart_reference.planning.sharing import share

    # A core's outputs may lie over its inputs: no placement needs less.
    shared = share(replace(program, overlap=True), inputs_writable=True)
    items = blocks(shared)
    live = live_bytes(items, len(shared.calls))
    peak = max(live, default=0)
    time = live.index(peak) if live else 0
    alive = sorted((b for b in items if b.first + 1 <= time <= b.last + 1), key=lambda b: (-b.size, b.name))
    return Demand(
        epochs=len(program.calls),
        macc=sum(call.macc for call in program.calls),
        weights=sum(len(item.data) for item in constants(program)[0]),
        peak=peak,
        peak_at=when(shared, time),
        largest=tuple((block.name, block.size) for block in alive[:3]),
    )


def _uses(plan: MemoryPlan, ends: bool) -> tuple[InPool, ...]:
    pools = (pool for pool in plan.pools if not pool.parts and (pool.weights or pool.activations))
    return tuple(InPool(pool.fname, pool.weights, pool.activations, pool.size if ends else 0) for pool in pools)


def _for_npu(board: Board, path: Path, program: Program, memory: str) -> tuple[InPool, ...]:
    from neuralart.compilers.protocol import job_from_words
    from neuralart.compilers.request import request_of
    from neuralart.vendor import mpool
    from neuralart_reference.compile import arranged

    words = ["--model", str(path), "--target", board.target, "--st-neural-art", f"default@{board.profile}"]
    request = replace(request_of(job_from_words(words).args), memory=memory)
    pools = mpool.read(request.mpool, request.mpool_display)
    _refuse_useless_stripes(program, memory, sum(pool.size for pool in pools.enabled if pool.writable))
    return _uses(arranged(request, program, pools).plan, ends=True)


def _for_core(board: Board, path: Path, program: Program, memory: str) -> tuple[InPool, ...]:
    from neuralart_reference.cpu.compile import CpuRequest, arranged
    from neuralart_reference.cpu.placing import WEIGHTS, read

    pools = Path(board.memory_pools) if board.memory_pools else None
    request = CpuRequest(path, target=board.target, memory_pool=pools, memory=memory)
    memories = read(pools) if pools is not None else ()
    _refuse_useless_stripes(program, memory, sum(each.size for each in memories))
    _, placed, _ = arranged(request, program, memories)
    uses = _uses(placed.plan, ends=pools is not None)
    weights = sum(use.weights for use in uses if use.pool == WEIGHTS)
    name, room = (board.code.region, board.code.size) if board.code is not None else (WEIGHTS, 0)
    if weights > room:
        what = f"weights do not fit: {weights} bytes, {name} has {room} for them and the firmware"
        raise NeuralArtError(what, hint="dispatch_weights puts them in other memories")
    return tuple(InPool(name, use.weights, 0, room) if use.pool == WEIGHTS else use for use in uses)


def _refuse_useless_stripes(program: Program, memory: str, room: int) -> None:
    """An input is there whole, whatever is computed in stripes; a search for them takes long for large pictures."""
    if memory and max((program.tensors[number].bytes for number in program.inputs), default=0) > room:
        raise NeuralArtError("an input alone is larger than all pools")


def fit(board: Board, path: Path, program: Program) -> Fit:
    """Place a lowered model on a board.

    Args:
        board: With the memory pools of its stock profile.
        path: The model's file, for messages.
        program: As it was lowered.
    """
    from neuralart_reference.planning.placement import ASK_FIT

    place = _for_core if flow_of(board.target) == CPU else _for_npu
    try:
        return Fit(board.name, "", place(board, path, program, ""))
    except NeuralArtError as error:
        first = error
    try:
        # In stripes, activations are smaller; whatever else was wrong stays wrong.
        return Fit(board.name, STRIPES, place(board, path, program, STRIPES))
    except NeuralArtError:
        return Fit(board.name, "", why=first.what, hint=first.hint.removesuffix(ASK_FIT).rstrip("; "))


def fits(path: Path, boards: Sequence[Board]) -> tuple[Demand, list[Fit]]:
    """What a model needs, and the answer for each board.

    Raises:
        NeuralArtError: The model cannot be read, or has operators that are not supported.
    """
    from neuralart.compilers.request import BorderOptions
    from neuralart_reference.lower import lower
    from neuralart_reference.model.reader import read

    program = lower(read(path, str(path)), BorderOptions())
    return need(program), [fit(board, path, program) for board in boards]


def named(answers: Sequence[Fit]) -> str:
    """The boards that a model fits, for the hint of a message; empty: none."""
    names = [f"{each.board}{f' (memory: {each.memory})' if each.memory else ''}" for each in answers if each.fits]
    return f"it fits {', '.join(names)}: neuralart fit says where" if names else ""
