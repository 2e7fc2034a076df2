"""Sizes that a .tflite leaves open: given for its inputs, found for all other tensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import oracle
from neuralart.errors import NeuralArtError
from neuralart_reference.lower import lower
from neuralart_reference.model import reader
from neuralart_reference.model.graph import Model
from neuralart_reference.open_shapes import resolved
from tflite_writer import ModelWriter


def written(folder: Path, *, wrong: bool = False) -> Path:
    """Rows of any number, reshaped by a shape that is computed from them, then a layer, a sum, a mean."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, 1, 8), "float32", signature=(-1, -1, 8))
    ints = {name: writer.tensor(name, (), "int32") for name in ("rows", "all")}
    size = writer.tensor("size", (3,), "int32")
    writer.op("SHAPE", [x], [size])
    bounds = [writer.tensor(f"n{n}{at}", (1,), "int32", data=np.array([n])) for at, n in enumerate((1, 2, 1))]
    writer.op("STRIDED_SLICE", [size, *bounds], [ints["rows"]], shrink_axis_mask=1)
    four = writer.tensor("four", (), "int32", data=np.array(4))
    two = writer.tensor("two", (), "int32", data=np.array(2 if not wrong else 3))
    wanted = writer.tensor("wanted", (4,), "int32")
    minus = writer.tensor("minus", (), "int32", data=np.array(-1))
    writer.op("PACK", [minus, ints["rows"], two, four], [wanted])
    parted = writer.tensor("parted", (1, 1, 2, 4), "float32", signature=(-1, -1, 2, 4))
    writer.op("RESHAPE", [x, wanted], [parted])
    turned = writer.tensor("turned", (1, 2, 1, 4), "float32", signature=(-1, 2, -1, 4))
    order = writer.tensor("order", (4,), "int32", data=np.array([0, 2, 1, 3]))
    writer.op("TRANSPOSE", [parted, order], [turned])
    mean = writer.tensor("mean", (1, 2, 4), "float32", signature=(-1, 2, 4))
    writer.op("MEAN", [turned, writer.tensor("axis", (1,), "int32", data=np.array([2]))], [mean], keep_dims=False)
    path = folder / "open.tflite"
    path.write_bytes(writer.finish([x], [turned, mean]))
    return path


def shapes(model: Model) -> Mapping[str, tuple[int, ...]]:
    return {tensor.name: tensor.shape for tensor in resolved(model).tensors}


@pytest.mark.parametrize("given", [(1, 5, 8), (3, 2, 8)])
def test_shapes_follow_from_the_inputs(given: tuple[int, ...], tmp_path: Path) -> None:
    model = reader.read(written(tmp_path), "m.tflite", shapes={"x": given})
    assert shapes(model).items() >= {"parted": (*given[:2], 2, 4), "turned": (given[0], 2, given[1], 4)}.items()
    program = lower(model)
    assert [program.tensors[index].shape for index in program.outputs] == [(given[0], 2, given[1], 4), (given[0], 2, 4)]


@pytest.mark.needs("ai_edge_litert")
def test_litert_finds_the_same(tmp_path: Path) -> None:
    """The bytes with the sizes in them are a model of those sizes to LiteRT."""
    data = reader.ended(written(tmp_path), (), shapes={"x": (2, 3, 8)})
    turned, mean = oracle.run(data, [[np.zeros((2, 3, 8), np.float32)]])[0]
    assert (turned.shape, mean.shape) == ((2, 2, 3, 4), (2, 2, 4))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "dimension 1 is open (input_shapes of the network or --input-shape NAME=N0xN1x8)"),
        ({"y": (1, 5, 8)}, "m.tflite: input_shapes: no input 'y'"),
        ({"x": (1, 5, 9)}, "m.tflite: input_shapes: 'x' has [-1, -1, 8] (-1: open), not [1, 5, 9]"),
        ({"x": (5, 8)}, "m.tflite: input_shapes: 'x' has [-1, -1, 8] (-1: open), not [5, 8]"),
    ],
)
def test_wrong_shapes(given: Mapping[str, tuple[int, ...]], said: str, tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError) as caught:
        reader.read(written(tmp_path), "m.tflite", shapes=given)
    assert said in str(caught.value)


def test_what_does_not_fit_is_named(tmp_path: Path) -> None:
    model = reader.read(written(tmp_path, wrong=True), "m.tflite", shapes={"x": (1, 5, 8)})
    with pytest.raises(NeuralArtError, match=r"m\.tflite: operator 3 \(RESHAPE\): 'x' float32\[1, 5, 8\] cannot be"):
        lower(model)


def test_a_batch_of_one_needs_nothing(tmp_path: Path) -> None:
    writer = ModelWriter()
    x, y = (writer.tensor(name, (1, 4), "int8", 0.5, signature=(-1, 4)) for name in "xy")
    writer.op("RELU", [x], [y])
    path = tmp_path / "m.tflite"
    path.write_bytes(writer.finish([x], [y]))
    model = reader.read(path)
    assert resolved(model) is model
    assert shapes(reader.read(path, shapes={"x": (3, 4)})) == {"x": (3, 4), "y": (3, 4)}
