"""``env.Network(...)``: model, pools and options become C and memory initializers, within the limits of the network."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import SCons.Action

from neuralart.boards.types import Board
from neuralart.compilers.protocol import roles
from neuralart.config.types import Budgets, NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.files import write_text
from neuralart.fingerprint import fingerprint
from neuralart.network import facts
from neuralart.network.facts import NEURALART
from neuralart.scons import commands, node_plans
from neuralart.scons.commands import carried
from neuralart.scons.failures import at_read_time, in_action
from neuralart.scons.network import builder
from neuralart.scons.network.builder import any_plan, config_of
from neuralart.scons.network.compilers import source_file
from neuralart.scons.network.nodes import Compiled, CpuNetworkNodes, NetworkNodes, runtime_nodes
from neuralart.scons.network.plan import CompilePlan, is_cpu
from neuralart.scons.paths import build_dir, named, named_source
from neuralart.scons.registry import code_value, fact, registry_of
from neuralart.text.console import say

_ROOMS = ("budgets.py",)


def _keep(limits: Budgets, facts_file: Any, c_info_file: Any) -> str:
    """Check a compiled network; its name."""
    from neuralart import budgets
    from neuralart.findings import ERROR
    from neuralart.vendor.c_info import read as c_info

    network = facts.load(Path(str(facts_file)))
    findings = budgets.check(network, c_info.read(Path(str(c_info_file)), str(c_info_file)), limits)
    errors = [finding for finding in findings if finding.level == ERROR]
    for finding in findings:
        if finding not in errors[:1]:
            say(str(finding), file=sys.stderr)
    if errors:
        raise NeuralArtError(errors[0].message, where=errors[0].where, hint=errors[0].hint)
    return network.name


@in_action
def _check(target: list[Any], source: list[Any], env: Any) -> None:
    name = _keep(env["NEURALART_BUDGETS"], *source[:2])
    write_text(Path(str(target[0])), json.dumps({"network": name, "kept": True}) + "\n")


class _AfterCompile(SCons.Action.FunctionAction):
    """The last step of a compile; with other limits, or another check of them, it is another compile."""

    def __init__(self, made: Any, limits: Budgets) -> None:
        @in_action
        def check(target: list[Any], source: list[Any], env: Any) -> None:
            _keep(limits, made.facts, made.c_info)

        super().__init__(check, {"cmdstr": f"BUDGETS  {made.name}"})
        self._signature = f"{limits} {fingerprint(*_ROOMS)}".encode()

    def get_presig(self, target: Any, source: Any, env: Any) -> bytes:
        """What its signature is made of: not the line where the limits were written."""
        return self._signature


def guard(env: Any, made: Any) -> None:
    """Add the limits of a network to its compile, so that all that links it waits for the check. ``made``: what
    ``env.Network`` returns.
    """
    registry = registry_of(env)
    limits = made.config.budgets
    if not limits:
        return

    def add() -> bool:
        registry.base.AddPostAction(made.facts, _AfterCompile(made, limits))
        return True

    registry.once("budgets", f"{made.folder} {limits}", add)


def make_budgets(env: Any, networks: list[NetworkNodes], folder: str) -> list[Any]:
    """Declare the check of each network that has limits.
    ``folder``: of its files, relative to the top folder. Returns a node for each of them; what is linked waits for it.
    """
    base = registry_of(env).base
    nodes = []
    for network in networks:
        limits = network.config.budgets
        if not limits:
            continue
        node = base.Command(
            f"#{folder}/{network.name}.budgets.json",
            [network.facts, network.c_info],
            commands.function(_check, f"BUDGETS  {network.name}"),
            NEURALART_BUDGETS=limits,
        )
        base.Depends(node, fact(repr(limits), name="budgets"))
        base.Depends(node, code_value(base, "budget-check", *_ROOMS))
        nodes.append(node[0])
    return nodes


_OF_ALL = ("facts", "manifest", "c_info", "report", "provenance")


def _nodes(base: Any, plan: CompilePlan, folder: str, made: list[Any], copied: bool) -> Compiled:
    """What a builder made, by attribute. ``copied``: with the runtime beside it."""
    name, config = plan.config.name, plan.config
    by_name = {node.name: node for node in made}
    plain = {role: by_name.get(plan.files.plain.get(role, "")) for role in roles(name)}
    include = [base.Dir(f"#{folder}")]
    declare: Callable[[], list[Any]] = list
    if plan.compiler.runtime == NEURALART:
        make: Callable[..., Any] = runtime_nodes
        if copied:
            from neuralart.scons.network.runtime_copy import copied_runtime as make
        declare, headers = make(base, folder, cpu=plan.pools is None)
        include += headers
    common: dict[str, Any] = {
        "name": name,
        "board": plan.board,
        "folder": folder,
        **{role: plain[role] for role in _OF_ALL},
        "runtime": plan.compiler.runtime,
        "declare_runtime": declare,
        "include_dirs": include,
        "config": config,
        "files": made,
    }
    if plan.pools is None:
        files = plan.files.plain.values()
        c, headers = ([by_name[each] for each in files if each.endswith(suffix)] for suffix in (".c", ".h"))
        return CpuNetworkNodes(**common, c=c, headers=headers)
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


def make_compile(env: Any, config: NetworkConfig, board: Board, pair: str = "", own_folder: str = "") -> Compiled:
    """Declare a compile, once for equal specifications.

    ``pair``: ``profiling``: the compile beside the main one, without the epoch controller. ``own_folder``: of its
    files, relative to the top folder; empty: below the build folder. NeuralArtError: A file is missing or wrong, or an
    option is unknown.
    """
    registry = registry_of(env)
    model = source_file(env, config.model, "model", config.said("model")) if config.adopted is None else None
    plan = any_plan(env, config, board, model, pair)
    # What there is no model of is made of its C.
    first = model if model is not None else plan.sources[0]
    own = carried(env, registry.base, builder.VARIABLES)
    folder = own_folder or f"{build_dir(env)}/networks/{config.name}-{board.name}-{plan.digest}"

    def make() -> Compiled:
        base = registry.base
        said = {"NEURALART_PROFILE": config.profile, "NEURALART_POOLS": config.mpool}
        target = base.File(f"#{folder}/{plan.files.plain['c']}")
        made = node_plans.make(env, builder.NAME, builder.VARIABLES, plan, target, first, **said)
        return _nodes(base, plan, folder, made, bool(own_folder))

    # Shared by all that ask for this compile; vectors, inputs and labels belong to each variant.
    result = replace(
        registry.once("network", folder + (repr(sorted(own.items())) if own else ""), make),
        config=config,
        vectors=named_source(env, config.vectors),
        input=named_source(env, config.input),
        labels=named_source(env, config.labels),
    )
    if config.pair and not pair and isinstance(result, NetworkNodes):
        other = make_compile(env, config, board, config.pair)
        assert isinstance(other, NetworkNodes)  # for the same board
        return replace(result, pair=other)
    return result


def make_network(env: Any, config: NetworkConfig, board_name: str) -> NetworkNodes:
    """Declare a compile for a board with an NPU, once for equal specifications.
    NeuralArtError: The board has no NPU, a file is missing or wrong, or an option is unknown.
    """
    board = registry_of(env).board(board_name, config.said())
    if is_cpu(board):
        what = f"board {board.name} has no NPU: its networks are linked into an application of its own"
        hint = "env.Network and env.PatchedSources, or a variant without 'relocatable'"
        raise NeuralArtError(what, where=config.said(), hint=hint)
    made = make_compile(env, config, board)
    assert isinstance(made, NetworkNodes)  # as its board says
    return made


def make_cpu_network(env: Any, config: NetworkConfig, board: Board) -> CpuNetworkNodes:
    """Declare a compile for a board whose networks run on its core."""
    made = make_compile(env, config, board)
    assert isinstance(made, CpuNetworkNodes)  # as its board says
    return made


@at_read_time
def network_method(env: Any, name: str, *, model: Any = None, board: str, folder: str = "", **options: Any) -> Compiled:
    """``env.Network(name, model=..., board=..., ...)``: compile a model for a board.

    ``name``: C name of the network; ``model``: the .tflite, a path or a node (it may be built by your SConstruct); an
    adopted network needs none; ``board``: name of a board, built in or in ``NEURALART_BOARD_FILES``; ``folder``: a
    folder of your tree for all that a program compiles, with a copy of the runtime; ``**options``: the keys of a
    network in variants.yaml (:data:`neuralart.config.networks.KEYWORDS`). Returns nodes by attribute.
    SCons.Errors.UserError: an option is unknown, or a file is missing or wrong.
    """
    config = config_of(env, name, model, options)
    place = named(env, Path(env.Dir(folder).get_abspath())) if folder else ""
    if place == "." or Path(place).is_absolute():
        raise NeuralArtError(f"folder: a folder below the top folder, not {folder!r}", where=config.said())
    made = make_compile(env, config, registry_of(env).board(board, config.said()), own_folder=place)
    guard(env, made)
    return made
