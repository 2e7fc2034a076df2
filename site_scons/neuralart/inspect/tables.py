"""Columns and amounts for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], indent: str = "  ") -> list[str]:
    """Lines of a table; numbers stand on the right of their column, None is shown as ``-``."""
    listed = [["-" if cell is None else cell for cell in row] for row in rows]
    texts = [[f"{cell:,}" if _number(cell) else str(cell) for cell in row] for row in listed]
    widths = [max(len(cell) for cell in column) for column in zip(heads, *texts, strict=True)]
    right = [
        bool(column) and all(_number(cell) or cell == "-" for cell in column) for column in _columns(listed, heads)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell.rjust(width) if side else cell.ljust(width)
            for cell, width, side in zip(cells, widths, right, strict=True)
        )
        return (indent + "  ".join(padded)).rstrip()

    return [line(heads), *(line(row) for row in texts)]


def _number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _columns(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> list[list[Any]]:
    return [[row[number] for row in rows] for number in range(len(heads))]


def address(value: int) -> str:
    """``0x34200000``."""
    return f"0x{value:08x}"


def plural(count: int, what: str) -> str:
    """``1 pool``, ``2 pools``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def findings(record: dict[str, Any]) -> list[str]:
    """Lines for the contradictions of a record."""
    return [f"  finding ({found['code']}): {found['text']}" for found in record.get("findings", ())]
