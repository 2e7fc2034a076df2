"""What may happen to a file: to its bytes, to its text, to the tree that it holds. The same seed does the same."""

from __future__ import annotations

import json
import math
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

Damage = Callable[[bytes, random.Random], bytes]

_EXTREME = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF)
_WORD = 0xFFFFFFFF


def damage(data: bytes, rng: random.Random) -> bytes:
    """A binary file after one to four accidents."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        if not changed:
            break
        at = rng.randrange(len(changed))
        kind = rng.randrange(7)
        if kind == 0:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[at] = rng.randrange(256)
        elif kind == 2:  # an offset, a length or a number
            at &= ~3
            changed[at : at + 4] = rng.choice(_EXTREME).to_bytes(4, "little")
        elif kind == 3:
            at &= ~3
            value = int.from_bytes(changed[at : at + 4], "little") + rng.choice((-8, -4, -1, 1, 4, 8, 64))
            changed[at : at + 4] = (value & _WORD).to_bytes(4, "little")
        elif kind == 4:
            del changed[at:]
        elif kind == 5:
            changed[at : at + rng.randint(1, 64)] = bytes(rng.randint(0, 64))
        else:
            other = rng.randrange(len(changed))
            size = rng.randint(1, 32)
            changed[at : at + size] = changed[other : other + size]
    return bytes(changed)


def aimed(
    words: Callable[[bytes], Sequence[int]], refit: Callable[[bytes], bytes] = bytes, often: float = 0.6
) -> Damage:
    """Damage that hits numbers with a meaning: ``words`` are offsets of 32-bit words.

    ``refit`` makes the checksum right again, so that half of the files come past it.
    """

    def aim(data: bytes, rng: random.Random) -> bytes:
        if rng.random() > often:
            return damage(data, rng)
        changed, places = bytearray(data), list(words(data))
        for _ in range(rng.randint(1, 3)):
            at = rng.choice(places)
            if at + 4 > len(changed):
                continue
            old = struct.unpack_from("<I", changed, at)[0]
            near = rng.choice((len(data), len(data) - at, old, struct.unpack_from("<I", data, rng.choice(places))[0]))
            new = rng.choice(_EXTREME) if rng.random() < 0.4 else near + rng.choice((-64, -4, -1, 0, 1, 4, 64))
            struct.pack_into("<I", changed, at, new & _WORD)
        made = bytes(changed)
        if rng.random() < 0.15:
            made = made[: rng.randrange(len(made) + 1)]
        return refit(made) if rng.random() < 0.5 else made

    return aim


def header_words(size: int) -> Callable[[bytes], Sequence[int]]:
    """Every word of the first bytes."""
    return lambda data: range(0, min(size, len(data) - 3), 4)


_TOKENS = (
    "",
    "0",
    "-1",
    "1e999",
    "99999999999999999999",
    "null",
    "true",
    "{}",
    "[]",
    '"',
    "\\",
    ",",
    ":",
    "NaN",
    "\ud7ff",
)
_RARE = (
    "\0",
    "\x1b[2J",
    "\ufeff",
    "\u2028",
    "\x85",
    "\udcff",
    "\r",
    "\t",
    "%s",
    "{0}",
    "$(x)",
    "${x}",
    "../../../x",
    "~",
)


def damage_text(text: str, rng: random.Random) -> str:
    """A text file after one to four accidents."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 8) :]
        elif kind == 1:
            text = text[:at] + rng.choice(_TOKENS) + text[at + 1 :]
        elif kind == 2:
            lines = text.split("\n")
            number = rng.randrange(len(lines))
            lines[number : number + 1] = rng.choice(([], [lines[number]] * 2))
            text = "\n".join(lines)
        elif kind == 3:
            words = text.split('"')
            number = rng.randrange(len(words))
            words[number] = rng.choice(_TOKENS)
            text = '"'.join(words)
        elif kind == 4:
            text = text[:at]
        else:
            text = text[:at] + "".join(chr(rng.randrange(1, 0x250)) for _ in range(rng.randint(1, 6))) + text[at:]
    return text


_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?")
_NUMBERS = ("0", "-1", "1", "7", "2147483648", "4294967295", "4294967296", "0xffffffff", "18446744073709551616")
_NUMBERS = (*_NUMBERS, "1e400", "nan", "0.0", "-0", "08", "9" * 5000, "1_0", "\u0663", "0x", "1K", "5G")


def damage_source(text: str, rng: random.Random) -> str:
    """Lines, numbers and words of a text that people or programs wrote."""
    if rng.random() < 0.3:
        return damage_text(text, rng)
    for _ in range(rng.randint(1, 3)):
        kind = rng.random()
        lines = text.split("\n")
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        if kind < 0.4 and (found := list(_NUMBER.finditer(text))):
            one = rng.choice(found)
            text = text[: one.start()] + rng.choice(_NUMBERS) + text[one.end() :]
            continue
        if kind < 0.5:
            lines[at], lines[other] = lines[other], lines[at]
        elif kind < 0.6:
            lines[at:at] = lines[other : other + rng.randint(1, 4)]
        elif kind < 0.7:
            del lines[at : at + rng.randint(1, 5)]
        elif kind < 0.8:
            lines[at] = "  " * rng.randint(0, 3) + lines[at].lstrip()
        elif kind < 0.9:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(
                (*_TOKENS, *_RARE, "-", "[", "{", "&a", "*a", "!!int", "|", "?")
            )
            lines[at] = " ".join(words)
        elif kind < 0.93:
            words = lines[at].split(" ")
            words[rng.randrange(len(words))] = rng.choice(("A", "a_", "\u00e9", "9", "A.", "A/", "(", "/*")) * 3000
            lines[at] = " ".join(words)
        elif kind < 0.95:
            return "\r\n".join(lines)
        else:
            lines[at] = lines[at].partition(":")[0] + ": " + rng.choice(_NUMBERS)
        text = "\n".join(lines)
    return text


def text(data: bytes, rng: random.Random) -> bytes:
    """:data:`Damage` of a text file; now and then of its bytes."""
    if rng.random() < 0.07:
        return damage(data, rng)
    return damage_source(data.decode("utf-8", "surrogateescape"), rng).encode("utf-8", "surrogatepass")


_VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63, 2**64, 10**400, 0.5, -0.0, 1e308, 5e-324),
    *(math.nan, math.inf, -math.inf, None, True, False, [], {}, [[]], [None], {"": {}}, {"name": 5}),
    *("", "0", "-1", "0x", "0xffffffffff", "1e400", "A" * 5000, "../../x", "/", ".", "a/b", "a\\b", "C:\\x", "net"),
    *("\ud800", "\0", "a\nb", "\x1b[31m", "\u00e9", " ", "%s", "{}", "$(x)", "1.2.3", "int8", "float32", "None"),
)


def _child(node: Any, rng: random.Random) -> Any:
    return rng.choice(list(node) if isinstance(node, dict) else range(len(node)))


def _one(tree: Any, rng: random.Random) -> Any:
    """A tree after an accident somewhere in it."""
    above: list[tuple[Any, Any]] = []
    node = tree
    while isinstance(node, dict | list) and node and (not above or rng.random() < 0.8):
        key = _child(node, rng)
        above.append((node, key))
        node = node[key]
    if not above:
        return rng.choice(_VALUES)
    holder, key = above[-1]
    kind = rng.randrange(8)
    if kind == 0:
        del holder[key]
    elif kind == 1 and isinstance(node, int) and not isinstance(node, bool):
        holder[key] = node + rng.choice((-64, -4, -1, 1, 4, 1 << 31))
    elif kind == 2 and isinstance(holder, list):
        holder.insert(rng.randrange(len(holder) + 1), node)
    elif kind == 2:
        holder[rng.choice(("x", "", "\u00e9", "A" * 3000, "schema", f"{key} "))] = node
    elif kind == 3:
        other, place = rng.choice(above)
        holder[key] = other[place] if other is not holder else [node]
    elif kind == 4 and isinstance(holder, list):
        holder[:] = rng.choice((holder[::-1], holder * 2, holder[:1], []))
    elif kind == 4:
        there = _child(holder, rng)
        holder[key], holder[there] = holder[there], holder[key]
    elif kind == 5 and rng.random() < 0.05:
        holder[key] = json.loads("[" * 400 + "]" * 400)
    else:
        holder[key] = rng.choice(_VALUES)
    return tree


def json_tree(data: bytes, rng: random.Random) -> bytes:
    """:data:`Damage` of a JSON document: of its tree, or of its text."""
    if rng.random() < 0.3:
        return text(data, rng)
    if rng.random() < 0.01:
        return data[: rng.randrange(len(data))] + rng.choice((b"[", b'{"a":')) * 100_000
    try:
        tree = json.loads(data)
        for _ in range(rng.randint(1, 3)):
            tree = _one(tree, rng)
        made = json.dumps(tree, indent=rng.choice((None, 1)), ensure_ascii=rng.random() < 0.7)
    except (ValueError, RecursionError):  # comments, a tree that was put into itself, too many digits
        return text(data, rng)
    return made.encode("utf-8", "surrogatepass")
