"""Pool files, variants and networks made by hand, for tests of the address plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig, Reserved, VariantConfig
from neuralart.memory.layout.layout import LayoutNetwork, make_layout
from neuralart.memory.layout.strategies import Layout, Placement
from neuralart.network.facts import Network, PoolUse
from neuralart.network.pools import MemoryPool, PoolFile, default_initializers
from neuralart.text.values import Location
from support.projects import smallboard

NOR = "ACC_READ"


def pool(fname: str, address: int, size: int, rights: str = "ACC_WRITE", **more: Any) -> MemoryPool:
    """A pool; its place in the file is made of its name."""
    return MemoryPool(fname, more.pop("name", fname.lower()), address, size, rights, **more)


def pools(*listed: MemoryPool, path: str = "a.mpool") -> PoolFile:
    """A pool file with one pool per line, from line 1."""
    placed = [
        MemoryPool(**{**each.__dict__, "where": f"{path}:{number}:5"}) for number, each in enumerate(listed, start=1)
    ]
    return PoolFile(path, "atonbuf", tuple(placed))


def network(
    file: PoolFile,
    name: str = "digits",
    declared: Sequence[str] | None = None,
    strategies: Mapping[str, str] | None = None,
) -> LayoutNetwork:
    """A network as its configuration says, written in line 7."""
    return LayoutNetwork(
        name,
        file,
        default_initializers(file) if declared is None else tuple(declared),
        dict(strategies or {}),
        "variants.yaml:7",
    )


def variant(
    board: Board,
    networks: Sequence[LayoutNetwork] = (),
    slots: Mapping[str, int] | None = None,
    reserved: Sequence[tuple[str, int, int]] = (),
) -> VariantConfig:
    """A variant in line 20; its slots in line 30, reserved ranges from line 40 on, strategies of networks in line 9."""
    configs = [
        NetworkConfig(
            each.name,
            "x.tflite",
            where=Location("variants.yaml", 7),
            places={f"strategies.{pool}": Location("variants.yaml", 9) for pool in each.strategies},
        )
        for each in networks
    ]
    return VariantConfig(
        "v",
        "",
        board.name,
        "",
        tuple(configs),
        slots=tuple((slots or {}).items()),
        reserved=tuple(
            Reserved(name, address, size, Location("variants.yaml", 40 + number))
            for number, (name, address, size) in enumerate(reserved)
        ),
        where=Location("variants.yaml", 20),
        places={f"slots.{name}": Location("variants.yaml", 30) for name in slots or {}},
    )


def layout(
    board: Board,
    *networks: LayoutNetwork,
    slots: Mapping[str, int] | None = None,
    reserved: Sequence[tuple[str, int, int]] = (),
    **more: Any,
) -> Layout:
    """The layout of some networks on a board."""
    return make_layout(board, variant(board, networks, slots, reserved), networks, **more)


def placement(made: Layout, owner: str) -> Placement:
    """The one placement of an owner."""
    (found,) = [each for each in made.placements if each.owner == owner]
    return found


def facts(given: LayoutNetwork, used: Mapping[str, tuple[int, int]], *extra: PoolUse) -> Network:
    """What a compile says: per pool the bytes of constants and of activations (one after the other)."""
    uses = []
    for each in given.pools.enabled:
        weights, activations = used.get(each.fname, (0, 0))
        uses.append(
            PoolUse(
                each.name,
                each.fname,
                each.address,
                each.size,
                weights + activations,
                weights,
                activations,
                each.rights,
                cacheable=each.cacheable,
            )
        )
    return smallboard.network(*uses, *extra, name=given.name)
