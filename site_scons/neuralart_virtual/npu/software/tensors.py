"""Tensors of software epochs: views of memory by the structures of generated C."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from neuralart_virtual.network_c import epochs
from neuralart_virtual.network_c.epochs import EpochFunction, SetupCall, Structure
from neuralart_virtual.npu.description.values import StructureReader

Array = NDArray[Any]
IN, OUT = "general.input", "general.output"
_AXES = "bhwc"
# The order in which axes are numbered.
ORDER = "bchw"


class Output(NamedTuple):
    """A buffer that a software epoch wrote."""

    start: int  # Address
    size: int  # Bytes of an element
    elements: int


class TensorGrid(NamedTuple):
    """Scales and zero points: one of each, or one per channel."""

    scale: Array  # float32
    zero: Array  # int64


@dataclass
class Kernel:
    """What a kernel gets: its call, the structures of its function, memory, and where outputs are noted."""

    reader: StructureReader
    function: EpochFunction
    call: SetupCall
    outputs: list[Output]

    @property
    def info(self) -> Structure:
        """The structure that a call of ``ll_sw_forward_...`` takes."""
        return self.structure(0)

    def structure(self, place: int) -> Structure:
        """The structure that an argument refers to. NeuralArtError: there is none."""
        name = epochs.name(self.argument(place))
        found = self.function.structures.get(name)
        if found is None:
            self.fail(f"takes '{name}', which {self.function.name} does not have")
        return found

    def argument(self, place: int) -> str:
        """An argument as text. NeuralArtError: there are fewer."""
        if place >= len(self.call.arguments):
            self.fail(f"has {len(self.call.arguments)} arguments, {place + 1} are wanted")
        return self.call.arguments[place]

    def whole(self, place: int) -> int:
        """An argument that is a number. NeuralArtError: it is none."""
        value = epochs.whole(self.argument(place))
        if value is None:
            self.fail(f"has '{self.argument(place)[:40]}' for argument {place + 1}, no number")
        return value

    def fail(self, what: str) -> NoReturn:
        """Stop with an error at the call. Raises NeuralArtError."""
        raise self.reader.description.error(f"{self.call.function} {what}", self.call.offset)

    def number(self, member: str, missing: int = 0) -> int:
        """A whole number of the structure."""
        return self.reader.number(self.info, member, missing)

    def real(self, member: str, missing: float = 0.0) -> float:
        """A real number of the structure. NeuralArtError: it is none."""
        text = self.info.members.get(member)
        try:
            return missing if text is None else float(text.strip("()").rstrip("fF"))
        except ValueError:
            self.fail(f"has '{text[:40] if text else ''}' for {member}, no number")

    def has(self, tensor: str) -> bool:
        """The structure has that tensor, with a place in memory."""
        return f"{tensor}.mem.start_offset" in self.info.members

    # ---- arrays ----

    def sizes(self, tensor: str) -> tuple[int, ...]:
        """Batch, height, width, channels. NeuralArtError: one is less than 1."""
        found = tuple(self.number(f"{tensor}.dim.tensor_{axis}", 1) for axis in _AXES)
        if min(found) < 1:
            self.fail(f"has the sizes {found} for {tensor}")
        return found

    def view(self, tensor: str, kind: Any = None) -> Array:
        """The tensor in memory, to be read and written: shape (batch, height, width, channels).

        ``kind``: type of its elements; by default integers as wide as its strides tell.
        """
        sizes = self.sizes(tensor)
        strides = tuple(self.number(f"{tensor}.stride.{axis}") for axis in _AXES)
        if kind is None:
            width = min((s for s in strides if s), default=1)
            if width not in (1, 2, 4):
                self.fail(f"has elements of {width} bytes in {tensor}")
            kind = f"<{'i' if self._signed(tensor) else 'u'}{width}"
        element = np.dtype(kind).itemsize
        if min(strides) < 0:
            self.fail(f"has the strides {strides} for {tensor}")
        span = sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + element
        member = f"{tensor}.mem.start_offset"
        address = self.reader.address(self.info, member)
        data = self.reader.bytes(self.info, member, address, span)
        if address % element:
            self.fail(f"has {tensor} at 0x{address:08x}, no multiple of {element}")
        return as_strided(data[:element].view(kind), sizes, strides)

    def flat(self, tensor: str, kind: Any) -> Array:
        """A list of elements: shape (elements,)."""
        count = self.number(f"{tensor}.dim.num_elem", 1)
        element = np.dtype(kind).itemsize
        if count < 1:
            self.fail(f"has {count} elements in {tensor}")
        member = f"{tensor}.mem.start_offset"
        address = self.reader.address(self.info, member)
        return self.reader.bytes(self.info, member, address, count * element).copy().view(kind)

    def _signed(self, tensor: str) -> bool:
        return bool(self.number(f"{tensor}.format.is_signed", 1))

    def quantization(self, prefix: str, element: int = 1, tensor: str = "") -> TensorGrid:
        """Scales and zero points: tensors ``is`` and ``izp``, or ``os`` and ``ozp``, by their letter.

        ``tensor``: what they are of, if not the input or the output. NeuralArtError: there are several,
        and not as many as it has channels (or kernels).
        """
        kind = f"<{'i' if self._signed(f'{prefix}zp') else 'u'}{element}"
        zero = self.flat(f"{prefix}zp", kind) if self.has(f"{prefix}zp") else np.zeros(1, kind)
        scale = self.flat(f"{prefix}s", "<f4")
        sizes = self.sizes(tensor or (IN if prefix == "i" else OUT))
        wanted = sizes[0] if tensor else sizes[3]
        if len(scale) not in (1, wanted) or len(zero) not in (1, wanted):
            self.fail(f"has {len(scale)} scales and {len(zero)} zero points for {wanted} channels")
        return TensorGrid(scale, zero.astype(np.int64))

    def quantized_ends(self) -> tuple[Array, TensorGrid, TensorGrid]:
        """The input as stored, its scales and zero points, and those of the output."""
        x, target = self.view(IN), self.view(OUT)
        return x, self.quantization("i", x.dtype.itemsize), self.quantization("o", target.dtype.itemsize)

    def same_size(self, result: Array) -> None:
        """NeuralArtError: a result has another shape than the output."""
        if result.shape != self.sizes(OUT):
            self.fail(f"gives the shape {result.shape}, {OUT} has {self.sizes(OUT)}")

    def write_reals(self, result: Array) -> None:
        """Write the output in single precision. NeuralArtError: it has another shape."""
        self._write(self.view(OUT, "<f4"), result)

    def write_steps(self, steps: Array) -> None:
        """Write the quantized output: rounded values, clipped to its type. NeuralArtError: it has another shape."""
        target = self.view(OUT)
        bounds = np.iinfo(target.dtype)
        self._write(target, np.clip(steps, bounds.min, bounds.max).astype(target.dtype))

    def _write(self, target: Array, values: Array) -> None:
        self.same_size(values)
        target[...] = values
        address = self.reader.address(self.info, f"{OUT}.mem.start_offset")
        self.outputs.append(Output(address, target.dtype.itemsize, target.size))


# ---- buffers of the runtime's library: LL_Buffer_InfoTypeDef and LL_LIB_TensorShape_TypeDef ----


class Buffer(NamedTuple):
    """A tensor in memory by its buffer information."""

    data: Array  # Shape (elements,)
    start: int  # Address
    shape: tuple[int, ...]  # Batch, height, width, channels
    batch: int  # Channels that lie together
    first: bool  # Channels lie outermost
    name: str


def buffers(kernel: Kernel, place: int) -> list[Buffer]:
    """The tensors of an argument that is an array of buffers. Raises NeuralArtError."""
    structure = kernel.structure(place)
    found = []
    for number, members in enumerate(structure.elements):
        if members.get("name") == "NULL":
            break
        found.append(_buffer(kernel, structure, members, number))
    if not found:
        kernel.fail(f"has no buffers in {structure.name}")
    return found


def _buffer(kernel: Kernel, structure: Structure, members: Mapping[str, str], number: int) -> Buffer:
    one = Structure(structure.type, f"{structure.name}[{number}]", (members,), structure.offset)
    reader = kernel.reader
    start = reader.address(one, "addr_base") + reader.number(one, "offset_start")
    size = reader.number(one, "offset_end") - reader.number(one, "offset_start")
    bits = reader.number(one, "nbits", 8)
    shape = array(kernel, members.get("shape", ""))
    kind = {8: "<i1", 16: "<i2", 32: "<i4"}.get(bits)
    if kind is None or size <= 0 or not shape or min(shape) < 1:
        kernel.fail(f"has a buffer of {bits} bits, {size} bytes and the shape {shape}")
    data = reader.bytes(one, "addr_base", start, size)
    element = bits // 8
    if start % element or size != int(np.prod(shape)) * element:
        kernel.fail(f"has a buffer of {size} bytes at 0x{start:08x} for the shape {shape}")
    whole = (1,) * (4 - len(shape)) + shape
    if len(whole) != 4:
        kernel.fail(f"has a buffer with {len(shape)} dimensions")
    batch = reader.number(one, "batch") or whole[3]
    first = members.get("chpos", "").endswith("First")
    return Buffer(data.view(kind), start, whole, batch, first, members.get("name", "").strip('"'))


def array(kernel: Kernel, text: str) -> tuple[int, ...]:
    """The numbers of an array that a text refers to. Raises NeuralArtError."""
    name = epochs.name(text)
    values = kernel.function.arrays.get(name)
    if values is None:
        kernel.fail(f"refers to the array '{name or text[:40]}', which is not there")
    numbers = [epochs.whole(item) for item in values.items]
    if any(number is None for number in numbers):
        kernel.fail(f"refers to {name}, which is no list of numbers")
    return tuple(number or 0 for number in numbers)


def load(buffer: Buffer, kernel: Kernel) -> Array:
    """A copy: shape (height, width, channels)."""
    batch, height, width, channels = buffer.shape
    if batch != 1:
        kernel.fail(f"has a buffer with a batch of {batch}")
    if buffer.first:
        return buffer.data.reshape(channels, height, width).transpose(1, 2, 0).copy()
    if channels % buffer.batch:
        kernel.fail(f"has {channels} channels in groups of {buffer.batch}")
    blocks = buffer.data.reshape(channels // buffer.batch, height, width, buffer.batch)
    return blocks.transpose(1, 2, 0, 3).reshape(height, width, channels).copy()


def store(buffer: Buffer, values: Array, kernel: Kernel) -> None:
    """Write values of shape (height, width, channels). Raises NeuralArtError: another shape."""
    if (1, *values.shape) != buffer.shape:
        kernel.fail(f"gives the shape {values.shape}, its output has {buffer.shape[1:]}")
    height, width, channels = values.shape
    if buffer.first:
        ordered = values.transpose(2, 0, 1)
    else:
        if channels % buffer.batch:
            kernel.fail(f"has {channels} channels in groups of {buffer.batch}")
        ordered = values.reshape(height, width, channels // buffer.batch, buffer.batch)
        ordered = ordered.transpose(2, 0, 1, 3)
    buffer.data[:] = ordered.reshape(-1)
    note(kernel, buffer)


def note(kernel: Kernel, buffer: Buffer) -> None:
    """A buffer was written."""
    kernel.outputs.append(Output(buffer.start, buffer.data.dtype.itemsize, len(buffer.data)))
