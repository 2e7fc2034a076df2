"""``env.Network(...)``: model, pools and options become C sources and memory initializers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.compilers.protocol import roles
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART
from neuralart.scons.budgets import guard
from neuralart.scons.builders import network as builder
from neuralart.scons.builders.plans import GIVEN
from neuralart.scons.builders.variables import carried
from neuralart.scons.compile_plan import CompilePlan, cpu_file_names, is_cpu, make_plan
from neuralart.scons.compiled import Compiled, CpuNetworkNodes, NetworkNodes
from neuralart.scons.failures import at_read_time
from neuralart.scons.keywords import config_of
from neuralart.scons.paths import build_dir, named
from neuralart.scons.pools import source_file
from neuralart.scons.registry import Registry
from neuralart.scons.runtime_files import runtime_nodes

_OF_ALL = ("facts", "manifest", "c_info", "report", "provenance")


def _nodes(base: Any, plan: CompilePlan, folder: str, made: list[Any]) -> Compiled:
    """What a builder made, by attribute."""
    name, config = plan.config.name, plan.config
    by_name = {node.name: node for node in made}
    plain = {role: by_name.get(file) for role, file in roles(name).items()}
    include = [base.Dir(f"#{folder}")]
    sources: list[Any] = []
    if plan.compiler.runtime == NEURALART:
        sources, headers = runtime_nodes(base, folder, cpu=plan.pools is None)
        include += headers
    common: dict[str, Any] = {
        "name": name,
        "board": plan.board,
        "folder": folder,
        **{role: plain[role] for role in _OF_ALL},
        "runtime": plan.compiler.runtime,
        "runtime_sources": sources,
        "include_dirs": include,
        "config": config,
        "files": made,
    }
    if plan.pools is None:
        c, cpu_headers, _ = cpu_file_names(name)
        return CpuNetworkNodes(
            **common, c=[by_name[each] for each in c], headers=[by_name[each] for each in cpu_headers]
        )
    known = set(roles(name))
    return NetworkNodes(
        **common,
        c=plain["c"],
        header=plain["header"],
        compiler=plan.compiler.kind,
        more={role: by_name[file] for role, file in plan.files.plain.items() if role not in known},
        initializers={pool: by_name[file] for pool, file in plan.files.initializers.items()},
        pool_address={pool.fname: pool.address for pool in plan.pools.enabled},
        pools=plan.pools,
    )


def make_compile(env: Any, config: NetworkConfig, board: Board, pair: str = "") -> Compiled:
    """Declare a compile, once for equal specifications.

    Args:
        env: Names in ``config`` are relative to its current SConscript.
        config: What to compile.
        board: For which board; it decides whether the network runs on an NPU or on the core.
        pair: ``profiling``: the compile beside the main one, without the epoch controller.

    Raises:
        NeuralArtError: A file is missing or wrong, or an option is unknown.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    model = source_file(env, config.model, "model", config.said("model"))
    plan = make_plan(env, config, board, model, pair)
    own = carried(env, registry.base, builder.VARIABLES)
    folder = f"{build_dir(env)}/networks/{config.name}-{board.name}-{plan.digest}"

    def make() -> Compiled:
        base = registry.base
        made = base.NeuralArtNetwork(
            base.File(f"#{folder}/{config.name}.c"),
            model,
            NEURALART_PROFILE=config.profile,
            NEURALART_POOLS=config.mpool,
            **{GIVEN: plan},
            **own,
        )
        return _nodes(base, plan, folder, list(made))

    # Shared by all that ask for this compile; which golden vectors go with it is each one's own matter.
    vectors = named(env, Path(env.fs.Dir(config.vectors).srcnode().get_abspath())) if config.vectors else ""
    result = replace(
        registry.once("network", folder + (repr(sorted(own.items())) if own else ""), make),
        config=config,
        vectors=vectors,
    )
    if config.pair and not pair and isinstance(result, NetworkNodes):
        other = make_compile(env, config, board, config.pair)
        assert isinstance(other, NetworkNodes)  # for the same board
        return replace(result, pair=other)
    return result


def make_network(env: Any, config: NetworkConfig, board_name: str) -> NetworkNodes:
    """Declare a compile for a board with an NPU, once for equal specifications.

    Args:
        env: Names in ``config`` are relative to its current SConscript.
        config: What to compile.
        board_name: For which board.

    Raises:
        NeuralArtError: The board has no NPU, a file is missing or wrong, or an option is unknown.
    """
    registry: Registry = env["NEURALART_REGISTRY"]
    board = registry.board(board_name, config.said())
    if is_cpu(board):
        raise NeuralArtError(
            f"board {board.name} has no NPU: its networks are linked into an application of its own",
            where=config.said(),
            hint="env.Network and env.PatchedSources, or a variant without 'relocatable'",
        )
    made = make_compile(env, config, board)
    assert isinstance(made, NetworkNodes)  # as its board says
    return made


def make_cpu_network(env: Any, config: NetworkConfig, board: Board) -> CpuNetworkNodes:
    """The same for a board whose networks run on its core."""
    made = make_compile(env, config, board)
    assert isinstance(made, CpuNetworkNodes)  # as its board says
    return made


@at_read_time
def network_method(env: Any, name: str, *, model: Any, board: str, **options: Any) -> Compiled:
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
    config = config_of(env, name, model, options)
    made = make_compile(env, config, env["NEURALART_REGISTRY"].board(board, config.said()))
    guard(env, made)
    return made
