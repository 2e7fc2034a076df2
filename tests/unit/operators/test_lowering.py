"""From a model to kernel calls: what comes out, and what is refused in which words."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from neuralart.errors import NeuralArtError
from neuralart_reference.data_movement import broadcast
from neuralart_reference.ir import ConstArg, Null, TensorArg
from neuralart_reference.model.graph import Quantization
from neuralart_reference.operators import every
from support.cases.lowering import Graph, lowered, one, parameters
from support.servers.messages import flat


def convolution(graph: Graph, **changes: Any) -> tuple[int, int]:
    """4x4x2 -> 4x4x3 with a 3x3 kernel; changes replace arguments of the tensors or options."""
    x = graph.tensor(*changes.get("x", ("x", (1, 4, 4, 2))))
    w = graph.tensor(*changes.get("w", ("w", (3, 3, 3, 2), "int8", (0.25, 0.5, 1.0), 0, bytes(54))))
    b = graph.tensor(*changes.get("b", ("b", (3,), "int32", None, 0, bytes(12))))
    y = graph.tensor(*changes.get("y", ("y", (1, 4, 4, 3))))
    graph.op(changes.get("kind", "CONV_2D"), changes.get("inputs", (x, w, b)), (y,), **changes.get("options", {}))
    return x, y


# ---- structure


def test_convolution() -> None:
    graph = Graph()
    x, y = convolution(graph, options={"fused_activation_function": "RELU"})
    program = lowered(graph, [x], [y])
    (call,) = program.calls
    assert (call.operator, call.kind, call.kernel) == (0, "CONV_2D", "na_conv2d_s8")
    assert (call.reads, call.writes, call.scratch) == ((x,), (y,), 0)
    assert call.macc == 4 * 4 * 3 * 3 * 3 * 2
    source, weights, bias, multiplier, shift, target, _ = call.args
    assert source == TensorArg(x, "int8_t")
    assert target == TensorArg(y, "int8_t", written=True)
    assert isinstance(weights, ConstArg) and (weights.tensor, weights.label) == (1, "conv_2d_0_weights")
    assert isinstance(bias, ConstArg) and (bias.tensor, bias.ctype) == (2, "int32_t")
    assert isinstance(multiplier, ConstArg) and isinstance(shift, ConstArg)
    assert struct.unpack("<3i", multiplier.data) == (1 << 30, 1 << 30, 1 << 30)
    assert struct.unpack("<3i", shift.data) == (-1, 0, 1)
    assert (multiplier.tensor, multiplier.label) == (None, "conv_2d_0_multiplier")
    wanted = {"pad_top": "1", "pad_left": "1", "activation_min": "0", "activation_max": "127", "kernel_channels": "2"}
    assert parameters(call).items() >= wanted.items()


def test_parameters_do_not_depend_on_weights_or_channel_scales() -> None:
    """Only then does a change of weights leave the generated C as it is."""
    made = []
    for fill, scales in ((b"\1", (0.25, 0.5, 1.0)), (b"\7", (0.75, 0.3125, 2.0))):
        graph = Graph()
        x, y = convolution(graph, w=("w", (3, 3, 3, 2), "int8", scales, 0, fill * 54))
        made.append(parameters(lowered(graph, [x], [y]).calls[0]))
    assert made[0] == made[1]


def test_absent_bias_is_null() -> None:
    for inputs in ((0, 1), (0, 1, -1)):
        graph = Graph()
        x, y = convolution(graph, inputs=inputs)
        assert lowered(graph, [x], [y]).calls[0].args[2] == Null()


def test_one_scale_serves_all_channels() -> None:
    graph = Graph()
    x, y = convolution(graph, w=("w", (3, 3, 3, 2), "int8", 0.5, 0, bytes(54)))
    multiplier = lowered(graph, [x], [y]).calls[0].args[3]
    assert isinstance(multiplier, ConstArg) and multiplier.data == struct.pack("<3i", *[1 << 30] * 3)


def test_fully_connected_keeps_real_factors() -> None:
    graph = Graph()
    x = graph.tensor("x", (2, 3))
    w = graph.tensor("w", (4, 3), "int8", 0.125, 7, bytes(12))
    y = graph.tensor("y", (2, 4))
    graph.op("FULLY_CONNECTED", (x, w, -1), (y,))
    (call,) = lowered(graph, [x], [y]).calls
    scale = call.args[3]
    assert isinstance(scale, ConstArg) and (scale.ctype, scale.data) == ("double", struct.pack("<d", 0.125))
    assert call.macc == 2 * 4 * 3
    wanted = {"batches": "2", "depth": "3", "units": "4", "filter_offset": "-7", "per_channel": "0"}
    assert parameters(call).items() >= wanted.items()


def test_constant_operand_is_data() -> None:
    graph = Graph()
    x = graph.tensor("x", (2, 2))
    c = graph.tensor("c", (2,), "int8", 0.5, 0, b"\1\2")
    y = graph.tensor("y", (2, 2))
    graph.op("ADD", (c, x), (y,))
    (call,) = lowered(graph, [x], [y]).calls
    assert isinstance(call.args[0], ConstArg) and call.args[0].tensor == c
    assert (call.reads, call.writes) == ((x,), (y,))
    assert parameters(call)["broadcast"] == (
        "{.shape = {1, 1, 1, 1, 2, 2}, .stride1 = {0, 0, 0, 0, 0, 1}, .stride2 = {0, 0, 0, 0, 2, 1}}"
    )


@pytest.mark.parametrize(
    ("first", "second", "shape", "stride1", "stride2"),
    [
        ((2, 3, 4), (2, 3, 4), (24,), (1,), (1,)),
        ((), (), (1,), (1,), (1,)),
        ((5,), (), (5,), (1,), (0,)),
        ((1, 1), (1, 1, 1), (1,), (1,), (1,)),
        ((2, 3, 4), (4,), (6, 4), (4, 1), (0, 1)),
        ((2, 1, 4), (1, 3, 1), (2, 3, 4), (4, 0, 1), (0, 1, 0)),
        ((2, 3, 1, 5), (2, 3, 4, 5), (6, 4, 5), (5, 0, 1), (20, 5, 1)),
    ],
)
def test_broadcast_joins_dimensions(
    first: tuple[int, ...],
    second: tuple[int, ...],
    shape: tuple[int, ...],
    stride1: tuple[int, ...],
    stride2: tuple[int, ...],
) -> None:
    walk = broadcast(first, second)
    assert (walk.shape, walk.stride1, walk.stride2) == (shape, stride1, stride2)


def reshape_chain(*kinds: str) -> tuple[Graph, list[int]]:
    graph = Graph()
    numbers = [graph.tensor("t0", (1, 4))]
    for kind in kinds:
        numbers.append(graph.tensor(f"t{len(numbers)}", (2, 2) if kind == "RESHAPE" else graph.tensors[-1].shape))
        graph.op(kind, (numbers[-2],), (numbers[-1],))
    return graph, numbers


def test_reshape_shares_memory() -> None:
    graph, n = reshape_chain("RELU", "RESHAPE", "RELU")
    program = lowered(graph, [n[0]], [n[3]])
    assert [call.operator for call in program.calls] == [0, 2]
    assert program.aliases == {n[2]: n[1]}


def test_reshape_of_an_input_and_to_an_output_shares_memory() -> None:
    graph, n = reshape_chain("RESHAPE", "RELU", "RESHAPE")
    assert lowered(graph, [n[0]], [n[3]]).aliases == {n[1]: n[0], n[3]: n[2]}


@pytest.mark.parametrize("kinds", [("RESHAPE",), ("RESHAPE", "RESHAPE")])
def test_reshape_between_input_and_output_copies(kinds: tuple[str, ...]) -> None:
    graph, n = reshape_chain(*kinds)
    program = lowered(graph, [n[0]], [n[-1]])
    (call,) = program.calls
    assert (call.kernel, call.writes, parameters(call)) == ("na_copy_8", (n[-1],), {"count": "4"})
    assert n[-1] not in program.aliases


def test_two_outputs_never_share_memory() -> None:
    graph, n = reshape_chain("RELU", "RESHAPE")
    program = lowered(graph, [n[0]], [n[2], n[1]])
    assert [call.kernel for call in program.calls] == ["na_requantize_s8_s8", "na_copy_8"]
    assert not program.aliases
    graph, n = reshape_chain("RELU", "RESHAPE", "RESHAPE")
    program = lowered(graph, [n[0]], [n[2], n[3]])
    assert [call.kernel for call in program.calls] == ["na_requantize_s8_s8", "na_copy_8"]
    assert program.aliases == {n[2]: n[1]}


# ---- border


def relu_graph(dtype: str = "int8") -> tuple[Graph, int, int]:
    graph = Graph()
    x, y = graph.tensor("x", (1, 2, 2, 3), dtype, 0.5, 3), graph.tensor("y", (1, 2, 2, 3), "int8", 0.25, -4)
    graph.op("RELU" if dtype == "int8" else "QUANTIZE", (x,), (y,))
    return graph, x, y


def test_same_types_add_nothing() -> None:
    graph, x, y = relu_graph()
    program = lowered(graph, [x], [y], input_dtypes=("int8",), output_dtypes=("int8",), inputs_ch_position=("chlast",))
    assert (len(program.calls), len(program.tensors), program.inputs, program.outputs) == (1, 2, (x,), (y,))


def test_unsigned_border() -> None:
    graph, x, y = relu_graph()
    program = lowered(graph, [x], [y], input_dtypes=("uint8",), output_dtypes=("uint8",))
    assert [(call.operator, call.kernel) for call in program.calls] == [
        (-1, "na_flip_sign_8"),
        (0, "na_requantize_s8_s8"),
        (-1, "na_flip_sign_8"),
    ]
    first, last = program.tensors[program.inputs[0]], program.tensors[program.outputs[0]]
    assert (first.name, first.dtype, first.quantization) == ("x", "uint8", Quantization((0.5,), (131,)))
    assert (last.name, last.dtype, last.quantization) == ("y", "uint8", Quantization((0.25,), (124,)))
    assert (first.shape, first.index, last.index) == ((1, 2, 2, 3), 2, 3)
    assert (program.calls[0].reads, program.calls[0].writes) == ((2,), (x,))
    assert (program.calls[2].reads, program.calls[2].writes) == ((y,), (3,))


def test_float_border() -> None:
    graph, x, y = relu_graph()
    program = lowered(graph, [x], [y], input_dtypes=("float32",), output_dtypes=("float32",))
    assert [call.kernel for call in program.calls] == [
        "na_quantize_f32_s8",
        "na_requantize_s8_s8",
        "na_dequantize_s8_f32",
    ]
    assert parameters(program.calls[0]) == {"count": "12", "scale": "0x1.0000000000000p-1f", "zero_point": "3"}
    assert parameters(program.calls[2]) == {"count": "12", "scale": "0x1.0000000000000p-2f", "zero_point": "-4"}
    assert program.tensors[program.inputs[0]].quantization is None


def test_signed_border_of_an_unsigned_input() -> None:
    graph, x, y = relu_graph("uint8")
    program = lowered(graph, [x], [y], input_dtypes=("int8",))
    assert program.tensors[program.inputs[0]].quantization == Quantization((0.5,), (-125,))


def test_converted_border_frees_the_tensor_for_sharing() -> None:
    """The model's own input is no longer a buffer of the application."""
    graph, n = reshape_chain("RESHAPE")
    program = lowered(graph, [n[0]], [n[1]], input_dtypes=("uint8",))
    assert [call.kernel for call in program.calls] == ["na_flip_sign_8"]
    assert program.aliases == {n[1]: n[0]}


@pytest.mark.parametrize("shape", [(1, 4, 4, 1), (1, 1, 1, 8), (1, 7), (3,)])
def test_channels_first_where_it_is_the_same(shape: tuple[int, ...]) -> None:
    graph = Graph()
    x, y = graph.tensor("x", shape), graph.tensor("y", shape)
    graph.op("RELU", (x,), (y,))
    assert len(lowered(graph, [x], [y], inputs_ch_position=("chfirst",), outputs_ch_position=("chfirst",)).calls) == 1


BORDER_ERRORS: list[tuple[dict[str, tuple[str, ...]], str]] = [
    (
        {"input_dtypes": ("uint9",)},
        "m.tflite: --input-data-type 'uint9' is unknown (did you mean 'uint8'? known: float32, int32, int8, uint8)",
    ),
    (
        {"output_dtypes": ("int8", "int8")},
        "m.tflite: --output-data-type has 2 values, the model has 1 outputs (give one)",
    ),
    (
        {"inputs_ch_position": ("chfirst",)},
        "m.tflite: --inputs-ch-position chfirst: 'x' int8[1, 2, 2, 3] is channels last and would have to be transposed "
        "(use chlast, or chfirst with one channel or a height and width of 1)",
    ),
    (
        {"outputs_ch_position": ("first",)},
        "m.tflite: --outputs-ch-position 'first' is unknown (did you mean 'chfirst'? known: chfirst, chlast)",
    ),
]


def test_an_int32_output_beside_one_that_is_converted() -> None:
    graph = Graph()
    x, axis = graph.tensor("x", (1, 4)), graph.tensor("axis", (), "int32", None, data=bytes([1, 0, 0, 0]))
    y, best = graph.tensor("y", (1, 4)), graph.tensor("best", (1,), "int32", None)
    graph.op("RELU", (x,), (y,))
    graph.op("ARG_MAX", (x, axis), (best,), output_type="INT32")
    program = lowered(graph, [x], [y, best], output_dtypes=("float32", "int32"))
    assert [program.tensors[index].dtype for index in program.outputs] == ["float32", "int32"]
    with pytest.raises(NeuralArtError, match=r"--output-data-type int32: 'y' int8\[1, 4\] is no int32 tensor"):
        lowered(graph, [x], [y, best], output_dtypes=("int32", "int32"))


def biased(kind: str, dtype: str, scale: float, zero: int) -> tuple[Graph, int, int]:
    graph = Graph()
    middle = 128 if dtype == "uint8" else 0
    x = graph.tensor("x", (1, 3, 3, 2), dtype, 0.5, middle)
    w = graph.tensor("w", (1, 1, 1, 2), dtype, 0.25, middle, bytes([middle, middle]))
    bias = graph.tensor(
        "b",
        (2 if kind == "DEPTHWISE_CONV_2D" else 1,),
        "int32",
        None,
        data=bytes(8)[: 8 if kind == "DEPTHWISE_CONV_2D" else 4],
    )
    graph.tensors[bias] = replace(graph.tensors[bias], quantization=Quantization((scale,), (zero,), 0))
    y = graph.tensor("y", (1, 3, 3, 2 if kind == "DEPTHWISE_CONV_2D" else 1), dtype, 0.5, middle)
    graph.op(kind, (x, w, bias), (y,))
    return graph, x, y


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    ("scale", "zero", "said"),
    [
        (0.125, 0, ""),
        (0.1299, 0, ""),
        (0.14, 0, "has scale 0.14, input and weights have 0.125 together (both must be equal)"),
        (0.5, 0, "has scale 0.5, input and weights have 0.125 together"),
        (0.125, 7, "has a zero point other than 0"),
    ],
)
def test_scale_of_a_bias(kind: str, dtype: str, scale: float, zero: int, said: str) -> None:
    graph, x, y = biased(kind, dtype, scale, zero)
    # The oracle lets an int8 convolution pass with any scale; the products' own is used.
    if not said or (dtype == "int8" and "scale" in said):
        lowered(graph, [x], [y])
        return
    with pytest.raises(NeuralArtError) as caught:
        lowered(graph, [x], [y])
    assert f"bias 'b' int32[{2 if kind == 'DEPTHWISE_CONV_2D' else 1}] {said}" in str(caught.value)


def test_messages_speak_of_the_model_as_it_is() -> None:
    """It is lowered as an int8 graph; the user has a uint8 one."""
    graph = Graph()
    x, y = graph.tensor("x", (1, 4, 4, 1), "uint8", 0.1, 3), graph.tensor("y", (1, 2, 2, 1), "uint8", 0.1, 4)
    graph.op("MAX_POOL_2D", (x,), (y,), stride_h=2, stride_w=2)
    with pytest.raises(NeuralArtError, match=r"input scale 0.1 zero point 3 and output scale 0.1 zero point 4 differ"):
        lowered(graph, [x], [y])
    graph = Graph()
    x, y = graph.tensor("x", (1, 4), "uint8", 0.1, 3), graph.tensor("y", (1, 5), "uint8", 0.1, 3)
    graph.op("RELU", (x,), (y,))
    with pytest.raises(NeuralArtError) as caught:
        lowered(graph, [x], [y])
    assert "'y' uint8[1, 5]" in str(caught.value) and "int8[1, 5]" not in str(caught.value).replace("uint8", "")


def test_shapes_that_are_computed_at_run_time() -> None:
    graph = Graph()
    x, shape, y = graph.tensor("x", (1, 4)), graph.tensor("s", (2,), "int32", None), graph.tensor("y", (2, 2))
    graph.op("RESHAPE", (x, shape), (y,))
    with pytest.raises(NeuralArtError, match=r"the shape 's' int32\[2\] is computed while the network runs"):
        lowered(graph, [x, shape], [y])


@pytest.mark.parametrize(("border", "message"), BORDER_ERRORS)
def test_border_refusals(border: dict[str, tuple[str, ...]], message: str) -> None:
    graph, x, y = relu_graph()
    with pytest.raises(NeuralArtError) as error:
        lowered(graph, [x], [y], **border)
    assert str(error.value) == message


def test_float_input_has_no_8_bit_form() -> None:
    graph = Graph()
    x, y = graph.tensor("x", (4,), "float32"), graph.tensor("y", (4,))
    graph.op("QUANTIZE", (x,), (y,))
    with pytest.raises(NeuralArtError) as error:
        lowered(graph, [x], [y], input_dtypes=("uint8",))
    assert str(error.value) == (
        "m.tflite: --input-data-type uint8: 'x' float32[4] is not an int8 or uint8 tensor with one scale "
        "(leave it at float32)"
    )


# ---- refusals


def conv(**changes: Any) -> Callable[[Graph], None]:
    return lambda graph: (convolution(graph, **changes), None)[1]


IMAGE = ((1, 4, 4, 2),)
REFUSALS: list[tuple[str, Callable[[Graph], None], str]] = [
    (
        "unknown operator",
        one("BIDIRECTIONAL_SEQUENCE_RNN", x=((1, 4),), z=((2, 2), "int16", 0.5), y=((1, 2),)),
        "(BIDIRECTIONAL_SEQUENCE_RNN): recurrent, and not supported: 'x' int8[1, 4], 'z' int16[2, 2] -> 'y' int8[1, 2]"
        " (neuralart operators lists those that are)",
    ),
    (
        "float model",
        one("CONV_2D", x=((1, 4), "float32"), y=((1, 4), "float32")),
        "operator 0 (CONV_2D): input 1 is absent",
    ),
    (
        "float part",
        one("LOGISTIC", x=((1, 4),), y=((1, 4), "float32")),
        "(LOGISTIC): element type float32 is not supported: 'y' float32[1, 4] (supported: int8)",
    ),
    (
        "float part that only truths have",
        one("LOGICAL_NOT", x=((1, 4, 4, 1), "bool"), y=((1, 2, 2, 1), "float32")),
        "(LOGICAL_NOT): this part of the model is computed in float32 on 'y' float32[1, 2, 2, 1] "
        "(quantize it to int8 (full integer quantization))",
    ),
    (
        "int16",
        one("HARD_SWISH", x=((4,), "int16", 0.5), y=((4,), "int16", 0.5)),
        "(HARD_SWISH): int16 activations are not supported: 'x' int16[4] (supported: int8 and uint8)",
    ),
    (
        "uint8",
        one("MAX_POOL_2D", x=((1, 4, 4, 1), "uint8", None), y=((1, 4, 4, 1), "uint8", None)),
        "(MAX_POOL_2D): 'x' uint8[1, 4, 4, 1] has no scale (only quantized models are supported)",
    ),
    (
        "bool",
        one("RELU", x=((4,), "bool"), y=((4,), "bool")),
        "(RELU): element type bool is not supported: 'x' bool[4] (supported: int8 and int16)",
    ),
    (
        "no scale",
        one("RELU", x=((4,), "int8", None), y=((4,),)),
        "(RELU): 'x' int8[4] has no scale (only quantized models are supported)",
    ),
    (
        "several scales",
        one("RELU", x=((4,), "int8", (0.5, 0.25)), y=((4,),)),
        "(RELU): 'x' int8[4] has 2 scales (activations have one scale per tensor)",
    ),
    (
        "scale of zero",
        one("RELU", x=((4,), "int8", 0.0), y=((4,),)),
        "(RELU): scale 0.0 of 'x' int8[4] is not a positive number",
    ),
    (
        "zero point",
        one("RELU", x=((4,), "int8", 0.5, 200), y=((4,),)),
        "(RELU): zero point 200 of 'x' int8[4] is outside -128 to 127",
    ),
    (
        "zero points",
        one("RELU", x=((4,), "int8", (0.5,), ()), y=((4,),)),
        "(RELU): 'x' int8[4] has 1 scales and 0 zero points",
    ),
    (
        "scales too far apart",
        one("RELU", x=((4,), "int8", 2.0**20), y=((4,), "int8", 2.0**-20)),
        "(RELU): the scale factor 1.09951e+12 is not below the limit of 2**30 "
        "(look at the scales of its inputs and output)",
    ),
    (
        "dynamic",
        one("RELU", x=((0, 4),), y=((0, 4),)),
        "input 'x' int8[0, 4] has no fixed size: dynamic shapes are not supported",
    ),
    ("shape", one("RELU", x=((4,),), y=((5,),)), "(RELU): 'y' int8[5] does not fit its inputs, which give [4]"),
    (
        "absent input",
        lambda g: (g.tensor("x", (4,)), g.tensor("y", (4,)), g.op("ADD", (0, -1), (1,)), None)[-1],
        "(ADD): input 1 is absent",
    ),
    (
        "short data",
        conv(w=("w", (3, 3, 3, 2), "int8", 0.5, 0, bytes(50))),
        "(CONV_2D): 'w' int8[3, 3, 3, 2] holds 50 bytes, its shape asks for 54",
    ),
    (
        "weights that are computed",
        conv(w=("v", (3, 3, 3, 2), "int8", 0.5, 0)),
        "(CONV_2D): weights must be constant: 'v' int8[3, 3, 3, 2] is computed while the network runs",
    ),
    (
        "weights of 4 bits",
        conv(w=("w", (3, 3, 3, 2), "int4", None, 0, bytes(27))),
        "(CONV_2D): weights of type int4 are not supported: 'w' int4[3, 3, 3, 2] (supported: int8)",
    ),
    (
        "asymmetric weights",
        conv(w=("w", (3, 3, 3, 2), "int8", 0.5, 3, bytes(54))),
        "(CONV_2D): weights 'w' int8[3, 3, 3, 2] have a zero point other than 0 (their zero points must be 0)",
    ),
    (
        "wrong axis",
        conv(w=("w", (3, 3, 3, 2), "int8", (0.5, 0.5, 0.5), 0, bytes(54), 1)),
        "(CONV_2D): weights 'w' int8[3, 3, 3, 2] have 3 scales along dimension 1 "
        "(expected one scale, or 3 along dimension 0)",
    ),
    (
        "weights of other channels",
        conv(w=("w", (3, 3, 3, 5), "int8", 0.5, 0, bytes(135))),
        "(CONV_2D): weights 'w' int8[3, 3, 3, 5] do not fit 'x' int8[1, 4, 4, 2] "
        "(expected [outputs, height, width, 2 or, grouped, a divisor of it])",
    ),
    (
        "depthwise weights",
        conv(kind="DEPTHWISE_CONV_2D", w=("w", (1, 3, 3, 3), "int8", 0.5, 0, bytes(27))),
        "(DEPTHWISE_CONV_2D): weights 'w' int8[1, 3, 3, 3] do not fit 'x' int8[1, 4, 4, 2] "
        "(expected [1, height, width, a multiple of 2])",
    ),
    (
        "bias of 64 bits",
        conv(b=("b", (3,), "int64", None, 0, bytes(24))),
        "(CONV_2D): biases of type int64 are not supported: 'b' int64[3] (supported: int32)",
    ),
    (
        "bias length",
        conv(b=("b", (4,), "int32", None, 0, bytes(16))),
        "(CONV_2D): bias 'b' int32[4] has 4 elements, expected 3",
    ),
    ("stride", conv(options={"stride_w": 0}), "(CONV_2D): stride_w is 0, expected at least 1"),
    (
        "activation",
        conv(options={"fused_activation_function": "TANH"}),
        "(CONV_2D): fused activation TANH is not supported (supported: NONE, RELU, RELU6, RELU_N1_TO_1)",
    ),
    (
        "padding",
        conv(options={"padding": "EXPLICIT"}),
        "(CONV_2D): padding EXPLICIT is not supported (supported: SAME, VALID)",
    ),
    (
        "no window fits",
        conv(options={"padding": "VALID", "dilation_h_factor": 2}),
        "(CONV_2D): a window of 5 does not fit into 4 of 'x' int8[1, 4, 4, 2] with VALID padding",
    ),
    (
        "three dimensions",
        conv(x=("x", (4, 4, 2))),
        "(CONV_2D): 'x' int8[4, 4, 2] has 3 dimensions, expected 4 (N, H, W, C)",
    ),
    (
        "pool that rescales",
        one("AVERAGE_POOL_2D", x=IMAGE, y=((1, 4, 4, 2), "int8", 0.25)),
        "(AVERAGE_POOL_2D): input scale 0.5 zero point 0 and output scale 0.25 zero point 0 differ "
        "(both must be equal)",
    ),
    (
        "pool of everything",
        one("MAX_POOL_2D", options={"filter_height": 4096, "filter_width": 4096}, x=IMAGE, y=IMAGE),
        "(MAX_POOL_2D): a window of 4096 x 4096 is not supported (at most 8388608 elements)",
    ),
    (
        "pool of nothing",
        one("MAX_POOL_2D", options={"filter_height": 0}, x=IMAGE, y=IMAGE),
        "(MAX_POOL_2D): a window of 0 taps with dilation 1 is not supported",
    ),
    (
        "rows",
        one("FULLY_CONNECTED", x=((5,),), w=((2, 3), "int8", 0.5, 0, bytes(6)), y=((1, 2),)),
        "(FULLY_CONNECTED): 'x' int8[5] is no whole number of rows of 3 for 'w' int8[2, 3]",
    ),
    (
        "shuffled weights",
        one(
            "FULLY_CONNECTED",
            options={"weights_format": "SHUFFLED4X16INT8"},
            x=((3,),),
            w=((2, 3), "int8", 0.5, 0, bytes(6)),
            y=((1, 2),),
        ),
        "(FULLY_CONNECTED): weights format SHUFFLED4X16INT8 is not supported (supported: DEFAULT)",
    ),
    (
        "broadcast",
        one("ADD", x=((4, 3),), z=((4, 2),), y=((4, 3),)),
        "(ADD): shapes [4, 3] and [4, 2] do not broadcast",
    ),
    (
        "too many dimensions",
        one("ADD", x=((2, 1, 2, 1, 2, 1, 2),), z=((1, 2, 1, 2, 1, 2, 1),), y=((2, 2, 2, 2, 2, 2, 2),)),
        "(ADD): broadcasting over 7 dimensions is not supported (at most 6)",
    ),
    (
        "addition of giants",
        one("ADD", x=((4,), "int8", 2.0**20), z=((4,),), y=((4,), "int8", 0.5)),
        "(ADD): input scale 1.04858e+06 is more than 524288 times the output scale 0.5",
    ),
    (
        "softmax scale",
        one("SOFTMAX", x=((4,),), y=((4,),)),
        "(SOFTMAX): output scale 0.5 zero point 0 (a softmax has scale 1/256 and zero point -128, in uint8 0)",
    ),
    (
        "softmax length",
        one("SOFTMAX", x=((2, 4096),), y=((2, 4096), "int8", 1 / 256, -128)),
        "(SOFTMAX): 4096 values in the last dimension of 'x' int8[2, 4096] (at most 4095)",
    ),
    (
        "softmax beta",
        one("SOFTMAX", options={"beta": 0.0}, x=((4,),), y=((4,), "int8", 1 / 256, -128)),
        "(SOFTMAX): beta 0 x input scale 0.5 is not above 2**-26",
    ),
    (
        "quantize to int16",
        one("QUANTIZE", x=((4,),), y=((4,), "int16", 0.5)),
        "(QUANTIZE): 'x' int8[4] to 'y' int16[4] is not supported (supported: int8 to int8 and uint8)",
    ),
    (
        "dequantize to float16",
        one("DEQUANTIZE", x=((4,),), y=((4,), "float16")),
        "(DEQUANTIZE): element type float16 is not supported: 'y' float16[4] (supported: float32)",
    ),
    ("reshape of another size", one("RESHAPE", x=((4,),), y=((5,),)), "(RESHAPE): 'x' int8[4] cannot be 'y' int8[5]"),
    (
        "reshape of strings",
        one("RESHAPE", x=((4,), "string"), y=((2, 2), "string")),
        "(RESHAPE): element type string is not supported: 'x' string[4] "
        "(supported: int8, uint8, int16, int32, int64, float32, bool)",
    ),
]


@pytest.mark.parametrize(("make", "message"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refusals(make: Callable[[Graph], None], message: str) -> None:
    graph = Graph()
    make(graph)
    inputs = [t.index for t in graph.tensors[:-1] if t.data is None and t.name in ("x", "z", "v")]
    with pytest.raises(NeuralArtError) as error:
        lowered(graph, inputs, [len(graph.tensors) - 1])
    text = flat(str(error.value))
    prefix = "m.tflite: operator 0 " if message.startswith("(") else "m.tflite: "
    assert text == prefix + message


def test_the_operator_at_fault_is_named() -> None:
    graph, n = reshape_chain("RELU", "RESHAPE", "BIDIRECTIONAL_SEQUENCE_RNN")
    with pytest.raises(
        NeuralArtError,
        match=r"^m\.tflite: operator 2 \(BIDIRECTIONAL_SEQUENCE_RNN\): recurrent, and not supported: 't2'",
    ):
        lowered(graph, [n[0]], [n[3]])


GRAPH_ERRORS: list[tuple[Callable[[Graph], tuple[list[int], list[int]]], str]] = [
    (lambda g: ([], [g.tensor("y", (1,))]), "m.tflite: the model has no inputs"),
    (lambda g: ([g.tensor("x", (1,))], []), "m.tflite: the model has no outputs"),
    (lambda g: ([g.tensor("x", (1,))] * 2, [0]), "m.tflite: 'x' int8[1] is listed twice among the inputs"),
    (
        lambda g: ([g.tensor("x", (1,))], [g.tensor("y", (1,))]),
        "m.tflite: output 'y' int8[1] is computed by no operator",
    ),
    (
        lambda g: ([g.tensor("c", (1,), "int8", 0.5, 0, b"\0")], [g.tensor("y", (1,))]),
        "m.tflite: 'c' int8[1] among the inputs is a constant",
    ),
    (
        lambda g: ([g.tensor("x", (1,))], [g.tensor("c", (1,), "float64", None, 0, bytes(8))]),
        "m.tflite: output 'c' float64[1] is a constant of a type that is not supported "
        "(supported: int8, uint8, int16, int32, int64, float32, bool)",
    ),
    (
        lambda g: ([g.tensor("x", (1 << 16, 1 << 15))], [g.tensor("y", (1,))]),
        "m.tflite: input 'x' int8[65536, 32768] is larger than 2147483647 bytes",
    ),
]


@pytest.mark.parametrize(("make", "message"), GRAPH_ERRORS)
def test_graphs_that_make_no_sense(make: Callable[[Graph], tuple[list[int], list[int]]], message: str) -> None:
    graph = Graph()
    inputs, outputs = make(graph)
    with pytest.raises(NeuralArtError) as error:
        lowered(graph, inputs, outputs)
    assert str(error.value) == message


def test_outputs_that_are_constants() -> None:
    """They are copied in each inference, and converted as others are; whoever reads one in the network reads it."""
    graph = Graph()
    x, y = graph.tensor("x", (2,)), graph.tensor("y", (2,))
    c = graph.tensor("c", (2,), "int8", 0.5, 0, b"\1\2")
    graph.op("ADD", (x, c), (y,))
    program = lowered(graph, [x], [y, c])
    assert [(call.operator, call.kind, call.kernel) for call in program.calls] == [
        (0, "ADD", "na_add_s8"),
        (-1, "CONSTANT", "na_copy_8"),
    ]
    assert isinstance(program.calls[0].args[1], ConstArg) and program.calls[1].reads == (c,)
    copy = program.tensors[program.outputs[1]]
    assert (copy.name, copy.data, program.tensors[c].name) == ("c", None, "c_constant")
    program = lowered(graph, [x], [y, c], output_dtypes=("int8", "float32"))
    assert [call.kernel for call in program.calls][1:] == ["na_copy_8", "na_dequantize_s8_f32"]
    assert [program.tensors[number].name for number in program.outputs] == ["y", "c"]


def test_operators_with_constant_inputs_only() -> None:
    graph = Graph()
    x, c = graph.tensor("x", (1,)), graph.tensor("c", (1,), "int8", 0.5, 0, b"\0")
    d, y = graph.tensor("d", (1,)), graph.tensor("y", (1,))
    graph.op("RELU", (c,), (d,))
    graph.op("ADD", (x, d), (y,))
    with pytest.raises(NeuralArtError) as error:
        lowered(graph, [x], [y])
    assert str(error.value) == (
        "m.tflite: operator 0 (RELU): all inputs are constants: 'c' int8[1] -> 'd' int8[1] "
        "(fold them when the model is made)"
    )


def test_a_tensor_is_filled_once() -> None:
    graph, n = reshape_chain("RELU", "RELU")
    graph.op("RELU", (n[0],), (n[1],))
    with pytest.raises(NeuralArtError, match=r"operator 2 \(RELU\): 't1' int8\[1, 4\] is filled twice"):
        lowered(graph, [n[0]], [n[2]])


def test_what_is_supported_is_listed() -> None:
    kinds = [info.kind for info in every()]
    assert kinds == sorted(kinds)
    wanted = {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "MAX_POOL_2D", "AVERAGE_POOL_2D", "ADD", "RELU"}
    assert wanted | {"RELU6", "RESHAPE", "SOFTMAX", "QUANTIZE", "DEQUANTIZE"} <= set(kinds)
    assert all(info.limits for info in every())
