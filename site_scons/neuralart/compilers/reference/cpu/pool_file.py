"""Memory-pool files of CPU targets: JSON that lists the RAM an application can give to activations.

Three spellings are in use, told apart by their values: sizes as texts with a unit (``"128KB"``), sizes as value and
magnitude (``mempools_<board>.json``), and the latter with a ``usable_size`` that is smaller than the memory. Addresses
may be there; nothing is placed by them, since the application's linker script decides where its buffers are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse
from neuralart.vendor.mpool import LEVELS, MAGNITUDES

WEIGHTS = "weights_array"
"""Name of the pool of the weights: no pool of a file may have it."""

_UNITS = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30, "GB": 1 << 30}
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_SIZE = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})\s*([A-Za-z]*)")
_NAME = re.compile(r"[\x21-\x7e]{1,64}")
_LARGEST = 1 << 32
_READ_ONLY = "ACC_READ"


@dataclass(frozen=True)
class ActivationMemory:
    """A memory for activations.

    Attributes:
        name: As the file has it; buffers and ``c_info.json`` are named after it.
        size: Bytes that activations may take; 0: none.
        throughput: ``HIGH``, ``MID`` or ``LOW``.
        latency: Likewise.
        where: ``file:line:column``.
    """

    name: str
    size: int
    throughput: str = "MID"
    latency: str = "MID"
    where: str = ""


def read(path: Path, display: str = "") -> tuple[ActivationMemory, ...]:
    """Read a memory-pool file.

    Args:
        path: The file.
        display: Its name in messages; by default the path.

    Returns:
        Pools that may be written, in the order of the file; disabled ones (size 0) too.

    Raises:
        NeuralArtError: It is no such file, or it gives no memory.
    """
    return parse_pools(read_bytes(path), display or str(path))


def parse_pools(data: bytes, file: str) -> tuple[ActivationMemory, ...]:
    """Read the content of a memory-pool file.

    Raises:
        NeuralArtError: As :func:`read`.
    """
    document = parse(data, file, relaxed=True)
    memory = _member(
        document, "memory", dict, "the document", 'such a file starts with {"memory": {"mempools": [...]}}'
    )
    listed = _member(memory, "mempools", list, "memory")
    pools: list[ActivationMemory] = []
    for number, node in enumerate(listed.value):
        made = _pool(node, number)
        if made is None:
            continue
        earlier = next((pool for pool in pools if pool.name.lower() == made.name.lower()), None)
        if earlier is not None:
            raise NeuralArtError(
                f"pool '{made.name}' is there twice, first at {earlier.where}",
                where=made.where,
                hint="each pool becomes a buffer of its own: give each its own name",
            )
        pools.append(made)
    if not any(pool.size for pool in pools):
        listed_sizes = ", ".join(f"{pool.name} {pool.size}" for pool in pools) or "none is listed"
        raise NeuralArtError(
            f"no pool for activations: {listed_sizes}", where=listed.where, hint="give a pool in RAM a size"
        )
    return tuple(pools)


def _member(parent: Node, key: str, kind: type, what: str, hint: str = "") -> Node:
    if not isinstance(parent.value, dict):
        raise NeuralArtError(f"{what} must be an object {{ }}, not {parent.kind}", where=parent.where, hint=hint)
    node = parent.value.get(key)
    if not isinstance(node, Node):
        has = ", ".join(parent.value) or "nothing"
        raise NeuralArtError(f"{what} has no '{key}'", where=parent.where, hint=hint or f"it has: {has}")
    if not isinstance(node.value, kind):
        words = "an object { }" if kind is dict else "a list [ ]" if kind is list else "a text"
        raise NeuralArtError(f"'{key}' of {what} must be {words}, not {node.kind}", where=node.where)
    return node


def _pool(node: Node, number: int) -> ActivationMemory | None:
    name = str(_member(node, "name", str, f"pool {number}").value)
    what = f"pool '{name}'"
    if not _NAME.fullmatch(name) or name.lower() == WEIGHTS:
        raise NeuralArtError(
            f"'{name}' cannot be the name of a pool of activations",
            where=node.where,
            hint=f"1 to 64 printable characters without blanks, and not {WEIGHTS}",
        )
    prop = node.value.get("prop")
    if prop is not None and not isinstance(prop.value, dict):
        raise NeuralArtError(f"'prop' of {what} must be an object {{ }}, not {prop.kind}", where=prop.where)
    properties: dict[str, Node] = prop.value if prop is not None else {}
    rights = properties.get("rights")
    if rights is not None and rights.value == _READ_ONLY:
        return None
    amounts = [_amount(node.value[key], f"{key} of {what}") for key in ("usable_size", "size") if key in node.value]
    if not amounts:
        raise NeuralArtError(f"{what} has no 'size'", where=node.where, hint=f"it has: {', '.join(node.value)}")
    if amounts[0] > amounts[-1]:
        raise NeuralArtError(
            f"{what}: usable_size of {amounts[0]} bytes is more than its size of {amounts[-1]}", where=node.where
        )
    return ActivationMemory(
        name,
        amounts[0],
        _level(properties.get("throughput"), f"throughput of {what}"),
        _level(properties.get("latency"), f"latency of {what}"),
        node.where,
    )


def _level(node: Node | None, what: str) -> str:
    if node is None:
        return "MID"
    if not isinstance(node.value, str) or node.value not in LEVELS:
        shown = f"'{node.value}'" if isinstance(node.value, str) else node.kind
        raise NeuralArtError(f"{what} is {shown}", where=node.where, hint=nearest(str(node.value), list(LEVELS)))
    return node.value


def _amount(node: Node, what: str) -> int:
    """Bytes of ``"128KB"``, ``131072`` or ``{"value": "128", "magnitude": "KBYTES"}``; a K is 1024."""
    value: Any = node.value
    factor = 1
    if isinstance(value, dict):
        magnitude = value.get("magnitude")
        word = "BYTES" if magnitude is None else magnitude.value
        if word not in MAGNITUDES:
            raise NeuralArtError(
                f"magnitude of {what} is '{word}'",
                where=node.where if magnitude is None else magnitude.where,
                hint=nearest(str(word), list(MAGNITUDES)),
            )
        factor = MAGNITUDES[word]
        inner = value.get("value")
        if inner is None:
            raise NeuralArtError(f"{what} has no 'value'", where=node.where)
        node, value = inner, inner.value
        found = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) else None
    else:
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        if found is not None:
            unit = found.group(2).upper()
            if unit not in _UNITS:
                raise NeuralArtError(f"{what} is '{value}'", where=node.where, hint="units: B, KB, MB, GB; K is 1024")
            factor = _UNITS[unit]
    if isinstance(value, int) and not isinstance(value, bool):
        size = value * factor
    elif found is not None:
        digits = found.group(0 if found.re is _NUMBER else 1)
        size = int(digits, 16 if digits[:2] in ("0x", "0X") else 10) * factor
    else:
        shown = f"'{value}'" if isinstance(value, str) else node.kind
        raise NeuralArtError(f"{what} is {shown}, not a size", where=node.where, hint='such as "128KB"')
    if not 0 <= size <= _LARGEST:
        raise NeuralArtError(f"{what} is {size} bytes, possible are 0 to {_LARGEST}", where=node.where)
    return size
