"""``export-<variant>``: what a variant made, as a folder for a build of the user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from neuralart.network import facts
from neuralart.plugins import register
from neuralart.scons import node_plans
from neuralart.scons.commands import function
from neuralart.scons.failures import in_action
from neuralart.scons.flash.images import VariantProgram
from neuralart.scons.flash.refusals import reason
from neuralart.scons.flash.targets import DeclaredVariant, refused
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import code_value
from neuralart.text.console import say


class _Export(NamedTuple):
    program: VariantProgram
    folder: str


@in_action
def _write(target: list[Any], source: list[Any], env: Any) -> None:
    # A build that exports nothing loads nothing of it.
    from neuralart_bring.export.collect import BuiltNetwork, collect
    from neuralart_bring.export.folder import write

    program, folder = node_plans.of(target, _Export, "NeuralArtVariant")
    networks = [
        BuiltNetwork(facts.load(Path(str(network.facts))), Path(network.folder), getattr(network, "pool_address", {}))
        for network in program.networks
    ]
    flags = program.machine.cpu_flags
    layout = program.initializers.layout if program.initializers is not None else None
    inputs = collect(program.variant, program.board, layout, networks, Path(folder).parent, flags)
    done = write(Path(folder), inputs, force=bool(env["NEURALART_EXPORT_FORCE"]))
    say(f"{folder}: {len(done.written)} written, {len(done.removed)} removed, {len(done.kept)} as they were")


def _export_shown(target: list[Any], source: list[Any], env: Any) -> str:
    return f"EXPORT   {node_plans.of(target, _Export, 'NeuralArtVariant').folder}"


# What is exported stays with the target: SCons hashes an action, and all that it holds, when it is made.
_ACTION = function(_write, _export_shown)


class ExportTarget:
    """Writes a folder for a build of the user's own."""

    help = "write sources, images and CMake and make files for a build of your own"

    def declare(self, env: Any, verb: str, variant: DeclaredVariant) -> Any:
        """Declare the alias ``export-<variant>``."""
        base, name = variant.base, f"{verb}-{variant.name}"
        why, hint = reason(verb, variant.program, variant.writer[0])
        return base.AlwaysBuild(refused(base, name, why, hint) if why else _alias(env, name, variant))


def _alias(env: Any, alias_name: str, variant: DeclaredVariant) -> Any:
    base, program, name = variant.base, variant.program, variant.name
    folder = f"{build_dir(env)}/{name}/export"
    initializers = program.initializers
    sources = []
    if initializers is not None:
        sources = [initializers.header, initializers.io_header, *initializers.sources, *initializers.files]
    if program.model is not None and program.flash is not None:
        sources += [*program.model.files, *program.flash.tables.values()]
    for network in program.networks:
        sources += network.files
    (alias,) = base.Alias(alias_name, sources, _ACTION)
    node_plans.remember(alias, _Export(program, folder))
    base.Depends(alias, code_value(base, "exporter", "neuralart_bring/export"))
    base.Clean([alias, *base.Alias(name)], base.fs.Dir(f"#{folder}"))
    return alias


register("targets", "export", ExportTarget(), protocol=1)
