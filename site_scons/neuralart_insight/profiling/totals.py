"""Figures of merit, and an estimate as a whole: sums, records for programs and tables for people.

Every count of cycles has a clock domain. The formulas are those of the vendor's profiler, found out from its published
figures; where it mixes clocks or cuts digits, the name says so. Clocks are in hertz. KB, MB and GB are powers of 1000,
as everywhere in the vendor's tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from neuralart_insight.profiling.cost import cost_model
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate, PoolAccess, known_sum, traffic_of

GIGA = 1e9
HEADS = ("epoch", "type", "ops", "compute cycles", "max_cycles", "GOPS", "ideal", "bound", "operators", "mem accesses")


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where a number is missing or the divisor is zero."""
    return part / whole if part is not None and whole else None


def gops(operations: float | None, cycles: float | None, clock: float | None) -> float | None:
    """Giga operations a second. The vendor's profiler prints it as "ops/cycle": the same at 1 GHz only."""
    return ratio(None if operations is None else (clock or 0) * operations / GIGA, cycles)


def bandwidth(count: float, cycles: float | None, clock: float | None) -> float | None:
    """Bytes a second, of bytes in cycles of a clock in hertz: the NPU's for ST's peak, the CPU's for its average."""
    return ratio(count * (clock or 0), cycles)


def in_words(bytes_per_second: float | None) -> str:
    """``2.40 GB/s``, ``133.60 MB/s``."""
    if bytes_per_second is None:
        return "-"
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3)):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.2f} {unit}"
    return f"{bytes_per_second:.2f} B/s"


def _peak(epochs: tuple[EpochEstimate, ...], name: str | None, npu_hz: float) -> float | None:
    """Highest bandwidth of an epoch over a pool, or over all pools together, in bytes a second."""
    found = []
    for epoch in epochs:
        chosen = [access.bytes for pool, access in epoch.pools.items() if name in (None, pool)]
        speed = bandwidth(sum(chosen), epoch.max_cycles or 0, npu_hz)
        found += [speed] if speed is not None else []
    return max(found, default=None)


def pool_record(access: PoolAccess, peak: float | None, average: float | None) -> dict[str, Any]:
    """Traffic over a pool for programs: bytes, and bytes a second."""
    speeds = {"peak_bytes_per_second": peak, "average_bytes_per_second": average}
    return {"read": access.read, "written": access.written, **speeds}


def pool_lines(pools: Mapping[str, Mapping[str, Any]], width: int) -> list[str]:
    """A line for each record of a pool, in the words of the vendor's profiler."""
    lines = []
    for name, pool in pools.items():
        peak, average = (in_words(pool[f"{key}_bytes_per_second"]) for key in ("peak", "average"))
        moved = f"r={pool['read']} w={pool['written']}"
        lines.append(f"{name:<{width}} : {moved} -> {peak} (peak), {average} (average)")
    return lines


def totals_of(estimate: NetworkEstimate, npu_hz: float) -> dict[str, Any]:
    """Sums of an estimate for programs; None where an addend is not known for any epoch."""
    epochs = estimate.epochs
    keys = ("operations", "compute_cycles", "max_cycles")
    operations, compute, most = (known_sum(epochs, key) for key in keys)
    pools = traffic_of(epochs)
    moved = sum(access.bytes for access in pools.values())
    return {
        "epochs": len(epochs),
        "types": dict(sorted(Counter(epoch.type for epoch in epochs).items())),
        "operations": operations,
        "compute_cycles": compute,
        "max_cycles": most,
        "operations_per_cycle": ratio(operations, most),
        "ideal_operations_per_cycle": ratio(operations, compute),
        "gops": gops(operations, most, npu_hz),
        "inferences_per_second": ratio(npu_hz, most),
        "ideal_inferences_per_second": ratio(npu_hz, compute),
        "estimated_instructions": known_sum(epochs, "estimated_instructions"),
        "pools": {
            name: pool_record(access, _peak(epochs, name, npu_hz), bandwidth(access.bytes, most, npu_hz))
            for name, access in pools.items()
        },
        "peak_bytes_per_second": _peak(epochs, None, npu_hz),
        "average_bytes_per_second": bandwidth(moved, most, npu_hz),
    }


def to_record(estimate: NetworkEstimate, npu_hz: float) -> dict[str, Any]:
    """An estimate for programs (docs/reference/profile.md has the schema)."""
    totals = totals_of(estimate, npu_hz)
    known = totals["estimated_instructions"] is not None
    return {
        "kind": "neuralart-profile",
        "schema": 1,
        "name": estimate.name,
        "sources": list(estimate.source),
        "missing": list(estimate.missing),
        "clocks": {"npu_hz": npu_hz},
        "cost_model": cost_model().record() if known else None,
        "epochs": [
            {
                **{key: value for key, value in vars(epoch).items() if key not in ("writes", "streams")},
                "operators": list(epoch.operators),
                "units": list(epoch.units),
                "pools": {name: {"read": each.read, "written": each.written} for name, each in epoch.pools.items()},
            }
            for epoch in estimate.epochs
        ],
        "totals": totals,
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


def _instructions(estimate: NetworkEstimate, found: Mapping[str, Any]) -> list[str]:
    """Lines about the software epochs that the cost model knows, with its error."""
    if found["estimated_instructions"] is None:
        return []
    model, known = cost_model(), sum(epoch.estimated_instructions is not None for epoch in estimate.epochs)
    how = f"estimate for {known} of {found['types']['SW']} software epochs: {model.core}; no cycles"
    off = f"{100 * model.error:.0f} %, nine of ten epochs by up to {100 * model.epoch_error:.0f} %"
    return [
        f"instructions : {found['estimated_instructions']:,} ({how})",
        f"their error  : with one of {len(model.models)} networks left out, its sum is off by up to {off}",
    ]


def summary(estimate: NetworkEstimate, npu_hz: float) -> list[str]:
    """Lines about the network as a whole, in the words of the vendor's profiler."""
    found = totals_of(estimate, npu_hz)
    types = ", ".join(f"{count} {name}" for name, count in found["types"].items())
    lines = [f"epochs       : {found['epochs']} ({types})"] if types else ["epochs       : none"]
    if found["max_cycles"] and found["compute_cycles"] is not None and found["operations"] is not None:
        # The vendor's profiler cuts off the digits of operations per cycle.
        rate, ideal_rate = (
            None if found[key] is None else int(found[key])
            for key in ("operations_per_cycle", "ideal_operations_per_cycle")
        )
        ideal = found["ideal_inferences_per_second"]
        lines += [
            f"cycles       : {found['max_cycles']} (total max_cycles, NPU clock)",
            f"ideal cycles : {found['compute_cycles']} (total compute_cycles, NPU clock)",
            f"ops          : {found['operations']}",
            f"ops/cycle    : {rate} (ideal {ideal_rate})",
            f"inf/s        : {found['inferences_per_second']:.1f} at {npu_hz / 1e6:g} MHz (ideal "
            + (f"{ideal:.1f})" if ideal else "-)"),
            f"GOPS         : {found['gops']:.1f}",
        ]
        if software := found["types"].get("SW"):
            lines.append(f"note         : the time of {software} software epochs is in no estimate")
    pools = found["pools"]
    whole = {key: sum(pool[key] for pool in pools.values()) for key in ("read", "written")}
    total = {"total": {**found, **whole}} if any(whole.values()) else {}
    lines += pool_lines({**pools, **total}, 12)
    return lines + _instructions(estimate, found) + [f"missing      : {text}" for text in estimate.missing]
