"""An estimate as a whole: sums, figures of merit, records for programs and tables for people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from neuralart.profiling import formulas
from neuralart.profiling.estimate import EpochEstimate, NetworkEstimate, PoolAccess, traffic_of


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
    software: int  # Epochs whose time the estimate leaves out


def _sum(epochs: tuple[EpochEstimate, ...], key: str) -> int | None:
    known = [value for epoch in epochs if (value := getattr(epoch, key)) is not None]
    return sum(known) if known else None


def totals_of(estimate: NetworkEstimate, npu_hz: float) -> EstimateTotals:
    """Add up an estimate."""
    epochs = estimate.epochs
    compute, most = _sum(epochs, "compute_cycles"), _sum(epochs, "max_cycles")
    types = Counter(epoch.type for epoch in epochs)
    return EstimateTotals(
        epochs=len(epochs),
        types=dict(sorted(types.items())),
        operations=_sum(epochs, "operations"),
        compute_cycles=compute,
        max_cycles=most,
        inferences_per_second=formulas.per_second(most or 0, npu_hz),
        ideal_inferences_per_second=formulas.per_second(compute or 0, npu_hz),
        pools=traffic_of(epochs),
        software=types["SW"],
    )


def _peak(epochs: tuple[EpochEstimate, ...], name: str | None, npu_hz: float) -> float | None:
    """Highest bandwidth of an epoch over a pool, or over all pools together, in bytes a second."""
    found = []
    for epoch in epochs:
        chosen = [access.bytes for pool, access in epoch.pools.items() if name in (None, pool)]
        speed = formulas.bandwidth(sum(chosen), epoch.max_cycles or 0, npu_hz)
        found += [speed] if speed is not None else []
    return max(found, default=None)


def to_record(estimate: NetworkEstimate, npu_hz: float) -> dict[str, Any]:
    """An estimate for programs (docs/reference/profile.md has the schema)."""
    totals = totals_of(estimate, npu_hz)
    most = totals.max_cycles or 0
    pools: dict[str, dict[str, Any]] = {}
    for name, access in totals.pools.items():
        pools[name] = {
            "read": access.read,
            "written": access.written,
            "peak_bytes_per_second": _peak(estimate.epochs, name, npu_hz),
            "average_bytes_per_second": formulas.bandwidth(access.bytes, most, npu_hz),
        }
    moved = sum(access.bytes for access in totals.pools.values())
    return {
        "kind": "neuralart-profile",
        "schema": 1,
        "name": estimate.name,
        "sources": list(estimate.source),
        "missing": list(estimate.missing),
        "clocks": {"npu_hz": npu_hz},
        "epochs": [
            {
                "id": epoch.id,
                "type": epoch.type,
                "operators": list(epoch.operators),
                "units": list(epoch.units),
                "operations": epoch.operations,
                "compute_cycles": epoch.compute_cycles,
                "max_cycles": epoch.max_cycles,
                "bound": epoch.bound,
                "pools": {
                    name: {"read": access.read, "written": access.written} for name, access in epoch.pools.items()
                },
            }
            for epoch in estimate.epochs
        ],
        "totals": {
            "epochs": totals.epochs,
            "types": totals.types,
            "operations": totals.operations,
            "compute_cycles": totals.compute_cycles,
            "max_cycles": totals.max_cycles,
            "operations_per_cycle": formulas.ratio(totals.operations, totals.max_cycles),
            "ideal_operations_per_cycle": formulas.ratio(totals.operations, totals.compute_cycles),
            "inferences_per_second": totals.inferences_per_second,
            "ideal_inferences_per_second": totals.ideal_inferences_per_second,
            "pools": pools,
            "peak_bytes_per_second": _peak(estimate.epochs, None, npu_hz),
            "average_bytes_per_second": formulas.bandwidth(moved, most, npu_hz),
        },
    }


def _row(epoch: EpochEstimate, npu_hz: float) -> list[Any]:
    speeds = [
        None if cycles is None or epoch.operations is None else formulas.gops(epoch.operations, cycles, npu_hz)
        for cycles in (epoch.max_cycles, epoch.compute_cycles)
    ]
    shown = ["-" if speed is None else f"{speed:.1f}" for speed in speeds]
    moved = " ".join(f"[{name}: r={access.read}, w={access.written}]" for name, access in epoch.pools.items())
    operators = Counter(epoch.operators)
    words = ", ".join(name if count == 1 else f"{count} {name}" for name, count in operators.items())
    cycles = (epoch.operations, epoch.compute_cycles, epoch.max_cycles)
    return [epoch.id, epoch.type, *cycles, *shown, epoch.bound, words or "-", moved or "-"]


HEADS = ("epoch", "type", "ops", "compute cycles", "max_cycles", "GOPS", "ideal", "bound", "operators", "mem accesses")


def rows(estimate: NetworkEstimate, npu_hz: float) -> list[list[Any]]:
    """A row per epoch for people, under :data:`HEADS`; GOPS are those at the clock that was asked for."""
    return [_row(epoch, npu_hz) for epoch in estimate.epochs]


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
            f"ops/cycle    : {formulas.whole_operations_per_cycle(found.operations, found.max_cycles)} "
            f"(ideal {formulas.whole_operations_per_cycle(found.operations, found.compute_cycles)})",
            f"inf/s        : {found.inferences_per_second:.1f} at {npu_hz / 1e6:g} MHz (ideal "
            + (f"{found.ideal_inferences_per_second:.1f})" if found.ideal_inferences_per_second else "-)"),
        ]
        if found.software:
            lines.append(f"note         : the time of {found.software} software epochs is in no estimate")
    for name, access in found.pools.items():
        peak = formulas.in_words(_peak(estimate.epochs, name, npu_hz))
        average = formulas.in_words(formulas.bandwidth(access.bytes, found.max_cycles or 0, npu_hz))
        lines.append(f"{name:<12} : r={access.read} w={access.written} -> {peak} (peak), {average} (average)")
    moved = sum(access.bytes for access in found.pools.values())
    if moved:
        read = sum(access.read for access in found.pools.values())
        peak = formulas.in_words(_peak(estimate.epochs, None, npu_hz))
        average = formulas.in_words(formulas.bandwidth(moved, found.max_cycles or 0, npu_hz))
        lines.append(f"{'total':<12} : r={read} w={moved - read} -> {peak} (peak), {average} (average)")
    return lines + [f"missing      : {text}" for text in estimate.missing]
