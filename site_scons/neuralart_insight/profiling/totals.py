"""Figures of merit, and an estimate as a whole: sums, records for programs and tables for people.

Every count of cycles has a clock domain. The formulas are those of the vendor's profiler, found out from its published
figures; where it mixes clocks or cuts digits, the name says so. Clocks are in hertz. KB, MB and GB are powers of 1000,
as everywhere in the vendor's tools.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from neuralart_insight.profiling.cost import cost_model
from neuralart_insight.profiling.estimate import (
    EpochEstimate,
    NetworkEstimate,
    PoolAccess,
    known_sum,
    traffic_of,
)

GIGA = 1e9
HEADS = ("epoch", "type", "ops", "compute cycles", "max_cycles", "GOPS", "ideal", "bound", "operators", "mem accesses")


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where a number is missing or the divisor is zero."""
    return part / whole if part is not None and whole else None


def gops(operations: float | None, cycles: float | None, clock: float) -> float | None:
    """Giga operations a second. The vendor's profiler prints it as "ops/cycle": the same at 1 GHz only."""
    return ratio(None if operations is None else clock * operations / GIGA, cycles)


def whole_operations_per_cycle(operations: float, cycles: float) -> int | None:
    """Operations per cycle without its digits, as the vendor prints it for a whole network."""
    found = ratio(operations, cycles)
    return None if found is None else int(found)


def per_second(cycles: float, clock: float) -> float | None:
    """Inferences a second."""
    return ratio(clock, cycles)


def bandwidth(count: float, cycles: float, clock: float) -> float | None:
    """Bytes a second, of bytes in cycles of a clock in hertz: the NPU's for ST's peak, the CPU's for its average."""
    return ratio(count * clock, cycles)


def in_words(bytes_per_second: float | None) -> str:
    """``2.40 GB/s``, ``133.60 MB/s``."""
    if bytes_per_second is None:
        return "-"
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3)):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.2f} {unit}"
    return f"{bytes_per_second:.2f} B/s"


@dataclass(frozen=True)
class EstimateTotals:
    """Sums of an estimate; None where an addend is not known for any epoch."""

    epochs: int  # Number of epochs
    types: dict[str, int]  # Number of epochs of each type
    operations: int | None  # Arithmetic operations
    compute_cycles: int | None  # NPU cycles ("ideal")
    max_cycles: int | None  # NPU cycles
    inferences_per_second: float | None  # By ``max_cycles``
    ideal_inferences_per_second: float | None  # By ``compute_cycles``
    pools: dict[str, PoolAccess]  # Traffic of each pool
    estimated_instructions: int | None  # Of the software epochs that the cost model knows
    software: int  # Epochs whose time the estimate leaves out


def totals_of(estimate: NetworkEstimate, npu_hz: float) -> EstimateTotals:
    """Add up an estimate."""
    epochs = estimate.epochs
    compute, most = known_sum(epochs, "compute_cycles"), known_sum(epochs, "max_cycles")
    types = Counter(epoch.type for epoch in epochs)
    return EstimateTotals(
        epochs=len(epochs),
        types=dict(sorted(types.items())),
        operations=known_sum(epochs, "operations"),
        compute_cycles=compute,
        max_cycles=most,
        inferences_per_second=per_second(most or 0, npu_hz),
        ideal_inferences_per_second=per_second(compute or 0, npu_hz),
        pools=traffic_of(epochs),
        estimated_instructions=known_sum(epochs, "estimated_instructions"),
        software=types["SW"],
    )


def _peak(epochs: tuple[EpochEstimate, ...], name: str | None, npu_hz: float) -> float | None:
    """Highest bandwidth of an epoch over a pool, or over all pools together, in bytes a second."""
    found = []
    for epoch in epochs:
        chosen = [access.bytes for pool, access in epoch.pools.items() if name in (None, pool)]
        speed = bandwidth(sum(chosen), epoch.max_cycles or 0, npu_hz)
        found += [speed] if speed is not None else []
    return max(found, default=None)


def to_record(estimate: NetworkEstimate, npu_hz: float) -> dict[str, Any]:
    """An estimate for programs (docs/reference/profile.md has the schema)."""
    totals = totals_of(estimate, npu_hz)
    most = totals.max_cycles or 0
    pools: dict[str, dict[str, Any]] = {}
    for name, access in totals.pools.items():
        peak, average = _peak(estimate.epochs, name, npu_hz), bandwidth(access.bytes, most, npu_hz)
        speeds = {"peak_bytes_per_second": peak, "average_bytes_per_second": average}
        pools[name] = {"read": access.read, "written": access.written, **speeds}
    moved = sum(access.bytes for access in totals.pools.values())
    return {
        "kind": "neuralart-profile",
        "schema": 1,
        "name": estimate.name,
        "sources": list(estimate.source),
        "missing": list(estimate.missing),
        "clocks": {"npu_hz": npu_hz},
        "cost_model": None if totals.estimated_instructions is None else cost_model().record(),
        "epochs": [
            {
                **{key: value for key, value in vars(epoch).items() if key not in ("writes", "streams")},
                "operators": list(epoch.operators),
                "units": list(epoch.units),
                "pools": {name: {"read": each.read, "written": each.written} for name, each in epoch.pools.items()},
            }
            for epoch in estimate.epochs
        ],
        "totals": {
            "epochs": totals.epochs,
            "types": totals.types,
            "operations": totals.operations,
            "compute_cycles": totals.compute_cycles,
            "max_cycles": totals.max_cycles,
            "operations_per_cycle": ratio(totals.operations, totals.max_cycles),
            "ideal_operations_per_cycle": ratio(totals.operations, totals.compute_cycles),
            "gops": gops(totals.operations, most, npu_hz),
            "inferences_per_second": totals.inferences_per_second,
            "ideal_inferences_per_second": totals.ideal_inferences_per_second,
            "estimated_instructions": totals.estimated_instructions,
            "pools": pools,
            "peak_bytes_per_second": _peak(estimate.epochs, None, npu_hz),
            "average_bytes_per_second": bandwidth(moved, most, npu_hz),
        },
    }


def _row(epoch: EpochEstimate, npu_hz: float) -> list[Any]:
    speeds = [gops(epoch.operations, cycles, npu_hz) for cycles in (epoch.max_cycles, epoch.compute_cycles)]
    shown = ["-" if speed is None else f"{speed:.1f}" for speed in speeds]
    moved = " ".join(f"[{name}: r={access.read}, w={access.written}]" for name, access in epoch.pools.items())
    operators = Counter(epoch.operators)
    words = ", ".join(name if count == 1 else f"{count} {name}" for name, count in operators.items())
    cycles = (epoch.operations, epoch.compute_cycles, epoch.max_cycles)
    return [epoch.id, epoch.type, *cycles, *shown, epoch.bound, words or "-", moved or "-"]


def epoch_table(estimate: NetworkEstimate, npu_hz: float) -> tuple[tuple[str, ...], list[list[Any]]]:
    """Heads, and a row per epoch for people; GOPS are those at the clock that was asked for."""
    found = [_row(epoch, npu_hz) for epoch in estimate.epochs]
    costs = [epoch.estimated_instructions for epoch in estimate.epochs]
    if all(cost is None for cost in costs):
        return HEADS, found
    return (*HEADS, "estimated instructions"), [[*row, cost] for row, cost in zip(found, costs, strict=True)]


def _instructions(estimate: NetworkEstimate, found: EstimateTotals) -> list[str]:
    """Lines about the software epochs that the cost model knows, with its error."""
    if found.estimated_instructions is None:
        return []
    model, known = cost_model(), sum(epoch.estimated_instructions is not None for epoch in estimate.epochs)
    how = f"estimate for {known} of {found.software} software epochs: {model.core}; no cycles"
    off = f"{100 * model.error:.0f} %, nine of ten epochs by up to {100 * model.epoch_error:.0f} %"
    return [
        f"instructions : {found.estimated_instructions:,} ({how})",
        f"their error  : with one of {len(model.models)} networks left out, its sum is off by up to {off}",
    ]


def summary(estimate: NetworkEstimate, npu_hz: float) -> list[str]:
    """Lines about the network as a whole, in the words of the vendor's profiler."""
    found = totals_of(estimate, npu_hz)
    types = ", ".join(f"{count} {name}" for name, count in found.types.items())
    lines = [f"epochs       : {found.epochs} ({types})"] if found.epochs else ["epochs       : none"]
    if found.max_cycles and found.compute_cycles is not None and found.operations is not None:
        lines += [
            f"cycles       : {found.max_cycles} (total max_cycles, NPU clock)",
            f"ideal cycles : {found.compute_cycles} (total compute_cycles, NPU clock)",
            f"ops          : {found.operations}",
            f"ops/cycle    : {whole_operations_per_cycle(found.operations, found.max_cycles)} "
            f"(ideal {whole_operations_per_cycle(found.operations, found.compute_cycles)})",
            f"inf/s        : {found.inferences_per_second:.1f} at {npu_hz / 1e6:g} MHz (ideal "
            + (f"{found.ideal_inferences_per_second:.1f})" if found.ideal_inferences_per_second else "-)"),
            f"GOPS         : {gops(found.operations, found.max_cycles, npu_hz):.1f}",
        ]
        if found.software:
            lines.append(f"note         : the time of {found.software} software epochs is in no estimate")
    moved = found.pools.values()
    whole = PoolAccess(sum(each.read for each in moved), sum(each.written for each in moved))
    for name, access in {**found.pools, **({"total": whole} if whole.bytes else {})}.items():
        peak = in_words(_peak(estimate.epochs, None if access is whole else name, npu_hz))
        average = in_words(bandwidth(access.bytes, found.max_cycles or 0, npu_hz))
        lines.append(f"{name:<12} : r={access.read} w={access.written} -> {peak} (peak), {average} (average)")
    return lines + _instructions(estimate, found) + [f"missing      : {text}" for text in estimate.missing]
