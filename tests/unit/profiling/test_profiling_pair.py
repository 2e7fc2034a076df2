"""The pair for profiling, joined to the main compile; and which pools a stream engine moves data of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuralart.cli import main
from neuralart_insight.profiling.estimate import of_folder
from support.boards.counter_logs import LoggedEpoch, log
from support.models import vendor_network_c
from support.models import vendor_reports as vendor

NAMES = {11: "Conv2D_1_out_0", 12: "Conv2D_2_out_0", 13: "Conv2D_3_out_0"}
Change = Callable[[dict[str, Any], list[dict[str, Any]]], None]


def epochs_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Nodes of epochs 1 to 3, those of a blob too."""
    found = []
    for node in data["graphs"][0]["nodes"]:
        found += [each for each in (node, *node["subgraph_nodes"]) if each["id"] in (201, 202, 203)]
    return found


def compiled(folder: Path, cycles: int, change: Change = lambda data, nodes: None, *, ec: bool) -> Path:
    """A compile whose epochs 1 to 3 write a buffer each, and take so many cycles."""
    data = vendor.c_info("4.0", ec=ec)
    like = data["buffers"][0]
    data["buffers"] += [{**like, "id": number, "name": name} for number, name in NAMES.items()]
    for node, number in zip(epochs_of(data), NAMES, strict=True):
        node["outputs"] = [number]
    for row in data["power_estimates"]:
        row["max_cycles"] = cycles
    change(data, epochs_of(data))
    folder.mkdir()
    (folder / "c_info.json").write_bytes(vendor.dump(data))
    return folder


def numbered(data: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    """The same epochs with other numbers, the second one before the first."""
    for node, number in zip(nodes, (12, 11, 13), strict=True):
        node["name"] = f"epoch_{number}"


def another(data: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    """The second epoch computes something else."""
    nodes[1]["subgraph_nodes"][0]["type"] = "Pool"


def renamed(data: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
    for buffer in data["buffers"]:
        buffer["name"] += "_of_another_model"


EPOCHS = [LoggedEpoch(1), LoggedEpoch(2), LoggedEpoch(3), LoggedEpoch(4, "SW")]


@pytest.mark.parametrize(
    ("change", "epochs", "most", "notes"),
    [
        (lambda data, nodes: None, [[1], [2], [3], [4]], [500] * 4, []),
        (numbered, [[12], [11], [13], [4]], [500] * 4, []),
        (
            another,
            [[1], [2], [3], [4]],
            [500, 150, 500, 500],
            [
                "in the measured compile alone, with its own estimate: EpochBlock_2",
                "epochs of the main compile that were not measured: 2",
            ],
        ),
    ],
)
def test_epochs_of_the_pair_are_those_of_the_main_compile(
    change: Change,
    epochs: list[list[int]],
    most: list[int],
    notes: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By buffers and operators: a blob of the main compile is measured epoch by epoch."""
    whole, pair = compiled(tmp_path / "main", 500, change, ec=True), compiled(tmp_path / "pair", 150, ec=False)
    path = tmp_path / "x.log"
    path.write_text(log(EPOCHS))
    words = ["profile", str(whole), "--pair", str(pair), "-d", str(path), "--json"]
    assert main(words) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert [each["epochs"] for each in measured["epochs"]] == epochs
    assert [each["max_cycles"] for each in measured["epochs"]] == most
    assert [note for note in measured["notes"] if "does not tell" not in note] == notes
    # Without it the log is not of this compile.
    assert main(["profile", str(whole), "-d", str(path)]) == 1
    assert "the measurement is of another build than " in capsys.readouterr().err
    path.write_text(log(EPOCHS[:3]).replace("int8[", "uint8["))
    assert main(words) == 1
    assert "input 0 has the type uint8, in the compile int8 (and 1 more differences)" in capsys.readouterr().err


def test_a_pair_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = compiled(tmp_path / "pair", 150, ec=False)
    other = compiled(tmp_path / "main", 500, renamed, ec=True)
    path = tmp_path / "x.log"
    path.write_text(log(EPOCHS))
    assert main(["profile", str(other), "--pair", str(pair), "-d", str(path)]) == 1
    assert "c_info.json: no epoch of the measured compile has the operators and buffers" in capsys.readouterr().err
    for words in ([str(other)], ["-d", str(path)]):
        assert main(["profile", *words, "--pair", str(pair)]) == 1
        said = "--pair: a pair is of another compile, and was measured (-c NETWORK, -d LOG)"
        assert capsys.readouterr().err == f"neuralart profile: error: {said}\n"


def test_times_of_a_validation_of_the_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    time = {"counters": [100, 600, 100], "cycles": 800, "duration_ms": 0.001, "percentage": 25.0}

    def timed(data: dict[str, Any], nodes: list[dict[str, Any]]) -> None:
        data["aton_execution_time"] = [time] * 4

    whole, pair = compiled(tmp_path / "main", 500, ec=True), compiled(tmp_path / "pair", 150, timed, ec=False)
    assert main(["profile", str(whole), "--pair", str(pair), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert [(each["epochs"], each["max_cycles"]) for each in measured["epochs"]] == [([n], 500) for n in (1, 2, 3, 4)]


STREAMS = (
    ("4", "input", "0[0,1000]"),
    ("4", "input", "8[64,128]"),
    ("9", "input", "2[458000,458760]"),  # The last bytes of one pool and the first ones of the next
    ("2", "output", "1[0,64]"),
    ("3", "output", "77[0,64]"),  # There is no such pool
)


def test_pools_of_stream_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the comments of the generated C say; a pool that is made of others stands for those that are touched."""
    path, compiled = tmp_path / "x.log", tmp_path / "c"
    vendor_network_c.make(vendor_network_c.Want()).write(compiled)
    code = compiled / "network.c"
    said = ""
    for engine, way, place in STREAMS:
        said += f"  /* Unit= {engine} [STREAM_ENG_V2 {engine}] */\n"
        said += f"  /* Emit conf for STREAM_ENG_V2 node=Conv_2 {way} ports=0 range={place} */\n\n"
    mark = "  /* kind=Conv node=Conv_2 */\n"
    text = code.read_text()
    assert text.count(mark) == 1
    code.write_text(text.replace(mark, mark + said))
    first, second, *others = of_folder(compiled).epochs
    assert (first.id, second.id, first.streams, others[0].streams) == (1, 2, {}, {})
    assert second.streams == {
        ("i", 4): ("npuRAM5", "octoFlash"),
        ("i", 9): ("npuRAM5", "npuRAM6"),
        ("o", 2): ("npuRAM6",),
    }
    kinds = ("SW", *["HW"] * 4, "HYBRID", "SW")
    epochs = [LoggedEpoch(n, kind, inputs={4: 50, 5: 30}, outputs={2: 20}) for n, kind in enumerate(kinds, 1)]
    path.write_text("".join(line for line in log(epochs).splitlines(True) if "Input_0" not in line))
    words = ["profile", str(compiled), "-d", str(path)]
    assert main([*words, "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]["epochs"]
    assert [each["pools"] for each in measured[1]["streams"]] == [["npuRAM5", "octoFlash"], [], ["npuRAM6"]]
    assert main([*words, "-v", "2"]) == 0
    shown = capsys.readouterr().out
    for line in (
        "STRENG.4.i: busif=0, 50 cycles, 50% npuRAM5 octoFlash",
        "STRENG.5.i: busif=1, 30 cycles, 30%",
        "missing      : no c_info.json beside network.c: no compiler estimate",
    ):
        assert f"{line}\n" in shown
