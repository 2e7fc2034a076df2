"""The options of custom operators: a FlexBuffers map of numbers, read without trust in it.

The format (flatbuffers.dev, "FlexBuffers"): the last byte is the width of the root, the one before it the root's type,
in front of them is the root: how far back its map begins. A type is a kind times 4 and the exponent of a width. Widths
are 1, 2, 4 or 8 bytes. In front of a map's values are how far back its keys are, their width and the number of both;
behind the values are their types. Numbers are values themselves, or the way back to one.
"""

from __future__ import annotations

import struct
from typing import Any

_MAP, _BOOL = 9, 26
_INTEGER, _UNSIGNED, _REAL = ("<b", "<h", "<i", "<q"), ("<B", "<H", "<I", "<Q"), ("", "<e", "<f", "<d")
_FORMS = {1: _INTEGER, 2: _UNSIGNED, 3: _REAL, _BOOL: _UNSIGNED}
_INDIRECT = {6: 1, 7: 2, 8: 3}  # Kinds of numbers that are elsewhere -> their own
_MOST = 64


def _number(data: bytes, place: int, width: int, kind: int = 2) -> Any:
    form = _FORMS[kind][(1, 2, 4, 8).index(width)]
    if not form or place < 0:
        raise ValueError
    return struct.unpack_from(form, data, place)[0]


def _value(data: bytes, place: int, width: int, packed: int) -> Any:
    kind = packed >> 2
    if kind in _INDIRECT:
        return _number(data, place - _number(data, place, width), 1 << (packed & 3), _INDIRECT[kind])
    return bool(_number(data, place, width)) if kind == _BOOL else _number(data, place, width, kind)


def numbers(data: bytes) -> dict[str, int | float | bool]:
    """The numbers and truth values of a map, by their names; what is neither is left out. ValueError: it is no map, or
    damaged.
    """
    try:
        outer, packed = data[-1], data[-2]
        if packed >> 2 != _MAP:
            raise ValueError
        values, width = len(data) - 2 - outer - _number(data, len(data) - 2 - outer, outer), 1 << (packed & 3)
        count, key_width = _number(data, values - width, width), _number(data, values - 2 * width, width)
        keys = values - 3 * width - _number(data, values - 3 * width, width)
        if count > _MOST:
            raise ValueError
        found = {}
        for at in range(count):
            key = keys + at * key_width - _number(data, keys + at * key_width, key_width)
            name = data[max(key, 0) : data.index(b"\0", max(key, 0))].decode()
            packed = data[values + count * width + at]
            if packed >> 2 in (*_FORMS, *_INDIRECT):
                found[name] = _value(data, values + at * width, width, packed)
    except (ValueError, IndexError, struct.error):
        raise ValueError("its options are no map of numbers, or damaged") from None
    return found
