"""What docs/reference/inspect.md says about records, and whether a record is like that."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "inspect.md"
_ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+?) \| ([^|]*)\|$", re.M)
_LIKE = re.compile(r"members as of `([^`]+)`(?: of `(\w+)`)?(?: without `(\w+)`)?")
_PLAIN = {
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "null": lambda value: value is None,
}


def _names(cell: str) -> list[str]:
    """The members of a row: ``.b`` behind ``a[].x`` stands for ``a[].b``."""
    first, *others = re.findall(r"`([^`]+)`", cell)
    return [first, *(f"{first.rpartition('.')[0]}{name}" if name[0] == "." else name for name in others)]


@cache
def kinds() -> dict[str, dict[str, str]]:
    """Kind -> member -> type."""
    found: dict[str, dict[str, str]] = {}
    for section in PAGE.read_text("utf-8").split("\n### ")[1:]:
        title, _, body = section.partition("\n")
        table = [(_names(cells), type_, what) for cells, type_, what in _ROW.findall(body)]
        rows = {name: type_ for names, type_, _ in table for name in names}
        for names, _, what in table:
            # Members as of another one, which may be of a kind above.
            if like := _LIKE.search(what):
                other, kind, without = like[1], like[2], like[3]
                rows |= {
                    f"{member}{key.removeprefix(other)}": type_
                    for member in names
                    for key, type_ in (found[kind] if kind else rows).items()
                    if re.match(re.escape(other) + r"(?:\[\])?\.", key) and not key.endswith(f".{without}")
                }
        if "findings" in rows:
            rows |= {f"findings[].{part}": "text" for part in ("code", "where", "text")}
        found |= {name: rows for name in title.split(", ")}
    return found


def _is(value: Any, text: str) -> bool:
    for one in re.split(r", | or ", text):
        if one.startswith("list of "):
            inner = one.removeprefix("list of ").removesuffix("s")
            if isinstance(value, list) and all(_PLAIN[inner](item) for item in value):
                return True
        elif _PLAIN[one](value):
            return True
    return False


def _walk(value: Any, prefix: str, types: dict[str, str], seen: set[str], wrong: list[str]) -> None:
    for key, member in value.items():
        path = f"{prefix}{key}"
        if path not in types:
            wrong.append(f"{path} is not documented")
            continue
        seen.add(path)
        if not _is(member, types[path]):
            wrong.append(f"{path} is {member!r}, documented as {types[path]}")
        if isinstance(member, list):
            for item in member:
                if isinstance(item, dict):
                    _walk(item, f"{path}[].", types, seen, wrong)
                    missing = {t for t in types if re.fullmatch(re.escape(path) + r"\[\]\.\w+", t)} - {
                        f"{path}[].{name}" for name in item
                    }
                    wrong.extend(f"{name} is missing" for name in sorted(missing - {"findings[].where"}))
        # Members of an object are documented one by one, or are data.
        elif isinstance(member, dict) and any(name.startswith(f"{path}.") for name in types):
            _walk(member, f"{path}.", types, seen, wrong)


def wrong(record: dict[str, Any]) -> list[str]:
    """How a record differs from what is documented of its kind."""
    found: list[str] = []
    if list(record)[:2] != ["kind", "file"]:
        found.append(f"it begins with {list(record)[:2]}")
    types = kinds().get(record["kind"])
    if types is None:
        return [f"kind {record['kind']} is not documented"]
    body = {key: value for key, value in record.items() if key not in ("kind", "file")}
    _walk(body, "", types, set(), found)
    top = {name for name in types if re.fullmatch(r"\w+", name)}
    found += [f"{name} is missing" for name in sorted(top - set(body))]
    return found
