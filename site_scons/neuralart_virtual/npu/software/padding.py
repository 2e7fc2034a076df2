"""Software kernels that put a tensor, or a part of it, into a larger one that is constant elsewhere."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from neuralart_virtual.network_c import epochs
from neuralart_virtual.network_c.epochs import Structure
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.software.tensors import Array, Kernel, Output, array

_CONSTANT = 0  # The mode; others reflect or repeat the border
_MOST_AXES = 8


class _ByteGrid(NamedTuple):
    """Bytes that are visited in order, the last axis byte by byte."""

    start: int  # Address
    sizes: tuple[int, ...]
    strides: tuple[int, ...]  # Bytes

    @property
    def span(self) -> int:
        """Bytes from the first one to behind the last one."""
        return sum((n - 1) * s for n, s in zip(self.sizes, self.strides, strict=True)) + 1

    def view(self, kernel: Kernel, low: int, high: int) -> Array:
        """Those bytes of memory. Raises NeuralArtError: they leave ``low`` to ``high``."""
        if min(self.sizes) < 1 or min(self.strides) < 0 or self.start < low or self.start + self.span > high:
            kernel.fail(f"takes {self.sizes} bytes, {self.strides} apart, at 0x{self.start:08x}, beyond its buffer")
        return as_strided(_memory(kernel, self.start, self.span), self.sizes, self.strides)


def pad(kernel: Kernel) -> None:
    """By axes: input, output, their limits, the smaller of both shapes, mode, bytes of an element,
    elements of the output, constant, last axis that is walked, elements that lie together there;
    then by axis bytes that are left out of the input (negative) in front and behind, bytes that are
    added to the output (positive) in front and behind; shape, strides, rank.
    """
    source, target, limit = (_address(kernel, i) for i in range(3))
    mode, width, total, last, together = (kernel.whole(i) for i in (5, 6, 7, 9, 10))
    if mode != _CONSTANT:
        kernel.fail(f"has the mode {mode}: only padding with a constant is modeled")
    least = array(kernel, kernel.argument(4))
    in_front, in_behind, out_front, out_behind = (array(kernel, kernel.argument(i)) for i in range(11, 15))
    if not 0 <= last < min(map(len, (least, in_front, in_behind, out_front, out_behind)), default=0) <= _MOST_AXES:
        kernel.fail(f"walks {last + 1} axes of {len(least)}")
    if width not in (1, 2, 4) or total < 1 or together < 0:
        kernel.fail(f"has {total} elements of {width} bytes, {together} together")
    end = target + total * width
    _fill(kernel, target, end, _constant(kernel, 8) if together else 0, width)
    if together:
        # What is left out of the input is negative, what is added to the output positive.
        taken = [tuple(max(-n, 0) for n in numbers) for numbers in (in_front, in_behind)]
        given = [tuple(max(n, 0) for n in numbers) for numbers in (out_front, out_behind)]
        size = together * width
        walks = [
            _nested(start, least[:last], size, front, behind)
            for start, (front, behind) in ((source, taken), (target, given))
        ]
        values = walks[0].view(kernel, source, max(limit, source)).copy()
        walks[1].view(kernel, target, end)[...] = values
    kernel.outputs.append(Output(target, width, total))


def _nested(
    start: int, counts: tuple[int, ...], size: int, front: tuple[int, ...], behind: tuple[int, ...]
) -> _ByteGrid:
    """``size`` bytes, repeated by the counts of the outer axes; each axis has bytes around."""
    axis = len(counts)
    strides = [1]
    step = front[axis] + size + behind[axis]
    for outer in range(axis - 1, -1, -1):
        strides.insert(0, step)
        step = front[outer] + counts[outer] * step + behind[outer]
    return _ByteGrid(start + sum(front[: axis + 1]), (*counts, size), tuple(strides))


def pad_in_loops(kernel: Kernel) -> None:
    """By four loops at most: input, its end and limit, output, its end and limit, constant, bytes of
    an element, loops that read, loops that write: bytes in front, bytes together, how many loops,
    bytes in all, and for each loop, innermost first, bytes from one to the next and how many.
    """
    source, source_limit, target, end = (_address(kernel, i) for i in (0, 2, 3, 4))
    width = kernel.whole(7)
    if width not in (1, 2, 4) or (end - target) % width or end <= target:
        kernel.fail(f"has elements of {width} bytes in an output of {end - target}")
    reads, writes = (_loops(kernel, i, start) for i, start in ((8, source), (9, target)))
    values = reads.view(kernel, source, max(source_limit, source)).copy()
    if values.size != int(np.prod(writes.sizes)):
        kernel.fail(f"reads {values.size} bytes, and writes {writes.sizes}")
    _fill(kernel, target, end, _constant(kernel, 6), width)
    writes.view(kernel, target, end)[...] = values.reshape(writes.sizes)
    kernel.outputs.append(Output(target, width, (end - target) // width))


def _loops(kernel: Kernel, place: int, start: int) -> _ByteGrid:
    numbers = array(kernel, kernel.argument(place))
    if len(numbers) < 4 or not 0 <= numbers[2] <= 4 or len(numbers) < 4 + 2 * numbers[2] or min(numbers) < 0:
        kernel.fail(f"has the loops {numbers}")
    front, together, count, total = numbers[:4]
    loops = [(numbers[4 + 2 * i], numbers[5 + 2 * i]) for i in reversed(range(count))]
    sizes = (*(n for _, n in loops), together if count else total)
    return _ByteGrid(start + front, sizes, (*(step for step, _ in loops), 1))


def _address(kernel: Kernel, place: int) -> int:
    """An argument that is an address, or a variable that holds one."""
    text = kernel.argument(place)
    variable = epochs.name(text)
    value = kernel.reader.description.variable(kernel.function, variable)[1] if variable else text
    argument = f"argument {place + 1}"
    return kernel.reader.address(
        Structure("", kernel.call.function, ({argument: value},), kernel.call.offset), argument
    )


def _constant(kernel: Kernel, place: int) -> int:
    """The bits of a constant, which stands in a variable or in the call."""
    text = kernel.argument(place)
    named = re.fullmatch(r"\*\s*\(\s*\(\s*\w+\s*\*\s*\)\s*&(\w+)\s*\)", text)
    kind, value = kernel.reader.description.variable(kernel.function, named[1]) if named else ("int", text)
    try:
        if kind == "float":
            return int(np.float32(value.strip("()").rstrip("fF")).view(np.int32))
        number = epochs.whole(value)
        return kernel.whole(place) if number is None else number
    except ValueError:
        kernel.fail(f"has the constant '{value[:40]}', no number")


def _fill(kernel: Kernel, start: int, end: int, constant: int, width: int) -> None:
    pattern = np.frombuffer((constant & 0xFFFFFFFF).to_bytes(4, "little")[:width], np.uint8)
    _memory(kernel, start, end - start).reshape(-1, width)[...] = pattern


def _memory(kernel: Kernel, start: int, size: int) -> Array:
    try:
        return kernel.reader.memory.view(start, size)
    except NpuError as error:
        kernel.fail(f"leads nowhere: {error.reason}")
