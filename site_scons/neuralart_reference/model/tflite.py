"""Reads TensorFlow Lite models: tensors, and how operators are connected."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file, read_bytes
from neuralart.text import filekind
from neuralart_reference.model.cut import chosen, needed
from neuralart_reference.model.flatbuffer import FlatBuffer, Table
from neuralart_reference.model.graph import DTYPE_BYTES, Model, Operator, Quantization, Tensor
from neuralart_reference.model.tflite_operators import (
    IDENTIFIER,
    TENSOR_TYPES,
    VERSION,
    quoted,
    read_code,
    read_operator,
)
from neuralart_reference.model.tflite_variables import CALL_ONCE, with_variables

# The schema's lists of numbers have no bound; TensorFlow's tensors have at most eight dimensions.
_MOST_DIMENSIONS = 8
# Both our boards and TensorFlow Lite address tensors with signed 32-bit sizes.
_MOST_BYTES = 2**31 - 1
_ZERO_POINTS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}
_INT32 = (-(2**31), 2**31 - 1)
_FIX_SHAPE = "convert the model with a fixed input shape: batch 1 and a size for every dimension"


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
    """One tensor. Raises NeuralArtError: it is damaged, dynamic, sparse, or of a type without a size."""
    name = table.text(3, "name")
    table.what = f"tensor {index} {quoted(name)}"
    dtype = _dtype(table)
    if table.has(6):
        table.fail(f"{table.what} is sparse", "convert the model without sparsity, with dense weights")
    if table.integer(10, "external_buffer", "uint32"):
        table.fail(f"{table.what} has its data in another file", "convert the model into one file")
    number = table.integer(2, "buffer", "uint32")
    if number >= len(buffers) and number:
        table.damaged(f"{table.what} has buffer {number}, the file has {len(buffers)} buffers")
    found = buffers.constant(number) if len(buffers) else None
    shape, signature = _shape(table, is_input=is_input)
    expected = math.prod(shape) * DTYPE_BYTES[dtype]
    needs = f"{table.what} ({dtype} {dimensions(shape)}) needs {expected} bytes"
    if expected > _MOST_BYTES:
        table.fail(f"{needs}, the most is {_MOST_BYTES}")
    if found is not None and len(found[0]) != expected:
        table.buffer.damaged(found[1], f"{needs}, its constant has {len(found[0])}")
    quantization, data = _quantization(table, dtype, shape), None if found is None else found[0]
    return Tensor(index, name, shape, dtype, quantization, data, signature, table.flag(5, "is_variable"))


def _inner(table: Table, index: int) -> Tensor:
    """A tensor whose quantization alone counts, and whose shape may be unknown. NeuralArtError: it is damaged."""
    name = table.text(3, "name")
    table.what = f"tensor {index} {quoted(name)}"
    dtype = _dtype(table)
    return Tensor(index, name, (), dtype, _quantization(table, dtype, ()))


def _dtype(table: Table) -> str:
    number = table.integer(1, "type", "int8")
    if not 0 <= number < len(TENSOR_TYPES):
        table.fail(f"{table.what} has type number {number}, known are 0 to {len(TENSOR_TYPES) - 1}")
    dtype = TENSOR_TYPES[number]
    if dtype not in DTYPE_BYTES:
        what = f"{table.what} is of type {dtype}, which is not supported"
        table.fail(what, f"known: {', '.join(sorted(DTYPE_BYTES))}")
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
        table.damaged(f"{table.what} has {len(shape)} dimensions, its signature {len(signature)}")
    for axis, (size, signed) in enumerate(zip(shape, signature, strict=True)):
        # A batch that is open, written down as 1, is what converters make of a model without a fixed batch.
        if signed == size or (signed == -1 and axis == 0 and size == 1):
            continue
        if signed == -1 and not is_input:
            continue  # Its size follows from those of the inputs.
        if signed == -1:
            dynamic = f"has a dynamic shape {dimensions(signature)}: dimension {axis} is open"
            sizes = "x".join(str(old if old != -1 else f"N{at}") for at, old in enumerate(signature))
            table.fail(f"{table.what} {dynamic}", f"input_shapes of the network or --input-shape NAME={sizes}")
        table.damaged(f"{table.what} has shape {dimensions(shape)} and signature {dimensions(signature)}")
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


class _Connections:
    """Checks that every tensor is written before it is read, and by one operator only."""

    def __init__(self, graph: Table, model: Model, tables: Sequence[Table]) -> None:
        self._graph, self._model, self._tables = graph, model, tables
        self._writers: dict[int, int] = {}

    def check(self) -> None:
        """Check everything. Raises NeuralArtError: something is connected wrongly."""
        for operator, table in zip(self._model.operators, self._tables, strict=True):
            for number in operator.outputs:
                self._in_range(table, f"{table.what} writes", number)
                if number in self._writers:
                    table.fail(f"{table.what} writes {self._name(number)}, {self._writer(number)} too")
                self._writers[number] = operator.index
        self._check_list("input", self._model.inputs)
        for number in self._model.inputs:
            if self._constant(number):
                self._graph.fail(f"{self._name(number)} is an input of the model and a constant")
            if number in self._writers:
                self._graph.fail(f"{self._name(number)} is an input of the model, {self._writer(number)} writes it")
        for operator, table in zip(self._model.operators, self._tables, strict=True):
            self._check_operator(operator, table)
        self._check_list("output", self._model.outputs)
        for number in self._model.outputs:
            if number not in self._writers and number not in self._model.inputs and not self._constant(number):
                self._graph.fail(f"{self._name(number)} is an output of the model, but one that nothing writes")

    def _name(self, number: int) -> str:
        return f"tensor {number} {quoted(self._model.tensors[number].name)}"

    def _writer(self, number: int) -> str:
        index = self._writers[number]
        return f"operator {index} {self._model.operators[index].kind}"

    def _constant(self, number: int) -> bool:
        return self._model.tensors[number].data is not None

    def _in_range(self, table: Table, what: str, number: int) -> None:
        if not 0 <= number < len(self._model.tensors):
            table.damaged(f"{what} tensor {number}, the graph has {len(self._model.tensors)} tensors")

    def _check_list(self, what: str, numbers: Sequence[int]) -> None:
        if not numbers:
            self._graph.fail(f"the model has no {what}s")
        for position, number in enumerate(numbers):
            self._in_range(self._graph, f"{what} {position} of the model is", number)
        if len(set(numbers)) != len(numbers):
            twice = next(number for position, number in enumerate(numbers) if number in numbers[:position])
            self._graph.fail(f"{self._name(twice)} is listed twice among the {what}s of the model")

    def _check_operator(self, operator: Operator, table: Table) -> None:
        for number in operator.outputs:
            if self._constant(number):
                table.fail(f"{table.what} writes the constant {self._name(number)}")
        for number in (number for number in operator.inputs if number != -1):
            self._in_range(table, f"{table.what} reads", number)
            if self._constant(number) or self._writers.get(number, operator.index) < operator.index:
                continue
            if number in self._writers:
                later = "itself" if self._writers[number] == operator.index else self._writer(number)
                table.fail(f"{table.what} reads {self._name(number)} before {later} writes it")
            # A compiled model gives its operator working memory; operators with a state have it in variables.
            apart = self._model.tensors[number].variable or operator.kind.startswith("CUSTOM:")
            if number not in self._model.inputs and not apart:
                table.fail(f"{table.what} reads {self._name(number)}, which nothing writes")
        for number in (number for number in operator.intermediates if number != -1):
            self._in_range(table, f"{table.what} has as an intermediate", number)


def read(path: Path, display: str = "", cut: Sequence[str] = ()) -> Model:
    """Read a .tflite file; ``display``: the file as the user named it, by default the path; ``cut``: as of
    :func:`ended`. Whether the operators and types can be compiled is not asked here; a float model is read as well.
    Raises NeuralArtError: the file cannot be read, is no TensorFlow Lite model, is damaged, or has something that no
    compiler of this package handles: several graphs, dynamic shapes, sparse or string tensors.
    """
    shown = display or str(path)
    data = content(path, shown)
    return parse(ended(data, shown, cut) if cut else data, shown, path.stem)


def ended(data: bytes, display: str, names: Sequence[str]) -> bytes:
    """The bytes of a model that ends at tensors of these names, which become its outputs in this order. Nothing is
    moved: lists of the main graph get shorter in their place, or others are appended. Raises NeuralArtError: as
    :func:`~neuralart_reference.model.cut.chosen`, or the file is damaged.
    """
    _check_identifier(data, display)
    model = FlatBuffer(data, display).root("the model")
    graphs, listed = model.tables(2, "subgraphs", "subgraph"), model.vector(2, 4, "subgraphs")
    if not graphs or listed is None:
        return data
    graph, made = graphs[0], dict[str, list[int]]()
    tensors, operators = graph.tables(0, "tensors", "tensor"), graph.tables(3, "operators", "operator")
    ends = [(table.integers(1, "inputs"), table.integers(2, "outputs")) for table in operators]
    for number in (number for _, outputs in ends for number in outputs if 0 <= number < len(tensors)):
        made.setdefault(tensors[number].text(3, "name"), []).append(number)
    outputs = chosen(names, made, display)
    kept, used = needed(ends, outputs)
    changed, vector = bytearray(data), graph.vector(3, 4, "operators")
    assert vector is not None  # one of them has an output
    for at, position in enumerate(kept):
        place = vector[0] + 4 * at
        struct.pack_into("<I", changed, place, operators[position].offset - place)
    struct.pack_into("<I", changed, vector[0] - 4, len(kept))
    if all(ends[position][1] for position in kept):  # else one may run another graph, which begins a state
        struct.pack_into("<I", changed, listed[0] - 4, 1)
    inputs = [number for number in graph.integers(1, "inputs") if number in used]
    for slot, numbers in ((1, inputs), (2, outputs)):
        field = graph.place(slot, 4, "inputs or outputs")
        if field is not None:
            changed += bytes(-len(changed) % 4)
            struct.pack_into("<I", changed, field, len(changed) - field)
            changed += struct.pack(f"<I{len(numbers)}i", len(numbers), *numbers)
    return bytes(changed)


def content(path: Path, shown: str) -> bytes:
    """The bytes of a model's file, ``shown`` in messages. NeuralArtError: it cannot be read."""
    if path.is_dir():
        saved = "a TensorFlow SavedModel folder" if (path / "saved_model.pb").is_file() else "a folder"
        raise NeuralArtError(f"{saved}, not a .tflite file", where=shown)
    try:
        return read_bytes(path)
    except NeuralArtError as error:
        raise NeuralArtError(error.what, where=shown, hint=error.hint or nearest_file(path)) from error


def parse(data: bytes, display: str, stem: str) -> Model:
    """Read the bytes of a .tflite file; ``stem``: its name without folder and extension. Raises as :func:`read`."""
    _check_identifier(data, display)
    model = FlatBuffer(data, display).root("the model")
    version = model.integer(0, "version", "uint32")
    if version != VERSION:
        model.fail(f"schema version {version} of TensorFlow Lite, only version {VERSION} is read")
    graphs = model.tables(2, "subgraphs", "subgraph")
    further = graphs and any(read_code(code).kind == CALL_ONCE for code in model.tables(1, "operator_codes", "code"))
    if len(graphs) != 1 and not further:
        what = f"the model has {len(graphs)} graphs, only models with one are read"
        model.fail(what, "control flow makes several, convert the model without it")
    graph = graphs[0]
    graph.what = "the graph"
    buffers = Buffers(model)
    inputs, outputs = graph.integers(1, "inputs"), graph.integers(2, "outputs")
    codes = [read_code(table) for table in model.tables(1, "operator_codes", "operator code")]
    tables = graph.tables(3, "operators", "operator")
    operators = tuple(read_operator(table, index, codes) for index, table in enumerate(tables))
    listed = frozenset(inputs)
    used = listed.union(outputs, *(op.inputs for op in operators), *(op.outputs for op in operators))
    # What nothing uses may be of any kind: behind the end of a model that was cut it often is.
    inner = {number for op in operators for number in op.intermediates} - used
    tensors = tuple(
        read_tensor(table, index, buffers, is_input=index in listed)
        if index in used
        else _inner(table, index)
        if index in inner
        else Tensor(index, "", (), "")
        for index, table in enumerate(graph.tables(0, "tensors", "tensor"))
    )
    # As an interpreter that has just begun: the zero of int8 is its zero point, of other types the bytes are zero.
    states = {
        each.index: (each.quantization.zero_points[0] if each.dtype == "int8" and each.quantization else 0) & 0xFF
        for each in tensors
        if each.variable and each.data is None
    }
    found = Model(display, stem, tensors, operators, inputs, outputs, states)
    _Connections(graph, found, tables).check()

    def first_values(number: int) -> Model:
        if not 0 < number < len(graphs):
            model.damaged(f"graph {number} is asked for, the model has {len(graphs)}")
        tables = graphs[number].tables(0, "tensors", "tensor"), graphs[number].tables(3, "operators", "operator")
        tensors = tuple(read_tensor(table, index, buffers, is_input=False) for index, table in enumerate(tables[0]))
        operators = tuple(read_operator(table, index, codes) for index, table in enumerate(tables[1]))
        return Model(display, stem, tensors, operators, (), ())

    return with_variables(found, first_values)


def _check_identifier(data: bytes, display: str) -> None:
    if data[4:8] == IDENTIFIER:
        return
    if not data:
        raise NeuralArtError("the file is empty, not a TensorFlow Lite model", where=display)
    if len(data) < 8 and filekind.describe(data).startswith("no known"):
        what = f"the file has {len(data)} bytes, too few for a TensorFlow Lite model"
        raise NeuralArtError(what, where=display, hint="is the file truncated?")
    hint = f"a .tflite file has {IDENTIFIER.decode()} at byte 4"
    raise NeuralArtError(f"not a TensorFlow Lite model but {filekind.describe(data)}", where=display, hint=hint)
