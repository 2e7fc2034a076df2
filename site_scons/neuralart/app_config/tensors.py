"""Reads inputs and outputs for a header from ``network.json`` or from ST's ``c_info.json``."""

from __future__ import annotations

import math
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.quick import dataclass
from neuralart.text.json_values import parse_tool
from neuralart.vendor.c_info.ports import ports
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo

_DTYPES = ("float32", "float16", "int8", "uint8", "int16", "uint16", "int32", "uint32", "bool")
_SPACE = {3: "W", 4: "HW", 5: "DHW"}


@dataclass(frozen=True)
class TensorInfo:
    name: str  # name of the tensor in the model
    shape: tuple[int, ...]  # with the batch, in memory order
    layout: str  # one letter for each axis (``NHWC``); empty where the network does not say
    dtype: str  # ``int8``, ``uint8``, ``float32``...
    scale: float  # 0.0 when not quantized
    zero_point: int  # 0 when not quantized

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    def axis(self, letter: str) -> int | None:
        """Length along an axis; None if the layout does not name it."""
        at = self.layout.find(letter)
        return self.shape[at] if 0 <= at < len(self.shape) else None

    def __str__(self) -> str:
        return f"'{self.name}' ({self.dtype}[{','.join(map(str, self.shape))}])"


@dataclass(frozen=True)
class Tensors:
    network: str  # C name
    inputs: tuple[TensorInfo, ...]  # in the model's order
    outputs: tuple[TensorInfo, ...]  # in the model's order
    where: str = ""  # the file they come from, for messages


def _layout(port: facts.Port) -> str:
    rank = len(port.shape)
    if port.channel_position not in ("last", "first"):
        return ""
    if rank == 1:
        return "C"
    space = _SPACE.get(rank, "")
    if rank != len(space) + 2:
        return ""
    return f"N{space}C" if port.channel_position == "last" else f"NC{space}"


def _tensor(port: facts.Port) -> TensorInfo:
    return TensorInfo(port.name, port.shape, _layout(port), port.dtype, port.scale, port.zero_point)


def from_network(network: facts.Network, where: str = "") -> Tensors:
    return Tensors(network.name, tuple(map(_tensor, network.inputs)), tuple(map(_tensor, network.outputs)), where)


def read(path: Path, display: str = "") -> Tensors:
    """Read ``network.json`` or a ``c_info.json``. NeuralArtError: it cannot be read, or is neither."""
    shown = display or str(path)
    data = read_bytes(path)
    top = parse_tool(data, shown).value
    if isinstance(top, dict) and ("graphs" in top or "json_schema_version" in top):
        return from_c_info(parse_c_info(data, shown))
    return from_network(facts.from_json(data.decode("utf-8", "replace"), shown), shown)


def from_c_info(info: CInfo) -> Tensors:
    """Tensors of a network by its ``c_info.json``: the same as by its ``network.json``. NeuralArtError: it has no
    graph, or an input or output is not listed, not fixed or of a strange type.
    """
    if info.graph is None:
        hint = "take the one that generate wrote, not validate's"
        raise NeuralArtError("this c_info.json holds no graph", where=info.file, hint=hint)
    formats = {buffer.id: buffer.format for buffer in info.buffers}

    def tensors(ids: tuple[int, ...]) -> tuple[TensorInfo, ...]:
        found = ports(info, ids)
        for number, port in zip(ids, found, strict=True):
            if port.dtype not in _DTYPES:
                hint = f"known: {', '.join(_DTYPES)}"
                raise NeuralArtError(f"unknown format '{formats[number]}' of '{port.name}'", where=info.file, hint=hint)
        return tuple(map(_tensor, found))

    # The graph's name is the model's.
    return Tensors(info.name or info.graph.name, tensors(info.graph.inputs), tensors(info.graph.outputs), info.file)
