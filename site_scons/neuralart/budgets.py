"""Checks the limits that the project file sets a network."""

from __future__ import annotations

from neuralart.config.types import Budgets
from neuralart.errors import nearest
from neuralart.findings import ERROR, WARNING, LintFinding
from neuralart.network.facts import Network
from neuralart.vendor.c_info.types import CInfo

BUDGET = "budget"
"""Name of the check among the rules of lint."""


def offload(network: Network) -> float:
    """Per cent of a network's epochs that the NPU computes alone, by itself or under the epoch controller. An epoch
    that CPU and NPU share does not count as offloaded; a network without epochs is 0 % offloaded.
    """
    alone = sum(epoch.kind in ("HW", "EC") for epoch in network.epochs)
    return 100.0 * alone / len(network.epochs) if network.epochs else 0.0


def check(network: Network, info: CInfo | None, budgets: Budgets) -> list[LintFinding]:
    """Report each limit that a network exceeds, in the order of the keys. ``info``: its ``c_info.json``."""
    found: list[LintFinding] = []
    name = network.name

    def broken(key: str, message: str, hint: str = "", level: str = ERROR) -> None:
        found.append(LintFinding(BUDGET, level, budgets.said(key), f"{key}: {message}", hint))

    def limit(key: str, have: int, what: str) -> None:
        allowed = getattr(budgets, key)
        if allowed is not None and have > allowed:
            broken(key, f"{what}: {have}, allowed: {allowed}")

    software = sum(epoch.kind in ("SW", "HYBRID") for epoch in network.epochs)
    limit("max_sw_epochs", software, f"epochs of network {name} that the CPU computes")
    for pool_name in budgets.forbidden_pools:
        meant = [pool for pool in network.pools if pool_name in (pool.fname, pool.name)]
        for pool in meant:
            if pool.used or pool.weights or pool.activations:
                said = f"network {name} uses {pool.used} bytes of {pool.name} ({pool.fname})"
                activations = "unknown" if pool.activations is None else pool.activations
                kinds = f"{pool.weights} of constants, {activations} of activations"
                hint = "give the pool size 0 in the pool file, or make the model smaller"
                broken("forbidden_pools", f"{said}: {kinds}", hint)
        if not meant:
            known = sorted({each for pool in network.pools for each in (pool.fname, pool.name)})
            broken("forbidden_pools", f"network {name} has no pool '{pool_name}'", nearest(pool_name, known), WARNING)
    real = [pool for pool in network.pools if not pool.virtual]
    limit("max_weights", sum(pool.weights for pool in real), f"bytes of constants of network {name}")
    told = [pool.activations for pool in real if pool.activations is not None]
    limit("max_activations", sum(told), f"bytes of activations of network {name}")
    if budgets.max_activations is not None and len(told) < len(real) and sum(told) <= budgets.max_activations:
        hint = "its c_info.json tells; put it beside the adopted C, or remove the limit"
        broken("max_activations", f"how many bytes of activations network {name} has is unknown", hint)
    if info is not None and info.estimates:
        cycles = sum(estimate.max_cycles for estimate in info.estimates)
        limit("max_cycles", cycles, f"estimated NPU cycles of network {name}")
    elif budgets.max_cycles is not None:
        # A limit that cannot be checked counts as not kept.
        hint = "compilers for an NPU do, in c_info.json; remove the limit for others"
        broken("max_cycles", f"nothing estimates the cycles of network {name}", hint)
    percent = offload(network)
    if budgets.min_offload is not None and percent < budgets.min_offload:
        alone = f"the NPU computes {percent:.1f} % of the epochs of network {name} alone"
        said = f"{alone}, wanted: {budgets.min_offload} %"
        broken("min_offload", said, "neuralart inspect shows which epochs the CPU computes")
    return found
