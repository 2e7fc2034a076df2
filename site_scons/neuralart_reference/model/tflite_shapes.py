"""Sizes of inputs that a TensorFlow Lite file leaves open, and dimensions that it has wrong, written into its bytes."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from neuralart.errors import NeuralArtError, similar
from neuralart_reference.model.flatbuffer import FlatBuffer


def shaped(data: bytes, display: str, shapes: Mapping[str, Sequence[int]]) -> bytes:
    """The bytes of a model whose inputs have these shapes. Nothing is moved: numbers are changed in their place. Raises
    NeuralArtError: there is no input of a name, or a shape contradicts the sizes that it has.
    """
    graphs = FlatBuffer(data, display).root("the model").tables(2, "subgraphs", "subgraph")
    if not graphs:
        return data
    tensors, changed = graphs[0].tables(0, "tensors", "tensor"), bytearray(data)
    numbers = [number for number in graphs[0].integers(1, "inputs") if 0 <= number < len(tensors)]
    inputs = {tensors[number].text(3, "name"): tensors[number] for number in numbers}
    for name, shape in shapes.items():
        if name not in inputs:
            raise NeuralArtError(f"input_shapes: no input '{name}'", where=display, hint=similar(name, inputs, 3, 0.4))
        lists = [inputs[name].vector(slot, 4, what) for slot, what in ((0, "shape"), (7, "shape_signature"))]
        had = inputs[name].integers(7, "shape_signature") or inputs[name].integers(0, "shape")
        fits = len(had) == len(shape) and all(old in (-1, new) for old, new in zip(had, shape, strict=True))
        if not fits or any(found is not None and found[1] not in (0, len(shape)) for found in lists):
            what = f"input_shapes: '{name}' has {list(had) or 'no dimensions'} (-1: open), not {list(shape)}"
            raise NeuralArtError(what, where=display, hint="one size for each dimension, the fixed ones as they are")
        for place, _ in (found for found in lists if found is not None and found[1]):
            struct.pack_into(f"<{len(shape)}i", changed, place, *shape)
    return bytes(changed)


def with_real_dimensions(data: bytes, display: str) -> bytes:
    """The bytes of a model in which each quantized dimension exists. Older converters copied that of the weights to
    tensors of fewer dimensions, which have one scale: LiteRT refuses them. Raises NeuralArtError: it is damaged.
    """
    changed = bytearray(data)
    for graph in FlatBuffer(data, display).root("the model").tables(2, "subgraphs", "subgraph"):
        for tensor in graph.tables(0, "tensors", "tensor"):
            described, count = tensor.table(4, "quantization"), len(tensor.integers(0, "shape"))
            if described is None or (count > 1 and len(described.reals(2, "scale")) != 1):
                continue
            place = described.place(6, 4, "quantized_dimension")
            if place is not None and described.integer(6, "quantized_dimension") >= count:
                struct.pack_into("<i", changed, place, 0)
    return bytes(changed)
