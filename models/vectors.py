"""Golden vectors: a folder with ``vectors.json``, ``inputs.bin`` and ``outputs.bin``.

The binary files hold, vector after vector, all inputs (outputs) in the order of the model, little endian,
without gaps, so that they are readable without numpy.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

Vectors = list[list[np.ndarray]]


def _describe(names: Sequence[str], values: Sequence[np.ndarray]) -> list[dict[str, Any]]:
    return [
        {"name": name, "dtype": value.dtype.name, "shape": list(value.shape), "bytes": value.nbytes}
        for name, value in zip(names, values, strict=True)
    ]


def _pack(vectors: Sequence[Sequence[np.ndarray]]) -> bytes:
    return b"".join(np.ascontiguousarray(v).astype(v.dtype.newbyteorder("<")).tobytes() for one in vectors for v in one)


def encode(
    inputs: Sequence[Sequence[np.ndarray]],
    outputs: Sequence[Sequence[np.ndarray]],
    input_names: Sequence[str],
    output_names: Sequence[str],
    oracle: str,
) -> dict[str, bytes]:
    """The three files of a folder: file name -> bytes.

    Args:
        inputs: For each vector its inputs.
        outputs: For each vector its outputs.
        input_names: Tensor names.
        output_names: Tensor names.
        oracle: What computed the outputs.
    """
    described = {
        "schema": 1,
        "count": len(inputs),
        "inputs": _describe(input_names, inputs[0]),
        "outputs": _describe(output_names, outputs[0]),
        "oracle": oracle,
    }
    return {
        "vectors.json": (json.dumps(described, indent=2) + "\n").encode(),
        "inputs.bin": _pack(inputs),
        "outputs.bin": _pack(outputs),
    }


def _unpack(raw: bytes, described: list[dict[str, Any]], count: int) -> Vectors:
    result: Vectors = []
    position = 0
    for _ in range(count):
        one = []
        for tensor in described:
            end = position + tensor["bytes"]
            dtype = np.dtype(tensor["dtype"]).newbyteorder("<")
            one.append(np.frombuffer(raw[position:end], dtype).reshape(tensor["shape"]))
            position = end
        result.append(one)
    if position != len(raw):
        raise ValueError(f"{len(raw)} bytes where vectors.json describes {position}")
    return result


def read(folder: Path) -> tuple[Vectors, Vectors, dict[str, Any]]:
    """Inputs, outputs and description of a folder.

    Raises:
        ValueError: A file is not as long as described.
    """
    described = json.loads((folder / "vectors.json").read_text(encoding="utf-8"))
    inputs = _unpack((folder / "inputs.bin").read_bytes(), described["inputs"], described["count"])
    outputs = _unpack((folder / "outputs.bin").read_bytes(), described["outputs"], described["count"])
    return inputs, outputs, described
