"""A memory-pool file read with indulgence: what a compiler would refuse becomes a note where it can.

Building from a pool file is strict (:mod:`~neuralart.vendor.mpool`), since the compiler is; looking at one is not.
"""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.pools import PoolFile
from neuralart.text.json_values import JsonValue, parse_tolerant
from neuralart.vendor.mpool import check_pools, pools_of

_TOP = {"memory", "params", "param"}
_MEMORY = {"cacheinfo", "mem_file_prefix", "memFilePrefix", "mempools", "params"}
_POOL = {"busNode", "bus_node", "fformat", "fname", "mode", "name", "offset", "prop", "size"}
_AMOUNT = {"magnitude", "value"}
_PROP = {
    "burstMaxLength",
    "burstPenalty",
    "burst_max_length",
    "burst_penalty",
    "byteWidth",
    "byte_width",
    "cacheable",
    "constantsPreferred",
    "constants_preferred",
    "freqRatio",
    "freq_ratio",
    "latency",
    "pipelined",
    "readPower",
    "read_power",
    "rights",
    "throughput",
    "writePower",
    "write_power",
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
    """Read the content of a memory-pool file, saved by a compiler or written by hand.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Returns:
        The pools, and notes ``line:column: what`` about comments, trailing commas, characters that are not ASCII, keys
        without a meaning, and pools that do not go together.

    Raises:
        NeuralArtError: It is no such file, or a known key has a wrong value; ``where`` is ``file:line:column``.
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


def read_noted(path: Path, display: str = "") -> tuple[PoolFile, tuple[str, ...]]:
    """Read a memory-pool file.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_noted`.
    """
    return parse_noted(read_bytes(path), display or str(path))
