"""Prints the graph that SCons has after reading ``SConstruct``, as JSON: for ``scons -Q -s -f graph_dump.py``.

Read as an SConstruct in a tree that is built, so that headers are there to be scanned. Nothing is built.
"""

import json
import sys

import SCons.Action
import SCons.Node.FS
from SCons.Script import DEFAULT_TARGETS, Exit, SConscript

SConscript("SConstruct")


def programs(node):
    """argv of the programs that make a node; none for steps that run within SCons itself."""
    executor = node.get_executor()
    env = executor.get_build_env()
    targets, sources = executor.get_all_targets(), executor.get_all_sources()
    found = []

    def take(action):
        if isinstance(action, SCons.Action.ListAction):
            for part in action.list:
                take(part)
        elif isinstance(action, SCons.Action.CommandGeneratorAction):
            take(action._generate(targets, sources, env, 1, executor))
        elif isinstance(action, SCons.Action.CommandAction):
            lines, _, _ = action.process(targets, sources, env, executor)
            found.extend([str(word) for word in line] for line in lines)

    for action in executor.get_action_list():
        take(action)
    return found


steps = []
aliases = {}
seen = set()


def is_file(node):
    """Not a folder, an alias or a value."""
    return isinstance(node, SCons.Node.FS.File)


def path(node):
    """Relative where the file is in the tree; a source where it really is."""
    return str(node) if node.has_builder() else str(node.srcnode())


def walk(node):
    executor = node.get_executor()
    for target in executor.get_all_targets() if executor and node.has_builder() else [node]:
        if target in seen:
            continue
        seen.add(target)
        target.disambiguate()
        target.scan()
        for child in target.children():
            walk(child)
    if node.has_builder() and is_file(node) and executor not in seen:
        seen.add(executor)
        needed = {path(c) for t in executor.get_all_targets() for c in t.children() if is_file(c)}
        targets = [path(target) for target in executor.get_all_targets()]
        steps.append({"targets": targets, "needs": sorted(needed - set(targets)), "programs": programs(node)})


for default in DEFAULT_TARGETS:
    walk(default)
    aliases[str(default)] = [path(child) for child in default.children() if is_file(child)]
json.dump({"steps": steps, "aliases": aliases}, sys.stdout)
sys.stdout.flush()
Exit(0)
