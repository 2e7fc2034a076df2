"""Sizes as people and tools write them: ``440`` with a magnitude, ``1024KB``, ``8B``, ``72K``. A K is always 1024."""

from __future__ import annotations

import re

from neuralart.errors import NeuralArtError

_MAGNITUDES = {"BYTES": 1, "KBYTES": 1 << 10, "MBYTES": 1 << 20, "GBYTES": 1 << 30}
_SUFFIXES = {"": 1, "B": 1, "K": 1 << 10, "KB": 1 << 10, "M": 1 << 20, "MB": 1 << 20, "G": 1 << 30, "GB": 1 << 30}
_SIZE = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*([A-Za-z]*)\s*")
LARGEST = 1 << 32


def with_magnitude(value: object, magnitude: object, where: str) -> int:
    """Bytes of a number and the name of its unit, as in memory-pool files.

    Args:
        value: ``"440"``, ``"0xD0000000"`` or a number.
        magnitude: ``BYTES``, ``KBYTES``, ``MBYTES``, ``GBYTES``.
        where: For messages.

    Raises:
        NeuralArtError: Not such a size.
    """
    factor = _MAGNITUDES.get(magnitude) if isinstance(magnitude, str) else None
    if factor is None:
        raise NeuralArtError(f"magnitude is {magnitude!r}", where=where, hint=f"known: {', '.join(_MAGNITUDES)}")
    match = _SIZE.fullmatch(str(value)) if isinstance(value, (str, int)) and not isinstance(value, bool) else None
    if match is None or match.group(2):
        raise NeuralArtError(f"value {value!r} is no number of {magnitude}", where=where)
    return _bounded(int(match.group(1), 0 if match.group(1)[:2] in ("0x", "0X") else 10) * factor, where)


def parse(text: str, where: str) -> int:
    """Bytes of ``1024KB``, ``8B``, ``72K``, ``1M``, ``4096`` or ``0x1000``.

    Raises:
        NeuralArtError: Not such a size.
    """
    match = _SIZE.fullmatch(text)
    factor = _SUFFIXES.get(match.group(2).upper()) if match else None
    if match is None or factor is None:
        raise NeuralArtError(
            f"'{text}' is no size", where=where, hint="such as 4096, 0x1000, 72K, 1024KB, 1M; K is 1024"
        )
    return _bounded(int(match.group(1), 0 if match.group(1)[:2] in ("0x", "0X") else 10) * factor, where)


def _bounded(size: int, where: str) -> int:
    if size > LARGEST:
        raise NeuralArtError(f"{size} bytes are more than 4 GiB", where=where)
    return size


def text(size: int) -> str:
    """For people: exact, with K or M behind it where that is whole."""
    for factor, suffix in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= factor and size % factor == 0:
            return f"{size} ({size // factor}{suffix})"
    return str(size)
