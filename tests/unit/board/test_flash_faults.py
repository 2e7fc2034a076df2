"""Each runner of a real device with each fault: never a success that is none, one line that helps, a rerun repairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.fake_bench import loads
from support.fake_bench.bench import FAULTS
from support.fake_bench.matrix import BOARDS, LOAD, NOT_MET, Outcome, outcome, table
from support.projects.sconsproject import REPO

CASES = [(name, fault) for name in (*BOARDS, LOAD) for fault in FAULTS if (name, fault) not in NOT_MET]
FOUND: dict[tuple[str, str], Outcome] = {}
Capture = pytest.CaptureFixture[str]


def found(name: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> Outcome:
    if (name, fault) not in FOUND:
        folder.mkdir(exist_ok=True)
        run = loads.outcome(fault, folder, monkeypatch, capsys) if name == LOAD else None
        FOUND[name, fault] = run or outcome(name, fault, folder, monkeypatch)
    return FOUND[name, fault]


@pytest.mark.parametrize(("name", "fault"), CASES)
def test_no_success_that_is_none(
    name: str, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    found(name, fault, tmp_path, monkeypatch, capsys)


def test_the_page_has_the_matrix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for number, (name, fault) in enumerate(CASES):
        found(name, fault, tmp_path / str(number), monkeypatch, capsys)
    assert table(FOUND) in (REPO / "docs/reference/flash-runners.md").read_text("utf-8"), table(FOUND)
