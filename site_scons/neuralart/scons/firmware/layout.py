"""The layout of a program: made when the SConstruct is read, from what its networks declare."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.errors import NeuralArtError
from neuralart.memory.layout.layout import LayoutNetwork, make_layout
from neuralart.memory.layout.placements import Layout
from neuralart.memory.layout.relative_pools import RELATIVE
from neuralart.network.pools import PoolFile
from neuralart.scons.network.nodes import Compiled, NetworkNodes


@dataclass(frozen=True)
class PlannedNetwork:
    """A network that ``NeuralArtNetwork`` makes, as far as its constants are concerned."""

    name: str  # C name
    board: Board  # The board it is compiled for
    config: NetworkConfig  # What it is made from
    pools: PoolFile  # The pool file it is compiled for
    initializers: dict[str, Any]  # Raw file per pool (fname)
    facts: Any  # ``network.json``
    runtime: str  # What a program with it needs


Member: TypeAlias = NetworkNodes | PlannedNetwork


def board_of(networks: Sequence[Compiled | Member], where: str = "") -> Board:
    """The one board of a program's networks. NeuralArtError: They are for different boards."""
    names = sorted({network.board.name for network in networks})
    if len(names) != 1:
        raise NeuralArtError(f"one program, but its networks are for {' and '.join(names) or 'no board'}", where=where)
    return networks[0].board


def layout_of(
    networks: Sequence[Member], variant: VariantConfig, *, board_layout: bool, board: Board | None = None
) -> Layout:
    """Give everything of a program its place. NeuralArtError: Something has no place, or two things have one."""
    board = board or board_of(networks)
    loaded = variant.relocatable is not None
    known = [
        LayoutNetwork(
            network.name,
            network.pools,
            _declared(network, board, elsewhere=board.name != network.board.name),
            dict(network.config.strategies),
            network.config.said(),
            loaded,
        )
        for network in networks
    ]
    return make_layout(board, variant, known, with_firmware=board_layout)


def _declared(network: Member, board: Board, *, elsewhere: bool) -> tuple[str, ...]:
    """Pools with an initializer. A model of another board may list memories that this one does not have."""
    for name, node in network.initializers.items():
        pool = next((pool for pool in network.pools.enabled if pool.fname == name), None)
        if str(node).endswith(".c") and (pool is None or not pool.in_c):
            what = f"pool {name} of network {network.name} is written as C: a part of the program, which nothing loads"
            hint = '"fformat": "FORMAT_RAW": images and start-up code are made of raw files'
            raise NeuralArtError(what, where=pool.where if pool is not None else "", hint=hint)
    if not elsewhere:
        return tuple(network.initializers)
    here = {p.fname for p in network.pools.enabled if p.mode == RELATIVE or board.region_at(p.address) is not None}
    return tuple(name for name in network.initializers if name in here)


def _identity(layout: Layout, lines: bool) -> str:
    rows = [(p.owner, p.kind, p.start, p.size, p.chosen_by if lines else "") for p in layout.placements]
    moves = [
        (i.network, i.pool, i.strategy, i.run_address, i.load_address, i.capacity, i.cacheable)
        for i in layout.initializers
    ]
    loaded = [asdict(layout.loaded)] if layout.loaded is not None else []
    return json.dumps([layout.board, rows, moves, layout.descriptor, layout.application, *loaded])


def layout_value(env: Any, layout: Layout, *, lines: bool = False) -> Any:
    """The layout as a dependency. ``lines``: the places (``file:line``) that chose the addresses count as well."""
    digest = hashlib.sha256(_identity(layout, lines).encode()).hexdigest()[:16]
    return env.Value(digest, name="layout")
