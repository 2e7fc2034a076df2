"""``env.Network(...)``: model, pools and options become C sources and memory initialisers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import SCons.Errors
import SCons.Util

from neuralart.boards.types import Board
from neuralart.compilers.reference.fileset import initializer_name
from neuralart.config.types import Location, NetworkConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.fingerprint import fingerprint
from neuralart.network.names import check_name
from neuralart.network.pools import PoolFile
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.cpu_network import CpuNetworkNodes, is_cpu, make_cpu_network
from neuralart.scons.failures import at_read_time
from neuralart.scons.options import option_words
from neuralart.scons.paths import build_dir, literal, named, stable, word
from neuralart.scons.pools import declared_initializers, find_pools, source_file
from neuralart.scons.registry import Registry

COMPILERS = ("reference",)
# A room's code decides the bytes: compile again when it changes.
_COMPILE_ROOMS = ("compilers",)
# The headers that every generated network.c includes. Declared, so that SCons needs not read
# megabytes of generated C in each build in which nothing changed.
RUNTIME_INCLUDES = ("ll_aton.h", "ll_aton_NN_interface.h", "ll_aton_lib.h", "ll_aton_version.h", "ll_sw.h")


@dataclass(frozen=True)
class NetworkNodes:
    """What ``env.Network`` returns.

    Attributes:
        name: C name of the network.
        board: The board it was compiled for.
        folder: Where its files are, relative to the top folder.
        c: The generated C.
        header: ``N.h``.
        facts: ``network.json``.
        manifest: ``manifest.json``: sizes and hashes.
        c_info: ``N_c_info.json``.
        report: ``N_generate_report.txt``.
        provenance: ``provenance.txt``; nothing depends on it.
        initializers: Raw file per pool (fname).
        pool_address: Base address per pool (fname).
        pools: The pool file it is compiled for.
        runtime_sources: C sources of the runtime and its kernels.
        include_dirs: For CPPPATH.
        defines: For CPPDEFINES.
        vectors: Folder of golden vectors (as named) or empty.
        config: What it was made from.
    """

    name: str
    board: Board
    folder: str
    c: Any
    header: Any
    facts: Any
    manifest: Any
    c_info: Any
    report: Any
    provenance: Any
    initializers: dict[str, Any]
    pool_address: dict[str, int]
    pools: PoolFile
    runtime_sources: list[Any]
    include_dirs: list[Any]
    config: NetworkConfig
    defines: list[str] = field(default_factory=list)
    vectors: str = ""

    @property
    def sources(self) -> list[Any]:
        """Everything to compile into a program with this one network.

        A program with several networks takes each network's ``c`` and one ``runtime_sources``.
        """
        return [self.c, *self.runtime_sources]

    @property
    def files(self) -> list[Any]:
        """All files of the compile."""
        plain = [self.c, self.header, self.facts, self.manifest, self.c_info, self.report, self.provenance]
        return [*plain, *self.initializers.values()]


# Kernels that stand for others of the same name, code that becomes a part of relocatable models, that of CPU networks.
_OF_OTHER_PROGRAMS = ("kernels_mve/", "relocatable/", "legacy/")


def _runtime_nodes(env: Any, folder: str) -> tuple[list[Any], list[Any]]:
    """Runtime sources under the build folder, so that objects never land beside the package."""
    origin = firmware_dir() / "runtime"
    local = f"#{folder}/runtime"
    env.VariantDir(local, env.Dir(str(origin)), duplicate=0)
    relative = sorted(path.relative_to(origin).as_posix() for path in origin.rglob("*.c"))
    relative = [name for name in relative if not name.startswith(_OF_OTHER_PROGRAMS)]
    return [env.File(f"{local}/{name}") for name in relative], [env.Dir(str(origin / "include"))]


def make_network(env: Any, config: NetworkConfig, board_name: str) -> NetworkNodes:
    """Declare a compile, once for equal specifications.

    Args:
        env: Names in ``config`` are relative to its current SConscript.
        config: What to compile.
        board_name: For which board.

    Raises:
        NeuralArtError: A file is missing or wrong, or an option is unknown.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    if config.compiler not in COMPILERS:
        raise NeuralArtError(
            f"compiler '{config.compiler}' is not available",
            where=config.said("compiler"),
            hint=nearest(config.compiler, list(COMPILERS)),
        )
    check_name(config.name, config.said())
    board = registry.board(board_name, config.said())
    if is_cpu(board):
        raise NeuralArtError(
            f"board {board.name} has no NPU: its networks are linked into an application of its own",
            where=config.said(),
            hint="env.Network and env.PatchedSources, or a variant without 'relocatable'",
        )
    model = source_file(env, config.model, "model", config.said("model"))
    pools = find_pools(env, registry, config, board)
    declared = declared_initializers(config, pools.file)
    options = option_words(config)
    key = json.dumps(
        {
            "name": config.name,
            "model": stable(env, Path(model.get_abspath())),
            "target": board.target,
            "compiler": config.compiler,
            "pools": pools.key,
            "options": options,
            "initializers": declared,
        },
        sort_keys=True,
    )
    digest = hashlib.sha256(key.encode()).hexdigest()[:8]
    folder = f"{build_dir(env)}/networks/{config.name}-{board.name}-{digest}"

    def make() -> NetworkNodes:
        base = registry.base
        name = config.name
        out = f"#{folder}"
        prefix = pools.file.prefix
        raws = {pool: base.File(f"{out}/{initializer_name(name, prefix, pool)}") for pool in declared}
        plain = [f"{name}.c", f"{name}.h", "network.json", "manifest.json", f"{name}_c_info.json"]
        plain += [f"{name}_generate_report.txt", "provenance.txt"]
        command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "compile", "--quiet", "--model"]
        command += [*word(base, Path(model.get_abspath())), "--target", board.target, "--name", name]
        command += [*pools.words, *options, "--initializers", ",".join(declared) or "none", "--output", folder]
        action, words = messages.command(base, command, f"NETWORK  {folder}/{name}.c")
        nodes = base.Command(
            [base.File(f"{out}/{file}") for file in plain] + list(raws.values()),
            [model, *pools.sources],
            action,
            **words,
            # Python itself is not what decides the result; the code that runs in it is.
            IMPLICIT_COMMAND_DEPENDENCIES=0,
        )
        base.Depends(nodes, base.Value(fingerprint(*_COMPILE_ROOMS), name="reference-compiler"))
        # They stay until new ones replace them: to whoever looks meanwhile (-j) what is made of them is right, and
        # SCons reads its includes.
        base.Precious(nodes)
        runtime, include = _runtime_nodes(base, folder)
        nodes[0].includes = [('"', name, '"') for name in RUNTIME_INCLUDES]
        return NetworkNodes(
            name=name,
            board=board,
            folder=folder,
            c=nodes[0],
            header=nodes[1],
            facts=nodes[2],
            manifest=nodes[3],
            c_info=nodes[4],
            report=nodes[5],
            provenance=nodes[6],
            initializers=raws,
            pool_address={pool.fname: pool.address for pool in pools.file.enabled},
            pools=pools.file,
            runtime_sources=runtime,
            include_dirs=[base.Dir(out), *include],
            config=config,
        )

    # Shared by all that ask for this compile; which golden vectors go with it is each one's own matter.
    vectors = named(env, Path(env.fs.Dir(config.vectors).srcnode().get_abspath())) if config.vectors else ""
    return replace(registry.once("network", folder, make), config=config, vectors=vectors)


_KEYWORDS = tuple(
    f.name for f in fields(NetworkConfig) if f.name not in ("name", "model", "app_config", "where", "places")
)


@at_read_time
def network_method(env: Any, name: str, *, model: Any, board: str, **options: Any) -> NetworkNodes | CpuNetworkNodes:
    """``env.Network(name, model=..., board=..., ...)``: compile a model for a board.

    Args:
        env: The construction environment.
        name: C name of the network.
        model: The .tflite, a path or a node (it may be built by your SConstruct).
        board: Name of a board, built in or in ``NEURALART_BOARD_FILES``.
        **options: As in variants.yaml: compiler, profile, mpool, input_data_type, output_data_type,
            inputs_ch_position, outputs_ch_position, allocate_inputs, allocate_outputs, options, initializers, vectors.

    Returns:
        Nodes by attribute.

    Raises:
        SCons.Errors.UserError: An option is unknown, or a file is missing or wrong.
    """
    for keyword in options:
        if keyword not in _KEYWORDS:
            raise NeuralArtError(
                f"unknown option '{keyword}'", where=f"Network('{name}')", hint=nearest(keyword, _KEYWORDS)
            )
    if SCons.Util.is_Sequence(model) and len(model) != 1:
        raise SCons.Errors.UserError(f"Network('{name}'): one model, not {len(model)}")
    strategies = options.get("strategies", {})
    if not isinstance(strategies, dict) or not all(isinstance(text, str) for text in strategies.values()):
        raise NeuralArtError(f"strategies must map pools to strategies, not {strategies!r}", where=f"Network('{name}')")
    options["strategies"] = tuple(sorted(strategies.items()))
    for keyword in ("options", "initializers"):
        if options.get(keyword) is not None:
            # As everywhere in SCons, one text is a list of words.
            options[keyword] = tuple(env.Split(options[keyword]))
            if not all(isinstance(text, str) for text in options[keyword]):
                raise NeuralArtError(f"{keyword} must be text or a list of texts", where=f"Network('{name}')")
    for keyword in ("allocate_inputs", "allocate_outputs"):
        if not isinstance(options.get(keyword, True), bool):
            raise NeuralArtError(
                f"{keyword} must be True or False, not {options[keyword]!r}", where=f"Network('{name}')"
            )
    if model is None:
        raise NeuralArtError("no model", where=f"Network('{name}')")
    for keyword in ("profile", "mpool", "vectors"):
        options[keyword] = literal(env, options.get(keyword) or "")
    config = NetworkConfig(name=name, model=literal(env, model), where=Location("", 0), **options)
    found = env["NEURALART_REGISTRY"].board(board, config.said())
    return make_cpu_network(env, config, found) if is_cpu(found) else make_network(env, config, board)
