"""What a build says of its result: ``summary.txt`` for people, ``index.json`` for programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.config.types import VariantConfig
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import FirmwareNodes
from neuralart.scons.images import FlashNodes
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry, identity


def _write(target: list[Any], source: list[Any], env: Any) -> None:
    def work() -> None:
        from neuralart.files import write_text
        from neuralart.network import facts
        from neuralart.report import summary

        paths = [str(node) for node in source]
        registry: Registry = env["NEURALART_REGISTRY"]
        info = summary.Info(
            **env["NEURALART_SUMMARY"],
            board=registry.board(env["NEURALART_BOARD"]),
            networks=[facts.load(Path(path)) for path in paths if path.endswith("network.json")],
            elf=Path(next(path for path in paths if path.endswith(".elf"))),
            artefacts=paths,
        )
        write_text(Path(str(target[0])), summary.text(info))
        write_text(Path(str(target[1])), summary.index(info))

    in_action(work, target, env)


def make_summary(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    firmware: FirmwareNodes,
    flash: FlashNodes,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> list[Any]:
    """Declare the summary of a variant.

    Returns:
        summary.txt and index.json.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    folder = f"{build_dir(env)}/{variant.name}"
    sources = [firmware.elf, firmware.binary, firmware.hex, firmware.map, firmware.check]
    sources += [*flash.files, *initializers.files, initializers.io_header, initializers.io_json]
    for network in networks:
        sources += [network.facts, network.manifest, network.c_info, network.report]
    about = {
        "variant": variant.name,
        "title": variant.title,
        "machine": f"{machine.kind}" + (f" ({machine.isa})" if machine.isa else ""),
        "compilers": sorted({network.config.compiler for network in networks}),
        "toolchain": firmware.toolchain.identity,
    }
    nodes = base.Command(
        [f"#{folder}/summary.txt", f"#{folder}/index.json"],
        sources,
        messages.function(_write, "SUMMARY  $TARGET", "NEURALART_SUMMARY", "NEURALART_BOARD"),
        NEURALART_SUMMARY=about,
        NEURALART_BOARD=board.name,
    )
    base.Depends(nodes, base.Value(fingerprint("report/summary.py"), name="summary-writer"))
    base.Depends(nodes, base.Value(identity(board), name=f"board {board.name}"))
    return list(nodes)
