"""How C is compiled and linked for a board: machine, toolchain, flags, and one folder name for all of them."""

from __future__ import annotations

import atexit
import copy
import hashlib
import os
from collections.abc import Iterable, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import SCons.Action
import SCons.Builder
import SCons.Node
import SCons.Scanner.C
import SCons.Tool

from neuralart import toolchain as toolchains
from neuralart.boards.types import Board, Machine
from neuralart.config.types import ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass, lazy_regex
from neuralart.resources import firmware_dir
from neuralart.scons import commands, paths
from neuralart.scons.paths import TOOLCHAIN_CACHE, LiteralWord, build_dir, named, top, word
from neuralart.scons.registry import fact, registry_of
from neuralart.toolchain import Toolchain


def machine_of(variant: VariantConfig, board: Board) -> Machine:
    """The machine of a variant: the one it names, else the board's first. NeuralArtError: the board has no such
    machine.
    """
    known = list(board.machines)
    name = variant.machine or (known[0] if known else "")
    if name not in board.machines:
        hint = nearest(name, known)
        raise NeuralArtError(f"board {board.name} has no machine '{name}'", where=variant.said("machine"), hint=hint)
    return board.machines[name]


_WARNINGS = ("-Wall", "-Wextra")
CXX_SUFFIXES = (".cc", ".cpp", ".cxx")
# Macros may name headers, __has_include asks for them, assemblers read files, too. What is no file is only a text.
_NAME = r'\\?(<|")([^<>"\\\n]+)\\?(>|")'
_LINE = r"^[ \t]*#[ \t]*(?:include(?:_next)?|import|embed|define[ \t]+\w+(?=(?:[^.\n]|\\\n)*\.[A-Za-z]))(?:[ \t]|\\\n)*"
_INSIDE = r'__has_(?:include(?:_next)?|embed)[ \t]*\([ \t]*|(?:incbin|INCBIN|\.include)[^<"\n]*?'


@dataclass(frozen=True)
class Recipe:
    """How objects of one kind are compiled: environment, flags, and a folder name that is unique to both."""

    env: Any  # With the toolchain
    found: Toolchain
    cpu_flags: tuple[str, ...]  # Of the machine
    flags: tuple[str, ...]  # All but definitions
    defines: tuple[str, ...]  # ``NAME`` or ``NAME=value``
    digest: str  # Stands for the flags in names of folders
    renamed: tuple[str, ...] = ()  # ``FOLDER=NAME``: folders outside the tree as debug information names them
    rename: str = "-ffile-prefix-map"  # The option that does so


class WatchedTools:
    """Runs the commands of an environment in place of its ``SPAWN``, and explains failed compiles and links."""

    def __init__(self, made: Any, prefix: str) -> None:
        """Take over from an environment. ``prefix``: of the names of the tools that are watched."""
        self._plain, self._captured = paths.direct(made["SPAWN"]), paths.direct(made["PSPAWN"])
        self._prefix = prefix

    def __call__(self, sh: str, escape: Any, cmd: str, args: list[str], env: dict[str, str]) -> int:
        """Run a command. SCons.Errors.BuildError: compiler or linker failed, in one line."""
        words = paths.words_of(args)
        if not words or words[0] not in (f"{self._prefix}gcc", f"{self._prefix}g++"):
            return int(self._plain(sh, escape, cmd, args, env))
        from neuralart.scons.firmware.tool_output import run_watched

        # What is printed is read: not in the language of the user.
        env = {**env, "LC_ALL": "C"}
        return run_watched(
            words,
            lambda output: int(self._captured(sh, escape, cmd, args, env, output, output)),
            f"{self._prefix}nm",
            env,
        )


def toolchain_env(env: Any, found: Toolchain) -> Any:
    """Make the environment of a toolchain, once."""

    def make() -> Any:
        made = registry_of(env).base.Clone(
            OBJCOPY=f"{found.prefix}objcopy",
            PROGSUFFIX=".elf",
            # Every object and image depends on the identity of the toolchain: no look at the programs themselves.
            IMPLICIT_COMMAND_DEPENDENCIES=0,
            CC=f"{found.prefix}gcc",
            LINK=f"{found.prefix}gcc",
        )
        # Named by their tools alone in commands, found through PATH: equal trees give equal command texts.
        made.PrependENVPath("PATH", found.folder)
        for tool in ("cc", "link"):
            made.Tool(tool)
        quiet = not made["NEURALART_VERBOSE"]
        made.Replace(
            CC=f"{found.prefix}gcc",
            LINK=f"{found.prefix}gcc",
            OBJSUFFIX=".o",
            CCCOMSTR="CC       $TARGET" if quiet else "",
            LINKCOMSTR="LINK     $TARGET" if quiet else "",
            AR=f"{found.prefix}ar",
            # D: neither times nor users of this machine.
            ARCOM="$AR rcsD $TARGET $SOURCES",
            ARCOMSTR="AR       $TARGET" if quiet else "",
        )
        made["SPAWN"] = WatchedTools(made, found.prefix)
        # The consumer's flags are for the consumer's programs.
        made.Replace(CPPDEFINES=[], CPPPATH=[], CPPFLAGS=[], CFLAGS=[], CCFLAGS=[], LIBS=[], LIBPATH=[], LINKFLAGS=[])
        made.Replace(_CPPINCFLAGS=_include_words)
        made["BUILDERS"]["Object"] = _object_builder(made)
        # SCons's own starts ranlib as well.
        made["BUILDERS"]["StaticLibrary"] = SCons.Builder.Builder(action=SCons.Action.Action("$ARCOM", "$ARCOMSTR"))
        made.Replace(OBJPREFIX="", PROGPREFIX="", PROGEMITTER=[], RPATH=[], _RPATH="", FRAMEWORKS=[], FRAMEWORKPATH=[])
        return made

    return registry_of(env).once("toolchain", f"{found.folder}|{found.prefix}", make)


def _object_builder(env: Any) -> Any:
    """SCons's own, but for generated C: what it includes is read in what is there, current or not.

    SCons reads only what is current. If the sources of a generated file have changed and it turns out to stay as it is,
    its object would have no headers then: it would be compiled in this run, and again in the next.
    """
    scanner = SCons.Scanner.C.ClassicCPP("C", "$CPPSUFFIXES", "CPPPATH", f"(?:{_LINE}|{_INSIDE}){_NAME}")
    scanner.scan_check = lambda node, env: not node.has_builder() or node.exists()
    read, folders, find = scanner.function, scanner.path_function, scanner.find_include
    scanner.path_function = lambda env, *more: (*folders(env, *more), env.fs.Top)
    scanner.function = lambda node, env, path=(): (
        read(node, env, path) + [each for name in env["_NAMED"] if (each := find(name, node.get_dir(), path)[0])]
    )
    known = {**SCons.Tool.SourceFileScanner.function, **dict.fromkeys([*SCons.Tool.CSuffixes, ".s"], scanner)}
    known |= dict.fromkeys((".bin", ".raw"), commands.NO_INCLUDES)  # Megabytes that the assembler reads
    theirs = env["BUILDERS"]["Object"]
    mine = copy.copy(theirs.get())
    mine.source_scanner = SCons.Scanner.ScannerBase(known, name="neuralart-sources")
    return SCons.Builder.CompositeBuilder(mine, theirs.cmdgen)


def _runtime_is_outside(env: Any) -> bool:
    """Whether this project's C is named by absolute paths: the package is installed, or a link leads to it."""

    def look() -> bool:
        return Path(named(env, firmware_dir())).is_absolute()

    return bool(registry_of(env).once("runtime", "is outside", look))


def _prefix_maps(recipe: Recipe) -> list[Any]:
    """Debug information names files relative to the tree, wherever the tree is. The most specific map comes last."""
    env = recipe.env

    def make() -> list[Any]:
        maps = [*recipe.renamed, f"{top(env)}=."]
        if _runtime_is_outside(env):
            maps.append(f"{firmware_dir()}=firmware")
        return ["$(", *(LiteralWord(f"{recipe.rename}={each}") for each in maps), "$)"]

    return registry_of(env).once("prefix-maps", repr((recipe.rename, recipe.renamed)), make)


def _include_words(target: Any, source: Any, env: Any, for_signature: bool) -> Any:
    """``$_CPPINCFLAGS`` as whole words. SCons's own takes marks in the name of a folder, ``$(``, for its own. They do
    not count in a signature, as with SCons's: which headers are read counts, by their contents.
    """
    if for_signature:
        return ""
    folders = [each if hasattr(each, "get_abspath") else env.fs.Dir(str(each)) for each in env["CPPPATH"]]
    return [LiteralWord(f"-I{folder}") for folder in folders]


def _cache_file(env: Any) -> Path:
    """Where the answers of toolchains are remembered."""
    return Path(env.Dir(f"#{build_dir(env)}").abspath) / TOOLCHAIN_CACHE


def find_toolchain(env: Any, wanted: ToolchainConfig, where: str) -> Toolchain:
    """Find the cross compiler; the build folder keeps its answers. NeuralArtError: it is missing, or not the wanted
    one.
    """

    def find() -> Toolchain:
        return toolchains.find(wanted, os.environ, cache=_cache_file(env), where=where)

    return registry_of(env).once("found", repr(wanted), find)


def make_recipe(env: Any, variant: VariantConfig, machine: Machine, found: Toolchain) -> Recipe:
    """Make the recipe for C of a variant on a machine."""
    flags = (*machine.cpu_flags, *found.libc_flags, *toolchains.C_FLAGS, variant.optimization, *_WARNINGS)
    text = "\n".join([found.identity, *flags, "", *variant.defines])
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return Recipe(toolchain_env(env, found), found, machine.cpu_flags, flags, variant.defines, digest)


@cache
def _words(*texts: str) -> tuple[LiteralWord, ...]:
    """Neither SCons nor the shell changes what stands in a definition, a flag of a board, the name of a folder."""
    return tuple(LiteralWord(text) for text in texts)


def compile_object(recipe: Recipe, target: str, source: Any, include: Sequence[Any]) -> Any:
    """Declare one object. ``target``: its name, relative to the top folder."""
    env = recipe.env
    if there := registry_of(env).intact(target):
        return there[0]
    node = env.Object(
        f"#{target}",
        source,
        CCFLAGS=[*_words(*recipe.flags, *(f"-D{text}" for text in recipe.defines)), *_prefix_maps(recipe)],
        CPPPATH=list(include),
        _NAMED=lazy_regex(_NAME).findall("".join(recipe.defines)),
    )
    # A compiler writes other debug information for sources that it is given by absolute paths.
    outside = " for a runtime outside the tree" if _runtime_is_outside(env) else ""
    env.Depends(node, fact(recipe.found.counts + outside, name="toolchain"))
    compiler = env["CXX" if Path(str(source)).suffix in CXX_SUFFIXES else "CC"]
    words = [compiler, *recipe.flags, *(f"-D{text}" for text in recipe.defines)]
    registry_of(env).once("objects", "", partial(_watched, env)).append((node[0], source, words, include))
    return node[0]


def _watched(env: Any) -> list[tuple[Any, ...]]:
    """What becomes rows of ``compile_commands.json`` when SCons ends."""
    objects: list[tuple[Any, ...]] = []
    atexit.register(_at_exit, env, objects)
    return objects


def _at_exit(env: Any, objects: list[tuple[Any, ...]]) -> None:
    path = top(env) / "compile_commands.json"
    good = (SCons.Node.executed, SCons.Node.up_to_date)
    built = [each for each in objects if each[0].get_state() in good]
    if not (built or path.exists()) or env.GetOption("no_exec") or env.GetOption("question"):
        return
    if env.GetOption("clean"):
        built = []
    elif all(each[0].get_state() == SCons.Node.up_to_date for each in built):
        text = path.read_text("utf-8") if path.is_file() else ""
        # With a mark behind it that stands behind names of objects only.
        if all(f'{each[0].get_internal_path()}"}}' in text for each in built):
            return
    from neuralart.scons.firmware import compile_commands

    compile_commands.bring_up_to_date(env, path, built)


def make_library(recipe: Recipe, target: str, objects: Iterable[Any]) -> Any:
    """Declare an archive of objects. ``target``: its name, relative to the top folder."""
    env = recipe.env
    if there := registry_of(env).intact(target):
        return there[0]
    (node,) = env.StaticLibrary(f"#{target}", [*objects])
    env.Depends(node, fact(recipe.found.counts, name="toolchain"))
    return node


LINK_FLAGS = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none")


def board_script() -> Path:
    """The linker script of all boards with an NPU; it includes a board's ``memory.ld``."""
    return firmware_dir() / "boards" / "sections.ld"


def link_image(recipe: Recipe, folder: str, objects: list[Any], memory_ld: Any) -> tuple[Any, Any]:
    """Declare an image in the board's layout, and its map."""
    return link(recipe, folder, objects, board_script(), [memory_ld])


def _group(archives: Sequence[str], libraries: Sequence[str]) -> tuple[LiteralWord, ...]:
    """Archives and the C library refer to each other: printf to the console, the console to nothing of ours."""
    names = [f"-l{name}" for name in libraries]
    return _words("-Wl,--start-group", *archives, *names, "-lc", "-Wl,--end-group") if archives else _words(*names)


def link(
    recipe: Recipe,
    folder: str,
    objects: Sequence[Any],
    script: Path,
    included: Sequence[Any] = (),
    flags: Sequence[str] = LINK_FLAGS,
    libraries: Sequence[str] = (),
    archives: Sequence[Any] = (),
) -> tuple[Any, Any]:
    """Declare an image and its map.
    ``folder``: the variant's, relative to the top folder. ``libraries``: names as behind ``-l``. ``archives``: nodes.
    """
    env, found = recipe.env, recipe.found
    paths = [f"-L{node.dir}" for node in included]
    # Not -Wl, which takes a comma in a folder's name for its own.
    words = _words(*recipe.flags, *flags, "-Xlinker", f"-Map={folder}/firmware.map", *paths, "-T")
    elf, link_map = env.Program(
        [f"#{folder}/firmware.elf", f"#{folder}/firmware.map"],
        objects,
        LINKFLAGS=[*words, *word(env, script)],
        # Of LIBS, SCons makes text that the shell would read.
        _LIBFLAGS=_group([named(env, Path(each.get_abspath())) for each in archives], libraries),
    )
    found_libraries = toolchains.libraries(found, recipe.cpu_flags, cache=_cache_file(env))
    # Megabytes that SCons would read in each build: their hashes are remembered as long as the files are the same.
    digests = fact(" ".join(found_libraries.values()), name="libraries")
    elf.attributes.neuralart_files = tuple(found_libraries)
    needed = [env.fs.File(str(script)), digests, fact(found.counts, name="toolchain")]
    env.Depends([elf, link_map], [*needed, *included, *archives])
    return elf, link_map
