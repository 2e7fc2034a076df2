"""Reads the file: checks it, fixes shapes, computes what is constant."""

from __future__ import annotations

import contextlib
import graphlib
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx
import onnx.version_converter
from onnx import helper
from onnx.reference import ReferenceEvaluator

from neuralart.errors import NeuralArtError
from neuralart_reference.model.cut import proposed
from neuralart_reference.model.refusal import refusal
from neuralart_reference.onnx.cutting import proposal
from neuralart_reference.onnx.halves import widen

Array = npt.NDArray[Any]
_OPSETS = range(11, 1 + onnx.defs.onnx_opset_version())
_CONVERTED = 13  # To which older ones are converted
_MOST = 1 << 24  # Elements of a value: more than the memory of any board here
_FEW = 4096  # Elements of a constant that a shape may depend on
_INPUTS = ("FLOAT", "INT8", "UINT8", "INT16", "INT32", "INT64", "BOOL")
_LINEAR = ("QuantizeLinear", "DequantizeLinear")
_OPERATOR_FORM = ("QLinear", "QGemm")


class Unfit(Exception):
    """Why one operator cannot be compiled, in a few words."""


class Scale(NamedTuple):
    """How stored integers mean real values: scales (exactly float32), zero points, the dimension of several scales.
    Unsigned bytes are given as signed ones, 128 less.
    """

    scales: tuple[float, ...]
    points: tuple[int, ...]
    axis: int = 0

    def real(self, stored: Array) -> Array:
        """The float32 that DequantizeLinear makes of stored values."""
        shape = [-1 if axis == self.axis else 1 for axis in range(stored.ndim)] if len(self.scales) > 1 else []
        points, scales = np.reshape(self.points, shape), np.reshape(np.array(self.scales, np.float32), shape)
        return np.asarray((stored.astype(np.int64) - points).astype(np.float32) * scales)

    def stored(self, real: Array) -> Array:
        """The int8 that QuantizeLinear makes of real values: halves to even, saturated. For one scale."""
        steps = np.rint(np.nan_to_num(real.astype(np.float32), nan=-1e38) / np.float32(self.scales[0]))
        return np.asarray(np.clip(steps + self.points[0], -128, 127).astype(np.int8))


@dataclass
class Node:
    """An operator: its inputs and outputs by the names of values, empty where one is absent."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    affine: tuple[Any, Any] = (1.0, 0.0)  # What each output channel is multiplied with, and what is added to it then

    def input(self, position: int) -> str:
        """The name of an input; empty when it is absent."""
        return self.inputs[position] if position < len(self.inputs) else ""

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)

    def factors(self, gain: Array, offset: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Of a BatchNormalization: what it multiplies each channel by, and what it adds then."""
        gain = gain / np.sqrt(variance + self.get("epsilon", 1e-5))
        return gain, offset - mean * gain


@dataclass
class OnnxGraph:
    """A graph of plain operators with known shapes."""

    path: str  # As messages name it
    opset: int
    inputs: list[str]
    outputs: list[str]
    nodes: list[Node] = field(default_factory=list)
    types: dict[str, Any] = field(default_factory=dict)  # ONNX's types of all values, constants too
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # Of values that are computed
    constants: dict[str, Array] = field(default_factory=dict)
    # What QuantizeLinear and DequantizeLinear said: scales of values, stored constants, names of one value
    scales: dict[str, Scale] = field(default_factory=dict)
    stored: dict[str, tuple[Array, Scale]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    wide: dict[str, Scale] = field(default_factory=dict)  # Of values in float32 that are rounded to 16 bits
    # What cannot be compiled: (operator, why) -> outputs of such operators, and all values behind them
    problems: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    spoiled: set[str] = field(default_factory=set)

    def dtype(self, name: str) -> str:
        """The type of a value, as NumPy calls it."""
        found = self.types[name].tensor_type.elem_type if name in self.types else onnx.TensorProto.FLOAT
        return np.dtype(helper.tensor_dtype_to_np_dtype(found)).name

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value, constant or not."""
        if name in self.shapes:
            return self.shapes[name]
        return tuple(np.shape(self.stored[name][0] if name in self.stored else self.constants[name]))

    def fix(self, name: str, value: Array) -> None:
        """Add a constant."""
        dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.constants[name], self.types[name] = value, helper.make_tensor_type_proto(dtype, value.shape)

    def problem(self, node: Node, why: str) -> None:
        """Note an operator that cannot be compiled."""
        self.problems.setdefault((node.kind, why), []).append(f"'{node.outputs[0]}'")
        self.spoiled.update(node.outputs)

    def skipped(self, node: Node, known: Container[str]) -> bool:
        """Leave out a node of an unknown kind, which is noted, or one that reads what is spoiled."""
        if node.kind not in known:
            self.problem(node, "not supported")
        elif not self.spoiled.isdisjoint(filter(None, node.inputs)):
            self.spoiled.update(node.outputs)
        return node.outputs[0] in self.spoiled

    def check(self, data: bytes) -> None:
        """Raise one NeuralArtError with all that was noted, the most frequent first; ``data``: of the model."""
        if self.problems:
            names = proposal(data, {name[1:-1] for each in self.problems.values() for name in each})
            raise refusal(self.problems, self.path, proposed(names))


def load(data: bytes, display: str, known: Container[str], plain: Callable[[OnnxGraph, Node], list[Node]]) -> OnnxGraph:
    """Read the bytes of an .onnx file; operators that cannot be compiled are noted in the graph.

    ``plain`` gives the nodes of the form QDQ for one of any form.

    Raises NeuralArtError: the file is no ONNX model or damaged, its opset or shapes are not supported, or it is not
    quantized.
    """
    try:
        model = onnx.ModelProto.FromString(data)
        if any(each.domain in ("", "ai.onnx") and 7 <= each.version < _OPSETS[0] for each in model.opset_import):
            model = onnx.version_converter.convert_version(model, _CONVERTED)
        what, hint = _refused(model)
        if not what:
            _drop(model.graph)
            _sort(model.graph)
            what = _unmade(model.graph)
        if not what:
            widen(model.graph)
            for value in model.graph.output:
                value.type.tensor_type.shape.SetInParent()  # The checker wants one; it is computed.
            onnx.checker.check_model(model)
        given = [] if what else model.graph.initializer
        constants = {each.name: onnx.numpy_helper.to_array(each) for each in given}
    except Exception as error:  # of protobuf, of the checker, of text that is no UTF-8: the package has many
        said = " ".join(str(error).split("==>")[0].split())
        raise NeuralArtError(f"not an ONNX model, or damaged: {said}", where=display) from error
    if what:
        raise NeuralArtError(what, where=display, hint=hint)
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), _OPSETS[-1])
    graph = OnnxGraph(display, opset, [], [each.name for each in model.graph.output])
    for name, constant in constants.items():
        graph.fix(name, constant)
    for value in model.graph.input:
        if value.name not in graph.constants:
            graph.inputs.append(value.name)
            graph.types[value.name], graph.shapes[value.name] = value.type, _input_shape(value, display)
    for proto in model.graph.node:
        node = Node(proto.op_type, list(proto.input), list(proto.output))
        try:
            pairs = ((each.name, helper.get_attribute_value(each)) for each in proto.attribute)
            node.attributes = {key: value.decode() if isinstance(value, bytes) else value for key, value in pairs}
            if proto.domain not in ("", "ai.onnx", "com.microsoft" if _quantized(node.kind) else ""):
                raise Unfit(f"of domain {proto.domain}")
            if node.kind.startswith("Random") or onnx.GraphProto in map(type, node.attributes.values()):
                raise Unfit("random, or with a graph of its own")
            for each in plain(graph, node):
                take(graph, each, known)
        except (Unfit, ValueError) as problem:
            graph.problem(node, str(problem))
    return graph


def _drop(graph: Any) -> None:
    """Leave out nodes that no output needs: exporters leave some behind, with inputs that are nowhere."""
    makers = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    wanted, kept = [each.name for each in graph.output], set[int]()
    while wanted:
        if (at := makers.get(wanted.pop(), -1)) >= 0 and at not in kept:
            kept.add(at)
            wanted += [*graph.node[at].input, *_free(graph.node[at])]
    for at in sorted({*range(len(graph.node))} - kept, reverse=True):
        del graph.node[at]


def _free(node: Any) -> list[str]:
    """What the graphs inside of a node read."""
    inner = [each for attribute in node.attribute if attribute.HasField("g") for each in attribute.g.node]
    return [name for each in inner for name in (*each.input, *_free(each))]


def _unmade(graph: Any) -> str:
    """What is wrong with values that nodes read, if anything."""
    made = {each.name for each in (*graph.input, *graph.initializer)}
    made |= {each.values.name for each in graph.sparse_initializer}
    made |= {name for node in graph.node for name in node.output}
    lacking = sorted({name for node in graph.node for name in node.input if name} - made)
    more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
    names = f"{', '.join(map(repr, lacking[:3]))}{more}"
    return f"damaged: its nodes read {names}, which nothing computes" if lacking else ""


def _sort(graph: Any) -> None:
    """Put nodes behind what they read, as the format wants them; a graph with a circle stays as it is."""
    writer = {name: at for at, node in enumerate(graph.node) for name in node.output if name}
    needs = {at: {writer[name] for name in node.input if name in writer} for at, node in enumerate(graph.node)}
    if all(each < at for at, before in needs.items() for each in before):
        return
    with contextlib.suppress(graphlib.CycleError):
        order = [*graphlib.TopologicalSorter(needs).static_order()]
        nodes = [*graph.node]
        del graph.node[:]
        graph.node.extend(nodes[at] for at in order)


def _quantized(kind: str) -> bool:
    return kind in _LINEAR or kind.startswith(_OPERATOR_FORM)


def _refused(model: Any) -> tuple[str, str]:
    kinds = {node.op_type for node in model.graph.node}
    if not kinds:
        return "not an ONNX model, or one without operators", ""
    for each in model.opset_import:
        if each.domain in ("", "ai.onnx") and each.version not in _OPSETS:
            hint = f"{_OPSETS[0]} to {_OPSETS[-1]} are read: onnx.version_converter.convert_version(model, 17)"
            return f"opset {each.version} is not supported", hint
    if any(each.data_location == onnx.TensorProto.EXTERNAL for each in model.graph.initializer):
        return "its constants are in a file of another folder", "make it one file: onnx.save(onnx.load(FILE), NEW)"
    return "", ""


def _input_shape(value: Any, display: str) -> tuple[int, ...]:
    # A batch that is open is 1, as everywhere.
    dims = [
        int(dim.dim_value) if dim.HasField("dim_value") else int(axis == 0)
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
    ]
    tensor = value.type.tensor_type
    if (
        not tensor.HasField("shape")
        or not 0 < prod(dims) <= _MOST
        or _type_name(tensor.elem_type).upper() not in _INPUTS
    ):
        known = _type_name(tensor.elem_type).upper() in _INPUTS
        what, hint = f"input '{value.name}' is of type {_type_name(tensor.elem_type)}", "export it in float32"
        if known:
            what = f"input '{value.name}' has open or too large sizes {dims}"
            sizes = "x".join(str(size or "N") for size in dims)
            hint = f"give them: --input-shape {value.name}={sizes}, or input_shapes of the network"
        raise NeuralArtError(what, where=display, hint=hint)
    for axis, size in enumerate(dims):
        tensor.shape.dim[axis].dim_value = size
    return tuple(dims)


def _type_name(number: int) -> str:
    known = onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(number)).lower() if number in known else f"number {number}"


def take(graph: OnnxGraph, node: Node, known: Container[str]) -> None:
    """Add a node with the shapes of its outputs, or what it computes if that is constant. Unfit: neither works."""
    constant = all(name in graph.constants for name in node.inputs if name)
    if node.kind == "Shape" and node.inputs[0] in graph.shapes:
        shape = graph.shapes[node.inputs[0]]
        graph.fix(node.outputs[0], np.array(shape[node.get("start", 0) : node.get("end", len(shape))], np.int64))
        return
    if not constant and graph.skipped(node, (node.kind,) if node.kind in _LINEAR else known):
        return
    names = {name for name in node.inputs if name}
    few = {name for name in names & graph.constants.keys() if graph.constants[name].size <= _FEW}
    data = {name: onnx.numpy_helper.from_array(graph.constants[name], name) for name in few}
    try:
        schema = onnx.defs.get_schema(node.kind, graph.opset, "")
        # Of the form QOperator, scales have a dimension before opset 13 too.
        attributes = {} if node.kind == "DequantizeLinear" else node.attributes
        proto = helper.make_node(node.kind, node.inputs, node.outputs, **attributes)
        types, opsets = {name: graph.types[name] for name in names}, [helper.make_opsetid("", graph.opset)]
        found = onnx.shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=opsets)
        shapes = {n: tuple(int(d.dim_value) for d in found[n].tensor_type.shape.dim) for n in node.outputs if n}
    except Exception as error:  # the kind is unknown, or whatever a wrong attribute makes the package say
        raise Unfit(" ".join(str(error).split())[:100]) from error
    if not constant and not all(prod(shape) > 0 for shape in shapes.values()):
        raise Unfit("its size is unknown, or nothing")
    if any(prod(shape) > _MOST for shape in shapes.values()):
        raise Unfit("its output is too large")
    if constant and node.kind != "DequantizeLinear":
        values = run(graph, node, [graph.constants.get(name) for name in node.inputs])
        for name, value in zip(node.outputs, values, strict=True):
            graph.fix(name, value)
        return
    graph.types.update({name: found[name] for name in shapes})
    graph.shapes.update(shapes)
    graph.nodes.append(node)


def run(graph: OnnxGraph, node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """The outputs of a node for these inputs. Unfit: it cannot be computed."""
    fed = {f"i{position}": value for position, value in enumerate(inputs) if value is not None}
    names = [f"i{position}" if f"i{position}" in fed else "" for position in range(len(inputs))]
    proto = helper.make_node(node.kind, names, node.outputs, **node.attributes)
    given, made = ([helper.make_tensor_value_info(n, 0, None) for n in each if n] for each in (fed, node.outputs))
    body = helper.make_graph([proto], "node", given, made)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", graph.opset)])
    try:
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, fed)]
    except Exception as error:  # whatever wrong values make NumPy raise
        raise Unfit(f"cannot be computed: {' '.join(str(error).split())[:100]}") from error
