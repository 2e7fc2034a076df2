"""STRIDED_SLICE and SLICE: which elements they take."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuralart.compilers.reference.context import describe
from neuralart.compilers.reference.moves import Move, Piece, Unsupported, dense
from neuralart.compilers.reference.sources import Sources
from neuralart.model.graph import Tensor


@dataclass
class _Walk:
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
            raise Unsupported(
                "ends that count from the begins (option offset) are not supported", "give ends as indices"
            )
        if sum(self.has("ellipsis_mask", i) for i in range(len(self.begin))) > 1:
            raise Unsupported(f"ellipsis_mask {self._masks['ellipsis_mask']:#b} has more than one bit")

    def has(self, mask: str, position: int) -> bool:
        """A bit of a mask."""
        return bool(self._masks[mask] >> position & 1)

    def dimensions(self) -> int:
        """How many dimensions of the input are spoken of."""
        return sum(
            not self.has("ellipsis_mask", i) and not self.has("new_axis_mask", i) for i in range(len(self.begin))
        )


_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _one(walk: _Walk, spec: _Spec, position: int, tensor: Tensor, axis: int) -> None:
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
    """STRIDED_SLICE with all its masks, as numpy's indexing.

    Raises Unsupported when it is not supported, or makes no sense.
    """
    tensor, target = sources.input(), sources.output()
    sources.same_dtype(tensor, target)
    spec = _Spec(sources)
    rank, steps = len(tensor.shape), dense(tensor.shape)
    if spec.dimensions() > rank:
        raise Unsupported(f"{spec.dimensions()} dimensions are sliced, {describe(tensor)} has {rank}")
    walk, axis = _Walk(), 0
    for position in range(len(spec.begin)):
        if spec.has("ellipsis_mask", position):
            for _ in range(rank - spec.dimensions()):
                walk.take(tensor.shape[axis], steps[axis])
                axis += 1
        elif spec.has("new_axis_mask", position):
            walk.take(1, 0)
        else:
            _one(walk, spec, position, tensor, axis)
            axis += 1
    for rest in range(axis, rank):
        walk.take(tensor.shape[rest], steps[rest])
    return _piece(sources, walk)


def slice_(sources: Sources) -> list[Piece]:
    """SLICE: begins and sizes, -1 for all that follows; Unsupported when it is not supported, or makes no sense."""
    tensor = sources.input()
    sources.same_dtype(tensor, sources.output())
    rank, steps = len(tensor.shape), dense(tensor.shape)
    walk = _Walk()
    begins, sizes = sources.per_dimension(1, "begins", rank), sources.per_dimension(2, "sizes", rank)
    for axis, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        count = tensor.shape[axis] - begin if size == -1 else size
        if begin < 0 or count < 1 or begin + count > tensor.shape[axis]:
            raise Unsupported(f"{count} elements from {begin} are outside of dimension {axis} of {describe(tensor)}")
        walk.start += begin * steps[axis]
        walk.take(count, steps[axis])
    return _piece(sources, walk)


def _piece(sources: Sources, walk: _Walk) -> list[Piece]:
    sources.expect(sources.output(), walk.shape)
    move = Move(tuple(walk.shape), tuple(walk.steps), dense(walk.shape), walk.start)
    return [Piece(sources.op.inputs[0], sources.op.outputs[0], move)]
