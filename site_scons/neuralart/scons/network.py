"""``env.Network(...)``: model, pools and options become C sources and memory initializers."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.fingerprint import fingerprint
from neuralart.network.names import check_name
from neuralart.network.pools import PoolFile
from neuralart.resources import firmware_dir
from neuralart.scons import messages
from neuralart.scons.compilers import (
    REFERENCE,
    RUNTIME_INCLUDES,
    SLOTS,
    compiler_of,
    files_of,
    roles,
)
from neuralart.scons.cpu_network import CpuNetworkNodes, is_cpu, make_cpu_network
from neuralart.scons.failures import at_read_time
from neuralart.scons.keywords import config_of
from neuralart.scons.options import option_words
from neuralart.scons.paths import build_dir, named, stable, word
from neuralart.scons.pools import declared_initializers, find_pools, source_file
from neuralart.scons.registry import Registry

NEURALART, LL_ATON = "neuralart", "ll_aton"
# A room's code decides the bytes: compile again when it changes.
_COMPILE_ROOMS = ("compilers",)


@dataclass(frozen=True)
class NetworkNodes:
    """What ``env.Network`` returns.

    Attributes:
        name: C name of the network.
        board: The board it was compiled for.
        folder: Where its files are, relative to the top folder.
        c: The generated C.
        header: ``N.h``; None where the compiler writes none.
        facts: ``network.json``.
        manifest: ``manifest.json``: sizes and hashes.
        c_info: ``N_c_info.json``.
        report: ``N_generate_report.txt``.
        provenance: ``provenance.txt``; nothing depends on it.
        compiler: ``reference``, ``stedgeai`` or ``recorded``.
        runtime: ``neuralart`` or ``ll_aton``: what a program with it needs.
        more: Further files by name: ``N_ecblobs.h``, ``stai_N.c``...
        initializers: Raw file per pool (fname).
        pool_address: Base address per pool (fname).
        pools: The pool file it is compiled for.
        runtime_sources: C sources of the runtime and its kernels.
        include_dirs: For CPPPATH.
        defines: For CPPDEFINES.
        vectors: Folder of golden vectors (as named) or empty.
        config: What it was made from.
        pair: The same network without the epoch controller; None: not asked for.
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
    compiler: str
    runtime: str
    more: dict[str, Any]
    initializers: dict[str, Any]
    pool_address: dict[str, int]
    pools: PoolFile
    runtime_sources: list[Any]
    include_dirs: list[Any]
    config: NetworkConfig
    defines: list[str] = field(default_factory=list)
    vectors: str = ""
    pair: NetworkNodes | None = None

    @property
    def sources(self) -> list[Any]:
        """Everything to compile into a program with this one network.

        A program with several networks takes each network's ``code`` and one ``runtime_sources``.
        """
        return [*self.code, *self.runtime_sources]

    @property
    def code(self) -> list[Any]:
        """C of this network alone: with what its compiler adds, and initializers that were written as C."""
        c = [node for name, node in sorted(self.more.items()) if name.endswith(".c")]
        return [self.c, *c, *(node for node in self.initializers.values() if str(node).endswith(".c"))]

    @property
    def files(self) -> list[Any]:
        """All files of the compile."""
        plain = [self.c, self.header, self.facts, self.manifest, self.c_info, self.report, self.provenance]
        named = [node for node in plain if node is not None]
        return [*named, *self.more.values(), *self.initializers.values()]


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


def make_network(env: Any, config: NetworkConfig, board_name: str, pair: str = "") -> NetworkNodes:
    """Declare a compile, once for equal specifications.

    Args:
        env: Names in ``config`` are relative to its current SConscript.
        config: What to compile.
        board_name: For which board.
        pair: ``profiling``: the compile beside the main one, without the epoch controller.

    Raises:
        NeuralArtError: A file is missing or wrong, or an option is unknown.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
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
    compiler = compiler_of(env, config, pair)
    files = files_of(config, board, compiler, pools, declared, options, Path(model.get_abspath()))
    key = json.dumps(
        {
            "name": config.name,
            "model": stable(env, Path(model.get_abspath())),
            "target": board.target,
            "compiler": [compiler.identity, *compiler.said] if compiler.said else compiler.identity,
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
        raws = {pool: base.File(f"{out}/{file}") for pool, file in files.initializers.items()}
        plain = {role: base.File(f"{out}/{file}") for role, file in files.plain.items()}
        command: list[Any] = ["$(", "$NEURALART_PYTHON", "$)", "-m", "neuralart", "compile", "--quiet", "--model"]
        command += [*word(base, Path(model.get_abspath())), "--target", board.target, "--name", name]
        command += [*pools.words, *(text.replace("$", "$$") for text in options), *compiler.words]
        command += ["--initializers", ",".join(declared) or "none", "--output", folder]
        action, words = messages.command(base, command, f"NETWORK  {folder}/{name}.c")
        read = [base.fs.File(str(path)) for path in files.sources]
        nodes = base.Command(
            [*plain.values(), *raws.values()],
            list(dict.fromkeys([model, *pools.sources, *compiler.sources, *read])),
            action,
            **words,
            # Python itself is not what decides the result; the code that runs in it is.
            IMPLICIT_COMMAND_DEPENDENCIES=0,
        )
        base.Depends(nodes, base.Value(fingerprint(*_COMPILE_ROOMS), name="reference-compiler"))
        runtime: list[Any] = []
        include = [base.Dir(out)]
        if compiler.kind == REFERENCE:
            # They stay until new ones replace them: to whoever looks meanwhile (-j) what is made of them is right, and
            # SCons reads its includes. What a vendor's tool made must not outlive a failure.
            base.Precious(nodes)
            runtime, headers = _runtime_nodes(base, folder)
            include += headers
            plain["c"].includes = [('"', name, '"') for name in RUNTIME_INCLUDES]
        else:
            base.Depends(nodes, base.Value(compiler.identity, name="compiler"))
            base.Clean(nodes, [base.fs.Dir(f"{out}/.vendor")])
        if compiler.slow:
            # Whoever asks for it: not more of them at the same time than there are slots.
            base.SideEffect(base.Value(f"compile slot {int(digest, 16) % SLOTS}"), nodes)
        return NetworkNodes(
            name=name,
            board=board,
            folder=folder,
            compiler=compiler.kind,
            runtime=NEURALART if compiler.kind == REFERENCE else LL_ATON,
            **{role: plain.pop(role, None) for role in roles(name)},
            more=plain,
            initializers=raws,
            pool_address={pool.fname: pool.address for pool in pools.file.enabled},
            pools=pools.file,
            runtime_sources=runtime,
            include_dirs=include,
            config=config,
        )

    # Shared by all that ask for this compile; which golden vectors go with it is each one's own matter.
    vectors = named(env, Path(env.fs.Dir(config.vectors).srcnode().get_abspath())) if config.vectors else ""
    made = replace(registry.once("network", folder, make), config=config, vectors=vectors)
    if config.pair and not pair:
        return replace(made, pair=make_network(env, config, board_name, config.pair))
    return made


@at_read_time
def network_method(env: Any, name: str, *, model: Any, board: str, **options: Any) -> NetworkNodes | CpuNetworkNodes:
    """``env.Network(name, model=..., board=..., ...)``: compile a model for a board.

    Args:
        env: The construction environment.
        name: C name of the network.
        model: The .tflite, a path or a node (it may be built by your SConstruct).
        board: Name of a board, built in or in ``NEURALART_BOARD_FILES``.
        **options: The keys of a network in variants.yaml (:data:`neuralart.config.networks.KEYWORDS`).

    Returns:
        Nodes by attribute.

    Raises:
        SCons.Errors.UserError: An option is unknown, or a file is missing or wrong.
    """
    from neuralart.scons.budgets import guard

    config = config_of(env, name, model, options)
    found = env["NEURALART_REGISTRY"].board(board, config.said())
    made = make_cpu_network(env, config, found) if is_cpu(found) else make_network(env, config, board)
    guard(env, made)
    return made
