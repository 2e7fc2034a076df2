"""The data classes of the finished plan: each owner and how much of its place is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuralart.boards.types import Board
from neuralart.memory.layout.placements import Layout, Placement
from neuralart.network.facts import PoolUse

# Keys of sizes.
APPLICATION = "application"
CODE = "code"
DATA = "data"


@dataclass(frozen=True)
class Use:
    """A placement and how much of it is used.

    Attributes:
        placement: Who, where and how much at most.
        used: Bytes from its start on; None if that is not known (yet).
    """

    placement: Placement
    used: int | None


@dataclass(frozen=True)
class AddressPlan:
    """Everybody's addresses.

    Attributes:
        board: The board.
        layout: What it was made from.
        uses: In the order of the layout's placements.
        raws: Bytes of the initializers, by (network, pool); empty before a build.
        undeclared: Pools with constants that no declared initializer brings, each with the name of its network.
        written: Pools with activations, each with the name of its network.
        actual: The networks are compiled: uses are what is used. False: declared sizes only.
    """

    board: Board
    layout: Layout
    uses: tuple[Use, ...]
    raws: Mapping[tuple[str, str], int]
    undeclared: tuple[tuple[str, PoolUse], ...]
    written: tuple[tuple[str, PoolUse], ...]
    actual: bool


def raw_key(network: str, pool: str) -> str:
    """Key in ``sizes`` of the bytes of an initializer."""
    return f"{network}/{pool}"
