"""The comments of network.c that describe the memory pools.

Two lines each: how much is in use, and the rest. A relative pool is followed by the declaration of its symbol with the
exact number of bytes in use.
"""

from __future__ import annotations

import re

from neuralart.text.c_source import Lines
from neuralart.vendor.network_c.initializers import literal
from neuralart.vendor.network_c.types import Pool, Problem

_USED = re.compile(r"global pool\s+(\d{1,6})\s+is\s+(\?|(\d{1,12}(?:[.,]\d{1,9})?)\s*(bytes?|[kKMG]?i?B)\b)")
# Bounded: a comment without an end, or a line without one, is not searched again for every pool.
_INDEX = re.compile(
    r"\bindex=\s*(\d{1,6})\s+file postfix=(\S{0,400})\s+name=([^\n]{0,400}?)\s{1,9}offset=(\S{1,40})\s{1,9}"
    r"(absolute_mode|relative_mode)\s(.{0,2000}?)\*/",
    re.S,
)
# Exact where it is a plain number; one with a unit is rounded.
_EXTERN = re.compile(
    r"extern\s[^;\n]{0,80}?\b_mem_pool_(\w+)\s*\[\s*\]\s*;\s*/\*\s*\[?\s*(\d{1,12})(?![\d.,])(?!\s*[KMG]B)"
)
_UNIT = {"b": 1, "byte": 1, "bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}
_ADDRESS = 1 << 32


def in_use(number: str, unit: str) -> tuple[int, int]:
    """Bytes and precision of an amount in a comment.

    Args:
        number: With point or comma.
        unit: ``B``, ``bytes``, ``KB``, ``MB``, ``GB``.
    """
    scale = _UNIT[unit.lower().replace("ib", "b")]
    digits = len(number.replace(",", ".").partition(".")[2])
    # Half of the last digit: what lies between two amounts is rounded to the even one.
    precision = 0 if scale == 1 else max(round(scale / (2 * 10**digits)), 1)
    return round(float(number.replace(",", ".")) * scale), precision


def _score(words: str) -> int | float | None:
    found = re.search(r"\bscore=(-?\d{1,15}(?:\.\d{1,15})?)(?![\w.])", words)
    if found is None:
        return None
    return float(found[1]) if "." in found[1] else int(found[1])


def _said(part: str) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for match in _USED.finditer(part):
        found.setdefault(int(match[1]), in_use(match[3], match[4]) if match[3] else (0, 0))
    return found


def pools(text: str, name: str, where: str, lines: Lines) -> tuple[list[Pool], list[Problem]]:
    """Read the comments.

    Args:
        text: The file.
        name: Suffix of the network's symbols.
        where: Name of the file in messages.
        lines: Of the text.
    """
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
        rights = next((word for word in words if word.startswith("READ_")), "")
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
                rights=rights,
                virtual="vpool" in words,
                score=_score(rest),
                cacheable="cacheable=ON" in words or "cacheable=CACHEABLE_ON" in words,
                initializers="use4initializers=YES" in words,
                offset=start + match.start(),
            )
        )
    return found, problems
