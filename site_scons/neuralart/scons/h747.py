"""A variant of a board without an NPU: a camera application, fitted to its network out of tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from neuralart.applications.sources import collect
from neuralart.boards.types import Board
from neuralart.config import patch as patches
from neuralart.config.application import REFERENCE, SOURCES
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
_SHARED_APP = (
    "host_link",
    "user_io",
    "text_line",
    *(f"validation_{part}" for part in ("lines", "link", "run", "wire")),
)
_SCRIPT = "STM32CubeIDE/CM7/STM32H747XIHx_CM7.ld"
# Where no header of app_config defines it.
_ASPECT_RATIOS = {"fit": 1, "crop": 2, "padding": 3}
# Keys of a variant that are about flash, or about a loader.
_OTHER_KEYS = ("relocatable", "slots", "reserved")


@dataclass(frozen=True)
class CpuVariant:
    """What such a variant has."""

    program: VariantProgram  # Its image and what belongs to it
    headers: list[AppConfigNodes]  # Header of ``app_config``, if it has settings for one
    patched: PatchedNodes | None  # The camera application's sources; None: the program is the user's own

    @property
    def files(self) -> list[Any]:
        """What a summary lists besides network and image."""
        patched = [*self.patched.patched, self.patched.index] if self.patched is not None else []
        return [*(node for nodes in self.headers for node in nodes.files), *patched]


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
    config = replace(config, application=str(firmware_dir() / "h747"))
    own = _script(board)
    return replace(config, linker_script=str(own)) if own is not None and not config.linker_script else config


def _script(board: Board) -> Path | None:
    """The linker script for a board, unless it is that of the application."""
    folder = firmware_dir() / "h747" / "boards" / (board.firmware or board.name)
    return next(iter(sorted(folder.glob("*.ld"))), None)


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
    if variant.application.kind != REFERENCE:
        return _own_program(env, variant, board, network)
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


def _memories(board: Board) -> list[Path]:
    """Code of a board alone; it replaces weak functions of the start-up code."""
    return sorted((firmware_dir() / "h747" / "boards" / (board.firmware or board.name)).glob("*.c"))


def _around_main(board: Board) -> list[Path]:
    root = firmware_dir()
    console = [*sorted((root / "boards").glob("console.c")), firmware.console_driver(board)]
    return [*sorted((root / "h747" / "boards").glob("*.c")), *_memories(board), *console]


def _runtime() -> list[Path]:
    root = firmware_dir() / "runtime"
    return [root / "ll_aton_runtime.c", *sorted((root / "legacy").glob("*.c"))]


def _objects(env: Any, board: Board, recipe: Recipe, sources: Sequence[Path]) -> list[Any]:
    """Objects that are the same for every variant of this board with these flags."""
    registry = registry_of(env)
    folder = firmware.board_folder(env, board, recipe)
    registry.once("h747-files", folder, lambda: firmware.board_files(env, board, folder))
    include = _include(env, board, recipe)
    made = []
    for source in sources:
        stem = f"{folder}/{source.relative_to(firmware_dir()).with_suffix('.o').as_posix()}"
        one = partial(compile_object, recipe, stem, registry.base.fs.File(str(source)), include)
        made.append(registry.once("h747-object", stem, one))
    return made


def _own_program(env: Any, variant: VariantConfig, board: Board, config: NetworkConfig) -> CpuVariant:
    """A variant whose sources are the user's own, with what the board puts around a plain ``main``.
    NeuralArtError: It is another kind of application, or is to be patched as well.
    """
    from neuralart.scons.application import application

    app = variant.application
    if app.kind != SOURCES or variant.patch is not None:
        raise NeuralArtError(
            f"'application: {app.kind}' does not go with "
            + ("'patch'" if app.kind == SOURCES else f"board {board.name}, which has no NPU"),
            where=app.said(),
            hint="'application: {sources: ...}' is a program of your own, 'patch: {application: FOLDER}' a camera's",
        )
    chosen = collect(app, application.root_of(env, variant))
    nodes = make_cpu_network(env, config, board)
    machine = machine_of(variant, board)
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    recipe = make_recipe(env, replace(variant, defines=(*variant.defines, *chosen.defines)), machine, found)
    fs = registry_of(env).base.fs
    folder = f"{build_dir(env)}/{variant.name}"
    paths = [fs.Dir(str(path)) for path in (*chosen.include_dirs, firmware_dir() / "boards")]
    paths += nodes.include_dirs
    sources = [*nodes.c, *(fs.File(str(path)) for path in chosen.files)]
    objects = application.user_objects(recipe, f"{folder}/obj", sources, paths)
    archives = [fs.File(str(path)) for path in chosen.archives]
    archives.append(firmware.kernel_library(env, variant, board, machine, recipe))
    objects += _objects(env, board, recipe, _runtime())
    flags: tuple[str, ...] = recipes.LINK_FLAGS
    script = chosen.linker_script
    if script is None:
        around = _objects(env, board, recipe, _around_main(board))
        archives.append(firmware.library_around_main(env, board, recipe, around))
        # In an archive nothing would ask for it: what it replaces is there.
        objects += _objects(env, board, recipe, _memories(board))
        script = _script(board) or firmware_dir() / "h747" / _SCRIPT
        flags += ("-Wl,--wrap=main",)
    elf, link_map = recipes.link(recipe, folder, objects, script, (), flags, chosen.libraries, archives)
    image = firmware.finish_image(env, variant, board, machine, [nodes], elf, link_map, found)
    return CpuVariant(VariantProgram(variant, board, machine, [nodes], None, image, None), [], None)


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
    link_and_io = [firmware_dir() / "app" / f"{name}.c" for name in _SHARED_APP]
    objects += _objects(env, board, shared, [*_around_main(board), *link_and_io, *_runtime()])
    objects.append(firmware.kernel_library(env, variant, board, machine, shared))
    elf, link_map = recipes.link(recipe, folder, objects, Path(patched.linker_script.get_abspath()))
    return firmware.finish_image(env, variant, board, machine, [network], elf, link_map, found)
