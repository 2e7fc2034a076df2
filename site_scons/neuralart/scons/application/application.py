"""The user's own application: SCons compiles its sources, or its own build runs in a copy of its tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.applications import cli
from neuralart.applications.build import inputs
from neuralart.applications.staging import Generated, is_copied
from neuralart.boards.types import Board, Machine
from neuralart.config.application import ELF, REFERENCE, SOURCES, ApplicationConfig
from neuralart.config.types import KERNELS, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.scons import commands
from neuralart.scons.application.sources import compiled, core_name, root_of
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.firmware.firmware import FirmwareNodes, finish_image
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.recipes import find_toolchain, toolchain_env
from neuralart.scons.network.nodes import LL_ATON, NetworkNodes
from neuralart.scons.paths import LiteralWord, build_dir, word
from neuralart.scons.registry import code_value, registry_of
from neuralart.toolchain import Toolchain

# A vendor's runtime is built for the core itself, not for the baseline that virtual boards execute.
_CORE_FLAGS = {
    "cortex-m55": ("-mcpu=cortex-m55", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
}


def core_machine(board: Board, machine: Machine, networks: Sequence[NetworkNodes]) -> Machine:
    """The machine with the flags of the core itself where a vendor's runtime needs them."""
    if all(network.runtime != LL_ATON for network in networks):
        return machine
    return replace(machine, cpu_flags=_CORE_FLAGS.get(board.cpu, machine.cpu_flags))


def refuse_settings(variant: VariantConfig) -> None:
    """Refuse what only the reference application can have: it would be ignored.
    NeuralArtError: The application is the user's own, and a setting is not for it.
    """
    if variant.application.kind == REFERENCE:
        return
    if variant.relocatable is not None:
        raise NeuralArtError(
            "relocatable: the firmware that loads a model is this project's own, and 'application:' names another",
            where=variant.said("relocatable"),
            hint="keep one of them; env.NetworkRel makes network_rel.bin for any firmware",
        )
    if variant.kernels != KERNELS[0]:
        raise NeuralArtError(
            f"kernels: {variant.kernels}, but the application is your own",
            where=variant.said("kernels"),
            hint="only the reference application has a choice",
        )


def _generated(networks: Sequence[NetworkNodes], initializers: InitializerNodes) -> list[tuple[str, Any]]:
    """Files that an application copies: (network or empty, node)."""
    found = [(network.name, node) for network in networks for node in network.files if is_copied(Path(str(node)).name)]
    common = [initializers.header, *initializers.headers, initializers.io_header, *initializers.sources]
    return [*found, *(("", node) for node in common)]


def _external(
    env: Any,
    config: ApplicationConfig,
    variant: VariantConfig,
    board: Board,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    found: Toolchain,
) -> Any:
    """The program of an external build, or one that somebody has linked."""
    registry = registry_of(env)
    base = registry.base
    root = root_of(env, variant)
    folder = f"{build_dir(env)}/{variant.name}"
    if config.kind == ELF:
        tree = [base.fs.File(str(root / config.elf))]
    else:
        avoid = (Path(base.Dir(f"#{build_dir(env)}").abspath),)
        tree = [base.fs.File(str(path)) for _, path in sorted(inputs(config, root, avoid).files.items())]
    generated = [] if config.kind == ELF else _generated(networks, initializers)
    command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "application", "build", "--quiet"]
    command += [LiteralWord(text) for text in cli.words(config)]
    files = [Generated(name, Path(str(node))) for name, node in generated]
    command += [LiteralWord(text) for text in cli.generated_words(files)]
    command += ["$(", *(LiteralWord(text) for text in cli.places(config)), "$)"]
    command += ["--core", core_name(board), "--work", f"{folder}/application", "--output", f"{folder}/firmware.elf"]
    if variant.toolchain.libc != "auto":
        command += ["--libc", variant.toolchain.libc]
        command += ["$(", LiteralWord(f"--place=libc={variant.said('toolchain.libc')}"), "$)"]
    # Which toolchain counts by its identity, not by its folder.
    command += ["$(", "--root", *_plain(word(base, root)), "--toolchain", *_plain(word(base, Path(found.folder)))]
    command += ["--made-with", LiteralWord(found.identity), "--jobs", str(env.GetOption("num_jobs")), "$)"]
    tools = toolchain_env(env, found)
    action, words = commands.command(tools, command, f"{config.kind.upper():<8} {folder}/firmware.elf")
    node = tools.Command(
        f"#{folder}/firmware.elf",
        [*tree, *(node for _, node in generated)],
        action,
        **words,
        source_scanner=NO_INCLUDES,
        IMPLICIT_COMMAND_DEPENDENCIES=0,
    )
    tools.Depends(node, code_value(base, "application-builder", "applications/build.py", "applications/cli.py"))
    tools.Depends(node, base.Value(found.identity, name="toolchain"))
    tools.Clean(node, base.fs.Dir(f"#{folder}/application"))
    return node[0]


def _plain(words: list[Any]) -> list[Any]:
    """Words without the marks that keep them out of a signature, for a place that is kept out anyway."""
    return [item for item in words if item not in ("$(", "$)")]


def make_application(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> FirmwareNodes:
    """Declare the image of a variant whose application is the user's own.
    NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    config = variant.application
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    link_map = None
    if config.kind == SOURCES:
        elf, link_map = compiled(env, config, variant, board, machine, networks, initializers, found)
    else:
        elf = _external(env, config, variant, board, networks, initializers, found)
    address = initializers.layout.application
    return finish_image(env, variant, board, machine, networks, elf, link_map, found, address)
