"""``report-``, ``profile-`` and ``sbom-<variant>``: what a variant is, for people and for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import SCons.Scanner

from neuralart.files import write_text
from neuralart.patterns import later
from neuralart.plugins import register
from neuralart.scons import commands, making, plans
from neuralart.scons.failures import in_action
from neuralart.scons.flash.targets import DeclaredVariant, by_command
from neuralart.scons.paths import LiteralWord, build_dir, file_words, word
from neuralart.scons.registry import board_value, code_value, registry_of

if TYPE_CHECKING:
    from neuralart.scons.flash.images import VariantProgram


class ProfileTarget:
    """Shows what is expected of each epoch."""

    help = "build, and show what is expected of each epoch; fail where a limit of a network is not kept"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare it."""
        return variant.base.AlwaysBuild(by_command(env, variant, verb, "--check"))


class _Bill(NamedTuple):
    env: Any
    programs: Sequence[VariantProgram]
    made: Sequence[Any]

    def bill(self) -> Any:
        # A build that writes none loads nothing of it.
        from neuralart_insight.scons.variant_bill import VariantBill

        return registry_of(self.env).once("bill", self.programs[0].variant.name, lambda: VariantBill(*self))


def _bill_needs(node: Any, env: Any, path: Any) -> list[Any]:
    found: list[Any] = plans.of([node], _Bill, "NeuralArtVariant").bill().nodes()
    return found


@in_action
def _write_bill(target: list[Any], source: list[Any], env: Any) -> None:
    write_text(Path(str(target[0])), plans.of(target, _Bill, "NeuralArtVariant").bill().text())


# Not only files: the code that writes it counts, too.
_NEEDS = SCons.Scanner.ScannerBase(function=_bill_needs, name="neuralart-bill", node_class=None)


class BillTarget:
    """Writes a bill of materials."""

    help = "write a bill of materials (CycloneDX): models, weights, tools, sources and images with their hashes"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the file of the alias: like others it is made when something in it changed."""
        return _bill(env, verb, variant)


def _bill(env: Any, verb: str, variant: DeclaredVariant) -> Any:
    base, name, programs, made = variant.base, variant.name, variant.programs, variant.files
    action = commands.function(_write_bill, "SBOM     $TARGET")
    nodes = base.Command(f"#{build_dir(env)}/{name}/sbom.cdx.json", [], action, target_scanner=_NEEDS)
    plans.remember(nodes[0], _Bill(base, programs, made))
    making.watch(base, nodes)
    base.Clean(made, nodes)
    return base.Alias(f"{verb}-{name}", nodes)


# Of all files of a variant those that the page reads.
_PAGE_READS = later(r"\.elf$|(?:^|/)(?:index|manifest|network|plan|flash_plan(?:\.\w+)?|\w*c_info)\.json$")


def _page_needs(node: Any, env: Any, path: Any) -> list[Any]:
    """The code that writes the page, and the version of the library that is in it."""
    from importlib import metadata

    try:
        version = metadata.version("bokeh")
    except metadata.PackageNotFoundError:
        version = ""
    return [
        code_value(env, "page", "neuralart_insight/report/page", "neuralart_insight/profiling/report_cli.py"),
        env.Value(version, name="bokeh"),
    ]


_PAGE_NEEDS = SCons.Scanner.ScannerBase(function=_page_needs, name="neuralart-page", node_class=None)


class PageTarget:
    """Writes a page with pictures."""

    help = "write a page with pictures: memory, lifetimes, network, firmware, flash plan, provenance"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the file of the alias: like others it is made when something in it changed."""
        return _page(env, verb, variant.program, variant.index, variant.files)


def _page(env: Any, verb: str, program: VariantProgram, index: Any, made: Sequence[Any]) -> Any:
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
    return base.Alias(f"{verb}-{variant.name}", nodes)


register("targets", "profile", ProfileTarget(), protocol=1)
register("targets", "report", PageTarget(), protocol=1)
register("targets", "sbom", BillTarget(), protocol=1)
