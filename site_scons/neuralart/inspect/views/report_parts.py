"""What the records of a vendor compile's files share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from neuralart.vendor.c_info.types import InfoPort
from neuralart.vendor.releases import CoreVersion


def finite(value: float | None) -> float | None:
    """A figure for JSON, which has neither infinity nor "not a number"."""
    return value if value is not None and math.isfinite(value) else None


def fields(thing: object, names: str) -> dict[str, Any]:
    """Attributes of a thing under their own names, ready for JSON: tuples as lists, no infinity.

    Args:
        thing: What a reader returned.
        names: Of the attributes, with blanks between them.
    """
    return {name: _ready(getattr(thing, name)) for name in names.split()}


def _ready(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_ready(each) for each in value]
    return finite(value) if isinstance(value, float) else value


def plain(value: float | None) -> float | None:
    """A figure for JSON that is whole in all but a few files: without a decimal point if it has no decimals."""
    value = finite(value)
    return int(value) if value is not None and value == int(value) else value


def core(version: CoreVersion | None) -> dict[str, Any]:
    """The version of ST Edge AI Core: as written, and its three numbers."""
    return {
        "core_version": version.text if version else None,
        "core": list(version.numbers) if version else None,
    }


def findings(code: str, texts: Iterable[str]) -> list[dict[str, str]]:
    """Contradictions that a check has found."""
    return [{"code": code, "text": text} for text in texts]


def port(given: InfoPort) -> dict[str, Any]:
    """An input or output as the model declares it."""
    return {
        **fields(given, "name shape axes type bits"),
        "scales": [finite(scale) for scale in given.scales],
        "zero_points": list(given.zero_points),
    }


def notes(record: dict[str, Any]) -> list[str]:
    """Lines for the notes of a record."""
    return [f"  note: {note}" for note in record.get("notes", ())]
