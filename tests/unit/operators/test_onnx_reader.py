"""ONNX models: what they become, and what is refused with which words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_insight.inspect import cli as inspector
from neuralart_reference.model import reader
from neuralart_reference.model.graph import Model
from support.cases.onnx_small import SMALL
from support.servers.messages import one_message

onnx = pytest.importorskip("onnx")
from onnx import helper, numpy_helper  # noqa: E402

from neuralart_reference import onnx_reader  # noqa: E402
from neuralart_reference.onnx.builder import Builder, Held  # noqa: E402
from neuralart_reference.onnx.load import OnnxGraph, Unfit  # noqa: E402
from neuralart_reference.onnx.windows import on_grid  # noqa: E402
from support.cases.onnx_draws import Drawn, Writer  # noqa: E402
from support.models.onnx_twins import twin  # noqa: E402

ROOT = Path(__file__).parents[3]


def parsed(data: bytes, folder: Path, **asked: str) -> Model:
    path = folder / "net.onnx"
    path.write_bytes(data)
    names = ("input_dtypes", "output_dtypes", "inputs", "outputs")
    return reader.read(path, "net.onnx", [(asked[name],) if name in asked else () for name in names])


def edited(change: Callable[[onnx.ModelProto], object]) -> bytes:
    model = onnx.ModelProto.FromString(SMALL)
    change(model)
    return bytes(model.SerializeToString())


def kinds(model: Model) -> list[str]:
    return [op.kind for op in model.operators]


def test_mobilenet_has_the_operators_of_its_tflite(tmp_path: Path) -> None:
    """Batch normalization, padding and activations included; one move at the input, none between convolutions."""
    path = ROOT / "models" / "mobilenet" / "mobilenet.tflite"
    wanted = Counter(kinds(reader.read(path)))
    found = Counter(kinds(parsed(twin(path), tmp_path)))
    assert found.pop("PADV2") == wanted.pop("PAD") and found.pop("MOVE") == 2  # the flattening is a MOVE, which is free
    assert found == wanted
    assert "MOVE" not in kinds(parsed(twin(path), tmp_path, inputs="chlast"))[:-3]


def test_ends_as_asked_for(tmp_path: Path) -> None:
    model = parsed(SMALL, tmp_path)
    assert kinds(model) == ["QUANTIZE", "MOVE", "CONV_2D", "MOVE", "DEQUANTIZE"]
    ends = [model.tensors[number] for number in (*model.inputs, *model.outputs)]
    assert [(end.name, end.dtype, end.shape) for end in ends] == [
        ("x", "float32", (1, 2, 4, 4)),
        ("y", "float32", (1, 2, 3, 3)),
    ]
    both = {"inputs": "chlast", "outputs": "chlast", "input_dtypes": "uint8", "output_dtypes": "int8"}
    model = parsed(SMALL, tmp_path, **both)
    assert kinds(model) == ["CONV_2D"]
    ends = [model.tensors[number] for number in (*model.inputs, *model.outputs)]
    # uint8 is made of int8 by the compiler, whatever the model's format.
    assert [(end.name, end.dtype, end.shape) for end in ends] == [
        ("x", "int8", (1, 4, 4, 2)),
        ("y", "int8", (1, 3, 3, 2)),
    ]
    assert ends[0].quantization == ends[1].quantization and ends[0].quantization.zero_points == (-3,)


def _node(kind: str, *inputs: str, output: str = "c2", **attributes: object) -> Callable[[onnx.ModelProto], None]:
    """A node between the convolution and its quantization."""

    def change(model: onnx.ModelProto) -> None:
        model.graph.node[4].input[0] = output
        model.graph.node.insert(4, helper.make_node(kind, ["c", *inputs], [output], **attributes))

    return change


def _constants(model: onnx.ModelProto) -> None:
    for name in "gbmv":
        value = np.array([0.5, 2.0] if name != "b" else [0.1, -0.1], np.float32)
        model.graph.initializer.append(numpy_helper.from_array(value, f"bn_{name}"))
    _node("BatchNormalization", "bn_g", "bn_b", "bn_m", "bn_v")(model)


def test_weights_in_float_become_the_bytes_they_were() -> None:
    rng = np.random.default_rng(5)
    for largest in (127, 128, 3, 1):
        stored = rng.integers(-largest, min(largest, 127) + 1, (6, 3, 2, 2)).astype(np.int8)
        stored[:, 0, 0, 0] = -largest
        stored[3] = 0
        steps = (10 ** rng.uniform(-5, 1, 6)).astype(np.float32)
        found, scale = on_grid(np.float32(stored * steps.reshape(-1, 1, 1, 1)))
        real = np.float32(found * np.float32(scale.scales).reshape(-1, 1, 1, 1))
        np.testing.assert_allclose(real, np.float32(stored * steps.reshape(-1, 1, 1, 1)), rtol=2e-6)
        assert set(scale.points) == {0} and scale.axis == 0


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        (np.random.default_rng(1).normal(size=(2, 3, 5, 5)), "no multiples of one step"),
        (np.full((1, 2, 2, 2), np.nan), "not finite"),
        (np.full((1, 2, 2, 2), np.inf), "not finite"),
    ],
)
def test_weights_in_float_that_are_no_bytes(weights: np.ndarray, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        on_grid(np.float32(weights))


def test_a_normalization_at_the_end_is_computed_in_float(tmp_path: Path) -> None:
    """Behind it is no QuantizeLinear: its result is an output in float32."""

    def change(model: onnx.ModelProto) -> None:
        for name in "gbmv":
            model.graph.initializer.append(numpy_helper.from_array(np.float32([0.5, 2.0]), f"bn_{name}"))
        model.graph.node[-1].output[0] = "last"
        model.graph.node.append(
            helper.make_node("BatchNormalization", ["last", *(f"bn_{name}" for name in "gbmv")], ["y"])
        )

    model = parsed(edited(change), tmp_path)
    assert kinds(model)[-4:] == ["DEQUANTIZE", "MUL", "ADD", "MOVE"]
    assert model.tensors[model.outputs[0]].dtype == "float32"


def test_a_function_at_the_end_takes_one_of_its_results(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[-1].output[0] = "last"
        model.graph.node.append(helper.make_node("Sigmoid", ["last"], ["y"]))

    model = parsed(edited(change), tmp_path)
    assert kinds(model)[-3:] == ["CONV_2D", "TABLE", "MOVE"]


def test_an_input_that_is_moved_before_it_is_quantized(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[0].input[0] = "moved"
        model.graph.node.insert(0, helper.make_node("Transpose", ["x"], ["moved"], perm=[0, 1, 3, 2]))

    assert kinds(parsed(edited(change), tmp_path))[0] in ("MOVE", "QUANTIZE")


def test_nodes_may_stand_in_any_order(tmp_path: Path) -> None:
    wanted = parsed(SMALL, tmp_path)

    def change(model: onnx.ModelProto) -> None:
        nodes = [*model.graph.node]
        del model.graph.node[:]
        model.graph.node.extend(nodes[::-1])

    found = parsed(edited(change), tmp_path)
    assert kinds(found) == kinds(wanted) and [t.shape for t in found.tensors] == [t.shape for t in wanted.tensors]

    def circle(model: onnx.ModelProto) -> None:
        model.graph.node[2].input[0] = model.graph.node[-1].output[0]

    with pytest.raises(NeuralArtError, match="topologically sorted"):
        parsed(edited(circle), tmp_path)


def test_batch_normalization_and_clip_become_a_part_of_the_convolution(tmp_path: Path) -> None:
    model = parsed(edited(_constants), tmp_path)
    assert kinds(model) == ["QUANTIZE", "MOVE", "CONV_2D", "MOVE", "DEQUANTIZE"]
    weights = model.tensors[model.operators[2].inputs[1]]
    gain = np.float32([0.5 / np.sqrt(0.5 + 1e-5), 2 / np.sqrt(2 + 1e-5)])
    assert weights.quantization is not None
    np.testing.assert_allclose(weights.quantization.scales, np.float32(0.05) * gain, rtol=1e-6)
    assert kinds(parsed(edited(_node("Relu")), tmp_path)) == [
        "QUANTIZE",
        "MOVE",
        "CONV_2D",
        "TABLE",
        "MOVE",
        "DEQUANTIZE",
    ]


def test_shapes_that_are_computed_are_constants(tmp_path: Path) -> None:
    def change(model: onnx.ModelProto) -> None:
        extra = [
            numpy_helper.from_array(np.array(values, np.int64), name) for name, values in (("i", [0]), ("m", [-1]))
        ]
        model.graph.initializer.extend(extra)
        _node("Reshape", "where", output="flat")(model)
        model.graph.node.insert(4, helper.make_node("Concat", ["batch", "m"], ["where"], axis=0))
        model.graph.node.insert(4, helper.make_node("Gather", ["sizes", "i"], ["batch"]))
        model.graph.node.insert(4, helper.make_node("Shape", ["c"], ["sizes"]))
        del model.graph.output[0].type.tensor_type.shape.dim[2:]
        model.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 18

    model = parsed(edited(change), tmp_path)
    assert kinds(model) == ["QUANTIZE", "MOVE", "CONV_2D", "MOVE", "DEQUANTIZE"]
    assert model.tensors[model.outputs[0]].shape == (1, 18)


def _float(model: onnx.ModelProto) -> None:
    del model.graph.node[4:], model.graph.node[:3]
    model.graph.node[0].input[:] = ["x", "f"]
    model.graph.node[0].output[:] = ["y"]
    model.graph.initializer.append(numpy_helper.from_array(np.ones((2, 2, 2, 2), np.float32), "f"))


def _external(model: onnx.ModelProto) -> None:
    tensor = model.graph.initializer[2]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret")
    tensor.ClearField("raw_data")


def _bits(model: onnx.ModelProto) -> None:
    model.opset_import[0].version = 21
    model.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array(3, np.int16), "z"))
    del model.graph.node[-1]
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("r", onnx.TensorProto.INT16, None))


def _channels_last(model: onnx.ModelProto) -> None:
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    more = {"domain": "com.microsoft", "channels_last": 1, "kernel_shape": [1, 1]}
    _node("QLinearAveragePool", "s", "z", "s", "z", **more)(model)


def _abs_of_stored(model: onnx.ModelProto) -> None:
    model.graph.node[5].input[0] = "cut"
    model.graph.node.insert(5, helper.make_node("Abs", [model.graph.node[4].output[0]], ["cut"]))


def _own_domain(model: onnx.ModelProto) -> None:
    model.graph.node[3].domain = "my.own"
    model.opset_import.append(helper.make_opsetid("my.own", 1))


def _three(model: onnx.ModelProto) -> None:
    model.graph.node[4].input[0] = "l3"
    for number in (3, 2, 1, 0):
        kind, before = "Hardmax" if number == 3 else "LpNormalization", f"l{number - 1}" if number else "c"
        model.graph.node.insert(4, helper.make_node(kind, [before], [f"l{number}"]))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not an ONNX model, or one without operators"),
        (b"hello", "not an ONNX model, or damaged"),
        (SMALL[:200], "not an ONNX model, or damaged"),
        (edited(_channels_last), "1 QLinearAveragePool (with channels last, or as another opset has it): 'c2'"),
        (edited(_abs_of_stored), "1 Abs (computes with stored integers): 'cut'"),
        (edited(lambda m: m.opset_import[0].ClearField("version")), "opset 0 is not supported"),
        (edited(lambda m: setattr(m.opset_import[0], "version", 99)), "opset 99 is not supported (11 to"),
        (edited(_external), "its constants are in secret, which is missing"),
        (
            edited(lambda m: setattr(m.graph.input[0].type.tensor_type.shape.dim[2], "dim_param", "h")),
            "input 'x' has open or too large sizes [1, 2, 0, 4]",
        ),
        (
            edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 65)),
            "input 'x' is of type number 65 (export it in float32)",
        ),
        (edited(_bits), "1 QuantizeLinear (int16 that is an output, or computed with): 'r'"),
        (
            edited(lambda m: setattr(m.graph.initializer[2], "name", "other")),
            "damaged: its nodes read 'w', which nothing computes",
        ),
        (edited(_three), "are not supported: 4, namely 3 LpNormalization (not supported): 'l0', 'l1', 'l2'"),
        (edited(lambda m: m.graph.node[3].attribute.append(helper.make_attribute("strides", [1, 0]))), "1 Conv ("),
        (edited(_own_domain), "1 Conv (of domain my.own): 'c'"),
    ],
)
def test_refusals(tmp_path: Path, data: bytes, said: str) -> None:
    """One line, and the file before anything else."""
    with pytest.raises(NeuralArtError) as caught:
        parsed(data, tmp_path)
    assert str(caught.value).startswith("net.onnx: ") and said in " ".join(str(caught.value).split())
    assert "\n" not in caught.value.what


def over(kind: str, dimensions: int) -> bytes:
    """A Conv, ConvTranspose or MaxPool over so many dimensions."""
    writer = Writer(np.random.default_rng(1), 17)
    x, value, given = writer.input([1, 3, *[6] * dimensions], "int8")
    reals, options = [writer.node("DequantizeLinear", [x, *given])], {"kernel_shape": [2] * dimensions}
    if kind != "MaxPool":
        weights = writer.constant(np.ones((3, 3, *[2] * dimensions), np.int8))
        reals.append(writer.node("DequantizeLinear", [weights, *given]))
    return writer.finish([Drawn([x], writer.done(writer.node(kind, reals, **options), -1, 1, "int8"), [value], "")])


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose", "MaxPool"])
def test_windows_over_one_and_over_three_dimensions(tmp_path: Path, kind: str) -> None:
    found = kinds(parsed(over(kind, 1), tmp_path))
    assert [each for each in found if each != "MOVE"] == [
        *([{"Conv": "CONV_2D", "ConvTranspose": "TRANSPOSE_CONV"}.get(kind, "MAX_POOL_2D")]),
        *(["TABLE"] if kind == "MaxPool" else []),
    ]
    with pytest.raises(NeuralArtError) as caught:
        parsed(over(kind, 3), tmp_path)
    assert f"1 {kind} (" in caught.value.what and "dimensions" in caught.value.what


def test_values_of_ours_have_names_of_their_own() -> None:
    graph = OnnxGraph("m.onnx", 17, [], [], shapes={"y in rows": (1, 2, 8)})
    builder = Builder(graph)
    builder.values["y in rows'"] = Held(0, ())
    assert builder.free("y in rows") == "y in rows''" and builder.free("x in rows") == "x in rows"


def test_all_that_is_unsupported_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError) as caught:
        parsed(edited(_three), tmp_path)
    assert caught.value.hint == "1 Hardmax (not supported): 'l3'"


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_reader.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        NeuralArtError, match=r"the package onnx, which is missing \(pip install 'scons-neuralart\[onnx\]'"
    ):
        parsed(SMALL, tmp_path)
    assert onnx_reader.onnx_kinds() == []


def test_inspect_and_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes(SMALL)
    kind, record = inspector.inspect(path)
    assert (kind.name, record["format"], record["inputs"][0]["shape"]) == ("onnx", "onnx", [1, 2, 4, 4])
    assert cli.main(["operators", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["onnx"]
    assert {"Conv", "Gemm", "Resize", "BatchNormalization", "DequantizeLinear"} <= set(found) and found == sorted(found)


@pytest.mark.parametrize(
    ("kind", "attributes", "inputs", "said"),
    [
        ("LSTM", {"clip": 3.0}, ["x", "w", "r"], "1 LSTM (with clip): 'y'"),
        ("GRU", {"activations": ["Relu", "Tanh"]}, ["x", "w", "r"], "1 GRU (with activations Relu Tanh): 'y'"),
        ("RNN", {"activations": ["Elu"]}, ["x", "w", "r"], "1 RNN (with activations Elu): 'y'"),
        ("LSTM", {"input_forget": 1}, ["x", "w", "r"], "1 LSTM (with input_forget): 'y'"),
        ("GRU", {}, ["x", "w", "r", "", "l"], "1 GRU (with sequences of different lengths): 'y'"),
        ("RNN", {}, ["x", "v", "r"], "1 RNN (its weights are computed): 'y'"),
        ("LSTM", {"direction": "sideways"}, ["x", "w", "r"], "1 LSTM ("),
        ("GRU", {}, ["x", "r", "r"], "1 GRU (its weights have the shape [1, 12, 4], expected [1, 12, 5]): 'y'"),
        ("GRU", {}, ["x", "w", "r", "", "", "w"], "1 GRU (its first state has another shape): 'y'"),
    ],
)
def test_recurrent_layers_that_are_refused(
    tmp_path: Path, kind: str, attributes: dict[str, Any], inputs: list[str], said: str
) -> None:
    gates, ends = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind], {"x": (3, 2, 5), "v": (1, 4, 5)}
    node = helper.make_node(kind, inputs, ["y"], hidden_size=4, **attributes)
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ends[name]) for name in ends if name in inputs]
    constants = {"w": np.ones((1, 4 * gates, 5), np.float32), "r": np.ones((1, 4 * gates, 4), np.float32)}
    constants |= {"l": np.array([3, 2], np.int32)}
    kept = [numpy_helper.from_array(value, name) for name, value in constants.items() if name in inputs]
    out = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, (3, 1, 2, 4))
    graph = helper.make_graph([node], "g", given, [out], kept)
    with pytest.raises(NeuralArtError) as caught:
        parsed(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString(), tmp_path)
    assert said in one_message(str(caught.value))
