"""Effects that are named together run in the order of the command line."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from neuralart.scons.registry import Registry


def keep_order(env: Any, named: Sequence[str]) -> None:
    """Effects named together run in the order of the command line, also under -j.

    With -k only those of one variant do: an effect that failed must not hold up another variant's.

    Args:
        env: Any environment of the tool.
        named: The targets of the command line.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    effects = [name for name in dict.fromkeys(named) if name in registry.effects]
    groups = [effects]
    if len(effects) > 1 and env.GetOption("keep_going"):
        owners = dict.fromkeys(registry.effects[name] for name in effects)
        groups = [[name for name in effects if registry.effects[name] == owner] for owner in owners]
    for group in groups:
        for before, after in itertools.pairwise(group):
            registry.base.Requires(registry.base.Alias(after), registry.base.Alias(before))


def declare_effect(env: Any, name: str, owner: str) -> None:
    """Put an effect into the order of the command line.

    Args:
        env: Any environment of the tool.
        name: Its alias.
        owner: What it works with: with -k, an effect that failed holds up the owner's others only.
    """
    from SCons.Script import COMMAND_LINE_TARGETS

    registry: Registry = env["NEURALART_REGISTRY"]
    registry.effects.setdefault(name, owner)
    # Whatever is declared first: once more for each that is named.
    if name in COMMAND_LINE_TARGETS:
        keep_order(env, COMMAND_LINE_TARGETS)
