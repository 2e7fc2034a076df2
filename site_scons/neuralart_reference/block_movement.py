"""Operators that exchange blocks of pictures with channels or with a batch, as moves of elements."""

from __future__ import annotations

from itertools import product
from math import prod

from neuralart_reference.context import Unsupported, describe, same_type
from neuralart_reference.data_movement import Move, Piece, Sources, dense, filled_output
from neuralart_reference.model.graph import Tensor


def _block_size(sources: Sources) -> tuple[int, tuple[int, ...]]:
    tensor, _ = sources.ends()
    if len(tensor.shape) != 4:
        raise Unsupported(f"{describe(tensor)} has {len(tensor.shape)} dimensions", "it must have 4: N, H, W, C")
    size = int(sources.op.options.get("block_size", 0))
    if size < 1:
        raise Unsupported(f"block_size {size} is not above 0")
    return size, tensor.shape


def depth_to_space(sources: Sources) -> list[Piece]:
    """DEPTH_TO_SPACE: the channels of a pixel become a square of pixels."""
    size, (batches, height, width, channels) = _block_size(sources)
    depth = channels // (size * size)
    if channels % (size * size):
        raise Unsupported(f"{channels} channels cannot be {size} x {size} pixels")
    sources.expect(sources.output(), (batches, height * size, width * size, depth))
    n, h, w, i, j, c = dense((batches, height, width, size, size, depth))
    return [filled_output(sources, (batches, height, size, width, size, depth), (n, h, i, w, j, c))]


def space_to_depth(sources: Sources) -> list[Piece]:
    """SPACE_TO_DEPTH: a square of pixels becomes the channels of one."""
    size, (batches, height, width, channels) = _block_size(sources)
    if height % size or width % size:
        raise Unsupported(f"{height} x {width} pixels are not made of squares of {size} x {size}")
    high, wide = height // size, width // size
    sources.expect(sources.output(), (batches, high, wide, channels * size * size))
    n, h, i, w, j, c = dense((batches, high, size, wide, size, channels))
    return [filled_output(sources, (batches, high, wide, size, size, channels), (n, h, w, i, j, c))]


def _blocks(sources: Sources, space: Tensor, batch: Tensor, margins: str) -> list[Move]:
    """The moves from a tensor of pictures to one with their blocks as a batch, each from one offset in all blocks."""
    same_type(space, batch)
    sizes = sources.numbers(1, "sizes of blocks")
    pairs = sources.numbers(2, margins)
    count, rank = len(sizes), len(space.shape)
    if rank <= count or len(batch.shape) != rank or len(pairs) != 2 * count or min(sizes, default=1) < 1:
        raise Unsupported(f"blocks {list(sizes)}, {margins} {list(pairs)} do not fit {describe(space)}")
    front, back = pairs[::2], pairs[1::2]
    full = [size + front[at] + back[at] for at, size in enumerate(space.shape[1 : count + 1])]
    if min(pairs) < 0 or any(size % block for size, block in zip(full, sizes, strict=True)):
        raise Unsupported(f"{margins} {list(pairs)} of {describe(space)} make no whole blocks of {list(sizes)}")
    inner = [size // block for size, block in zip(full, sizes, strict=True)]
    sources.expect(batch, (space.shape[0] * prod(sizes), *inner, *space.shape[count + 1 :]))
    far, near, moves = dense(space.shape), dense(batch.shape), []
    for number, offset in enumerate(product(*map(range, sizes))):
        # Where the first and the last place of this offset lie inside of the picture.
        first = [max(0, -(-(front[at] - o) // sizes[at])) for at, o in enumerate(offset)]
        last = [(space.shape[at + 1] - 1 + front[at] - o) // sizes[at] for at, o in enumerate(offset)]
        shape = (space.shape[0], *(b - a + 1 for a, b in zip(first, last, strict=True)), *space.shape[count + 1 :])
        if min(shape) < 1:
            continue
        steps = (far[0], *(far[at + 1] * size for at, size in enumerate(sizes)), *far[count + 1 :])
        start = sum((a * sizes[at] + offset[at] - front[at]) * far[at + 1] for at, a in enumerate(first))
        begin = number * space.shape[0] * near[0] + sum(a * near[at + 1] for at, a in enumerate(first))
        moves.append(Move(shape, steps, near, start, begin))
    return moves


def space_to_batch(sources: Sources) -> list[Piece]:
    """SPACE_TO_BATCH_ND: what is not padding."""
    tensor, target = sources.input(), sources.output()
    return [Piece(tensor.index, target.index, move) for move in _blocks(sources, tensor, target, "paddings")]


def batch_to_space(sources: Sources) -> list[Piece]:
    """BATCH_TO_SPACE_ND: the same backward."""
    tensor, target = sources.input(), sources.output()
    return [
        Piece(tensor.index, target.index, Move(m.shape, m.target_steps, m.source_steps, m.target_start, m.source_start))
        for m in _blocks(sources, target, tensor, "crops")
    ]
