"""``neuralart lint`` on a user's own files: every file is understood or a finding of one line, and it is quick."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from neuralart import boards
from neuralart_insight.lint import engine, gather

pytestmark = pytest.mark.real


@pytest.mark.parametrize("board", ["", "stm32n6570-dk", "nucleo-n657x0-q", "stm32h747i-disco"])
def test_all_of_them(board: str) -> None:
    bag = gather.Bag()
    begin = time.process_time()
    gather.add(bag, [Path(os.environ["NEURALART_REAL_DATA"])])
    found = engine.ordered([*bag.findings, *engine.lint(bag.facts(boards.load(board) if board else None))])
    used = time.process_time() - begin
    assert all("\n" not in str(finding) and finding.where for finding in found)
    print(f"{len(bag.networks)} networks, {len(bag.pool_files)} pool files, {len(found)} findings in {used:.2f} s")
    assert used < 30
