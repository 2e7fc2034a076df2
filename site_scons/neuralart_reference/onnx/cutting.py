"""Ends an ONNX model at values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx
import onnx.external_data_helper
from onnx import helper

from neuralart.errors import NeuralArtError, similar
from neuralart.network.model_parts import external
from neuralart_reference.model import cut


def ended(data: bytes, display: str, names: Sequence[str]) -> bytes:
    """The bytes of a model that ends at values of these names, which become its outputs in this order. A QuantizeLinear
    of such a value stays, because it alone tells the scale. Raises NeuralArtError: as
    :func:`~neuralart_reference.model.cut.chosen`.
    """
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf: the reader says what is wrong
        return data
    graph = model.graph
    ends = [([*node.input], [*node.output]) for node in graph.node]
    outputs = cut.chosen(names, {name: [name] for _, made in ends for name in made if name}, display)
    scales = [node.output[0] for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] in outputs]
    kept, used = cut.needed(ends, [*outputs, *scales])
    for at in sorted({*range(len(ends))} - {*kept}, reverse=True):
        del graph.node[at]
    for value in [each for each in graph.input if each.name not in used]:
        graph.input.remove(value)
    del graph.output[:]
    # Types and shapes are computed when the model is read.
    graph.output.extend(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, []) for name in outputs)
    return bytes(model.SerializeToString())


def whole(data: bytes, display: str, folder: Path) -> bytes:
    """The bytes of a model with the constants that lie in files of its folder. NeuralArtError: one cannot be read."""
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf: the reader says what is wrong
        return data
    hint = "put the file beside it, or make it one file: onnx.save(onnx.load(FILE), NEW)"
    if missing := [name for name in external(data) if not (folder / name).is_file()]:
        raise NeuralArtError(f"its constants are in {', '.join(missing)}, which is missing", where=display, hint=hint)
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(folder))
    except Exception as error:  # of files that are too short, or links: the package has many
        what = f"its constants cannot be read from {', '.join(external(data))}"
        raise NeuralArtError(what, where=display, hint="it is cut off, or belongs to another model") from error
    return bytes(model.SerializeToString())


def shaped(data: bytes, display: str, shapes: Mapping[str, Sequence[int]]) -> bytes:
    """The bytes of a model whose inputs have these shapes; what was computed for other sizes is forgotten. Raises
    NeuralArtError: there is no input of a name, or a shape contradicts the sizes that it has.
    """
    try:
        model = onnx.ModelProto.FromString(data)
    except Exception:  # of protobuf: the reader says what is wrong
        return data
    inputs = {value.name: value.type.tensor_type.shape for value in model.graph.input}
    for name, shape in shapes.items():
        if name not in inputs:
            raise NeuralArtError(f"input_shapes: no input '{name}'", where=display, hint=similar(name, inputs, 3, 0.4))
        had = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in inputs[name].dim]
        if len(had) != len(shape) or any(old not in (0, new) for old, new in zip(had, shape, strict=True)):
            what = f"input_shapes: '{name}' has {had or 'no dimensions'} (0: open), not {list(shape)}"
            raise NeuralArtError(what, where=display, hint="one size for each dimension, the fixed ones as they are")
        for dim, size in zip(inputs[name].dim, shape, strict=True):
            dim.dim_value = size
    del model.graph.value_info[:]
    for value in model.graph.output:
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_param = "open"
    return bytes(model.SerializeToString())


def proposal(data: bytes, refused: set[str]) -> list[str]:
    """Names of the values where a model could end to be without the operators that compute ``refused``, or none."""
    graph = onnx.ModelProto.FromString(data).graph
    ends = [([*node.input], [name for name in node.output if name]) for node in graph.node]
    computed = {each.name for each in graph.input} - {each.name for each in graph.initializer}
    for inputs, outputs in ends:
        computed.update(() if computed.isdisjoint(inputs) else outputs)
    found = cut.frontier(ends, [each.name for each in graph.output], refused)
    return [name for name in found if name in computed]
