"""A small network of int16 activations and int8 weights, for builds."""

from __future__ import annotations

from typing import Any

import numpy as np

from tflite_writer import ModelWriter

INPUT, OUTPUT = "signal", "classes"
SHAPE = (1, 16, 16, 3)


def network() -> bytes:
    """Three convolutions, a gate and a sum behind them, pooling, a classifier; sums of 64 and of 32 bits."""
    rng, writer = np.random.default_rng(16), ModelWriter()

    def tensor(name: str, shape: tuple[int, ...], scale: float = 0.0013) -> int:
        return writer.tensor(name, shape, "int16", scale)

    def layer(kind: str, source: int, result: int, weights: tuple[int, ...], bias: str = "int64", **more: Any) -> int:
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        taps, units = rng.integers(-127, 128, weights), weights[axis]
        scales = [0.004 + 0.0001 * unit for unit in range(units)]
        name = writer.tensors[result].name
        w = writer.tensor(f"{name}/weights", weights, "int8", scales, 0, taps, axis)
        given = rng.integers(-(2**18), 2**18, units)
        b = writer.tensor(f"{name}/bias", (units,), bias, [0.0013 * scale for scale in scales], 0, given)
        writer.op(kind, [source, w, b], [result], **more)
        return result

    x = tensor(INPUT, SHAPE)
    first = layer("CONV_2D", x, tensor("first", (1, 8, 8, 6)), (6, 3, 3, 3), stride_h=2, stride_w=2)
    deep = layer("DEPTHWISE_CONV_2D", first, tensor("deep", (1, 8, 8, 6)), (1, 3, 3, 6))
    narrow = layer("CONV_2D", deep, tensor("narrow", (1, 8, 8, 6)), (6, 1, 1, 6), "int32", quantized_bias_type="int32")
    gate = tensor("gate", (1, 8, 8, 6), 1 / 32768)
    gated, both = tensor("gated", (1, 8, 8, 6)), tensor("both", (1, 8, 8, 6))
    writer.op("LOGISTIC", [narrow], [gate])
    writer.op("MUL", [narrow, gate], [gated])
    offsets = writer.tensor("offsets", (6,), "int16", 0.0007, 0, rng.integers(-900, 900, 6))
    writer.op("ADD", [gated, offsets], [both], pot_scale_int16=False, fused_activation_function="RELU6")
    small, flat, row = tensor("small", (1, 4, 4, 6)), tensor("flat", (1, 96)), tensor("row", (1, 5))
    writer.op("AVERAGE_POOL_2D", [both], [small], padding="VALID")
    writer.op("RESHAPE", [small, writer.tensor("shape", (2,), "int32", data=[1, 96])], [flat], new_shape=[1, 96])
    layer("FULLY_CONNECTED", flat, row, (5, 96))
    result = tensor(OUTPUT, (1, 5), 1 / 32768)
    writer.op("SOFTMAX", [row], [result])
    return writer.finish([x], [result])


def vectors(count: int) -> list[list[np.ndarray]]:
    """Inputs of all sizes."""
    rng = np.random.default_rng(17)
    return [[rng.normal(0, 700, SHAPE).clip(-32768, 32767).astype(np.int16)] for _ in range(count)]
