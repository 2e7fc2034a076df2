"""Compiles and links an image. Objects are shared between variants that build them the same way."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from SCons.Subst import Literal

from neuralart import toolchain as toolchains
from neuralart.boards.types import Board, Machine
from neuralart.config.types import KERNELS, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.failures import in_action
from neuralart.scons.image_check import make_check
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.network import NetworkNodes
from neuralart.scons.paths import build_dir, named, top
from neuralart.scons.registry import Registry, identity
from neuralart.toolchain import Toolchain

# No contraction and no fast-math: the kernels round exactly as their oracle does.
_C_FLAGS = ("-std=gnu11", "-g", "-ffunction-sections", "-fdata-sections", "-fno-common", "-ffp-contract=off")
_WARNINGS = ("-Wall", "-Wextra")
_LINK_FLAGS = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none")


@dataclass(frozen=True)
class FirmwareNodes:
    """An image.

    Attributes:
        elf: With symbols.
        binary: Its bytes from the first to the last loaded address.
        hex: Intel HEX.
        map: The linker's map.
        check: What ``check-image`` found; the binary and what is made of it wait for it.
        toolchain: What built it.
    """

    elf: Any
    binary: Any
    hex: Any
    map: Any
    check: Any
    toolchain: Toolchain


@dataclass(frozen=True)
class _Recipe:
    """How objects of one kind are compiled: environment, flags, and a folder name that stands for both."""

    env: Any
    cpu_flags: tuple[str, ...]
    flags: tuple[str, ...]
    defines: tuple[str, ...]
    digest: str


def _toolchain_env(registry: Registry, found: Toolchain) -> Any:
    def make() -> Any:
        env = registry.base.Clone(
            OBJCOPY=f"{found.prefix}objcopy",
            PROGSUFFIX=".elf",
            # Every object and image depends on the identity of the toolchain: no look at the programs themselves.
            IMPLICIT_COMMAND_DEPENDENCIES=0,
            CC=f"{found.prefix}gcc",
            LINK=f"{found.prefix}gcc",
        )
        # Named by their tools alone in commands, found through PATH: equal trees give equal command texts.
        env.PrependENVPath("PATH", found.folder)
        for tool in ("cc", "link"):
            env.Tool(tool)
        env.Replace(
            CC=f"{found.prefix}gcc",
            LINK=f"{found.prefix}gcc",
            OBJSUFFIX=".o",
            CCCOMSTR="" if env["NEURALART_VERBOSE"] else "CC       $TARGET",
            LINKCOMSTR="" if env["NEURALART_VERBOSE"] else "LINK     $TARGET",
        )
        # The consumer's flags are for the consumer's programs.
        env.Replace(CPPDEFINES=[], CPPPATH=[], CPPFLAGS=[], CFLAGS=[], CCFLAGS=[], LIBS=[], LIBPATH=[], LINKFLAGS=[])
        env.Replace(OBJPREFIX="", PROGPREFIX="", PROGEMITTER=[], RPATH=[], _RPATH="", FRAMEWORKS=[], FRAMEWORKPATH=[])
        return env

    return registry.once("toolchain", f"{found.folder}|{found.prefix}", make)


def _prefix_maps(env: Any) -> list[str]:
    """Debug information names files relative to the tree, wherever the tree is. The most specific map comes last."""
    maps = [f"-ffile-prefix-map={top(env)}=."]
    firmware = named(env, firmware_dir())
    if Path(firmware).is_absolute():
        maps.append(f"-ffile-prefix-map={firmware}=firmware")
    return ["$(", *(Literal(text) for text in maps), "$)"]


def _cache(env: Any) -> Path:
    return Path(env.Dir(f"#{build_dir(env)}").abspath) / ".toolchain.json"


def find_toolchain(env: Any, variant: VariantConfig) -> Toolchain:
    """The variant's cross compiler; its answers are remembered in the build folder.

    Raises:
        NeuralArtError: It is not there, or not as wanted.
    """
    cache = _cache(env)
    registry: Registry = env["NEURALART_REGISTRY"]
    where = variant.said("toolchain")
    return registry.once(
        "found",
        repr(variant.toolchain),
        lambda: toolchains.find(variant.toolchain, os.environ, cache=cache, where=where),
    )


def _recipe(env: Any, variant: VariantConfig, machine: Machine, found: Toolchain) -> _Recipe:
    flags = (*machine.cpu_flags, *found.libc_flags, *_C_FLAGS, variant.optimization, *_WARNINGS)
    text = "\n".join([found.identity, *flags, "", *variant.defines])
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return _Recipe(_toolchain_env(env["NEURALART_REGISTRY"], found), machine.cpu_flags, flags, variant.defines, digest)


def _object(recipe: _Recipe, target: str, source: Any, include: Sequence[Any], found: Toolchain) -> Any:
    env = recipe.env
    node = env.Object(
        f"#{target}",
        source,
        # Literal: neither SCons nor the shell changes what stands in a definition.
        CCFLAGS=[*recipe.flags, *(Literal(f"-D{text}") for text in recipe.defines), *_prefix_maps(env)],
        CPPPATH=list(include),
    )
    # The driver is hashed by SCons; the compiler proper and the C library are not.
    env.Depends(node, env.Value(found.identity, name="toolchain"))
    return node[0]


def _write_board_files(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.memory import linker

    def work() -> None:
        registry: Registry = env["NEURALART_REGISTRY"]
        board = registry.board(env["NEURALART_BOARD"])
        config, memory = linker.board_config_h(board), linker.memory_ld(board)
        write_text(Path(str(target[0])), config)
        write_text(Path(str(target[1])), memory)

    in_action(work, target, env)


def _write_app_networks(target: list[Any], source: list[Any], env: Any) -> None:
    from neuralart.files import write_text
    from neuralart.network import facts
    from neuralart.sources import app_networks

    def work() -> None:
        networks = [facts.load(Path(str(node))) for node in source if str(node).endswith("network.json")]
        write_text(Path(str(target[0])), app_networks.source(networks))

    in_action(work, target, env)


def _kernel_sources(variant: VariantConfig, board: Board, machine: Machine) -> list[Path]:
    """C files of the kernels. A file of MVE kernels stands for the file of the same name among the plain C ones.

    Raises:
        NeuralArtError: The machine has no such kernels.
    """
    if variant.kernels not in KERNELS:
        hint = nearest(variant.kernels, KERNELS)
        raise NeuralArtError(f"no kernels '{variant.kernels}'", where=variant.said("kernels"), hint=hint)
    folder = firmware_dir() / "runtime" / "kernels"
    chosen = {path.name: path for path in folder.glob("*.c")}
    if variant.kernels == "mve":
        if not machine.mve:
            able = [kind for kind, other in board.machines.items() if other.mve]
            raise NeuralArtError(
                f"kernels: mve, but machine {machine.kind} of board {board.name} runs no MVE code "
                f"({' '.join(machine.cpu_flags)})",
                where=variant.said("kernels"),
                hint=f"machine: {able[0]} does" if able else "kernels: c computes the same on every machine",
            )
        chosen.update({path.name: path for path in folder.with_name("kernels_mve").glob("*.c")})
    return [chosen[name] for name in sorted(chosen)]


def _board_folder(env: Any, board: Board, recipe: _Recipe) -> str:
    return f"{build_dir(env)}/firmware/{board.name}-{recipe.digest}"


def _kernel_objects(
    env: Any, variant: VariantConfig, board: Board, machine: Machine, recipe: _Recipe, found: Toolchain
) -> list[Any]:
    """The kernels; those that two variants of this board with these flags choose alike are shared."""
    registry: Registry = env["NEURALART_REGISTRY"]
    root = firmware_dir()
    include = [registry.base.Dir(str(root / "runtime" / "include"))]
    objects = []
    for source in _kernel_sources(variant, board, machine):
        stem = f"{_board_folder(env, board, recipe)}/{source.relative_to(root).with_suffix('.o').as_posix()}"
        objects.append(
            registry.once(
                "kernel-object",
                stem,
                lambda stem=stem, source=source: _object(  # type: ignore[misc]
                    recipe, stem, registry.base.File(str(source)), include, found
                ),
            )
        )
    return objects


def _board_objects(
    env: Any, board: Board, recipe: _Recipe, found: Toolchain, include: Sequence[Any]
) -> tuple[list[Any], Any]:
    """Runtime, start-up code and console driver: the same for every variant of this board with these flags."""
    registry: Registry = env["NEURALART_REGISTRY"]
    folder = _board_folder(env, board, recipe)

    def make() -> tuple[list[Any], Any]:
        base = registry.base
        files = base.Command(
            [f"#{folder}/board_config.h", f"#{folder}/memory.ld"],
            [],
            messages.function(_write_board_files, f"BOARD    {folder}", "NEURALART_BOARD"),
            NEURALART_BOARD=board.name,
        )
        base.Depends(files, base.Value(identity(board), name=f"board {board.name}"))
        base.Depends(files, base.Value(fingerprint("memory/linker.py"), name="linker-fragment"))
        root = firmware_dir()
        if board.console is None:
            raise NeuralArtError(
                "the board has no console", where=f"board {board.name}", hint="its YAML needs 'console:'"
            )
        sources = [*sorted((root / "runtime").glob("*.c")), *sorted((root / "runtime" / "memory").glob("*.c"))]
        sources += [*sorted((root / "boards").glob("*.c")), root / "boards" / "drivers" / f"{board.console.driver}.c"]
        paths = [base.Dir(f"#{folder}"), base.Dir(str(root / "boards")), *include]
        objects = []
        for source in sources:
            stem = source.relative_to(root).with_suffix(".o").as_posix()
            objects.append(_object(recipe, f"{folder}/{stem}", base.File(str(source)), paths, found))
        return objects, files[1]

    return registry.once("board-objects", folder, make)


def make_firmware(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> FirmwareNodes:
    """Declare the reference application's image of a variant.

    Raises:
        NeuralArtError: No cross compiler, no such kernels, or the board cannot carry the reference application.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    found = find_toolchain(env, variant)
    recipe = _recipe(env, variant, machine, found)
    base = registry.base
    root = firmware_dir()
    folder = f"{build_dir(env)}/{variant.name}"
    include = [base.Dir(str(root / "runtime" / "include"))]
    shared, memory_ld = _board_objects(env, board, recipe, found, include)
    kernels = _kernel_objects(env, variant, board, machine, recipe, found)
    table = base.Command(
        f"#{folder}/app_networks.c",
        [network.facts for network in networks],
        messages.function(_write_app_networks, f"SOURCES  {folder}/app_networks.c"),
    )
    base.Depends(table, base.Value(fingerprint("sources/app_networks.py"), name="app-networks"))
    app = root / "app"
    paths = [*initializers.include_dirs, base.Dir(str(app)), base.Dir(str(root / "boards")), *include]
    objects = []
    for source in sorted(app.glob("*.c")):
        objects.append(_object(recipe, f"{folder}/app/{source.stem}.o", base.File(str(source)), paths, found))
    for node in [table[0], *initializers.sources]:
        objects.append(_object(recipe, f"{folder}/{Path(str(node)).stem}.o", node, paths, found))
    for network in networks:
        stem = f"{network.folder}/obj-{recipe.digest}/{network.name}.o"
        objects.append(
            registry.once(
                "network-object",
                stem,
                lambda stem=stem, network=network: _object(recipe, stem, network.c, network.include_dirs, found),  # type: ignore[misc]
            )
        )
    elf, link_map = _link(recipe, folder, [*objects, *shared, *kernels], memory_ld, found)
    check = make_check(
        env,
        f"{folder}/check.json",
        elf,
        board,
        machine,
        networks,
        allow_reference=variant.allow_reference_on_hardware,
    )
    outputs = []
    for suffix, kind in (("bin", "binary"), ("hex", "ihex")):
        action, words = messages.command(recipe.env, ["$OBJCOPY", "-O", kind, "$SOURCE", "$TARGET"], "OBJCOPY  $TARGET")
        node = recipe.env.Command(f"#{folder}/firmware.{suffix}", elf, action, **words)[0]
        base.Requires(node, check)
        outputs.append(node)
    return FirmwareNodes(elf, outputs[0], outputs[1], link_map, check, found)


def _link(recipe: _Recipe, folder: str, objects: list[Any], memory_ld: Any, found: Toolchain) -> tuple[Any, Any]:
    env = recipe.env
    script = env.File(str(firmware_dir() / "boards" / "sections.ld"))
    script_path = named(env, Path(script.get_abspath()))
    script_words = ["$(", script_path, "$)"] if Path(script_path).is_absolute() else [script_path]
    elf = env.Program(
        [f"#{folder}/firmware.elf", f"#{folder}/firmware.map"],
        objects,
        LINKFLAGS=[
            *recipe.flags,
            *_LINK_FLAGS,
            f"-Wl,-Map={folder}/firmware.map",
            f"-L{memory_ld.dir}",
            "-T",
            *script_words,
        ],
    )
    env.Depends(elf, [script, memory_ld, env.Value(found.identity, name="toolchain")])
    env.Depends(
        elf, [env.fs.File(str(path)) for path in toolchains.libraries(found, recipe.cpu_flags, cache=_cache(env))]
    )
    return elf[0], elf[1]
