"""PAD in front of a window: when it goes, and when it must stay."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import pytest

from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError
from neuralart_reference.ir import Program
from neuralart_reference.lower import lower
from neuralart_reference.model.graph import Model, Quantization
from support.cases.lowering import parameters
from support.models.networks import Network


def padded(kind: str = "conv", before: int = 1, after: int = 2, padding: str = "VALID", zero: int = 0) -> Model:
    """Input (0), paddings (1), padded (2), and what reads it."""
    net = Network(6, 2)
    value = net.pad(net.input, before, after)
    if kind == "pool":
        net.pool(value, 3, 2)
    elif kind == "depthwise":
        net.depthwise(value, 3, 2, padding)
    else:
        net.conv(value, 4, 3, 2, padding)
    model = net.model([net.input], [net.last])
    quantization = Quantization((0.5,), (zero,))
    tensors = [t if t.data is not None else replace(t, quantization=quantization) for t in model.tensors]
    return replace(model, tensors=tuple(tensors))


def program(model: Model) -> Program:
    return lower(model, BorderOptions())


def kernels(model: Model) -> list[str]:
    return [call.kernel for call in program(model).calls]


@pytest.mark.parametrize("kind", ["conv", "depthwise"])
@pytest.mark.parametrize("padding", ["VALID", "SAME"])
def test_a_convolution_takes_the_padding(kind: str, padding: str) -> None:
    (call,) = program(padded(kind, padding=padding)).calls
    assert call.reads == (0,)
    fields = parameters(call)
    assert (fields["input_height"], fields["input_width"]) == ("6", "6")
    # 9 rows of which 3 x 3 windows with stride 2 take 4 (VALID), or 5 with one row above more (SAME).
    assert (fields["pad_top"], fields["pad_left"]) == (("1", "1") if padding == "VALID" else ("2", "2"))
    assert fields["output_height"] == ("4" if padding == "VALID" else "5")
    assert [tensor.name for tensor in program(padded(kind)).tensors][2] == padded(kind).tensors[2].name


def test_padding_of_an_onnx_model_is_added() -> None:
    model = padded()
    reader = replace(model.operators[1], options={**model.operators[1].options, "padding": "EXPLICIT", "pads": (2, 0)})
    (call,) = program(replace(model, operators=(model.operators[0], reader))).calls
    assert (parameters(call)["pad_top"], parameters(call)["pad_left"]) == ("3", "1")


def test_a_maximum_takes_the_padding_with_the_smallest_value() -> None:
    assert kernels(padded("pool", zero=-128)) == ["na_max_pool_s8"]
    assert kernels(padded("pool", zero=-127)) == ["na_pad_8", "na_max_pool_s8"]
    # Windows in padding alone.
    assert kernels(padded("pool", 3, 0, zero=-128)) == ["na_pad_8", "na_max_pool_s8"]
    assert kernels(padded("pool", 0, 3, zero=-128)) == ["na_pad_8", "na_max_pool_s8"]


def test_uint8_is_padded_as_int8_is() -> None:
    model = padded(zero=3)
    turned = {t.index: replace(t, dtype="uint8") for t in model.tensors if t.dtype == "int8"}
    weights = next(t for t in turned.values() if t.data is not None)
    turned[weights.index] = replace(weights, quantization=Quantization((0.01,), (7,)))
    model = replace(model, tensors=tuple(turned.get(t.index, t) for t in model.tensors))
    assert kernels(model) == ["na_flip_sign_8", "na_conv2d_offset_s8", "na_flip_sign_8"]


def _tensor(number: int, **changed: object) -> Callable[[Model], Model]:
    def change(model: Model) -> Model:
        tensors = list(model.tensors)
        tensors[number] = replace(tensors[number], **changed)
        return replace(model, tensors=tuple(tensors))

    return change


def _second_reader(model: Model) -> Model:
    """A sum of the padded picture and itself."""
    added = replace(model.tensors[2], index=len(model.tensors), name="sum")
    options = {"fused_activation_function": "NONE"}
    op = replace(model.operators[0], index=2, kind="ADD", inputs=(2, 2), outputs=(added.index,), options=options)
    outputs = (*model.outputs, added.index)
    return replace(model, tensors=(*model.tensors, added), operators=(*model.operators, op), outputs=outputs)


def _channels(model: Model) -> Model:
    model = _tensor(1, data=struct.pack("<8i", 0, 0, 1, 2, 1, 2, 1, 0))(model)
    weights = next(t for t in model.tensors if t.name.startswith("w"))
    wider = _tensor(weights.index, shape=(4, 3, 3, 3), data=bytes(108))(model)
    return _tensor(2, shape=(1, 9, 9, 3))(wider)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_tensor(0, quantization=Quantization((0.25,), (0,))), id="another scale"),
        pytest.param(_tensor(0, quantization=Quantization((0.5,), (1,))), id="another zero point"),
        pytest.param(_second_reader, id="another reader"),
        pytest.param(_channels, id="channels"),
        pytest.param(lambda model: replace(model, outputs=(*model.outputs, 2)), id="an output"),
    ],
)
def test_a_padding_stays(change: Callable[[Model], Model]) -> None:
    assert kernels(padded()) == ["na_conv2d_s8"]
    assert kernels(change(padded()))[:2] == ["na_pad_8", "na_conv2d_s8"]


@pytest.mark.parametrize(("value", "stays"), [(0, False), (1, True)])
def test_padv2_goes_if_its_value_is_the_zero_point(value: int, stays: bool) -> None:
    model = padded()
    fill = replace(model.tensors[2], index=len(model.tensors), shape=(1,), data=bytes([value]))
    first = replace(model.operators[0], kind="PADV2", inputs=(0, 1, fill.index))
    model = replace(model, tensors=(*model.tensors, fill), operators=(first, *model.operators[1:]))
    assert ("na_pad_8" in kernels(model)) is stays


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_tensor(1, data=None), "(PAD): 'p1' int32[4, 2] is read before any operator fills it"),
        (_tensor(1, data=struct.pack("<8i", 0, 0, -1, 2, 1, 2, 0, 0)), "(PAD): paddings [-1, 2] of dimension 1"),
        (_tensor(1, data=struct.pack("<8i", 0, 0, 1, 1, 1, 2, 0, 0)), "(PAD): "),
        (_tensor(1, data=b"123"), "(PAD): "),
        (_tensor(1, data=struct.pack("<8i", *[0] * 3, 1 << 30, *[0] * 4)), "(PAD): "),
        (_tensor(4, shape=(1, 5, 4, 4)), "(CONV_2D): "),
    ],
)
def test_what_makes_no_sense_is_refused_as_without_folding(change: Callable[[Model], Model], said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        program(change(padded()))
    assert said in str(caught.value) and "\n" not in str(caught.value)
