"""The user's own application: SCons compiles its sources, or its own build runs in a copy of its tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from SCons.Subst import Literal

from neuralart import toolchain as toolchains
from neuralart.applications import arguments
from neuralart.applications.build import inputs
from neuralart.applications.runtime import VendorRuntime
from neuralart.applications.runtime import find as find_runtime
from neuralart.applications.sources import SourceSet, collect
from neuralart.applications.staging import Generated, is_copied
from neuralart.boards.types import Board, Machine
from neuralart.config.application_types import ELF, SOURCES, ApplicationConfig
from neuralart.config.types import VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.scons import messages
from neuralart.scons.firmware import FirmwareNodes, board_objects, finish_image, link_image
from neuralart.scons.initializers import InitializerNodes
from neuralart.scons.network import LL_ATON, NetworkNodes
from neuralart.scons.paths import build_dir, named, top, word
from neuralart.scons.recipes import Recipe, cache_file, compile_object, find_toolchain, make_recipe, toolchain_env
from neuralart.scons.registry import Registry
from neuralart.toolchain import Toolchain

# A vendor's runtime is built for the core itself, not for the baseline that virtual boards execute.
_CORE_FLAGS = {
    "cortex-m55": ("-mcpu=cortex-m55", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard", "-mthumb"),
}
_LINK_FLAGS = ("-Wl,--gc-sections", "-Wl,--build-id=none")


def root_of(env: Any, variant: VariantConfig) -> Path:
    """What paths of the application are relative to."""
    if variant.folder:
        return top(env) / variant.folder
    return Path(env.Dir(".").srcnode().get_abspath())


def core_name(board: Board) -> str:
    """``CM55``: as libraries of the runtime name the core."""
    return board.cpu.replace("cortex-m", "CM")


def core_machine(board: Board, machine: Machine, networks: Sequence[NetworkNodes]) -> Machine:
    """The machine with the flags of the core itself where a vendor's runtime needs them."""
    if all(network.runtime != LL_ATON for network in networks):
        return machine
    return replace(machine, cpu_flags=_CORE_FLAGS.get(board.cpu, machine.cpu_flags))


def _generated(networks: Sequence[NetworkNodes], initializers: InitializerNodes) -> list[tuple[str, Any]]:
    """Files that an application copies: (network or empty, node)."""
    found = [(network.name, node) for network in networks for node in network.files if is_copied(Path(str(node)).name)]
    common = [initializers.header, initializers.io_header, *initializers.sources]
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
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    root = root_of(env, variant)
    folder = f"{build_dir(env)}/{variant.name}"
    # As the command sees it, which runs in the top folder.
    if config.kind == ELF:
        path = root / config.elf
        placed = replace(config, elf=named(env, path))
        tree = [base.File(str(path))]
    else:
        assert config.external is not None
        where = root / config.external.folder
        placed = replace(config, external=replace(config.external, folder=named(env, where)))
        avoid = (Path(base.Dir(f"#{build_dir(env)}").abspath),)
        tree = [base.File(str(path)) for _, path in sorted(inputs(config, root, avoid).files.items())]
    generated = [] if config.kind == ELF else _generated(networks, initializers)
    command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "application", "build", "--quiet"]
    command += [Literal(text) for text in arguments.words(placed)]
    command += [
        Literal(text)
        for text in arguments.generated_words([Generated(name, Path(str(node))) for name, node in generated])
    ]
    command += ["$(", *(Literal(text) for text in arguments.places(config)), "$)"]
    command += ["--core", core_name(board), "--work", f"{folder}/application", "--output", f"{folder}/firmware.elf"]
    command += ["--toolchain", *word(base, Path(found.folder)), "$(", "--jobs", str(env.GetOption("num_jobs")), "$)"]
    tools = toolchain_env(registry, found)
    action, words = messages.command(tools, command, f"{config.kind.upper():<8} {folder}/firmware.elf")
    node = tools.Command(
        f"#{folder}/firmware.elf",
        [*tree, *(node for _, node in generated)],
        action,
        **words,
        IMPLICIT_COMMAND_DEPENDENCIES=0,
    )
    tools.Depends(node, base.Value(fingerprint("applications/build.py"), name="application-builder"))
    tools.Depends(node, base.Value(found.identity, name="toolchain"))
    tools.Clean(node, base.fs.Dir(f"#{folder}/application"))
    return node[0]


def _objects(recipe: Recipe, folder: str, sources: Sequence[Any], paths: Sequence[Any], found: Toolchain) -> list[Any]:
    """One object for each source; sources of one name in several folders have objects of several names."""
    made: list[Any] = []
    taken: dict[str, int] = {}
    for source in sources:
        stem = Path(str(source)).stem
        taken[stem] = taken.get(stem, 0) + 1
        name = stem if taken[stem] == 1 else f"{stem}.{taken[stem]}"
        made.append(compile_object(recipe, f"{folder}/obj/{name}.o", source, paths, found))
    return made


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


def _compiled(
    env: Any,
    config: ApplicationConfig,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
    found: Toolchain,
) -> tuple[Any, Any]:
    """The program of the user's sources: ELF and map."""
    registry: Registry = env["NEURALART_REGISTRY"]
    base = registry.base
    root = root_of(env, variant)
    chosen = collect(config, root)
    vendor = _runtime(config, root, board, networks)
    defines = (*variant.defines, *chosen.defines, *(vendor.defines if vendor is not None else ()))
    recipe = make_recipe(env, replace(variant, defines=defines), machine, found)
    folder = f"{build_dir(env)}/{variant.name}"
    paths: list[Any] = [base.Dir(str(path)) for path in chosen.include_dirs]
    paths += [base.Dir(str(path)) for path in (vendor.include_dirs if vendor is not None else ())]
    paths += [*initializers.include_dirs, *(each for network in networks for each in network.include_dirs)]
    sources: list[Any] = [base.File(str(path)) for path in chosen.files]
    sources += [node for network in networks for node in network.code]
    sources += initializers.sources
    if vendor is not None:
        sources += [base.File(str(path)) for path in vendor.sources]
    else:
        sources += networks[0].runtime_sources
    objects = _objects(recipe, folder, sources, list(dict.fromkeys(paths)), found)
    if chosen.linker_script is None and vendor is None:
        _, memory_ld = board_objects(env, board, recipe, found, paths)
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
    env = recipe.env
    archives = [*chosen.archives, *([vendor.archive] if vendor is not None and vendor.archive is not None else [])]
    script = env.File(str(chosen.linker_script))
    files = [env.File(str(path)) for path in archives]
    elf = env.Program(
        [f"#{folder}/firmware.elf", f"#{folder}/firmware.map"],
        [*objects, *files],
        LINKFLAGS=[*recipe.flags, *_LINK_FLAGS, f"-Wl,-Map={folder}/firmware.map", "-T", *word(env, Path(str(script)))],
        LIBS=list(chosen.libraries),
    )
    env.Depends(elf, [script, env.Value(found.identity, name="toolchain")])
    libraries = toolchains.libraries(found, recipe.cpu_flags, cache=cache_file(env))
    env.Depends(elf, [env.fs.File(str(path)) for path in libraries])
    return elf[0], elf[1]


def make_application(
    env: Any,
    variant: VariantConfig,
    board: Board,
    machine: Machine,
    networks: Sequence[NetworkNodes],
    initializers: InitializerNodes,
) -> FirmwareNodes:
    """Declare the image of a variant whose application is the user's own.

    Raises:
        NeuralArtError: A file or folder is not there, or parts do not go together.
    """
    config = variant.application
    found = find_toolchain(env, variant.toolchain, variant.said("toolchain"))
    link_map = None
    if config.kind == SOURCES:
        elf, link_map = _compiled(env, config, variant, board, machine, networks, initializers, found)
    else:
        elf = _external(env, config, variant, board, networks, initializers, found)
    return finish_image(env, variant, board, machine, networks, elf, link_map, found)
