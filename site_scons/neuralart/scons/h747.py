"""Variants of boards without an NPU: an application, ours or the user's, is patched out of tree for its network."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from neuralart.applications.runtime import runtime_parts
from neuralart.applications.sources import collect
from neuralart.applications.staging import Generated, is_copied
from neuralart.boards.types import Board
from neuralart.config import patch as patches
from neuralart.config.application import ELF, REFERENCE, SOURCES
from neuralart.config.patch import PatchConfig
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.flash_areas import CPU_WEIGHTS, areas, written_weights
from neuralart.network.facts import NEURALART
from neuralart.quick import dataclass, replace
from neuralart.resources import firmware_dir
from neuralart.scons import commands, node_plans
from neuralart.scons.application import app_config, application
from neuralart.scons.application.app_config import AppConfigNodes
from neuralart.scons.application.patches import PatchedNodes, methods
from neuralart.scons.firmware import firmware, memory_files, recipes
from neuralart.scons.firmware.firmware import FirmwareNodes
from neuralart.scons.firmware.recipes import Recipe, compile_object, find_toolchain, machine_of, make_recipe
from neuralart.scons.flash import flash_plan
from neuralart.scons.flash.flash_plan import FlashWrite, WritesPlan
from neuralart.scons.flash.images import FlashNodes, VariantProgram
from neuralart.scons.network.network import make_cpu_network
from neuralart.scons.network.nodes import CpuNetworkNodes, cpu_runtime_includes
from neuralart.scons.paths import build_dir, top
from neuralart.scons.registry import registry_of
from neuralart.toolchain import Toolchain

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
    """The nodes of such a variant."""

    program: VariantProgram  # Its image and what belongs to it
    headers: list[AppConfigNodes]  # Header of ``app_config``, if it has settings for one
    patched: PatchedNodes | None  # The camera application's sources; None: the program is the user's own

    @property
    def files(self) -> list[Any]:
        """What a summary lists besides network and image."""
        patched = [*self.patched.patched, self.patched.index] if self.patched is not None else []
        return [*(node for nodes in self.headers for node in nodes.files), *patched]


@dataclass(frozen=True)
class _FittedParts:
    """What a user's own program is made of besides its sources."""

    nodes: CpuNetworkNodes
    patched: PatchedNodes | None  # Its patched files; None: there are none
    headers: Sequence[AppConfigNodes]


def _network_of(variant: VariantConfig, board: Board) -> NetworkConfig:
    """The one network of a variant."""
    if len(variant.networks) != 1:
        names = ", ".join(network.name for network in variant.networks)
        what = f"this variant has {len(variant.networks)} networks ({names}), an application for {board.name} has one"
        raise NeuralArtError(what, where=variant.said("networks"), hint="one variant for each of them")
    for key in _OTHER_KEYS:
        if getattr(variant, key):
            places = [place for place in variant.places if place == key or place.startswith(f"{key}.")]
            what = f"'{key}' means nothing for board {board.name}: its networks are linked into the application"
            raise NeuralArtError(what, where=variant.said(places[0] if places else key), hint="leave it out")
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


def _script_of(board: Board) -> Path:
    """What a program of the user's is linked with where it does not bring a script."""
    return _script(board) or firmware_dir() / "h747" / _SCRIPT


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
    """Declare a variant: the network, the application's copies and header, and its image.
    NeuralArtError: Something is missing or cannot work.
    """
    network, app = _network_of(variant, board), variant.application
    config = _patch_of(env, variant, board)
    where = (variant.patch or PatchConfig()).said() or variant.said()
    settings = network.app_config
    if config is not None:
        config = replace(config, aspect_ratio=_aspect_ratio(network, config, where))
        # The application's sources say what the network is called.
        network = replace(network, name=methods(where).list_of(env, config, where).network)
        if settings is not None:
            settings = replace(settings, aspect_ratio=config.aspect_ratio)
    nodes = make_cpu_network(env, network, board)
    if nodes.runtime != NEURALART and app.kind in (REFERENCE, SOURCES):
        said = f"network {nodes.name} is compiled for runtime {nodes.runtime}"
        what = f"{said}, which programs that are linked here do not have"
        hint = "application: {make: ...}, cmake or cubeide: your own build, with the vendor's library"
        raise NeuralArtError(what, where=network.said("compiler"), hint=hint)
    folder = f"{build_dir(env)}/{variant.name}"
    headers = []
    if settings is not None:
        given = variant.patch.application if variant.patch is not None else ""
        if config is not None and not given and not settings.application:
            settings = replace(settings, application=config.application)
        headers.append(app_config.make_app_config(env, nodes, settings, folder))
    patched: PatchedNodes | None = None
    if config is not None:
        patched = methods(where).make_patched(env, config, nodes, f"{folder}/patched", headers, where)
    image = None
    if app.kind != REFERENCE:
        image = _own_program(env, variant, board, _FittedParts(nodes, patched, headers))
    elif variant.patch is None or not variant.patch.application:
        assert patched is not None  # as the reference application is
        image = _image(env, variant, board, nodes, patched, headers)
    machine, flashed = machine_of(variant, board), _flashed(env, variant, board, nodes)
    if flashed is None and image is not None and image.places and machine.kind == "silicon":
        flashed = _in_flashes(env, variant, board, image)
    return CpuVariant(VariantProgram(variant, board, machine, [nodes], None, image, flashed), headers, patched)


def _flashed(env: Any, variant: VariantConfig, board: Board, nodes: CpuNetworkNodes) -> FlashNodes | None:
    """The constants in a file of their own, and the plan that writes them; None: nothing is written."""
    address = written_weights(board, nodes.config)
    if address is None:
        return None
    base, folder = registry_of(env).base, f"{build_dir(env)}/{variant.name}"
    (made,) = (node for node in nodes.files if node.name == f"{nodes.name}_data.bin")
    copy = base.Command(f"#{folder}/{made.name}", made, commands.function(memory_files.copy, "WEIGHTS  $TARGET"))[0]
    plan = WritesPlan(board.name, [FlashWrite(f"{nodes.name}.{CPU_WEIGHTS}", "model", address, copy)])
    (written,) = node_plans.make(env, flash_plan.NAME, flash_plan.VARIABLES, plan, f"#{folder}/flash_plan.json", [])
    return FlashNodes(None, written, None, weights=copy)


def _in_flashes(env: Any, variant: VariantConfig, board: Board, image: FirmwareNodes) -> FlashNodes:
    """The plan of a program that lies in several flashes: its addresses say what goes where."""
    kinds = ["model" if area.start == board.flash.get("base") else "application" for area in areas(board)]
    rows = list(zip(kinds, areas(board), image.places, strict=True))
    writes = [FlashWrite(f"{kind}.{area.name}", kind, area.start, node, program=image.elf) for kind, area, node in rows]
    plan, target = WritesPlan(board.name, writes), f"#{build_dir(env)}/{variant.name}/flash_plan.json"
    (written,) = node_plans.make(env, flash_plan.NAME, flash_plan.VARIABLES, plan, target, [])
    held = {kind: node for kind, _, node in reversed(rows)}
    return FlashNodes(held.get("application"), written, None, weights=held.get("model"))


def _patch_of(env: Any, variant: VariantConfig, board: Board) -> PatchConfig | None:
    """``patch:`` with what follows from the application; None: nothing is patched. NeuralArtError: It cannot be."""
    app, config = variant.application, variant.patch
    if app.kind == REFERENCE:
        config = config or PatchConfig()
        return config if config.application else _reference(board, config)
    if config is None:
        return None
    root = application.root_of(env, variant)
    if app.external is not None and not config.application:
        config = replace(config, application=str(root / app.external.folder))
    if app.kind == ELF or not config.application:
        linked = "is linked already: nothing of it can be patched"
        what = f"'application: {app.kind}' {linked if app.kind == ELF else 'has no folder that patch could look into'}"
        hint = "leave 'patch' out" if app.kind == ELF else "patch: {application: FOLDER}"
        raise NeuralArtError(what, where=config.said() or app.said(), hint=hint)
    if app.sources is None:
        return config
    # What is decided about memories, and what is linked, is one script.
    script = root / app.sources.linker_script if app.sources.linker_script else _script_of(board)
    base = methods(app.said()).root_of(env, config, app.said())
    return replace(
        config,
        linker_script=config.linker_script or str(script),
        include=tuple(os.path.relpath(root / each, base) for each in app.sources.include_dirs),
    )


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


def _own_program(env: Any, variant: VariantConfig, board: Board, parts: _FittedParts) -> FirmwareNodes:
    """The image of the user's own application, its patched files instead of the originals."""
    app, link_map = variant.application, None
    machine = machine_of(variant, board)
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    if app.kind == SOURCES:
        elf, link_map = _linked(env, variant, board, parts, found)
    else:
        staged = _staged(env, variant, parts) if app.external is not None else []
        elf = application.external_program(env, app, variant, board, staged, found)
    return firmware.finish_image(env, variant, board, machine, [parts.nodes], elf, link_map, found)


def _staged(env: Any, variant: VariantConfig, parts: _FittedParts) -> list[tuple[Generated, Any]]:
    """What goes into the copy of the user's tree: the network, the runtime that it needs, and what was patched.
    NeuralArtError: What was patched is not in the tree.
    """
    external, fs = variant.application.external, registry_of(env).base.fs
    nodes, patched = parts.nodes, parts.patched
    assert external is not None
    found = [(Generated(nodes.name, Path(str(node))), node) for node in nodes.files if is_copied(node.name)]
    if nodes.runtime == NEURALART and nodes.config.adopted is None:
        below = "" if external.stage.folder == "." else f"{external.stage.folder}/"
        for part in runtime_parts(ours=True, cpu=True):
            node = fs.File(str(part.path))
            found.append((Generated("", Path(str(node)), place=f"{below}runtime/{part.name}"), node))
    for node in (node for each in parts.headers for node in each.files):
        found.append((Generated("", Path(str(node)), place=""), node))
    if patched is not None:
        tree = (application.root_of(env, variant) / external.folder).resolve()
        root = (top(env) / patched.root).resolve()
        if not root.is_relative_to(tree):
            what = f"patch: {patched.root} is not within the application's folder {external.folder}"
            raise NeuralArtError(what, where=variant.said("patch.application"), hint="leave 'application' of patch out")
        for node in patched.patched:
            place = (root.relative_to(tree) / _below(node, patched)).as_posix()
            found.append((Generated("", Path(str(node)), place=place), node))
    return found


def _linked(env: Any, variant: VariantConfig, board: Board, parts: _FittedParts, found: Toolchain) -> tuple[Any, Any]:
    """The program of the user's sources, with what the board puts around a plain ``main``, and its map."""
    chosen = collect(variant.application, application.root_of(env, variant))
    nodes, patched, headers = parts.nodes, parts.patched, parts.headers
    machine = machine_of(variant, board)
    recipe = make_recipe(env, replace(variant, defines=(*variant.defines, *chosen.defines)), machine, found)
    fs = registry_of(env).base.fs
    folder = f"{build_dir(env)}/{variant.name}"
    files = [fs.File(str(path)) for path in chosen.files]
    paths = [fs.Dir(str(path)) for path in chosen.include_dirs]
    if patched is not None:
        copies = {(top(env) / patched.root / _below(node, patched)).resolve(): node for node in patched.files}
        files = [copies.get(path.resolve(), node) for path, node in zip(chosen.files, files, strict=True)]
        paths = list(patched.include_dirs)
    elif headers:
        paths = [*headers[0].include_dirs, *paths]
    files += [node for each in headers for node in each.sources]
    paths += [fs.Dir(str(firmware_dir() / "boards")), *nodes.include_dirs]
    objects = application.user_objects(recipe, f"{folder}/obj", [*nodes.c, *files], paths)
    archives = [fs.File(str(path)) for path in chosen.archives]
    archives.append(firmware.kernel_library(env, variant, board, machine, recipe))
    objects += _objects(env, board, recipe, _runtime())
    flags: tuple[str, ...] = recipes.LINK_FLAGS
    script = Path(patched.linker_script.get_abspath()) if patched is not None else chosen.linker_script
    if chosen.linker_script is None and (variant.patch is None or not variant.patch.linker_script):
        around = _objects(env, board, recipe, _around_main(board))
        archives.append(firmware.library_around_main(env, board, recipe, around))
        # In an archive nothing would ask for it: what it replaces is there.
        objects += _objects(env, board, recipe, _memories(board))
        script = _script_of(board)
        flags += ("-Wl,--wrap=main",)
    assert script is not None
    return recipes.link(recipe, folder, objects, script, (), flags, chosen.libraries, archives)


def _below(node: Any, patched: PatchedNodes) -> PurePosixPath:
    return PurePosixPath(str(node)).relative_to(patched.folder)


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
