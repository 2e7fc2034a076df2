"""``export-<variant>``: what a variant made, as a folder with fixed names for a build of somebody else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import SCons.Action

from neuralart.fingerprint import fingerprint
from neuralart.scons.builders import plans
from neuralart.scons.compiled import NetworkNodes
from neuralart.scons.failures import in_action
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import Registry

if TYPE_CHECKING:
    from neuralart.scons.effects import Program

FOLDER = "export"


class _Export(NamedTuple):
    program: Program
    initializers: InitializerNodes
    folder: str


def _write(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.export.collect import Built, collect
    from neuralart.export.folder import write
    from neuralart.network import facts

    def work() -> None:
        program, initializers, folder = plans.of(target, _Export, "NeuralArtVariant")
        variant = program.variant
        networks = [
            Built(facts.load(Path(str(network.facts))), Path(network.folder), dict(network.pool_address))
            for network in program.networks
            if isinstance(network, NetworkNodes)
        ]
        inputs = collect(
            variant.name,
            variant.title,
            program.board,
            initializers.layout,
            networks,
            Path(folder).parent,
            defines=variant.defines,
            cpu_flags=program.machine.cpu_flags,
            kernels=variant.kernels,
        )
        done = write(Path(folder), inputs, force=bool(env["NEURALART_EXPORT_FORCE"]))
        print(f"{folder}: {len(done.written)} written, {len(done.removed)} removed, {len(done.kept)} as they were")

    in_action(work, target, env)


def _shown(target: list[Any], source: list[Any], env: Any) -> str:
    return f"EXPORT   {plans.of(target, _Export, 'NeuralArtVariant').folder}"


# What is exported stays with the target: SCons hashes an action, and all that it holds, when it is made.
_ACTION = SCons.Action.Action(_write, _shown)


def make_export(env: Any, program: Program) -> Any:
    """Declare the alias ``export-<variant>``.

    Args:
        env: Any environment of the tool.
        program: The program of the variant.

    Returns:
        The alias.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    name = program.variant.name
    folder = f"{build_dir(env)}/{name}/{FOLDER}"
    initializers = program.initializers
    assert initializers is not None, "a network of the core has nothing to export"
    sources = [initializers.header, initializers.io_header, *initializers.sources, *initializers.files]
    for network in program.networks:
        sources += network.files
    (alias,) = base.Alias(f"export-{name}", sources, _ACTION)
    plans.remember(alias, _Export(program, initializers, folder))
    base.Depends(alias, base.Value(fingerprint("export"), name="exporter"))
    base.Clean(alias, base.fs.Dir(f"#{folder}"))
    return alias
