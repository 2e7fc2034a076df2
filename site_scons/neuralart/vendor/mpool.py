"""Memory-pool files (``.mpool``): the compiler's list of memories.

Two spellings exist: the one people write (snake_case mixed with camelCase) and the one a compiler saves (camelCase,
decimal numbers, an extra pool ``params`` of the epoch controller). Both are read. The format has no comments.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.jsonpos import Node, parse
from neuralart.network.pools import MemoryPool, PoolFile

MAGNITUDES = {"BYTES": 1, "KBYTES": 1024, "MBYTES": 1024 * 1024}
RIGHTS = {"ACC_READ": "ACC_READ", "ACC_WRITE": "ACC_WRITE"}
LEVELS = {"LOW": "LOW", "MID": "MID", "HIGH": "HIGH"}
FORMATS = {
    name: name for name in ("FORMAT_RAW", "FORMAT_HEX", "FORMAT_HEX16", "FORMAT_HEX32", "FORMAT_IHEX", "FORMAT_C")
}
MODES = {"USEMODE_ABSOLUTE": "USEMODE_ABSOLUTE", "USEMODE_RELATIVE": "USEMODE_RELATIVE"}
CACHEABLE = {"CACHEABLE_ON": True, "ON": True, "CACHEABLE_OFF": False, "OFF": False, "CACHEABLE_UNDEF": False}
TRUTH = {"true": True, "false": False}

_ADDRESS_SPACE = 1 << 32
_DECIMAL = re.compile(r"[0-9]{1,20}")
_HEX = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_FNAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _need(node: Node, kind: type, what: str) -> Any:
    if not isinstance(node.value, kind):
        words = "a text" if kind is str else "a list [ ]" if kind is list else "an object { }"
        raise NeuralArtError(f"{what} must be {words}, not {node.kind}", where=node.where)
    return node.value


def _member(parent: Node, names: tuple[str, ...], what: str) -> Node | None:
    """A member under any of its spellings."""
    found = [name for name in names if name in parent.value]
    if len(found) > 1:
        raise NeuralArtError(
            f"{what} has both '{found[0]}' and '{found[1]}'", where=parent.value[found[1]].where, hint="keep one"
        )
    return parent.value[found[0]] if found else None


def _required(parent: Node, names: tuple[str, ...], what: str, hint: str = "") -> Node:
    node = _member(parent, names, what)
    if node is None:
        known = [key for key in parent.value if key not in names]
        raise NeuralArtError(
            f"{what} has no '{names[0]}'", where=parent.where, hint=hint or f"it has: {', '.join(known) or 'nothing'}"
        )
    return node


def _word(node: Node, allowed: dict[str, Any], what: str) -> Any:
    value = node.value
    if isinstance(value, bool) and "true" in allowed:
        return value
    if not isinstance(value, str) or value not in allowed:
        shown = f"'{value}'" if isinstance(value, str) else node.kind
        raise NeuralArtError(f"{what} is {shown}", where=node.where, hint=nearest(str(value), list(allowed)))
    return allowed[value]


def _number(node: Node, what: str, *, minimum: float) -> float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NeuralArtError(f"{what} must be a number, not {node.kind}", where=node.where)
    if value < minimum:
        raise NeuralArtError(f"{what} is {value}, the least is {minimum:g}", where=node.where)
    return value


def _amount(parent: Node, key: str, what: str) -> int:
    """``{"value": "0x34000000", "magnitude": "BYTES"}`` in bytes."""
    node = _required(parent, (key,), what)
    _need(node, dict, f"{key} of {what}")
    value = _required(node, ("value",), f"{key} of {what}")
    unit = _required(node, ("magnitude",), f"{key} of {what}", "units: " + ", ".join(MAGNITUDES))
    factor = _word(unit, MAGNITUDES, f"magnitude of {key} of {what}")
    raw = value.value
    if isinstance(raw, int) and not isinstance(raw, bool):
        if raw < 0:
            raise NeuralArtError(f"{key} of {what} is negative: {raw}", where=value.where)
        return raw * int(factor)
    if not isinstance(raw, str):
        raise NeuralArtError(f"{key} of {what} must be a number or a text, not {value.kind}", where=value.where)
    text = raw.strip()
    if text.startswith("-"):
        raise NeuralArtError(f"{key} of {what} is negative: {text}", where=value.where)
    if _DECIMAL.fullmatch(text):
        return int(text, 10) * int(factor)
    if _HEX.fullmatch(text):
        return int(text, 16) * int(factor)
    raise NeuralArtError(
        f"{key} of {what} is '{raw}'", where=value.where, hint='a decimal or hexadecimal number: "448", "0x70000"'
    )


def _fname(pool: Node, number: int) -> str:
    node = _required(
        pool, ("fname",), f"pool {number}", "a pool needs fname, name, fformat, prop, offset, size (Neural-ART format)"
    )
    fname = str(_need(node, str, f"fname of pool {number}"))
    if not _FNAME.fullmatch(fname):
        raise NeuralArtError(
            f"fname '{fname}' cannot be part of a file name and a C name",
            where=node.where,
            hint="letters, digits and _, 64 at most",
        )
    return fname


def _pool(pool: Node, number: int) -> MemoryPool:
    _need(pool, dict, f"pool {number}")
    fname = _fname(pool, number)
    what = f"pool {fname}"
    name_node = _member(pool, ("name",), what)
    prop = _required(pool, ("prop",), what, "rights, throughput and latency stand in it")
    _need(prop, dict, f"prop of {what}")

    def word(parent: Node, names: tuple[str, ...], allowed: dict[str, Any], default: Any) -> Any:
        node = _member(parent, names, what)
        return default if node is None else _word(node, allowed, f"{names[0]} of {what}")

    def number_of(names: tuple[str, ...], default: float, minimum: float) -> float:
        node = _member(prop, names, what)
        return default if node is None else _number(node, f"{names[0]} of {what}", minimum=minimum)

    rights = _required(prop, ("rights",), f"prop of {what}", "ACC_READ or ACC_WRITE (= read and write)")
    width = number_of(("byteWidth", "byte_width"), 8, 1)
    if width != int(width):
        raise NeuralArtError(f"byteWidth of {what} is {width}, not a whole number", where=prop.where)
    result = MemoryPool(
        fname=fname,
        name=fname if name_node is None else str(_need(name_node, str, f"name of {what}")),
        address=_amount(pool, "offset", what),
        size=_amount(pool, "size", what),
        rights=_word(rights, RIGHTS, f"rights of {what}"),
        fformat=word(pool, ("fformat",), FORMATS, "FORMAT_RAW"),
        mode=word(pool, ("mode",), MODES, "USEMODE_ABSOLUTE"),
        throughput=word(prop, ("throughput",), LEVELS, "MID"),
        latency=word(prop, ("latency",), LEVELS, "MID"),
        byte_width=int(width),
        freq_ratio=float(number_of(("freqRatio", "freq_ratio"), 1.0, 0.001)),
        read_power=float(number_of(("readPower", "read_power"), 0.0, 0.0)),
        write_power=float(number_of(("writePower", "write_power"), 0.0, 0.0)),
        cacheable=word(prop, ("cacheable",), CACHEABLE, False),
        constants_preferred=word(prop, ("constantsPreferred", "constants_preferred"), TRUTH, False),
        where=pool.where,
    )
    if result.mode == "USEMODE_ABSOLUTE" and result.end > _ADDRESS_SPACE:
        raise NeuralArtError(
            f"{what} ends at 0x{result.end:x}, behind the 32-bit address space "
            f"(offset 0x{result.address:x} + size {result.size})",
            where=pool.where,
            hint="are the magnitudes of offset and size right?",
        )
    return result


def _range(pool: MemoryPool) -> str:
    return f"{pool.fname} 0x{pool.address:08x}-0x{pool.end:08x} ({pool.size} bytes)"


def _check(pools: list[MemoryPool]) -> None:
    seen: dict[str, MemoryPool] = {}
    for pool in pools:
        # Two names that differ only in case would be one file on many file systems.
        earlier = seen.setdefault(pool.fname.lower(), pool)
        if earlier is not pool:
            raise NeuralArtError(
                f"fname '{pool.fname}' is used twice, first at {earlier.where}",
                where=pool.where,
                hint="each pool has its own initializer file: give each its own fname",
            )
    fixed = [pool for pool in pools if pool.size and pool.mode == "USEMODE_ABSOLUTE"]
    for before, after in _pairs(sorted(fixed, key=lambda pool: (pool.address, pool.end))):
        overlap = min(before.end, after.end) - after.address
        raise NeuralArtError(
            f"pools overlap by {overlap} bytes: {_range(before)} of {before.where} and {_range(after)}",
            where=after.where,
            hint="move one, or disable it with size 0",
        )


def _pairs(pools: list[MemoryPool]) -> list[tuple[MemoryPool, MemoryPool]]:
    """Overlapping pools, in address order (a long pool may cover several that follow)."""
    pairs = []
    for number, before in enumerate(pools):
        for after in pools[number + 1 :]:
            if after.address >= before.end:
                break
            pairs.append((before, after))
    return pairs


def read(path: Path, display: str = "") -> PoolFile:
    """Read a memory-pool file.

    Args:
        path: Where it is.
        display: Its name in messages and in :attr:`PoolFile.path`; by default the path.

    Returns:
        All pools in the order of the file, those of size 0 too.

    Raises:
        NeuralArtError: It cannot be read or is not valid; ``where`` is ``file:line:column``.
    """
    file = display or str(path)
    return parse_pools(read_bytes(path), file)


def parse_pools(data: bytes, file: str) -> PoolFile:
    """Read the content of a memory-pool file.

    Raises:
        NeuralArtError: As :func:`read`.
    """
    document = parse(data, file, ascii_only=True)
    pools = pools_of(document, file)
    check_pools(pools, document)
    return pools


def pools_of(document: Node, file: str) -> PoolFile:
    """The pools of a document, each right in itself.

    Raises:
        NeuralArtError: As :func:`read`, but for pools that do not go together.
    """
    _need(document, dict, "the document")
    memory = _required(document, ("memory",), "the document", 'a memory-pool file starts with {"memory": ...}')
    _need(memory, dict, "memory")
    listed = _required(memory, ("mempools",), "memory")
    pools = [_pool(node, number) for number, node in enumerate(_need(listed, list, "mempools"))]
    prefix_node = _member(memory, ("mem_file_prefix", "memFilePrefix"), "memory")
    prefix = "atonbuf"
    if prefix_node is not None:
        prefix = str(_need(prefix_node, str, "mem_file_prefix"))
        if not _PREFIX.fullmatch(prefix):
            raise NeuralArtError(f"mem_file_prefix '{prefix}' cannot be part of a file name", where=prefix_node.where)
    return PoolFile(path=file, prefix=prefix, pools=tuple(pools))


def check_pools(pools: PoolFile, document: Node) -> None:
    """Whether the pools of a document go together.

    Raises:
        NeuralArtError: Two overlap or share a name, or none is enabled.
    """
    _check(list(pools.pools))
    if not pools.enabled:
        raise NeuralArtError(
            f"no pool is enabled: {len(pools.pools)} listed, all of size 0" if pools.pools else "no pool is listed",
            where=document.value["memory"].value["mempools"].where,
            hint="give at least one pool a size",
        )
