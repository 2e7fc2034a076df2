"""uint8 graphs become int8 graphs of the same meaning."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError
from neuralart_reference.ir import ConstArg, Program, StructArg
from neuralart_reference.lower import lower
from neuralart_reference.model.graph import Model, Operator, Quantization, Tensor
from neuralart_reference.quantize import float32, quantize_multiplier
from neuralart_reference.unsigned import is_unsigned, signed

STRIDES = {"stride_h": 1, "stride_w": 1, "dilation_h_factor": 1, "dilation_w_factor": 1, "padding": "VALID"}


def tensor(number: int, name: str, shape: tuple[int, ...], zero: int = 128, **changes: object) -> Tensor:
    return replace(Tensor(number, name, shape, "uint8", Quantization((0.5,), (zero,))), **changes)


def model(tensors: list[Tensor], *operators: tuple[str, tuple[int, ...], tuple[int, ...], dict[str, object]]) -> Model:
    made = tuple(Operator(n, kind, ins, outs, options) for n, (kind, ins, outs, options) in enumerate(operators))
    used = {index for op in made for index in op.outputs}
    read = {index for op in made for index in op.inputs}
    inputs = tuple(t.index for t in tensors if t.index not in used and t.data is None)
    outputs = tuple(t.index for t in tensors if t.index in used and t.index not in read)
    return Model("m.tflite", "m", tuple(tensors), made, inputs, outputs)


def convolution(zero: int = 128, weights: bytes = bytes([0, 128, 255]), scale: float = 0.3) -> Model:
    tensors = [
        tensor(0, "x", (1, 2, 2, 3), 7),
        Tensor(1, "w", (1, 1, 1, 3), "uint8", Quantization((float32(scale),), (zero,)), weights),
        tensor(2, "y", (1, 2, 2, 1), 255),
    ]
    return model(tensors, ("CONV_2D", (0, 1), (2,), STRIDES))


def parameters(program: Program, call: int) -> dict[str, str]:
    (found,) = [arg for arg in program.calls[call].args if isinstance(arg, StructArg)]
    return dict(found.fields)


def test_values_and_zero_points_lose_128() -> None:
    made = signed(convolution(zero=130))
    assert [t.dtype for t in made.tensors] == ["int8"] * 3
    assert [t.quantization.zero_point for t in made.tensors if t.quantization] == [-121, 2, 127]
    assert made.tensors[1].data == bytes([0x80, 0x00, 0x7F])
    assert all(is_unsigned(op) for op in made.operators)


def test_other_models_stay_themselves() -> None:
    made = model(
        [replace(tensor(n, "t", (4,)), dtype="int8", quantization=Quantization((0.5,), (0,))) for n in range(2)],
        ("RELU", (0,), (1,), {}),
    )
    assert signed(made) is made
    plain = model([tensor(n, "t", (4,), quantization=None) for n in range(2)], ("RESHAPE", (0,), (1,), {}))
    assert signed(plain) is plain


def test_between_quantizations_uint8_stays() -> None:
    """No conversion beside the one that the model has."""
    made = model(
        [
            Tensor(0, "f", (4,), "float32"),
            tensor(1, "u", (4,)),
            tensor(2, "i", (4,), dtype="int8", quantization=Quantization((0.5,), (0,))),
        ],
        ("QUANTIZE", (0,), (1,), {}),
        ("QUANTIZE", (1,), (2,), {}),
    )
    assert signed(made) is made
    kernels = [call.kernel for call in lower(made, BorderOptions()).calls]
    assert kernels == ["na_quantize_f32_u8", "na_requantize_u8_s8"]


def test_the_application_keeps_the_type_of_the_model() -> None:
    program = lower(convolution(), BorderOptions())
    assert [call.kernel for call in program.calls] == ["na_flip_sign_8", "na_conv2d_s8", "na_flip_sign_8"]
    first, last = program.tensors[program.inputs[0]], program.tensors[program.outputs[0]]
    assert (first.name, first.dtype, first.quantization) == ("x", "uint8", Quantization((0.5,), (7,)))
    assert (last.name, last.dtype, last.quantization) == ("y", "uint8", Quantization((0.5,), (255,)))


def test_the_application_may_have_another_type() -> None:
    program = lower(convolution(), BorderOptions(input_dtypes=("int8",), output_dtypes=("float32",)))
    assert [call.kernel for call in program.calls] == ["na_conv2d_s8", "na_dequantize_s8_f32"]
    assert program.tensors[program.inputs[0]].quantization == Quantization((0.5,), (-121,))
    assert parameters(program, 1)["zero_point"] == "127"


def test_several_inputs_and_outputs_each_with_its_type() -> None:
    tensors = [tensor(n, f"t{n}", (4,)) for n in range(5)]
    made = model(tensors, ("ADD", (0, 1), (3,), {}), ("ADD", (1, 2), (4,), {}))
    options = BorderOptions(input_dtypes=("uint8", "int8", "float32"), output_dtypes=("int8", "uint8"))
    program = lower(made, options)
    assert [program.tensors[n].dtype for n in program.inputs] == ["uint8", "int8", "float32"]
    assert [program.tensors[n].dtype for n in program.outputs] == ["int8", "uint8"]
    kernels = ["na_flip_sign_8", "na_quantize_f32_s8", "na_add_s8", "na_add_s8", "na_flip_sign_8"]
    assert [call.kernel for call in program.calls] == kernels


def test_weights_with_a_zero_point_have_a_kernel_of_their_own() -> None:
    program = lower(convolution(zero=137), BorderOptions())
    assert program.calls[1].kernel == "na_conv2d_offset_s8"
    fields = parameters(program, 1)
    assert (fields["filter_offset"], fields["window.input_offset"]) == ("-9", "121")


def test_the_product_of_scales_is_a_float32() -> None:
    call = lower(convolution(scale=0.3), BorderOptions()).calls[1]
    data = {arg.label: arg.data for arg in call.args if isinstance(arg, ConstArg)}
    wanted = quantize_multiplier(float32(0.5 * float32(0.3)) / 0.5)
    assert int.from_bytes(data["conv_2d_0_multiplier"], "little") == wanted.multiplier


def test_an_average_rounds_halves_up() -> None:
    options = {**STRIDES, "filter_height": 2, "filter_width": 2}
    made = model([tensor(0, "x", (1, 2, 2, 3)), tensor(1, "y", (1, 1, 1, 3))], ("AVERAGE_POOL_2D", (0,), (1,), options))
    assert lower(made, BorderOptions()).calls[1].kernel == "na_average_pool_half_up_s8"


def _refused(made: Model) -> str:
    with pytest.raises(NeuralArtError) as caught:
        lower(made, BorderOptions())
    text = str(caught.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"dtype": "int8", "quantization": Quantization((0.5,), (0,))},
            "'w' int8[1, 1, 1, 3] in one operator (int8 and uint8 are not mixed: put a QUANTIZE between them)",
        ),
        (
            {"quantization": Quantization((0.5, 0.5), (0, 0))},
            "'w' uint8[1, 1, 1, 3] has 2 scales "
            "(uint8 tensors have one scale; convert the model to int8 for a scale per channel)",
        ),
        ({"quantization": Quantization((0.5,), (-3,))}, "zero point -3 of 'w' uint8[1, 1, 1, 3] is outside 0 to 255"),
        ({"quantization": Quantization((0.5,), (256,))}, "zero point 256 of 'w' uint8[1, 1, 1, 3] is outside 0 to 255"),
        ({"data": bytes(2)}, "'w' uint8[1, 1, 1, 3] holds 2 bytes, its shape asks for 3"),
        (
            {"quantization": Quantization((3e38,), (0,))},
            "the scale factor 3e+38 is not below the limit of 2**30 (look at the scales of its inputs and output)",
        ),
    ],
)
def test_refusals(changes: dict[str, object], message: str) -> None:
    made = convolution()
    tensors = (made.tensors[0], replace(made.tensors[1], **changes), made.tensors[2])
    text = _refused(replace(made, tensors=tensors))
    assert text.startswith("m.tflite: operator 0 (CONV_2D): ")
    assert text.endswith(message)


def test_a_product_of_scales_beyond_float32_is_refused() -> None:
    made = convolution()
    big = Quantization((3e38,), (0,))
    tensors = (replace(made.tensors[0], quantization=big), replace(made.tensors[1], quantization=big), made.tensors[2])
    assert "is not below the limit of 2**30" in _refused(replace(made, tensors=tensors))


_ACTIVATIONS = "{0} activations are not supported: 't{1}' {0}[1, 4] (supported: {2})"


@pytest.mark.parametrize(
    ("kind", "dtype", "message"),
    [
        ("GELU", "int16", _ACTIVATIONS.format("int16", 0, "int8 and uint8")),
        ("GELU", "uint16", _ACTIVATIONS.format("uint16", 0, "int8 and uint8")),
        ("RELU", "uint16", _ACTIVATIONS.format("uint16", 0, "int8 and int16 and uint8")),
        ("ADD", "uint16", _ACTIVATIONS.format("uint16", 0, "int8 and int16 and uint8")),
        ("QUANTIZE", "uint16", _ACTIVATIONS.format("uint16", 1, "int8 and uint8 and int16")),
        (
            "RESHAPE",
            "uint16",
            "element type uint16 is not supported: 't0' uint16[1, 4] "
            "(supported: int8, uint8, int16, int32, int64, float32, bool)",
        ),
    ],
)
def test_16_bits_are_refused_by_name(kind: str, dtype: str, message: str) -> None:
    tensors = [tensor(n, f"t{n}", (1, 4), dtype=dtype) for n in range(2)]
    assert _refused(model(tensors, (kind, (0,), (1,), {}))) == f"m.tflite: operator 0 ({kind}): {message}"
