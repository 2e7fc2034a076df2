"""A measurement put beside the estimate of the same build; that of another build is refused with what differs first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart_insight.profiling.estimate import (
    UNKNOWN,
    EpochEstimate,
    NetworkEstimate,
    PoolAccess,
    known_sum,
    traffic_of,
)
from neuralart_insight.profiling.measured import (
    Clocks,
    MeasuredEpoch,
    MeasuredTensor,
    NetworkMeasurement,
    Phases,
    milliseconds,
)

# Logs print nine decimals of a scale.
_SCALE = 1e-5
# A memory of an STM32N6 has a secure and a non-secure address, which differ in this bit.
_ALIAS = 0x10000000


@dataclass(frozen=True)
class ProfiledEpoch:
    """An epoch, or a blob with its epochs, as it was measured and as the compiler expected it."""

    measured: MeasuredEpoch
    expected: tuple[EpochEstimate, ...] = ()  # Empty without an estimate

    def sum_of(self, key: str) -> int | None:
        """``operations``, ``compute_cycles`` or ``max_cycles`` of its epochs; None where none of them tells."""
        return known_sum(self.expected, key)

    @property
    def pools(self) -> dict[str, PoolAccess]:
        """Expected traffic by pool."""
        return traffic_of(self.expected)

    def pools_of(self, direction: str, engine: int) -> tuple[str, ...]:
        """Pools that a stream engine moves data of; empty if nothing tells them."""
        return tuple(dict.fromkeys(n for each in self.expected for n in each.streams.get((direction, engine), ())))

    @property
    def operators(self) -> tuple[str, ...]:
        """Kinds of operators in it."""
        return tuple(name for epoch in self.expected for name in epoch.operators)


@dataclass(frozen=True)
class ProfiledNetwork:
    """A measurement with what is known of its build."""

    measurement: NetworkMeasurement
    clocks: Clocks
    epochs: tuple[ProfiledEpoch, ...]  # In order of execution
    estimate: NetworkEstimate | None = None
    notes: tuple[str, ...] = ()  # What could not be compared

    @cached_property
    def whole_ms(self) -> float:
        """All epochs together; 0 if the clock of the CPU is not known."""
        return sum(self.milliseconds(each.measured) or 0.0 for each in self.epochs)

    def milliseconds(self, epoch: MeasuredEpoch) -> float | None:
        """How long an epoch took; None if the clock of the CPU is not known."""
        return milliseconds(epoch.mcu.total if epoch.mcu is not None else None, self.clocks.mcu)


def _tensors(side: str, told: Sequence[MeasuredTensor], ours: Sequence[Port]) -> Iterator[str]:
    if len(told) != len(ours):
        yield f"{len(told)} {side}s were measured, the compile has {len(ours)}"
    for number, (one, other) in enumerate(zip(told, ours, strict=False)):
        what = f"{side} {number}"
        shapes = [[size for size in shape if size != 1] for shape in (one.shape, other.shape)]
        pairs = [
            ("is called", one.name, other.name, one.name != other.name),
            ("has the type", one.dtype, other.dtype, bool(other.dtype) and one.dtype != other.dtype),
            ("has the shape", list(one.shape), list(other.shape), shapes[0] != shapes[1]),
            ("has the scale", one.scale, other.scale, not math.isclose(one.scale, other.scale, rel_tol=_SCALE)),
            ("has the zero point", one.zero_point, other.zero_point, one.zero_point != other.zero_point),
        ]
        if one.address is not None and other.address and not other.user_allocated:
            differ = bool((one.address ^ other.address) & ~_ALIAS)
            pairs.append(("is at", f"0x{one.address:08x}", f"0x{other.address:08x}", differ))
        yield from (f"{what} {word} {left}, in the compile {right}" for word, left, right, differ in pairs if differ)


def _epochs(found: Sequence[ProfiledEpoch], estimate: NetworkEstimate) -> Iterator[str]:
    for epoch in found:
        one = epoch.measured
        if not epoch.expected:
            yield f"{one.name} ({one.kind}) was measured, the compile has no such epoch"
        for other in epoch.expected:
            if other.type not in (one.kind, "NONE", UNKNOWN):
                yield f"{one.name} is {one.kind}, in the compile epoch {other.id} is {other.type}"
    seen = {epoch.id for one in found for epoch in one.expected}
    for each in estimate.epochs:
        if each.id not in seen and (each.max_cycles or each.operations):
            yield f"epoch {each.id} ({each.type}) of the compile was not measured"


def join(measurement: NetworkMeasurement, estimate: NetworkEstimate | None, clocks: Clocks) -> ProfiledNetwork:
    """Put both together. NeuralArtError: the measurement is of another build."""
    if estimate is None or not estimate.epochs:
        return ProfiledNetwork(measurement, clocks, tuple(map(ProfiledEpoch, measurement.epochs)))
    found = tuple(
        ProfiledEpoch(one, tuple(epoch for epoch in estimate.epochs if one.first <= epoch.id <= one.last))
        for one in measurement.epochs
    )
    notes = []
    differences: list[str] = []
    sides = ("input", measurement.inputs, estimate.inputs), ("output", measurement.outputs, estimate.outputs)
    for side, told, ours in sides:
        if told and ours:
            differences += _tensors(side, told, ours)
        else:
            teller = "the log" if not told else "the compile"
            notes.append(f"{teller} does not tell the {side}s: epochs alone say that both are of one build")
    differences += _epochs(found, estimate)
    if differences:
        more = f" (and {len(differences) - 1} more differences)" if len(differences) > 1 else ""
        what = f"the measurement is of another build than {', '.join(estimate.source)}: {differences[0]}{more}"
        raise NeuralArtError(what, where=measurement.source, hint="-c names the compile that was measured")
    return ProfiledNetwork(measurement, clocks, found, estimate, tuple(notes))


def beside(network: ProfiledNetwork, main: NetworkEstimate) -> ProfiledNetwork:
    """A measurement of the pair for profiling beside the main compile: epochs with the same operators that write the
    same buffers. What only one of both has is noted; such a measured epoch keeps the estimate of its own compile.
    NeuralArtError: no epoch of both is the same.
    """
    known: dict[object, list[EpochEstimate]] = {}
    for epoch in main.epochs:
        known.setdefault((epoch.operators, epoch.writes), []).append(epoch)
    found, lost = [], []
    for each in network.epochs:
        queues = [known.get((epoch.operators, epoch.writes), []) for epoch in each.expected]
        same = tuple(queue.pop(0) for queue in queues if queue)
        found.append(replace(each, expected=same) if same else each)
        lost += [] if same else [each.measured.name]
    if len(lost) == len(found):
        what = "no epoch of the measured compile has the operators and buffers of one of this compile"
        raise NeuralArtError(what, where=", ".join(main.source), hint="--pair names a compile of the same model")
    alone = [str(epoch.id) for queue in known.values() for epoch in queue if epoch.max_cycles or epoch.operations]
    notes = [f"in the measured compile alone, with its own estimate: {', '.join(lost)}"] if lost else []
    notes += [f"epochs of the main compile that were not measured: {', '.join(alone)}"] if alone else []
    return replace(network, epochs=tuple(found), estimate=main, notes=(*network.notes, *notes))


def of_executions(estimate: NetworkEstimate) -> NetworkMeasurement:
    """The times that a validation on a board wrote into a ``c_info.json``; they have no names, only their order.
    NeuralArtError: there are none, or not as many as epochs and blobs.
    """
    where = estimate.source[0]
    times = estimate.executions
    units: list[tuple[EpochEstimate, ...]] = []
    # A file of results alone has no epochs: their times are numbered then.
    for epoch in estimate.epochs or [EpochEstimate(number, UNKNOWN) for number in range(len(times))]:
        # Without an epoch controller each epoch is measured alone.
        if units and epoch.type == "EC" and units[-1][-1].type == "EC":
            units[-1] += (epoch,)
        else:
            units.append((epoch,))
    if not times:
        what = "no times of a board are in it"
        raise NeuralArtError(what, where=where, hint="stedgeai validate --mode target --val-json writes them")
    if len(times) != len(units):
        what = f"{len(times)} times, but {len(units)} epochs and blobs: which is which is not told"
        raise NeuralArtError(what, where=where, hint="give the log of npu_profiler with -d")
    odd = next((number for number, time in enumerate(times) if len(time.counters) != 3), None)
    if odd is not None:
        raise NeuralArtError(f"time {odd} has {len(times[odd].counters)} counters, not 3", where=where)
    epochs = tuple(
        MeasuredEpoch(unit[0].id, unit[-1].id, unit[0].type, Phases(*time.counters))
        for unit, time in zip(units, times, strict=True)
    )
    took = sum(time.duration_ms for time in times)
    hertz = round(sum(time.cycles for time in times) / took * 1e-3) * 1_000_000 if took > 0 else None
    missing = ("no cycles of the NPU and no counters: npu_profiler --debug tells them",)
    how = "aton_execution_time"
    return NetworkMeasurement(estimate.name, where, how, Clocks(hertz), epochs, device=estimate.device, missing=missing)
