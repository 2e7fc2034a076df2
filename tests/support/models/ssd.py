"""A small detector whose last operator is a custom one, as many public detectors have one."""

from __future__ import annotations

import numpy as np

from tflite_writer import ModelWriter

ENDS = ("boxes", "scores", "anchors")
"""What the custom operator reads. The last one is constant."""
CUSTOM = "CUSTOM:SelectBoxes"


def detector(*, whole: bool = True, open_ends: bool = False) -> bytes:
    """One grid of boxes and scores behind two convolutions, anchors that are tiled and dequantized.

    Args:
        whole: With the custom operator; else the anchors are an output, too.
        open_ends: Its results have no fixed size.
    """
    rng, writer = np.random.default_rng(7), ModelWriter()

    def tensor(name: str, shape: tuple[int, ...], scale: float = 0.05) -> int:
        return writer.tensor(name, shape, "int8", scale, 3)

    def convolution(name: str, source: int, depth: int, units: int, stride: int = 1) -> int:
        taps = rng.integers(-127, 128, (units, 3, 3, depth))
        weights = writer.tensor(f"{name}/weights", taps.shape, "int8", 0.01, 0, taps)
        bias = writer.tensor(f"{name}/bias", (units,), "int32", 0.0005, 0, rng.integers(-99, 99, units))
        result = tensor(name, (1, 8, 8, units), 0.1)
        writer.op("CONV_2D", [source, weights, bias], [result], stride_h=stride, stride_w=stride)
        return result

    def rows(name: str, source: int, size: int) -> int:
        wanted = writer.tensor(f"{name}/shape", (3,), "int32", data=[1, 128, size])
        result = tensor(name, (1, 128, size), 0.1)
        writer.op("RESHAPE", [source, wanted], [result], new_shape=[1, 128, size])
        return result

    image = tensor("image", (1, 16, 16, 3))
    threshold = writer.tensor("threshold", (1,), "float32")
    features = convolution("features", image, 3, 6, 2)
    boxes = rows("boxes", convolution("box_head", features, 6, 8), 4)
    logits = rows("logits", convolution("score_head", features, 6, 6), 3)
    scores = writer.tensor("scores", (1, 128, 3), "int8", 1 / 256, -128)
    writer.op("LOGISTIC", [logits], [scores])
    anchor = writer.tensor("anchor", (1, 2, 4), "int8", 0.02, -5, rng.integers(-128, 128, (1, 2, 4)))
    tiled, anchors = tensor("tiled", (1, 128, 4), 0.02), writer.tensor("anchors", (1, 128, 4), "float32")
    writer.op("TILE", [anchor, writer.tensor("times", (3,), "int32", data=[1, 64, 1])], [tiled])
    writer.op("DEQUANTIZE", [tiled], [anchors])
    if not whole:
        return writer.finish([image, threshold], [boxes, scores, anchors])
    signature = [-1] if open_ends else None
    found = [writer.tensor(f"found{n}", (4,), "float32", signature=signature) for n in range(3)]
    writer.op(CUSTOM, [boxes, scores, anchors, threshold], found)
    return writer.finish([image, threshold], found)
