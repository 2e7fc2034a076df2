"""A variant of a board without an NPU: a camera application, fitted to its network out of tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from neuralart.boards.types import Board
from neuralart.config import patch as patches
from neuralart.config.patch import PatchConfig
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import firmware_dir
from neuralart.scons.application import app_config
from neuralart.scons.application.app_config import AppConfigNodes
from neuralart.scons.application.patch_builder import list_of
from neuralart.scons.application.patched import PatchedNodes, make_patched
from neuralart.scons.firmware import firmware, recipes
from neuralart.scons.firmware.firmware import FirmwareNodes
from neuralart.scons.firmware.recipes import Recipe, compile_object, find_toolchain, machine_of, make_recipe
from neuralart.scons.flash.effects import VariantProgram
from neuralart.scons.network.network import make_cpu_network
from neuralart.scons.network.nodes import CpuNetworkNodes, cpu_runtime_includes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import registry_of

# What the application takes of the code that it shares with others.
_SHARED_APP = ("host_link", "user_io", "text_line")
# Where no header of app_config defines it.
_ASPECT_RATIOS = {"fit": 1, "crop": 2, "padding": 3}
# Keys of a variant that are about flash, or about a loader.
_OTHER_KEYS = ("relocatable", "slots", "reserved")


@dataclass(frozen=True)
class CpuVariant:
    """What such a variant has."""

    program: VariantProgram  # Its image and what belongs to it
    headers: list[AppConfigNodes]  # Header of ``app_config``, if it has settings for one
    patched: PatchedNodes  # The application's sources

    @property
    def files(self) -> list[Any]:
        """What a summary lists besides network and image."""
        return [*(node for nodes in self.headers for node in nodes.files), *self.patched.patched, self.patched.index]


def _network_of(variant: VariantConfig, board: Board) -> NetworkConfig:
    """The one network of a variant."""
    if len(variant.networks) != 1:
        names = ", ".join(network.name for network in variant.networks)
        raise NeuralArtError(
            f"this variant has {len(variant.networks)} networks ({names}), an application for {board.name} has one",
            where=variant.said("networks"),
            hint="one variant for each of them",
        )
    for key in _OTHER_KEYS:
        if getattr(variant, key):
            places = [place for place in variant.places if place == key or place.startswith(f"{key}.")]
            raise NeuralArtError(
                f"'{key}' means nothing for board {board.name}: its networks are linked into the application",
                where=variant.said(places[0] if places else key),
                hint="leave it out",
            )
    return variant.networks[0]


def _reference(board: Board, config: PatchConfig) -> PatchConfig:
    """The section for the reference application: its folder, and its linker script for this board."""
    root = firmware_dir() / "h747"
    config = replace(config, application=str(root))
    own = sorted((root / "boards" / (board.firmware or board.name)).glob("*.ld"))
    return replace(config, linker_script=str(own[0])) if own and not config.linker_script else config


def _aspect_ratio(network: NetworkConfig, config: PatchConfig, where: str) -> str:
    header = network.app_config
    # A section that does not say it has a default, which is the variant's to change.
    said = header is not None and ("aspect_ratio" in header.places or not header.where.file)
    return patches.aspect_ratio(
        config,
        header.aspect_ratio if header is not None and said else "",
        header.said("aspect_ratio") if header is not None else "",
        where,
    )


def make_variant(env: Any, variant: VariantConfig, board: Board) -> CpuVariant:
    """Declare a variant: the network, the application's copies and header, and for our own application its image.
    NeuralArtError: Something is missing or cannot work.
    """
    network = _network_of(variant, board)
    config = variant.patch or PatchConfig()
    where = config.said() or variant.said()
    own = not config.application
    config = _reference(board, config) if own else config
    ratio = _aspect_ratio(network, config, where)
    config = replace(config, aspect_ratio=ratio)
    # The application's sources say what the network is called.
    nodes = make_cpu_network(env, replace(network, name=list_of(env, config, where).network), board)
    folder = f"{build_dir(env)}/{variant.name}"
    headers = []
    if network.app_config is not None:
        settings = replace(network.app_config, aspect_ratio=ratio)
        if own and not settings.application:
            settings = replace(settings, application=config.application)
        headers.append(app_config.make_app_config(env, nodes, settings, folder))
    patched = make_patched(env, config, nodes, f"{folder}/patched", headers, where)
    machine = machine_of(variant, board)
    image = _image(env, variant, board, nodes, patched, headers) if own else None
    return CpuVariant(VariantProgram(variant, board, machine, [nodes], None, image, None), headers, patched)


def _include(env: Any, board: Board, recipe: Recipe) -> list[Any]:
    base = registry_of(env).base
    root = firmware_dir()
    paths = [str(root / "boards"), str(root / "app"), *cpu_runtime_includes()]
    return [base.Dir(f"#{firmware.board_folder(env, board, recipe)}"), *(base.fs.Dir(path) for path in paths)]


def _shared_sources(board: Board) -> list[Path]:
    root = firmware_dir()
    own = root / "h747" / "boards"
    return [
        *sorted(own.glob("*.c")),
        *sorted((own / (board.firmware or board.name)).glob("*.c")),
        *sorted((root / "boards").glob("console.c")),
        firmware.console_driver(board),
        *(root / "app" / f"{name}.c" for name in _SHARED_APP),
        root / "runtime" / "ll_aton_runtime.c",
        *sorted((root / "runtime" / "legacy").glob("*.c")),
    ]


def _shared_objects(env: Any, board: Board, recipe: Recipe) -> list[Any]:
    """Start-up code, console, host link and runtime: the same for every variant of this board with these flags."""
    registry = registry_of(env)
    folder = firmware.board_folder(env, board, recipe)

    def make() -> list[Any]:
        firmware.board_files(env, board, folder)
        include = _include(env, board, recipe)
        root = firmware_dir()
        return [
            compile_object(
                recipe,
                f"{folder}/{source.relative_to(root).with_suffix('.o').as_posix()}",
                registry.base.fs.File(str(source)),
                include,
            )
            for source in _shared_sources(board)
        ]

    return registry.once("h747-objects", folder, make)


def _network_objects(network: CpuNetworkNodes, recipe: Recipe) -> list[Any]:
    def make() -> list[Any]:
        folder = f"{network.folder}/obj-{recipe.digest}"
        return [
            compile_object(recipe, f"{folder}/{PurePosixPath(str(c)).stem}.o", c, network.include_dirs)
            for c in network.c
        ]

    return registry_of(recipe.env).once("network-object", f"{network.folder}/{recipe.digest}", make)


def _image(
    env: Any,
    variant: VariantConfig,
    board: Board,
    network: CpuNetworkNodes,
    patched: PatchedNodes,
    headers: Sequence[AppConfigNodes],
) -> FirmwareNodes:
    """The reference application, compiled from its copies."""
    machine = machine_of(variant, board)
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    folder = f"{build_dir(env)}/{variant.name}"
    # The aspect ratio is no matter of the code that variants share.
    shared = recipe = make_recipe(env, variant, machine, found)
    if not headers:
        ratio = f"ASPECT_RATIO_MODE={_ASPECT_RATIOS[patched.aspect_ratio]}"
        recipe = make_recipe(env, replace(variant, defines=(*variant.defines, ratio)), machine, found)
    paths = [*patched.include_dirs, network.include_dirs[0], *_include(env, board, shared)]
    # The network first: what is made of it is up to date when SCons looks for the includes of the others.
    objects = list(_network_objects(network, shared))
    for source in [*patched.sources, *(node for nodes in headers for node in nodes.sources)]:
        stem = f"{folder}/app/{PurePosixPath(str(source)).stem}"
        objects.append(compile_object(recipe, f"{stem}.o", source, paths))
    objects += _shared_objects(env, board, shared)
    objects.append(firmware.kernel_library(env, variant, board, machine, shared))
    elf, link_map = recipes.link(recipe, folder, objects, Path(patched.linker_script.get_abspath()))
    return firmware.finish_image(env, variant, board, machine, [network], elf, link_map, found)
