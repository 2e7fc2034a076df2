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
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.text.json_values import JsonValue, parse
from neuralart.text.sizes import with_magnitude

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
_FNAME = re.compile(r"[A-Za-z0-9_]{1,64}")
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")


def _member(parent: JsonValue, names: tuple[str, ...], what: str) -> JsonValue | None:
    """A member under any of its spellings; the first one names it in messages."""
    members = parent.mapping()
    found = [name for name in names if name in members]
    if len(found) > 1:
        raise members[found[1]].fault(f"{what} has both '{found[0]}' and '{found[1]}'", "keep one")
    return members[found[0]].called(f"{names[0]} of {what}") if found else None


def _word(value: JsonValue, allowed: dict[str, Any]) -> Any:
    plain = value.value
    if isinstance(plain, bool) and "true" in allowed:
        return plain
    if not isinstance(plain, str) or plain not in allowed:
        shown = f"'{plain}'" if isinstance(plain, str) else value.described
        raise value.fault(f"{value.key} is {shown}", nearest(str(plain), list(allowed)))
    return allowed[plain]


def _number(value: JsonValue, minimum: float) -> float:
    number = value.value
    if type(number) not in (int, float):
        raise value.wrong("a number")
    if number < minimum:
        value.fail(f"{value.key} is {number}, the least is {minimum:g}")
    return float(number)


def _fname(pool: JsonValue) -> str:
    value = pool.need("fname", "a pool needs fname, name, fformat, prop, offset, size (Neural-ART format)")
    fname = value.string()
    if not _FNAME.fullmatch(fname):
        value.fail(f"fname '{fname}' cannot be part of a file name and a C name", "letters, digits and _, 64 at most")
    return fname


def _pool(pool: JsonValue, number: int) -> MemoryPool:
    fname = _fname(pool.called(f"pool {number}"))
    what = f"pool {fname}"
    pool.called(what)
    prop = pool.need("prop", "rights, throughput and latency stand in it")

    def word(parent: JsonValue, names: tuple[str, ...], allowed: dict[str, Any], default: Any) -> Any:
        value = _member(parent, names, what)
        return default if value is None else _word(value, allowed)

    def number_of(names: tuple[str, ...], default: float, minimum: float) -> float:
        value = _member(prop, names, what)
        return default if value is None else _number(value, minimum)

    prop.need("rights", "ACC_READ or ACC_WRITE (= read and write)")
    width = number_of(("byteWidth", "byte_width"), 8, 1)
    if width != int(width):
        prop.fail(f"byteWidth of {what} is {width}, not a whole number")
    result = MemoryPool(
        fname=fname,
        name=pool.string_at("name", fname),
        address=with_magnitude(pool.need("offset"), MAGNITUDES, exact=True),
        size=with_magnitude(pool.need("size"), MAGNITUDES, exact=True),
        rights=word(prop, ("rights",), RIGHTS, ""),
        fformat=word(pool, ("fformat",), FORMATS, "FORMAT_RAW"),
        mode=word(pool, ("mode",), MODES, "USEMODE_ABSOLUTE"),
        throughput=word(prop, ("throughput",), LEVELS, "MID"),
        latency=word(prop, ("latency",), LEVELS, "MID"),
        byte_width=int(width),
        freq_ratio=number_of(("freqRatio", "freq_ratio"), 1.0, 0.001),
        read_power=number_of(("readPower", "read_power"), 0.0, 0.0),
        write_power=number_of(("writePower", "write_power"), 0.0, 0.0),
        cacheable=word(prop, ("cacheable",), CACHEABLE, False),
        constants_preferred=word(prop, ("constantsPreferred", "constants_preferred"), TRUTH, False),
        where=str(pool.where),
    )
    if result.mode == "USEMODE_ABSOLUTE" and result.end > _ADDRESS_SPACE:
        pool.fail(
            f"{what} ends at 0x{result.end:x}, behind the 32-bit address space "
            f"(offset 0x{result.address:x} + size {result.size})",
            "are the magnitudes of offset and size right?",
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


def pools_of(document: JsonValue, file: str) -> PoolFile:
    """The pools of a document, each right in itself.

    Raises:
        NeuralArtError: As :func:`read`, but for pools that do not go together.
    """
    memory = document.need("memory", 'a memory-pool file starts with {"memory": ...}')
    listed = memory.need("mempools").called("mempools")
    pools = [_pool(value, number) for number, value in enumerate(listed.items())]
    prefix_value = _member(memory, ("mem_file_prefix", "memFilePrefix"), "memory")
    prefix = "atonbuf"
    if prefix_value is not None:
        prefix = prefix_value.string()
        if not _PREFIX.fullmatch(prefix):
            prefix_value.fail(f"mem_file_prefix '{prefix}' cannot be part of a file name")
    return PoolFile(path=file, prefix=prefix, pools=tuple(pools))


def check_pools(pools: PoolFile, document: JsonValue) -> None:
    """Whether the pools of a document go together.

    Raises:
        NeuralArtError: Two overlap or share a name, or none is enabled.
    """
    _check(list(pools.pools))
    if not pools.enabled:
        count = len(pools.pools)
        document.need("memory").need("mempools").fail(
            f"no pool is enabled: {count} listed, all of size 0" if count else "no pool is listed",
            "give at least one pool a size",
        )
