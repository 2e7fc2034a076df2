"""Plans the copy of a network whose generated C exists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.compilers import adopted
from neuralart.compilers.command_line import ADOPTED
from neuralart.compilers.protocol import FileSet
from neuralart.config import keys
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART
from neuralart.network.pools import PoolFile
from neuralart.network.targets import check_name, flow_of
from neuralart.scons.network.compilers import (
    RUNTIME_INCLUDES,
    ChosenCompiler,
    declared_initializers,
    refuse_built,
    source_file,
)
from neuralart.scons.network.plan import CompilePlan
from neuralart.scons.paths import named, stable, word
from neuralart.scons.registry import registry_of

# What a compile is told: it has happened.
_OF_COMPILES = (
    "dispatch_weights",
    *("profile", "profile_add", "profile_remove", "pair", "input_data_type", "output_data_type", "inputs_ch_position"),
    *("outputs_ch_position", "allocate_inputs", "allocate_outputs", "options", "extra_options", "failures"),
    *("timeout", "initializers", "cut", "input_shapes", "memory"),
)


def _refuse_keys(config: NetworkConfig) -> None:
    for key in _OF_COMPILES:
        if getattr(config, key) != keys.default_of(NetworkConfig, key):
            what = f"'{key}' means nothing to an adopted network: it is compiled already"
            hint = "leave it out, or compile the model: compiler: stedgeai"
            raise NeuralArtError(what, where=config.said(key), hint=hint)


def _pool_file(env: Any, config: NetworkConfig) -> tuple[list[Any], PoolFile | None]:
    """The pool file that the user names, and what it says."""
    if not config.mpool:
        return [], None
    from neuralart.vendor import mpool

    node = source_file(env, config.mpool, "memory-pool file", config.said("mpool"))
    refuse_built(node, "memory-pool file", config.said("mpool"))
    path = Path(node.srcnode().get_abspath())
    return [node], registry_of(env).once("mpool", str(path), lambda: mpool.read(path, named(env, path)))


def adopted_plan(env: Any, config: NetworkConfig, board: Board) -> CompilePlan:
    """Plan the copy. NeuralArtError: a file is missing or does not belong to the network, it is for another kind of
    board, or a key is set that only a compile has.
    """
    given = config.adopted
    assert given is not None
    check_name(config.name, config.said())
    _refuse_keys(config)
    folder = Path(env.fs.Dir(given.folder).srcnode().get_abspath())
    files = {pool: Path(env.fs.File(text).srcnode().get_abspath()) for pool, text in given.initializers}
    where = config.said("compiler")
    read, mpool = _pool_file(env, config)
    made = adopted.plan(folder, given.c_file, files, shown=named(env, folder), where=where, mpool=mpool)
    if flow_of(board.target) != made.found.flow:
        runs = {"NPU": "the NPU", "CPU": "the core"}
        raise NeuralArtError(
            f"adopted: {made.found.where} is a network for {runs[made.found.flow]}, networks of board {board.name} run "
            f"on {runs[flow_of(board.target)]}",
            where=where,
        )
    words: list[Any] = ["--compiler", ADOPTED, "--adopted", *word(env, folder), "--c-file", made.found.c_file]
    words += ["--target", board.target, "--name", config.name]
    for pool, path in made.initializers.items():
        words += ["--initializer", *word(env, path, f"{pool}=")]
    for node in read:
        words += ["--mpool", *word(env, Path(node.srcnode().get_abspath()))]
    if made.pools is not None:
        declared_initializers(config, made.pools, tuple(made.initializers))
    key = {
        "name": config.name,
        "adopted": [stable(env, folder), made.found.c_file, sorted(made.copied)],
        "initializers": {pool: stable(env, path) for pool, path in made.initializers.items()},
        "target": board.target,
        "mpool": [stable(env, Path(node.srcnode().get_abspath())) for node in read],
    }
    ours = made.found.runtime == NEURALART and made.pools is not None
    return CompilePlan(
        config=config,
        board=board,
        compiler=ChosenCompiler(ADOPTED, ADOPTED, runtime=made.found.runtime),
        words=words,
        key=json.dumps(key, sort_keys=True),
        files=FileSet(dict(made.plain), dict(made.raws)),
        sources=[*(env.fs.File(str(path)) for path in made.sources), *read],
        pools=made.pools,
        idle=made.found.idle if made.pools is not None else (),
        includes={made.found.c_file: RUNTIME_INCLUDES} if ours else {},
    )
