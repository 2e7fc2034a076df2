"""The user's application: SCons compiles its C, C++ and assembler, or its own build runs in a copy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import SCons.Node.FS
import SCons.Scanner

from neuralart.applications import cli
from neuralart.applications.build import inputs
from neuralart.applications.content_cache import digest
from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.runtime import find as find_runtime
from neuralart.applications.sources import SourceSet, collect
from neuralart.applications.staging import Generated, is_copied
from neuralart.boards.types import Board, Machine
from neuralart.config.application import ELF, REFERENCE, SOURCES, ApplicationConfig
from neuralart.config.types import KERNELS, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.resources import firmware_dir
from neuralart.scons import commands
from neuralart.scons.application.versions import core_name, version_node
from neuralart.scons.commands import NO_INCLUDES
from neuralart.scons.firmware.firmware import (
    FirmwareNodes,
    finish_image,
    kernel_library,
    program_library,
    runtime_library,
)
from neuralart.scons.firmware.initializers import InitializerNodes
from neuralart.scons.firmware.recipes import (
    CXX_SUFFIXES,
    LINK_FLAGS,
    Recipe,
    board_script,
    compile_object,
    find_toolchain,
    link,
    make_recipe,
    toolchain_env,
)
from neuralart.scons.network.nodes import LL_ATON, NetworkNodes
from neuralart.scons.paths import LiteralWord, build_dir, top, word
from neuralart.scons.registry import code_value, fact, registry_of
from neuralart.toolchain import Toolchain
from neuralart.vendor.runtime_header import RUNTIME_HEADER

if TYPE_CHECKING:
    from neuralart.scons.flash.images import ModelNodes

_BUILDERS = ("applications/build.py", "applications/cli.py")
_ASSEMBLER = (".s", ".S")
# Without these each C++ file needs a part of libstdc++ that runs at exit, which a microcontroller never reaches.
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
    if suffix not in (*CXX_SUFFIXES, *_ASSEMBLER):
        return recipe
    flags = tuple(flag for flag in recipe.flags if not flag.startswith("-std="))
    env = _more_languages(recipe)
    if suffix in CXX_SUFFIXES:
        return replace(recipe, env=env, flags=(*flags, *_CXX_FLAGS))
    # gcc tells the assembler this option only.
    return replace(recipe, env=env, flags=flags, rename="-fdebug-prefix-map")


def object_names(sources: Sequence[Path]) -> list[str]:
    """Make an object's name for each source, without suffix. Equal names in several folders get different ones, also if
    only case differs.
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


_SCRIPTS = SCons.Scanner.Classic("scripts", [], "LIBPATH", r'(?m)^[ \t]*INCLUDE[ \t]+"?((?<=")[^"\n]+|[^\s";]+)')
_LINK_FLAGS = ("-Wl,--gc-sections", "-Wl,--build-id=none")


def root_of(env: Any, variant: VariantConfig) -> Path:
    """The folder where paths of the application start."""
    if variant.folder:
        return top(env) / variant.folder
    return Path(env.Dir(".").srcnode().get_abspath())


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


def _runtime(
    config: ApplicationConfig, root: Path, board: Board, networks: Sequence[NetworkNodes], *, loads: bool
) -> VendorRuntime | None:
    """The vendor's runtime that an application names. NeuralArtError: A network needs one, and none is named."""
    assert config.sources is not None
    if config.sources.runtime:
        return find_runtime(root / config.sources.runtime, core_name(board), config.said("runtime"), loads=loads)
    for network in networks:
        if network.runtime == LL_ATON:
            what = f"network {network.name} needs runtime {LL_ATON}, and the application names none"
            hint = "application: {sources: {runtime: FOLDER}}: your Middlewares/ST/AI, or the installed tool"
            raise NeuralArtError(what, where=config.said(), hint=hint)
    return None


def _compiled(
    env: Any,
    config: ApplicationConfig,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    found: Toolchain,
) -> tuple[Any, Any, VendorRuntime | None]:
    """Declare the program of the user's sources: image, map, and the vendor's runtime in it.
    NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    base = registry_of(env).base
    root = root_of(env, variant)
    chosen = collect(config, root)
    loaded, stamped = variant.relocatable, networks
    vendor = _runtime(config, root, board, networks, loads=loaded is not None)
    defines = (*variant.defines, *chosen.defines, *(vendor.defines if vendor is not None else ()))
    if loaded is not None:
        # Code and constants of the network are in its model, which the program finds in flash.
        defines, networks = (*defines, *loaded.loader_defines), ()
    plain = make_recipe(env, replace(variant, defines=defines), machine, found)
    recipe = replace(plain, renamed=_renamed(top(env), chosen, vendor))
    folder = f"{build_dir(env)}/{variant.name}"
    paths: list[Any] = [base.fs.Dir(str(path)) for path in chosen.include_dirs]
    paths += [base.fs.Dir(str(path)) for path in (vendor.include_dirs if vendor is not None else ())]
    paths += [*initializers.include_dirs, *(each for network in networks for each in network.include_dirs)]
    if vendor is None:
        below = ("boards", "runtime/include") if loaded is not None else ("boards",)
        paths += [base.fs.Dir(str(firmware_dir() / each)) for each in below]
    sources: list[Any] = [base.fs.File(str(path)) for path in chosen.files]
    sources += [node for network in networks for node in network.code]
    sources += initializers.sources
    sources += [base.fs.File(str(path)) for path in (vendor.sources if vendor is not None else ())]
    objects = user_objects(recipe, f"{folder}/obj", sources, list(dict.fromkeys(paths)))
    base.Requires(objects, version_node(base, folder, variant, board, stamped, chosen, vendor, found))
    archives = [base.fs.File(str(path)) for path in chosen.archives]
    if vendor is None:
        # Shared with other variants: nothing of the user's is in their paths.
        shared = [runtime_library(env, plain)]
        shared += [kernel_library(env, variant, board, machine, plain)] if loaded is None else []
    elif chosen.linker_script is None:
        what = "a program with the vendor's runtime needs a linker script of its own"
        raise NeuralArtError(what, where=config.said(), hint="application: {sources: {linker_script: FILE}}")
    else:
        objects += [*archives, *([base.fs.File(str(vendor.archive))] if vendor.archive is not None else [])]
        archives, shared = [], []
    if chosen.linker_script is not None:
        made = link(recipe, folder, objects, chosen.linker_script, (), _LINK_FLAGS, chosen.libraries, archives + shared)
        script = base.fs.File(str(chosen.linker_script))
        base.Depends(made, script.get_implicit_deps(base, _SCRIPTS, lambda _: (base.fs.Top,)))
    else:
        library, memory_ld = program_library(env, board, plain)
        shared.append(library)
        flags = (*LINK_FLAGS, "-Wl,--wrap=main")
        every = archives + shared
        made = link(recipe, folder, objects, board_script(), [memory_ld], flags, chosen.libraries, every)
    return *made, vendor


# A vendor's runtime is built for the core itself, not for the baseline that virtual boards execute.
_CORE_FLAGS = {
    "cortex-m55": ("-mcpu=cortex-m55", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
}


def core_machine(board: Board, machine: Machine, networks: Sequence[NetworkNodes]) -> Machine:
    """The machine with the core's own flags, if a vendor's runtime needs them."""
    if all(network.runtime != LL_ATON for network in networks):
        return machine
    return replace(machine, cpu_flags=_CORE_FLAGS.get(board.cpu, machine.cpu_flags))


def refuse_settings(variant: VariantConfig) -> None:
    """Refuse what only the reference application can have: it would be ignored.
    NeuralArtError: The application is the user's own, and a setting is not for it.
    """
    if variant.application.kind == REFERENCE:
        return
    sources = variant.application.sources
    if variant.kernels != KERNELS[0] and (sources is None or sources.runtime):
        what = f"kernels: {variant.kernels}, but the application brings its own"
        hint = "only programs with the runtime of this project have a choice"
        raise NeuralArtError(what, where=variant.said("kernels"), hint=hint)


def _c_stem(network: NetworkNodes) -> str:
    """Name of its C without suffix, where that is not its own."""
    stem = Path(str(network.c)).stem
    return stem if stem != network.name else ""


def _generated(networks: Sequence[NetworkNodes], initializers: InitializerNodes) -> list[tuple[Generated, Any]]:
    """Files that an application copies, and their nodes."""
    found = [(network.name, _c_stem(network), node) for network in networks for node in network.files]
    common = [initializers.header, *initializers.headers, initializers.io_header, *initializers.sources]
    copied = [row for row in found if is_copied(Path(str(row[2])).name)]
    files = [*copied, *(("", "", node) for node in common)]
    return [(Generated(name, Path(str(node)), stem), node) for name, stem, node in files]


def external_program(
    env: Any,
    config: ApplicationConfig,
    variant: VariantConfig,
    board: Board,
    generated: Sequence[tuple[Generated, Any]],
    found: Toolchain,
) -> Any:
    """The program of an external build, or one that is linked already. ``generated``: files for it, and their nodes."""
    base = registry_of(env).base
    root = root_of(env, variant)
    folder = f"{build_dir(env)}/{variant.name}"
    if config.kind == ELF:
        tree, files, made = [base.fs.File(str(root / config.elf))], None, {}
    else:
        assert config.external is not None
        files = inputs(config, root, (Path(base.Dir(f"#{build_dir(env)}").abspath),))
        made = _made_below(base, root / config.external.folder)
        tree = [made[name] for name in sorted(made) if name in files.files]
    command: list[Any] = ["application", "build", "--quiet", "$(", "--force", "$)"]
    command += [LiteralWord(text) for text in cli.words(config)]
    command += [LiteralWord(text) for text in cli.generated_words([item for item, _ in generated])]
    command += ["$(", *(LiteralWord(text) for text in cli.places(config)), "$)"]
    command += ["--core", core_name(board), "--work", f"{folder}/application", "--output", f"{folder}/firmware.elf"]
    if variant.toolchain.libc != "auto":
        command += ["--libc", variant.toolchain.libc]
        command += ["$(", LiteralWord(f"--place=libc={variant.said('toolchain.libc')}"), "$)"]
    command += [LiteralWord(f"--tolerate={flag}") for flag in variant.toolchain.tolerate]
    # Which toolchain counts by what it is, not by its folder.
    command += ["$(", "--root", *_plain(word(base, root)), "--toolchain", *_plain(word(base, Path(found.folder)))]
    command += ["--made-with", LiteralWord(found.counts), "--jobs", str(env.GetOption("num_jobs")), "$)"]
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
    tools.Depends(node, code_value(base, "application-builder", *_BUILDERS))
    tools.Depends(node, fact(found.counts, name="toolchain"))
    if files is not None:
        record = Path(base.Dir(f"#{build_dir(env)}").abspath) / f".seen-{variant.name}.json"
        seen = replace(files, files={name: path for name, path in files.files.items() if name not in made})
        tools.Depends(node, fact(digest(seen, record), name="tree"))
        node[0].attributes.neuralart_files = tuple(files.files.values())
        tools.Clean(node, base.fs.File(str(record)))
    tools.Clean(node, base.fs.Dir(f"#{folder}/application"))
    return node[0]


def _made_below(base: Any, folder: Path) -> dict[str, Any]:
    """Files below a folder that the SConstruct itself makes, by their paths: a build of the tree waits for them."""
    found: dict[str, Any] = {}
    todo = [("", base.fs.Dir(str(folder)))]
    while todo:
        below, place = todo.pop()
        for name, node in place.entries.items():
            if isinstance(node, SCons.Node.FS.Dir):
                todo += [(f"{below}{name}/", node)] if name not in (".", "..") else []
            elif node.has_builder():
                found[below + name] = node
    return found


def _plain(words: list[Any]) -> list[Any]:
    """Words without the marks that keep them out of a signature, for a place that is kept out anyway."""
    return [item for item in words if item not in ("$(", "$)")]


def _check_loader(
    env: Any, variant: VariantConfig, board: Board, networks: Sequence[NetworkNodes], program: Any, found: Toolchain
) -> None:
    """Before the user's own build: is the runtime in the tree the one that the network of the model was made for?"""
    tree: tuple[Path, ...] = program.attributes.neuralart_files
    folders = dict.fromkeys(path.parent for path in tree if path.name == RUNTIME_HEADER)
    base, folder = registry_of(env).base, f"{build_dir(env)}/{variant.name}"
    runtime = SourceSet((), include_dirs=tuple(folders))
    base.Requires(program, version_node(base, folder, variant, board, networks, runtime, None, found))


def make_application(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    model: ModelNodes | None = None,
) -> FirmwareNodes:
    """Declare the image of a variant whose application is the user's own. ``model``: what it loads; None: the networks
    are linked into it. NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    config = variant.application
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    link_map = vendor = None
    if config.kind == SOURCES:
        elf, link_map, vendor = _compiled(env, config, variant, board, machine, networks, initializers, found)
    else:
        generated = [] if config.kind == ELF else _generated(networks if model is None else (), initializers)
        if model is not None and config.kind != ELF:
            generated += [(Generated("", Path(str(node))), node) for node in model.c]
        elf = external_program(env, config, variant, board, generated, found)
        if model is not None and config.kind != ELF:
            _check_loader(env, variant, board, networks, elf, found)
    address = initializers.layout.application
    linked = networks if model is None else ()
    return replace(finish_image(env, variant, board, machine, linked, elf, link_map, found, address), vendor=vendor)
