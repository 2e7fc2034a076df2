"""The one reader of models, whichever format they have: .tflite, or a format that a plugin reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from neuralart import plugins
from neuralart.errors import NeuralArtError
from neuralart_reference.model import tflite
from neuralart_reference.model.graph import Model
from neuralart_reference.model.tflite_shapes import shaped

Shapes = Mapping[str, Sequence[int]]
AS_IT_IS: Shapes = {}
"""What is open is fixed by itself, or refused."""
_TFLITE = b"TFL3"  # At offset 4: https://ai.google.dev/edge/litert, schema.fbs, file_identifier


class ModelReader(Protocol):
    """A format of models besides .tflite, registered under the name of the format. A format that leaves sizes of inputs
    open may have ``shaped(data, display, shapes)``, which fixes them in the bytes of a file. One that keeps constants
    in other files may have ``whole(data, display, folder)``, which gives the bytes of one file.

    An example, which reads models from a format of lines::

        class Lines:
            suffixes = (".lines",)

            def recognizes(self, start):
                return start.startswith(b"lines 1")

            def reads(self):
                return True

            def read(self, data, display, name, asked):
                return Model(display, name, *tensors_and_operators(data))

            def ended(self, data, display, cut):
                return b"".join(lines_up_to(data, cut))

        register("readers", "lines", Lines(), protocol=1)

    Attributes:
        suffixes: Ends of the names of such files, in small letters, with the dot.
    """

    suffixes: tuple[str, ...]

    def recognizes(self, start: bytes) -> bool:
        """If a file that begins with these bytes (64, or all of a shorter one) is one of the format."""

    def reads(self) -> bool:
        """If what it needs is installed; else the other methods say what is missing."""

    def read(self, data: bytes, display: str, name: str, asked: Sequence[Sequence[str]]) -> Model:
        """Read the bytes of a file; arguments as of :func:`read`.

        Raises:
            NeuralArtError: It is damaged, or has something that nothing here handles.
        """

    def ended(self, data: bytes, display: str, cut: Sequence[str]) -> bytes:
        """The bytes of a model that ends at tensors of these names.

        Raises:
            NeuralArtError: There are none of these names.
        """


def read(
    path: Path,
    display: str = "",
    asked: Sequence[Sequence[str]] = ((), (), (), ()),
    cut: Sequence[str] = (),
    shapes: Shapes = AS_IT_IS,
) -> Model:
    """Read a model; ``display``: as :func:`neuralart_reference.model.tflite.read`.

    ``asked`` of a format that leaves it open (ONNX): types of inputs and of outputs, channel positions of both; of each
    nothing, one for all or one for each. ``cut``: names of tensors where the model ends. ``shapes``: of inputs whose
    sizes the model leaves open, by their names. Raises NeuralArtError: it
    cannot be read, is damaged, or has something that nothing here handles.
    """
    shown = display or str(path)
    plugin = _reader(path, shown)
    if plugin is None and not shapes:
        return tflite.read(path, display, cut)
    data = ended(path, cut, shown, shapes)
    if plugin is None:
        return tflite.parse(data, shown, path.stem)
    model: Model = plugin.call("read", data, shown, path.stem, asked)
    return model


def ended(path: Path, cut: Sequence[str], display: str = "", shapes: Shapes = AS_IT_IS) -> bytes:
    """The bytes of a model that ends at tensors of these names (none: of its file), with these shapes of inputs.
    NeuralArtError: there is no such tensor, or a shape does not fit.
    """
    shown = display or str(path)
    data = tflite.content(path, shown)
    plugin = _reader(path, shown)
    if plugin is not None and hasattr(plugin.made, "whole"):
        data = plugin.call("whole", data, shown, path.parent)
    if shapes and plugin is not None and not hasattr(plugin.made, "shaped"):
        raise NeuralArtError("the sizes of this format are fixed", where=shown, hint="leave input_shapes out")
    if shapes:
        data = plugin.call("shaped", data, shown, shapes) if plugin is not None else shaped(data, shown, shapes)
    if not cut:
        return data
    return plugin.call("ended", data, shown, cut) if plugin is not None else tflite.ended(data, shown, cut)


def can_read(path: Path) -> bool:
    """If what reads such a model is installed. NeuralArtError: the file cannot be read."""
    plugin = _reader(path, str(path))
    return plugin is None or bool(plugin.call("reads"))


def _reader(path: Path, shown: str) -> plugins.Plugin | None:
    """Who reads a file; None: it is taken for a .tflite."""
    start = tflite.content(path, shown)[:64]
    if start[4:8] == _TFLITE:
        return None
    for plugin in plugins.every("readers"):
        if path.suffix.lower() in plugin.made.suffixes or plugin.call("recognizes", start):
            return plugin
    return None
