"""The one reader of models, whichever format they have."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import nearest_file, read_bytes
from neuralart.model.graph import Model

ONNX = ".onnx"
SUFFIXES = (".tflite", ONNX)
"""Of the models that are read."""


def read(path: Path, display: str = "", asked: Sequence[Sequence[str]] = ((), (), (), ())) -> Model:
    """Read a .tflite or .onnx file.

    Args:
        path: The file.
        display: The file as the user named it; by default the path.
        asked: For an ONNX model: types of inputs and of outputs, channel positions of inputs and of outputs; of each
            nothing, one for all or one for each.

    Returns:
        Its graph. Raises NeuralArtError: it cannot be read, is damaged, has something that nothing here handles, or is
        an ONNX model and the package ``onnx`` is not installed.
    """
    if path.suffix.lower() != ONNX:
        from neuralart.model import tflite

        return tflite.read(path, display)
    if importlib.util.find_spec("onnx") is None:
        hint = "pip install 'scons-neuralart[onnx]'"
        raise NeuralArtError("an ONNX model is read by the package onnx, which is missing", where=display, hint=hint)
    from neuralart.model.onnx.read import parse

    try:
        return parse(read_bytes(path), display or str(path), path.stem, asked)
    except NeuralArtError as error:
        if path.exists():
            raise
        raise NeuralArtError(error.what, where=display or str(path), hint=nearest_file(path)) from error
