"""Transposed convolution, mean and resizing: what they become, and what is refused in which words."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neuralart_reference.ir import Call, ConstArg, Null, TensorArg
from neuralart_reference.operators.mean import Group, groups
from support.cases.lowering import Graph, lowered, one, parameters, refusal

Described = tuple[Any, ...]


def ints(*values: int) -> Described:
    """A constant int32 vector."""
    return ((len(values),), "int32", None, 0, struct.pack(f"<{len(values)}i", *values))


def unpacked(arg: object) -> list[int]:
    assert isinstance(arg, ConstArg) and (arg.ctype, arg.tensor) == ("int32_t", None)
    return list(struct.unpack(f"<{len(arg.data) // 4}i", arg.data))


def call_of(make: Callable[[Graph], None]) -> Call:
    """The operator's call, without conversions at the border."""
    graph = Graph()
    make(graph)
    inputs = [t.index for t in graph.tensors if t.name == "x"]
    (call,) = [c for c in lowered(graph, inputs, [len(graph.tensors) - 1]).calls if c.operator == 0]
    return call


# ---- transposed convolution


def transposed(**changes: Any) -> Callable[[Graph], None]:
    """2x3x2 -> 4x6x3 with a 3x3 kernel and strides of 2; changes replace tensors or options."""
    tensors: dict[str, Described] = {
        "shape": ints(1, 4, 6, 3),
        "w": ((3, 3, 3, 2), "int8", (0.25, 0.5, 1.0), 0, bytes(54)),
        "x": ((1, 2, 3, 2), "int8", 0.5, 5),
        "b": ((3,), "int32", None, 0, bytes(12)),
        "y": ((1, 4, 6, 3), "int8", 0.5, -7),
    }
    options = {"stride_h": 2, "stride_w": 2, **changes.pop("options", {})}
    tensors.update(changes)
    return one("TRANSPOSE_CONV", options=options, **tensors)


def test_transposed_convolution() -> None:
    call = call_of(transposed(options={"fused_activation_function": "RELU6"}))
    assert (call.kernel, call.reads, call.writes, call.scratch) == ("na_transpose_conv_s8", (2,), (4,), 0)
    assert call.macc == 2 * 3 * 2 * 3 * 3 * 3
    source, weights, bias, multiplier, shift, target, _ = call.args
    assert (source, target) == (TensorArg(2, "int8_t"), TensorArg(4, "int8_t", written=True))
    assert isinstance(weights, ConstArg) and (weights.tensor, weights.label) == (1, "transpose_conv_0_weights")
    assert isinstance(bias, ConstArg) and bias.tensor == 3
    assert (unpacked(multiplier), unpacked(shift)) == ([1 << 30] * 3, [-1, 0, 1])
    wanted = {
        "input_height": "2",
        "input_channels": "2",
        "output_width": "6",
        "output_channels": "3",
        "stride_height": "2",
        "pad_top": "0",
        "pad_left": "0",
        "input_offset": "-5",
        "filter_offset": "0",
        "output_offset": "-7",
        "activation_min": "-7",
        "activation_max": "5",
    }
    assert parameters(call).items() >= wanted.items()


@pytest.mark.parametrize(
    ("padding", "output", "pad"), [("SAME", 3, 1), ("SAME", 4, 0), ("VALID", 5, 0), ("VALID", 6, 0)]
)
def test_padding_of_the_way_back(padding: str, output: int, pad: int) -> None:
    shapes: dict[str, Described] = {"shape": ints(1, output, 6, 3), "y": ((1, output, 6, 3),)}
    if padding == "VALID":
        shapes = {"shape": ints(1, output, 7, 3), "y": ((1, output, 7, 3),)}
    call = call_of(transposed(options={"padding": padding}, **shapes))
    assert parameters(call).items() >= {"output_height": str(output), "pad_top": str(pad), "pad_left": "0"}.items()


@pytest.mark.parametrize("inputs", [(0, 1, 2), (0, 1, 2, -1)])
def test_transposed_convolution_without_bias(inputs: Sequence[int]) -> None:
    graph = Graph()
    transposed()(graph)
    operator = graph.operators.pop()
    graph.op("TRANSPOSE_CONV", inputs, operator.outputs, **operator.options)
    (call,) = lowered(graph, [2], [4]).calls
    assert call.args[2] == Null()


def test_unsigned_filter_has_an_offset() -> None:
    call = call_of(
        transposed(
            w=((3, 3, 3, 2), "uint8", 0.5, 131, bytes(54)),
            x=((1, 2, 3, 2), "uint8", 0.5, 5),
            y=((1, 4, 6, 3), "uint8", 0.5, 9),
        )
    )
    assert parameters(call)["filter_offset"] == "-3"


# ---- mean


@pytest.mark.parametrize(
    ("shape", "axes", "kept", "summed"),
    [
        ((), (), [], []),
        ((1, 1), (0,), [], []),
        ((1, 4, 5, 6), (1, 2), [(6, 1)], [(20, 6)]),
        ((2, 4, 5, 6), (1, 2), [(2, 120), (6, 1)], [(20, 6)]),
        ((2, 4, 5, 6), (3,), [(40, 6)], [(6, 1)]),
        ((2, 4, 1, 6), (1, 3), [(2, 24)], [(24, 1)]),
        ((2, 3, 4, 5, 6, 7), (0, 2, 4), [(3, 840), (5, 42), (7, 1)], [(2, 2520), (4, 210), (6, 7)]),
    ],
)
def test_neighboring_dimensions_are_joined(
    shape: tuple[int, ...], axes: tuple[int, ...], kept: list[tuple[int, int]], summed: list[tuple[int, int]]
) -> None:
    assert groups(shape, frozenset(axes)) == ([Group(*g) for g in kept], [Group(*g) for g in summed])


def mean_of(scale: float, output_scale: float, count: int) -> dict[str, str]:
    make = one("MEAN", x=((count, 3), "int8", scale, 4), axes=ints(0), y=((3,), "int8", output_scale, 9))
    return parameters(call_of(make))


def test_mean() -> None:
    make = one("MEAN", options={"keep_dims": True}, x=((2, 4, 5, 6),), axes=ints(-2, 1, 1), y=((2, 1, 1, 6),))
    call = call_of(make)
    assert (call.kernel, call.reads, call.writes, call.macc) == ("na_mean_s8", (0,), (2,), 240)
    wanted = {
        "kept": "{1, 2, 6}",
        "kept_stride": "{0, 120, 1}",
        "summed": "{1, 1, 20}",
        "summed_stride": "{0, 0, 6}",
        "sum_offset": "0",
        "multiplier": str((1 << 34) // 20),
        "shift": "-3",
    }
    assert parameters(call).items() >= wanted.items()


@pytest.mark.parametrize(
    ("scale", "output_scale", "count", "multiplier", "shift"),
    [
        (0.5, 0.5, 1, 1 << 30, 1),
        (0.5, 0.5, 8, 1 << 30, -2),
        (0.5, 0.5, 7, (1 << 32) // 7, -1),
        # A shift to the right by 31 is the most there is: the multiplier loses bits then.
        (2.0**-20, 2.0**10, 12, (1 << 32) // 12, -31),
        (2.0**-20, 2.0**11, 12, (1 << 31) // 12, -31),
        (2.0**-20, 2.0**12, 12, (1 << 30) // 12, -31),
        (2.0**-20, 2.0**13, 12, 0, 0),
    ],
)
def test_the_factor_contains_the_division(
    scale: float, output_scale: float, count: int, multiplier: int, shift: int
) -> None:
    found = mean_of(scale, output_scale, count)
    assert (found["sum_offset"], found["output_offset"]) == (str(-4 * count), "9")
    if multiplier:
        assert (found["multiplier"], found["shift"]) == (str(multiplier), str(shift))
    else:
        assert found["multiplier"] == "0"


def test_an_axis_may_be_a_scalar() -> None:
    make = one("MEAN", x=((3, 4),), axes=((), "int32", None, 0, struct.pack("<i", -1)), y=((3,),))
    assert parameters(call_of(make))["summed"] == "{1, 1, 4}"


# ---- resizing


def resized(kind: str, before: int, after: int, *, align: bool = False, centers: bool = False) -> Call:
    """One column of so many rows to another number of rows, and two columns to two."""
    options = {"align_corners": align, "half_pixel_centers": centers}
    return call_of(one(kind, options=options, x=((1, before, 2, 3),), size=ints(after, 2), y=((1, after, 2, 3),)))


@pytest.mark.parametrize(
    ("before", "after", "align", "centers", "rows"),
    [
        (2, 4, False, False, [0, 0, 1, 1]),
        (3, 2, False, False, [0, 1]),
        (2, 4, True, False, [0, 0, 1, 1]),
        (3, 5, True, False, [0, 1, 1, 2, 2]),  # halves away from zero
        (5, 1, True, False, [0]),
        (3, 7, False, True, [0, 0, 1, 1, 1, 2, 2]),
        (2, 2, True, True, [1, 1]),
        (4, 1, True, True, [2]),
    ],
)
def test_nearest_rows(before: int, after: int, align: bool, centers: bool, rows: list[int]) -> None:
    call = resized("RESIZE_NEAREST_NEIGHBOR", before, after, align=align, centers=centers)
    assert (call.kernel, call.macc, len(call.args)) == ("na_resize_nearest_s8", after * 6, 5)
    assert unpacked(call.args[1]) == rows
    wanted = {"input_height": str(before), "output_height": str(after), "input_width": "2", "channels": "3"}
    assert parameters(call).items() >= wanted.items()


@pytest.mark.parametrize(
    ("before", "after", "align", "centers", "scale", "offset"),
    [
        (2, 4, False, False, 512, 0),
        (3, 7, False, False, 439, 0),
        (2, 4, True, False, 341, 0),
        (5, 1, True, False, 5120, 0),
        (2, 4, False, True, 512, -256),
        (4, 2, False, True, 2048, 512),
    ],
)
def test_bilinear_rows(before: int, after: int, align: bool, centers: bool, scale: int, offset: int) -> None:
    call = resized("RESIZE_BILINEAR", before, after, align=align, centers=centers)
    assert (call.kernel, call.macc) == ("na_resize_bilinear_s8", after * 24)
    wanted = {"row_scale": str(scale), "row_offset": str(offset), "column_scale": "1024", "column_offset": "0"}
    assert parameters(call).items() >= wanted.items()


def test_bilinear_of_unsigned_values_is_real() -> None:
    tensor = ((1, 2, 2, 3), "uint8", 0.5, 3)
    call = call_of(one("RESIZE_BILINEAR", x=tensor, size=ints(4, 2), y=((1, 4, 2, 3), "uint8", 0.5, 3)))
    assert parameters(call).items() >= {"height_scale": "0x1.0000000000000p-1f", "half_pixel_centers": "0"}.items()


# ---- refusals

IMAGE = ((1, 2, 2, 3),)
LARGER = ((1, 4, 4, 3),)


def bilinear(**changes: Any) -> Callable[[Graph], None]:
    tensors = {"x": IMAGE, "size": ints(4, 4), "y": LARGER, **changes}
    return one("RESIZE_BILINEAR", options=tensors.pop("options", {}), **tensors)


REFUSALS: list[tuple[str, Callable[[Graph], None], str]] = [
    (
        "shape that is computed",
        transposed(shape=((4,), "int32", None)),
        "(TRANSPOSE_CONV): output shapes must be constant: 'shape' int32[4] is computed while the network runs",
    ),
    (
        "shape of another type",
        transposed(shape=((4,), "int64", None, 0, bytes(32))),
        "(TRANSPOSE_CONV): output shapes of type int64 are not supported: 'shape' int64[4] (supported: int32)",
    ),
    (
        "shape of another output",
        transposed(shape=ints(1, 4, 5, 3)),
        "(TRANSPOSE_CONV): 'y' int8[1, 4, 6, 3] does not fit its inputs, which give [1, 4, 5, 3]",
    ),
    (
        "an output that is too large",
        transposed(shape=ints(1, 5, 6, 3), y=((1, 5, 6, 3),)),
        "(TRANSPOSE_CONV): 'y' int8[1, 5, 6, 3] does not fit 'x' int8[1, 2, 3, 2]: 3 taps with stride 2 and SAME "
        "padding make 5 of 3, not of 2",
    ),
    (
        "an output smaller than the kernel",
        transposed(shape=ints(1, 2, 6, 3), y=((1, 2, 6, 3),), options={"padding": "VALID"}),
        "(TRANSPOSE_CONV): 'y' int8[1, 2, 6, 3] does not fit 'x' int8[1, 2, 3, 2]: 3 taps with stride 2 and VALID "
        "padding make 2 of 0, not of 2",
    ),
    (
        "other batches",
        transposed(shape=ints(2, 4, 6, 3), y=((2, 4, 6, 3),)),
        "(TRANSPOSE_CONV): 'y' int8[2, 4, 6, 3] does not fit its inputs, which give [1, 4, 6, 3]",
    ),
    (
        "other channels",
        transposed(shape=ints(1, 4, 6, 4), y=((1, 4, 6, 4),)),
        "(TRANSPOSE_CONV): 'y' int8[1, 4, 6, 4] does not fit its inputs, which give [1, 4, 6, 3]",
    ),
    (
        "weights of other inputs",
        transposed(w=((3, 3, 3, 4), "int8", 0.5, 0, bytes(108))),
        "(TRANSPOSE_CONV): weights 'w' int8[3, 3, 3, 4] do not fit 'x' int8[1, 2, 3, 2] "
        "(expected [outputs, height, width, 2])",
    ),
    (
        "weights of three dimensions",
        transposed(w=((3, 3, 6), "int8", 0.5, 0, bytes(54))),
        "(TRANSPOSE_CONV): 'w' int8[3, 3, 6] has 3 dimensions, expected 4",
    ),
    (
        "weights that are computed",
        transposed(w=((3, 3, 3, 2),)),
        "(TRANSPOSE_CONV): weights must be constant: 'w' int8[3, 3, 3, 2] is computed while the network runs",
    ),
    (
        "asymmetric weights",
        transposed(w=((3, 3, 3, 2), "int8", 0.5, 3, bytes(54))),
        "(TRANSPOSE_CONV): weights 'w' int8[3, 3, 3, 2] have a zero point other than 0 (their zero points must be 0)",
    ),
    (
        "scales of another dimension",
        transposed(w=((3, 3, 3, 2), "int8", (0.5, 0.5, 0.5), 0, bytes(54), 1)),
        "(TRANSPOSE_CONV): weights 'w' int8[3, 3, 3, 2] have 3 scales along dimension 1 "
        "(expected one scale, or 3 along dimension 0)",
    ),
    (
        "bias length",
        transposed(b=((4,), "int32", None, 0, bytes(16))),
        "(TRANSPOSE_CONV): bias 'b' int32[4] has 4 elements, expected 3",
    ),
    ("no stride", transposed(options={"stride_h": 0}), "(TRANSPOSE_CONV): stride_h is 0, expected at least 1"),
    (
        "padding",
        transposed(options={"padding": "EXPLICIT"}),
        "(TRANSPOSE_CONV): padding EXPLICIT is not supported (supported: SAME, VALID)",
    ),
    (
        "activation",
        transposed(options={"fused_activation_function": "TANH"}),
        "(TRANSPOSE_CONV): fused activation TANH is not supported (supported: NONE, RELU, RELU6, RELU_N1_TO_1)",
    ),
    (
        "axes that are computed",
        one("MEAN", x=((3, 4),), axes=((1,), "int32", None), y=((3,),)),
        "(MEAN): axes must be constant: 'axes' int32[1] is computed while the network runs",
    ),
    (
        "no such axis",
        one("MEAN", x=((3, 4),), axes=ints(-3), y=((3,),)),
        "(MEAN): axis -3 of 'x' int8[3, 4] (expected -2 to 1)",
    ),
    (
        "dimensions that are not kept",
        one("MEAN", options={"keep_dims": True}, x=((3, 4),), axes=ints(1), y=((3,),)),
        "(MEAN): 'y' int8[3] does not fit its inputs, which give [3, 1]",
    ),
    (
        "axes in four places",
        one("MEAN", x=((2,) * 8,), axes=ints(0, 2, 4, 6), y=((2,) * 4,)),
        "(MEAN): 4 separate groups of kept dimensions in 'x' int8[2, 2, 2, 2, 2, 2, 2, 2] (at most 3)",
    ),
    (
        "sum of int16",
        one("SUM", x=((3, 4), "int16"), axes=ints(1), y=((3,), "int16")),
        "(SUM): int16 activations are not supported: 'x' int16[3, 4] (supported: int8 and uint8)",
    ),
    (
        "size that is computed",
        bilinear(size=((2,), "int32", None)),
        "(RESIZE_BILINEAR): sizes must be constant: 'size' int32[2] is computed while the network runs",
    ),
    (
        "size of three",
        bilinear(size=ints(4, 4, 3)),
        "(RESIZE_BILINEAR): size [4, 4, 3] has 3 values, expected height and width",
    ),
    (
        "size of another output",
        bilinear(size=ints(4, 5)),
        "(RESIZE_BILINEAR): 'y' int8[1, 4, 4, 3] does not fit its inputs, which give [1, 4, 5, 3]",
    ),
    (
        "resizing of rows",
        bilinear(x=((2, 2, 3),)),
        "(RESIZE_BILINEAR): 'x' int8[2, 2, 3] has 3 dimensions, expected 4 (N, H, W, C)",
    ),
    (
        "both flags",
        bilinear(options={"align_corners": True, "half_pixel_centers": True}),
        "(RESIZE_BILINEAR): align_corners and half_pixel_centers are both set (LiteRT has no such resizing either)",
    ),
    (
        "resizing that rescales",
        bilinear(y=((1, 4, 4, 3), "int8", 0.25)),
        "(RESIZE_BILINEAR): input scale 0.5 zero point 0 and output scale 0.25 zero point 0 differ "
        "(both must be equal)",
    ),
    (
        "a scale that is rounded up too far",
        bilinear(x=((1, 1, 1, 1),), size=ints(1100, 1), y=((1, 1100, 1, 1),)),
        "(RESIZE_BILINEAR): resizing 1 to 1100 is beyond the precision of LiteRT's fixed point: it ends at 1 "
        "(the last position is 0)",
    ),
    (
        "too many rows",
        bilinear(x=((1, 1 << 21, 1, 1),), size=ints(1, 1), y=((1, 1, 1, 1),)),
        "(RESIZE_BILINEAR): 2097152 rows or columns are not supported (at most 1048576)",
    ),
    (
        "nearest to float",
        one("RESIZE_NEAREST_NEIGHBOR", x=IMAGE, size=ints(4, 4), y=(LARGER[0], "float32")),
        "(RESIZE_NEAREST_NEIGHBOR): element type float32 is not supported: 'y' float32[1, 4, 4, 3] (supported: int8)",
    ),
]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refusals(make: Callable[[Graph], None], message: str) -> None:
    assert refusal(make) == f"m.tflite: operator 0 {message}"
