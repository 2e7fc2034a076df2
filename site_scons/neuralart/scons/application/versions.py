"""``versions.txt``: checks, before anything is compiled, whether the parts of an application belong together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.sources import SourceSet
from neuralart.applications.staging import Generated
from neuralart.applications.version_lock import parts
from neuralart.boards.types import Board
from neuralart.config.types import VariantConfig
from neuralart.files import write_text
from neuralart.scons import commands
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.failures import in_action
from neuralart.scons.network.nodes import NetworkNodes
from neuralart.scons.paths import named
from neuralart.scons.registry import code_value, fact
from neuralart.text.console import say
from neuralart.toolchain import Toolchain


def core_name(board: Board) -> str:
    """The core's name in libraries of the runtime: ``CM55``."""
    return board.cpu.replace("cortex-m", "CM")


@in_action
def _check_versions(target: list[Any], source: list[Any], env: Any) -> None:
    import sys

    from neuralart.applications.version_lock import check_sources

    chosen, vendor, names, libc, where, core = env["NEURALART_LOCK"]
    # The networks' C comes first among the sources.
    files = [Generated(name, Path(str(node)), Path(str(node)).stem) for name, node in zip(names, source, strict=False)]
    notes = check_sources(
        chosen, vendor, files, libc=libc, libc_where=where, core=core, shown=lambda path: named(env, path)
    )
    for note in notes:
        say(f"{note.where}: {note.level}: {note.what}", file=sys.stderr)
    write_text(Path(str(target[0])), "".join(f"{note.what}\n" for note in notes))


def version_node(
    base: Any,
    folder: str,
    variant: VariantConfig,
    board: Board,
    networks: Sequence[NetworkNodes],
    chosen: SourceSet,
    vendor: VendorRuntime | None,
    found: Toolchain,
) -> Any:
    """Declare the check of what is compiled and linked."""
    names, core = [network.name for network in networks], core_name(board)
    node = base.Command(
        f"#{folder}/versions.txt",
        [*(network.c for network in networks), *(base.fs.File(str(path)) for path in parts(chosen, vendor))],
        commands.function(_check_versions, f"VERSIONS {folder}/versions.txt"),
        NEURALART_LOCK=[chosen, vendor, names, found.libc, variant.said("toolchain.libc"), core],
        source_scanner=NO_INCLUDES,
    )
    base.Depends(node, fact(f"{' '.join(names)}; {found.libc}; {core}", name="locked"))
    # The report beside a network's C names the release of the tool.
    base.Depends(node, [network.report for network in networks])
    base.Depends(node, code_value(base, "version-lock", "applications/version_lock.py"))
    return node[0]
