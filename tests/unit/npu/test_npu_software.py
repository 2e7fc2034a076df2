"""Software kernels of the virtual NPU: calls as generated C makes them, results by plain Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from neuralart.errors import NeuralArtError
from neuralart_virtual.npu.software import dispatch
from neuralart_virtual.npu.software.elementwise import ACTIVATIONS, ARITHMETIC
from support.npu.npu_kernels import Function, bytes8, reals


def step(value: float, zero: int) -> int:
    """Rounded half up and clipped to a byte."""
    return min(max(math.floor(value + 0.5) + zero, -128), 127)


def away(value: float) -> int:
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


def test_dequantize_and_quantize() -> None:
    x = bytes8(1, 2, 3, 4)
    work = Function("dequantizelinear")
    work.tensor("general.input", x)
    work.constant("is", 0.25)
    work.constant("izp", -7, kind="i1")
    like = reals(1, 2, 3, 4)
    out = work.tensor("general.output", like)
    (noted,) = work.run()
    assert np.array_equal(work.result(out, like), [(v + 7) * 0.25 for v in x.astype(int)])
    assert (noted.start, noted.size, noted.elements) == (out, 4, 24)
    back = Function("quantizelinear")
    values = np.array([0.5, 1.5, -0.5, -1.5, 99, -99, 2.4, np.nan], np.float32).reshape(1, 1, 1, 8)
    back.tensor("general.input", values)
    back.constant("os", 1.0)
    back.constant("ozp", 3, kind="i1")
    out = back.tensor("general.output", bytes8(1, 1, 1, 8))
    back.run()
    # Half to even; what is no number becomes the zero point.
    assert back.result(out, bytes8(8)).tolist() == [3, 5, 3, 1, 102, -96, 5, 3]


def test_scales_per_channel() -> None:
    x = bytes8(1, 1, 2, 3)
    work = Function("dequantizelinear")
    work.tensor("general.input", x)
    work.constant("is", 1, 2, 4)
    work.constant("izp", 0, 1, 2, kind="i1")
    like = reals(1, 1, 2, 3)
    out = work.tensor("general.output", like)
    work.run()
    assert np.array_equal(work.result(out, like), (x.astype(int) - [0, 1, 2]) * [1, 2, 4])
    work.constant("is", 1, 2)
    with pytest.raises(NeuralArtError, match="has 2 scales and 3 zero points for 3 channels"):
        work.run()


def test_requantize() -> None:
    x = bytes8(1, 1, 1, 64)
    work = Function("requantizelinear")
    work.tensor("general.input", x)
    for name, scale, zero in (("i", 0.5, 4), ("o", 0.8, -9)):
        work.constant(f"{name}s", scale)
        work.constant(f"{name}zp", zero, kind="i1")
    out = work.tensor("general.output", x)
    work.run()
    ratio = np.float64(np.float32(0.5)) / np.float32(0.8)
    expected = [min(max(away((int(v) - 4) * ratio) - 9, -128), 127) for v in x.reshape(-1)]
    assert work.result(out, x).reshape(-1).tolist() == expected


PLAIN: dict[str, Any] = {
    **{"RELU": lambda x: max(x, 0), "ABS": abs, "NEG": lambda x: -x, "TANH": math.tanh, "ERF": math.erf},
    **{"SIGMOID": lambda x: 1 / (1 + math.exp(-x)), "HARDSIGMOID": lambda x: min(max(0.2 * x + 0.5, 0), 1)},
    **{"HARDSWISH": lambda x: x * min(max(x + 3, 0), 6) / 6, "SWISH": lambda x: x / (1 + math.exp(-x))},
    **{"CLIP": lambda x: min(max(x, -1), 1.5), "ELU": lambda x: x if x >= 0 else 0.2 * (math.exp(x) - 1)},
    **{"PRELU": lambda x: x if x >= 0 else 0.2 * x, "THRESHOLDEDRELU": lambda x: x if x > 0.2 else 0},
    **{"SOFTPLUS": lambda x: math.log(1 + math.exp(x)), "SOFTSIGN": lambda x: x / (1 + abs(x)), "EXP": math.exp},
    **{"FLOOR": math.floor, "CEIL": math.ceil, "ROUND": round, "SIGN": lambda x: (x > 0) - (x < 0)},
    **{"SIN": math.sin, "COS": math.cos, "TAN": math.tan, "ATAN": math.atan, "SINH": math.sinh, "COSH": math.cosh},
    **{"ASINH": math.asinh, "RECIPROCAL": lambda x: 1 / x},
    "SELU": lambda x: 1.5 * (x if x >= 0 else 0.2 * (math.exp(x) - 1)),
}
POSITIVE: dict[str, Any] = {"LOG": math.log, "SQRT": math.sqrt, "ACOSH": lambda x: math.acosh(x + 1)}
INSIDE: dict[str, Any] = {"ASIN": math.asin, "ACOS": math.acos, "ATANH": math.atanh}


@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_activations(name: str) -> None:
    x = reals(1, 2, 2, 8)
    function = {**PLAIN, **POSITIVE, **INSIDE}[name]
    x = np.abs(x) + np.float32(0.1) if name in POSITIVE else x
    x = np.tanh(x) * np.float32(0.9) if name in INSIDE else x
    given = x + np.float32(1) if name == "ACOSH" else x
    work = Function("activ", {"alpha": 0.2, "beta": 0.5, "gamma": 1.5, "min": -1, "max": 1.5})
    work.members["general.type"] = f"LL_SW_{name}"
    work.tensor("general.input", given)
    out = work.tensor("general.output", x)
    work.run()
    expected = np.array([function(float(v)) for v in x.reshape(-1)])
    np.testing.assert_allclose(work.result(out, x).reshape(-1), expected, rtol=2e-5, atol=2e-6)


def test_a_slope_per_channel() -> None:
    x, slope = reals(1, 2, 2, 4), reals(1, 1, 1, 4)
    work = Function("activ", {"general.type": "LL_SW_PRELU"})
    work.tensor("general.input", x)
    work.tensor("operand", slope)
    out = work.tensor("general.output", x)
    work.run()
    assert np.array_equal(work.result(out, x), np.where(x < 0, x * slope, x))


def test_slopes_behind_the_channels_do_not_count() -> None:
    x, slope = reals(1, 2, 2, 4), reals(1, 1, 1, 5)
    work = Function("activ", {"general.type": "LL_SW_PRELU"})
    work.tensor("general.input", x)
    work.tensor("operand", slope)
    out = work.tensor("general.output", x)
    work.run()
    assert np.array_equal(work.result(out, x), np.where(x < 0, x * slope[..., :4], x))


def test_tensors_that_do_not_fit() -> None:
    work = Function("activ", {"general.type": "LL_SW_PRELU"})
    work.tensor("general.input", reals(1, 2, 2, 4))
    work.tensor("operand", reals(1, 1, 1, 3))
    work.tensor("general.output", reals(1, 2, 2, 4))
    with pytest.raises(NeuralArtError, match=r"ll_sw_forward_activ has tensors that do not fit each other: .*"):
        work.run()


def test_activation_of_integers() -> None:
    x = bytes8(1, 1, 1, 64)
    work = Function("activ_integer", {"general.type": "LL_SW_SIGMOID"})
    work.tensor("general.input", x)
    for name, scale, zero in (("i", 0.0625, 3), ("o", 1 / 256, -128)):
        work.constant(f"{name}s", scale)
        work.constant(f"{name}zp", zero, kind="i1")
    out = work.tensor("general.output", x)
    work.run()
    expected = [min(away(256 / (1 + math.exp(-(int(v) - 3) / 16))) - 128, 127) for v in x.reshape(-1)]
    assert work.result(out, x).reshape(-1).tolist() == expected


COMPUTED: dict[str, Any] = {
    **{"ARITHADD": lambda a, b: a + b, "ARITHSUM": lambda a, b: a + b, "ARITHSUB": lambda a, b: a - b},
    **{"ARITHMUL": lambda a, b: a * b, "ARITHDIV": lambda a, b: a / b, "MIN": min, "MAX": max},
    **{"POW": lambda a, b: abs(a) ** b, "MOD": lambda a, b: a % b, "EQUAL": lambda a, b: a == b},
    **{"GREATER": lambda a, b: a > b, "LESS": lambda a, b: a < b, "GREATEROREQUAL": lambda a, b: a >= b},
    **{"LESSOREQUAL": lambda a, b: a <= b, "AND": lambda a, b: bool(a and b), "OR": lambda a, b: bool(a or b)},
    "XOR": lambda a, b: bool(a) != bool(b),
}


@pytest.mark.parametrize("name", sorted(ARITHMETIC))
def test_arithmetic(name: str) -> None:
    """The second operand is repeated over pixels."""
    a, b = reals(1, 2, 3, 4), reals(1, 1, 1, 4)
    a = np.abs(a) if name == "POW" else a
    work = Function("arith", {"general.type": f"LL_SW_{name}"})
    work.tensor("general.input", a)
    work.tensor("operand", b)
    out = work.tensor("general.output", a)
    work.run()
    pairs = zip(a.reshape(-1), np.broadcast_to(b, a.shape).reshape(-1), strict=True)
    expected = [float(COMPUTED[name](float(x), float(y))) for x, y in pairs]
    np.testing.assert_allclose(work.result(out, a).reshape(-1), expected, rtol=1e-5)


def test_arithmetic_of_integers() -> None:
    a, b = bytes8(1, 1, 1, 50), bytes8(1, 1, 1, 50)
    work = Function("eltwise_integer", {"general.type": "LL_SW_ARITHADD"})
    work.tensor("general.input", a)
    work.tensor("operand", b)
    work.constant("operand_s", 0.5)
    work.constant("operand_zp", 2, kind="i1")
    for name, scale, zero in (("i", 0.25, -1), ("o", 1.0, 5)):
        work.constant(f"{name}s", scale)
        work.constant(f"{name}zp", zero, kind="i1")
    out = work.tensor("general.output", a)
    work.run()
    reals_ = [(int(x) + 1) * 0.25 + (int(y) - 2) * 0.5 for x, y in zip(a.reshape(-1), b.reshape(-1), strict=True)]
    assert work.result(out, a).reshape(-1).tolist() == [min(max(away(v) + 5, -128), 127) for v in reals_]


def _convolved(x: Any, w: Any, groups: int, pads: tuple[int, ...], stride: int, dilation: int) -> Any:
    """Sums of products, place by place."""
    _, height, width, channels = x.shape
    count, kh, kw, depth = w.shape
    top, left, bottom, right = pads
    rows = (height + top + bottom - (kh - 1) * dilation - 1) // stride + 1
    columns = (width + left + right - (kw - 1) * dilation - 1) // stride + 1
    result = np.zeros((1, rows, columns, count))
    for y in range(rows):
        for c in range(columns):
            for k in range(count):
                first = k // (count // groups) * depth
                for i in range(kh):
                    for j in range(kw):
                        row, column = y * stride + i * dilation - top, c * stride + j * dilation - left
                        if 0 <= row < height and 0 <= column < width:
                            for d in range(depth):
                                result[0, y, c, k] += float(x[0, row, column, first + d]) * float(w[k, i, j, d])
    assert channels == depth * groups
    return result


@pytest.mark.parametrize(("groups", "stride", "dilation"), [(1, 1, 1), (2, 2, 1), (4, 1, 2)])
def test_convolutions(groups: int, stride: int, dilation: int) -> None:
    pads = (1, 2, 0, 1)
    settings = {"ngroup": groups, "pads": "{1, 2, 0, 1}", "strides": f"{{{stride}, {stride}}}"}
    settings |= {"dilations": f"{{{dilation}, {dilation}}}", "general.type": "LL_SW_CONV"}
    x, w = reals(1, 5, 6, 4), reals(4, 2, 3, 4 // groups)
    bias = (0.5, -1, 2, 0)
    expected = _convolved(x, w, groups, pads, stride, dilation) + bias
    work = Function("conv", dict(settings))
    work.tensor("general.input", x)
    work.tensor("weights", w)
    work.constant("bias", *bias)
    like = expected.astype(np.float32)
    out = work.tensor("general.output", like)
    work.run()
    np.testing.assert_allclose(work.result(out, like), expected, rtol=1e-4, atol=1e-4)
    integers, kernels, scales = bytes8(1, 5, 6, 4), bytes8(4, 2, 3, 4 // groups), (0.01, 0.02, 0.005, 0.03)
    work = Function("conv_integer", dict(settings))
    work.tensor("general.input", integers)
    work.tensor("weights", kernels)
    work.constant("bias", 100, -200, 300, 0, kind="<i4")
    work.constant("is", 0.25)
    work.constant("izp", 5, kind="i1")
    work.constant("ws", *scales)
    work.constant("os", 0.5)
    work.constant("ozp", -4, kind="i1")
    like = bytes8(*expected.shape)
    out = work.tensor("general.output", like)
    work.run()
    sums = _convolved(integers.astype(int) - 5, kernels, groups, pads, stride, dilation)
    sums += np.array((100, -200, 300, 0))
    factors = np.float64(0.25) * np.array(scales, np.float32).astype(np.float64) / np.float64(0.5)
    places = (sums * factors).reshape(-1)
    assert work.result(out, like).reshape(-1).tolist() == [step(v, -4) for v in places]


@pytest.mark.parametrize("kind", ["MAXPOOL", "MINPOOL", "AVGPOOL"])
@pytest.mark.parametrize("inside", [0, 1])
def test_pooling(kind: str, inside: int) -> None:
    x = reals(1, 4, 5, 2)
    settings = {"pads": "{1, 0, 0, 1}", "strides": "{1, 2}", "k_shape": "{2, 3}", "count_include_pad": inside}
    work = Function("pool", {**settings, "general.type": f"LL_SW_{kind}"})
    work.tensor("general.input", x)
    expected = np.zeros((1, 4, 2, 2), np.float32)
    for y, column, c in np.ndindex(4, 2, 2):
        cells = [(y + i - 1, 2 * column + j) for i in range(2) for j in range(3)]
        values = [float(x[0, a, b, c]) for a, b in cells if 0 <= a < 4 and 0 <= b < 5]
        mean = sum(values) / (6 if inside else len(values))
        expected[0, y, column, c] = {"MAXPOOL": max(values), "MINPOOL": min(values), "AVGPOOL": mean}[kind]
    out = work.tensor("general.output", expected)
    work.run()
    np.testing.assert_allclose(work.result(out, expected), expected, rtol=1e-5)


def test_global_pooling_of_integers() -> None:
    x = bytes8(1, 3, 3, 4)
    work = Function("global_pool_integer", {"general.type": "LL_SW_AVGPOOL"})
    work.tensor("general.input", x)
    for name, scale, zero in (("i", 0.5, 2), ("o", 0.25, -2)):
        work.constant(f"{name}s", scale)
        work.constant(f"{name}zp", zero, kind="i1")
    like = bytes8(1, 1, 1, 4)
    out = work.tensor("general.output", like)
    work.run()
    means = [sum(int(v) for v in x[0, :, :, c].reshape(-1)) / 9 for c in range(4)]
    assert work.result(out, like).reshape(-1).tolist() == [step((m - 2) * 2, -2) for m in means]


@pytest.mark.parametrize(
    ("axis", "sizes"), [(1, (1, 1, 1, 6)), (3, (1, 1, 6, 1)), (2, (1, 6, 1, 1)), (-1, (1, 1, 6, 1))]
)
def test_softmax(axis: int, sizes: tuple[int, ...]) -> None:
    """Axes are counted as batch, channels, height, width."""
    x = bytes8(*sizes)
    work = Function("softmax_integer", {"axis": axis, "general.type": "LL_SW_SOFTMAX"})
    work.tensor("general.input", x)
    for name, scale, zero in (("i", 0.03125, 0), ("o", 1 / 256, -128)):
        work.constant(f"{name}s", scale)
        work.constant(f"{name}zp", zero, kind="i1")
    out = work.tensor("general.output", x)
    work.run()
    powers = [math.exp(int(v) / 32) for v in x.reshape(-1)]
    expected = [step(256 * p / sum(powers), -128) for p in powers]
    assert work.result(out, x).reshape(-1).tolist() == expected


@pytest.mark.parametrize("mode", ["HALF_PIXEL", "ALIGN_CORNERS", "ASYMMETRIC", "PYTORCH_HALF_PIXEL"])
@pytest.mark.parametrize("kind", ["RESIZE_LINEAR", "RESIZE_NEAREST"])
def test_resize(mode: str, kind: str) -> None:
    x = reals(1, 3, 4, 2)
    rows, columns = 6, 9
    names = {"mode": kind, "nearest_mode": "FLOOR", "coord_transf_mode": mode, "general.type": "LL_SW_RESIZE"}
    work = Function("resize", names)
    work.tensor("general.input", x)
    like = np.zeros((1, rows, columns, 2), np.float32)
    out = work.tensor("general.output", like)
    work.run()

    def source(place: int, size: int, many: int) -> float:
        if mode == "ALIGN_CORNERS":
            return place * (size - 1) / (many - 1)
        return place * size / many if mode == "ASYMMETRIC" else (place + 0.5) * size / many - 0.5

    def pixel(y: int, c: int, d: int) -> float:
        return float(x[0, min(max(y, 0), 2), min(max(c, 0), 3), d])

    expected = np.zeros_like(like)
    for y, c, d in np.ndindex(rows, columns, 2):
        a, b = source(y, 3, rows), source(c, 4, columns)
        i, j = math.floor(a), math.floor(b)
        if kind == "RESIZE_NEAREST":
            expected[0, y, c, d] = pixel(i, j, d)
            continue
        upper = pixel(i, j, d) * (1 - b + j) + pixel(i, j + 1, d) * (b - j)
        lower = pixel(i + 1, j, d) * (1 - b + j) + pixel(i + 1, j + 1, d) * (b - j)
        expected[0, y, c, d] = upper * (1 - a + i) + lower * (a - i)
    np.testing.assert_allclose(work.result(out, like), expected, rtol=1e-4, atol=1e-5)


# ---- moves ----


def buffer(name: str, address: int, values: Any, batch: int, position: str = "Last") -> str:
    shape = ", ".join(map(str, values.shape))
    return (
        f"  static const uint32_t {name}_shape[] = {{ {shape} }};\n"
        f'  static const LL_Buffer_InfoTypeDef {name}[] = {{\n    {{\n      .name = "{name}",\n'
        f"      .addr_base = {{(unsigned char *)(0x{address:08x}UL)}},\n      .offset_start = 0,\n"
        f"      .offset_end = {values.nbytes},\n      .batch = {batch},\n      .chpos = CHPos_{position},\n"
        f"      .nbits = {8 * values.dtype.itemsize},\n      .shape = {name}_shape,\n    }},\n"
        "    {\n      .name = NULL,\n    }\n  };\n"
    )


def blocked(values: Any, batch: int) -> Any:
    """As it stands in memory: groups of channels outermost."""
    _, height, width, channels = values.shape
    return values.reshape(height, width, channels // batch, batch).transpose(2, 0, 1, 3).copy()


def test_concat() -> None:
    a, b = bytes8(1, 2, 3, 4), bytes8(1, 2, 3, 2)
    whole = np.concatenate([a, b], 3)
    work = Function("LL_ATON_LIB_Concat(in, 2, out, 1, 3, 9)")
    parts = [buffer(f"p{i}", work.place(blocked(v, g)), v, g) for i, (v, g) in enumerate(((a, 2), (b, 2)))]
    items = [part[part.index("    {\n") : part.index("    {\n      .name = NULL")] for part in parts]
    shapes = "".join(part[: part.index("\n") + 1] for part in parts)
    head = "  static const LL_Buffer_InfoTypeDef in[] = {\n"
    out = work.place(np.zeros_like(whole))
    work.before = shapes + head + "".join(items) + "  };\n" + buffer("out", out, whole, 3)
    (noted,) = work.run()
    assert np.array_equal(work.result(out, whole).reshape(-1), blocked(whole, 3).reshape(-1))
    assert (noted.start, noted.elements) == (out, 36)


def test_depth_to_space_and_back() -> None:
    x = bytes8(1, 2, 3, 12)
    expected = np.zeros((1, 4, 6, 3), np.int8)
    for y, c, i, j, d in np.ndindex(2, 3, 2, 2, 3):
        expected[0, 2 * y + i, 2 * c + j, d] = x[0, y, c, (i * 2 + j) * 3 + d]
    for call, source, target in (("DepthToSpace", x, expected), ("SpaceToDepth", expected, x)):
        work = Function(f"LL_ATON_LIB_DMA_{call}(in, 1, out, 2, 2, 0, 4)")
        start, out = work.place(source), work.place(np.zeros_like(target))
        work.before = buffer("in", start, source, source.shape[3]) + buffer("out", out, target, target.shape[3])
        work.run()
        assert np.array_equal(work.result(out, target), target)


def test_transpose() -> None:
    x = bytes8(1, 3, 4, 5)
    work = Function("LL_ATON_LIB_DMA_Transpose(&in[0], si[0], &out[0], so[0], pos, order, 0, 1)")
    start, out = work.place(x), work.place(np.zeros_like(x))
    text = ""
    for name, address, shape in (("in", start, (1, 3, 4, 5)), ("out", out, (1, 5, 4, 3))):
        sizes = ", ".join(map(str, shape))
        steps = ", ".join(str(int(np.prod(shape[i + 1 :]))) for i in range(4))
        text += f"  static const uint32_t {name}_s[] = {{ {sizes} }};\n"
        text += f"  static const LL_LIB_TensorShape_TypeDef {name}[] = {{\n    {{ .addr_base = {{(unsigned char *)"
        text += f"(0x{address:08x}UL)}}, .offset_start = 0, .offset_end = 60, .nbits = 8, .shape = {name}_s }}\n  }};\n"
        text += f"  static const uint32_t s{name[0]}_0[] = {{ {steps} }};\n"
        text += f"  static const uint32_t* s{name[0]}[] = {{ s{name[0]}_0 }};\n"
    work.before = text + "  static const uint8_t order[] = { 0, 3, 2, 1 };\n"
    work.run()
    expected = x.transpose(0, 3, 2, 1)
    assert np.array_equal(work.result(out, expected.copy()), expected)


def test_parts_of_lines() -> None:
    x = bytes8(5, 7)
    work = Function("LL_ATON_LIB_DMA_Outputs_Slice_SplitLike(&in[0], &out[0], 15, 3, 5, 7, 8, 1, 2)")
    start, out = work.place(x), work.place(np.zeros(15, np.int8))
    for name, address, size in (("in", start + 2, 33), ("out", out, 15)):
        work.before += (
            f"  static const LL_LIB_TensorShape_TypeDef {name}[] = {{\n    {{ .addr_base = {{(unsigned char *)"
        )
        work.before += f"(0x{address:08x}UL)}}, .offset_start = 0, .offset_end = {size}, .nbits = 8 }}\n  }};\n"
    work.run()
    assert np.array_equal(work.result(out, np.zeros((5, 3), np.int8)), x[:, 2:5])


def test_every_kernel_refuses_what_is_not_there() -> None:
    """One line with the place of the call, whatever is missing."""
    for call in dispatch.KERNELS:
        for members in ({}, {"general.type": "LL_SW_X"}, {"general.input.dim.tensor_c": 0}):
            text = f"{call}(&info, 1, &info, 1, 1, 1, 1)"
            work = Function(text, dict(members))
            if not members:
                work.members["x"] = 1
            with pytest.raises(NeuralArtError) as caught:
                work.run()
            assert caught.value.where.startswith("x.c:"), call


def test_every_function_has_its_plain_one() -> None:
    assert set(ACTIVATIONS) == {*PLAIN, *POSITIVE, *INSIDE}
    assert set(ARITHMETIC) == set(COMPUTED)
