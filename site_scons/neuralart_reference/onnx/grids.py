"""Float weights that were integers once: ST's optimizer, and others, write what DequantizeLinear made of them.

Each output channel of such weights has one step, of which every weight is a whole multiple. It is found, and the
weights are bytes again, without any loss.
"""

from __future__ import annotations

import numpy as np

from neuralart_reference.onnx.load import Array, Scale, Unfit

# How far from whole multiples of a step weights may be, in steps: float32 products with the scale of a fused
# operator are wrong by less than 1e-4 of a step.
_TOLERANCE = 1e-3
_LARGEST = (127, 128, *range(126, 0, -1))


def on_grid(real: Array) -> tuple[Array, Scale]:
    """The bytes that float weights come from, and their scales.

    Args:
        real: Weights in float32, output channels first.

    Raises:
        Unfit: The weights of a channel are no whole multiples of one step.
    """
    channels = real.reshape(len(real), -1).astype(np.float64)
    stored, scales = np.zeros(channels.shape, np.int8), []
    for number, weights in enumerate(channels):
        extreme = float(np.abs(weights).max(initial=0.0))
        if not np.isfinite(extreme):
            raise Unfit("its weights are not finite")
        step = next((extreme / largest for largest in _LARGEST if _multiples(weights, extreme / largest)), None)
        if extreme and step is None:
            raise Unfit("its weights are float, and no multiples of one step for each output")
        scales.append(float(np.float32(step)) if extreme and step else 1.0)
        stored[number] = np.rint(weights / (step or 1.0)) if extreme else 0
    return stored.reshape(real.shape), Scale(tuple(scales), (0,) * len(scales))


def _multiples(weights: Array, step: float) -> bool:
    if step <= 0:
        return False
    steps = weights / step
    whole = np.rint(steps)
    return bool(np.abs(steps - whole).max() < _TOLERANCE and whole.min() >= -128 and whole.max() <= 127)
