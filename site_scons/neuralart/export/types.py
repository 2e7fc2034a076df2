"""What goes into an export, whoever collected it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Raw:
    """The constants of a pool as the compiler wrote them.

    Attributes:
        pool: fname.
        address: Base of the pool: where the network reads them.
        path: The file.
    """

    pool: str
    address: int
    path: Path


@dataclass(frozen=True)
class NetworkPart:
    """One network.

    Attributes:
        name: Its C name.
        runtime: ``neuralart`` or ``ll_aton``.
        runtime_version: Four numbers, as in the guard of its C.
        abi_stamp: As in its ``network.json``.
        sources: C to compile.
        headers: Headers beside them.
        raws: Constants by pool.
        others: Files that nothing compiles: facts, reports.
        linked: Some of its constants are linked into the program, so its folder is on the assembler's path.
    """

    name: str
    runtime: str
    runtime_version: tuple[int, int, int, int]
    abi_stamp: str
    sources: tuple[Path, ...]
    headers: tuple[Path, ...] = ()
    raws: tuple[Raw, ...] = ()
    others: tuple[Path, ...] = ()
    linked: bool = False


@dataclass(frozen=True)
class ImagePart:
    """Bytes to load beside the program.

    Attributes:
        network: Name of the network; empty for the identity descriptor.
        pool: fname; empty for the identity descriptor.
        address: Of the first byte.
        binary: The bytes; an empty file: nothing to load.
        hex: The same as Intel HEX.
        external: Somebody else loads it into RAM while the program waits.
    """

    network: str
    pool: str
    address: int
    binary: Path
    hex: Path
    external: bool = False


@dataclass(frozen=True)
class RuntimePart:
    """A file of our runtime.

    Attributes:
        name: Below the folder ``runtime``, with ``/``.
        path: The file.
    """

    name: str
    path: Path


@dataclass(frozen=True)
class ExportInputs:
    """A variant to export.

    Attributes:
        name: Of the variant.
        title: For people, one line.
        board: Name of the board.
        networks: In order.
        sources: C for all networks together: start-up code of the memories, linked constants.
        headers: Their headers, and ``network_io.h``.
        images: In the order to load them.
        runtime: Sources and headers of our runtime; only ``npu_memory`` where the networks need another one.
        defines: Preprocessor definitions of the generated C, ``NAME`` or ``NAME=value``.
        cpu_flags: GCC flags of the core that the board's own build uses, for information.
    """

    name: str
    title: str
    board: str
    networks: tuple[NetworkPart, ...]
    sources: tuple[Path, ...] = ()
    headers: tuple[Path, ...] = ()
    images: tuple[ImagePart, ...] = ()
    runtime: tuple[RuntimePart, ...] = ()
    defines: tuple[str, ...] = ()
    cpu_flags: tuple[str, ...] = ()
