"""Sizes of pools in the memory-pool file of a CPU target (``mempools_<board>.json``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse
from neuralart.patching.units import parse as parse_size
from neuralart.patching.units import with_magnitude


def read_pool_sizes(path: Path, display: str = "") -> dict[str, int]:
    """Name of a pool -> bytes. A KBYTE is 1024 bytes; of ``usable_size`` and ``size`` the former counts.

    Raises:
        NeuralArtError: It is no such file.
    """
    name = display or str(path)
    top = parse(read_bytes(path), name, relaxed=True)
    pools = _get(_get(top, "memory"), "mempools")
    sizes: dict[str, int] = {}
    for node in pools.value if pools is not None and isinstance(pools.value, list) else _refuse(top, name):
        label, size = _get(node, "name"), _get(node, "usable_size") or _get(node, "size")
        if label is None or not isinstance(label.value, str) or size is None:
            _refuse(node, name)
        elif label.value in sizes:
            raise NeuralArtError(f"pool {label.value} stands there twice", where=f"{name}:{label.line}:{label.column}")
        else:
            sizes[label.value] = _size(size, f"{name}:{size.line}:{size.column}")
    return sizes


def _size(node: Node, where: str) -> int:
    if isinstance(node.value, str):
        return parse_size(node.value, where)
    value, magnitude = _get(node, "value"), _get(node, "magnitude")
    if value is None:
        raise NeuralArtError("a size without 'value'", where=where)
    return with_magnitude(value.value, "BYTES" if magnitude is None else magnitude.value, where)


def _get(node: Node | None, key: str) -> Node | None:
    found: Any = node.value.get(key) if node is not None and isinstance(node.value, dict) else None
    return found if found is None or isinstance(found, Node) else None


def _refuse(node: Node, name: str) -> list[Node]:
    raise NeuralArtError(
        "not a memory-pool file: memory.mempools with 'name' and 'size' is expected",
        where=f"{name}:{node.line}:{node.column}",
    )
