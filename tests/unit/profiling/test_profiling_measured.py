"""What a board measured: logs of the vendor's tools, figures that its documents print, and what is not of one build."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_insight.profiling import cli
from neuralart_insight.profiling.counter_log import parse_counter_log, read_counter_log
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate, PoolAccess
from neuralart_insight.profiling.join import ProfiledNetwork, join
from neuralart_insight.profiling.measured import BusBursts, CacheCounts, Phases, StreamActivity
from neuralart_insight.profiling.measured_report import bars, epoch_lines, measured_rows, measured_summary
from support.boards.counter_logs import BLOCKS, HEAD, PRINTED, LoggedEpoch, log
from support.models import vendor_reports as vendor

INPUT = Port("Input_0_out_0", "npuRAM5", 0x342E0000, 192, (1, 8, 8, 3), "int8", 0.0039, -128)


def joined(epochs: list[LoggedEpoch], expected: list[EpochEstimate]) -> ProfiledNetwork:
    (measured,) = parse_counter_log(log(epochs, samples=1).encode(), "x.log")
    return join(measured, NetworkEstimate("network", ("c_info.json",), tuple(expected)), measured.clocks)


# ---- published figures ------------------------------------------------------------------------------------------


def test_figures_of_a_published_epoch() -> None:
    """All that the vendor's manual prints of an epoch, from the counts beside it."""
    bursts = ((0, 0, 0, 0), (0, 0, 0, 220), (995, 0, 0, 0), (0, 0, 1, 0))
    bursts = (*bursts[:3], (1276, 0, 0, 0))
    engines = {0: 5852, 1: 5719, 2: 5586, 3: 15190, 5: 6783, 8: 6251}
    outputs = {4: 13965, 9: 13832}
    one = LoggedEpoch(186, "HW", None, (18859, 10599, 5253), (15105, 13300, 15105), engines, outputs, bursts)
    rest = LoggedEpoch(187, "HW", None, (0, 16431 * 800 - 34711, 0))
    pools = {"octoFlash": PoolAccess(4608, 0), "npuRAM5": PoolAccess(19600, 8820)}
    expected = EpochEstimate(186, "HW", ("Conv",), ("CONV_ACC_V2 0",), 453348, 4608, 27648, pools=pools)
    network = joined([one, rest], [expected, EpochEstimate(187, "HW")])
    said = {
        name.strip(): text
        for line in epoch_lines(network, network.epochs[0])
        for name, _, text in [line.partition(" : ")]
    }
    assert said["ops/cycle"] == "16.4 (ideal 98.4)"
    assert said["GOPS"] == "10.4 (core 34.1)"
    assert said["duration"] == "0.043ms (0.3%)"
    assert said["mcu cycles"] == "[18859, 10599, 5253] -> 0.024,0.013,0.007 ms (mcu_freq=800MHz)"
    apart = "-14348 to max_cycles (-107.88% of the measured, -51.90% of the estimated cycles)"
    assert said["core npu cycles"] == f"13300 -> 0.013 ms {apart}"
    assert said["compute cycles ratio"] == "34.65% (total 10.59%)"
    assert said["busif 0"].startswith("r=14080 w=0 rburst[1,2,4,8]x8=(0,0,0,220)") and "1.06 GB/s" in said["busif 0"]
    assert said["busif 1"].startswith("r=10208 w=7960 ") and said["busif 1"].endswith("-> 1.37 GB/s")
    assert said["busif (total)"] == "r=24288 w=7960 -> 2.42 GB/s"
    assert said["strg engines"] == "114.21% (id=3.i)"
    active = [line.split(", ")[-1] for line in epoch_lines(network, network.epochs[0]) if "STRENG." in line]
    assert active == ["44%", "43%", "42%", "114%", "51%", "47%", "105%", "104%"]
    assert (said["octoFlash"], said["npuRAM5"]) == ("r=4608 w=0 -> 346.47 MB/s", "r=19600 w=8820 -> 2.14 GB/s")
    assert said["mem accesses (total)"] == "r=24208 w=8820 -> 2.48 GB/s"


def test_sums_of_a_published_network() -> None:
    mcu, npu = (100000, 10516416, 302924), (200000, 13159399, 333315)
    assert (sum(mcu), sum(npu)) == (10919340, 13692714)
    pools = {"npuRAM5": PoolAccess(20572262, 11045878), "others": PoolAccess(4367342, 903168)}
    expected = EpochEstimate(1, "HW", (), (), 510646150, 7485802, 15424817, pools=pools)
    said = measured_summary(joined([LoggedEpoch(1, mcu=mcu, npu=npu)], [expected]))
    assert said[0] == "total duration       : 13.649ms, npu_core:13.159ms (96.41%), mcu_cycles=[0.92, 96.31, 2.77]%"
    assert said[1:7] == [
        "mcu cycles           : 10919340 (core only = 10516416)",
        "npu cycles           : 13692714 (core only = 13159399)",
        "GOPS                 : 37.3 (core 38.8)",
        "inf/s                : 73.3 (13.649ms)",
        "compute cycles ratio : 54.67%, 56.89% (core only)",
        "jitter               : 0.00% of an epoch's CPU cycles at most",
    ]
    assert said[7] == "npuRAM5              : r=20572262 w=11045878 -> 2.40 GB/s (peak), 2.32 GB/s (average)"
    assert said[9] == "total                : r=24939604 w=11949046 -> 2.80 GB/s (peak), 2.70 GB/s (average)"


def test_figures_of_two_networks_that_were_measured() -> None:
    """The sums that a published log prints, from counter lines with its means (which are rounded up)."""
    software = LoggedEpoch(55, "SW", mcu=(45, 31, 117395), npu=(1, 2, 3))
    blob = LoggedEpoch(1, "EC", 54, (420, 16058500, 407), (500, 20088000, 600), {4: 2000000, 8: 6187115}, {4: 7650000})
    kws = LoggedEpoch(1, "EC", 22, (395, 817198, 368), (524, 1021580, 583), {4: 228275}, {4: 191295})
    found = parse_counter_log((log([kws], "kws") + log([blob, software], "img")).encode(), "x.log")
    assert (found[0].epochs[0].mcu, found[0].epochs[0].npu) == (Phases(395, 817199, 368), Phases(524, 1021580, 583))
    whole = [join(each, None, each.clocks) for each in found]
    shown = [[line.partition(" : ")[2] for line in measured_summary(each)] for each in whole]
    assert [lines[3] for lines in shown] == ["978.0 (1.022ms)", "49.5 (20.221ms)"]
    assert [lines[1] for lines in shown] == ["817962 (core only = 817199)", "16176800 (core only = 16058533)"]
    assert shown[0][2] == "1022687 (core only = 1021580)" and measured_rows(whole[1])[1][2] == "0.147"
    # Both ways of an engine, which the vendor's tool prints as one mean of 20.54 %.
    engines = [line.split(": ")[-1] for line in epoch_lines(whole[0], whole[0].epochs[0]) if "STRENG" in line]
    assert engines == ["busif=0, 228275 cycles, 22%", "busif=0, 191295 cycles, 19%"]
    said = [line for each in whole for line in epoch_lines(each, each.epochs[0]) if "strg engines" in line]
    assert [line.split(" : ")[1] for line in said] == ["22.35% (id=4.i)", "38.08% (id=4.o)"]


@pytest.mark.real
def test_figures_of_a_published_log() -> None:
    place = os.environ.get("NEURALART_REAL_DATA")
    found = sorted(Path(place).rglob("npu_profiler.log")) if place else []
    if not found:
        pytest.skip("no npu_profiler.log in NEURALART_REAL_DATA")
    kws, img = read_counter_log(found[0])
    assert (kws.name, kws.epochs[0].mcu, kws.epochs[0].npu) == (
        "kws",
        Phases(395, 817199, 368),
        Phases(524, 1021580, 583),
    )
    assert max(kws.epochs[0].streams, key=lambda stream: stream.cycles) == StreamActivity("i", 4, 228275)
    assert max(img.epochs[0].streams, key=lambda stream: stream.cycles) == StreamActivity("i", 8, 6187115)
    whole = [measured_summary(join(each, None, each.clocks)) for each in (kws, img)]
    assert [lines[3] for lines in whole] == [
        "inf/s                : 978.0 (1.022ms)",
        "inf/s                : 49.5 (20.221ms)",
    ]
    assert measured_rows(join(img, None, img.clocks))[1][2] == "0.147"


# ---- the log -----------------------------------------------------------------------------------------------------

EPOCHS = [
    LoggedEpoch(1, "HW", None, (10, 80, 11), (12, 101, 13), {0: 50, 4: 9}, {4: 7}, [(1, 0, 0, 0)] * 4),
    LoggedEpoch(2, "HW"),
    LoggedEpoch(
        3, "HYBRID", None, (1, 70, 1), (1, 90, 1), {1: 5}, {}, [(2, 0, 0, 1)] * 4, ((1, 2, 3, 4), (5, 6, 7, 8))
    ),
    LoggedEpoch(
        -1, "EXTRA", -1, (1, 7, 1), (1, 9, 1), {1: 5}, {2: 6}, [(1, 0, 0, 0)] * 4, ((1, 1, 1, 1), (1, 1, 1, 1))
    ),
    LoggedEpoch(4, "SW", None, (5, 6, 400), (6, 7, 500)),
]


def test_counters_are_means_that_are_rounded_up() -> None:
    text = log(EPOCHS, "net", INPUT.address)
    (found,) = parse_counter_log(text.encode(), "x.log")
    assert (found.name, found.samples, found.nodes, found.missing) == ("net", 2, 5, ())
    assert found.how == "counter lines of 6 inferences in 3 passes"
    assert (found.clocks.mcu, found.clocks.npu, found.clocks.noc) == (800_000_000, 1_000_000_000, 400_000_000)
    (tensor,) = found.inputs
    assert (tensor.name, tensor.shape, tensor.scale, tensor.zero_point) == (INPUT.name, INPUT.shape, 0.0039, -128)
    assert tensor.address == INPUT.address
    first = found.epochs[0]
    # 80 and 81 in turns.
    assert (first.name, first.mcu, first.npu, first.spread) == (
        "EpochBlock_1",
        Phases(10, 81, 11),
        Phases(12, 101, 13),
        (101, 102),
    )
    assert first.streams == (StreamActivity("i", 0, 50), StreamActivity("i", 4, 9), StreamActivity("o", 4, 7))
    assert [stream.port for stream in (*first.streams, StreamActivity("i", 5, 1))] == [0, 0, 0, 1]
    assert first.ports[1] == BusBursts((1, 0, 0, 0), (1, 0, 0, 0)) and first.ports[1].bytes == (8, 8)
    assert [epoch.kind for epoch in found.epochs] == ["HW", "HW", "HYBRID", "SW"]
    (few,) = parse_counter_log(text.encode(), "x.log", 1)
    assert (few.samples, few.epochs[0].mcu) == (1, Phases(10, 80, 11))


def test_an_extra_epoch_is_a_part_of_the_one_before_it() -> None:
    (found,) = parse_counter_log(log(EPOCHS).encode(), "x.log")
    assert [epoch.first for epoch in found.epochs] == [1, 2, 3, 4]
    both = found.epochs[2]
    assert (both.mcu, both.npu, both.spread) == (Phases(2, 78, 2), Phases(2, 99, 2), (81, 83))
    assert both.streams == (StreamActivity("i", 1, 10), StreamActivity("o", 2, 6))
    assert both.ports[0].read == (3, 0, 0, 1) and both.cache == CacheCounts((2, 3, 4, 5), (6, 7, 8, 9))


def test_what_was_not_counted_is_said() -> None:
    (found,) = parse_counter_log(log(EPOCHS, passes="i").encode(), "x.log")
    assert found.missing == (
        "no counters of the stream engines that write: pass 0x51",
        "no counters of the bus interfaces: pass 0x08",
    )


def test_several_networks_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.log"
    path.write_text(log(EPOCHS, "a") + log(EPOCHS[:2], "b"))
    assert [(each.name, len(each.epochs)) for each in read_counter_log(path)] == [("a", 4), ("b", 2)]
    assert main(["profile", "-d", str(path), "-n", "b", "-v", "0"]) == 0
    assert capsys.readouterr().out.startswith("b: measured (")
    assert main(["profile", "-d", str(path), "-n", "c"]) == 1
    assert "2 networks were measured" in capsys.readouterr().err


def without_end(text: str) -> str:
    return text[: text.rindex("s:node:evt_pre_start:4")]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "", "x.log: holds no measurement of an NPU (a log of npu_profiler (best with --debug)"),
        (lambda text: HEAD, "x.log: holds no measurement of an NPU"),
        (lambda text: text.replace("mcu_cycles:10:80:11", "mcu_cycles:10:80"), "'s:node:mcu_cycles:10:80' is damaged"),
        (lambda text: text.replace("port0:burst:w:1:0:0:0", "port0:burst:w:1:0:0:x"), "x.log:"),
        (
            lambda text: text.replace("evt_pre_start:1:2:2:2", "evt_pre_start:1:9:9:9", 1),
            "another epoch than in the first",
        ),
        (lambda text: without_end(text) + 'name="network" counters="c"[1]', "3 epochs in a sample, 4 in the first one"),
    ],
)
def test_a_log_that_cannot_be_read(change: Callable[[str], str], said: str) -> None:
    with pytest.raises(NeuralArtError) as error:
        parse_counter_log(change(log(EPOCHS)).encode(), "x.log")
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_log_that_is_cut_off_loses_its_last_sample() -> None:
    (found,) = parse_counter_log(without_end(log(EPOCHS)).encode(), "x.log")
    assert found.missing == ("the log ends in sample 6, which is left out",) and found.samples == 1


def test_a_log_that_is_cut_off_in_its_second_network() -> None:
    text = log(EPOCHS, "a") + without_end(log(EPOCHS, "b", passes="i", samples=1))
    first, second = parse_counter_log(text.encode(), "x.log")
    assert (first.name, first.missing, len(first.epochs)) == ("a", (), 4)
    assert (second.name, len(second.epochs), second.samples) == ("b", 3, 1)


def test_lines_of_a_serial_port_without_names() -> None:
    lines = [line.split("] ")[-1] for line in log(EPOCHS[:2]).splitlines() if "s:node:" in line]
    (found,) = parse_counter_log("\n".join(lines).encode(), "x.log")
    assert (found.name, len(found.epochs), found.samples) == ("", 2, 2)
    assert measured_rows(join(found, None, found.clocks))[0][2] == "-"


def test_what_tools_print() -> None:
    (found,) = parse_counter_log(PRINTED.encode(), "x.log")
    assert (found.name, found.how, found.samples) == ("kws", "table of times, means of 10 samples", 10)
    assert [(epoch.name, epoch.kind, epoch.mcu) for epoch in found.epochs] == [
        ("EpochBlock_1 -> 22", "EC", Phases(393, 817255, 366)),
        ("EpochBlock_23", "HW", Phases(2, 7500, 4)),
    ]
    assert found.clocks.npu == 1_000_000_000 and found.inputs[0].shape == (1, 49, 10, 1)
    (found,) = parse_counter_log((PRINTED + BLOCKS).encode(), "x.log")
    blob, software = found.epochs
    assert (blob.mcu, blob.npu) == (Phases(395, 817199, 368), Phases(None, 1021580, None))
    assert blob.streams == (StreamActivity("i", 5, 34894),) and blob.ports[0].bytes == (48, 8)
    assert blob.cache == CacheCounts((1, 1920, 0, 0), (0, 0, 0, 2))
    assert (software.kind, software.mcu, software.npu) == ("SW", Phases(45, 32, 117395), None)
    assert "--debug tells both" in found.missing[1]
    said = measured_summary(join(found, None, found.clocks))
    assert said[2] == "npu cycles           : - (core only = 1021580)"


# ---- one build ---------------------------------------------------------------------------------------------------

BUILD = NetworkEstimate(
    "network",
    ("c_info.json",),
    tuple(EpochEstimate(n, kind, max_cycles=9) for n, kind in ((1, "HW"), (2, "HW"), (3, "HYBRID"), (4, "SW"))),
    inputs=(INPUT,),
)


def test_a_measurement_of_this_build() -> None:
    (found,) = parse_counter_log(log(EPOCHS, address=INPUT.address & ~0x10000000).encode(), "x.log")
    whole = join(found, BUILD, found.clocks)
    assert [[each.id for each in epoch.expected] for epoch in whole.epochs] == [[1], [2], [3], [4]]
    assert whole.notes == ("the log does not tell the outputs: epochs alone say that both are of one build",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"inputs": (replace(INPUT, name="other"),)}, "input 0 is called Input_0_out_0, in the compile other"),
        ({"inputs": (replace(INPUT, shape=(1, 8, 3, 8)),)}, "input 0 has the shape [1, 8, 8, 3], in the compile"),
        ({"inputs": (replace(INPUT, dtype="uint8"),)}, "input 0 has the type int8, in the compile uint8"),
        ({"inputs": (replace(INPUT, scale=0.00391),)}, "input 0 has the scale 0.0039, in the compile 0.00391"),
        ({"inputs": (replace(INPUT, zero_point=0),)}, "input 0 has the zero point -128, in the compile 0"),
        ({"inputs": (replace(INPUT, address=0x342E0010),)}, "input 0 is at 0x342e0000, in the compile 0x342e0010"),
        ({"inputs": (INPUT, INPUT)}, "1 inputs were measured, the compile has 2"),
        ({"epochs": BUILD.epochs[:3]}, "EpochBlock_4 (SW) was measured, the compile has no such epoch"),
        (
            {"epochs": (*BUILD.epochs, EpochEstimate(5, "HW", max_cycles=1))},
            "epoch 5 (HW) of the compile was not measured",
        ),
        (
            {"epochs": (EpochEstimate(1, "EC"), *BUILD.epochs[1:3], EpochEstimate(4, "HW"))},
            "EpochBlock_1 is HW, in the compile epoch 1 is EC (and 1 more differences)",
        ),
    ],
)
def test_a_measurement_of_another_build(change: dict[str, tuple[object, ...]], said: str) -> None:
    (found,) = parse_counter_log(log(EPOCHS, address=INPUT.address).encode(), "x.log")
    with pytest.raises(NeuralArtError) as error:
        join(found, replace(BUILD, **change), found.clocks)  # type: ignore[arg-type]
    assert str(error.value).startswith("x.log: the measurement is of another build than c_info.json: ")
    assert said in str(error.value)


# ---- the command -------------------------------------------------------------------------------------------------


def test_a_log_and_its_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c_info.json").write_bytes(vendor.dump(vendor.c_info("4.0")))
    # The input of that file.
    epochs = [LoggedEpoch(1, inputs={0: 40}), LoggedEpoch(2), LoggedEpoch(3), LoggedEpoch(4, "SW")]
    (tmp_path / "x.log").write_text(log(epochs))
    words = ["profile", "-c", str(tmp_path), "-d", f"file:{tmp_path / 'x.log'}", "-b", "1", "--no-color", "--plot"]
    out = ["--csv", str(tmp_path / "e.csv"), "-o", str(tmp_path / "profile.json"), "--log", str(tmp_path / "said.txt")]
    assert main([*words, "-v", "2", *out]) == 0
    said = capsys.readouterr().out
    assert (tmp_path / "said.txt").read_text() == f"# Log of neuralart\n{said}"
    assert "EpochBlock_1 (num=1:1, c_type=HW)" in said and "  1     0.000 ms |<<<<<<####" in said
    record = json.loads((tmp_path / "profile.json").read_text())
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == record
    measured = record["measured"]
    assert (record["kind"], record["schema"], record["clocks"]) == ("neuralart-profile", 1, {"npu_hz": 10**9})
    first = measured["epochs"][0]
    assert (first["epochs"], first["max_cycles"], first["difference"], first["compute_ratio"]) == ([1], 150, -50, 1.0)
    assert first["streams"] == [{"direction": "i", "engine": 0, "cycles": 40, "share": 0.4, "pools": []}]
    assert measured["totals"]["inferences_per_second"] == 800e6 / 400
    rows = list(csv.DictReader((tmp_path / "e.csv").read_text().splitlines()))
    assert [row["type"] for row in rows] == ["HW", "HW", "HW", "SW"]
    assert [rows[0][key] for key in ("mcu_cycles.core", "npu_cycles.core", "difference")] == ["80", "100", "-50"]
    assert (rows[0]["streams.0.i"], rows[1]["streams.0.i"], rows[0]["bus.1.read_bursts"]) == ("40", "", "0 0 0 0")
    # Clocks of the command line win.
    assert main([*words, "--npu-mhz", "500", "--cpu-mhz", "400", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["clocks"]["npu_hz"] == 500e6 and record["measured"]["clocks"]["mcu_hz"] == 400_000_000


def test_times_of_a_c_info(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = vendor.c_info("4.0")
    time = {"counters": [100, 600, 100], "cycles": 800, "duration_ms": 0.001, "percentage": 25.0}
    data["aton_execution_time"] = [time] * 4
    (tmp_path / "c_info.json").write_bytes(vendor.dump(data))
    assert main(["profile", str(tmp_path), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert measured["records"] == "aton_execution_time" and measured["clocks"]["mcu_hz"] == 800_000_000
    assert [epoch["epochs"] for epoch in measured["epochs"]] == [[1], [2], [3], [4]]
    assert measured["totals"]["mcu_cycles"] == {"pre": 400, "core": 2400, "post": 400}
    # A blob is measured as one; the file of a validation may have nothing but the times.
    results = {**vendor.results_c_info("2.2"), "aton_execution_time": [time] * 2}
    (tmp_path / "results.json").write_bytes(vendor.dump(results))
    (tmp_path / "ec").mkdir()
    (tmp_path / "ec" / "c_info.json").write_bytes(vendor.dump(vendor.c_info("4.0", ec=True)))
    assert main(["profile", str(tmp_path / "ec"), "-d", str(tmp_path / "results.json"), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert [(epoch["type"], epoch["epochs"]) for epoch in measured["epochs"]] == [("EC", [1, 2, 3]), ("SW", [4])]
    assert main(["profile", str(tmp_path / "results.json"), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["measured"]
    assert [(epoch["type"], epoch["first"], epoch["epochs"]) for epoch in measured["epochs"]] == [
        ("unknown", 0, []),
        ("unknown", 1, []),
    ]
    for times, said in (
        ([time], "1 times, but 4 epochs and blobs"),
        ([{**time, "counters": [1]}] * 4, "time 0 has 1 counters, not 3"),
    ):
        (tmp_path / "c_info.json").write_bytes(vendor.dump({**data, "aton_execution_time": times}))
        assert main(["profile", str(tmp_path)]) == 1
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to profile (name a compile or a variant, or -d LOG)"),
        (["a", "-c", "b"], "a network and -c (give one of them)"),
        (["-d", "serial:/no/port:921600"], "/no/port: the port fails: "),
        (["-d", "serial:COM4:COM5"], "serial:COM4:COM5: not a port (for example serial:/dev/ttyACM0:921600, "),
        (["-d", "two.log", "--pair", "gone"], "gone: not a file that holds an estimate"),
        (["-d", "no.log"], "no.log: cannot read"),
        (["-d", "two.log", "--csv", "x.csv"], "--csv: a table is of one network that was measured"),
        (["c", "-d", "c/c_info.json"], "no times of a board are in it"),
    ],
)
def test_wrong_words_are_one_line(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.log").write_text(log(EPOCHS, "a") + log(EPOCHS, "b"))
    Path("c").mkdir()
    Path("c/c_info.json").write_bytes(vendor.dump(vendor.c_info("4.0")))
    status = main(["profile", *words])
    captured = capsys.readouterr()
    assert status == 1 and captured.out == "" and said in captured.err and captured.err.count("\n") == 1


def test_clocks_of_the_board_of_a_variant(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    for board, clocks in (
        ("stm32n6570-dk", {"cpu_mhz": 800 * 10**6, "npu_mhz": 10**9}),
        ("mps3-an547", {}),
        ("own", {}),
    ):
        index = {"schema": 1, "board": board, "artefacts": ["a"], "firmware": {}}
        (tmp_path / "v" / "index.json").write_text(json.dumps(index))
        assert cli._board_clocks(argparse.Namespace(build=tmp_path, network="v", network_too="")) == clocks


def test_bars_show_shares() -> None:
    (found,) = parse_counter_log(log(EPOCHS).encode(), "x.log")
    said = bars(join(found, None, found.clocks))
    assert said[3].endswith("|" + "<" + "#" + ">" * 58) and len(said) == 4


def test_a_large_table_is_read_with_few_modules(tmp_path: Path) -> None:
    """621 epochs and their sums; nothing that is slow to import is."""
    heads = "epochs,flash (r),flash (w),flash (r+w),flash (r cycles),flash (w cycles),flash (cycles),"
    heads += "epoch OPS,epoch compute (cyles),max (cycles)\n"
    path = tmp_path / "network.csv"
    path.write_text(heads + "".join(f"{n} ,64,8,72,8,1,9,100,8,9\n" for n in range(621)))
    code = "import sys\nfrom neuralart.cli import main\nassert main(['profile', sys.argv[1]]) == 0\n"
    code += "names = {name.partition('.')[0] for name in sys.modules}\n"
    code += "print(len([n for n in sys.modules if n.startswith('neuralart')]), len(sys.modules), file=sys.stderr)\n"
    code += "assert not names & {'numpy', 'SCons', 'jinja2', 'elftools', 'unicorn'}, names\n"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ours, every = map(int, done.stderr.split())
    assert done.stdout.count("\n") > 621 and ours < 45 and every < 170, (ours, every)
