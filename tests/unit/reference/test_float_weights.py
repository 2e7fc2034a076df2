"""Weights of float16 and of 8 bits, where layers compute in float32."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neuralart_reference.float_weights import in_float32
from neuralart_reference.lower import lower
from neuralart_reference.model import reader
from neuralart_reference.model.graph import Model
from tflite_writer import ModelWriter


def read(writer: ModelWriter, inputs: list[int], outputs: list[int], folder: Path) -> Model:
    path = folder / "m.tflite"
    path.write_bytes(writer.finish(inputs, outputs))
    return reader.read(path)


def weights_of(model: Model, number: int) -> np.ndarray:
    tensor = model.tensors[model.operators[number].inputs[1]]
    assert tensor.dtype == "float32" and tensor.quantization is None and tensor.data is not None
    return np.frombuffer(tensor.data, "<f4").reshape(tensor.shape)


def test_float16(tmp_path: Path) -> None:
    writer, values = ModelWriter(), np.random.default_rng(2).normal(0, 1, (3, 4)).astype(np.float16)
    x, y = writer.tensor("x", (1, 4), "float32"), writer.tensor("y", (1, 3), "float32")
    half, whole = writer.tensor("h", (3, 4), "float16", data=values), writer.tensor("w", (3, 4), "float32")
    writer.op("DEQUANTIZE", [half], [whole])
    writer.op("FULLY_CONNECTED", [x, whole, -1], [y])
    made = in_float32(read(writer, [x], [y], tmp_path))
    assert [op.kind for op in made.operators] == ["FULLY_CONNECTED"]
    np.testing.assert_array_equal(weights_of(made, 0), values.astype(np.float32))
    assert [call.kernel for call in lower(made).calls] == ["na_fully_connected_f32"]


def test_scales_of_each_output_along_any_dimension(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for kind, shape, axis, out in (("CONV_2D", (5, 2, 2, 3), 0, 5), ("DEPTHWISE_CONV_2D", (1, 2, 2, 6), 3, 6)):
        writer, stored = ModelWriter(), rng.integers(-128, 128, shape).astype(np.int8)
        scales = np.float32(10 ** rng.uniform(-3, 0, shape[axis]))
        x = writer.tensor("x", (1, 4, 4, 3), "float32")
        w = writer.tensor("w", shape, "int8", [float(s) for s in scales], 0, stored, axis)
        y = writer.tensor("y", (1, 3, 3, out), "float32")
        writer.op(kind, [x, w, -1], [y], padding="VALID", stride_h=1, stride_w=1)
        model = read(writer, [x], [y], tmp_path)
        sides = [1] * 4
        sides[axis] = -1
        np.testing.assert_array_equal(weights_of(in_float32(model), 0), stored * scales.reshape(sides))
        assert model.tensors[w].dtype == "int8"  # What was read stays


def test_weights_that_a_quantized_layer_reads_as_well(tmp_path: Path) -> None:
    writer, stored = ModelWriter(), np.arange(-8, 8).reshape(4, 4)
    w = writer.tensor("w", (4, 4), "int8", 0.5, 0, stored)
    x, y = writer.tensor("x", (1, 4), "float32"), writer.tensor("y", (1, 4), "float32")
    a, b = writer.tensor("a", (1, 4), "int8", 0.25), writer.tensor("b", (1, 4), "int8", 4.0)
    writer.op("FULLY_CONNECTED", [x, w, -1], [y])
    writer.op("FULLY_CONNECTED", [a, w, -1], [b])
    model = read(writer, [x, a], [y, b], tmp_path)
    np.testing.assert_array_equal(weights_of(in_float32(model), 0), stored * np.float32(0.5))
    assert [call.kernel for call in lower(model).calls] == ["na_fully_connected_f32", "na_fully_connected_s8"]
