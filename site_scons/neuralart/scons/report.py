"""What a build says of its result: ``summary.txt`` for people, ``index.json`` for programs; on demand the bill of
materials and the page with pictures.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import SCons.Scanner

from neuralart import jsontext
from neuralart.config.application import ELF, EXTERNAL
from neuralart.files import read_bytes, write_text
from neuralart.network import facts
from neuralart.patterns import later
from neuralart.scons import commands, making, plans
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.failures import in_action
from neuralart.scons.paths import LiteralWord, build_dir, file_words, word
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
    from neuralart.memory.image import code_checks
    from neuralart.report import summary

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
    base.Depends(nodes, code_value(base, "summary-writer", "report/summary.py", "memory/image/code_checks.py"))
    base.Depends(nodes, board_value(base, board))
    return list(nodes)


class _Bill(NamedTuple):
    env: Any
    programs: Sequence[VariantProgram]
    made: Sequence[Any]

    def bill(self) -> Any:
        # A build that writes none loads nothing of it.
        from neuralart.scons.sbom import VariantBill

        return registry_of(self.env).once("bill", self.programs[0].variant.name, lambda: VariantBill(*self))


def _bill_needs(node: Any, env: Any, path: Any) -> list[Any]:
    found: list[Any] = plans.of([node], _Bill, "NeuralArtVariant").bill().nodes()
    return found


@in_action
def _write_bill(target: list[Any], source: list[Any], env: Any) -> None:
    write_text(Path(str(target[0])), plans.of(target, _Bill, "NeuralArtVariant").bill().text())


# Not only files: the code that writes it counts, too.
_NEEDS = SCons.Scanner.ScannerBase(function=_bill_needs, name="neuralart-bill", node_class=None)


def make_bill(env: Any, programs: Sequence[VariantProgram], made: Sequence[Any]) -> Any:
    """Declare the file of the alias ``sbom-<variant>``. ``made``: all files of the variant."""
    base, name = registry_of(env).base, programs[0].variant.name
    action = commands.function(_write_bill, "SBOM     $TARGET")
    nodes = base.Command(f"#{build_dir(env)}/{name}/sbom.cdx.json", [], action, target_scanner=_NEEDS)
    plans.remember(nodes[0], _Bill(base, programs, made))
    making.watch(base, nodes)
    base.Clean(made, nodes)
    return base.Alias(f"sbom-{name}", nodes)


# Of all files of a variant those that the page reads.
_PAGE_READS = later(r"\.elf$|(?:^|/)(?:index|manifest|network|plan|flash_plan(?:\.\w+)?|\w*c_info)\.json$")


def _page_needs(node: Any, env: Any, path: Any) -> list[Any]:
    """The code that writes the page, and the version of the library that is in it."""
    from importlib import metadata

    try:
        version = metadata.version("bokeh")
    except metadata.PackageNotFoundError:
        version = ""
    return [code_value(env, "page", "report/page", "profiling/report_cli.py"), env.Value(version, name="bokeh")]


_PAGE_NEEDS = SCons.Scanner.ScannerBase(function=_page_needs, name="neuralart-page", node_class=None)


def make_page(env: Any, program: VariantProgram, index: Any, made: Sequence[Any]) -> Any:
    """Declare the file of the alias ``report-<variant>``. ``made``: all files of the variant; ``index`` lists them."""
    registry, variant = registry_of(env), program.variant
    base = registry.base
    page = base.fs.File(f"#{build_dir(env)}/{variant.name}/report.html")
    words: list[Any] = ["report", *word(base, Path(page.dir.get_abspath())), *file_words(base, "--output", page)]
    words += ["--title", LiteralWord(variant.title)] if variant.title else []
    for file in registry.board_files:
        words += file_words(base, "--board-file", file)
    action, literals = commands.command(base, words, "REPORT   $TARGET")
    read = [index, *(node for node in made if _PAGE_READS.search(str(node)))]
    read += [network.provenance for network in program.networks]
    nodes = base.Command(
        page,
        list(dict.fromkeys(read)),
        action,
        source_scanner=commands.NO_INCLUDES,
        target_scanner=_PAGE_NEEDS,
        **literals,
    )
    base.Depends(nodes, board_value(base, program.board))
    making.watch(base, nodes)
    base.Clean(made, nodes)
    return base.Alias(f"report-{variant.name}", nodes)
