"""Networks as ``env.Network`` returns them, whoever runs them: an NPU's runtime, or the core alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from neuralart.errors import NeuralArtError
from neuralart.scons.cpu_network import CpuNetworkNodes
from neuralart.scons.network import NetworkNodes

Compiled: TypeAlias = NetworkNodes | CpuNetworkNodes


def refuse_cpu(networks: Iterable[Any], where: str) -> None:
    """Refuse networks that run on the core: what they need is all C.

    Args:
        networks: What a user gave.
        where: To which method.

    Raises:
        NeuralArtError: One of them does.
    """
    for network in networks:
        if isinstance(network, CpuNetworkNodes):
            raise NeuralArtError(
                f"network {network.name} runs on the core of board {network.board.name}: its constants are C, its "
                "buffers the application's",
                where=where,
                hint="compile its 'sources' into the program",
            )


def check_compiled(network: Any, where: str) -> None:
    """Refuse what is no network.

    Args:
        network: What a user gave.
        where: To which method.

    Raises:
        NeuralArtError: It is something else.
    """
    if not isinstance(network, (NetworkNodes, CpuNetworkNodes)):
        raise NeuralArtError(f"takes what Network returned, not {network!r}", where=where)
