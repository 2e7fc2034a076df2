"""Custom operators: options, states and what is refused in which words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

from neuralart.errors import NeuralArtError
from neuralart_reference.lower import lower
from neuralart_reference.model import tflite
from neuralart_reference.model.flexbuffer import numbers
from neuralart_reference.model.graph import Model
from support.cases.cases_custom import POST_PROCESS, detections, options, speech
from support.cases.lowering import parameters
from support.servers.messages import one_message
from tflite_writer import ModelWriter

VALUES = {"most": 40, "least": -3, "wide": 1 << 40, "ratio": 0.6, "exact": 0.1, "yes": True, "no": False}


def test_options_are_numbers_by_name() -> None:
    assert numbers(options(**VALUES)) == VALUES
    assert numbers(options(text="abc", row=[1, 2], inner={"a": 1}, none=None, most=7)) == {"most": 7}
    assert numbers(options()) == {}
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("far")
        builder.IndirectInt(-70000)
        builder.Key("part")
        builder.IndirectFloat(0.25)
    assert numbers(bytes(builder.Finish())) == {"far": -70000, "part": 0.25}


def test_damaged_options_are_said_to_be_damaged() -> None:
    """Each byte changed, and each end: numbers or one kind of error."""
    whole, refused = options(**VALUES), 0
    for damaged in [
        *(whole[:end] for end in range(len(whole))),
        *(
            whole[:at] + bytes([value]) + whole[at + 1 :]
            for at in range(len(whole))
            for value in (0, 1, 36, 127, 128, 255)
        ),
    ]:
        try:
            assert all(isinstance(value, int | float) for value in numbers(damaged).values())
        except ValueError as error:
            assert str(error) == "its options are no map of numbers, or damaged"
            refused += 1
    assert refused > len(whole)


def boxes(**more: Any) -> Model:
    writer = ModelWriter()
    case = detections(np.random.default_rng(4), writer, "uint8", **more)
    return tflite.parse(writer.finish(case.inputs, case.outputs), "m.tflite", "m")


def features(**more: Any) -> Model:
    writer = ModelWriter()
    _, case = speech(np.random.default_rng(4), writer, **more)
    return tflite.parse(writer.finish(case.inputs, case.outputs), "m.tflite", "m")


def test_rows_follow_from_the_options() -> None:
    """Converters write no shapes behind the operator."""
    program = lower(boxes(max_detections=5, max_classes_per_detection=3, use_regular_nms=False))
    shapes = [program.tensors[index].shape for index in program.outputs]
    assert shapes == [(1, 15, 4), (1, 15), (1, 15), (1,)]
    (call,) = (call for call in program.calls if call.kernel == "na_detections")
    given = parameters(call)
    assert (given["most"], given["per_box"], given["per_class"]) == ("5", "3", "0")
    assert call.scratch == 4 * (2 * int(given["boxes"]) + 2 * int(given["classes"]) + 4 * 5)


def test_what_is_remembered_of_noise_is_a_state() -> None:
    program = lower(features())
    (state,) = program.states
    assert program.states[state] == 0 and program.tensors[state].dtype == "uint32"
    (call,) = (call for call in program.calls if call.kernel == "na_subtraction_u32")
    assert state in call.writes and program.tensors[state].shape == program.tensors[program.outputs[0]].shape


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: boxes(nms_iou_threshold=1.5), "nms_iou_threshold is 1.5 (supported: above 0, at most 1)"),
        (lambda: boxes(max_detections=0), "max_detections is 0 (supported: 1 to "),
        (lambda: boxes(max_detections=1 << 40), "max_detections is 1.09951e+12 (supported: 1 to "),
        (lambda: boxes(num_classes=99), "num_classes is 99 (supported: "),
        (lambda: boxes(w_scale=0.0), "w_scale is 0 (supported: above 0)"),
        (lambda: boxes(y_scale=float("nan")), "y_scale is nan (supported: float32 values)"),
        (lambda: boxes(h_scale=None), "h_scale is absent (is the file damaged?)"),
        (lambda: features(smoothing_bits=32), "smoothing_bits is 32 (supported: 0 to 31)"),
        (lambda: features(one_minus_smoothing=-1), "one_minus_smoothing is -1 (supported: 0 to 2147483647)"),
    ],
)
def test_refused(model: Any, message: str) -> None:
    with pytest.raises(NeuralArtError) as error:
        lower(model())
    assert message in one_message(str(error.value))


def test_what_does_not_fit_is_refused() -> None:
    """Shapes, types and numbers of ends, in turn."""
    writer = ModelWriter()
    case = detections(np.random.default_rng(4), writer, "float32")
    (op,) = writer.operators
    packed = op.options["custom_options"]
    flat = writer.tensor("flat", (4,), "float32")
    half = writer.tensor("half", (1, 2, 4), "int16", 0.5)
    for inputs, outputs, message in (
        (op.inputs[:2], op.outputs, "2 inputs and 4 outputs, expected 3 and 4"),
        ((flat, *op.inputs[1:]), op.outputs, "'flat' float32[4] has not 3 dimensions"),
        ((half, *op.inputs[1:]), op.outputs, "int16"),
        (op.inputs, (flat, *op.outputs[1:]), "'flat' float32[4] does not fit its inputs"),
    ):
        again = ModelWriter()
        again.tensors, again._buffers = writer.tensors, writer._buffers
        again.op(POST_PROCESS, inputs, outputs, custom_options=packed)
        model = tflite.parse(again.finish([*{*inputs[:2]}], list(outputs)), "m.tflite", "m")
        with pytest.raises(NeuralArtError) as error:
            lower(model)
        assert message in one_message(str(error.value)), message
    assert case.inputs
