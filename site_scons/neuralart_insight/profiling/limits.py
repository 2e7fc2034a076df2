"""Does a profile keep to the limits that the project file sets its network?"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.config.types import Budgets
from neuralart_insight.profiling.diff_inputs import NetworkSide, read_profile
from neuralart_insight.profiling.estimate import NetworkEstimate, known_sum, traffic_of
from neuralart_insight.profiling.join import ProfiledNetwork
from neuralart_insight.profiling.measured_report import measured_record
from neuralart_insight.profiling.totals import ratio, totals_of

if TYPE_CHECKING:
    from neuralart_insight.profiling.instructions import InstructionProfile

_COSTLIEST = 3
_CPU = frozenset({"SW", "HYBRID"})
Cost = tuple[float, str]


def broken(
    budgets: Budgets,
    estimate: NetworkEstimate,
    measured: ProfiledNetwork | None,
    npu_hz: float,
    folder: Path,
    count: Callable[[], InstructionProfile] | None = None,
) -> list[str]:
    """A line for each limit that is not kept, or that cannot be checked; ``folder``: where the baseline's path starts.

    Times are those that were measured; without a measurement what the compiler expects stands for them. ``count`` runs
    the network on a virtual board, if a limit is about that.
    NeuralArtError: the baseline is no profile of this network.
    """
    totals, found = totals_of(estimate, npu_hz), []
    expected = [(epoch, f"epoch {epoch.id} ({', '.join(epoch.operators) or epoch.type})") for epoch in estimate.epochs]
    cycles: list[Cost] = [(epoch.max_cycles or 0, text) for epoch, text in expected]
    whole = measured_record(measured)["totals"] if measured is not None else {}
    times: list[Cost] = []
    if measured is not None:
        times = [(measured.milliseconds(each.measured) or 0.0, each.measured.name) for each in measured.epochs]

    def limit(
        key: str, what: str, have: float | None, allowed: float | None, costs: Iterable[Cost], *, least: bool
    ) -> None:
        if allowed is None or (have is not None and (have >= allowed if least else have <= allowed)):
            return
        bound = f"{'wanted' if least else 'allowed'}: {allowed:,.6g}"
        said = "nothing tells it" if have is None else f"{have:,.6g}, {bound}"
        if have is not None:
            most = heapq.nlargest(_COSTLIEST, (cost for cost in costs if cost[0]), key=lambda cost: cost[0])
            words = ", ".join(f"{text} {amount:,.6g}" for amount, text in most)
            said += f"; most of it: {words}" if words else ""
        found.append(f"{budgets.said(key)}: {key}: {what} of network {estimate.name}: {said}")

    limit("max_cycles", "estimated NPU cycles", totals["max_cycles"], budgets.max_cycles, cycles, least=False)
    counted = count() if count is not None and budgets.max_instructions is not None else None
    executed, epochs = (counted.total, counted.epochs) if counted is not None else (None, ())
    costs: list[Cost] = [(each.instructions, f"epoch {each.id} ({', '.join(each.operators)})") for each in epochs]
    what = "instructions of an inference on a virtual board"
    limit("max_instructions", what, executed, budgets.max_instructions, costs, least=False)
    rate = whole.get("inferences_per_second") or totals["inferences_per_second"]
    least = budgets.min_inferences_per_second
    limit("min_inferences_per_second", "inferences per second", rate, least, times or cycles, least=True)
    share = ratio(100 * sum(epoch.type in _CPU for epoch in estimate.epochs), len(estimate.epochs))
    costs = [(1, text) for epoch, text in expected if epoch.type in _CPU]
    if measured is not None and whole["duration_ms"]:
        pairs = zip(times, measured.epochs, strict=True)
        costs = [cost for cost, each in pairs if each.measured.kind in _CPU]
        share = 100 * sum(amount for amount, _ in costs) / whole["duration_ms"]
    what = "per cent of the time" if measured is not None else "per cent of the epochs"
    limit("max_sw_share", f"{what} that the CPU computes", share, budgets.max_sw_share, costs, least=False)
    traffic = traffic_of(estimate.epochs)
    for pool, allowed in budgets.max_bytes:
        moved = [(epoch.pools[pool].bytes, text) for epoch, text in expected if pool in epoch.pools]
        have = traffic[pool].bytes if pool in traffic else 0 if traffic else None
        limit(f"max_bytes.{pool}", f"bytes over {pool} in an inference", have, allowed, moved, least=False)
    if budgets.baseline:
        before = read_profile(folder / budgets.baseline, estimate.name)
        grown = 1.0 + (budgets.tolerance or 0.0) / 100.0
        for what, was, now, who in _figures(before, estimate, whole.get("duration_ms"), cycles, times):
            if was is not None:
                limit("baseline", what, now, was * grown, who, least=False)
    return found


Figure = tuple[str, float | None, float | None, Sequence[Cost]]


def _figures(
    before: NetworkSide, estimate: NetworkEstimate, now_ms: float | None, cycles: Sequence[Cost], times: Sequence[Cost]
) -> list[Figure]:
    """What is compared with the baseline: its name, its value then and now, and who makes it."""
    was, now = (known_sum(side.epochs, "max_cycles") for side in (before, estimate))
    figures: list[Figure] = [("estimated NPU cycles", was, now, cycles)]
    if now_ms is not None:
        figures.append(("measured milliseconds", before.duration_ms, now_ms, times))
    sides = traffic_of(before.epochs), traffic_of(estimate.epochs)
    for pool in sorted({*sides[0], *sides[1]}):
        one, other = (side[pool].bytes if pool in side else 0 for side in sides)
        figures.append((f"bytes over {pool} in an inference", one, other, ()))
    return figures
