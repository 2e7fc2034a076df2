"""Limits of a network, checked when it is compiled and before anything is linked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import SCons.Action

from neuralart.config.types import Budgets
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.compiled import NetworkNodes
from neuralart.scons.failures import in_action
from neuralart.scons.registry import Registry

_ROOMS = ("lint/budgets.py",)


def _keep(limits: Budgets, facts_file: Any, c_info_file: Any) -> str:
    """Check a compiled network; its name.

    Raises:
        NeuralArtError: A limit is not kept. What else there is to say was printed.
    """
    from neuralart.lint import budgets
    from neuralart.lint.types import ERROR
    from neuralart.network import facts
    from neuralart.vendor.c_info import read as c_info

    network = facts.load(Path(str(facts_file)))
    findings = budgets.check(network, c_info.read(Path(str(c_info_file)), str(c_info_file)), limits)
    errors = [finding for finding in findings if finding.level == ERROR]
    for finding in findings:
        if finding not in errors[:1]:
            print(finding, file=sys.stderr)
    if errors:
        raise NeuralArtError(errors[0].message, where=errors[0].where, hint=errors[0].hint)
    return network.name


def _check(target: list[Any], source: list[Any], env: Any) -> None:
    def work() -> None:
        name = _keep(env["NEURALART_BUDGETS"], *source[:2])
        write_text(Path(str(target[0])), json.dumps({"network": name, "kept": True}) + "\n")

    in_action(work, target, env)


class _AfterCompile(SCons.Action.FunctionAction):
    """The last step of a compile; with other limits, or another check of them, it is another compile."""

    def __init__(self, made: Any, limits: Budgets) -> None:
        def check(target: list[Any], source: list[Any], env: Any) -> None:
            in_action(_keep, target, env, limits, made.facts, made.c_info)

        super().__init__(check, {"cmdstr": f"BUDGETS  {made.name}"})
        self._signature = f"{limits} {fingerprint(*_ROOMS)}".encode()

    def get_presig(self, target: Any, source: Any, env: Any) -> bytes:
        """What its signature is made of: not the line where the limits were written."""
        return self._signature


def guard(env: Any, made: Any) -> None:
    """Make the limits of a network part of its compile: whatever links it, nothing goes on that breaks them.

    Args:
        env: Any environment of the tool.
        made: What ``env.Network`` returns.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    limits = made.config.budgets
    if not limits:
        return

    def add() -> bool:
        registry.base.AddPostAction(made.facts, _AfterCompile(made, limits))
        return True

    registry.once("budgets", f"{made.folder} {limits}", add)


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
        base.Depends(node, base.Value(fingerprint(*_ROOMS), name="budget-check"))
        nodes.append(node[0])
    return nodes
