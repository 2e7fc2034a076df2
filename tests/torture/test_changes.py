"""The table of changes: nothing that is wrong is called up to date, and a build makes what a clean one makes."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.changes.judge import fresh, judge
from support.changes.rows import Row, table
from support.projects.torture import LONG, progress

pytestmark = [
    pytest.mark.torture,
    pytest.mark.long,
    pytest.mark.arm,
    pytest.mark.skipif(sys.platform != "linux", reason="links, umask and the shell of Linux"),
]
ROWS = [row for row in table() if LONG or row.sample]


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_change(
    row: Row, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, tell: Callable[[str], None]
) -> None:
    verdict = judge(row, fresh(tmp_path_factory, tmp_path), tmp_path_factory)
    tell(verdict.line(row))
    progress(verdict.line(row))
    assert verdict.wrong == "", verdict.output
    assert row.counts in (None, verdict.counted), (
        "the row proves nothing" if row.counts else "it counts, says the clean build"
    )
    # A run of the whole table makes a gigabyte; what is wrong stays, to be looked at.
    shutil.rmtree(tmp_path)


def test_the_front_door_answers(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where nothing has changed: else no row says anything about it."""
    tree = fresh(tmp_path_factory, tmp_path)
    assert not tree.ask()
    tree.build()
    assert tree.ask()


def test_the_table_is_long() -> None:
    """The numbers of the rows are all there, and the reduced table is small."""
    rows = table()
    assert len(rows) >= 120
    assert sum(row.counts is True for row in rows) >= 120
    assert 8 <= sum(row.sample for row in rows) <= 12
