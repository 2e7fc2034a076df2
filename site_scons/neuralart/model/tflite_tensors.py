"""The tensors of a TensorFlow Lite file: types, shapes, constants, quantization."""

from __future__ import annotations

import math
from typing import NoReturn

from neuralart.model.flatbuffer import FlatBuffer, Table
from neuralart.model.graph import DTYPE_BYTES, Quantization, Tensor
from neuralart.model.tflite_schema import TENSOR_TYPES

# The schema's lists of numbers have no bound; TensorFlow's tensors have at most eight dimensions.
_MOST_DIMENSIONS = 8
# Both our boards and TensorFlow Lite address tensors with signed 32-bit sizes.
_MOST_BYTES = 2**31 - 1
_ZERO_POINTS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}
_INT32 = (-(2**31), 2**31 - 1)
_FIX_SHAPE = "convert the model with a fixed input shape: batch 1 and a size for every dimension"


def quoted(name: str) -> str:
    """A name from a file for a message: in quotes, printable, not longer than 60 characters."""
    short = name if len(name) <= 60 else f"{name[:57]}..."
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short) + "'"


def dimensions(shape: tuple[int, ...]) -> str:
    """``1x16x16x8``, or ``scalar``."""
    return "x".join(map(str, shape)) or "scalar"


class Buffers:
    """The constants of a file (by its outermost table), each copied once however many tensors use it."""

    def __init__(self, model: Table) -> None:
        self._tables = model.tables(4, "buffers", "buffer")
        self._read: dict[int, tuple[bytes, int] | None] = {}

    def __len__(self) -> int:
        return len(self._tables)

    def constant(self, number: int) -> tuple[bytes, int] | None:
        """The bytes of a buffer and their place in the file, or None when it is empty. Raises NeuralArtError: they do
        not lie inside of the file.
        """
        if number not in self._read:
            self._read[number] = self._copy(self._tables[number])
        return self._read[number]

    @staticmethod
    def _copy(table: Table) -> tuple[bytes, int] | None:
        file: FlatBuffer = table.buffer
        found = table.vector(0, 1, "data")
        if found is not None and found[1]:
            return bytes(file.data[found[0] : sum(found)]), found[0]
        # Files over 2 GB keep their constants behind the FlatBuffer; 0 and 1 mean "not so".
        offset = table.integer(1, "offset", "uint64")
        size = table.integer(2, "size", "uint64")
        if offset <= 1 or size == 0:
            return None
        file.need(offset, size, f"the constant of {table.what}")
        return bytes(file.data[offset : offset + size]), offset


def read_tensor(table: Table, index: int, buffers: Buffers, *, is_input: bool) -> Tensor:
    """One tensor. Raises NeuralArtError: it is damaged, dynamic, sparse, variable, or of a type without a size."""
    name = table.text(3, "name")
    table.what = f"tensor {index} {quoted(name)}"
    dtype = _dtype(table)
    if table.flag(5, "is_variable"):
        table.fail(
            f"{table.what} is a variable: it keeps its value from one inference to the next",
            "stateful models are not supported, convert the model without state",
        )
    if table.has(6):
        table.fail(f"{table.what} is sparse", "convert the model without sparsity, with dense weights")
    if table.integer(10, "external_buffer", "uint32"):
        table.fail(f"{table.what} has its data in another file", "convert the model into one file")
    number = table.integer(2, "buffer", "uint32")
    if number >= len(buffers) and number:
        table.fail(f"{table.what} has buffer {number}, the file has {len(buffers)} buffers", "is the file damaged?")
    found = buffers.constant(number) if len(buffers) else None
    shape, signature = _shape(table, is_input=is_input)
    expected = math.prod(shape) * DTYPE_BYTES[dtype]
    if expected > _MOST_BYTES:
        table.fail(f"{table.what} ({dtype} {dimensions(shape)}) needs {expected} bytes, the most is {_MOST_BYTES}")
    if found is not None and len(found[0]) != expected:
        table.buffer.fail(
            found[1],
            f"{table.what} ({dtype} {dimensions(shape)}) needs {expected} bytes, its constant has {len(found[0])}",
            "is the file damaged?",
        )
    return Tensor(
        index=index,
        name=name,
        shape=shape,
        dtype=dtype,
        quantization=_quantization(table, dtype, shape),
        data=None if found is None else found[0],
        signature=signature,
    )


def _dtype(table: Table) -> str:
    number = table.integer(1, "type", "int8")
    if not 0 <= number < len(TENSOR_TYPES):
        table.fail(f"{table.what} has type number {number}, known are 0 to {len(TENSOR_TYPES) - 1}")
    dtype = TENSOR_TYPES[number]
    if dtype not in DTYPE_BYTES:
        table.fail(
            f"{table.what} is of type {dtype}, which is not supported",
            "known: " + ", ".join(sorted(DTYPE_BYTES)),
        )
    return dtype


def _shape(table: Table, *, is_input: bool) -> tuple[tuple[int, ...], tuple[int, ...] | None]:
    shape = table.integers(0, "shape")
    signature = table.integers(7, "shape_signature") or None
    if len(shape) > _MOST_DIMENSIONS:
        table.fail(f"{table.what} has {len(shape)} dimensions, the most is {_MOST_DIMENSIONS}")
    # Inner scalars are often written without has_rank; an input without it is one of any shape.
    if is_input and not shape and not table.flag(8, "has_rank"):
        table.fail(f"{table.what} has a dynamic shape: not even its number of dimensions is given", _FIX_SHAPE)
    if any(size < 0 for size in shape):
        table.fail(f"{table.what} has a dynamic shape {dimensions(shape)}", _FIX_SHAPE)
    if 0 in shape:
        table.fail(f"{table.what} has no elements: its shape is {dimensions(shape)}")
    if signature is None:
        return shape, None
    if len(signature) != len(shape):
        table.fail(
            f"{table.what} has {len(shape)} dimensions, its signature {len(signature)}",
            "is the file damaged?",
        )
    for axis, (size, signed) in enumerate(zip(shape, signature, strict=True)):
        # A batch that is open, written down as 1, is what converters make of a model without a fixed batch.
        if signed == size or (signed == -1 and axis == 0 and size == 1):
            continue
        if signed == -1:
            table.fail(
                f"{table.what} has a dynamic shape {dimensions(signature)}: dimension {axis} is open", _FIX_SHAPE
            )
        table.fail(
            f"{table.what} has shape {dimensions(shape)} and signature {dimensions(signature)}", "is the file damaged?"
        )
    return shape, signature


def _quantization(table: Table, dtype: str, shape: tuple[int, ...]) -> Quantization | None:
    described = table.table(4, "quantization")
    if described is None or dtype.startswith(("float", "bool")):
        return None

    def fail(what: str, hint: str = "is the file damaged?") -> NoReturn:
        described.fail(f"the quantization of {table.what}: {what}", hint)

    if described.integer(4, "details_type", "uint8"):
        fail("not one scale per tensor or per slice", "convert the model with per-tensor or per-channel quantization")
    scales = described.reals(2, "scale")
    zero_points = described.integers(3, "zero_point", "int64")
    if not scales:
        return None
    zero_points = zero_points or (0,) * len(scales)
    if len(zero_points) != len(scales):
        fail(f"{len(scales)} scales but {len(zero_points)} zero points")
    for position, scale in enumerate(scales):
        if not (math.isfinite(scale) and scale > 0):
            fail(f"scale {position} is {scale:g}, it must be finite and above 0")
    low, high = _ZERO_POINTS.get(dtype, _INT32)
    for position, zero_point in enumerate(zero_points):
        if not low <= zero_point <= high:
            fail(f"zero point {position} is {zero_point}, {dtype} allows {low} to {high}")
    axis = described.integer(6, "quantized_dimension")
    if len(scales) == 1:
        return Quantization(scales, zero_points)
    if len(shape) == 1 and shape[0] == len(scales):
        # Older converters copy the weights' dimension to the bias. It has one dimension only: no other can be meant.
        axis = 0
    if not 0 <= axis < len(shape):
        fail(f"dimension {axis} is quantized, the tensor has {len(shape)}")
    if shape[axis] != len(scales):
        fail(f"{len(scales)} scales for the {shape[axis]} slices of dimension {axis} of {dimensions(shape)}")
    return Quantization(scales, zero_points, axis)
