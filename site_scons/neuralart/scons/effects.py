"""Targets that do something instead of making a file: they run each time they are named, and only then."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import SCons.Action

from neuralart.boards.types import Board, Machine
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import anchored, word
from neuralart.scons.registry import Registry

VERBS = ("run",)


def _refuse(text: str, where: str) -> Any:
    from neuralart.errors import NeuralArtError

    def action(target: list[Any], source: list[Any], env: Any) -> None:
        def work() -> None:
            raise NeuralArtError(text, where=where)

        in_action(work, target, env)

    return action


def run_alias(
    env: Any,
    variant: str,
    board: Board,
    machine: Machine,
    firmware: FirmwareNodes,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> Any:
    """``run-<variant>``: run the image on its virtual board and compare with the golden vectors."""
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    name = f"run-{variant}"
    without = [network.name for network in networks if not network.vectors]
    if machine.kind == "silicon" or without:
        reason = (
            "there is no runner for silicon: choose machine: unicorn or qemu where the board has one"
            if machine.kind == "silicon"
            else f"network {without[0]} has no 'vectors:' to compare with"
        )
        return base.AlwaysBuild(base.Alias(name, [], SCons.Action.Action(_refuse(reason, name), None)))
    command: list[Any] = [
        "$(",
        "$NEURALART_PYTHON",
        "$)",
        "-m",
        "neuralart",
        "run",
        "--board",
        board.name,
        "--machine",
        machine.kind,
    ]
    for file in registry.board_files:
        command += ["--board-file", *word(base, Path(file.get_abspath()))]
    command += ["--elf", str(firmware.elf)]
    sources = [firmware.elf]
    for image in initializers.images:
        command += ["--load", f"{image.binary}@0x{image.address:08x}"]
        sources.append(image.binary)
    for network in networks:
        vectors = base.fs.Dir(anchored(network.vectors))
        command += ["--network", str(network.facts), "--vectors", *word(base, Path(vectors.get_abspath()))]
        sources.append(network.facts)
    shown = f"RUN      {variant} on {board.name} ({machine.kind})"
    action, words = messages.command(base, command, shown)
    return base.AlwaysBuild(base.Alias(name, sources, action, **words))


def keep_order(env: Any, named: Sequence[str]) -> None:
    """Effects named together run in the order of the command line, also under -j; with -k the order is not kept.

    Args:
        env: Any environment of the tool.
        named: The targets of the command line.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    if env.GetOption("keep_going"):
        return  # with -k an effect that failed must not hold up the next one
    effects = [name for name in dict.fromkeys(named) if name.split("-", 1)[0] in VERBS]
    for before, after in itertools.pairwise(effects):
        registry.base.Requires(registry.base.Alias(after), registry.base.Alias(before))
