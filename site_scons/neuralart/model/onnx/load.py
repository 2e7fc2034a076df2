"""Reads the file: checks it, fixes shapes, computes what is constant, takes QLinear operators apart."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from neuralart.errors import NeuralArtError
from neuralart.model.onnx.graph import Array, Graph, Node, Problem

_OPSETS = range(11, 22)
_MOST = 1 << 26  # Elements of a computed constant
_FEW = 4096  # Elements of a constant that a shape may depend on
_MOST_BYTES = 2**31 - 1
_LINEAR = ("QuantizeLinear", "DequantizeLinear")
_DYNAMIC = {"DynamicQuantizeLinear", "MatMulInteger", "ConvInteger"}
_HOW = "quantize it with calibration data: onnxruntime.quantization.quantize_static(..., quant_format=QuantFormat.QDQ)"
# Float operator; where its quantized inputs begin (value, scale, zero point); its bias; the scale of its output
_QLINEAR: dict[str, tuple[str, tuple[int, ...], int, int]] = {
    "QLinearConv": ("Conv", (0, 3), 8, 6),
    "QLinearMatMul": ("MatMul", (0, 3), 0, 6),
    "QGemm": ("Gemm", (0, 3), 6, 7),
    "QLinearAdd": ("Add", (0, 3), 0, 6),
    "QLinearMul": ("Mul", (0, 3), 0, 6),
    "QLinearConcat": ("Concat", (), 0, 0),
    **{f"QLinear{k}": (k, (0,), 0, 3) for k in ("Sigmoid", "LeakyRelu", "Softmax", "AveragePool", "GlobalAveragePool")},
}


def load(data: bytes, display: str, known: Container[str]) -> Graph:
    """Read the bytes of an .onnx file; operators that cannot be compiled are noted in the graph.

    Raises NeuralArtError: the file is no ONNX model or damaged, its opset or shapes are not supported, or it is not
    quantized.
    """
    import onnx

    model = _checked(data, display)
    opset = next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 0)
    if opset not in _OPSETS:
        hint = f"{_OPSETS[0]} to {_OPSETS[-1]} are read: onnx.version_converter.convert_version(model, 17)"
        raise NeuralArtError(f"opset {opset} is not supported", where=display, hint=hint)
    kinds = {node.op_type for node in model.graph.node}
    if found := sorted(kinds & _DYNAMIC):
        what = f"a dynamically quantized ONNX model ({', '.join(found)}): its scales are computed while it runs"
        raise NeuralArtError(what, where=display, hint=_HOW)
    if kinds.isdisjoint((*_QLINEAR, *_LINEAR)):
        raise NeuralArtError("a float ONNX model, with no QuantizeLinear in it", where=display, hint=_HOW)
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    graph = Graph(display, opset, [], [each.name for each in model.graph.output], constants=constants)
    for value in model.graph.input:
        if value.name not in constants:
            graph.inputs.append(value.name)
            graph.shapes[value.name], graph.dtypes[value.name] = _input(value, f"{display}: input '{value.name}'")
    for proto in model.graph.node:
        pairs = ((each.name, onnx.helper.get_attribute_value(each)) for each in proto.attribute)
        attributes = {key: value.decode() if isinstance(value, bytes) else value for key, value in pairs}
        node = Node(proto.op_type, list(proto.input), list(proto.output), attributes)
        try:
            for plain in _plain(graph, node, proto.domain):
                _take(graph, plain, known)
        except Problem as problem:
            graph.problem(node, str(problem))
    return graph


def _checked(data: bytes, display: str) -> Any:
    import onnx

    try:
        model = onnx.ModelProto.FromString(data)
        onnx.checker.check_model(model)
    except Exception as error:  # of protobuf, of the checker, of text that is no UTF-8: the package has many
        said = " ".join(str(error).split(" ==>")[0].split())
        raise NeuralArtError(f"not an ONNX model, or damaged: {said}", where=display) from error
    outside = [each.name for each in model.graph.initializer if each.data_location == onnx.TensorProto.EXTERNAL]
    if outside or model.functions or model.graph.sparse_initializer:
        what = f"'{outside[0]}' has its data in another file" if outside else "functions or sparse constants are in it"
        hint = "make one plain file: onnx.save(onnx.inliner.inline_local_functions(onnx.load(FILE)), NEW)"
        raise NeuralArtError(what, where=display, hint=hint)
    return model


def _dtype(number: int) -> str:
    import onnx

    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name


def _input(value: Any, where: str) -> tuple[tuple[int, ...], str]:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        raise NeuralArtError("is no tensor with a known number of dimensions", where=where)
    shape = []
    for axis, dim in enumerate(tensor.shape.dim):
        # A batch that is open is 1, as everywhere.
        shape.append(int(dim.dim_value) if dim.HasField("dim_value") else int(axis == 0))
        if shape[-1] < 1:
            hint = "export it with fixed sizes, or: python -m onnxruntime.tools.make_dynamic_shape_fixed"
            raise NeuralArtError(f"dimension {axis} ({dim.dim_param or shape[-1]}) is open", where=where, hint=hint)
    if prod(shape) > _MOST_BYTES:
        raise NeuralArtError(f"has {prod(shape)} elements, the most is {_MOST_BYTES}", where=where)
    return tuple(shape), _dtype(tensor.elem_type)


def _plain(graph: Graph, node: Node, domain: str) -> Iterator[Node]:
    """The node; one on quantized values as a float operator between DequantizeLinear and QuantizeLinear."""
    if node.kind not in _QLINEAR:
        if domain not in ("", "ai.onnx") and (domain != "com.microsoft" or node.kind not in (*_LINEAR, "Gelu")):
            raise Problem(f"of domain {domain}")
        yield node
        return
    kind, starts, bias, output = _QLINEAR[node.kind]
    if node.get("channels_last", 0) or (node.get("alpha", 1.0) != 1.0 and kind == "Gemm"):
        raise Problem("with channels_last or alpha")
    reals = []
    for start in starts or range(2, len(node.inputs), 3):
        real, given = f"{node.outputs[0]}/{start}", node.inputs[start : start + 3]
        shape = np.shape(graph.constants.get(given[0], 0))
        axis = len(shape) - 1 if kind == "MatMul" or not (kind == "Conv" or node.get("transB", 0)) else 0
        yield Node("DequantizeLinear", given, [real], {"axis": axis})
        reals.append(real)
    if bias and node.input(bias):
        scales = [graph.constants.get(node.inputs[at]) for at in (1, 4)]
        if scales[0] is None or scales[1] is None:
            raise Problem("its scales are computed")
        real = f"{node.outputs[0]}/bias"
        graph.constants[f"{real}_scale"] = scales[0].reshape(()) * np.squeeze(scales[1])
        yield Node("DequantizeLinear", [node.inputs[bias], f"{real}_scale"], [real], {"axis": 0})
        reals.append(real)
    kept = {key: value for key, value in node.attributes.items() if key not in ("channels_last", "opset")}
    yield Node(kind, reals, [f"{node.outputs[0]}/real"], kept)
    yield Node("QuantizeLinear", [f"{node.outputs[0]}/real", *node.inputs[output : output + 2]], node.outputs)


def _take(graph: Graph, node: Node, known: Container[str]) -> None:
    """Add a node with the shapes of its outputs, or what it computes if that is constant. Problem: neither works."""
    constant = all(name in graph.constants for name in node.inputs if name)
    if node.kind == "Shape" and node.inputs[0] in graph.shapes:
        shape = graph.shapes[node.inputs[0]]
        graph.constants[node.outputs[0]] = np.array(shape[node.get("start", 0) : node.get("end", len(shape))], np.int64)
        return
    if not constant and graph.skipped(node, (node.kind,) if node.kind in _LINEAR else known):
        return
    shapes = _inferred(graph, node)
    if constant and node.kind != "DequantizeLinear":
        if any(prod(shape) > _MOST for shape, _ in shapes.values()):
            raise Problem("its constant is too large")
        values = run(graph, node, [graph.constants[name] if name else None for name in node.inputs])
        graph.constants.update(zip(node.outputs, values, strict=False))
        return
    for name, (shape, dtype) in shapes.items():
        if not 0 < prod(shape) <= _MOST_BYTES:
            raise Problem("its size is unknown, nothing or too large")
        graph.shapes[name], graph.dtypes[name] = shape, dtype
    graph.nodes.append(node)


def _inferred(graph: Graph, node: Node) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and type of each output, 0 for an unknown size."""
    import onnx

    types, data = {}, {}
    for name in filter(None, node.inputs):
        known = graph.constants.get(name)
        if known is not None and known.size <= _FEW:
            data[name] = onnx.numpy_helper.from_array(known, name)
        dtype = np.dtype(graph.dtypes[name]) if known is None else known.dtype
        shape = graph.shapes[name] if known is None else known.shape
        types[name] = onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(dtype), shape)
    opsets = [onnx.helper.make_opsetid("", graph.opset)]
    try:
        schema, proto = onnx.defs.get_schema(node.kind, graph.opset, ""), _proto(node)
        found = onnx.shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=opsets)
        tensors = {name: found[name].tensor_type for name in filter(None, node.outputs)}
        return {
            name: (
                tuple(int(dim.dim_value) for dim in each.shape.dim) if each.HasField("shape") else (0,),
                _dtype(each.elem_type),
            )
            for name, each in tensors.items()
        }
    except Exception as error:  # the kind is unknown, or whatever a wrong attribute makes the package say
        raise Problem(" ".join(str(error).split())[:100]) from error


def run(graph: Graph, node: Node, inputs: Sequence[Array | None]) -> list[Array]:
    """The outputs of a node for these inputs. Problem: it cannot be computed."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    names = [f"i{position}" if value is not None else "" for position, value in enumerate(inputs)]
    proto = _proto(Node(node.kind, names, node.outputs, node.attributes))
    given, made = ([onnx.helper.make_tensor_value_info(n, 0, None) for n in e if n] for e in (names, node.outputs))
    model = onnx.helper.make_model(
        onnx.helper.make_graph([proto], "node", given, made), opset_imports=[onnx.helper.make_opsetid("", graph.opset)]
    )
    try:
        with np.errstate(all="ignore"):
            found = ReferenceEvaluator(model).run(None, {n: v for n, v in zip(names, inputs, strict=True) if n})
    except Exception as error:  # whatever wrong values make NumPy raise
        raise Problem(f"cannot be computed: {' '.join(str(error).split())[:100]}") from error
    results = iter(found)
    return [np.asarray(next(results)) if name else np.zeros(0) for name in node.outputs]


def _proto(node: Node) -> Any:
    import onnx

    return onnx.helper.make_node(node.kind, node.inputs, node.outputs, **node.attributes)
