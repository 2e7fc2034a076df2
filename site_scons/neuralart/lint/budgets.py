"""Does a network keep to the limits that the project file sets it?"""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.config.types import Budgets
from neuralart.errors import nearest
from neuralart.lint.engine import BUDGET
from neuralart.lint.types import ERROR, WARNING, LintFinding
from neuralart.network.facts import Network, PoolUse
from neuralart.vendor.c_info.types import CInfo


def offload(network: Network) -> float:
    """Per cent of a network's epochs that the NPU computes alone, by itself or under the epoch controller.

    An epoch that CPU and NPU share does not count as offloaded; a network without epochs is 0 % offloaded.
    """
    alone = sum(epoch.kind in ("HW", "EC") for epoch in network.epochs)
    return 100.0 * alone / len(network.epochs) if network.epochs else 0.0


def _real(network: Network) -> list[PoolUse]:
    return [pool for pool in network.pools if not pool.virtual]


def _limit(budgets: Budgets, key: str, have: int, what: str) -> Iterator[LintFinding]:
    limit = getattr(budgets, key)
    if limit is not None and have > limit:
        yield _finding(budgets, key, f"{what}: {have}, allowed: {limit}")


def _finding(budgets: Budgets, key: str, message: str, level: str = ERROR, hint: str = "") -> LintFinding:
    return LintFinding(BUDGET, level, budgets.said(key), f"{key}: {message}", hint)


def _pools(network: Network, budgets: Budgets) -> Iterator[LintFinding]:
    for name in budgets.forbidden_pools:
        meant = [pool for pool in network.pools if name in (pool.fname, pool.name)]
        for pool in meant:
            if pool.used or pool.weights or pool.activations:
                yield _finding(
                    budgets,
                    "forbidden_pools",
                    f"network {network.name} uses {pool.used} bytes of {pool.name} ({pool.fname}): "
                    f"{pool.weights} of constants, {pool.activations} of activations",
                    hint="give the pool size 0 in the pool file, or make the model smaller",
                )
        if not meant:
            known = sorted({each for pool in network.pools for each in (pool.fname, pool.name)})
            yield _finding(
                budgets,
                "forbidden_pools",
                f"network {network.name} has no pool '{name}'",
                WARNING,
                nearest(name, known),
            )


def _cycles(network: Network, info: CInfo | None, budgets: Budgets) -> Iterator[LintFinding]:
    if budgets.max_cycles is None:
        return
    if info is None or not info.estimates:
        # A limit that nobody can check is not kept.
        yield _finding(
            budgets,
            "max_cycles",
            f"nothing estimates the cycles of network {network.name}",
            hint="compilers for an NPU do, in c_info.json; remove the limit for others",
        )
        return
    cycles = sum(estimate.max_cycles for estimate in info.estimates)
    yield from _limit(budgets, "max_cycles", cycles, f"estimated NPU cycles of network {network.name}")


def check(network: Network, info: CInfo | None, budgets: Budgets) -> list[LintFinding]:
    """Compare a compiled network with its limits: one error for each limit that is not kept, in the order of the keys'
    documentation. ``info``: its ``c_info.json``; None if there is none.
    """
    name = network.name
    software = [epoch for epoch in network.epochs if epoch.kind in ("SW", "HYBRID")]
    found = list(_limit(budgets, "max_sw_epochs", len(software), f"epochs of network {name} that the CPU computes"))
    found += _pools(network, budgets)
    real = _real(network)
    found += _limit(budgets, "max_weights", sum(pool.weights for pool in real), f"bytes of constants of network {name}")
    found += _limit(
        budgets, "max_activations", sum(pool.activations for pool in real), f"bytes of activations of network {name}"
    )
    found += _cycles(network, info, budgets)
    percent = offload(network)
    if budgets.min_offload is not None and percent < budgets.min_offload:
        found.append(
            _finding(
                budgets,
                "min_offload",
                f"the NPU computes {percent:.1f} % of the epochs of network {name} alone, wanted: "
                f"{budgets.min_offload} %",
                hint="neuralart inspect shows which epochs the CPU computes",
            )
        )
    return found
