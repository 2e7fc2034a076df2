"""``neuralart diff``: which epochs are the same, what moved, and what both sides may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from neuralart.cli import main
from neuralart_insight.profiling.diff_cli import diff, matches, network_diff, sections
from neuralart_insight.profiling.diff_inputs import BuildSide, NetworkSide
from neuralart_insight.profiling.estimate import EpochEstimate, PoolAccess
from support.boards.counter_logs import LoggedEpoch, log
from support.models import vendor_reports as vendor


def epoch(number: int, operator: str, kind: str = "HW", cycles: int | None = 100, read: int = 8) -> EpochEstimate:
    return EpochEstimate(number, kind, (operator,), max_cycles=cycles, pools={"ram": PoolAccess(read, 0)})


def test_epochs_match_by_what_they_compute() -> None:
    a = [epoch(1, "Conv"), epoch(2, "Pool"), epoch(3, "Conv"), epoch(4, "Softmax")]
    b = [epoch(1, "Conv"), epoch(3, "Pad"), epoch(4, "Pool", "SW"), epoch(5, "Conv")]
    found = [(one and one.id, other and other.id) for one, other in matches(a, b)]
    assert found == [(1, 1), (None, 3), (2, 4), (3, 5), (4, None)]
    nameless = [EpochEstimate(n, "unknown") for n in (1, 2, 3)]
    assert [(one and one.id, other and other.id) for one, other in matches(nameless, nameless[1:])] == [
        (1, None),
        (2, 2),
        (3, 3),
    ]


def test_what_changed_in_a_network() -> None:
    a = NetworkSide((epoch(1, "Conv"), epoch(2, "Pool"), epoch(3, "Add", "SW", None)), 2.0, {1: 1.5})
    b = NetworkSide((epoch(1, "Conv", read=16), epoch(2, "Pool", "SW", 0), epoch(3, "Add")), 2.5, {1: 1.5})
    made = network_diff("net", a, b)
    assert (made["matched"], made["added"], made["removed"]) == (3, [], [])
    assert (made["to_software"], made["to_hardware"]) == ([[2, 2]], [[3, 3]])
    assert [each["differs"] for each in made["changed"]] == [
        {"ram read": [8, 16]},
        {"type": ["HW", "SW"], "max_cycles": [100, 0]},
        {"type": ["SW", "HW"], "max_cycles": [None, 100]},
    ]
    assert made["totals"] == {"ram read": [24, 32], "measured ms": [2.0, 2.5]}


def test_sides_with_images(tmp_path: Path) -> None:
    net = NetworkSide((epoch(1, "Conv"),))
    a = BuildSide("a", {"x": net}, {"DTCM": 100}, {"w": 10, "old": 1}, {"w": "00", "old": "01"}, {"f": 8, "g": 4})
    b = BuildSide("b", {"y": net}, {"DTCM": 150}, {"w": 10, "new": 2}, {"w": "11", "new": "02"}, {"f": 9, "h": 2})
    record = diff(a, b)
    assert record["networks"][0]["name"] == "x -> y" and (record["only_a"], record["only_b"]) == ([], [])
    assert record["ram"] == {"DTCM": [100, 150]} and record["flash"] == {"old": [1, None], "new": [None, 2]}
    assert record["symbols"] == {"f": [8, 9], "g": [4, None], "h": [None, 2]} and record["weights_changed"] == ["w"]
    tables = {title: rows for title, _, rows in sections(record)}
    assert tables["memory in use, bytes"] == [["DTCM", "100", "150", "+50 (+50.0%)"]]
    assert [row[0] for row in tables["functions and variables that differ: 3"]] == ["g", "h", "f"]
    assert "weights changed: w" in tables
    several = BuildSide("b", {"y": net, "z": net})
    titles = [title for title, _, _ in sections(diff(a, several))]
    assert titles[:3] == [f"network '{n}' is in {s} alone" for n, s in (("x", "a"), ("y", "b"), ("z", "b"))]


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """``a.json`` and ``b.json``: the second was measured, and an epoch of it takes longer."""
    monkeypatch.chdir(tmp_path)
    data = vendor.c_info("4.0")
    for name in "ab":
        Path(name).mkdir()
        Path(name, "c_info.json").write_bytes(vendor.dump(data))
        data["power_estimates"][2]["max_cycles"] = 400
    Path("x.log").write_text(log([LoggedEpoch(1), LoggedEpoch(2), LoggedEpoch(3), LoggedEpoch(4, "SW")]))
    assert main(["profile", "a", "-o", "a.json"]) == main(["profile", "b", "-d", "x.log", "-o", "b.json"]) == 0
    return tmp_path


def test_profiles_and_compiles(profiles: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def said(*words: str) -> str:
        capsys.readouterr()
        assert main(["diff", *words]) == 0
        return capsys.readouterr().out

    record: dict[str, Any] = json.loads(said("a.json", "b.json", "--json"))
    (net,) = record["networks"]
    assert net["totals"]["max_cycles"] == [600, 850] and net["totals"]["measured ms"][0] is None
    assert net["changed"][1]["differs"]["max_cycles"] == [150, 400]
    text = said("a", "b")
    assert "  network network: 4 epochs match, 0 added, 0 removed\n" in text and "+250 (+41.7%)" in text
    table = said("a/c_info.json", "b/c_info.json", "--markdown")
    assert "| max_cycles | 600 | 850 | +250 (+41.7%) |" in table and table.startswith("### a/c_info.json -> b/")
    assert said("a.json", "a") == "a.json -> a\nnothing differs\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"kind": "neuralart-profile", "schema": 2}', "a profile of schema 2, this version reads 1"),
        ('{"kind": "neuralart-profile", "schema": 1, "epochs": [{"id": "x"}]}', "x.json:1:"),
        ('{"kind": "neuralart-profile", "schema": 1, "measured": []}', "x.json:1:"),
        ("[]", "x.json"),
        ("{}", "x.json"),
    ],
)
def test_a_side_that_is_none(tmp_path: Path, content: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.json").write_text(content)
    assert main(["diff", str(tmp_path / "x.json"), str(tmp_path / "x.json")]) == 1
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
    assert main(["diff", "nothing-here", "b", "--build", str(tmp_path)]) == 1
    assert "is neither a file, a folder nor a variant that was built" in capsys.readouterr().err
