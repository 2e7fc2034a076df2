"""The reader of ONNX models, registered as readers of others are.

The package ``onnx`` is loaded with the first model.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.network.model_parts import external
from neuralart.plugins import register
from neuralart.text.filekind import describe
from neuralart_reference.model.graph import Model


class OnnxReader:
    """Quantized ONNX models."""

    suffixes = (".onnx",)

    def recognizes(self, start: bytes) -> bool:
        """By the first fields of its ModelProto."""
        return describe(start) == "an ONNX model"

    def reads(self) -> bool:
        """If the package ``onnx`` is installed."""
        return importlib.util.find_spec("onnx") is not None

    def read(self, data: bytes, display: str, name: str, asked: Sequence[Sequence[str]]) -> Model:
        """Read a model. NeuralArtError: ``onnx`` is missing; or as ``parsing.parse``."""
        self._needed(display)
        from neuralart_reference.onnx.parsing import parse

        return parse(data, display, name, asked)

    def ended(self, data: bytes, display: str, cut: Sequence[str]) -> bytes:
        """The bytes of a model that ends at values of these names. NeuralArtError: ``onnx`` or a value is missing."""
        self._needed(display)
        from neuralart_reference.onnx import cutting

        return cutting.ended(data, display, cut)

    def whole(self, data: bytes, display: str, folder: Path) -> bytes:
        """The bytes of a model with the constants that lie in files beside it. NeuralArtError: one cannot be read."""
        if not external(data):
            return data
        self._needed(display)
        from neuralart_reference.onnx import cutting

        return cutting.whole(data, display, folder)

    def shaped(self, data: bytes, display: str, shapes: Mapping[str, Sequence[int]]) -> bytes:
        """The bytes of a model whose inputs have these shapes. NeuralArtError: as ``cutting.shaped``."""
        self._needed(display)
        from neuralart_reference.onnx import cutting

        return cutting.shaped(data, display, shapes)

    def _needed(self, display: str) -> None:
        if not self.reads():
            hint = "pip install 'scons-neuralart[onnx]'"
            what = "an ONNX model is read by the package onnx, which is missing"
            raise NeuralArtError(what, where=display, hint=hint)


def onnx_kinds() -> list[str]:
    """The operators of ONNX that are read; none if the package ``onnx`` is not installed."""
    if not OnnxReader().reads():
        return []
    from neuralart_reference.onnx.lowerings import FOLDED, LOWERINGS, NUMBERS

    return sorted({*LOWERINGS, *NUMBERS, *FOLDED, "Constant", "Shape"})


register("readers", "onnx", OnnxReader(), protocol=1)
