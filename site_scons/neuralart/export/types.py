"""What goes into an export, whoever collected it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Raw:
    """The constants of a pool as the compiler wrote them."""

    pool: str  # fname
    address: int  # Base of the pool: where the network reads them
    path: Path  # The file


@dataclass(frozen=True)
class NetworkPart:
    """One network."""

    name: str  # Its C name
    runtime: str  # ``neuralart`` or ``ll_aton``
    runtime_version: tuple[int, int, int, int]  # Four numbers, as in the guard of its C
    abi_stamp: str  # As in its ``network.json``
    sources: tuple[Path, ...]  # C to compile
    headers: tuple[Path, ...] = ()  # Headers beside them
    raws: tuple[Raw, ...] = ()  # Constants by pool
    others: tuple[Path, ...] = ()  # Files that nothing compiles: facts, reports
    linked: bool = False  # Some of its constants are linked into the program, so its folder is on the assembler's path


@dataclass(frozen=True)
class ImagePart:
    """Bytes to load beside the program."""

    network: str  # Name of the network; empty for the identity descriptor
    pool: str  # fname; empty for the identity descriptor
    address: int  # Of the first byte
    binary: Path  # The bytes; an empty file: nothing to load
    hex: Path  # The same as Intel HEX
    external: bool = False  # Somebody else loads it into RAM while the program waits


@dataclass(frozen=True)
class RuntimePart:
    """A file of our runtime."""

    name: str  # Below the folder ``runtime``, with ``/``
    path: Path  # The file


@dataclass(frozen=True)
class ExportInputs:
    """A variant to export."""

    name: str  # Of the variant
    title: str  # For people, one line
    board: str  # Name of the board
    networks: tuple[NetworkPart, ...]  # In order
    sources: tuple[Path, ...] = ()  # C for all networks together: start-up code of the memories, linked constants
    headers: tuple[Path, ...] = ()  # Their headers, and ``network_io.h``
    images: tuple[ImagePart, ...] = ()  # In the order to load them
    # Sources and headers of our runtime; only ``npu_memory`` where the networks need another one
    runtime: tuple[RuntimePart, ...] = ()
    defines: tuple[str, ...] = ()  # Preprocessor definitions of the generated C, ``NAME`` or ``NAME=value``
    cpu_flags: tuple[str, ...] = ()  # GCC flags of the core that the board's own build uses, for information
