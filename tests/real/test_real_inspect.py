"""``neuralart inspect`` on every file that real tools and people wrote; NEURALART_REAL_DATA names the folder."""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart_insight.inspect import cli as inspector
from neuralart_insight.inspect import kinds
from support.cases import inspect_docs

pytestmark = pytest.mark.real

ROOT = Path(os.environ.get("NEURALART_REAL_DATA") or "/nonexistent")
FILES = sorted(path for path in ROOT.rglob("*") if path.is_file()) if ROOT.is_dir() else []
NETWORKS = [path for path in FILES if path.suffix == ".c" and b"LL_ATON_EpochBlockItems_" in path.read_bytes()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_record_or_one_line(path: Path) -> None:
    try:
        kind, record = inspector.inspect(path)
    except NeuralArtError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path))
        return
    assert kinds.reader(kind).text(record).endswith("\n")
    assert inspect_docs.wrong(json.loads(inspector.to_json(record))) == []


@pytest.mark.skipif(not NETWORKS, reason="no network.c among the files")
@pytest.mark.parametrize("path", NETWORKS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_network(path: Path) -> None:
    """Nothing in it is left unread."""
    _, record = inspector.inspect(path)
    unread = {"unreadable", "cut-table", "cut-off", "port", "epoch", "no-guard"}
    assert [found["text"] for found in record["findings"] if found["code"] in unread] == []
    assert record["runtime"] and record["guard"] in ("error", "warning")
    assert record["blocks"] == sum(record["block_kinds"].values()) == len(record["epochs"])
    assert record["inputs"] and record["outputs"] and record["pools"]
    assert all(found["pool"] for found in record["weights"])


def test_how_many_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Counts by kind, for the log; the time that networks take."""
    assert FILES, f"no file below {ROOT}"
    found: Counter[str] = Counter()
    for path in FILES:
        try:
            found[inspector.inspect(path)[0].name] += 1
        except NeuralArtError:
            found["refused"] += 1
    start = time.process_time()
    for path in NETWORKS:
        inspector.inspect(path)
    seconds = time.process_time() - start
    assert seconds < 0.05 * len(NETWORKS) + 0.5
    with capsys.disabled():
        counts = ", ".join(f"{count} {name}" for name, count in sorted(found.items()))
        print(f"\n{len(FILES)} files: {counts}; {len(NETWORKS)} networks in {seconds:.2f} s")
