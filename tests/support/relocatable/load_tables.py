"""A reader of load tables, to compare what Python writes and what the firmware reads."""

from __future__ import annotations

from collections.abc import Sequence

ERASED = 0xFFFFFFFF


def read_table(words: Sequence[int]) -> tuple[int, list[tuple[int, int]]] | None:
    """Flags and models of a table; None if it is none. ``words``: its words, more may follow."""
    magic, count, flags = words[:3]
    if magic != int.from_bytes(b"MREL", "little") or not 1 <= count <= 4 or flags & ~15:
        return None
    models = [(words[3 + 2 * number], words[4 + 2 * number]) for number in range(count)]
    return None if any(model in (0, ERASED) or params == ERASED for model, params in models) else (flags, models)
