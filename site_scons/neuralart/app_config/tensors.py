"""Inputs and outputs as a header needs them, from ``network.json`` or from a vendor's ``c_info.json``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network import facts
from neuralart.text.json_values import JsonValue, parse_tool

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
    top = parse_tool(data, shown)
    if isinstance(top.value, dict) and "graphs" in top.value:
        return _from_c_info(top, shown)
    if isinstance(top.value, dict) and "json_schema_version" in top.value:
        raise NeuralArtError(
            "this c_info.json holds no graph", where=shown, hint="take the one that generate wrote, not validate's"
        )
    return from_network(facts.from_json(data.decode("utf-8", "replace"), shown), shown)


# c_info.json, json_schema_version 2.0: graphs[0].inputs and .outputs are ids of buffers[]. ------------


def _from_c_info(top: JsonValue, shown: str) -> Tensors:
    graphs = top.items_at("graphs")
    if not graphs:
        raise NeuralArtError("this c_info.json holds no graph", where=shown)
    buffers = {_needed(buffer, "id").integer(): buffer for buffer in _needed(top, "buffers").items()}

    def tensors(key: str) -> tuple[TensorInfo, ...]:
        made = []
        for item in _needed(graphs[0], key).items():
            if item.value not in buffers:
                item.fail(f"{key}: there is no buffer {item.value}")
            made.append(_from_buffer(buffers[item.value]))
        return tuple(made)

    return Tensors(_network_name(top, graphs[0]), tensors("inputs"), tensors("outputs"), shown)


def _needed(value: JsonValue, key: str) -> JsonValue:
    return value.need(key, "is it a c_info.json?")


def _network_name(top: JsonValue, graph: JsonValue) -> str:
    """The C name; ``graphs[0].name`` is the model's."""
    environment = top.get("environment")
    generated = environment.get("generated_model") if environment else None
    named = generated.get("name") if generated else None
    return (named or _needed(graph, "name")).string()


def _from_buffer(buffer: JsonValue) -> TensorInfo:
    sizes = [size.value for size in _needed(buffer, "shape").items()]
    if not sizes or any(type(size) is not int or size <= 0 for size in sizes):
        buffer.fail("'shape' must be whole numbers from 1 on", "no dynamic sizes")
    shape = tuple(sizes)
    letters = [_AXES.get(str(axis.value), "?") for axis in buffer.items_at("shape_map")]
    layout = "".join(letters) if len(letters) == len(shape) and "?" not in letters else ""
    if letters and "N" not in letters:  # CPU targets leave the batch out
        shape, layout = (1, *shape), f"N{layout}" if layout else ""
    spelling = _needed(buffer, "format").string()
    if spelling not in _FORMATS:
        buffer.fail(f"unknown format '{spelling}'", f"known: {', '.join(_FORMATS)}")
    scale, zero = _quantization(buffer)
    return TensorInfo(_needed(buffer, "name").string(), shape, layout, _FORMATS[spelling], scale, zero)


def _quantization(buffer: JsonValue) -> tuple[float, int]:
    """Scale and zero point; of the first channel where each has its own."""
    values = buffer.get("intq")
    read: list[float] = []
    for one, other in (("scales", "scale"), ("offsets", "zero")):
        row = (values.get(one) or values.get(other)) if values else None
        numbers = [number.value for number in row.items()] if row is not None else []
        number = numbers[0] if numbers else 0
        if type(number) not in (int, float) or not math.isfinite(number):
            raise (row or buffer).fault(f"'{one}' must be numbers")
        read.append(number)
    return float(read[0]), int(read[1])
