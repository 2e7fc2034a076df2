"""``env.NeuralArtVariant(...)``: declares networks, initializers, firmware, images, targets and summary."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import jsontext
from neuralart.boards.types import Board, Machine
from neuralart.config.application import ELF, EXTERNAL, REFERENCE
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.memory.layout.relative_pools import refuse_relative_pools
from neuralart.memory.layout.strategies import Layout
from neuralart.memory.regions import is_on
from neuralart.network import facts
from neuralart.quick import dataclass, field, replace
from neuralart.scons import commands, making
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.firmware.firmware import FirmwareNodes, make_firmware
from neuralart.scons.firmware.initializers import InitializerNodes, make_initializers
from neuralart.scons.firmware.recipes import machine_of
from neuralart.scons.flash.images import FlashNodes, ModelNodes, VariantProgram, make_images
from neuralart.scons.network.network import make_budgets, make_network
from neuralart.scons.network.nodes import NEURALART, Compiled, NetworkNodes
from neuralart.scons.network.plan import is_cpu
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import board_value, code_value, names_value, registry_of

if TYPE_CHECKING:
    from neuralart.scons.application.app_config import AppConfigNodes
    from neuralart.scons.application.patches import PatchedNodes
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
    base.Depends(nodes, names_value(sources))
    base.Depends(nodes, board_value(base, board))
    return list(nodes)


# What few variants have (an application of their own, a loader, headers, a board without an NPU) is imported for those.


@dataclass(frozen=True)
class VariantNodes:
    """What ``env.NeuralArtVariant`` returns."""

    name: str  # Its name; also the alias that builds all of it
    networks: list[Compiled]  # In the order of the variant
    initializers: InitializerNodes | None  # Images and start-up code; None: everything is in the image
    firmware: FirmwareNodes | None  # The image; None: the application's own project builds it
    flash: FlashNodes | None  # What goes into external flash, and by which plan; None: nothing does
    summary: Any  # ``summary.txt``
    index: Any  # ``index.json``
    alias: Any  # ``<variant>``
    declare_effects: Callable[[], dict[str, Any]]  # Once; most builds name none
    # The relocatable model that the firmware loads; None: the networks are linked into it
    model: ModelNodes | None = None
    # Headers for applications, of those networks that have settings for one
    app_configs: list[AppConfigNodes] = field(default_factory=list)
    patched: PatchedNodes | None = None  # Sources of an application, fitted to the network; None: there are none

    @property
    def effects(self) -> dict[str, Any]:
        """``run-<variant>``, ``flash-<variant>`` and the like, by verb."""
        return self.declare_effects()

    @property
    def run(self) -> Any:
        """``run-<variant>``."""
        return self.effects["run"]


@at_read_time
def variant_method(env: Any, variant: VariantConfig) -> VariantNodes:
    """Declare everything of a variant; its paths are relative to the current SConscript. ``variant``: from
    ``ProjectFile.variant``, or made by hand. SCons.Errors.UserError: something it names is missing or wrong.
    """
    if not isinstance(variant, VariantConfig):
        raise NeuralArtError(
            f"NeuralArtVariant takes a VariantConfig, not {variant!r}",
            hint="NeuralArtProject(...).build(...) makes them",
        )
    if variant.application.kind != REFERENCE:
        from neuralart.scons.application.application import refuse_settings

        refuse_settings(variant)
    model: ModelNodes | None = None
    patched: PatchedNodes | None = None
    board = registry_of(env).board(*variant.booted)
    headers: list[AppConfigNodes] = []
    networks: Sequence[Compiled]
    if is_cpu(board):
        from neuralart.scons import h747

        made = h747.make_variant(env, variant, board)
        networks, programs = made.program.networks, [made.program]
        headers, patched, others = made.headers, made.patched, made.files
    else:
        if variant.patch is not None:
            from neuralart.scons.application import patches

            patches.methods(variant.said("patch.")).refuse_npu(board, variant.said("patch."))
        if variant.relocatable is None:
            networks, programs = _static(env, variant)
        else:
            from neuralart.scons.loaded_variant import make_programs

            networks, model, programs = make_programs(env, variant, variant.relocatable)
        if any(network.config.app_config is not None for network in networks):
            from neuralart.scons.application import app_config

            headers = app_config.of_variant(env, networks, f"{build_dir(env)}/{variant.name}")
        others = [node for nodes in headers for node in nodes.files]
    own = programs[0]
    summary, index = make_summary(env, programs, others)
    pairs = [node for network in networks if network.pair is not None for node in network.pair.files]

    @cache
    def declare_effects() -> dict[str, Any]:
        from neuralart.scons.flash.targets import make_effects

        return make_effects(env, programs, index)

    if registry_of(env).every_effect or variant.runner:
        declare_effects()
    alias = env.Alias(variant.name, [summary, index, *(network.provenance for network in networks), *pairs])
    making.watch_all(env, alias[0], registry_of(env).watched)
    return VariantNodes(
        variant.name,
        list(networks),
        own.initializers,
        own.firmware,
        own.flash,
        summary,
        index,
        alias,
        declare_effects,
        model,
        headers,
        patched,
    )


def _refuse_other_runtime(network: NetworkNodes, machine: Machine) -> None:
    """On a virtual board the NPU runs such a network: the image brings up its memories, and no more."""
    if network.runtime != NEURALART and machine.kind != "unicorn":
        said = f"network {network.name} is compiled for runtime {network.runtime}"
        what = f"{said}, which the reference application does not have"
        hint = "'application:' of the variant names your own; machine: unicorn runs it on the virtual NPU"
        raise NeuralArtError(what, where=network.config.said("compiler"), hint=hint)


def _refuse_unmapped(variant: VariantConfig, board: Board, layout: Layout) -> None:
    """The reference application maps no flash: constants of its networks are where the boot chain has mapped it."""
    for item in layout.initializers if variant.boot else ():
        region = board.region_at(item.load_address) if item.load_address else None
        if region is not None and not is_on(board, region):
            held = f"the constants of pool {item.pool} of network {item.network}"
            what = f"boot: {variant.boot}: nothing maps {region.name}, which holds {held}"
            hint = "strategies link or external-loader; an application of your own can map it"
            raise NeuralArtError(what, where=variant.said("boot"), hint=hint)


def _static(env: Any, variant: VariantConfig) -> tuple[list[NetworkNodes], list[VariantProgram]]:
    """A firmware with its networks linked into it."""
    registry = registry_of(env)
    board = registry.board(*variant.booted)
    machine = machine_of(variant, board)
    networks = [make_network(env, network, variant.board) for network in variant.networks]
    for network in networks:
        refuse_relative_pools(network.name, network.pools)
    folder = f"{build_dir(env)}/{variant.name}"
    if variant.application.kind == REFERENCE:
        for network in networks:
            _refuse_other_runtime(network, machine)
        initializers = make_initializers(env, networks, folder, variant, board_layout=True, board=board, reference=True)
        _refuse_unmapped(variant, board, initializers.layout)
        firmware = make_firmware(env, variant, board, machine, networks, initializers)
    else:
        from neuralart.scons.application.application import core_machine, make_application

        machine = core_machine(board, machine, networks)
        # Where the user's linker script puts things is the user's matter.
        laid_out = variant.application.of_board
        initializers = make_initializers(env, networks, folder, variant, board_layout=laid_out, board=board)
        firmware = make_application(env, variant, board, machine, networks, initializers)
    registry.requires(firmware.elf, make_budgets(env, networks, folder))
    flash = make_images(env, variant, board, firmware, networks, initializers)
    return networks, [VariantProgram(variant, board, machine, networks, initializers, firmware, flash)]
