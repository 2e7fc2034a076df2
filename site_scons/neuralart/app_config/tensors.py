"""Inputs and outputs as a header needs them, from ``network.json`` or from a vendor's ``c_info.json``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts, jsonpos
from neuralart.network.jsonpos import Node

_FORMATS = {
    "STAI_FORMAT_FLOAT": "float32",
    "STAI_FORMAT_FLOAT32": "float32",
    "STAI_FORMAT_FLOAT16": "float16",
    "STAI_FORMAT_S8": "int8",
    "STAI_FORMAT_U8": "uint8",
    "STAI_FORMAT_S16": "int16",
    "STAI_FORMAT_U16": "uint16",
    "STAI_FORMAT_S32": "int32",
    "STAI_FORMAT_U32": "uint32",
    "STAI_FORMAT_BOOL": "bool",
}
_AXES = {"BATCH": "N", "H": "H", "HEIGHT": "H", "W": "W", "WIDTH": "W", "CH": "C", "CHANNEL": "C", "D": "D"}
_SPACE = {3: "W", 4: "HW", 5: "DHW"}


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output.

    Attributes:
        name: Name of the tensor in the model.
        shape: With the batch, in memory order.
        layout: One letter for each axis (``NHWC``); empty where the network does not say.
        dtype: ``int8``, ``uint8``, ``float32``...
        scale: 0.0 when not quantized.
        zero_point: 0 when not quantized.
    """

    name: str
    shape: tuple[int, ...]
    layout: str
    dtype: str
    scale: float
    zero_point: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    def axis(self, letter: str) -> int | None:
        """Size along an axis; None where the layout does not name it."""
        at = self.layout.find(letter)
        return self.shape[at] if 0 <= at < len(self.shape) else None

    def __str__(self) -> str:
        return f"'{self.name}' ({self.dtype}[{','.join(map(str, self.shape))}])"


@dataclass(frozen=True)
class Tensors:
    """All of a network.

    Attributes:
        network: C name.
        inputs: In the model's order.
        outputs: In the model's order.
        where: The file they come from, for messages.
    """

    network: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    where: str = ""


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


def from_network(network: facts.Network, where: str = "") -> Tensors:
    """Tensors of a compiled network."""

    def made(port: facts.Port) -> TensorInfo:
        return TensorInfo(port.name, port.shape, _layout(port), port.dtype, port.scale, port.zero_point)

    return Tensors(network.name, tuple(map(made, network.inputs)), tuple(map(made, network.outputs)), where)


def read(path: Path, display: str = "") -> Tensors:
    """Read ``network.json`` or a ``c_info.json``.

    Raises:
        NeuralArtError: It cannot be read, or is neither.
    """
    shown = display or str(path)
    data = read_bytes(path)
    top = jsonpos.parse(data, shown)
    if isinstance(top.value, dict) and "graphs" in top.value:
        return _from_c_info(top, shown)
    if isinstance(top.value, dict) and "json_schema_version" in top.value:
        raise NeuralArtError(
            "this c_info.json holds no graph", where=shown, hint="take the one that generate wrote, not validate's"
        )
    return from_network(facts.from_json(data.decode("utf-8", "replace"), shown), shown)


# c_info.json, json_schema_version 2.0: graphs[0].inputs and .outputs are ids of buffers[]. ------------


def _get(node: Node, key: str, kind: type | tuple[type, ...], words: str) -> Any:
    found = node.value.get(key) if isinstance(node.value, dict) else None
    if found is None:
        raise NeuralArtError(f"'{key}' is missing", where=node.where, hint="is it a c_info.json?")
    if not isinstance(found.value, kind) or isinstance(found.value, bool):
        raise NeuralArtError(f"'{key}' is {found.kind}, it must be {words}", where=found.where)
    return found.value


def _from_c_info(top: Node, shown: str) -> Tensors:
    graphs = _get(top, "graphs", list, "a list")
    if not graphs:
        raise NeuralArtError("this c_info.json holds no graph", where=shown)
    buffers = {_get(node, "id", int, "a number"): node for node in _get(top, "buffers", list, "a list")}

    def tensors(key: str) -> tuple[TensorInfo, ...]:
        made = []
        for item in _get(graphs[0], key, list, "a list"):
            if item.value not in buffers:
                raise NeuralArtError(f"{key}: there is no buffer {item.value}", where=item.where)
            made.append(_from_buffer(buffers[item.value]))
        return tuple(made)

    return Tensors(_network_name(top, graphs[0]), tensors("inputs"), tensors("outputs"), shown)


def _network_name(top: Node, graph: Node) -> str:
    """The C name; ``graphs[0].name`` is the model's."""
    node: Any = top
    for key in ("environment", "generated_model", "name"):
        node = node.value.get(key) if isinstance(node, Node) and isinstance(node.value, dict) else None
    if isinstance(node, Node) and isinstance(node.value, str):
        return node.value
    return str(_get(graph, "name", str, "a text"))


def _from_buffer(node: Node) -> TensorInfo:
    shape = tuple(
        item.value if type(item.value) is int and item.value > 0 else 0 for item in _get(node, "shape", list, "a list")
    )
    if not shape or 0 in shape:
        raise NeuralArtError("'shape' must be whole numbers from 1 on", where=node.where, hint="no dynamic sizes")
    written = node.value.get("shape_map")
    names = written.value if written is not None and isinstance(written.value, list) else []
    letters = [_AXES.get(str(item.value), "?") for item in names]
    layout = "".join(letters) if len(letters) == len(shape) and "?" not in letters else ""
    if letters and "N" not in letters:  # CPU targets leave the batch out
        shape, layout = (1, *shape), f"N{layout}" if layout else ""
    spelling = _get(node, "format", str, "a text")
    if spelling not in _FORMATS:
        raise NeuralArtError(f"unknown format '{spelling}'", where=node.where, hint=f"known: {', '.join(_FORMATS)}")
    scale, zero = _quantization(node)
    return TensorInfo(_get(node, "name", str, "a text"), shape, layout, _FORMATS[spelling], scale, zero)


def _quantization(node: Node) -> tuple[float, int]:
    """Scale and zero point; of the first channel where each has its own."""
    found = node.value.get("intq")
    values = found.value if found is not None and isinstance(found.value, dict) else {}
    read: list[float] = []
    for one, other in (("scales", "scale"), ("offsets", "zero")):
        row = values.get(one, values.get(other))
        numbers = row.value if row is not None and isinstance(row.value, list) else []
        number = numbers[0].value if numbers else 0
        if isinstance(number, bool) or not isinstance(number, (int, float)) or not math.isfinite(number):
            raise NeuralArtError(f"'{one}' must be numbers", where=row.where if row is not None else node.where)
        read.append(number)
    return float(read[0]), int(read[1])
