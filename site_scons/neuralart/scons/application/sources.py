"""A program of the user's sources, that SCons compiles and links: C, and C++ and assembler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.runtime import find as find_runtime
from neuralart.applications.sources import SourceSet, collect
from neuralart.applications.staging import Generated
from neuralart.applications.version_lock import parts
from neuralart.boards.types import Board, Machine
from neuralart.config.application import ApplicationConfig
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.resources import firmware_dir
from neuralart.scons import commands
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.failures import in_action
from neuralart.scons.firmware.firmware import board_objects
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.recipes import Recipe, compile_object, link, link_image, make_recipe
from neuralart.scons.network.nodes import LL_ATON, NetworkNodes
from neuralart.scons.paths import build_dir, named, top
from neuralart.scons.registry import code_value, registry_of
from neuralart.toolchain import Toolchain

_CXX = (".cc", ".cpp", ".cxx")
_ASSEMBLER = (".s", ".S")
# Without these each C++ file needs a part of libstdc++ that says goodbye to nobody on a microcontroller.
_CXX_FLAGS = ("-fno-exceptions", "-fno-rtti", "-fno-use-cxa-atexit")
# gcc decides by the suffix whether it preprocesses.
_ASSEMBLE = "$CC $CCFLAGS $_CCCOMCOM -c -o $TARGET $SOURCES"


def _more_languages(recipe: Recipe) -> Any:
    """The environment with the toolchain's C++ compiler and its assembler behind gcc."""
    found = recipe.found

    def make() -> Any:
        made = recipe.env.Clone()
        for tool in ("as", "c++"):
            made.Tool(tool)
        quiet = not made["NEURALART_VERBOSE"]
        made.Replace(
            CXX=f"{found.prefix}g++",
            CXXFLAGS=[],
            OBJSUFFIX=".o",
            CXXCOMSTR="CXX      $TARGET" if quiet else "",
            ASCOM=_ASSEMBLE,
            ASPPCOM=_ASSEMBLE,
            ASCOMSTR="AS       $TARGET" if quiet else "",
            ASPPCOMSTR="AS       $TARGET" if quiet else "",
        )
        return made

    return registry_of(recipe.env).once("languages", f"{found.folder}|{found.prefix}", make)


def _recipe(recipe: Recipe, suffix: str) -> Recipe:
    if suffix not in (*_CXX, *_ASSEMBLER):
        return recipe
    flags = tuple(flag for flag in recipe.flags if not flag.startswith("-std="))
    env = _more_languages(recipe)
    if suffix in _CXX:
        return replace(recipe, env=env, flags=(*flags, *_CXX_FLAGS))
    # gcc tells the assembler this option only.
    return replace(recipe, env=env, flags=flags, rename="-fdebug-prefix-map")


def object_names(sources: Sequence[Path]) -> list[str]:
    """A name for the object of each source, without its suffix.

    Sources of one name in several folders get several names, also where upper and lower case are the same.
    """
    taken: set[str] = set()
    made = []
    for source in sources:
        name, count = source.stem, 1
        while name.casefold() in taken:
            count += 1
            name = f"{source.stem}.{count}"
        taken.add(name.casefold())
        made.append(name)
    return made


def user_objects(recipe: Recipe, folder: str, sources: Sequence[Any], paths: Sequence[Any]) -> list[Any]:
    """Declare one object for each source. ``folder``: for the objects, relative to the top folder."""
    names = object_names([Path(str(source)) for source in sources])
    return [
        compile_object(_recipe(recipe, Path(str(source)).suffix), f"{folder}/{name}.o", source, paths)
        for name, source in zip(names, sources, strict=True)
    ]


_LINK_FLAGS = ("-Wl,--gc-sections", "-Wl,--build-id=none")


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


@in_action
def _check_versions(target: list[Any], source: list[Any], env: Any) -> None:
    import sys

    from neuralart.applications.version_lock import check_sources

    chosen, vendor, names, libc, where, core = env["NEURALART_LOCK"]
    # The networks' C comes first among the sources.
    files = [Generated(name, Path(str(node))) for name, node in zip(names, source, strict=False)]
    notes = check_sources(
        chosen, vendor, files, libc=libc, libc_where=where, core=core, shown=lambda path: named(env, path)
    )
    for note in notes:
        print(f"{note.where}: {note.level}: {note.what}", file=sys.stderr)
    write_text(Path(str(target[0])), "".join(f"{note.what}\n" for note in notes))


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
        commands.function(_check_versions, f"VERSIONS {folder}/versions.txt"),
        NEURALART_LOCK=[chosen, vendor, names, found.libc, variant.said("toolchain.libc"), core],
        source_scanner=NO_INCLUDES,
    )
    base.Depends(node, base.Value(f"{' '.join(names)}; {found.libc}; {core}", name="locked"))
    # The report beside a network's C names the release of the tool.
    base.Depends(node, [network.report for network in networks])
    base.Depends(node, code_value(base, "version-lock", "applications/version_lock.py"))
    return node[0]


def _runtime(
    config: ApplicationConfig, root: Path, board: Board, networks: Sequence[NetworkNodes]
) -> VendorRuntime | None:
    """The vendor's runtime that an application names. NeuralArtError: A network needs one, and none is named."""
    assert config.sources is not None
    if config.sources.runtime:
        return find_runtime(root / config.sources.runtime, core_name(board), config.said("runtime"))
    for network in networks:
        if network.runtime == LL_ATON:
            raise NeuralArtError(
                f"network {network.name} needs runtime {LL_ATON}, and the application names none",
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
    NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    base = registry_of(env).base
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
    objects = user_objects(recipe, f"{folder}/obj", sources, list(dict.fromkeys(paths)))
    base.Requires(objects, _lock(base, folder, variant, board, networks, chosen, vendor, found))
    if chosen.linker_script is None and vendor is None:
        # Shared with other variants: nothing of the user's is in their paths.
        own = [base.fs.Dir(str(firmware_dir() / "runtime" / "include"))]
        _, memory_ld = board_objects(env, board, plain, own)
        return link_image(recipe, folder, objects, memory_ld)
    if chosen.linker_script is None:
        raise NeuralArtError(
            "a program with the vendor's runtime needs a linker script of its own",
            where=config.said(),
            hint="application: {sources: {linker_script: FILE}}",
        )
    archives = [*chosen.archives, *([vendor.archive] if vendor is not None and vendor.archive is not None else [])]
    objects += [base.fs.File(str(path)) for path in archives]
    return link(recipe, folder, objects, chosen.linker_script, flags=_LINK_FLAGS, libraries=chosen.libraries)
