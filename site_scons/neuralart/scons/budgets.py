"""Limits of a network, checked when it is compiled and before anything is linked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.network import NetworkNodes
from neuralart.scons.registry import Registry


def _check(target: list[Any], source: list[Any], env: Any) -> None:
    import json

    from neuralart.files import write_text
    from neuralart.lint import budgets
    from neuralart.lint.types import ERROR
    from neuralart.network import facts
    from neuralart.vendor.c_info import read as c_info

    def work() -> None:
        network = facts.load(Path(str(source[0])))
        info = c_info.read(Path(str(source[1])), str(source[1]))
        limits = env["NEURALART_BUDGETS"]
        findings = budgets.check(network, info, limits)
        errors = [finding for finding in findings if finding.level == ERROR]
        for finding in findings:
            if finding not in errors[:1]:
                print(finding, file=sys.stderr)
        if errors:
            raise NeuralArtError(errors[0].message, where=errors[0].where, hint=errors[0].hint)
        write_text(Path(str(target[0])), json.dumps({"network": network.name, "kept": True}) + "\n")

    in_action(work, target, env)


def make_budgets(env: Any, networks: list[NetworkNodes], folder: str) -> list[Any]:
    """Declare the check of each network that has limits.

    Args:
        env: Any environment of the tool.
        networks: Of a program.
        folder: Of its files, relative to the top folder.

    Returns:
        A node for each of them; what is linked waits for it.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    nodes = []
    for network in networks:
        limits = network.config.budgets
        if not limits:
            continue
        node = base.Command(
            f"#{folder}/{network.name}.budgets.json",
            [network.facts, network.c_info],
            messages.function(_check, f"BUDGETS  {network.name}"),
            NEURALART_BUDGETS=limits,
        )
        base.Depends(node, base.Value(repr(limits), name="budgets"))
        base.Depends(node, base.Value(fingerprint("lint/budgets.py"), name="budget-check"))
        nodes.append(node[0])
    return nodes
