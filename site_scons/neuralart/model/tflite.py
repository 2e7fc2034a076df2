"""Reads TensorFlow Lite models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.model import filekind
from neuralart.model.flatbuffer import FlatBuffer, Table
from neuralart.model.graph import Model, Operator, Tensor
from neuralart.model.tflite_schema import CUSTOM, IDENTIFIER, OPERATORS, OPTIONS_TABLES, VERSION, Field, OptionsTable
from neuralart.model.tflite_tensors import Buffers, quoted, read_tensor

# The operators of a TensorFlow Lite file and how they are connected -------------------------------------------------


@dataclass(frozen=True)
class OperatorCode:
    """An entry of the file's list of operators in use."""

    kind: str | None  # The operator's name; None when its number is unknown
    number: int  # Its number
    version: int  # Its version


def read_code(table: Table) -> OperatorCode:
    """One entry of the list of operators in use. Raises NeuralArtError: it is damaged."""
    # Old files have the first field alone; new ones put numbers over 126 only into the last. The larger counts.
    number = max(table.integer(0, "deprecated_builtin_code", "int8"), table.integer(3, "builtin_code"))
    version = table.integer(2, "version", default=1)
    if number == CUSTOM:
        # A name is any text: keep it on one line and short, it is going to be a part of messages.
        return OperatorCode(f"CUSTOM:{quoted(table.text(1, 'custom_code'))[1:-1]}", number, version)
    return OperatorCode(OPERATORS[number] if 0 <= number < len(OPERATORS) else None, number, version)


def read_operator(table: Table, index: int, codes: Sequence[OperatorCode]) -> Operator:
    """One operator; its table gets the name that messages use. Raises NeuralArtError: it is damaged, or of an unknown
    number.
    """
    position = table.integer(0, "opcode_index", "uint32")
    if position >= len(codes):
        table.fail(f"operator {index} is number {position} of {len(codes)} operator codes", "is the file damaged?")
    code = codes[position]
    if code.kind is None:
        table.fail(
            f"operator {index} has the unknown number {code.number}, known are 0 to {len(OPERATORS) - 1}",
            "is the file damaged, or written by a newer TensorFlow Lite?",
        )
    table.what = f"operator {index} {code.kind}"
    if code.version < 1:
        table.fail(f"{table.what} has version {code.version}", "is the file damaged?")
    return Operator(
        index=index,
        kind=code.kind,
        inputs=table.integers(1, "inputs"),
        outputs=table.integers(2, "outputs"),
        options=_options(table, code.kind),
        version=code.version,
    )


def _options(table: Table, kind: str) -> dict[str, Any]:
    described = OPTIONS_TABLES.get(kind)
    if described is None:
        return {}
    number = table.integer(3, "builtin_options_type", "uint8")
    options = table.table(4, described.name) if number else None
    if options is None:
        return described.defaults
    if number != described.number:
        table.fail(
            f"{table.what} has options of type {number}, {described.name} is {described.number}",
            "is the file damaged?",
        )
    return {field.name: _field(options, described, field) for field in described.fields}


def _field(options: Table, described: OptionsTable, field: Field) -> Any:
    if field.kind == "int32":
        return options.integer(field.slot, field.name, default=field.default)
    if field.kind == "bool":
        return options.flag(field.slot, field.name, field.default)
    if field.kind == "int32[]":
        return options.integers(field.slot, field.name)
    if field.kind == "float32":
        real = options.real(field.slot, field.name, field.default)
        if not math.isfinite(real):
            options.fail(f"{field.name} of {options.what} is {real:g}", "is the file damaged?")
        return real
    number = options.integer(field.slot, field.name, "int8")
    if not 0 <= number < len(field.names):
        options.fail(
            f"{field.name} of {options.what} is number {number}, known are 0 to {len(field.names) - 1}",
            "is the file damaged?",
        )
    return field.names[number]


class Connections:
    """Checks that every tensor is written before it is read, once, and by nobody else."""

    def __init__(self, graph: Table, tensors: Sequence[Tensor], inputs: Sequence[int], outputs: Sequence[int]) -> None:
        self._graph = graph
        self._tensors = tensors
        self._inputs = inputs
        self._outputs = outputs
        self._known = frozenset(inputs)

    def check(self, operators: Sequence[Operator], tables: Sequence[Table]) -> None:
        """Check everything; the tables are those of the operators, named. Raises NeuralArtError: something is connected
        wrongly.
        """
        writers: dict[int, int] = {}
        for operator, table in zip(operators, tables, strict=True):
            for number in operator.outputs:
                if not 0 <= number < len(self._tensors):
                    self._out_of_range(table, "writes", number)
                if number in writers:
                    table.fail(f"{table.what} writes {self._name(number)}, {self._by(operators, writers[number])} too")
                writers[number] = operator.index
        self._check_inputs(operators, writers)
        for operator, table in zip(operators, tables, strict=True):
            self._check_operator(operator, table, operators, writers)
        self._check_outputs(writers)

    def _name(self, number: int) -> str:
        return f"tensor {number} {quoted(self._tensors[number].name)}"

    def _by(self, operators: Sequence[Operator], index: int) -> str:
        return f"operator {index} {operators[index].kind}"

    def _out_of_range(self, table: Table, verb: str, number: int) -> NoReturn:
        table.fail(
            f"{table.what} {verb} tensor {number}, the graph has {len(self._tensors)} tensors", "is the file damaged?"
        )

    def _check_list(self, what: str, numbers: Sequence[int]) -> None:
        if not numbers:
            self._graph.fail(f"the model has no {what}s")
        for position, number in enumerate(numbers):
            if not 0 <= number < len(self._tensors):
                self._graph.fail(
                    f"{what} {position} of the model is tensor {number}, the graph has {len(self._tensors)} tensors",
                    "is the file damaged?",
                )
        if len(set(numbers)) != len(numbers):
            twice = next(number for position, number in enumerate(numbers) if number in numbers[:position])
            self._graph.fail(f"{self._name(twice)} is listed twice among the {what}s of the model")

    def _check_inputs(self, operators: Sequence[Operator], writers: dict[int, int]) -> None:
        self._check_list("input", self._inputs)
        for number in self._inputs:
            if self._tensors[number].data is not None:
                self._graph.fail(f"{self._name(number)} is an input of the model and a constant")
            if number in writers:
                self._graph.fail(
                    f"{self._name(number)} is an input of the model, {self._by(operators, writers[number])} writes it"
                )

    def _check_operator(
        self, operator: Operator, table: Table, operators: Sequence[Operator], writers: dict[int, int]
    ) -> None:
        for number in operator.outputs:
            if self._tensors[number].data is not None:
                table.fail(f"{table.what} writes the constant {self._name(number)}")
        for number in operator.inputs:
            if number == -1:
                continue
            if not 0 <= number < len(self._tensors):
                self._out_of_range(table, "reads", number)
            if self._tensors[number].data is not None or writers.get(number, operator.index) < operator.index:
                continue
            if number in writers:
                later = "itself" if writers[number] == operator.index else self._by(operators, writers[number])
                table.fail(f"{table.what} reads {self._name(number)} before {later} writes it")
            if number not in self._known:
                table.fail(f"{table.what} reads {self._name(number)}, which nothing writes")

    def _check_outputs(self, writers: dict[int, int]) -> None:
        self._check_list("output", self._outputs)
        for number in self._outputs:
            if number in writers:
                continue
            why = "a constant" if self._tensors[number].data is not None else "one that nothing writes"
            why = "an input, too" if number in self._known else why
            self._graph.fail(f"{self._name(number)} is an output of the model, but {why}")


# ---------------------------------------------------------------------------------------------------------------------


def read(path: Path, display: str = "") -> Model:
    """Read a .tflite file; ``display``: the file as the user named it, by default the path. Whether the operators and
    types can be compiled is not asked here; a float model is read as well. Raises NeuralArtError: the file cannot be
    read, is no TensorFlow Lite model, is damaged, or has something that no compiler of this package handles: several
    graphs, dynamic shapes, sparse, variable or string tensors.
    """
    shown = display or str(path)
    if path.is_dir():
        saved = "a TensorFlow SavedModel folder" if (path / "saved_model.pb").is_file() else "a folder"
        raise NeuralArtError(f"{saved}, not a .tflite file", where=shown)
    try:
        data = read_bytes(path)
    except NeuralArtError as error:
        raise NeuralArtError(error.what, where=shown, hint=error.hint) from error
    onnx = filekind.refuse_onnx(path)
    if onnx is not None:
        raise NeuralArtError(onnx, where=shown, hint="convert the model to a quantized .tflite")
    return parse(data, shown, path.stem)


def parse(data: bytes, display: str, stem: str) -> Model:
    """Read the bytes of a .tflite file; ``stem``: its name without folder and extension. Raises as :func:`read`."""
    _check_identifier(data, display)
    model = FlatBuffer(data, display).root("the model")
    version = model.integer(0, "version", "uint32")
    if version != VERSION:
        model.fail(f"schema version {version} of TensorFlow Lite, only version {VERSION} is read")
    graphs = model.tables(2, "subgraphs", "subgraph")
    if len(graphs) != 1:
        model.fail(
            f"the model has {len(graphs)} graphs, only models with one are read",
            "control flow and variables make several, convert the model without them",
        )
    graph = graphs[0]
    graph.what = "the graph"
    buffers = Buffers(model)
    inputs, outputs = graph.integers(1, "inputs"), graph.integers(2, "outputs")
    listed = frozenset(inputs)
    tensors = tuple(
        read_tensor(table, index, buffers, is_input=index in listed)
        for index, table in enumerate(graph.tables(0, "tensors", "tensor"))
    )
    codes = [read_code(table) for table in model.tables(1, "operator_codes", "operator code")]
    tables = graph.tables(3, "operators", "operator")
    operators = tuple(read_operator(table, index, codes) for index, table in enumerate(tables))
    if not operators:
        graph.fail("the model has no operators")
    Connections(graph, tensors, inputs, outputs).check(operators, tables)
    return Model(path=display, stem=stem, tensors=tensors, operators=operators, inputs=inputs, outputs=outputs)


def _check_identifier(data: bytes, display: str) -> None:
    if data[4:8] == IDENTIFIER:
        return
    if not data:
        raise NeuralArtError("the file is empty, not a TensorFlow Lite model", where=display)
    if len(data) < 8 and filekind.describe(data).startswith("no known"):
        raise NeuralArtError(
            f"the file has {len(data)} bytes, too few for a TensorFlow Lite model",
            where=display,
            hint="is the file truncated?",
        )
    raise NeuralArtError(
        f"not a TensorFlow Lite model but {filekind.describe(data)}",
        where=display,
        hint=f"a .tflite file has {IDENTIFIER.decode()} at byte 4",
    )
