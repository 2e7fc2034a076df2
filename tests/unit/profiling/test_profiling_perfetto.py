"""``neuralart profile --perfetto``, read by Perfetto's own description of the format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate
from neuralart_insight.profiling.join import join
from neuralart_insight.profiling.measured import Clocks
from neuralart_insight.profiling.perfetto import trace_of
from support.boards.counter_logs import LoggedEpoch, log
from support.models import vendor_reports as vendor

LOGGED = [
    LoggedEpoch(1, inputs={0: 40}, bursts=[(0, 0, 0, 0), (10, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)]),
    *(LoggedEpoch(number) for number in (2, 3)),
    LoggedEpoch(4, "SW", None, (40, 0, 360)),
]


class Tracks:
    """A trace by track: slices as (name, start, end), counters as (time, value)."""

    def __init__(self, data: bytes) -> None:
        protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        unknown = pytest.importorskip("google.protobuf.unknown_fields")
        trace = protos.Trace()
        assert trace.ParseFromString(data) == len(data) and trace.IsInitialized()
        self.names: dict[int, str] = {}
        self.parents: dict[str, str] = {}
        self.units: dict[str, str] = {}
        self.slices: dict[str, list[Any]] = {}
        self.values: dict[str, list[tuple[int, float]]] = {}
        self.notes: list[dict[str, str]] = []
        for packet in trace.packet:
            assert not len(unknown.UnknownFieldSet(packet))
            if packet.HasField("track_descriptor"):
                self._track(packet.track_descriptor)
            else:
                self._event(protos.TrackEvent, packet.timestamp, packet.track_event)

    def _track(self, track: Any) -> None:
        name = track.name
        if track.parent_uuid:
            self.parents[name] = self.names[track.parent_uuid]
        if track.HasField("counter"):
            self.units[name] = track.counter.unit_name
        self.names[track.uuid] = name

    def _event(self, kinds: Any, at: int, event: Any) -> None:
        name = self.names[event.track_uuid]
        if event.type == kinds.TYPE_COUNTER:
            self.values.setdefault(name, []).append((at, event.double_counter_value))
        elif event.type == kinds.TYPE_SLICE_BEGIN:
            self.slices.setdefault(name, []).append((event.name, at))
            self.notes.append({note.name: note.string_value for note in event.debug_annotations})
        else:
            assert event.type == kinds.TYPE_SLICE_END
            self.slices[name][-1] += (at,)


def test_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c_info.json").write_bytes(vendor.dump(vendor.c_info("4.0")))
    (tmp_path / "x.log").write_text(log(LOGGED, samples=1))
    out = tmp_path / "net.pftrace"
    assert main(["profile", str(tmp_path), "-d", str(tmp_path / "x.log"), "--perfetto", str(out)]) == 0
    found = Tracks(out.read_bytes())
    # Cycles of 1000 MHz, then of 800 MHz.
    expected = found.slices["network: estimate"]
    assert [(start, end) for _, start, end in expected] == [(0, 150), (150, 300), (300, 450), (450, 600)]
    assert expected[0][0].startswith("1 ")
    measured = found.slices["network: measured"]
    assert measured[0] == ("EpochBlock_1", 0, 125) and measured[3] == ("EpochBlock_4", 375, 875)
    assert found.slices["phases"][:3] == [("pre", 0, 12), ("core", 12, 112), ("post", 112, 125)]
    assert found.parents["phases"] == "network: measured" and found.units["bus 0"] == "GB/s"
    # 80 bytes and 40 cycles of an engine in 100 cycles of the NPU.
    assert found.values["bus 0"][:2] == [(12, 0.8), (112, 0.0)]
    assert found.values["STRENG.0.i"] == [(12, 40.0), (112, 0.0)] and found.units["STRENG.0.i"] == "%"
    assert {"type": "HW", "bound": "unknown", "operations": "1000", "max_cycles": "150"} in found.notes


def test_what_takes_no_time() -> None:
    silent = NetworkEstimate("net", (), (EpochEstimate(1, "SW"),))
    with pytest.raises(NeuralArtError, match="nothing tells how long an epoch takes"):
        trace_of([(silent, None)], 1e9)
    (measured,) = parse_counter_log(log(LOGGED).encode(), "x.log")
    with pytest.raises(NeuralArtError, match=r"x\.log: no time without the clock of the CPU"):
        trace_of([(silent, join(measured, None, Clocks()))], 1e9)


def test_large_numbers_and_names() -> None:
    name = "Ü" * 200
    epochs = (EpochEstimate(1, "HW", (name,), max_cycles=1 << 50), EpochEstimate(2, "HW", max_cycles=3))
    found = Tracks(trace_of([(NetworkEstimate("net", (), epochs), None)], 1e9))
    first, second = found.slices["net: estimate"]
    assert first == (f"1 {name}", 0, 1 << 50) and second == ("2", 1 << 50, (1 << 50) + 3)
