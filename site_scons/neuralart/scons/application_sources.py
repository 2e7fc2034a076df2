"""A program of the user's sources, that SCons compiles and links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import SCons.Scanner

from neuralart import toolchain as toolchains
from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.runtime import find as find_runtime
from neuralart.applications.sources import SourceSet, collect
from neuralart.applications.sources_lock import parts
from neuralart.applications.staging import Generated
from neuralart.boards.types import Board, Machine
from neuralart.config.application import ApplicationConfig
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.compiled import LL_ATON, NetworkNodes
from neuralart.scons.failures import in_action
from neuralart.scons.firmware import board_objects
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.linking import link_image
from neuralart.scons.paths import build_dir, named, top, word
from neuralart.scons.recipes import Recipe, cache_file, make_recipe
from neuralart.scons.registry import Registry
from neuralart.scons.user_objects import user_objects
from neuralart.toolchain import Toolchain

_LINK_FLAGS = ("-Wl,--gc-sections", "-Wl,--build-id=none")
# All files are named: what they include is not looked for in every file of a user's tree.
NOTHING_MORE = SCons.Scanner.ScannerBase(function=lambda node, env, path: [], name="nothing more")


def root_of(env: Any, variant: VariantConfig) -> Path:
    """What paths of the application are relative to."""
    if variant.folder:
        return top(env) / variant.folder
    return Path(env.Dir(".").srcnode().get_abspath())


def core_name(board: Board) -> str:
    """``CM55``: as libraries of the runtime name the core."""
    return board.cpu.replace("cortex-m", "CM")


def _renamed(tree: Path, chosen: SourceSet, vendor: VendorRuntime | None) -> tuple[str, ...]:
    """Names for folders outside the tree in debug information, so that another place for all gives equal programs."""
    found: dict[str, str] = {}
    for path in (*chosen.files, *chosen.include_dirs):
        try:
            common = os.path.commonpath([tree, os.path.normpath(path)])
        except ValueError:
            continue  # another drive
        if Path(common) not in (tree, Path(common).parent):
            found[common] = Path(os.path.relpath(common, tree)).as_posix()
    # The most specific one comes last.
    renamed = [f"{folder}={found[folder]}" for folder in sorted(found, key=len)]
    if vendor is not None and not vendor.root.is_relative_to(tree):
        renamed.append(f"{vendor.root}=runtime")
    return tuple(renamed)


def _check_versions(target: list[Any], source: list[Any], env: Any) -> None:
    import sys

    from neuralart.applications.sources_lock import check_sources
    from neuralart.files import write_text

    def work() -> None:
        chosen, vendor, names, libc, where, core = env["NEURALART_LOCK"]
        # The networks' C comes first among the sources.
        files = [Generated(name, Path(str(node))) for name, node in zip(names, source, strict=False)]
        notes = check_sources(
            chosen, vendor, files, libc=libc, libc_where=where, core=core, shown=lambda path: named(env, path)
        )
        for note in notes:
            print(f"{note.where}: {note.level}: {note.what}", file=sys.stderr)
        write_text(Path(str(target[0])), "".join(f"{note.what}\n" for note in notes))

    in_action(work, target, env)


def _lock(
    base: Any,
    folder: str,
    variant: VariantConfig,
    board: Board,
    networks: Sequence[NetworkNodes],
    chosen: SourceSet,
    vendor: VendorRuntime | None,
    found: Toolchain,
) -> Any:
    """What is compiled and linked belongs together; looked at before anything is compiled."""
    names, core = [network.name for network in networks], core_name(board)
    node = base.Command(
        f"#{folder}/versions.txt",
        [*(network.c for network in networks), *(base.fs.File(str(path)) for path in parts(chosen, vendor))],
        messages.function(_check_versions, f"VERSIONS {folder}/versions.txt"),
        NEURALART_LOCK=[chosen, vendor, names, found.libc, variant.said("toolchain.libc"), core],
        source_scanner=NOTHING_MORE,
    )
    base.Depends(node, base.Value(f"{' '.join(names)}; {found.libc}; {core}", name="locked"))
    # The report beside a network's C names the release of the tool.
    base.Depends(node, [network.report for network in networks])
    base.Depends(node, base.Value(fingerprint("applications/sources_lock.py"), name="version-lock"))
    return node[0]


def _runtime(
    config: ApplicationConfig, root: Path, board: Board, networks: Sequence[NetworkNodes]
) -> VendorRuntime | None:
    """The vendor's runtime that an application names.

    Raises:
        NeuralArtError: A network needs one, and none is named.
    """
    assert config.sources is not None
    if config.sources.runtime:
        return find_runtime(root / config.sources.runtime, core_name(board), config.said("runtime"))
    for network in networks:
        if network.runtime == LL_ATON:
            raise NeuralArtError(
                f"network {network.name} needs runtime ll_aton, and the application names none",
                where=config.said(),
                hint="application: {sources: {runtime: FOLDER}}: your Middlewares/ST/AI, or the installed tool",
            )
    return None


def compiled(
    env: Any,
    config: ApplicationConfig,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    found: Toolchain,
) -> tuple[Any, Any]:
    """Declare the program of the user's sources.

    Returns:
        ELF and map.

    Raises:
        NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    root = root_of(env, variant)
    chosen = collect(config, root)
    vendor = _runtime(config, root, board, networks)
    defines = (*variant.defines, *chosen.defines, *(vendor.defines if vendor is not None else ()))
    plain = make_recipe(env, replace(variant, defines=defines), machine, found)
    recipe = replace(plain, renamed=_renamed(top(env), chosen, vendor))
    folder = f"{build_dir(env)}/{variant.name}"
    paths: list[Any] = [base.fs.Dir(str(path)) for path in chosen.include_dirs]
    paths += [base.fs.Dir(str(path)) for path in (vendor.include_dirs if vendor is not None else ())]
    paths += [*initializers.include_dirs, *(each for network in networks for each in network.include_dirs)]
    sources: list[Any] = [base.fs.File(str(path)) for path in chosen.files]
    sources += [node for network in networks for node in network.code]
    sources += initializers.sources
    if vendor is not None:
        sources += [base.fs.File(str(path)) for path in vendor.sources]
    else:
        sources += networks[0].runtime_sources
    objects = user_objects(registry, recipe, f"{folder}/obj", sources, list(dict.fromkeys(paths)), found)
    base.Requires(objects, _lock(base, folder, variant, board, networks, chosen, vendor, found))
    if chosen.linker_script is None and vendor is None:
        # Shared with other variants: nothing of the user's is in their paths.
        own = [base.fs.Dir(str(firmware_dir() / "runtime" / "include"))]
        _, memory_ld = board_objects(env, board, plain, found, own)
        return link_image(recipe, folder, objects, memory_ld, found)
    if chosen.linker_script is None:
        raise NeuralArtError(
            "a program with the vendor's runtime needs a linker script of its own",
            where=config.said(),
            hint="application: {sources: {linker_script: FILE}}",
        )
    return _linked(recipe, folder, objects, chosen, vendor, found)


def _linked(
    recipe: Recipe,
    folder: str,
    objects: list[Any],
    chosen: SourceSet,
    vendor: VendorRuntime | None,
    found: Toolchain,
) -> tuple[Any, Any]:
    """Link with the user's linker script and libraries."""
    assert chosen.linker_script is not None
    env = recipe.env
    archives = [*chosen.archives, *([vendor.archive] if vendor is not None and vendor.archive is not None else [])]
    script = env.fs.File(str(chosen.linker_script))
    files = [env.fs.File(str(path)) for path in archives]
    elf = env.Program(
        [f"#{folder}/firmware.elf", f"#{folder}/firmware.map"],
        [*objects, *files],
        LINKFLAGS=[
            *recipe.flags,
            *_LINK_FLAGS,
            f"-Wl,-Map={folder}/firmware.map",
            "-T",
            *word(env, chosen.linker_script),
        ],
        LIBS=list(chosen.libraries),
    )
    env.Depends(elf, [script, env.Value(found.identity, name="toolchain")])
    libraries = toolchains.libraries(found, recipe.cpu_flags, cache=cache_file(env))
    env.Depends(elf, [env.fs.File(str(path)) for path in libraries])
    return elf[0], elf[1]
