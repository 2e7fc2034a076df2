"""Plans of compiles: words of the command, files that it reads and writes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.compilers.command_line import RECORDED, REFERENCE, STEDGEAI
from neuralart.compilers.protocol import FileSet, job_from_words, roles
from neuralart.config import keys
from neuralart.config.networks import KEYS
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NETWORK_RUNTIME
from neuralart.network.pools import PoolFile
from neuralart.network.targets import CPU, LEGACY_OPTIONS, check_name, flow_of
from neuralart.quick import dataclass, field, replace
from neuralart.scons.network.compilers import (
    RUNTIME_INCLUDES,
    ChosenCompiler,
    compiler_of,
    declared_initializers,
    files_of,
    find_pools,
    source_file,
    stock_profiles,
)
from neuralart.scons.paths import LiteralWord, place, stable, word

# What the build itself says on the command line: a second word would win and the declared files would not come.
_OWN_OPTIONS = {
    **{word: f"the key '{key.name}'" for key in KEYS for word in key.taken},
    **dict.fromkeys(("--name", "-n"), "the name of the network"),
    **dict.fromkeys(("--output", "-o"), "NEURALART_BUILD_DIR"),
    **dict.fromkeys(("--help", "-h"), "neuralart compile --help by hand"),
    **dict.fromkeys(("--relocatable", "--reloc", "-r"), "'relocatable:' of the variant, or env.NetworkRel"),
    "--target": "the board",
    "--binary": "neuralart compile by hand: a build declares no further file of the constants",
    "--no-report": "neuralart compile by hand: a build declares the report",
}


def option_words(config: NetworkConfig, known: tuple[str, ...] = ()) -> list[str]:
    """The words by which a network's keys and its ``options`` reach the compiler. ``known``: options that this compile
    takes, though others do not. NeuralArtError: An option says what the build says itself.
    """
    for text in config.options:
        # argparse also takes -nNAME.
        option = text.partition("=")[0] if text.startswith("--") else text[:2]
        if option in _OWN_OPTIONS and option not in known:
            hint = f"use {_OWN_OPTIONS[option]}"
            raise NeuralArtError(f"options: '{option}' is not allowed here", where=config.said("options"), hint=hint)
    return [*keys.option_words(config, KEYS), *config.options]


# What the C of a network for a core includes. Declared, so that SCons does not read the constants in each build.
_CPU_INCLUDES = {
    "{}.c": ("{}.h", "{}_data.h", "legacy_network.h", "ll_aton_version.h", "neuralart_kernels.h"),
    "{}_data_params.c": ("{}_data_params.h",),
}
_CPU_ROLES = ("c", "facts", "manifest", "c_info", "report", "provenance")
# Keys of a network that say where an NPU's pools are, or what lies in them.
_OF_NPU = ("profile", "profile_add", "profile_remove", "pair", "initializers", "strategies")


@dataclass(frozen=True)
class CompilePlan:
    """A compile that will run."""

    config: NetworkConfig  # What to compile
    board: Board  # For which board
    compiler: ChosenCompiler  # Who compiles
    words: list[Any]  # Of the command, but for the folder of its results
    key: str  # Tells compiles apart: names and options, no contents
    files: FileSet  # What comes out, by role, and what is read besides ``sources``
    sources: list[Any]  # Files that are read besides the model; those that a profile names are found by scanning it
    pools: PoolFile | None = None  # The pool file of an NPU's network; None: the network runs on the core
    includes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # What generated C includes, by file name
    idle: tuple[str, ...] = ()  # Pools (fname) that generated C declares without using them

    @property
    def digest(self) -> str:
        """Eight hex digits of the key, for names of folders."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:8]

    @property
    def names(self) -> list[str]:
        """Names of all results, the network's C first."""
        return [*self.files.plain.values(), *self.files.initializers.values()]


def is_cpu(board: Board) -> bool:
    """Whether networks of this board run on its core."""
    return flow_of(board.target) == CPU


def cpu_file_names(name: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Names of C files, headers and other results for a core."""
    c = (f"{name}.c", f"{name}_data.c", f"{name}_data_params.c")
    headers = (f"{name}.h", f"{name}_config.h", f"{name}_data.h", f"{name}_data_params.h")
    plain = ("network.json", "manifest.json", f"{name}_c_info.json", f"{name}_generate_report.txt", "provenance.txt")
    return c, headers, plain


def make_plan(env: Any, config: NetworkConfig, board: Board, model: Any, pair: str = "") -> CompilePlan:
    """Plan a compile. ``pair``: ``profiling`` for the second compile without the epoch controller. NeuralArtError: a
    file is missing or wrong, or an option is unknown.
    """
    check_name(config.name, config.said())
    path = place(model)
    return _cpu_plan(env, config, board, path) if is_cpu(board) else _npu_plan(env, config, board, path, pair)


def _first_words(env: Any, config: NetworkConfig, board: Board, path: Path) -> list[Any]:
    return ["--model", *word(env, path), "--target", board.target, "--name", config.name]


def _npu_plan(env: Any, config: NetworkConfig, board: Board, path: Path, pair: str) -> CompilePlan:
    pools = find_pools(env, config, board, stock_profiles(env, config))
    declared = declared_initializers(config, pools.file)
    options = option_words(config)
    compiler = compiler_of(env, config, pair)
    compiler, files = files_of(config, board, compiler, pools, declared, options, path)
    key = {
        "name": config.name,
        "model": stable(env, path),
        "target": board.target,
        "compiler": [compiler.identity, *compiler.said] if compiler.said else compiler.identity,
        "pools": pools.key,
        "options": options,
        "initializers": declared,
    }
    words = [*_first_words(env, config, board, path), *pools.words, *map(LiteralWord, options), *compiler.words]
    words += ["--initializers", ",".join(declared) or "none"]
    read = [node for node in (env.fs.File(str(each)) for each in files.sources) if node is not pools.scanned]
    return CompilePlan(
        config=config,
        board=board,
        compiler=compiler,
        words=words,
        key=json.dumps(key, sort_keys=True),
        files=files,
        sources=list(dict.fromkeys([*pools.sources, *compiler.sources, *read])),
        pools=pools.file,
        includes={f"{config.name}.c": RUNTIME_INCLUDES} if compiler.kind == REFERENCE else {},
    )


def _refuse_npu_keys(config: NetworkConfig, board: Board) -> None:
    for key in _OF_NPU:
        if getattr(config, key):
            # A strategy is written down by its pool.
            keys = [place for place in config.places if place == key or place.startswith(f"{key}.")]
            what = f"'{key}' means nothing for board {board.name}: its networks run on the core"
            hint = "'mpool' takes the memory-pool file of their activations"
            raise NeuralArtError(what, where=config.said(keys[0] if keys else ""), hint=hint)


def _cpu_plan(env: Any, config: NetworkConfig, board: Board, path: Path) -> CompilePlan:
    _refuse_npu_keys(config, board)
    compiler = compiler_of(env, config)
    of_vendor = compiler.kind in (STEDGEAI, RECORDED)
    if compiler.kind != REFERENCE and not of_vendor:
        what = f"compiler '{config.compiler}' is not available for board {board.name}"
        raise NeuralArtError(what, where=config.said("compiler"), hint="known: reference, stedgeai, recorded, auto")
    name, sources = config.name, []
    words = _first_words(env, config, board, path)
    asked = ["--model", str(path), "--target", board.target, "--name", name]
    key: dict[str, Any] = {"model": stable(env, path), "mpool": ""}
    pool_file = config.mpool or board.memory_pools
    if pool_file:
        node = source_file(env, pool_file, "memory-pool file", config.said("mpool"))
        sources.append(node)
        file = place(node)
        words += ["--memory-pool", *word(env, file)]
        asked += ["--memory-pool", str(file)]
        key["mpool"] = stable(env, file)
    options = option_words(config, ("--binary",) if of_vendor else ())
    who = [compiler.identity, *compiler.said] if compiler.said else compiler.identity
    key |= {"name": name, "target": board.target, "compiler": who, "options": options}
    # Whatever a compiler's default is: applications that are fitted to networks are written for this one.
    words += [*LEGACY_OPTIONS, *map(LiteralWord, options), *compiler.words]
    if of_vendor:
        from neuralart.compilers.builtin import vendor_files

        compiler = replace(compiler, runtime=NETWORK_RUNTIME)
        job = job_from_words([*asked, *LEGACY_OPTIONS, *options, *compiler.said], config.said())
        files = vendor_files(job, compiler.version)
        sources += compiler.sources
        return CompilePlan(config, board, compiler, words, json.dumps(key, sort_keys=True), files, sources)
    role = {file: role for role, file in roles(name).items() if role in _CPU_ROLES}
    names = [each for part in cpu_file_names(name) for each in part]
    return CompilePlan(
        config=config,
        board=board,
        compiler=compiler,
        words=words,
        key=json.dumps(key, sort_keys=True),
        files=FileSet({role.get(each, each): each for each in names}, {}),
        sources=sources,
        includes={
            c.format(name): tuple(header.format(name) for header in headers) for c, headers in _CPU_INCLUDES.items()
        },
    )
