"""Memory-pool files (``.mpool``): the compiler's list of memories.

Two spellings exist: the one people write (snake_case mixed with camelCase) and the one a compiler saves (camelCase,
decimal numbers, an extra pool ``params`` of the epoch controller). Both are read. The format has no comments.
Building from a pool file is strict, since the compiler is; for looking at one, what it would refuse becomes a note.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise
from typing import Any

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import of_file
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.quick import lazy_regex
from neuralart.text.json_values import JsonValue, parse, parse_tolerant
from neuralart.text.sizes import with_magnitude

MAGNITUDES = {"BYTES": 1, "KBYTES": 1024, "MBYTES": 1024 * 1024}
RIGHTS = ("ACC_READ", "ACC_WRITE")
LEVELS = ("LOW", "MID", "HIGH")
FORMATS = ("FORMAT_RAW", "FORMAT_HEX", "FORMAT_HEX16", "FORMAT_HEX32", "FORMAT_IHEX", "FORMAT_C")
MODES = ("USEMODE_ABSOLUTE", "USEMODE_RELATIVE")
CACHEABLE = {"CACHEABLE_ON": True, "ON": True, "CACHEABLE_OFF": False, "OFF": False, "CACHEABLE_UNDEF": False}
TRUTH = {"true": True, "false": False}

_ADDRESS_SPACE = 1 << 32
_FNAME = lazy_regex(r"[A-Za-z0-9_]{1,64}")
_PREFIX = lazy_regex(r"[A-Za-z0-9_-]{1,64}")


def _member(parent: JsonValue, names: tuple[str, ...], what: str) -> JsonValue | None:
    """A member under any of its spellings; the first one names it in messages."""
    members = parent.mapping()
    found = [name for name in names if name in members]
    if len(found) > 1:
        raise members[found[1]].fault(f"{what} has both '{found[0]}' and '{found[1]}'", "keep one")
    return members[found[0]].called(f"{names[0]} of {what}") if found else None


def _word(value: JsonValue, allowed: Collection[str]) -> Any:
    plain = value.value
    if isinstance(plain, bool) and "true" in allowed:
        return plain
    if not isinstance(plain, str) or plain not in allowed:
        shown = f"'{plain}'" if isinstance(plain, str) else value.described
        raise value.fault(f"{value.key} is {shown}", nearest(str(plain), list(allowed)))
    return allowed[plain] if isinstance(allowed, dict) else plain


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

    def word(parent: JsonValue, names: tuple[str, ...], allowed: Collection[str], default: Any) -> Any:
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
        said = f"{what} ends at 0x{result.end:x}, behind the 32-bit address space"
        hint = "are the magnitudes of offset and size right?"
        pool.fail(f"{said} (offset 0x{result.address:x} + size {result.size})", hint)
    return result


def _range(pool: MemoryPool) -> str:
    return f"{pool.fname} 0x{pool.address:08x}-0x{pool.end:08x} ({pool.size} bytes)"


def parse_pools(data: bytes, file: str) -> PoolFile:
    """All pools in the file's order, those of size 0 too; NeuralArtError with ``file:line:column`` if one is wrong."""
    document = parse(data, file, ascii_only=True)
    pools = pools_of(document, file)
    check_pools(pools, document)
    return pools


read = of_file(parse_pools)


def pools_of(document: JsonValue, file: str) -> PoolFile:
    """The pools of a document, each right in itself; NeuralArtError if one is not."""
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
    """Check the pools of a document. NeuralArtError: two overlap or share a name, or none is enabled."""
    seen: dict[str, MemoryPool] = {}
    for pool in pools.pools:
        # Two names that differ only in case would be one file on many file systems.
        earlier = seen.setdefault(pool.fname.lower(), pool)
        if earlier is not pool:
            what = f"fname '{pool.fname}' is used twice, first at {earlier.where}"
            hint = "each pool has its own initializer file: give each its own fname"
            raise NeuralArtError(what, where=pool.where, hint=hint)
    fixed = [pool for pool in pools.pools if pool.size and pool.mode == "USEMODE_ABSOLUTE"]
    # In address order, a pool that overlaps any other one overlaps the next one.
    for before, after in pairwise(sorted(fixed, key=lambda pool: (pool.address, pool.end))):
        if after.address < before.end:
            overlap = min(before.end, after.end) - after.address
            what = f"pools overlap by {overlap} bytes: {_range(before)} of {before.where} and {_range(after)}"
            raise NeuralArtError(what, where=after.where, hint="move one, or disable it with size 0")
    if not pools.enabled:
        count = len(pools.pools)
        said = f"no pool is enabled: {count} listed, all of size 0" if count else "no pool is listed"
        document.need("memory").need("mempools").fail(said, "give at least one pool a size")


_TOP = {"memory", "params", "param"}
_MEMORY = {"cacheinfo", "mem_file_prefix", "memFilePrefix", "mempools", "params"}
_POOL = {"busNode", "bus_node", "fformat", "fname", "mode", "name", "offset", "prop", "size"}
_AMOUNT = {"magnitude", "value"}
_PROP = {
    *("burstMaxLength", "burstPenalty", "burst_max_length", "burst_penalty", "byteWidth", "byte_width", "cacheable"),
    *("constantsPreferred", "constants_preferred", "freqRatio", "freq_ratio", "latency", "pipelined", "readPower"),
    *("read_power", "rights", "throughput", "writePower", "write_power"),
}


def _keys(document: JsonValue, pools: PoolFile) -> list[str]:
    memory = document.need("memory")
    notes = [*document.unknown(_TOP, "the document"), *memory.unknown(_MEMORY, "memory")]
    for value, pool in zip(memory.items_at("mempools"), pools.pools, strict=True):
        what = f"pool {pool.fname}"
        notes += value.unknown(_POOL, what)
        notes += value.need("prop").unknown(_PROP, f"prop of {what}")
        for key in ("offset", "size"):
            notes += value.need(key).unknown(_AMOUNT, f"{key} of {what}")
    return notes


def parse_noted(data: bytes, file: str) -> tuple[PoolFile, tuple[str, ...]]:
    """Read the content of a memory-pool file with indulgence; NeuralArtError as of :func:`parse_pools`. Besides the
    pools there are notes ``line:column: what`` about comments, trailing commas, characters that are not ASCII, keys
    without a meaning, and pools that do not go together.
    """
    document, notes = parse_tolerant(data, file)
    pools = pools_of(document, file)
    more = _keys(document, pools)
    text = data.decode("utf-8", "replace")
    strange = next((char for char in text.removeprefix("\ufeff") if char > "\x7f"), "")
    if strange:
        at = text.index(strange)
        line = text.count("\n", 0, at) + 1
        more.append(f"{line}:{at - text.rfind(chr(10), 0, at)}: U+{ord(strange):04X}, but this format is ASCII only")
    try:
        check_pools(pools, document)
    except NeuralArtError as error:
        more.append(f"{error.where.removeprefix(file + ':')}: {error.what}")
    return pools, (*notes, *more)


read_noted = of_file(parse_noted)
