"""Changes to the bytes of a model that leave its structure alone."""

from __future__ import annotations

from pathlib import Path

from neuralart_reference.model import tflite


def change_description(path: Path, old: bytes, new: bytes) -> None:
    """Only metadata changes: nothing that is compiled."""
    data = path.read_bytes()
    assert len(old) == len(new)
    assert data.count(old) == 1, f"{old!r} is in the model {data.count(old)} times"
    path.write_bytes(data.replace(old, new))


def _largest_constant(path: Path) -> tuple[str, int, int]:
    """Name, offset in the file and bytes of the largest int8 constant."""
    constants = [t for t in tflite.read(path).tensors if t.data and t.dtype == "int8"]
    largest = max(constants, key=lambda t: len(t.data or b""))
    assert largest.data is not None
    return largest.name, path.read_bytes().index(largest.data), len(largest.data)


def reverse_weights(path: Path) -> str:
    """The largest int8 constant backwards: a network that answers otherwise, with the same scales and shapes.

    Returns:
        The name of the tensor.
    """
    name, at, size = _largest_constant(path)
    data = path.read_bytes()
    path.write_bytes(data[:at] + data[at : at + size][::-1] + data[at + size :])
    return name


def change_weight(path: Path) -> str:
    """One byte of the largest int8 constant changes; scales and shapes stay.

    Returns:
        The name of the tensor.
    """
    name, start, size = _largest_constant(path)
    data, at = path.read_bytes(), start + size // 2
    path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    return name
