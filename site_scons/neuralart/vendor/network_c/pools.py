"""Memory pools of generated C: the comments of network.c that describe them, and their initializers as C.

The comments have two lines each: how much is in use, and the rest. A relative pool is followed by the declaration of
its symbol with the exact number of bytes in use. An initializer (``network_atonbuf.<fname>.c``) is the contents of a
pool as an array of 64-bit words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.files import of_file
from neuralart.quick import lazy_regex
from neuralart.text.c_source import Lines, blanked, decode
from neuralart.vendor.network_c.initializers import integer, literal
from neuralart.vendor.network_c.types import Pool, Problem

_USED = lazy_regex(r"global pool\s+(\d{1,6})\s+is\s+(\?|(\d{1,12}(?:[.,]\d{1,9})?)\s*(bytes?|[kKMG]?i?B)\b)")
# Bounded: a comment without an end, or a line without one, is not searched again for every pool.
_INDEX = lazy_regex(
    r"\bindex=\s*(\d{1,6})\s+file postfix=(\S{0,400})\s+name=([^\n]{0,400}?)\s{1,9}offset=(\S{1,40})\s{1,9}"
    r"(absolute_mode|relative_mode)\s(.{0,2000}?)\*/",
    re.S,
)
# Exact where it is a plain number; one with a unit is rounded.
_EXTERN = lazy_regex(
    r"extern\s[^;\n]{0,80}?\b_mem_pool_(\w+)\s*\[\s*\]\s*;\s*/\*\s*\[?\s*(\d{1,12})(?![\d.,])(?!\s*[KMG]B)"
)
_UNIT = {"b": 1, "byte": 1, "bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_ADDRESS = 1 << 32


def in_use(number: str, unit: str) -> tuple[int, int]:
    """Bytes and precision of an amount in a comment: a number with point or comma, and ``B``, ``bytes``, ``KB``..."""
    scale = _UNIT[unit.lower().replace("ib", "b")]
    digits = len(number.replace(",", ".").partition(".")[2])
    # Half of the last digit: what lies between two amounts is rounded to the even one.
    precision = 0 if scale == 1 else max(round(scale / (2 * 10**digits)), 1)
    return round(float(number.replace(",", ".")) * scale), precision


def _score(words: str) -> int | float | None:
    found = re.search(r"\bscore=(-?\d{1,15}(?:\.\d{1,15})?)(?![\w.])", words)
    return None if found is None else float(found[1]) if "." in found[1] else int(found[1])


def _said(part: str) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for match in _USED.finditer(part):
        found.setdefault(int(match[1]), in_use(match[3], match[4]) if match[3] else (0, 0))
    return found


def pools(text: str, name: str, where: str, lines: Lines) -> tuple[list[Pool], list[Problem]]:
    """Read the comments; ``name`` is the suffix of the network's symbols."""
    first = text.find("file postfix=")
    if first < 0:
        return [], []
    used_first = text.find("global pool")
    start = max(0, (min(first, used_first) if used_first >= 0 else first) - 100)
    end = text.rfind("file postfix=") + 4096
    part = text[start:end]
    said = _said(part)
    exact = {match[1].removesuffix(f"_{name}"): int(match[2]) for match in _EXTERN.finditer(part)}
    found: list[Pool] = []
    problems: list[Problem] = []
    for match in _INDEX.finditer(part):
        index, fname, report, offset, mode, rest = match.groups()
        place = f"{where}:{lines.of(start + match.start())}"
        size = re.search(r"\bsize=(\d+)", rest)
        address, capacity = literal(offset), literal(size[1].lstrip("0") or "0") if size else None
        if size is None:
            problems.append(Problem(place, f"the comment of pool {fname} has no size="))
            continue
        for value, digits in ((address, offset), (capacity, size[1])):
            if value is None or value >= _ADDRESS:
                problems.append(Problem(place, f"'{digits[:40]}' is no number of 32 bits"))
        if address is None or capacity is None or max(address, capacity) >= _ADDRESS:
            continue
        words = rest.split()
        used, precision = said.get(int(index), (0, 0))
        found.append(
            Pool(
                index=int(index),
                fname=fname,
                name=report,
                address=address,
                size=capacity,
                said=used,
                precision=precision,
                exact=exact.get(fname),
                mode=mode,
                rights=next((word for word in words if word.startswith("READ_")), ""),
                virtual="vpool" in words,
                score=_score(rest),
                cacheable="cacheable=ON" in words or "cacheable=CACHEABLE_ON" in words,
                initializers="use4initializers=YES" in words,
                offset=start + match.start(),
            )
        )
    return found, problems


_ARRAY = lazy_regex(r"uint64_t\s[^;={}]{0,300}?\b(_mem_pool_(\w+))\s*\[\s*(\w*)\s*\]([^;={}]{0,300})=\s*\{")
_WORD = lazy_regex(r"0[xX][0-9a-fA-F]+|\d+")


class InitializerC(NamedTuple):
    where: str  # Its name in messages
    symbol: str  # Of the array
    network: str  # Name of the network, from the symbol; empty if the comments do not tell the pool
    pool: Pool | None  # What the comments say; None if there are none
    size: int  # Bytes of the pool in use: as the comment says, else those of the array
    words: int  # 64-bit words of the array
    data: bytes  # Contents, ``size`` long
    problems: tuple[Problem, ...]  # Contradictions


def parse_initializer(text: str, where: str) -> InitializerC:
    """Read the text of an initializer, with LF line ends; NeuralArtError if there is no array, or no word in it."""
    array = _ARRAY.search(text)
    if array is None:
        hint = "is the file complete?"
        raise NeuralArtError("no array uint64_t _mem_pool_...: no initializer as C", where=where, hint=hint)
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
        what = f"array {array[1]} has {room} bytes, its comment says that {said} are in use"
        problems.append(Problem(place, what, "pool-use"))
    size = said if pool is not None and not pool.precision and said <= room else room
    data = b"".join((number or 0).to_bytes(8, "little") for number in numbers)[:size]
    name = array[2].removeprefix(f"{pool.fname}_") if pool is not None else ""
    return InitializerC(where, array[1], name, pool, size, len(words), data, tuple(problems))


read_initializer = of_file(lambda data, file: parse_initializer(decode(data), file))
