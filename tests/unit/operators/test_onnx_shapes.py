"""Open sizes and constants in other files of ONNX models: what is accepted, and what is said of the rest."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from neuralart.compilers.request import input_shapes
from neuralart.errors import NeuralArtError
from neuralart.network.model_parts import external
from neuralart_reference.model import reader

onnx = pytest.importorskip("onnx")

from support.cases.onnx_texts import model  # noqa: E402


def _open(folder: Path) -> Path:
    path = folder / "open.onnx"
    onnx.save(model("float[n,3,h,w] x", "y = Relu (x)"), path)
    return path


def test_shapes_fix_what_is_open(tmp_path: Path) -> None:
    path = _open(tmp_path)
    read = reader.read(path, shapes={"x": (1, 3, 4, 6)})
    assert read.tensors[read.inputs[0]].shape == read.tensors[read.outputs[0]].shape == (1, 3, 4, 6)
    with pytest.raises(NeuralArtError, match=r"open or too large sizes \[1, 3, 0, 0\]"):
        reader.read(path)


@pytest.mark.parametrize(
    ("shapes", "said"),
    [
        ({"z": (1,)}, "no input 'z'"),
        ({"x": (1, 3, 4)}, r"'x' has \[0, 3, 0, 0\] \(0: open\), not \[1, 3, 4\]"),
        ({"x": (1, 4, 4, 4)}, r"not \[1, 4, 4, 4\]"),
    ],
)
def test_shapes_that_do_not_fit(tmp_path: Path, shapes: dict[str, tuple[int, ...]], said: str) -> None:
    with pytest.raises(NeuralArtError, match=said):
        reader.read(_open(tmp_path), shapes=shapes)


def test_words_of_shapes() -> None:
    assert input_shapes("x=1x3x48,a,b=2") == {"x": (1, 3, 48), "a,b": (2,)} and input_shapes("") == {}
    for text in ("x", "x=", "x=0x1", "x=1x-2", "=1", "x=1,"):
        with pytest.raises(NeuralArtError, match="is no list of shapes"):
            input_shapes(text)


def test_constants_beside_a_model(tmp_path: Path) -> None:
    path, made = tmp_path / "net.onnx", model("float[1,64] x", "y = MatMul (x, w)", w=np.ones((64, 8)))
    onnx.save(made, path, save_as_external_data=True, location="net.onnx.data", size_threshold=0)
    assert external(path.read_bytes()) == ["net.onnx.data"]
    assert next(op.kind for op in reader.read(path).operators) == "FULLY_CONNECTED"
    data = tmp_path / "net.onnx.data"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(NeuralArtError, match=r"cannot be read from net\.onnx\.data"):
        reader.read(path)
    data.unlink()
    with pytest.raises(NeuralArtError, match=r"in net.onnx.data, which is missing"):
        reader.read(path)
    path.write_bytes(path.read_bytes().replace(b"net.onnx.data", b"../../etc/foo"))
    assert external(path.read_bytes()) == []
    with pytest.raises(NeuralArtError, match="of another folder"):
        reader.read(path)
