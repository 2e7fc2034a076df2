"""``report-``, ``profile-`` and ``sbom-<variant>``: what a variant is, for people and for other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import SCons.Scanner

from neuralart.files import write_text
from neuralart.plugins import register
from neuralart.quick import lazy_regex
from neuralart.scons import commands, making, node_plans
from neuralart.scons.failures import in_action
from neuralart.scons.flash.targets import DeclaredVariant, by_command
from neuralart.scons.paths import LiteralWord, build_dir, file_words, word
from neuralart.scons.registry import board_value, code_value, fact, registry_of

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
    found: list[Any] = node_plans.of([node], _Bill, "NeuralArtVariant").bill().nodes()
    return found


@in_action
def _write_bill(target: list[Any], source: list[Any], env: Any) -> None:
    write_text(Path(str(target[0])), node_plans.of(target, _Bill, "NeuralArtVariant").bill().text())


# Not only files: the code that writes it counts, too.
_NEEDS = SCons.Scanner.ScannerBase(function=_bill_needs, name="neuralart-bill", node_class=None)


class BillTarget:
    """Writes a bill of materials."""

    help = "write a bill of materials (CycloneDX): models, weights, tools, sources and images with their hashes"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the file of the alias: like others it is made when something in it changed."""
        base, made = variant.base, variant.files
        action = commands.function(_write_bill, "SBOM     $TARGET")
        file = f"#{build_dir(env)}/{variant.name}/sbom.cdx.json"
        nodes = base.Command(file, [], action, target_scanner=_NEEDS)
        node_plans.remember(nodes[0], _Bill(base, variant.programs, made))
        return _alias(base, verb, variant, nodes)


# Of all files of a variant those that the page reads.
_PAGE_READS = lazy_regex(
    r"\.(?:elf|c)$|_ecblobs\.h$|(?:^|/)(?:index|manifest|network|plan|flash_plan(?:\.\w+)?|\w*c_info)\.json$"
)


_PAGE_CODE = ("neuralart_insight/report", "neuralart_insight/profiling/report_cli.py", "neuralart_virtual/npu")


def _page_needs(node: Any, env: Any, path: Any) -> list[Any]:
    """The code that writes the page, and the version of the library that is in it."""
    from importlib import metadata

    try:
        version = metadata.version("bokeh")
    except metadata.PackageNotFoundError:
        version = ""
    return [code_value(env, "page", *_PAGE_CODE), fact(version, name="bokeh")]


_PAGE_NEEDS = SCons.Scanner.ScannerBase(function=_page_needs, name="neuralart-page", node_class=None)


class PageTarget:
    """Writes a page with pictures."""

    help = "write a page with pictures: memory, lifetimes, network, firmware, flash plan, provenance"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the file of the alias: like others it is made when something in it changed."""
        registry, program = registry_of(env), variant.program
        base, title = registry.base, program.variant.title
        page = base.fs.File(f"#{build_dir(env)}/{variant.name}/report.html")
        folder = word(base, Path(page.dir.get_abspath()))
        words: list[Any] = ["report", *folder, *file_words(base, "--output", page)]
        words += ["--title", LiteralWord(title)] if title else []
        for file in registry.board_files:
            words += file_words(base, "--board-file", file)
        action, literals = commands.command(base, words, "REPORT   $TARGET")
        read = [variant.index, *(node for node in variant.files if _PAGE_READS.search(str(node)))]
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
        return _alias(base, verb, variant, nodes)


def _alias(base: Any, verb: str, variant: DeclaredVariant, nodes: Any) -> Any:
    """The alias of a file that is made of the files of a variant, and removed with them."""
    making.watch(base, nodes)
    base.Clean(variant.files, nodes)
    return base.Alias(f"{verb}-{variant.name}", nodes)


register("targets", "profile", ProfileTarget(), protocol=1)
register("targets", "report", PageTarget(), protocol=1)
register("targets", "sbom", BillTarget(), protocol=1)
