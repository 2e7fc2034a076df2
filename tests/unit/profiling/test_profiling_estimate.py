"""``neuralart profile``: the compiler's estimate, its sums, and the figures that the vendor's documents print."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.vendor.c_info.types import NPU, Access, CInfo, Estimate, Graph, InfoNode, InfoOperator, InfoPool
from neuralart_insight.profiling import totals
from neuralart_insight.profiling.estimate import (
    EpochEstimate,
    NetworkEstimate,
    PoolAccess,
    PoolSpeed,
    bound_of,
    from_c_info,
    from_csv,
)
from neuralart_insight.profiling.totals import summary, to_record, totals_of
from neuralart_insight.vendor import network_csv

HZ = 1e9
TITLES = "epochs,flash (r),flash (w),flash (r+w),flash (r cycles),flash (w cycles),flash (cycles),"
TITLES += "epoch OPS,epoch compute (cyles),max (cycles)\n"
ROWS = "1 ,0,0,0,0,0,0,0,0,0\n2 ,4608,0,4608,4608,0,4608,453348,4608,27648\n3 ,0,64,64,0,80,80,100,20,80\n"


def folder(tmp_path: Path, rows: str = TITLES + ROWS) -> Path:
    (tmp_path / "network.csv").write_text(rows)
    return tmp_path


def info(**more: object) -> CInfo:
    """A network of three epochs and a return; epoch 3 is software."""
    conv = (InfoOperator("Conv_1", "Conv", "NODE_HW", "CONV_ACC_V2 0"), InfoOperator("Add_1", "Add", "NODE_HW", ""))
    nodes = (
        InfoNode(10, "epoch_2", 2, "NODE_HW", operators=conv),
        InfoNode(11, "epoch_3", 3, "NODE_SW", operators=(InfoOperator("Softmax_3", "Softmax"),)),
        InfoNode(12, "epoch_5", 5, "NODE_EC", operators=(InfoOperator("Conv_5"),)),
        InfoNode(13, "epoch_6", 6, "NODE_NO_X"),
    )
    fields: dict[str, object] = {
        "name": "kws",
        "pools": (InfoPool(0, "octoFlash", byte_width=1, freq_ratio=6.0), InfoPool(1, "npuRAM5", byte_width=8)),
        "graph": Graph("kws", nodes=nodes),
        "accesses": (
            Access(10, 0, 4608, 0, 4608, 0),
            Access(10, 1, 19600, 8820, 2450, 1103),
            Access(12, 1, 800, 80, 100, 10),
        ),
        "estimates": (
            Estimate(10, 453348, 4608, 27648, 1.0, 1.0),
            Estimate(11, 0, 0, 0, 0.0, 0.0),
            Estimate(12, 640, 100, 100, 1.0, 1.0),
        ),
    }
    return CInfo("kws_c_info.json", "2.0", NPU, **{**fields, **more})


def test_epochs_of_a_c_info_have_their_type_operators_units_traffic_and_bound() -> None:
    first, software, blob = from_c_info(info()).epochs
    assert (first.id, first.type, first.operators, first.units) == (2, "HW", ("Conv", "Add"), ("CONV_ACC_V2 0",))
    assert (first.operations, first.compute_cycles, first.max_cycles) == (453348, 4608, 27648)
    assert first.pools == {"octoFlash": PoolAccess(4608, 0, 4608, 0), "npuRAM5": PoolAccess(19600, 8820, 2450, 1103)}
    assert [epoch.bound for epoch in (first, software, blob)] == ["octoFlash bytes", "nothing", "compute"]
    assert [epoch.type for epoch in (software, blob)] == ["SW", "EC"]


def test_totals_and_record_of_a_network() -> None:
    record = to_record(from_c_info(info()), 800e6)
    assert record["totals"] | {"pools": {}} == {
        "epochs": 3,
        "types": {"EC": 1, "HW": 1, "SW": 1},
        "operations": 453988,
        "compute_cycles": 4708,
        "max_cycles": 27748,
        "estimated_instructions": None,
        "operations_per_cycle": 453988 / 27748,
        "ideal_operations_per_cycle": 453988 / 4708,
        "inferences_per_second": 800e6 / 27748,
        "ideal_inferences_per_second": 800e6 / 4708,
        "peak_bytes_per_second": 880 * 800e6 / 100,
        "average_bytes_per_second": (4608 + 28420 + 880) * 800e6 / 27748,
        "gops": 453988 * 0.8 / 27748,
        "pools": {},
    }
    assert record["totals"]["pools"]["npuRAM5"]["read"] == 20400
    assert record["epochs"][0]["pools"]["octoFlash"] == {"read": 4608, "written": 0}
    assert json.loads(json.dumps(record, allow_nan=False)) == record


@pytest.mark.parametrize(
    ("compute", "most", "pools", "bound"),
    [
        (None, 5, {}, "unknown"),
        (0, 0, {"a": PoolAccess(8, 0, 1, 0)}, "nothing"),
        (7, 7, {"a": PoolAccess(8, 0, 7, 0)}, "compute"),
        (1, 7, {"a": PoolAccess(8, 8, 6, 7), "b": PoolAccess(8, 0, 7, 0)}, "b read"),
        (1, 7, {"a": PoolAccess(8, 8, 6, 7)}, "a write"),
        (1, 48, {"a": PoolAccess(8, 8, 6, 7)}, "a bytes"),
        (1, 47, {"a": PoolAccess(8, 8, 6, 7)}, "a bytes"),
        (1, 46, {"a": PoolAccess(8, 8, 6, 7)}, "unknown"),
        (1, 7, {"c": PoolAccess(7, 0, 1, 0)}, "unknown"),
    ],
)
def test_the_first_match_is_the_bound(compute: int | None, most: int, pools: dict[str, PoolAccess], bound: str) -> None:
    speeds = {"a": PoolSpeed(1, 6.0), "b": PoolSpeed(8, 1.0)}
    assert bound_of(compute, most, pools, speeds) == bound


def test_an_unknown_amount_stays_unknown() -> None:
    record = to_record(from_c_info(info(estimates=())), HZ)
    assert record["missing"] == ["kws_c_info.json has no power_estimates: no operations and no cycles per epoch"]
    assert record["totals"]["max_cycles"] is None and record["totals"]["inferences_per_second"] is None
    assert record["epochs"][0]["operations"] is None and record["epochs"][0]["bound"] == "unknown"
    assert "cycles" not in "".join(summary(from_c_info(info(estimates=())), HZ)[:1])


def test_a_table_of_the_compiler_has_no_types(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(folder(tmp_path)), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [epoch["bound"] for epoch in record["epochs"]] == ["nothing", "unknown", "flash write"]
    assert record["totals"]["max_cycles"] == 27728
    assert record["missing"] == [
        "no c_info.json beside network.csv: no operators, no units",
        "no network.c beside network.csv: types of epochs unknown",
        "no pool file (--pools): epochs that the bytes of a pool bound are 'unknown'",
    ]


def test_text_says_the_sums_in_the_words_of_the_vendor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(folder(tmp_path)), "--npu-mhz", "800"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  cycles       : 27728 (total max_cycles, NPU clock)" in lines
    assert any("inf/s        : 28851.7 at 800 MHz (ideal 172860.8)" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "'nowhere' is neither a file, a folder nor a variant that was built (scons nowhere)"),
        (["."], "neither a c_info.json, a network.csv nor a generated network.c is here"),
        (["x.csv"], "cannot read: No such file or directory"),
        (["x.elf"], "not a file that holds an estimate"),
    ],
)
def test_a_wrong_place_is_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["profile", *words]) == 1
    captured = capsys.readouterr()
    assert captured.out == "" and said in captured.err and captured.err.count("\n") == 1


def test_several_networks_in_a_folder_want_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}_c_info.json").write_text("{}")
    assert main(["profile", str(tmp_path)]) == 1
    assert "several could be its c_info.json: a_c_info.json, b_c_info.json" in capsys.readouterr().err


@pytest.mark.parametrize("clock", ["0", "x", "1e9"])
def test_a_clock_is_in_megahertz(clock: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["profile", ".", "--npu-mhz", clock])
    assert f"'{clock}' is not a clock in MHz" in capsys.readouterr().err


# ---- figures that the vendor's documents print, from the counts beside them -------------------------------------


def test_figures_of_a_published_epoch() -> None:
    operations, compute, most, core = 453348, 4608, 27648, 13300
    assert f"{totals.gops(operations, most, HZ):.1f}" == "16.4"
    assert f"{totals.gops(operations, compute, HZ):.1f}" == "98.4"
    assert f"{totals.gops(operations, core, HZ):.1f}" == "34.1"
    assert f"{100 * totals.ratio(compute, core):.2f}" == "34.65"
    shown = [totals.in_words(totals.bandwidth(count, core, HZ)) for count in (14080, 18168, 32248)]
    assert shown == ["1.06 GB/s", "1.37 GB/s", "2.42 GB/s"]
    shown = [totals.in_words(totals.bandwidth(count, core, HZ)) for count in (4608, 28420, 33028)]
    assert shown == ["346.47 MB/s", "2.14 GB/s", "2.48 GB/s"]
    assert f"{100 * totals.ratio(15190, core):.2f}" == "114.21"


def test_figures_of_a_published_network() -> None:
    operations, most, compute = 510646150, 15424817, 7485802
    total, npu, core = 10919340, 13692714, 13159399
    assert int(totals.ratio(operations, most) or 0) == 33
    assert int(totals.ratio(operations, compute) or 0) == 68
    assert f"{totals.ratio(HZ, most):.1f}" == "64.8" and f"{totals.ratio(HZ, compute):.1f}" == "133.6"
    assert f"{totals.ratio(800e6, total):.1f}" == "73.3"
    assert [f"{totals.gops(operations, each, HZ):.1f}" for each in (npu, core)] == ["37.3", "38.8"]
    assert [f"{100 * totals.ratio(compute, each):.2f}" for each in (npu, core)] == ["54.67", "56.89"]
    ram5, everything = 20572262 + 11045878, 24939604 + 11949046
    peak = [totals.in_words(totals.bandwidth(count, core, HZ)) for count in (ram5, everything)]
    average = [totals.in_words(totals.bandwidth(count, total, 800e6)) for count in (ram5, everything)]
    assert (peak, average) == (["2.40 GB/s", "2.80 GB/s"], ["2.32 GB/s", "2.70 GB/s"])


def test_sums_of_a_published_network() -> None:
    """One epoch stands for the published sums: the summary prints them to the last digit."""
    whole = EpochEstimate(1, "HW", (), (), 510646150, 7485802, 15424817)
    lines = summary(NetworkEstimate("yolo", ("x",), (whole,)), HZ)
    assert lines[1:7] == [
        "cycles       : 15424817 (total max_cycles, NPU clock)",
        "ideal cycles : 7485802 (total compute_cycles, NPU clock)",
        "ops          : 510646150",
        "ops/cycle    : 33 (ideal 68)",
        "inf/s        : 64.8 at 1000 MHz (ideal 133.6)",
        "GOPS         : 33.1",
    ]


def test_nothing_divides_by_zero() -> None:
    assert totals.ratio(HZ, 0) is None and totals.ratio(None, 3) is None
    assert totals.in_words(totals.bandwidth(5, 0, HZ)) == "-"
    assert totals_of(NetworkEstimate("x", (), ()), HZ)["inferences_per_second"] is None
    assert summary(NetworkEstimate("x", (), ()), HZ) == ["epochs       : none"]


@pytest.mark.real
def test_bounds_of_a_published_table() -> None:
    place = os.environ.get("NEURALART_REAL_DATA")
    tables = sorted(Path(place).rglob("g800_st_verify/network.csv")) if place else []
    pools = sorted(Path(place).rglob("compile/stt_audio.mpool")) if place else []
    if not tables or not pools:
        pytest.skip("no network.csv with its pool file in NEURALART_REAL_DATA")
    from neuralart_insight.profiling.estimate import speeds_of

    estimate = from_csv(network_csv.read(tables[0]), speeds=speeds_of(pools[0]))
    bounds = Counter(epoch.bound for epoch in estimate.epochs)
    assert bounds["compute"] == 220 and bounds["octoFlash bytes"] + bounds["octoFlash read"] == 168
    assert (bounds["npuRAM6 write"], bounds["npuRAM6 read"], bounds["cpuRAM2 write"]) == (114, 109, 3)
    assert (bounds["unknown"], bounds["nothing"], len(estimate.epochs)) == (4, 3, 621)
    totals = totals_of(estimate, HZ)
    assert (totals.max_cycles, totals.compute_cycles) == (91893226, 38926622)
