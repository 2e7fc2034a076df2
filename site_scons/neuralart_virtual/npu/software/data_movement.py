"""Software kernels that only move elements: concat, depth to space, transpose, pad, copies, cast."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import as_strided

from neuralart_virtual.network_c import epochs
from neuralart_virtual.network_c.epochs import Structure
from neuralart_virtual.npu.software.tensors import ORDER, Array, Kernel, Output, array, buffers, load, note, store


def concat(kernel: Kernel) -> None:
    """Buffers one behind the other along an axis: inputs, how many, output, axis."""
    number = kernel.whole(3)
    if not 1 <= number % 4 <= 3:
        kernel.fail(f"has the axis {number}")
    axis = "hwc".index(ORDER[number % 4])
    inputs = buffers(kernel, 0)[: kernel.whole(1)]
    (target, *_) = buffers(kernel, 2)
    parts = [load(each, kernel) for each in inputs]
    if len({(p.dtype, *p.shape[:axis], *p.shape[axis + 1 :]) for p in parts}) > 1:
        kernel.fail(f"has inputs of the shapes {[p.shape for p in parts]}")
    store(target, np.concatenate(parts, axis), kernel)


def depth_to_space(kernel: Kernel) -> None:
    """Channels to blocks, outermost the block (DCR): input, 1, output, block width, block height."""
    (source, *_), (target, *_) = buffers(kernel, 0), buffers(kernel, 2)
    wide, high = kernel.whole(3), kernel.whole(4)
    x = load(source, kernel)
    height, width, channels = x.shape
    if min(wide, high) < 1 or channels % (wide * high):
        kernel.fail(f"has {channels} channels for blocks of {high}x{wide}")
    blocks = x.reshape(height, width, high, wide, channels // (high * wide))
    result = blocks.transpose(0, 2, 1, 3, 4).reshape(height * high, width * wide, -1)
    store(target, result, kernel)


def space_to_depth(kernel: Kernel) -> None:
    """The way back: input, 1, output, block width, block height."""
    (source, *_), (target, *_) = buffers(kernel, 0), buffers(kernel, 2)
    wide, high = kernel.whole(3), kernel.whole(4)
    x = load(source, kernel)
    height, width, channels = x.shape
    if min(wide, high) < 1 or height % high or width % wide:
        kernel.fail(f"has {height}x{width} pixels for blocks of {high}x{wide}")
    blocks = x.reshape(height // high, high, width // wide, wide, channels)
    result = blocks.transpose(0, 2, 1, 3, 4).reshape(height // high, width // wide, -1)
    store(target, result, kernel)


def transpose(kernel: Kernel) -> None:
    """Axes in another order, by the strides that the call lists: input, its strides, output, its strides,
    where axes go, and which axes are taken.
    """
    source, _ = _strided(kernel, 0, 1)
    target, last = _strided(kernel, 2, 3)
    order = array(kernel, kernel.argument(5))
    if sorted(order) != list(range(source.ndim)):
        kernel.fail(f"takes the axes {order} of {source.ndim}")
    result = source.copy().transpose(order)
    if result.shape != target.shape:
        kernel.fail(f"gives the shape {result.shape}, its output has {target.shape}")
    target[...] = result
    kernel.outputs.append(Output(last, target.dtype.itemsize, target.size))


def _strided(kernel: Kernel, place: int, strides_at: int) -> tuple[Array, int]:
    structure = kernel.structure(place)
    one = Structure(structure.type, structure.name, (structure.members,), structure.offset)
    reader = kernel.reader
    shape = array(kernel, structure.members.get("shape", ""))
    strides = _axes_offsets(kernel, strides_at)
    bits = reader.number(one, "nbits", 8)
    start = reader.address(one, "addr_base") + reader.number(one, "offset_start")
    if bits not in (8, 16, 32) or not shape or len(shape) != len(strides) or min(shape) < 1:
        kernel.fail(f"has {bits} bits, the shape {shape} and the strides {strides}")
    element = bits // 8
    span = sum((n - 1) * s for n, s in zip(shape, strides, strict=True)) + element
    if start % element or min(strides) < 0:
        kernel.fail(f"has the strides {strides} at 0x{start:08x}")
    data = reader.bytes(one, "addr_base", start, span)
    return as_strided(data[:element].view(f"<i{element}"), shape, strides), start


def _axes_offsets(kernel: Kernel, place: int) -> tuple[int, ...]:
    """The strides behind an array of pointers: ``x[0]``, where x holds the name of an array."""
    name = epochs.name(kernel.argument(place))
    outer = kernel.function.arrays.get(name)
    if outer is None or not outer.items:
        kernel.fail(f"takes '{name}', which is not there")
    return array(kernel, outer.items[0])


def copy_flat(kernel: Kernel) -> None:
    """One input to several outputs, byte by byte: input, outputs, how many."""
    source, targets = _ranges(kernel, 0)[0], _ranges(kernel, 1)[: kernel.whole(2)]
    for target, start in targets:
        if len(target) != len(source[0]):
            kernel.fail(f"copies {len(source[0])} bytes to {len(target)}")
        target[:] = source[0].copy()
        kernel.outputs.append(Output(start, 1, len(target)))


# Kinds of a split: outputs that stand one behind the other, outputs with groups of channels.
_FLAT_SPLITS, _GROUPED_SPLITS = range(5, 13), (3, 4)


def split(kernel: Kernel) -> None:
    """Parts along an axis: input, whether its channels are innermost, outputs, how many, rank, axis,
    leading sizes, kind.
    """
    (data, _), outputs = _ranges(kernel, 0)[0], _ranges(kernel, 2)[: kernel.whole(3)]
    innermost, rank, axis, kind = (kernel.whole(i) for i in (1, 4, 5, 7))
    source, *_ = kernel.structure(0).elements
    element = kernel.reader.number(kernel.structure(0), "nbits", 8) // 8
    shape = array(kernel, source.get("shape", ""))
    parts = [array(kernel, members.get("shape", "")) for members in kernel.structure(2).elements][: len(outputs)]
    if len(shape) != rank or not 0 <= axis < rank or element < 1 or not 0 <= kind <= _FLAT_SPLITS[-1]:
        kernel.fail(f"has the shape {shape}, rank {rank}, axis {axis}, {element} bytes and kind {kind}")
    if any(p[:axis] + p[axis + 1 :] != shape[:axis] + shape[axis + 1 :] for p in parts):
        kernel.fail(f"splits the shape {shape} into {parts}")
    sizes = [part[axis] for part in parts]
    if sum(sizes) > shape[axis] or len(data) != int(np.prod(shape)) * element:
        kernel.fail(f"splits {len(data)} bytes of the shape {shape} into {sizes} along axis {axis}")
    order = list(range(rank))
    if kind in _FLAT_SPLITS:
        pieces = np.split(data.copy(), np.cumsum([len(target) for target, _ in outputs]))
    else:
        if innermost and rank > 2:
            order.append(order.pop(rank - 3))
        whole = data.copy().reshape([shape[i] for i in order] + [element])
        pieces = np.split(whole, np.cumsum(sizes), order.index(axis))
    for piece, (target, start), members in zip(pieces, outputs, kernel.structure(2).elements, strict=False):
        if kind in _GROUPED_SPLITS:
            group = epochs.whole(members.get("batch", "0")) or piece.shape[-2]
            blocks = piece.reshape(-1, piece.shape[-2] // group, group * element)
            piece = blocks.transpose(1, 0, 2)
        target[:] = piece.reshape(-1)
        kernel.outputs.append(Output(start, element, len(target) // element))


def slice_lines(kernel: Kernel) -> None:
    """Part of each line: input, output, bytes in all, bytes of a part, lines, bytes from line to line."""
    start = _ranges(kernel, 0)[0][1]
    (target, place), *_ = _ranges(kernel, 1)
    total, width, lines, step = (kernel.whole(i) for i in range(2, 6))
    if min(width, lines, step) < 1 or width > step or width * lines != total or total != len(target):
        kernel.fail(f"takes {lines} parts of {width} bytes, {step} apart, for an output of {len(target)}")
    span = (lines - 1) * step + width
    data = kernel.reader.bytes(kernel.structure(0), "addr_base", start, span)
    target[:] = as_strided(data, (lines, width), (step, 1)).reshape(-1).copy()
    kernel.outputs.append(Output(place, 1, total))


def _ranges(kernel: Kernel, place: int) -> list[tuple[Array, int]]:
    structure, reader = kernel.structure(place), kernel.reader
    found = []
    for members in structure.elements:
        one = Structure(structure.type, structure.name, (members,), structure.offset)
        start = reader.address(one, "addr_base") + reader.number(one, "offset_start")
        size = reader.number(one, "offset_end") - reader.number(one, "offset_start")
        if size <= 0:
            kernel.fail(f"has a buffer of {size} bytes")
        found.append((reader.bytes(one, "addr_base", start, size), start))
    return found


def cast(kernel: Kernel) -> None:
    """Between fixed point and real numbers: input and output, each with its type and its fraction bits."""
    (source, *_), (target, *_) = buffers(kernel, 0), buffers(kernel, 1)
    x = _reals(kernel, 0, source.data)
    members = kernel.structure(1).members
    if "FLOAT" in members.get("type", "").upper():
        target.data.view("<f4")[:] = x.astype(np.float32)
    else:
        bounds = np.iinfo(target.data.dtype)
        fraction = kernel.reader.number(kernel.structure(1), "Qn")
        steps = np.rint(np.nan_to_num(x * 2.0**fraction))
        target.data[:] = np.clip(steps, bounds.min, bounds.max).astype(target.data.dtype)
    note(kernel, target)


def _reals(kernel: Kernel, place: int, data: Array) -> Array:
    members = kernel.structure(place).members
    if "FLOAT" in members.get("type", "").upper():
        return np.asarray(data.view("<f4").astype(np.float64))
    fraction = kernel.reader.number(kernel.structure(place), "Qn")
    return np.asarray(data.astype(np.float64) / 2.0**fraction)
