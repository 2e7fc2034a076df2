"""The one reader of models, whichever format they have."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.model import tflite
from neuralart.model.filekind import describe
from neuralart.model.graph import Model


def read(
    path: Path, display: str = "", asked: Sequence[Sequence[str]] = ((), (), (), ()), cut: Sequence[str] = ()
) -> Model:
    """Read a .tflite or .onnx file; ``display``: as :func:`neuralart.model.tflite.read`.

    ``asked`` of an ONNX model: types of inputs and of outputs, channel positions of both; of each nothing, one for all
    or one for each. ``cut``: names of tensors where the model ends. Raises NeuralArtError: it cannot be read, is
    damaged, has something that nothing here handles, or is an ONNX model and the package ``onnx`` is not installed.
    """
    shown = display or str(path)
    if not _is_onnx(path, shown):
        return tflite.read(path, display, cut)
    from neuralart_reference.onnx.lowerings import parse

    return parse(ended(path, cut, shown), shown, path.stem, asked)


def ended(path: Path, cut: Sequence[str], display: str = "") -> bytes:
    """The bytes of a model that ends at tensors of these names; none: of its file. NeuralArtError: there is no such."""
    shown = display or str(path)
    data = tflite.content(path, shown)
    if not cut or not _is_onnx(path, shown):
        return tflite.ended(data, shown, cut) if cut else data
    from neuralart_reference.onnx import cutting

    return cutting.ended(data, shown, cut)


def _is_onnx(path: Path, shown: str) -> bool:
    """NeuralArtError: it is, and nothing can read it, or it cannot be read."""
    if path.suffix.lower() != ".onnx" and describe(tflite.content(path, shown)) != "an ONNX model":
        return False
    if importlib.util.find_spec("onnx") is None:
        hint = "pip install 'scons-neuralart[onnx]'"
        raise NeuralArtError("an ONNX model is read by the package onnx, which is missing", where=shown, hint=hint)
    return True


def onnx_kinds() -> list[str]:
    """The operators of ONNX that are read; none if the package ``onnx`` is not installed."""
    if importlib.util.find_spec("onnx") is None:
        return []
    from neuralart_reference.onnx.lowerings import FOLDED, LOWERINGS

    return sorted({*LOWERINGS, *FOLDED, "Constant", "Shape"})
