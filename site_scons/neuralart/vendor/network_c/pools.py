"""Memory pools of generated C: the comments of network.c that describe them, and their initializers as C.

The comments have two lines each: how much is in use, and the rest. A relative pool is followed by the declaration of
its symbol with the exact number of bytes in use. An initializer (``network_atonbuf.<fname>.c``) is the contents of a
pool as an array of 64-bit words.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.files import of_file
from neuralart.patterns import later
from neuralart.text.c_source import Lines, blanked, decode
from neuralart.vendor.network_c.types import Pool, Problem

_USED = later(r"global pool\s+(\d{1,6})\s+is\s+(\?|(\d{1,12}(?:[.,]\d{1,9})?)\s*(bytes?|[kKMG]?i?B)\b)")
# Bounded: a comment without an end, or a line without one, is not searched again for every pool.
_INDEX = later(
    r"\bindex=\s*(\d{1,6})\s+file postfix=(\S{0,400})\s+name=([^\n]{0,400}?)\s{1,9}offset=(\S{1,40})\s{1,9}"
    r"(absolute_mode|relative_mode)\s(.{0,2000}?)\*/",
    re.S,
)
# Exact where it is a plain number; one with a unit is rounded.
_EXTERN = later(r"extern\s[^;\n]{0,80}?\b_mem_pool_(\w+)\s*\[\s*\]\s*;\s*/\*\s*\[?\s*(\d{1,12})(?![\d.,])(?!\s*[KMG]B)")
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


_ARRAY = later(r"uint64_t\s[^;={}]{0,300}?\b(_mem_pool_(\w+))\s*\[\s*(\w*)\s*\]([^;={}]{0,300})=\s*\{")
_WORD = later(r"0[xX][0-9a-fA-F]+|\d+")


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


# An array of structs: its brace is followed by that of its first element.
_STRUCTS = later(r"\]\s*=\s*\{(?=\s*\{)")
# No part of these can match the same text in two ways: time stays proportional to length, whatever the text.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_ELEMENT = later(rf'[\s,]*\{{([^{{}}"]*(?:(?:{_STRING}|\{{[^{{}}]*\}})[^{{}}"]*)*)\}}')
_FIELD = later(rf'\.(\w+)(?:\.\w+)?\s*=\s*([^,{{}}"]*(?:(?:\{{[^{{}}]*\}}|{_STRING})[^,{{}}"]*)*)')
_PATH = later(rf'\.(\w+(?:\.\w+)*)\s*=\s*([^,{{}}"]*(?:(?:\{{[^{{}}]*\}}|{_STRING})[^,{{}}"]*)*)')
_BEHIND = later(r"[\s,]*")
_LITERAL = later(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?![\w.])")
_WHOLE = later(r"[-+]?\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_REAL = later(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFlL]?")
_BODY = later(r"\s*\[[^\]]{0,80}\]\s*=\s*\{([^{}]*)\}")
_LONGEST_LITERAL = 24


def structs(text: str) -> tuple[list[tuple[int, str]], list[int]]:
    """The elements of the arrays of structs in a part of a file without comments. Returns (Offset, what stands between
    the braces) of each, and where an array goes on with what is no element.
    """
    found: list[tuple[int, str]] = []
    wrong: list[int] = []
    for array in _STRUCTS.finditer(text):
        end = array.end()
        while (element := _ELEMENT.match(text, end)) is not None:
            found.append((element.start(1), element[1]))
            end = element.end()
        behind = _BEHIND.match(text, end)
        if text[behind.end() : behind.end() + 1] != "}" if behind is not None else True:
            wrong.append(end)
    return found, wrong


def members(body: str) -> dict[str, str]:
    """The members of a struct, from what stands between its braces without comments: name -> what it is set to."""
    return {name: value.strip() for name, value in _FIELD.findall(body)}


def paths(body: str) -> dict[str, str]:
    """As :func:`members`, with the whole path as name: ``.general.input.dim.tensor_b = 1``."""
    return {path: value.strip() for path, value in _PATH.findall(body)}


def array_text(text: str, name: str, before: int | None = None) -> str | None:
    """What stands between the braces of the array of that name: the last one before an offset, else the first."""
    end = len(text) if before is None else before
    while (at := text.rfind(name, 0, end)) >= 0:
        found = _BODY.match(text, at + len(name))
        if found is not None and not re.match(r"\w", text[at - 1 : at]):
            return found[1]
        end = at
    return array_text(text[before:], name) if before is not None else None


def literal(digits: str) -> int | None:
    """The value of a C integer literal without suffix; None if it is none, or does not fit 64 bits."""
    if len(digits) > _LONGEST_LITERAL:
        return None
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        value = int(digits, 8 if octal else 0)
    except ValueError:
        return None
    return value if value < 1 << 64 else None


def integer(text: str) -> int | None:
    """The value of ``64``, ``0x40UL``, ``(64)`` or ``-64``; None if it is something else."""
    match = _WHOLE.fullmatch(text.strip("() \t\n"))
    value = literal(match[1]) if match else None
    return -value if match and value is not None and match.group().startswith("-") else value


def literals(text: str) -> list[str]:
    """All integer literals in an expression, without their suffixes."""
    return _LITERAL.findall(text)


def integers(text: str) -> tuple[int, ...] | None:
    """The values of ``1, 128, 0x80,``; None if something else is among them."""
    values = [integer(part) for part in text.split(",") if part.strip()]
    whole = tuple(value for value in values if value is not None)
    return whole if len(whole) == len(values) else None


def reals(text: str) -> tuple[float, ...] | None:
    """The values of ``0.00392156862745098, 1e-05f``; None if something else is among them."""
    parts = [part for each in text.split(",") if (part := each.strip().strip("()"))]
    if not all(_REAL.fullmatch(part) for part in parts):
        return None
    values = tuple(float(part.rstrip("fFlL")) for part in parts)
    return values if all(abs(value) < math.inf for value in values) else None
