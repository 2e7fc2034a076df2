"""What a board measures when it is asked: the passes of the vendor's profiler, against a made-up board."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("google.protobuf", reason="protobuf is not installed: it comes with the extra 'test'")
from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_board.ports import of_descriptor
from neuralart_insight.profiling.board import measured_log
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate
from neuralart_insight.profiling.join import join
from neuralart_insight.profiling.measured import CacheCounts, Phases, StreamActivity
from neuralart_virtual.validation_link.client import ValidationClient
from support.boards.counter_logs import LoggedEpoch
from support.boards.validation_board import RAM, ValidationBoard, over_tcp

EPOCHS = [
    LoggedEpoch(1, inputs={0: 50, 4: 9}, outputs={4: 7}, bursts=[(1, 0, 0, 0)] * 4, cache=((1, 2, 3, 4), (5, 6, 7, 8))),
    LoggedEpoch(2, "HYBRID", None, (1, 70, 1), (1, 90, 1)),
    LoggedEpoch(-1, "EXTRA", -1, (1, 7, 1), (1, 9, 1)),
    LoggedEpoch(3, "EC", 9),
    LoggedEpoch(10, "SW", None, (5, 6, 400), (6, 7, 500)),
]
KINDS = ((1, "HW"), (2, "HYBRID"), *((n, "EC") for n in range(3, 10)), (10, "SW"))
INPUT = Port("x", "npuRAM5", RAM, 16, (1, 16), "int8", 0.5, -3)
OUTPUT = Port("y", "npuRAM5", RAM, 5, (1, 5), "int8", 0.5, -3)
EXPECTED = tuple(EpochEstimate(n, kind, max_cycles=9) for n, kind in KINDS)
BUILD = NetworkEstimate("one", ("c_info.json",), EXPECTED, inputs=(INPUT,), outputs=(OUTPUT,))


def measured(board: ValidationBoard, batch: int = 1, name: str = "", **stamps: str) -> list[Any]:
    log = measured_log(ValidationClient(board), "PORT", name, batch, stamps, lambda done, count: None)
    return parse_counter_log(log.encode(), "PORT")


def runs(board: ValidationBoard) -> list[tuple[int, str, int]]:
    return [(param, name, option) for command, param, name, option in board.seen if command == 11]


def test_passes_of_the_profiler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Over TCP: a warm-up, then each pass so many times, the first sample of each marked."""
    board, raw = ValidationBoard("32", size=512, epochs=EPOCHS), tmp_path / "board.log"
    with over_tcp(board) as port:
        words = ["profile", "-d", f"socket:127.0.0.1:{port}", "-b", "3", "--raw", str(raw), "--json"]
        assert main(words) == 0
    options = [
        option for counters in (0x31, 0x51, 0x08) for option in (counters << 8 | 1, counters << 8, counters << 8)
    ]
    assert runs(board) == [(0x209, "one", 0), *((0x20B, "one", option) for option in options)]
    shown = capsys.readouterr()
    record = json.loads(shown.out)["measured"]
    assert (record["network"], record["samples"], record["missing"]) == ("one", 3, [])
    assert record["records"] == "counter lines of 9 inferences in 3 passes"
    assert record["clocks"] == {"mcu_hz": 800e6, "npu_hz": 1e9, "noc_hz": 400e6, "nic_hz": 900e6}
    first, both, blob, software = record["epochs"]
    assert [(each["first"], each["last"], each["type"]) for each in (first, both, blob, software)] == [
        *((1, 1, "HW"), (2, 2, "HYBRID"), (3, 9, "EC"), (10, 10, "SW"))
    ]
    # Runs of 80 and 81 cycles in turns, and means are rounded up; an EXTRA epoch belongs to the one before it.
    assert first["mcu_cycles"] == {"pre": 10, "core": 81, "post": 10} and both["npu_cycles"]["core"] == 99
    assert [(each["direction"], each["engine"], each["cycles"]) for each in first["streams"]] == [
        *(("i", 0, 50), ("i", 4, 9), ("o", 4, 7))
    ]
    assert first["bus"]["1"]["read"] == 8 and first["npu_cache"] == {"read": [1, 2, 3, 4], "written": [5, 6, 7, 8]}
    assert record["totals"]["jitter"] == pytest.approx(2 / 83)
    x = {"name": "x", "dtype": "int8", "shape": [1, 16], "scale": 0.5, "zero_point": -3, "address": RAM}
    assert record["inputs"] == [x]
    # What was kept is read again as it was measured.
    assert main(["profile", "-d", str(raw), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"] == {**record, "source": raw.as_posix()}
    assert main(["profile", "-d", str(raw), "-v", "2"]) == 0
    said = re.sub(" +", " ", capsys.readouterr().out)
    for line in (
        f" input 0 : x int8[1,16], scale 0.5, zero point -3, at 0x{RAM:08x}",
        " n_nodes : 5\n device : 0x486 @800/400MHz\n clocks : mcu 800 MHz, npu 1000 MHz, noc 400 MHz, nic 900 MHz",
        " compile_datetime : Jan 1 2026",
        " device.attrs : fpu,dcache,icache,mcu_freq=800000000,npu_freq=1000000000",
        " protocol : 3.2",
        " jitter : 2.41% of an epoch's CPU cycles at most",
        " NPU cache cnts : R[hit=1, miss=2, alloc-miss=3, evict=4], W[hit=5, miss=6, alloc-miss=7, through=8]",
    ):
        assert f"{line}\n" in said


@pytest.mark.parametrize("framing", ["31", "both"])
def test_both_framings_tell_the_same(framing: str) -> None:
    (found,) = measured(ValidationBoard(framing, epochs=EPOCHS))
    assert found.epochs[0].streams == (StreamActivity("i", 0, 50), StreamActivity("i", 4, 9), StreamActivity("o", 4, 7))
    assert found.epochs[0].cache == CacheCounts((1, 2, 3, 4), (5, 6, 7, 8)) and found.nodes == 5
    whole = join(found, BUILD, found.clocks)
    assert [[each.id for each in epoch.expected] for epoch in whole.epochs] == [[1], [2], [*range(3, 10)], [10]]


def test_a_board_with_another_build_is_refused() -> None:
    (found,) = measured(ValidationBoard(epochs=EPOCHS))
    other = Port("x", "npuRAM5", RAM + 64, 16, (1, 16), "int8", 0.5, -3)
    with pytest.raises(NeuralArtError, match="input 0 is at 0x34000000, in the compile 0x34000040"):
        join(found, replace(BUILD, inputs=(other,)), found.clocks)
    (found,) = measured(ValidationBoard(epochs=EPOCHS[:3]))
    with pytest.raises(NeuralArtError, match=r"epoch 3 \(EC\) of the compile was not measured \(and 7 more diff"):
        join(found, BUILD, found.clocks)
    board = ValidationBoard(epochs=EPOCHS, signature="0123456789abcdef")
    with pytest.raises(NeuralArtError, match="PORT: the board runs another build of network 'one': 0123456789abcdef, "):
        measured(board, one="f" * 16)
    assert not runs(board) and measured(board, one="0123456789abcdef")


def test_a_firmware_that_sends_times_alone() -> None:
    """Ours: layers with their cycles, and no lines about them."""
    (found,) = measured(ValidationBoard(), 2)
    assert [(each.name, each.kind, each.mcu, each.npu) for each in found.epochs] == [
        ("EpochBlock_1", "HW", Phases(1, 2, 3), None),
        ("EpochBlock_2", "HW", Phases(4, 5, 6), None),
    ]
    assert found.clocks.mcu == 800_000_000 and found.clocks.npu == 10**9 and len(found.missing) == 3


def test_networks_of_one_board() -> None:
    board = ValidationBoard("32", epochs=EPOCHS, two=True)
    assert [each.name for each in measured(board)] == ["one", "two"]
    assert [len(each.inputs) for each in measured(board)] == [1, 2]
    (found,) = measured(board, name="two")
    assert [each.name for each in found.outputs] == ["y", "h", "b"]
    with pytest.raises(NeuralArtError, match=re.escape("the board has no network 'tow' (did you mean 'two'")):
        measured(board, name="tow")


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("blind", "validation protocol: the board's firmware cannot observe layers"),
        ("core", "PORT: network 'one' has no epochs: its runtime is not that of the NPU"),
        ("nonet", "validation protocol: network 0 of the board failed to start"),
        ("refuse", "validation protocol: the board refuses: invalid parameter (4)"),
        ("words", "'s:node:mcu_cycles:10:81:10x' is damaged"),
    ],
)
def test_a_board_that_does_not_measure(fault: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as error:
        measured(ValidationBoard(epochs=EPOCHS, faults=[fault]))
    assert said in str(error.value)


def test_a_board_that_goes_away(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    board, raw = ValidationBoard(epochs=EPOCHS), tmp_path / "board.log"
    with over_tcp(board, lambda: len(runs(board)) == 3) as port:
        assert main(["profile", "-d", f"socket:127.0.0.1:{port}", "--raw", str(raw)]) == 1
    shown = capsys.readouterr()
    assert not raw.exists() and shown.out == "" and f"socket://127.0.0.1:{port}: the port fails" in shown.err


@pytest.mark.parametrize(
    ("text", "port"),
    [
        ("serial", ("", 921600)),
        ("serial:115200", ("", 115200)),
        (":921600", ("", 921600)),
        ("serial:COM4:115200", ("COM4", 115200)),
        ("serial:115200:/dev/ttyACM0", ("/dev/ttyACM0", 115200)),
        ("/dev/ttyACM0", ("/dev/ttyACM0", 921600)),
        ("socket", ("socket://localhost:10000", 921600)),
        ("socket:n6.lan:5000", ("socket://n6.lan:5000", 921600)),
        ("rfc2217://n6.lan:5000", ("rfc2217://n6.lan:5000", 921600)),
        ("npu_profiler.log", None),
        (r"C:\logs\x.log", None),
        ("", None),
    ],
)
def test_descriptors(text: str, port: tuple[str, int] | None) -> None:
    assert of_descriptor(text) == port


def test_a_descriptor_that_is_none() -> None:
    with pytest.raises(NeuralArtError, match="serial:a:b: not a port"):
        of_descriptor("serial:a:b")
