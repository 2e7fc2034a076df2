"""The identity descriptor of an image's networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuralart.memory.layout import identity
from neuralart.memory.layout.placements import Initializer
from neuralart.network.facts import Network


def build(
    networks: Sequence[Network],
    initializers: Sequence[Initializer],
    raws: Mapping[tuple[str, str], tuple[int, int]],
) -> bytes:
    """The descriptor's bytes.

    Args:
        networks: In the order of the image.
        initializers: Those that the descriptor speaks of, in the order of the layout; empty ones are left out.
        raws: (network, pool) to (bytes, CRC-32) of its raw file.

    Returns:
        Empty when all raw files are empty: there is nothing to describe.

    Raises:
        NeuralArtError: An entry cannot be written.
    """
    number = {network.name: position for position, network in enumerate(networks)}
    entries = []
    for item in initializers:
        size, crc = raws[(item.network, item.pool)]
        if size:
            stamp = networks[number[item.network]].abi_stamp
            entries.append(identity.Entry(stamp, item.pool, item.load_address, size, crc, number[item.network]))
    return identity.build(entries) if entries else b""
