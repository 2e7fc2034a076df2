"""Changes to the bytes of a model that leave its structure alone."""

from __future__ import annotations

from pathlib import Path

from neuralart.model import tflite


def change_description(path: Path, old: bytes, new: bytes) -> None:
    """Only metadata changes: nothing that is compiled."""
    data = path.read_bytes()
    assert len(old) == len(new)
    assert data.count(old) == 1, f"{old!r} is in the model {data.count(old)} times"
    path.write_bytes(data.replace(old, new))


def change_weight(path: Path) -> str:
    """One byte of the largest int8 constant changes; scales and shapes stay.

    Returns:
        The name of the tensor.
    """
    model = tflite.read(path)
    constants = [t for t in model.tensors if t.data and t.dtype == "int8"]
    largest = max(constants, key=lambda t: len(t.data or b""))
    data = path.read_bytes()
    assert largest.data is not None
    at = data.index(largest.data) + len(largest.data) // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    return largest.name
