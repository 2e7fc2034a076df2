"""Initializers as C: ``network_atonbuf.<fname>.c``, the contents of a pool as an array of 64-bit words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.c_source import Lines, blanked, decode
from neuralart.vendor.network_c.initializers import integer, literal
from neuralart.vendor.network_c.pool_comments import pools
from neuralart.vendor.network_c.types import Pool, Problem

_ARRAY = re.compile(r"uint64_t\s[^;={}]{0,300}?\b(_mem_pool_(\w+))\s*\[\s*(\w*)\s*\]([^;={}]{0,300})=\s*\{")
_WORD = re.compile(r"0[xX][0-9a-fA-F]+|\d+")


@dataclass(frozen=True)
class InitializerC:
    """An initializer."""

    where: str  # Its name in messages
    symbol: str  # Of the array
    network: str  # Name of the network, from the symbol; empty if the comments do not tell the pool
    pool: Pool | None  # What the comments say; None if there are none
    size: int  # Bytes of the pool in use: as the comment says, else those of the array
    words: int  # 64-bit words of the array
    data: bytes  # Contents, ``size`` long
    problems: tuple[Problem, ...]  # Contradictions


def parse(text: str, where: str) -> InitializerC:
    """Read the text of such a file.

    Args:
        text: With LF line ends.
        where: Its name in messages.

    Raises:
        NeuralArtError: There is no such array in it, or a value is no word.
    """
    array = _ARRAY.search(text)
    if array is None:
        raise NeuralArtError(
            "no array uint64_t _mem_pool_...: no initializer as C", where=where, hint="is the file complete?"
        )
    lines = Lines(text)
    place = f"{where}:{lines.of(array.start())}"
    end = text.find("}", array.end())
    if end < 0:
        raise NeuralArtError(f"array {array[1]} has no end", where=place, hint="the file is cut off; make it again")
    body = text[array.end() : end]
    words = _WORD.findall(blanked(body, directives=True) if "/" in body else body)
    numbers = [literal(word) for word in words]
    if any(number is None for number in numbers):
        wrong = next(word for word, number in zip(words, numbers, strict=True) if number is None)
        raise NeuralArtError(f"'{wrong[:40]}' in array {array[1]} is no number of 64 bits", where=place)
    described, problems = pools(text, "", where, lines)
    pool = next((p for p in described if array[2].startswith(f"{p.fname}_")), described[0] if described else None)
    declared = integer(array[3]) if array[3] else None
    if declared is not None and declared != len(words):
        problems.append(Problem(place, f"array {array[1]}[{declared}] has {len(words)} values", "array-size"))
    room = 8 * len(words)
    said = pool.said if pool is not None and pool.said else room
    if pool is not None and pool.said and not pool.precision and -(-said // 8) != len(words):
        problems.append(
            Problem(place, f"array {array[1]} has {room} bytes, its comment says that {said} are in use", "pool-use")
        )
    size = said if pool is not None and not pool.precision and said <= room else room
    data = b"".join((number or 0).to_bytes(8, "little") for number in numbers)[:size]
    return InitializerC(
        where=where,
        symbol=array[1],
        network=array[2].removeprefix(f"{pool.fname}_") if pool is not None else "",
        pool=pool,
        size=size,
        words=len(words),
        data=data,
        problems=tuple(problems),
    )


def read(path: Path, display: str = "") -> InitializerC:
    """Read an initializer as C.

    Args:
        path: The file.
        display: Its name in messages.

    Raises:
        NeuralArtError: It cannot be read, or is none.
    """
    return parse(decode(read_bytes(path)), display or str(path))
