"""The table of changes: each row changes a built tree, and is judged against a clean build.

A row is a function that yields where a build is to be made; what it does behind its last ``yield`` is the change.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from support.changes.tree import Tree

Steps = Callable[[Tree], Iterator[None]]
MODULES = ("sources", "settings", "links", "history", "programs", "asked", "environment", "products", "states")
MODULES += ("toolchain",)


@dataclass(frozen=True)
class Row:
    """A change.

    Attributes:
        number: Its name in the table.
        title: What is changed, and how.
        steps: Does it.
        counts: Whether it decides about what a build makes: before the next build, something is not as a clean one
            makes it. The judge holds that, too: a row that changes nothing proves nothing. None: that depends on
            when a running build is met.
        refusal: What the build may say instead of mending it.
        sample: Part of the reduced table, which runs with the whole suite.
    """

    number: str
    title: str
    steps: Steps
    counts: bool | None = True
    refusal: str = ""
    sample: bool = False

    @property
    def name(self) -> str:
        """Of the test."""
        return f"{self.number}-{self.steps.__name__}"


_rows: dict[str, Row] = {}


def row(
    number: str, title: str, *, counts: bool | None = True, refusal: str = "", sample: bool = False
) -> Callable[[Steps], Steps]:
    """A decorator that puts a function into the table."""

    def put(steps: Steps) -> Steps:
        add(Row(number, title, steps, counts, refusal, sample))
        return steps

    return put


def add(new: Row) -> None:
    """Put a row into the table."""
    assert new.number not in _rows, f"two rows {new.number}"
    _rows[new.number] = new


def table() -> list[Row]:
    """All rows."""
    for module in MODULES:
        importlib.import_module(f"support.changes.{module}")
    return list(_rows.values())
