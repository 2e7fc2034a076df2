"""Reads TensorFlow Lite models."""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.model import filekind
from neuralart.model.flatbuffer import FlatBuffer
from neuralart.model.graph import Model
from neuralart.model.tflite_operators import Connections, read_code, read_operator
from neuralart.model.tflite_schema import IDENTIFIER, VERSION
from neuralart.model.tflite_tensors import Buffers, read_tensor


def read(path: Path, display: str = "") -> Model:
    """Read a .tflite file.

    Whether the operators and types can be compiled is not asked here; a float model is read as well.

    Args:
        path: The file.
        display: The file as the user named it, for messages; by default the path.

    Returns:
        The model.

    Raises:
        NeuralArtError: The file cannot be read, is no TensorFlow Lite model, is damaged, or has something that no
            compiler of this package handles: several graphs, dynamic shapes, sparse, variable or string tensors.
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
    """Read the bytes of a .tflite file.

    Args:
        data: The file.
        display: Its name in messages.
        stem: Its name without folder and extension.

    Returns:
        The model.

    Raises:
        NeuralArtError: As :func:`read`.
    """
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
