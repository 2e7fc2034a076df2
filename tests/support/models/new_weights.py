"""A project whose model gets other weights, with the answers that the oracle gives with them."""

from __future__ import annotations

import oracle
import vectors
from support.models import tflite_edit
from support.projects.sconsproject import Project


def new_weights(project: Project) -> None:
    """Other weights of ``models/digits`` with the same scales and shapes, and golden vectors for them."""
    model, golden = project.path("models/digits/digits.tflite"), project.path("models/digits/vectors")
    tflite_edit.reverse_weights(model)
    inputs, before, described = vectors.read(golden)
    outputs = oracle.run(model, inputs)
    assert any((new[0] != old[0]).any() for new, old in zip(outputs, before, strict=True))
    names = [[tensor["name"] for tensor in described[kind]] for kind in ("inputs", "outputs")]
    for name, data in vectors.encode(inputs, outputs, *names, described["oracle"]).items():
        (golden / name).write_bytes(data)
