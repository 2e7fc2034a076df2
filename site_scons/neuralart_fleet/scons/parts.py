"""``--shard K/N`` and ``--junit FILE``: which part of a command line this machine builds, and what became of it."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Node
import SCons.Script

from neuralart.config.read import FLASH_PARTS, verbs
from neuralart.errors import NeuralArtError
from neuralart.scons.project import target_node
from neuralart.scons.registry import registry_of
from neuralart.text.console import say
from neuralart_fleet.ci import shards

if TYPE_CHECKING:
    from neuralart.config.types import ProjectConfig


def narrow(env: Any, config: ProjectConfig, project: Path) -> None:
    """Leave only the targets of one shard on the command line. NeuralArtError: a target belongs to no variant, the
    shard is none, or the recorded costs are damaged.
    """
    prefixes = ("", *verbs(), *(f"flash-{part}" for part in FLASH_PARTS))
    variant_of = {prefix + name: name for prefix in prefixes for name in config.titles}
    script = SCons.Script
    number, count = shards.parse(env.GetOption("shard"))
    asked = script.COMMAND_LINE_TARGETS or list(config.titles if env.GetOption("clean") else config.default)
    for target in asked:
        if target not in variant_of:
            hint = "with --shard all targets are VARIANT or VERB-VARIANT"
            raise NeuralArtError(f"'{target}' is no target of one variant", where="--shard", hint=hint)
    mine = shards.split([variant_of[each] for each in asked], shards.costs_of(project), count)[number - 1]
    kept = [target for target in asked if variant_of[target] in mine]
    say(f"scons: shard {number}/{count}: {' '.join(kept) or 'nothing to build'}", flush=True)
    script.COMMAND_LINE_TARGETS[:] = script.BUILD_TARGETS[:] = kept
    # As with targets of the command line: Default() adds nothing.
    script.BUILD_TARGETS._add_Default = script.BUILD_TARGETS._do_nothing
    if not kept:
        script.Exit(0)


def report_at_exit(env: Any, file: str) -> None:
    """Write what became of each target that was asked for, when SCons ends, however it does. OSError: the report of an
    earlier build cannot be deleted.
    """
    if any(map(env.GetOption, ("help", "clean", "question", "no_exec"))):
        return
    details = registry_of(env).reports = {}
    path = Path(env.Dir("#").abspath, file)
    path.unlink(missing_ok=True)

    def write() -> None:
        from neuralart_fleet.ci import junit

        outcomes, others = [], []
        for asked in SCons.Script.BUILD_TARGETS:
            found = [each for each in details.get(str(asked), ()) if each.is_file()]
            others += found
            outcomes += (
                [] if found else [junit.CheckOutcome("scons", str(asked), *_end_of(env, target_node(env, asked)))]
            )
        try:
            junit.write(path, outcomes, others)
        except NeuralArtError as error:
            print(f"scons: --junit: {error}", file=sys.stderr)
        for each in others:
            each.unlink()

    atexit.register(write)


def _end_of(env: Any, node: Any) -> tuple[list[str], str]:
    """Why a target failed, or was not made; nothing, if it was."""
    if node.get_state() in (SCons.Node.executed, SCons.Node.up_to_date):
        return [], ""
    from neuralart.scons.stamps import nodes_of

    below, mine, others = {*nodes_of(node, registry_of(env).prerequisites)}, list[str](), list[str]()
    for each in SCons.Script.GetBuildFailures():
        nodes = each.node if isinstance(each.node, list) else [each.node]
        (others if below.isdisjoint(nodes) else mine).append(f"{', '.join(map(str, nodes))}: {each.errstr}")
    if mine or not others:
        return mine or ["SCons ended before it came to this"], ""
    return [], f"not made, because of {others[0]}"
