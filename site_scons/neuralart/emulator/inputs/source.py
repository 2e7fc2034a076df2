"""Where the inputs of a run come from. Only golden vectors also say what must come out."""

from __future__ import annotations

import random
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from neuralart.emulator import vectors as golden
from neuralart.emulator.inputs.preprocessing import AS_THEY_ARE, Preprocessing
from neuralart.emulator.inputs.readers import read
from neuralart.emulator.vectors import Vectors
from neuralart.network.facts import Network, Port

# Larger ones could be an index or a length that no input of its own would have.
_LARGEST_WIDE = 127


@dataclass(frozen=True)
class InputFile:
    """Inputs from a file or folder of the user's."""

    path: Path  # What :func:`~neuralart.emulator.inputs.readers.read` takes
    preprocessing: Preprocessing = AS_THEY_ARE  # What makes numbers of the file into inputs

    def __str__(self) -> str:
        return self.path.as_posix()


@dataclass(frozen=True)
class RandomInputs:
    """Inputs that are pseudo-random: the same on every machine."""

    count: int = 1  # How many vectors; the first ones of more are the same
    seed: int = 0  # Another one gives other inputs

    def __str__(self) -> str:
        return f"pseudo-random inputs, seed {self.seed}"


@dataclass(frozen=True)
class GivenInputs:
    """Inputs that were read already."""

    data: tuple[bytes, ...]  # For each vector those of all ports, concatenated
    origin: str = "given inputs"  # Where they come from, for messages

    def __str__(self) -> str:
        return self.origin


Feed: TypeAlias = Path | InputFile | RandomInputs | GivenInputs
"""A path is that of a folder of golden vectors."""


def _tensor_at_random(port: Port, source: random.Random) -> bytes:
    """Any bytes for small integers, 0 to 127 for wide ones, -1 to 1 for floats."""
    if port.dtype in ("int8", "uint8", "int16", "uint16"):
        return source.randbytes(port.bytes)
    code = golden.DTYPES[port.dtype]
    count = port.bytes // struct.calcsize(f"<{code}")
    if port.dtype.startswith("float"):
        return struct.pack(f"<{count}{code}", *(2 * source.random() - 1 for _ in range(count)))
    limit = 1 if port.dtype == "bool" else _LARGEST_WIDE
    return struct.pack(f"<{count}{code}", *(source.randint(0, limit) for _ in range(count)))


def at_random(ports: Sequence[Port], wanted: RandomInputs) -> list[bytes]:
    """Pseudo-random inputs, for each vector those of all ports, concatenated."""
    source = random.Random(wanted.seed)
    return [b"".join(_tensor_at_random(port, source) for port in ports) for _ in range(wanted.count)]


def input_data(feed: InputFile | RandomInputs | GivenInputs, ports: Sequence[Port]) -> list[bytes]:
    """Inputs, for each vector those of all ports, concatenated. NeuralArtError: a file does not fit them."""
    if isinstance(feed, GivenInputs):
        return list(feed.data)
    return at_random(ports, feed) if isinstance(feed, RandomInputs) else read(feed.path, ports, feed.preprocessing)


def inputs_of(feed: Feed, network: Network) -> Vectors:
    """Everything that a network is to be fed with. NeuralArtError: it cannot be read, or belongs to another network."""
    if isinstance(feed, Path):
        vectors = golden.load(feed)
        golden.check(vectors, network)
        return vectors
    return golden.unproved(network, input_data(feed, network.inputs), str(feed))
