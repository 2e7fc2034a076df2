"""How numbers become elements of a tensor. Numbers of a file are real values, unless they have the element type of the
tensor already. A real value becomes an element as the network's quantization says: round(value / scale) + zero point,
within the type.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port

Array: TypeAlias = Any  # Of NumPy, which is loaded only when it is needed
RESIZES = ("fit", "crop", "padding")
COLORS = ("rgb", "bgr")


@dataclass(frozen=True)
class Preprocessing:
    """What happens to the numbers of a file: value x scale + offset, then quantization."""

    scale: float | None = None  # None: 1; pixels stay bytes
    offset: float = 0.0
    # Pictures of another size: ``fit`` stretches them, ``crop`` cuts the middle out, ``padding`` adds black; empty:
    # they are refused
    resize: str = ""
    color: str = "rgb"  # Order of the channels of pictures, ``rgb`` or ``bgr``
    rate: int = 0  # Samples per second that sound must have; 0: any

    @property
    def untouched(self) -> bool:
        """Neither scale nor offset was asked for."""
        return self.scale is None and not self.offset


AS_THEY_ARE = Preprocessing()


def library(name: str, what: str) -> Any:
    """A package of the extra ``vectors``. NeuralArtError: it is not installed."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError) as error:  # OSError: its own library is missing
        hint = "pip install 'scons-neuralart[vectors]'"
        raise NeuralArtError(f"{what} needs the Python package {name.partition('.')[0]}", hint=hint) from error


def elements(port: Port) -> int:
    """How many numbers a tensor holds."""
    return math.prod(port.shape)


def shape_text(shape: Sequence[int]) -> str:
    """``1x16x16x1``."""
    return "x".join(map(str, shape)) or "one number"


def little_endian(values: Array, dtype: str) -> bytes:
    """Bytes of elements that have their values already."""
    return bytes(values.astype(library("numpy", "an input").dtype(dtype).newbyteorder("<")).tobytes())


def encoded(values: Array, port: Port, how: Preprocessing) -> bytes:
    """Real values as elements of a tensor, little endian."""
    np = library("numpy", "an input")
    real = values.astype(np.float64) * (1.0 if how.scale is None else how.scale) + how.offset
    kind = np.dtype(port.dtype)
    if kind.kind in "iu":
        if port.scale:
            real = real / port.scale + port.zero_point
        limits = np.iinfo(kind)
        real = np.clip(np.rint(real), limits.min, limits.max)
    return little_endian(real, port.dtype)


def of_array(array: Array, port: Port, how: Preprocessing, where: str) -> list[bytes]:
    """One tensor, or several in a row. NeuralArtError: the shape is another one, or these are no numbers."""
    np = library("numpy", "an input")
    if array.dtype.kind not in "iufb":
        raise NeuralArtError(f"holds {array.dtype}, not numbers", where=where)
    if array.size == elements(port):
        array = array.reshape(1, -1)
    elif array.ndim > 1 and array.size and array.size == len(array) * elements(port):
        array = array.reshape(len(array), -1)
    else:
        shape = shape_text(port.shape)
        what = f"an array of {shape_text(array.shape)}, tensor '{port.name}' is {shape}"
        raise NeuralArtError(what, where=where, hint=f"one of {shape}, or N of them: Nx{shape}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise NeuralArtError("holds values that are no numbers", where=where)
    if array.dtype == np.dtype(port.dtype) and how.untouched:
        return [little_endian(row, port.dtype) for row in array]
    return [encoded(row, port, how) for row in array]
