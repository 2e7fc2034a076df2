"""What a build says of its result: ``summary.txt`` for people, ``index.json`` for programs; on demand the bill of
materials and the page with pictures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import jsontext
from neuralart.config.application import ELF, EXTERNAL
from neuralart.files import read_bytes, write_text
from neuralart.network import facts
from neuralart.scons import commands
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.failures import in_action
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import board_value, code_value, registry_of

if TYPE_CHECKING:
    from neuralart.scons.flash.images import VariantProgram


def _model(paths: list[str]) -> Any:
    """The relocatable model of a variant, read as every loader reads it; None if there is none."""
    from neuralart.relocatable.format import container

    if not paths:
        return None
    data = [read_bytes(Path(path)) for path in paths]
    return container.parse(data[0], paths[0], data[1] if len(data) > 1 else None)


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart import summary
    from neuralart.memory.image import code_checks

    paths = [str(node) for node in source]
    info = summary.Info(
        **jsontext.loads(env["NEURALART_SUMMARY"]),
        board=registry_of(env).board(env["NEURALART_BOARD"]),
        networks=[facts.load(Path(path)) for path in paths if path.endswith("network.json")],
        elf=Path(env["NEURALART_ELF"]) if env["NEURALART_ELF"] else None,
        artefacts=paths,
        model=_model(env["NEURALART_MODEL"]),
    )
    if info.elf is not None and not info.toolchain:
        info = replace(info, toolchain=code_checks.of_program(info.elf))
    write_text(Path(str(target[0])), summary.text(info))
    write_text(Path(str(target[1])), summary.index(info))


def make_summary(env: Any, programs: Sequence[VariantProgram], others: Sequence[Any] = ()) -> list[Any]:
    """Declare the summary of a variant."""
    base = registry_of(env).base
    own = programs[0]
    variant, board, machine = own.variant, own.board, own.machine
    folder = f"{build_dir(env)}/{variant.name}"
    sources = list(own.model.files) if own.model is not None else []
    for program in programs:
        firmware, initializers = program.firmware, program.initializers
        if firmware is not None:
            sources += [node for node in firmware.files if node is not None]
        if program.flash is not None:
            sources += program.flash.files
        if initializers is not None:
            sources += [*initializers.files, initializers.io_header, initializers.io_json]
    for network in own.networks:
        sources += [network.facts, network.manifest, network.c_info, network.report]
    sources += others
    foreign = variant.application.kind in (*EXTERNAL, ELF)
    about = {
        "variant": variant.name,
        "title": variant.title,
        "machine": f"{machine.kind}" + (f" ({machine.isa})" if machine.isa else ""),
        "compilers": sorted({network.config.compiler for network in own.networks}),
        "toolchain": own.firmware.toolchain.identity if own.firmware and own.firmware.toolchain and not foreign else "",
    }
    nodes = base.Command(
        [f"#{folder}/summary.txt", f"#{folder}/index.json"],
        sources,
        commands.function(
            _write, "SUMMARY  $TARGET", "NEURALART_SUMMARY", "NEURALART_BOARD", "NEURALART_MODEL", "NEURALART_ELF"
        ),
        source_scanner=NO_INCLUDES,
        # In a text, SCons would take $( for its own mark.
        NEURALART_SUMMARY=json.dumps(about, sort_keys=True).replace("$", "\\u0024"),
        NEURALART_BOARD=board.name,
        NEURALART_ELF=str(own.firmware.elf) if own.firmware is not None else "",
        NEURALART_MODEL=[str(node) for node in own.model.binaries] if own.model is not None else [],
    )
    base.Depends(nodes, code_value(base, "summary-writer", "summary.py", "memory/image/code_checks.py"))
    base.Depends(nodes, board_value(base, board))
    return list(nodes)
