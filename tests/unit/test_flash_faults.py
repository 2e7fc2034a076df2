"""Each runner of a real device with each fault: never a success that is none, one line that helps, a rerun repairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fake_bench.bench import FAULTS
from support.fake_bench.matrix import BOARDS, NOT_MET, Outcome, outcome, table
from support.sconsproject import REPO

CASES = [(name, fault) for name in BOARDS for fault in FAULTS if (name, fault) not in NOT_MET]
FOUND: dict[tuple[str, str], Outcome] = {}


def found(name: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    if (name, fault) not in FOUND:
        folder.mkdir(exist_ok=True)
        FOUND[name, fault] = outcome(name, fault, folder, monkeypatch)
    return FOUND[name, fault]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_no_success_that_is_none(name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found(name, fault, tmp_path, monkeypatch)


def test_the_page_has_the_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (name, fault) in enumerate(CASES):
        found(name, fault, tmp_path / str(number), monkeypatch)
    assert table(FOUND) in (REPO / "docs/reference/flash-runners.md").read_text("utf-8"), table(FOUND)
