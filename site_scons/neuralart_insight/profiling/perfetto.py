"""A profile as a trace for ui.perfetto.dev: what is expected and what was measured as slices, traffic as counters. The
format is that of Perfetto's ``trace.proto`` (protocol buffers), of which few fields are needed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from neuralart.errors import NeuralArtError
from neuralart_insight.profiling.estimate import NetworkEstimate
from neuralart_insight.profiling.join import ProfiledNetwork
from neuralart_insight.profiling.measured import milliseconds
from neuralart_insight.profiling.totals import bandwidth
from neuralart_virtual.validation_link.messages import varint

# Numbers of fields: Trace, TracePacket, TrackDescriptor, CounterDescriptor, TrackEvent, DebugAnnotation.
_PACKET = 1
_TIME, _SEQUENCE, _EVENT, _DESCRIPTOR = 8, 10, 11, 60
_UUID, _NAME, _PARENT, _COUNTER = 1, 2, 5, 8
_UNIT = 6
_NOTE, _TYPE, _TRACK, _TITLE, _VALUE = 4, 9, 11, 23, 44
_KEY, _TEXT = 10, 6
_BEGIN, _END, _COUNT = 1, 2, 4
Field = tuple[int, int | float | str | bytes]


def _message(*fields: Field) -> bytes:
    out = b""
    for number, value in fields:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
        elif isinstance(value, float):
            out += varint(number << 3 | 1) + struct.pack("<d", value)
        else:
            data = value.encode() if isinstance(value, str) else value
            out += varint(number << 3 | 2) + varint(len(data)) + data
    return out


class _Trace:
    """Packets in the order in which they are made."""

    def __init__(self) -> None:
        self.data = b""
        self._tracks = 0

    def _packet(self, *fields: Field) -> None:
        self.data += _message((_PACKET, _message(*fields, (_SEQUENCE, 1))))

    def track(self, name: str, parent: int = 0, unit: str = "") -> int:
        """A track, or with a unit a counter."""
        self._tracks += 1
        fields: list[Field] = [(_UUID, self._tracks), (_NAME, name)]
        fields += [(_PARENT, parent)] if parent else []
        fields += [(_COUNTER, _message((_UNIT, unit)))] if unit else []
        self._packet((_DESCRIPTOR, _message(*fields)))
        return self._tracks

    def _event(self, at: float, *fields: Field) -> None:
        self._packet((_TIME, round(at)), (_EVENT, _message(*fields)))

    def slice(self, track: int, start: float, end: float, name: str, notes: Mapping[str, object] | None = None) -> None:
        """From nanosecond to nanosecond."""
        told = ((_NOTE, _message((_KEY, key), (_TEXT, str(value)))) for key, value in (notes or {}).items())
        self._event(start, (_TYPE, _BEGIN), (_TRACK, track), (_TITLE, name), *told)
        self._event(end, (_TYPE, _END), (_TRACK, track))

    def level(self, track: int, start: float, end: float, value: float) -> None:
        """A counter has a value for a time, and is 0 behind it."""
        for at, held in ((start, value), (end, 0.0)):
            self._event(at, (_TYPE, _COUNT), (_TRACK, track), (_VALUE, held))


def _estimate(trace: _Trace, network: NetworkEstimate, npu_hz: float) -> None:
    track = trace.track(f"{network.name or 'network'}: estimate")
    pools: dict[str, int] = {}
    now = 0.0
    for epoch in network.epochs:
        cycles = epoch.max_cycles or 0
        end = now + 1e9 * cycles / npu_hz
        notes = {"type": epoch.type, "bound": epoch.bound, "operations": epoch.operations, "max_cycles": cycles}
        trace.slice(track, now, end, f"{epoch.id} {', '.join(epoch.operators)}".strip(), notes)
        for pool, access in epoch.pools.items():
            if (speed := bandwidth(access.bytes, cycles, npu_hz)) is not None:
                pools[pool] = pools.get(pool) or trace.track(pool, track, "GB/s")
                trace.level(pools[pool], now, end, speed / 1e9)
        now = end


def _measured(trace: _Trace, network: ProfiledNetwork) -> None:
    found = network.measurement
    if not network.clocks.mcu:
        raise NeuralArtError("no time without the clock of the CPU", where=found.source, hint="--cpu-mhz MHZ")
    track = trace.track(f"{found.name or 'network'}: measured")
    phases = trace.track("phases", track)
    counters: dict[tuple[str, str], int] = {}
    now = 0.0
    for each in network.epochs:
        one = each.measured
        ends = [now]
        for part in ("pre", "core", "post"):
            took = milliseconds(getattr(one.mcu, part, 0) or 0, network.clocks.mcu) or 0.0
            ends.append(ends[-1] + 1e6 * took)
            trace.slice(phases, ends[-2], ends[-1], part)
        notes = {"type": one.kind, "operators": ", ".join(each.operators), "max_cycles": each.sum_of("max_cycles")}
        trace.slice(track, now, ends[-1], one.name, {**notes, "NPU cycles": one.npu, "NPU cache": one.cache})
        core = one.npu.core if one.npu is not None else 0
        moved = {(f"bus {port}", "GB/s"): sum(bus.bytes) for port, bus in one.ports.items()}
        moved |= {(pool, "GB/s"): access.bytes for pool, access in each.pools.items()}
        values = {key: (bandwidth(count, core, network.clocks.npu or 0) or 0.0) / 1e9 for key, count in moved.items()}
        values |= {(f"STRENG.{s.engine}.{s.direction}", "%"): 100 * s.cycles / core for s in one.streams if core}
        for key, value in values.items():
            counters[key] = counters.get(key) or trace.track(key[0], track, key[1])
            trace.level(counters[key], ends[1], ends[2], value)
        now = ends[-1]


def trace_of(pairs: Sequence[tuple[NetworkEstimate, ProfiledNetwork | None]], npu_hz: float) -> bytes:
    """A trace of networks, each from time 0. NeuralArtError: nothing in them takes time, or its clock is not known."""
    trace = _Trace()
    drawn = False
    for estimate, measured in pairs:
        if any(epoch.max_cycles for epoch in estimate.epochs):
            _estimate(trace, estimate, npu_hz)
            drawn = True
        if measured is not None:
            _measured(trace, measured)
            drawn = True
    if not drawn:
        hint = "a compile with estimates, or -d LOG"
        raise NeuralArtError("nothing tells how long an epoch takes", where="--perfetto", hint=hint)
    return trace.data
