"""The kinds of plugins that the reference compiler takes."""

from __future__ import annotations

from neuralart.plugins.kinds import Kind

KINDS = (
    Kind("operators", "operator", 1, "neuralart_reference.operators:Registration").says(
        "an operator of the reference compiler, by its TensorFlow Lite name"
    ),
    Kind("readers", "model reader", 1, "neuralart_reference.model.reader:ModelReader").says(
        "a format of models besides .tflite"
    ),
)
