"""ONNX models in float32, and with islands of floats, against onnxruntime with its optimizations off, run natively."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuralart.compilers.request import CompileRequest
from neuralart_reference.compile import compile_network, write
from support.host_c import native

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import onnx
import onnxruntime.quantization as ort_quantization

from support.cases.onnx_texts import drawn, model
from support.models import onnx_oracle

ROOT = Path(__file__).parents[3]
MPOOL = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools" / "stm32n6570-dk.mpool"
RNG = np.random.default_rng(23)
PICTURE, ROWS = "float[1,3,8,8] x", "float[1,6,8] x"

pytestmark = [pytest.mark.hostcc, pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable())]


def _weights(*shape: int) -> np.ndarray:
    return drawn(RNG, *shape, spread=0.5)


# What: inputs, nodes, constants, and the opset where it is another than 17.
FLOAT = {
    "perceptron": (
        "float[n,12] x",
        "a = Gemm <transB=1> (x, w, b) r = Relu(a) c = Gemm (r, v) y = Tanh(c)",
        {"w": _weights(8, 12), "b": _weights(8), "v": _weights(8, 3)},
    ),
    "convolution": (
        PICTURE,
        "a = Conv <pads=[1,1,1,1], strides=[2,2]> (x, w, b) n = BatchNormalization (a, g, o, m, v) "
        "c = Clip (n, zero, six) p = MaxPool <kernel_shape=[2,2]> (c) s = GlobalAveragePool (p) "
        "f = Flatten (s) y = Softmax (f)",
        {
            **{"w": _weights(5, 3, 3, 3), "b": _weights(5), "g": _weights(5), "o": _weights(5), "m": _weights(5)},
            **{"v": np.float32([1, 2, 0.5, 1, 3]), "zero": np.float32(0), "six": np.float32(6)},
        },
    ),
    "depthwise": (
        PICTURE,
        "a = Conv <group=3, pads=[1,1,1,1]> (x, w) b = HardSwish (a) c = AveragePool <kernel_shape=[3,3], "
        "pads=[1,1,1,1], count_include_pad=1> (b) d = PRelu (c, s) e = LeakyRelu <alpha=0.3> (d) y = HardSigmoid (e)",
        {"w": _weights(3, 1, 3, 3), "s": _weights(3, 1, 1)},
    ),
    "lines": (
        ROWS,
        'p = Pad <mode="constant"> (x, pads) a = Conv <dilations=[2]> (p, w, b) t = Transpose <perm=[0,2,1]> (a) '
        "m = ReduceMean <axes=[1], keepdims=0> (t) y = Sigmoid (m)",
        {"pads": np.array([0, 0, 2, 0, 0, 0], np.int64), "w": _weights(4, 6, 3), "b": _weights(4)},
    ),
    "upward": (
        PICTURE,
        'a = ConvTranspose <strides=[2,2], pads=[1,1,1,1]> (x, w) r = Resize <mode="linear", '
        'coordinate_transformation_mode="half_pixel"> (a, none, sizes) '
        'n = Resize <mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"> (r, none, by) '
        "y = Concat <axis=1> (n, n)",
        {"w": _weights(3, 2, 4, 4), "none": np.zeros(0, np.float32), "sizes": np.float32([1, 1, 2, 2])}
        | {"by": np.float32([1, 1, 1.5, 1.5])},
    ),
    "attention": (
        ROWS,
        "q = MatMul (x, wq) k = MatMul (x, wk) v = MatMul (x, wv) t = Transpose <perm=[0,2,1]> (k) "
        "s = MatMul (q, t) d = Div (s, root) m = Where (mask, d, low) p = Softmax (m) o = MatMul (p, v) "
        "r = Add (x, o) y = LayerNormalization <axis=-1> (r, g, b)",
        {
            **{"wq": _weights(8, 8), "wk": _weights(8, 8), "wv": _weights(8, 8), "root": np.float32(8**0.5)},
            **{"mask": np.tri(6, dtype=bool), "low": np.float32(-1e9), "g": _weights(8), "b": _weights(8)},
        },
    ),
    "by hand": (
        ROWS,
        "m = ReduceMean <axes=[-1]> (x) d = Sub (x, m) q = Pow (d, two) v = ReduceMean <axes=[-1]> (q) "
        "a = Add (v, e) s = Sqrt (a) n = Div (d, s) h = Div (n, root) f = Erf (h) o = Add (f, one) "
        "g = Mul (n, o) y = Mul (g, half)",
        {"two": np.float32(2), "e": np.float32(1e-5), "root": np.float32(2**0.5), "one": np.float32(1)}
        | {"half": np.float32(0.5)},
    ),
    "pieces": (
        ROWS,
        "a, b = Split <axis=2> (x) c = Slice (a, from, to, axes) d = Squeeze (c, axes) e = Unsqueeze (d, axes) "
        "g = Gather <axis=1> (b, some) h = Mul (e, g) i = Expand (h, big) j = Tile (i, times) "
        "k = Reshape (j, shape) y = ReduceMax <axes=[0], keepdims=0> (k)",
        {
            **{"from": np.array([1], np.int64), "to": np.array([2], np.int64), "axes": np.array([1], np.int64)},
            **{"some": np.array([0, 5, 1], np.int64), "big": np.array([2, 3, 4], np.int64)},
            **{"times": np.array([1, 2, 1], np.int64), "shape": np.array([4, -1], np.int64)},
        },
    ),
    "functions": (
        ROWS,
        "a = Elu <alpha=0.7> (x) b = Selu (a) c = Softplus (b) d = Mish (c) e = Softsign (d) f = Celu (e) "
        "g = ThresholdedRelu <alpha=0.1> (f) h = Reciprocal (c) i = Exp (g) j = Log (i) k = Floor (x) l = Round (x) "
        "o = Max (j, k, l) p = Min (o, h) q = Cos (p) r = Sin (q) s = Sign (x) "
        "u = Abs (x) v = Mul (r, s) y = Sub (v, u)",
        {},
        18,
    ),
    "norms": (
        PICTURE,
        "a = InstanceNormalization (x, g, b) c = ReduceL2 <axes=[1]> (a) d = Div (a, c) "
        "e = LogSoftmax <axis=1> (d) f = ReduceSum (e, axes) y = ReduceSumSquare <axes=[3]> (f)",
        {"g": _weights(3), "b": _weights(3), "axes": np.array([2, 3], np.int64)},
    ),
    "old": (
        PICTURE,
        "c = Clip <min=-0.5, max=0.5> (x) p = Pad <pads=[0,0,1,1,0,0,1,1]> (c) s = Slice <starts=[1], ends=[9], "
        "axes=[2]> (p) q = Squeeze <axes=[0]> (s) y = Softmax <axis=1> (q)",
        {},
        9,
    ),
}


def _compiled(folder: Path, name: str, data: bytes, **more: object) -> Path:
    path = folder / f"{name}.onnx"
    path.write_bytes(data)
    request = CompileRequest(model=path, mpool=MPOOL, name=name, report=False, **more)  # type: ignore[arg-type]
    write(compile_network(request), folder / name)
    return folder / name


def _inputs(data: onnx.ModelProto) -> list[np.ndarray]:
    constants = {each.name for each in data.graph.initializer}
    shapes = [
        [dim.dim_value or 1 for dim in each.type.tensor_type.shape.dim]
        for each in data.graph.input
        if each.name not in constants
    ]
    return [drawn(np.random.default_rng(7), *shape) for shape in shapes]


def test_float_models_are_those_of_onnxruntime(tmp_path: Path) -> None:
    """Within 2e-6 of the largest value of each output: sums of float32 in another order."""
    models = {name: model(each[0], each[1], "float y", *each[3:], **each[2]) for name, each in FLOAT.items()}
    folders = [_compiled(tmp_path, name.replace(" ", "_"), made.SerializeToString()) for name, made in models.items()]
    wrong = []
    for (name, made), network in zip(models.items(), native.build(folders, tmp_path), strict=True):
        given = _inputs(made)
        (want,), (got,) = onnx_oracle.run(made.SerializeToString(), [given]), network.run([given])
        assert want[0].shape == got[0].shape and want[0].std() > 0, name
        far = float(np.abs(want[0] - got[0]).max() / np.abs(want[0]).max())
        wrong += [f"{name}: {far:.2g}"] * (not far < 2e-6)
    assert not wrong


def test_integers_and_conditions(tmp_path: Path) -> None:
    """Identifiers of words, a mask, comparisons: exactly onnxruntime's."""
    made = model(
        "int64[1,5] ids, int64[n,5] mask",
        "e = Gather (table, ids) f = Cast <to=1> (mask) u = Unsqueeze (f, two) m = Mul (e, u) "
        "g = Greater (m, half) l = Less (m, low) o = Or (g, l) n = Not (o) w = Where (n, m, zero) "
        "i = Equal (ids, three) c = Cast <to=1> (i) v = Unsqueeze (c, two) y = Add (w, v)",
        table=_weights(9, 4),
        two=np.array([2], np.int64),
        half=np.float32(0.4),
        low=np.float32(-0.4),
        zero=np.float32(0),
        three=np.array(3, np.int64),
    )
    folder = _compiled(tmp_path, "ids", made.SerializeToString())
    given = [np.array([[3, 0, 8, 3, 5]]), np.array([[1, 1, 0, 1, 1]])]
    ((want,),) = onnx_oracle.run(made.SerializeToString(), [given])
    ((got,),) = native.build([folder], tmp_path)[0].run([given])
    assert (want == got).all() and (want == 0).any() and (want > 0.4).any()


def test_as_onnxruntime_quantizes(tmp_path: Path) -> None:
    """Dynamically: activations are rounded while it runs, as there. Statically with some operators left in float."""
    path = tmp_path / "float.onnx"
    made = model(
        "float[1,3,8,8] x",
        "a = Conv <pads=[1,1,1,1]> (x, w, b) r = Relu (a) s = Softmax <axis=1> (r) f = Flatten (s) y = MatMul (f, v)",
        "float[1,7] y",
        w=_weights(5, 3, 3, 3),
        b=_weights(5),
        v=_weights(320, 7),
    )
    onnx.save(made, path)

    class Reader(ort_quantization.CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left = [{"x": drawn(np.random.default_rng(at), 1, 3, 8, 8)} for at in range(3)]

        def get_next(self) -> dict[str, np.ndarray] | None:
            return self.left.pop() if self.left else None

    kinds = {"weight_type": ort_quantization.QuantType.QInt8}
    ort_quantization.quantize_dynamic(path, tmp_path / "dynamic.onnx", **kinds)
    static = {"quant_format": ort_quantization.QuantFormat.QDQ, "op_types_to_quantize": ["Conv", "MatMul"], **kinds}
    ort_quantization.quantize_static(path, tmp_path / "static.onnx", Reader(), **static)
    models = [onnx.load(tmp_path / f"{name}.onnx") for name in ("dynamic", "static")]
    assert {"MatMulInteger"} <= {node.op_type for node in models[0].graph.node}
    folders = [_compiled(tmp_path, f"as_{at}", each.SerializeToString()) for at, each in enumerate(models)]
    for each, network, bound in zip(models, native.build(folders, tmp_path), (2e-6, 0.02), strict=True):
        given = [drawn(np.random.default_rng(9), 1, 3, 8, 8)]
        ((want,),) = onnx_oracle.run(each.SerializeToString(), [given])
        ((got,),) = network.run([given])
        assert np.abs(want - got).max() < bound * np.abs(want).max()


def test_open_sizes_and_external_data(tmp_path: Path) -> None:
    made = model("float[n,3,h,w] x", "a = Conv (x, k) y = GlobalAveragePool (a)", k=_weights(4, 3, 3, 3))
    path = tmp_path / "open.onnx"
    large = {"save_as_external_data": True, "location": "open.onnx.data", "size_threshold": 0}
    onnx.save(made, path, **large)
    assert path.stat().st_size < 300
    shapes = {"input_shapes": {"x": (1, 3, 8, 6)}}
    folder = _compiled(tmp_path, "open", path.read_bytes(), **shapes)
    given = [drawn(np.random.default_rng(7), 1, 3, 8, 6)]
    ((want,),) = onnx_oracle.run(onnx.load(path).SerializeToString(), [given])
    ((got,),) = native.build([folder], tmp_path)[0].run([given])
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-6)


def _recurrent(kind: str, number: int) -> onnx.ModelProto:
    """A layer of any direction, with and without what is optional."""
    rng, gates = np.random.default_rng([41, number]), {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    direction = ("forward", "reverse", "bidirectional")[number % 3]
    steps, batches, inputs, units = (int(rng.integers(1, most)) for most in (6, 4, 8, 9))
    ways = 2 if direction == "bidirectional" else 1
    shapes = {"w": (ways, gates * units, inputs), "r": (ways, gates * units, units), "b": (ways, 2 * gates * units)}
    shapes |= {"h": (ways, batches, units), "c": (ways, batches, units), "p": (ways, 3 * units)}
    given = ["x", "w", "r", "b" if number % 4 else "", "", "h" if number % 5 else ""]
    if kind == "LSTM":
        given += ["c" if number % 5 else "", "p" if number % 2 else ""]
    options = {"linear_before_reset": number // 3 % 2} if kind == "GRU" else {}
    if kind == "RNN" and number % 2:
        options = {"activations": ["Relu"] * ways}
    outputs = ["y", "yh", "yc"][: 3 if kind == "LSTM" else 2]
    node = onnx.helper.make_node(kind, given, outputs, direction=direction, hidden_size=units, **options)
    computed = number % 4 == 1 and "h" in given
    ends = {"x": (steps, batches, inputs)} | ({"h": shapes["h"]} if computed else {})
    kept = {
        name: drawn(rng, *shape, spread=0.6) for name, shape in shapes.items() if name in given and name not in ends
    }
    graph = onnx.helper.make_graph(
        [node],
        "g",
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in ends.items()],
        [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs],
        [onnx.numpy_helper.from_array(value, name) for name, value in kept.items()],
    )
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made)


def test_recurrent_layers(tmp_path: Path) -> None:
    """Each begins anew in each inference."""
    models = [_recurrent(kind, number) for kind in ("LSTM", "GRU", "RNN") for number in range(8)]
    folders = [_compiled(tmp_path, f"r{number}", each.SerializeToString()) for number, each in enumerate(models)]
    for network, each in zip(native.build(folders, tmp_path, sanitize=True), models, strict=True):
        vectors = [_inputs(each) for _ in range(2)]
        want = onnx_oracle.run(each.SerializeToString(), vectors)
        for ours, theirs in zip(network.run(vectors), want, strict=True):
            for a, b in zip(ours, theirs, strict=True):
                assert a.shape == b.shape and np.abs(a - b).max() <= 2e-6 * max(1.0, np.abs(b).max()), str(
                    each.graph.node
                )


def test_halves(tmp_path: Path) -> None:
    """float16 is float32 of the same weights; onnxruntime rounds what lies between layers."""
    rng, made = np.random.default_rng(8), list[onnx.ModelProto]()
    weights = {name: drawn(rng, *shape).astype(np.float16) for name, shape in {"w": (8, 12), "b": (8,)}.items()}
    for half in (True, False):
        kind = np.float16 if half else np.float32
        body = "a = Gemm <transB=1> (x, w, b) n = Relu (a) c = Add (n, k) y = Tanh (c)"
        body = f"f = Cast <to={10 if half else 1}> (x) {body.replace('(x,', '(f,')} z = Cast <to=1> (y)"
        one = {name: value.astype(kind) for name, value in weights.items()} | {"k": kind(0.5)}
        ends = ("float16[2,12] x", "float16 y, float z") if half else ("float[2,12] x", "float y, float z")
        made.append(model(ends[0], body, ends[1], **one))
    x = drawn(rng, 2, 12).astype(np.float16)
    (network,) = native.build([_compiled(tmp_path, "half", made[0].SerializeToString())], tmp_path)
    (got,) = network.run([[x.astype(np.float32)]])
    assert [port.dtype for port in (*network.facts.inputs, *network.facts.outputs)] == ["float32"] * 3
    for data, value, off in ((made[1], x.astype(np.float32), 2e-6), (made[0], x, 2e-3)):
        (want,) = onnx_oracle.run(data.SerializeToString(), [[value]])
        for ours, theirs in zip(got, want, strict=True):
            assert np.abs(ours - theirs.astype(np.float32)).max() <= off and theirs.std() > 0


@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_quantized_to_16_bits(tmp_path: Path, dtype: str) -> None:
    """In float32, rounded where the model says so: by at most 2 steps where a value lies between two of them."""
    rng, zero = np.random.default_rng(9), np.array(30000 if dtype == "uint16" else -200, dtype)
    steps = [np.float32(2.0 / 30000), np.float32(9.0 / 30000)]
    constants = {"s": steps[0], "t": steps[1], "z": zero, "u": np.float32(0.01), "none": np.int8(0)}
    constants |= {"w": rng.integers(-127, 128, (5, 3, 3, 3)).astype(np.int8), "b": drawn(rng, 5)}
    constants |= {"k": rng.integers(20000, 30000, (1, 5, 1, 1)).astype(dtype)}
    body = (
        "q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) v = DequantizeLinear (w, u, none) "
        "c = Conv (d, v, b) r = QuantizeLinear (c, t, z) e = DequantizeLinear (r, t, z) g = DequantizeLinear (k, s, z) "
        "m = Mul (e, g) f = QuantizeLinear (m, t, z) y = DequantizeLinear (f, t, z)"
    )
    data = model(PICTURE, body, opset=21, **constants).SerializeToString()
    (network,) = native.build([_compiled(tmp_path, "wide", data)], tmp_path)
    given = [drawn(rng, 1, 3, 8, 8)]
    ((got,),), ((want,),) = network.run([given]), onnx_oracle.run(data, [given])
    assert np.abs(got - want).max() <= 2.01 * steps[1] and len(np.unique(want)) > 50
    assert np.abs(got / steps[1] - np.rint(got / steps[1])).max() < 0.01
