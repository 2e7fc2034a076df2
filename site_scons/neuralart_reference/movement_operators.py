"""Operators that only rearrange values, as moves of elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from neuralart_reference.block_movement import batch_to_space, depth_to_space, space_to_depth
from neuralart_reference.context import Unsupported, describe, same_type
from neuralart_reference.data_movement import Move, Piece, Sources, dense, filled_output, whole
from neuralart_reference.model.graph import Tensor


@dataclass
class _SliceWalk:
    """Dimensions of the result as they are found, and how each is walked in the source."""

    shape: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    start: int = 0

    def take(self, size: int, step: int) -> None:
        """Add a dimension."""
        self.shape.append(size)
        self.steps.append(step)


def _bounds(size: int, begin: int | None, end: int | None, stride: int) -> tuple[int, int]:
    """First element and number of elements along a dimension; None: as far as it goes."""
    low, high = (0, size) if stride > 0 else (-1, size - 1)

    def clamped(position: int) -> int:
        return min(max(position + size if position < 0 else position, low), high)

    first = (low if stride > 0 else high) if begin is None else clamped(begin)
    last = (high if stride > 0 else low) if end is None else clamped(end)
    return first, max(0, -(-(last - first) // stride))


class _Spec:
    """The inputs and masks of a STRIDED_SLICE."""

    def __init__(self, sources: Sources) -> None:
        options = sources.op.options
        self.begin = sources.numbers(1, "begins")
        self.end = sources.numbers(2, "ends")
        self.stride = sources.numbers(3, "strides")
        if not len(self.begin) == len(self.end) == len(self.stride):
            raise Unsupported(f"{len(self.begin)} begins, {len(self.end)} ends and {len(self.stride)} strides")
        self._masks = {name: int(options.get(name, 0)) for name in _MASKS}
        if options.get("offset", False):
            what = "ends that count from the begins (option offset) are not supported"
            raise Unsupported(what, "give ends as indices")
        if sum(self.has("ellipsis_mask", i) for i in range(len(self.begin))) > 1:
            raise Unsupported(f"ellipsis_mask {self._masks['ellipsis_mask']:#b} has more than one bit")

    def has(self, mask: str, position: int) -> bool:
        """A bit of a mask."""
        return bool(self._masks[mask] >> position & 1)

    def dimensions(self) -> int:
        """How many dimensions of the input are spoken of."""
        apart = ("ellipsis_mask", "new_axis_mask")
        return sum(not any(self.has(mask, i) for mask in apart) for i in range(len(self.begin)))


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _one_dimension(walk: _SliceWalk, spec: _Spec, position: int, tensor: Tensor, axis: int) -> None:
    """A dimension with a begin, an end and a stride."""
    size, step = tensor.shape[axis], dense(tensor.shape)[axis]
    stride = spec.stride[position]
    if stride == 0:
        raise Unsupported(f"stride {position} is 0")
    begin = None if spec.has("begin_mask", position) else spec.begin[position]
    if spec.has("shrink_axis_mask", position):
        index = 0 if begin is None else begin
        if not -size <= index < size:
            raise Unsupported(f"index {index} is outside of dimension {axis} of {describe(tensor)}")
        if stride < 0:
            raise Unsupported(f"stride {stride} for the single index {index} of dimension {axis}", "it must be above 0")
        walk.start += index % size * step
        return
    end = None if spec.has("end_mask", position) else spec.end[position]
    first, count = _bounds(size, begin, end, stride)
    if count == 0:
        raise Unsupported(f"nothing of dimension {axis} of {describe(tensor)} is taken")
    walk.start += first * step
    walk.take(count, stride * step)


def strided_slice(sources: Sources) -> list[Piece]:
    """STRIDED_SLICE with all its masks, as numpy's indexing."""
    tensor, _ = sources.ends()
    spec = _Spec(sources)
    rank, steps = len(tensor.shape), dense(tensor.shape)
    if spec.dimensions() > rank:
        raise Unsupported(f"{spec.dimensions()} dimensions are sliced, {describe(tensor)} has {rank}")
    walk, axis = _SliceWalk(), 0
    for position in range(len(spec.begin)):
        if spec.has("ellipsis_mask", position):
            for _ in range(rank - spec.dimensions()):
                walk.take(tensor.shape[axis], steps[axis])
                axis += 1
        elif spec.has("new_axis_mask", position):
            walk.take(1, 0)
        else:
            _one_dimension(walk, spec, position, tensor, axis)
            axis += 1
    for rest in range(axis, rank):
        walk.take(tensor.shape[rest], steps[rest])
    return _taken(sources, walk)


def slice_(sources: Sources) -> list[Piece]:
    """SLICE: begins and sizes, -1 for all that follows; Unsupported when it is not supported, or makes no sense."""
    tensor, _ = sources.ends()
    rank, steps = len(tensor.shape), dense(tensor.shape)
    walk = _SliceWalk()
    begins, sizes = sources.per_dimension(1, "begins", rank), sources.per_dimension(2, "sizes", rank)
    for axis, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        count = tensor.shape[axis] - begin if size == -1 else size
        if begin < 0 or count < 1 or begin + count > tensor.shape[axis]:
            raise Unsupported(f"{count} elements from {begin} are outside of dimension {axis} of {describe(tensor)}")
        walk.start += begin * steps[axis]
        walk.take(count, steps[axis])
    return _taken(sources, walk)


def _taken(sources: Sources, walk: _SliceWalk) -> list[Piece]:
    sources.expect(sources.output(), walk.shape)
    return [filled_output(sources, walk.shape, walk.steps, walk.start)]


def _same(sources: Sources) -> list[Piece]:
    """The same elements in the same order, whatever the shapes."""
    tensor, target = sources.ends()
    if tensor.elements != target.elements:
        raise Unsupported(f"{describe(tensor)} cannot be {describe(target)}")
    return [Piece(tensor.index, target.index, whole(tensor.elements))]


def _squeeze(sources: Sources) -> list[Piece]:
    """SQUEEZE: the named dimensions of size 1 go, by default all of them."""
    tensor = sources.input()
    rank = len(tensor.shape)
    named = tuple(sources.op.options.get("squeeze_dims", ()))
    gone = {sources.axis(int(value), rank, tensor) for value in named}
    for axis in sorted(gone):
        if tensor.shape[axis] != 1:
            raise Unsupported(f"dimension {axis} of {describe(tensor)} cannot be squeezed: it is not 1")
    if not named:
        gone = {axis for axis, size in enumerate(tensor.shape) if size == 1}
    sources.expect(sources.output(), [size for axis, size in enumerate(tensor.shape) if axis not in gone])
    return _same(sources)


def _expand_dims(sources: Sources) -> list[Piece]:
    """EXPAND_DIMS: a dimension of size 1 comes in."""
    tensor = sources.input()
    axis = sources.one_axis(1, tensor, len(tensor.shape) + 1)
    sources.expect(sources.output(), (*tensor.shape[:axis], 1, *tensor.shape[axis:]))
    return _same(sources)


def _transpose(sources: Sources) -> list[Piece]:
    """TRANSPOSE: dimension k of the output is dimension perm[k] of the input."""
    tensor, target = sources.ends()
    rank, steps = len(tensor.shape), dense(tensor.shape)
    given = sources.per_dimension(1, "dimensions", rank)
    order = [sources.axis(value, rank, tensor) for value in given]
    if len(set(order)) != rank:
        raise Unsupported(f"the order {list(given)} of the dimensions of {describe(tensor)} has one twice")
    shape = tuple(tensor.shape[axis] for axis in order)
    sources.expect(target, shape)
    return [filled_output(sources, shape, [steps[axis] for axis in order])]


def _reverse(sources: Sources) -> list[Piece]:
    """REVERSE_V2: some dimensions, from their ends."""
    tensor, target = sources.ends()
    sources.expect(target, tensor.shape)
    axes = {sources.axis(value, len(tensor.shape), tensor) for value in sources.numbers(1, "dimensions")}
    steps = dense(tensor.shape)
    start = sum((tensor.shape[axis] - 1) * steps[axis] for axis in axes)
    turned = [-step if axis in axes else step for axis, step in enumerate(steps)]
    return [filled_output(sources, tensor.shape, turned, start)]


def _broadcast_to(sources: Sources) -> list[Piece]:
    """BROADCAST_TO: dimensions of 1 are repeated."""
    tensor, target = sources.ends()
    wanted = sources.numbers(1, "sizes")
    sources.expect(target, wanted)
    own = (*[1] * (len(wanted) - len(tensor.shape)), *tensor.shape)
    if len(own) != len(wanted) or any(size not in (1, all_) for size, all_ in zip(own, wanted, strict=True)):
        raise Unsupported(f"{describe(tensor)} does not broadcast to {list(wanted)}")
    return [filled_output(sources, wanted, [step * (size > 1) for size, step in zip(own, dense(own), strict=True)])]


def _concatenation(sources: Sources) -> list[Piece]:
    """CONCATENATION: the inputs follow each other along one dimension."""
    tensors, target = sources.inputs(), sources.output()
    same_type(target, *tensors)
    axis = sources.axis(int(sources.op.options.get("axis", 0)), len(tensors[0].shape), tensors[0])

    def others(tensor: Tensor) -> tuple[int, ...]:
        return (*tensor.shape[:axis], *tensor.shape[axis + 1 :])

    for tensor in tensors[1:]:
        if len(tensor.shape) != len(tensors[0].shape) or others(tensor) != others(tensors[0]):
            first = describe(tensors[0])
            raise Unsupported(f"{first} and {describe(tensor)} differ in more than dimension {axis}")
    total = sum(tensor.shape[axis] for tensor in tensors)
    sources.expect(target, (*tensors[0].shape[:axis], total, *tensors[0].shape[axis + 1 :]))
    steps, at, pieces = dense(target.shape), 0, []
    for tensor in tensors:
        move = Move(tensor.shape, dense(tensor.shape), steps, target_start=at * steps[axis])
        pieces.append(Piece(tensor.index, target.index, move))
        at += tensor.shape[axis]
    return pieces


def _parts(sources: Sources, tensor: Tensor, axis: int, sizes: Sequence[int], *, gone: bool = False) -> list[Piece]:
    """Outputs that follow each other along one dimension of the input; ``gone``: they have it no more."""
    steps, at, pieces = dense(tensor.shape), 0, []
    for position, size in enumerate(sizes):
        target = sources.output(position)
        same_type(tensor, target)
        shape = (*tensor.shape[:axis], size, *tensor.shape[axis + 1 :])
        sources.expect(target, shape[:axis] + shape[axis + 1 :] if gone else shape)
        pieces.append(Piece(tensor.index, target.index, Move(shape, steps, dense(shape), at * steps[axis])))
        at += size
    return pieces


def _split(sources: Sources) -> list[Piece]:
    """SPLIT: outputs of equal size along one dimension."""
    tensor = sources.input(1)
    axis, count = sources.one_axis(0, tensor), len(sources.op.outputs)
    if int(sources.op.options.get("num_splits", count)) != count:
        raise Unsupported(f"{count} outputs, num_splits is {sources.op.options['num_splits']}")
    if not count or tensor.shape[axis] % count:
        raise Unsupported(f"dimension {axis} of {describe(tensor)} cannot be split into {count} equal parts")
    return _parts(sources, tensor, axis, [tensor.shape[axis] // count] * count)


def _split_v(sources: Sources) -> list[Piece]:
    """SPLIT_V: outputs of given sizes along one dimension; one size may be -1, the rest."""
    tensor = sources.input()
    sizes, axis = list(sources.numbers(1, "sizes")), sources.one_axis(2, tensor)
    if len(sizes) != len(sources.op.outputs):
        raise Unsupported(f"{len(sources.op.outputs)} outputs for {len(sizes)} sizes")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = tensor.shape[axis] - (sum(sizes) + 1)
    if min(sizes) < 1 or sum(sizes) != tensor.shape[axis]:
        given = list(sources.numbers(1, "sizes"))
        raise Unsupported(f"sizes {given} do not make up dimension {axis} of {describe(tensor)}")
    return _parts(sources, tensor, axis, sizes)


def _pack(sources: Sources) -> list[Piece]:
    """PACK: equal inputs become slices of a new dimension."""
    tensors, target = sources.inputs(), sources.output()
    same_type(target, *tensors)
    first = tensors[0]
    for tensor in tensors[1:]:
        if tensor.shape != first.shape:
            raise Unsupported(f"{describe(first)} and {describe(tensor)} have different shapes")
    count = int(sources.op.options.get("values_count", len(tensors)))
    if count != len(tensors):
        raise Unsupported(f"{len(tensors)} inputs, values_count is {count}")
    axis = sources.axis(int(sources.op.options.get("axis", 0)), len(first.shape) + 1, target)
    sources.expect(target, (*first.shape[:axis], len(tensors), *first.shape[axis:]))
    steps = dense(target.shape)
    rest = (*steps[:axis], *steps[axis + 1 :])
    return [
        Piece(tensor.index, target.index, Move(first.shape, dense(first.shape), rest, target_start=at * steps[axis]))
        for at, tensor in enumerate(tensors)
    ]


def _unpack(sources: Sources) -> list[Piece]:
    """UNPACK: each slice of a dimension becomes an output."""
    tensor = sources.input()
    axis = sources.axis(int(sources.op.options.get("axis", 0)), len(tensor.shape), tensor)
    count = len(sources.op.outputs)
    if count != tensor.shape[axis] or int(sources.op.options.get("num", count)) != count:
        raise Unsupported(f"{count} outputs for dimension {axis} of {describe(tensor)}")
    return _parts(sources, tensor, axis, [1] * count, gone=True)


def _tile(sources: Sources) -> list[Piece]:
    """TILE: the input, so many times along each dimension."""
    tensor, target = sources.ends()
    times = sources.per_dimension(1, "multiples", len(tensor.shape))
    shape = [size * count for size, count in zip(tensor.shape, times, strict=True)]
    sources.expect(target, shape)
    rows = zip(tensor.shape, times, dense(tensor.shape), dense(shape), strict=True)
    grid = [part for size, n, step, far in rows for part in ((n, 0, size * far), (size, step, far))]
    sizes, steps, ends = (tuple(part[at] for part in grid) for at in range(3))
    return [Piece(tensor.index, target.index, Move(sizes, steps, ends))]


def _move(sources: Sources) -> list[Piece]:
    """A grid of elements, as the reader of ONNX models gives it."""
    options, target = sources.op.options, sources.output()
    move = Move(options["sizes"], options["steps"], dense(options["sizes"]), options["start"])
    return [Piece(sources.input().index, target.index, move)]


REARRANGE: Mapping[str, Callable[[Sources], list[Piece]]] = {
    "BATCH_TO_SPACE_ND": batch_to_space,
    "BROADCAST_TO": _broadcast_to,
    "CONCATENATION": _concatenation,
    "DEPTH_TO_SPACE": depth_to_space,
    "EXPAND_DIMS": _expand_dims,
    "MOVE": _move,
    "PACK": _pack,
    "RESHAPE": _same,
    "REVERSE_V2": _reverse,
    "SLICE": slice_,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "SQUEEZE": _squeeze,
    "STRIDED_SLICE": strided_slice,
    "TILE": _tile,
    "TRANSPOSE": _transpose,
    "UNPACK": _unpack,
}
"""Operator -> the moves that it is; raises :class:`Unsupported`."""
