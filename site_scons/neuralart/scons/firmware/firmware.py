"""Compiles and links an image. Objects are shared between variants that build them the same way."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.config.types import KERNELS, RelocatableConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import write_text
from neuralart.memory.layout.strategies import Layout
from neuralart.network import facts
from neuralart.quick import dataclass, replace
from neuralart.resources import firmware_dir
from neuralart.scons import commands, making, node_plans
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import image
from neuralart.scons.firmware.image import ImagePlan
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.recipes import (
    Recipe,
    compile_object,
    find_toolchain,
    link_image,
    make_library,
    make_recipe,
    toolchain_env,
)
from neuralart.scons.network.nodes import NEURALART, Compiled, NetworkNodes
from neuralart.scons.paths import build_dir
from neuralart.scons.registry import board_value, code_value, registry_of
from neuralart.toolchain import Toolchain


@dataclass(frozen=True)
class FirmwareNodes:
    """The files of an image."""

    elf: Any  # With symbols
    binary: Any  # Its bytes from the first to the last loaded address
    hex: Any  # Intel HEX
    map: Any  # The linker's map
    check: Any  # What ``check-image`` found; the binary and what is made of it wait for it
    toolchain: Toolchain | None  # What built it; None: the user's own SConstruct did
    # ``application.bin``: the image as its slot holds it; None where images are loaded in place
    application: Any = None
    places: tuple[Any, ...] = ()  # What each flash of the board holds of it, where its constants are dealt out to two
    vendor: Any = None  # The vendor's runtime that is compiled into it (``VendorRuntime``); None: none is, or ours

    @property
    def files(self) -> list[Any]:
        """All files; None in place of a missing map."""
        return [self.elf, self.binary, self.hex, self.map, self.check]


@in_action
def _write_board_files(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.memory.startup import linker

    board = registry_of(env).board(env["NEURALART_BOARD"])
    config, memory = linker.board_config_h(board), linker.memory_ld(board)
    write_text(Path(str(target[0])), config)
    write_text(Path(str(target[1])), memory)


@in_action
def _write_app_networks(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.memory.startup import network_io

    networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
    write_text(Path(str(target[0])), network_io.app_networks_c(networks))


def _kernel_sources(variant: VariantConfig, board: Board, machine: Machine) -> list[Path]:
    """C files of the kernels. A file for an extension stands for the file of the same name among the plain C ones."""
    if variant.kernels not in KERNELS:
        hint = nearest(variant.kernels, KERNELS)
        raise NeuralArtError(f"no kernels '{variant.kernels}'", where=variant.said("kernels"), hint=hint)
    folder = firmware_dir() / "runtime" / "kernels"
    chosen = {path.name: path for path in folder.glob("*.c")}
    if variant.kernels not in machine.kernels:
        able = [kind for kind, other in board.machines.items() if variant.kernels in other.kernels]
        raise NeuralArtError(
            f"kernels: {variant.kernels}, but machine {machine.kind} of board {board.name} runs no "
            f"{variant.kernels.upper()} code ({' '.join(machine.cpu_flags)})",
            where=variant.said("kernels"),
            hint=f"machine: {able[0]} does" if able else "kernels: c computes the same on every machine",
        )
    chosen.update({path.name: path for path in folder.with_name(f"kernels_{variant.kernels}").glob("*.c")})
    return [chosen[name] for name in sorted(chosen)]


def board_folder(env: Any, board: Board, recipe: Recipe) -> str:
    """The folder of objects that all variants of a board with these flags share, relative to the top folder."""
    return f"{build_dir(env)}/firmware/{board.name}-{recipe.digest}"


def _runtime_folder(env: Any, recipe: Recipe) -> str:
    """Where the objects are that programs for all boards with these flags share, relative to the top folder."""
    return f"{build_dir(env)}/firmware/runtime-{recipe.digest}"


def _runtime_object(env: Any, recipe: Recipe, source: Path, *more: str) -> Any:
    """An object that nothing of a board or variant counts for; ``more``: folders of its headers, below firmware."""
    registry = registry_of(env)
    root, fs = firmware_dir(), registry.base.fs
    stem = f"{_runtime_folder(env, recipe)}/{source.relative_to(root).with_suffix('.o').as_posix()}"
    include = [fs.Dir(str(root / name)) for name in (*more, "runtime/include")]
    return registry.once("runtime-object", stem, partial(compile_object, recipe, stem, fs.File(str(source)), include))


def kernel_library(env: Any, variant: VariantConfig, board: Board, machine: Machine, recipe: Recipe) -> Any:
    """Declare the archive of kernels, from which a program links those that it calls."""
    target = f"{_runtime_folder(env, recipe)}/libkernels-{variant.kernels}.a"
    sources = _kernel_sources(variant, board, machine)

    def make() -> Any:
        return make_library(recipe, target, (_runtime_object(env, recipe, source) for source in sources))

    return registry_of(env).once("library", target, make)


def runtime_objects(env: Any, recipe: Recipe) -> list[Any]:
    """Declare the objects of scheduler, memory start-up and loader."""
    root = firmware_dir() / "runtime"
    sources = [*sorted(root.glob("*.c")), *sorted((root / "memory").glob("*.c"))]
    return [_runtime_object(env, recipe, source) for source in sources]


def runtime_library(env: Any, recipe: Recipe) -> Any:
    """Declare the same objects as an archive."""
    target = f"{_runtime_folder(env, recipe)}/libruntime.a"
    return registry_of(env).once("library", target, lambda: make_library(recipe, target, runtime_objects(env, recipe)))


def board_files(env: Any, board: Board, folder: str) -> Any:
    """What is generated from a board for its code: ``board_config.h`` and ``memory.ld``.
    ``folder``: where the files go, relative to the top folder; asked for once.
    """
    base = registry_of(env).base
    files = base.Command(
        [f"#{folder}/board_config.h", f"#{folder}/memory.ld"],
        [],
        commands.function(_write_board_files, f"BOARD    {folder}", "NEURALART_BOARD"),
        NEURALART_BOARD=board.name,
    )
    base.Depends(files, board_value(base, board))
    base.Depends(files, code_value(base, "linker-fragment", "memory/startup/linker.py"))
    making.watch(base, files)  # who includes them knows them by their contents only
    return files


def console_driver(board: Board) -> Path:
    """Find the C file of the board's console. NeuralArtError: it has none."""
    if board.console is None:
        raise NeuralArtError("the board has no console", where=f"board {board.name}", hint="its YAML needs 'console:'")
    return firmware_dir() / "boards" / "drivers" / f"{board.console.driver}.c"


def board_objects(env: Any, board: Board, recipe: Recipe, include: Sequence[Any]) -> tuple[list[Any], Any]:
    """Declare start-up code and console driver, which variants of a board with equal flags share."""
    registry = registry_of(env)
    folder = board_folder(env, board, recipe)

    def make() -> tuple[list[Any], Any]:
        base = registry.base
        memory_ld = board_files(env, board, folder)[1]
        root = firmware_dir()
        sources = [*sorted((root / "boards").glob("*.c")), console_driver(board)]
        paths = [base.Dir(f"#{folder}"), base.fs.Dir(str(root / "boards")), *include]
        objects = []
        for source in sources:
            stem = source.relative_to(root).with_suffix(".o").as_posix()
            objects.append(compile_object(recipe, f"{folder}/{stem}", base.fs.File(str(source)), paths))
        return objects, memory_ld

    return registry.once("board-objects", folder, make)


def program_library(env: Any, board: Board, recipe: Recipe) -> tuple[Any, Any]:
    """Declare what a user's ``main`` needs: start-up code, console and stdio in an archive, so that the user's
    definitions win; and ``memory.ld``.
    """
    include = [registry_of(env).base.fs.Dir(str(firmware_dir() / "runtime" / "include"))]
    objects, memory_ld = board_objects(env, board, recipe, include)
    return library_around_main(env, board, recipe, objects), memory_ld


def library_around_main(env: Any, board: Board, recipe: Recipe, objects: Sequence[Any]) -> Any:
    """Declare a board's objects and those that all boards share, as an archive."""
    registry = registry_of(env)
    folder = board_folder(env, board, recipe)
    root, fs = firmware_dir(), registry.base.fs

    def make() -> Any:
        include = [fs.Dir(str(root / "boards"))]
        own = [
            compile_object(recipe, f"{folder}/program/{source.stem}.o", fs.File(str(source)), include)
            for source in sorted((root / "program").glob("*.c"))
        ]
        return make_library(recipe, f"{folder}/libprogram.a", [*objects, *own])

    return registry.once("library", f"{folder}/libprogram.a", make)


@dataclass(frozen=True)
class _Program:
    """What the parts of an image are made with."""

    env: Any
    variant: VariantConfig
    board: Board
    machine: Machine
    recipe: Recipe
    folder: str
    paths: list[Any]

    def object(self, stem: str, source: Any) -> Any:
        return compile_object(self.recipe, f"{self.folder}/{stem}.o", source, self.paths)


def _static_objects(program: _Program, networks: Sequence[NetworkNodes]) -> list[Any]:
    """The application with its networks and their kernels in it. What is compiled for the vendor's runtime is not in
    it: of that, the image brings up the memories.
    """
    env, recipe, folder = program.env, program.recipe, program.folder
    networks = [network for network in networks if network.runtime == NEURALART]
    registry = registry_of(env)
    base = registry.base
    table = base.Command(
        f"#{folder}/app_networks.c",
        [network.facts for network in networks],
        commands.function(_write_app_networks, "SOURCES  $TARGET"),
    )
    base.Depends(table, code_value(base, "app-networks", "memory/startup/network_io.py"))
    objects = [
        program.object(f"app/{source.stem}", base.fs.File(str(source)))
        if source.name in ("main.c", "start.c")  # its own: the start includes headers that are made for the variant
        else _runtime_object(env, recipe, source, "app", "boards")
        for source in sorted((firmware_dir() / "app").glob("*.c"))
    ]
    objects.append(program.object("app_networks", table[0]))
    for network in networks:
        stem = f"{network.folder}/obj-{recipe.digest}/{network.name}.o"
        one = partial(compile_object, recipe, stem, network.c, network.include_dirs)
        objects.append(registry.once("network-object", stem, one))
    return [*objects, kernel_library(env, program.variant, program.board, program.machine, recipe)]


# What the loading application has of its own instead of the static one's.
_NOT_LOADING = ("main.c",)


def _loading_objects(program: _Program) -> list[Any]:
    """The application that loads its networks: they bring their own kernels."""
    base = registry_of(program.env).base
    root = firmware_dir()
    sources = [path for path in sorted((root / "app").glob("*.c")) if path.name not in _NOT_LOADING]
    sources += sorted((root / "app_loader").glob("*.c"))
    return [
        program.object(source.relative_to(root).with_suffix("").as_posix(), base.fs.File(str(source)))
        for source in sources
    ]


def _loading_defines(layout: Layout, config: RelocatableConfig) -> tuple[str, ...]:
    """Where the loading application looks, and the memory that it has for models."""
    places = layout.loaded
    assert places is not None
    return (*config.loader_defines, *places.defines(config.exec_ram))


def make_firmware(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> FirmwareNodes:
    """Declare the reference application's image of a variant.
    NeuralArtError: No cross compiler, no such kernels, or the board cannot carry the reference application.
    """
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    loading = variant.relocatable
    if loading is not None:
        variant = replace(variant, defines=(*variant.defines, *_loading_defines(initializers.layout, loading)))
    recipe = make_recipe(env, variant, machine, found)
    base = registry_of(env).base
    root = firmware_dir()
    folder = f"{build_dir(env)}/{variant.name}"
    include = [base.fs.Dir(str(root / "runtime" / "include"))]
    shared, memory_ld = board_objects(env, board, recipe, include)
    headers = [base.fs.Dir(str(root / "app_loader")), base.fs.Dir(str(root / "runtime"))] if loading is not None else []
    paths = [*initializers.include_dirs, *headers]
    paths += [base.fs.Dir(str(root / "app")), base.fs.Dir(str(root / "boards")), *include]
    program = _Program(env, variant, board, machine, recipe, folder, paths)
    objects = _static_objects(program, networks) if loading is None else _loading_objects(program)
    # Not first: SCons would look for its headers before a network.json that was deleted is back, and compile it again.
    objects += [program.object(Path(str(node)).stem, node) for node in initializers.sources]
    objects += [*runtime_objects(env, recipe), *shared]
    elf, link_map = link_image(recipe, folder, objects, memory_ld)
    own = list(networks) if loading is None else []
    return finish_image(env, variant, board, machine, own, elf, link_map, found, initializers.layout.application)


def finish_image(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[Compiled],
    elf: Any,
    link_map: Any,
    found: Toolchain,
    application: int | None = None,
) -> FirmwareNodes:
    """Declare what is made of every linked image: its check, then binary, Intel HEX and what the board boots from.
    ``link_map``: the linker's map, or None. ``application``: flash address of the application's slot; None: images are
    loaded in place.
    """
    tools = toolchain_env(env, found)
    folder = f"{build_dir(env)}/{variant.name}"
    facts = tuple(network.facts for network in networks)
    allowed = variant.allow_reference_on_hardware
    two = "base" in board.flash and any(each.config.dispatch_weights for each in networks)
    plan = ImagePlan(
        *(board, machine, facts, allowed, True, application, variant.sign),
        outside=int(board.flash["base"]) if two else None,
    )
    made = node_plans.make(env, image.NAME, image.VARIABLES, plan, f"#{folder}/check.json", [elf], tools)
    check, binary, ihex, *more = made
    places, application_bin = (tuple(more), None) if two else ((), more[0] if more else None)
    return FirmwareNodes(elf, binary, ihex, link_map, check, found, application_bin, places=places)
