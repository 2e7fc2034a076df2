"""int16 activations with int8 weights: which kernels they get, and what is refused."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart_reference.ir import Call, ConstArg, Program
from neuralart_reference.planning.sharing import share
from support.cases.lowering import Graph, lowered, one, parameters, refusal

IMAGE = (1, 4, 4, 2)
SCALE = 1 / 32768


def wide(shape: tuple[int, ...] = (4,), scale: float = 0.3, zero: int = 0) -> tuple[Any, ...]:
    return shape, "int16", scale, zero


def biased(bias: str, *, kind: str = "CONV_2D", **options: str) -> Callable[[Graph], None]:
    """A layer of two units; its weights are of one size in all kinds."""
    shapes = {"CONV_2D": ((2, 1, 1, 2), IMAGE), "DEPTHWISE_CONV_2D": ((1, 1, 1, 2), IMAGE)}
    weights, output = shapes.get(kind, ((2, 2), (16, 2)))
    size = 2 * {"int32": 4, "int64": 8}[bias]
    return one(
        kind,
        options=options,
        x=wide(IMAGE),
        w=(weights, "int8", 0.5, 0, bytes(math.prod(weights))),
        b=((2,), bias, None, 0, bytes(size)),
        y=wide(output),
    )


def calls(make: Callable[[Graph], None]) -> list[Call]:
    return program(make).calls


def program(make: Callable[[Graph], None], **border: tuple[str, ...]) -> Program:
    graph = Graph()
    make(graph)
    written = {index for op in graph.operators for index in op.outputs}
    inputs = [t.index for t in graph.tensors if t.index not in written and t.data is None]
    return lowered(graph, inputs, [len(graph.tensors) - 1], **border)


@pytest.mark.parametrize(
    ("make", "kernel"),
    [
        (biased("int64"), "na_conv2d_s16"),
        (biased("int64", quantized_bias_type="int64"), "na_conv2d_s16"),
        (biased("int32", quantized_bias_type="int32"), "na_conv2d_s16_b32"),
        (biased("int64", kind="DEPTHWISE_CONV_2D"), "na_depthwise_conv2d_s16"),
        (biased("int64", kind="FULLY_CONNECTED"), "na_fully_connected_s16"),
        (biased("int32", kind="FULLY_CONNECTED", quantized_bias_type="int32"), "na_fully_connected_s16_b32"),
    ],
)
def test_the_bias_names_the_width_of_sums(make: Callable[[Graph], None], kernel: str) -> None:
    (call,) = calls(make)
    bias = call.args[2]
    assert isinstance(bias, ConstArg)
    assert (call.kernel, bias.ctype) == (kernel, "int32_t" if kernel.endswith("b32") else "int64_t")
    limits = parameters(call)
    assert (limits["activation_min"], limits["activation_max"]) == ("-32768", "32767")


def test_tables_of_a_softmax_end_where_their_functions_do() -> None:
    (call,) = calls(one("SOFTMAX", x=wide((2, 4), 1e-3), y=wide((2, 4), SCALE)))
    made = [struct.unpack("<513h", arg.data) for arg in call.args if isinstance(arg, ConstArg)]
    assert [(points[0], points[-1]) for points in made] == [(2, 32767), (32767, 16384)]
    assert list(made[0]) == sorted(made[0]) and list(made[1]) == sorted(made[1], reverse=True)


def test_results_lie_over_what_they_are_made_of() -> None:
    def make(graph: Graph) -> None:
        names = [graph.tensor(name, *wide(scale=0.1 * (n + 3))) for n, name in enumerate("xabcy")]
        for kind, source, target in zip(("RELU", "ADD", "MUL", "RELU"), names, names[1:], strict=False):
            inputs = [source] if kind == "RELU" else [source, source]
            graph.op(kind, inputs, [target], pot_scale_int16=False)

    made = share(program(make))
    assert {made.root(number) for number in (1, 2, 3)} == {1}


def test_a_pad_of_int16_becomes_a_part_of_the_convolution() -> None:
    def make(graph: Graph) -> None:
        x, p = graph.tensor("x", *wide((1, 4, 4, 1))), graph.tensor("p", *wide((1, 6, 6, 1)))
        pads = graph.tensor("n", (4, 2), "int32", None, 0, struct.pack("<8i", 0, 0, 1, 1, 1, 1, 0, 0))
        w = graph.tensor("w", (1, 3, 3, 1), "int8", 0.5, 0, bytes(9))
        graph.op("PAD", [x, pads], [p])
        graph.op("CONV_2D", [p, w, -1], [graph.tensor("y", *wide((1, 4, 4, 1)))], padding="VALID")

    (call,) = calls(make)
    assert (call.kernel, parameters(call)["pad_top"]) == ("na_conv2d_s16", "1")


def test_the_application_may_have_floats() -> None:
    make = one("RELU", x=wide(), y=wide())
    made = program(make, input_dtypes=("float32",), output_dtypes=("float32",))
    assert [call.kernel for call in made.calls] == [
        "na_quantize_f32_s16",
        "na_requantize_s16_s16",
        "na_dequantize_s16_f32",
    ]
    with pytest.raises(NeuralArtError, match=r"--input-data-type int8: 'x' int16\[4\] is not an int8 or uint8 tensor"):
        program(make, input_dtypes=("int8",))


REFUSALS = {
    "zero point": (one("RELU", x=wide(zero=3), y=wide()), "zero point 3 of 'x' int16[4] (int16 has zero point 0)"),
    "result in 8 bits": (
        one("RELU", x=wide(), y=((4,),)),
        "element type int8 is not supported: 'y' int8[4] (supported: int16)",
    ),
    "sum of both": (
        one("ADD", options={"pot_scale_int16": False}, x=wide(), z=((4,),), y=wide()),
        "element type int8 is not supported: 'z' int8[4] (supported: int16)",
    ),
    "bias of 32 bits": (biased("int32"), "biases of type int32 are not supported: 'b' int32[2] (supported: int64)"),
    "bias of 64 bits": (
        biased("int64", quantized_bias_type="int32"),
        "biases of type int64 are not supported: 'b' int64[2] (supported: int32)",
    ),
    "depthwise": (
        biased("int32", kind="DEPTHWISE_CONV_2D"),
        "biases of type int32 are not supported: 'b' int32[2] (supported: int64)",
    ),
    "large factor": (
        one("CONV_2D", x=wide(IMAGE, 300.0), w=((1, 1, 1, 2), "int8", 0.5, 0, bytes(2)), y=wide((1, 4, 4, 1), 0.5)),
        "the scale factor 300 is not below the limit of 2**7 (look at the scales of its inputs and output)",
    ),
    "powers of two": (
        one("SUB", x=wide(scale=0.5), z=wide(scale=0.25), y=wide(scale=1.0)),
        "int16 with scales that are all powers of two is not supported (the kernel of LSTM cells; supported: "
        "pot_scale_int16 false in the model)",
    ),
    "large product": (
        one("MUL", x=wide(), z=wide(), y=wide(scale=0.01)),
        "the scale factor 9 is too large (less than 1 between inputs and output)",
    ),
    "scale of a softmax": (
        one("SOFTMAX", x=wide(), y=wide()),
        "output scale 0.3 (a softmax of int16 has scale 1/32768)",
    ),
    "sharp softmax": (
        one("SOFTMAX", x=wide(scale=6.0), y=wide(scale=SCALE)),
        "the scale factor 39321 is too large (less than 32768 between inputs and output)",
    ),
    "scale of a logistic": (
        one("LOGISTIC", x=wide(), y=wide()),
        "output scale 0.3 (a logistic of int16 has scale 1/32768)",
    ),
    "steep tanh": (
        one("TANH", x=wide(scale=6.0), y=wide(scale=SCALE)),
        "input scale 6 is too large (less than 5.33333)",
    ),
    "no such kernel": (
        one("RELU_N1_TO_1", x=wide(), y=wide()),
        "int16 activations are not supported: 'x' int16[4] (supported: int8 and uint8)",
    ),
    "to uint8": (
        one("QUANTIZE", x=wide(), y=((4,), "uint8")),
        "'x' int16[4] to 'y' uint8[4] is not supported (supported: int16 to int8 and int16)",
    ),
    "large window": (
        one("AVERAGE_POOL_2D", options={"filter_height": 256, "filter_width": 256}, x=wide(IMAGE), y=wide(IMAGE)),
        "a window of 256 x 256 is not supported (at most 32768 elements)",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    make, message = REFUSALS[name]
    assert refusal(make).partition("): ")[2] == message
