"""The one reader of models, whichever format they have."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.model import tflite
from neuralart.model.filekind import describe
from neuralart.model.graph import Model


def read(path: Path, display: str = "", asked: Sequence[Sequence[str]] = ((), (), (), ())) -> Model:
    """Read a .tflite or .onnx file; ``display``: as :func:`neuralart.model.tflite.read`.

    ``asked`` of an ONNX model: types of inputs and of outputs, channel positions of both; of each nothing, one for all
    or one for each. Raises NeuralArtError: it cannot be read, is damaged, has something that nothing here handles, or
    is an ONNX model and the package ``onnx`` is not installed.
    """
    shown = display or str(path)
    data = tflite.content(path, shown)
    if path.suffix.lower() != ".onnx" and describe(data) != "an ONNX model":
        return tflite.read(path, display)
    if importlib.util.find_spec("onnx") is None:
        hint = "pip install 'scons-neuralart[onnx]'"
        raise NeuralArtError("an ONNX model is read by the package onnx, which is missing", where=shown, hint=hint)
    from neuralart.model.onnx.lowerings import parse

    return parse(data, shown, path.stem, asked)


def onnx_kinds() -> list[str]:
    """The operators of ONNX that are read; none if the package ``onnx`` is not installed."""
    if importlib.util.find_spec("onnx") is None:
        return []
    from neuralart.model.onnx.lowerings import FOLDED, LOWERINGS

    return sorted({*LOWERINGS, *FOLDED, "Constant", "Shape"})
