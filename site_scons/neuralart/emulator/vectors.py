"""Golden vectors: what to feed a network and what must come out, to the byte. Read without numpy.

A folder holds ``vectors.json`` (what the tensors are), ``inputs.bin`` and ``outputs.bin`` (for each vector all its
tensors in order, little endian).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.emulator.stops import Difference
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.facts import Network, Port

SCHEMA = 1
# dtype -> code of the struct module
DTYPES = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "bool": "?",
}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a vector."""

    name: str  # As in the model
    dtype: str  # For example ``int8``
    shape: tuple[int, ...]  # As in the model
    bytes: int  # Size


@dataclass(frozen=True)
class Vectors:
    """All vectors of a network."""

    where: str  # The folder, for messages
    inputs: tuple[Tensor, ...]  # Tensors of one vector
    outputs: tuple[Tensor, ...]  # Tensors of one vector
    input_data: tuple[bytes, ...]  # One element per vector: its inputs, concatenated
    output_data: tuple[bytes, ...]  # One element per vector: its outputs, concatenated

    @property
    def count(self) -> int:
        """How many."""
        return len(self.input_data)


def _tensor(row: dict[str, Any], where: str) -> Tensor:
    tensor = Tensor(str(row["name"]), str(row["dtype"]), tuple(int(n) for n in row["shape"]), int(row["bytes"]))
    if tensor.dtype not in DTYPES:
        raise NeuralArtError(
            f"'{tensor.name}' has dtype '{tensor.dtype}'", where=where, hint=nearest(tensor.dtype, list(DTYPES))
        )
    size = math.prod(tensor.shape) * struct.calcsize("<" + DTYPES[tensor.dtype])
    if size != tensor.bytes:
        raise NeuralArtError(
            f"'{tensor.name}' says {tensor.bytes} bytes, shape {list(tensor.shape)} of {tensor.dtype} has {size}",
            where=where,
        )
    return tensor


def _slices(path: Path, tensors: Sequence[Tensor], count: int) -> tuple[bytes, ...]:
    size = sum(tensor.bytes for tensor in tensors)
    data = read_bytes(path)
    if len(data) != size * count:
        raise NeuralArtError(
            f"{len(data)} bytes, but {count} vectors of {size} bytes are {size * count}",
            where=str(path),
            hint="vectors.json and the .bin files belong together: generate them again",
        )
    return tuple(data[n * size : (n + 1) * size] for n in range(count))


def load(folder: Path) -> Vectors:
    """Read a folder of golden vectors. NeuralArtError: files are missing, damaged, or do not fit together."""
    path = folder / "vectors.json"
    where = str(path)
    try:
        data = jsontext.loads(read_bytes(path).decode("utf-8"))
        schema = data["schema"]
        if schema != SCHEMA:
            raise NeuralArtError(f"schema {schema}, this version reads {SCHEMA}", where=where)
        count = int(data["count"])
        inputs = tuple(_tensor(row, where) for row in data["inputs"])
        outputs = tuple(_tensor(row, where) for row in data["outputs"])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NeuralArtError(f"not a vectors.json: {type(error).__name__}: {error}", where=where) from error
    if count < 1 or not inputs or not outputs:
        raise NeuralArtError(
            f"{count} vectors, {len(inputs)} inputs, {len(outputs)} outputs: nothing to compare", where=where
        )
    return Vectors(
        str(folder),
        inputs,
        outputs,
        _slices(folder / "inputs.bin", inputs, count),
        _slices(folder / "outputs.bin", outputs, count),
    )


def _check_side(side: str, tensors: Sequence[Tensor], ports: Sequence[Port], where: str, network: str) -> None:
    hint = "were they made from this model, with these I/O types?"
    if len(tensors) != len(ports):
        raise NeuralArtError(
            f"{len(tensors)} {side}s, network {network} has {len(ports)}", where=where, hint=f"the vectors: {hint}"
        )
    for number, (tensor, port) in enumerate(zip(tensors, ports, strict=True)):
        ours = (tensor.name, tensor.dtype, tensor.bytes)
        theirs = (port.name, port.dtype, port.bytes)
        if ours != theirs:
            raise NeuralArtError(
                f"{side} {number} is '{ours[0]}' {ours[1]} of {ours[2]} bytes, "
                f"in network {network} it is '{theirs[0]}' {theirs[1]} of {theirs[2]} bytes",
                where=where,
                hint=f"the vectors: {hint}",
            )


def check(vectors: Vectors, network: Network) -> None:
    """Do these vectors belong to this network?. NeuralArtError: number, name, type or size of a tensor differ."""
    _check_side("input", vectors.inputs, network.inputs, vectors.where, network.name)
    _check_side("output", vectors.outputs, network.outputs, vectors.where, network.name)


def _value(tensor: Tensor, data: bytes, index: int) -> str:
    code = "<" + DTYPES[tensor.dtype]
    size = struct.calcsize(code)
    raw = data[index * size : (index + 1) * size]
    (value,) = struct.unpack(code, raw)
    # Two floats may print alike and still differ (NaN, signed zero): their bits never do.
    return f"{value!r} (0x{raw[::-1].hex()})" if isinstance(value, float) else str(int(value))


def first_difference(vectors: Vectors, number: int, got: bytes) -> str:
    """Where outputs first differ, as ``vector 3, output 'softmax' index 7: expected -12, got -11``, or empty."""
    expected = vectors.output_data[number]
    if got == expected:
        return ""
    if len(got) != len(expected):
        return f"vector {number}: expected {len(expected)} bytes of outputs, got {len(got)}"
    at = next(n for n in range(len(expected)) if got[n] != expected[n])
    begin = 0
    for tensor in vectors.outputs:
        if at < begin + tensor.bytes:
            break
        begin += tensor.bytes
    end = begin + tensor.bytes
    index = (at - begin) // struct.calcsize("<" + DTYPES[tensor.dtype])
    want, have = _value(tensor, expected[begin:end], index), _value(tensor, got[begin:end], index)
    return f"vector {number}, output '{tensor.name}' index {index}: expected {want}, got {have}"


def compare(vectors: Vectors, number: int, got: bytes, network: str) -> None:
    """Demand that outputs are equal to the byte. Difference: they are not; the first difference."""
    text = first_difference(vectors, number, got)
    if text:
        raise Difference(text, where=network)
