"""Formats columns and amounts for people, for the records of several kinds of files."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuralart.vendor.c_info.types import InfoPort
    from neuralart.vendor.releases import CoreVersion


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], indent: str = "  ") -> list[str]:
    """Format a table; numbers are right-aligned, None is ``-``."""
    listed = [["-" if cell is None else cell for cell in row] for row in rows]
    texts = [[f"{cell:,}" if _number(cell) else str(cell) for cell in row] for row in listed]
    widths = [max(map(len, column)) for column in zip(heads, *texts, strict=True)]
    right = [all(_number(row[at]) or row[at] == "-" for row in listed) and bool(listed) for at in range(len(heads))]

    def line(cells: Sequence[str]) -> str:
        sides = zip(cells, widths, right, strict=True)
        padded = (cell.rjust(width) if side else cell.ljust(width) for cell, width, side in sides)
        return (indent + "  ".join(padded)).rstrip()

    return [line(heads), *(line(row) for row in texts)]


def _number(cell: object) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def address(value: int) -> str:
    """Format an address: ``0x34200000``."""
    return f"0x{value:08x}"


def address_or_none(value: int | None) -> str | None:
    """Format an address, or None."""
    return None if value is None else address(value)


_CELLS: dict[str, Callable[[Any], Any]] = {
    "@": address_or_none,
    "#": lambda crc: f"0x{crc:08x}",
    "*": lambda shape: "x".join(map(str, shape)),
    "&": lambda words: ", ".join(words) or None,
}


def rows(records: Iterable[dict[str, Any]], columns: str) -> list[str]:
    """A table of records. A column is ``head=key``, or one word for both; ``_`` is a blank of the head. In front of the
    key: ``@`` of an address, ``#`` of a CRC-32, ``*`` of a shape, ``&`` of words.
    """
    pairs = [(head, key or head) for head, _, key in (column.partition("=") for column in columns.split())]
    cells = [
        [_CELLS[key[0]](record[key[1:]]) if key[0] in _CELLS else record[key] for _, key in pairs] for record in records
    ]
    return table([head.replace("_", " ") for head, _ in pairs], cells)


def plural(count: int, what: str) -> str:
    """Format a count: ``1 pool``, ``2 pools``."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def quantization(tensor: dict[str, Any]) -> str:
    """``scale`` and ``zero_point`` of a tensor; each is a list where there is one for each channel."""
    scale = tensor["scale"]
    if scale is None:
        return "-"
    return "per channel" if isinstance(scale, list) else f"{scale:.9g}, {tensor['zero_point']}"


def page(record: dict[str, Any], lines: Iterable[str]) -> str:
    """Join lines to a text, with the contradictions and notes of a record."""
    findings = [f"  finding ({found['code']}): {found['text']}" for found in record.get("findings", ())]
    return "\n".join([*lines, *findings, *(f"  note: {note}" for note in record.get("notes", ()))]) + "\n"


def figures(values: dict[str, float | None]) -> str:
    """Format the figures of a validation in one line."""
    return ", ".join(f"{name} {'n.a.' if value is None else format(value, 'g')}" for name, value in values.items())


def validation_title(validation: dict[str, Any]) -> str:
    """The line above what a validation has measured."""
    return f"validation{' on ' + validation['device'] if validation['device'] else ''}:"


def finite(value: float | None) -> float | None:
    """Make a figure fit for JSON, which has no infinity and no NaN."""
    return value if value is not None and math.isfinite(value) else None


def fields(thing: object, names: str) -> dict[str, Any]:
    """Attributes of a thing, ready for JSON: tuples as lists, no infinity. ``thing``: what a reader returned;
    ``names``: of the attributes, with blanks between them; ``key=attribute`` where the record has another name.
    """
    pairs = ((key, attribute or key) for key, _, attribute in (name.partition("=") for name in names.split()))
    return {key: _ready(attrgetter(attribute)(thing)) for key, attribute in pairs}


def _ready(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_ready(each) for each in value]
    return finite(value) if isinstance(value, float) else value


def core(version: CoreVersion | None) -> dict[str, Any]:
    """Make the entries of a version of ST Edge AI Core: as written, and its three numbers."""
    return {"core_version": version.text if version else None, "core": list(version.numbers) if version else None}


def findings(code: str, texts: Iterable[str]) -> list[dict[str, str]]:
    """Make the entries of contradictions that a check has found."""
    return [{"code": code, "text": text} for text in texts]


def problems(found: Iterable[Any]) -> list[dict[str, str]]:
    """Make the entries of contradictions in generated C, with their places."""
    return [fields(each, "code where text=what") for each in found]


def port(given: InfoPort) -> dict[str, Any]:
    """Make the entry of an input or output of the model."""
    return fields(given, "name shape axes type bits scales zero_points")


def used_pools(record: dict[str, Any], end: str = ":") -> tuple[list[dict[str, Any]], str]:
    """The pools of a record that are used, and the line above them."""
    used = [pool for pool in record["pools"] if pool["used"]]
    return used, f"{plural(len(record['pools']), 'pool')}, in use {len(used)}{end}"
