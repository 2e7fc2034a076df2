"""What a board sent of the layers of one inference, as a folder: ``record.json``, and raw tensors beside it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import outputs
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes, write_text
from neuralart.text import json_values
from neuralart_virtual.validation_link.client import LayerRecord
from neuralart_virtual.validation_link.messages import Fields

RECORD, KIND, SCHEMA = "record.json", "neuralart-layers", 1


@dataclass(frozen=True)
class LayerTensor:
    """A tensor that an epoch wrote on a board."""

    first: int  # First epoch of the layer
    last: int  # Last one: a program of the epoch controller has several
    address: int  # In the board's memory
    data: bytes


@dataclass(frozen=True)
class BoardInference:
    """One inference of a board."""

    network: str  # As the board calls it
    inputs: tuple[bytes, ...]  # In the network's order
    tensors: tuple[LayerTensor, ...]  # As they came


def file_of(layer: int, tensor: int) -> str:
    """The file of a tensor, both counted from 0."""
    return f"{layer:03}_{tensor}.bin"


def write(folder: Path, network: str, inputs: Sequence[bytes], layers: Sequence[LayerRecord], *, force: bool) -> None:
    """Write the record of an inference. NeuralArtError: another file stands where one of it belongs."""
    rows, files = [], {f"input_{number}.bin": data for number, data in enumerate(inputs)}
    given = list(files)
    for number, layer in enumerate(layers):
        sent = [(at, tensor) for at, tensor in enumerate(layer.tensors) if tensor["data"]["content"]]
        files |= {file_of(number, at): tensor["data"]["content"] for at, tensor in sent}
        tensors = [_row(file_of(number, at), tensor["description"]) for at, tensor in sent]
        first, last = layer.operator["id"] & 0xFFFF, layer.operator["id"] >> 16
        # Of an epoch that the runtime inserts the last one is negative.
        rows.append({"epoch": first, "last": last if last < 0x8000 else first, "tensors": tensors})
    record = {"kind": KIND, "schema": SCHEMA, "network": network, "inputs": given, "layers": rows}
    text = json.dumps(record, indent=1) + "\n"
    outputs.refuse(folder / RECORD, lambda data: f'"kind": "{KIND}"'.encode() in data, force=force)
    for name, data in files.items():
        outputs.refuse(folder / name, data.__eq__, force=force)
    for name, data in files.items():
        write_bytes(folder / name, data)
    write_text(folder / RECORD, text)


def _row(file: str, description: Fields) -> dict[str, object]:
    return {"name": description["name"], "address": description["address"], "file": file}


def read(folder: Path) -> BoardInference:
    """The record of an inference. NeuralArtError: it is none, a file is missing, or says what cannot be."""
    path = folder / RECORD if folder.is_dir() else folder
    hint = "neuralart tool talk PORT --input FILE --layers FOLDER writes such a record"
    root = json_values.parse_tool(read_bytes(path, hint), path.as_posix())
    if root.string_at("kind") != KIND or root.integer_at("schema") != SCHEMA:
        raise NeuralArtError("not the record of an inference", where=path.as_posix(), hint=hint)
    tensors = [
        LayerTensor(
            layer.need("epoch").integer(0, 0xFFFF),
            layer.need("last").integer(0, 0xFFFF),
            tensor.need("address").integer(),
            read_bytes(_beside(path, tensor.string_at("file"))),
        )
        for layer in root.items_at("layers")
        for tensor in layer.items_at("tensors")
    ]
    inputs = tuple(read_bytes(_beside(path, name)) for name in root.strings_at("inputs"))
    return BoardInference(root.string_at("network"), inputs, tuple(tensors))


def _beside(record: Path, name: str) -> Path:
    if not name or Path(name).name != name:
        raise NeuralArtError(f"'{name}' is no file beside it", where=record.as_posix(), hint="record it again")
    return record.parent / name
