"""Questions to a graph that SCons has read but not built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import SCons.Action


def names(nodes: Any) -> list[str]:
    return [str(node) for node in nodes]


def actions(node: Any) -> list[Any]:
    """The single actions that make a node: lists taken apart, variables that hold an action looked up."""
    executor = node.get_executor()
    found = []

    def take(action: Any) -> None:
        if isinstance(action, SCons.Action.ListAction):
            for part in action.list:
                take(part)
        elif isinstance(action, SCons.Action.CommandGeneratorAction):
            targets, sources = executor.get_all_targets(), executor.get_all_sources()
            take(action._generate(targets, sources, executor.get_build_env(), 1, executor))
        else:
            found.append(action)

    for action in executor.get_action_list():
        take(action)
    return found


def commands(node: Any) -> list[list[str]]:
    """argv of each program that is started to make a node."""
    executor = node.get_executor()
    env = executor.get_build_env()
    found = []
    for action in actions(node):
        if isinstance(action, SCons.Action.CommandAction):
            lines, _, _ = action.process(executor.get_all_targets(), executor.get_all_sources(), env, executor)
            found.extend([list(map(str, line)) for line in lines])
    return found


def command(node: Any) -> list[str]:
    """argv of the one program that makes a node."""
    (argv,) = commands(node)
    return argv


def signature(node: Any) -> bytes:
    """What of the actions counts for the decision to run them again."""
    return bytes(node.get_executor().get_contents())


def built_nodes(nodes: Any) -> Iterator[Any]:
    """All nodes with a builder, that these nodes need, each once, needed ones first."""
    seen: set[int] = set()

    def walk(node: Any) -> Iterator[Any]:
        if id(node) in seen:
            return
        seen.add(id(node))
        for child in node.all_children(scan=0):
            yield from walk(child)
        if node.has_builder():
            yield node

    for node in nodes:
        yield from walk(node)


def scanned(node: Any) -> list[Any]:
    """What the builder's scanner finds in the sources of a node."""
    env, scanner = node.get_executor().get_build_env(), node.builder.source_scanner
    return [found for source in node.sources for found in source.get_found_includes(env, scanner, ())]


def linked(elf: Any) -> list[Any]:
    """Objects that a program is made of, also those in its archives."""
    archives = [node for node in (*elf.sources, *elf.depends) if str(node).endswith(".a")]
    return [*elf.sources, *(node for archive in archives for node in archive.sources)]
