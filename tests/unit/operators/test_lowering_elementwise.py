"""Operators on single values: what they become, and what is refused in which words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from neuralart_reference.ir import ConstArg, TensorArg
from neuralart_reference.quantize import FixedPoint, single
from neuralart_reference.tables import nearest, rounding_shift, scaled
from support.cases.lowering import Graph, lowered, one, parameters, refusal

TABLES = ("ABS", "ELU", "EXP", "GELU", "HARD_SWISH", "LEAKY_RELU", "LOG", "LOGISTIC", "RSQRT", "SQRT", "TANH")
TWO_INPUTS = ("ADD", "DIV", "FLOOR_DIV", "MAXIMUM", "MINIMUM", "MUL", "PRELU", "SQUARED_DIFFERENCE", "SUB")


def two_inputs(kind: str, **options: Any) -> tuple[Graph, int, int, int]:
    graph = Graph()
    a, b = graph.tensor("a", (2, 3), "int8", 0.5, 3), graph.tensor("b", (3,), "int8", 0.25, -4)
    y = graph.tensor("y", (2, 3), "int8", 1.0, 5)
    graph.op(kind, (a, b), (y,), **options)
    return graph, a, b, y


def table_of(kind: str, source: tuple[float, int], target: tuple[float, int], **options: Any) -> list[int]:
    """Stored output values for the stored values -128 to 127."""
    graph = Graph()
    x, y = graph.tensor("x", (5, 7), "int8", *source), graph.tensor("y", (5, 7), "int8", *target)
    graph.op(kind, (x,), (y,), **options)
    (call,) = lowered(graph, [x], [y]).calls
    assert (call.kernel, call.reads, call.writes, call.macc) == ("na_table_s8", (x,), (y,), 35)
    assert parameters(call) == {"count": "35"}
    data = call.args[1]
    assert isinstance(data, ConstArg) and (data.ctype, data.tensor) == ("int8_t", None)
    assert data.label == f"{kind.lower()}_0_table"
    assert len(data.data) == 256
    return [int.from_bytes(data.data[v & 0xFF : (v & 0xFF) + 1], "little", signed=True) for v in range(-128, 128)]


def test_subtraction() -> None:
    """A kernel of its own: with a negative factor halves would round the other way."""
    graph, a, b, y = two_inputs("SUB")
    (call,) = lowered(graph, [a, b], [y]).calls
    assert (call.kind, call.kernel, call.reads, call.macc) == ("SUB", "na_sub_s8", (a, b), 6)
    found = parameters(call)
    assert (found["input1_multiplier"], found["input1_shift"]) == (str(1 << 30), "0")
    assert (found["input2_multiplier"], found["input2_shift"]) == (str(1 << 30), "-1")
    assert (found["input1_offset"], found["input2_offset"], found["output_offset"]) == ("-3", "4", "5")


def test_multiplication() -> None:
    graph, a, b, y = two_inputs("MUL", fused_activation_function="RELU6")
    (call,) = lowered(graph, [a, b], [y]).calls
    assert (call.kernel, call.reads, call.writes, call.macc) == ("na_mul_s8", (a, b), (y,), 6)
    wanted = {"multiplier": str(1 << 30), "shift": "-2", "activation_min": "5", "activation_max": "11"}
    assert parameters(call).items() >= wanted.items()


def test_slopes_are_data() -> None:
    graph = Graph()
    x, y = graph.tensor("x", (2, 2), "int8", 0.5), graph.tensor("y", (2, 2), "int8", 0.25)
    slopes = graph.tensor("slopes", (2,), "int8", 0.125, 1, b"\1\2")
    graph.op("PRELU", (x, slopes), (y,))
    (call,) = lowered(graph, [x], [y]).calls
    assert call.args[0] == TensorArg(x, "int8_t")
    assert isinstance(call.args[1], ConstArg) and call.args[1].tensor == slopes
    wanted = {"multiplier": str(1 << 30), "shift": "2", "slope_multiplier": str(1 << 30), "slope_shift": "-1"}
    assert parameters(call).items() >= wanted.items()


def test_logistic_table() -> None:
    found = table_of("LOGISTIC", (1 / 16, 0), (1 / 256, -128))
    assert found == sorted(found)
    assert [found[i] for i in (0, 128, 144, 255)] == [-128, 0, round(256 / (1 + math.exp(-1))) - 128, 127]


def test_tanh_table() -> None:
    found = table_of("TANH", (0.03125, 0), (1 / 128, 0))
    assert found == [min(round(128 * math.tanh(v / 32)), 127) for v in range(-128, 128)]


def test_extreme_scales_saturate() -> None:
    assert set(table_of("LOGISTIC", (100.0, 0), (1 / 256, -128))) == {-128, 0, 127}
    assert set(table_of("LOGISTIC", (1e38, 0), (1 / 256, -128))) == {-128, 0, 127}
    assert set(table_of("TANH", (1e-30, 0), (1 / 128, 7))) == {7}


def test_hard_swish_table() -> None:
    found = table_of("HARD_SWISH", (0.0625, 0), (0.0625, 0))
    assert found[: 128 - 48] == [0] * 80  # up to -3
    assert found[128 + 48 :] == list(range(48, 128))  # from 3 on
    exact = [v / 16 * min(max(v / 16 + 3, 0), 6) / 6 * 16 for v in range(-128, 128)]
    assert max(abs(a - b) for a, b in zip(found, exact, strict=True)) < 1


@pytest.mark.parametrize(("alpha", "below"), [(0.5, -10), (0.0, 0), (-0.25, 5), (2.0, -40)])
def test_leaky_relu_table(alpha: float, below: int) -> None:
    found = table_of("LEAKY_RELU", (0.5, 10), (0.5, 20), alpha=alpha)
    assert found[128 + 10 - 20] == 20 + below
    assert found[128 + 10 :] == [min(v + 10, 127) for v in range(10, 128)]


def test_abs_table() -> None:
    found = table_of("ABS", (0.5, -1), (1.0, -128))
    assert found == [min(-128 + (abs(v + 1) + 1) // 2, 127) for v in range(-128, 128)]


def test_logarithm_of_nothing_is_the_smallest_value() -> None:
    found = table_of("LOG", (0.125, -100), (0.0625, 3))
    assert found[: 128 - 100 + 1] == [-128] * 29
    assert found[128 - 100 + 8] == 3  # of one


def test_exponential_and_gelu_tables() -> None:
    found = table_of("EXP", (0.03125, 0), (0.25, -128))
    assert [found[i] for i in (0, 128, 255)] == [-128, -124, round(4 * math.exp(127 / 32)) - 128]
    exact, approximate = (table_of("GELU", (0.03125, 0), (0.0078125, 0), approximate=a) for a in (False, True))
    assert exact[128] == approximate[128] == 0
    assert 0 < max(abs(a - b) for a, b in zip(exact, approximate, strict=True)) <= 1


def test_tables_depend_on_scales_only() -> None:
    """Nothing of them is in the generated code: the parameters hold the number of elements alone."""
    assert table_of("TANH", (0.1, 0), (1 / 128, 0)) != table_of("TANH", (0.2, 0), (1 / 128, 0))


def test_rounding_of_factors() -> None:
    third = float.fromhex("0x1.555556p-2")
    assert single(1.0 / 3.0) == third
    assert single(single(2.0 * 0.5) / 3.0) == third
    assert single(1e30 / 1e-30) == math.inf
    assert single(1e30 * -1e30) == -math.inf
    assert nearest(math.exp)(89.0) == nearest(math.exp)(1000.0) == math.inf


def test_fixed_point_of_single_values() -> None:
    half = FixedPoint(1 << 30, 0)
    assert [scaled(v, half) for v in (-3, -2, -1, 1, 3)] == [-1, -1, 0, 1, 2]
    assert [rounding_shift(v, 1) for v in (-3, -2, -1, 1, 3)] == [-2, -1, -1, 1, 2]
    assert scaled(255, FixedPoint(-(1 << 30), 3)) == -1020
    with pytest.raises(ValueError, match="too large"):
        scaled(255, FixedPoint(1 << 30, 24))


SMALL = ((4,),)
SCALES = "(look at the scales of its inputs and output)"
REFUSALS: list[tuple[str, Callable[[Graph], None], str]] = [
    (
        "shapes that do not broadcast",
        one("MUL", x=((2, 3),), z=((2,),), y=((2, 3),)),
        "(MUL): shapes [2, 3] and [2] do not broadcast",
    ),
    (
        "output shape",
        one("SUB", x=((2, 3),), z=((3,),), y=((3,),)),
        "(SUB): 'y' int8[3] does not fit its inputs, which give [2, 3]",
    ),
    (
        "too many dimensions",
        one("MAXIMUM", x=((2, 1) * 4,), z=((1, 2) * 4,), y=((2,) * 8,)),
        "(MAXIMUM): broadcasting over 8 dimensions is not supported (at most 6)",
    ),
    (
        "fused activation",
        one("MUL", options={"fused_activation_function": "TANH"}, x=SMALL, z=SMALL, y=SMALL),
        "(MUL): fused activation TANH is not supported (supported: NONE, RELU, RELU6, RELU_N1_TO_1)",
    ),
    (
        "product out of range",
        one("MUL", x=((4,), "int16", 256.0), z=((4,), "int16", 256.0), y=((4,), "int16", 1.0)),
        "(MUL): the scale factor 65536 is too large (less than 1 between inputs and output)",
    ),
    (
        "product beyond float32",
        one("MUL", x=((4,), "int16", 1e30), z=((4,), "int16", 1e30), y=((4,), "int16", 1.0)),
        f"(MUL): the scale factor inf is not a finite number >= 0 {SCALES}",
    ),
    (
        "difference out of range",
        one("SUB", x=((4,), "int8", 2e6), z=SMALL, y=((4,), "int8", 1.0)),
        "(SUB): input scale 2e+06 is more than 524288 times the output scale 1",
    ),
    (
        "square out of range",
        one("SQUARED_DIFFERENCE", x=((4,), "int8", 128.0), z=SMALL, y=((4,), "int8", 1.0)),
        "(SQUARED_DIFFERENCE): input scale 128 squared is more than 4096 times the output scale 1",
    ),
    (
        "maximum of different scales",
        one("MAXIMUM", x=((4,), "int8", 0.5), z=((4,), "int8", 0.25), y=((4,), "int8", 0.5)),
        "(MAXIMUM): input scale 0.25 zero point 0 and output scale 0.5 zero point 0 differ (both must be equal)",
    ),
    (
        "minimum of different zero points",
        one("MINIMUM", x=((4,), "int8", 0.5, 1), z=((4,), "int8", 0.5, 1), y=((4,), "int8", 0.5, 2)),
        "(MINIMUM): input scale 0.5 zero point 1 and output scale 0.5 zero point 2 differ (both must be equal)",
    ),
    (
        "slopes larger than the input",
        one("PRELU", x=((1, 4),), z=((3, 4),), y=((3, 4),)),
        "(PRELU): slopes 'z' int8[3, 4] do not broadcast to 'x' int8[1, 4]",
    ),
    (
        "slopes with scales of their own",
        one("PRELU", x=SMALL, z=((4,), "int8", (0.5,) * 4, 0, bytes(4)), y=SMALL),
        "(PRELU): 'z' int8[4] has 4 scales (activations have one scale per tensor)",
    ),
    (
        "rectifier out of range",
        one("PRELU", x=((4,), "int8", 1e8), z=((4,), "int8", 0.5), y=((4,), "int8", 1.0)),
        "(PRELU): the scale factor 1e+08 is too large (less than 8388608 between inputs and output)",
    ),
    (
        "logistic scale",
        one("LOGISTIC", x=SMALL, y=((4,), "int8", 1 / 128, -128)),
        "(LOGISTIC): output scale 0.0078125 (a logistic has scale 1/256)",
    ),
    (
        "output scale too small",
        one("TANH", x=SMALL, y=((4,), "int8", 1e-12)),
        "(TANH): the input scale 0.5 is too large or the output scale 1e-12 too small: a result is 4.62117e+11 steps "
        "(look at the scales of its input and output)",
    ),
    (
        "exponential out of range",
        one("EXP", x=((4,), "int8", 1.0), y=((4,), "int8", 1.0)),
        "(EXP): the input scale 1 is too large or the output scale 1 too small: a result is 1.31882e+09 steps "
        "(look at the scales of its input and output)",
    ),
    (
        "swish that would have to be enlarged",
        one("HARD_SWISH", x=((4,), "int8", 64.0), y=((4,), "int8", 0.5)),
        "(HARD_SWISH): input scale 64 is not less than 128 times the output scale 0.5",
    ),
    (
        "slope out of range",
        one("LEAKY_RELU", options={"alpha": 1e9}, x=((4,), "int8", 0.5), y=((4,), "int8", 0.5)),
        "(LEAKY_RELU): the scale factor 1e+09 is too large (less than 8388608 between inputs and output)",
    ),
    (
        "slope that is no number",
        one("LEAKY_RELU", options={"alpha": math.nan}, x=SMALL, y=SMALL),
        f"(LEAKY_RELU): the scale factor nan is not a finite number >= 0 {SCALES}",
    ),
]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refusals(make: Callable[[Graph], None], message: str) -> None:
    assert refusal(make) == f"m.tflite: operator 0 {message}"


@pytest.mark.parametrize("kind", TABLES)
def test_shapes_of_single_inputs(kind: str) -> None:
    make = one(kind, options={"alpha": 0.5}, x=((2, 3), "int8", 0.125), y=((3, 2), "int8", 1 / 256, -128))
    assert refusal(make) == (
        f"m.tflite: operator 0 ({kind}): 'y' int8[3, 2] does not fit its inputs, which give [2, 3]"
    )


@pytest.mark.parametrize("kind", TABLES + TWO_INPUTS)
def test_only_quantized_values(kind: str) -> None:
    inputs = {"x": ((4,), "int8", None)} | ({"z": SMALL} if kind in TWO_INPUTS else {})
    assert refusal(one(kind, **inputs, y=SMALL)) == (
        f"m.tflite: operator 0 ({kind}): 'x' int8[4] has no scale (only quantized models are supported)"
    )
    inputs = {"x": ((4,), "bool")} | ({"z": SMALL} if kind in TWO_INPUTS else {})
    assert refusal(one(kind, **inputs, y=SMALL)).startswith(
        f"m.tflite: operator 0 ({kind}): element type bool is not supported: 'x' bool[4]"
    )


@pytest.mark.parametrize("kind", TWO_INPUTS)
def test_both_inputs_are_needed(kind: str) -> None:
    assert refusal(one(kind, x=SMALL, y=SMALL)) == f"m.tflite: operator 0 ({kind}): input 1 is absent"
