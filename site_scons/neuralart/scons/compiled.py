"""Networks as ``env.Network`` returns them, whoever runs them: an NPU's runtime, or the core alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import LL_ATON as LL_ATON
from neuralart.network.facts import NEURALART as NEURALART
from neuralart.network.pools import PoolFile


@dataclass(frozen=True, kw_only=True)
class CompiledNodes:
    """What every compile has.

    Attributes:
        name: C name of the network.
        board: The board it was compiled for.
        folder: Where its files are, relative to the top folder.
        facts: ``network.json``.
        manifest: ``manifest.json``: sizes and hashes.
        c_info: ``N_c_info.json``.
        report: ``N_generate_report.txt``.
        provenance: ``provenance.txt``; nothing depends on it.
        runtime: ``neuralart`` or ``ll_aton``: what a program with it needs.
        runtime_sources: C sources of the runtime and its kernels.
        include_dirs: For CPPPATH.
        defines: For CPPDEFINES.
        vectors: Folder of golden vectors (as named) or empty.
        config: What it was made from.
        files: All files of the compile.
    """

    name: str
    board: Board
    folder: str
    facts: Any
    manifest: Any
    c_info: Any
    report: Any
    provenance: Any
    runtime: str
    runtime_sources: list[Any]
    include_dirs: list[Any]
    config: NetworkConfig
    files: list[Any]
    defines: list[str] = field(default_factory=list)
    vectors: str = ""

    @property
    def code(self) -> list[Any]:
        """C of this network alone."""
        raise NotImplementedError

    @property
    def sources(self) -> list[Any]:
        """Everything to compile into a program with this one network.

        A program with several networks takes each network's ``code`` and one ``runtime_sources``.
        """
        return [*self.code, *self.runtime_sources]


@dataclass(frozen=True, kw_only=True)
class NetworkNodes(CompiledNodes):
    """What ``env.Network`` returns for a board with an NPU.

    Attributes:
        c: The generated C.
        header: ``N.h``; None where the compiler writes none.
        compiler: ``reference``, ``stedgeai`` or ``recorded``.
        more: Further files by name: ``N_ecblobs.h``, ``stai_N.c``...
        initializers: Raw file per pool (fname).
        pool_address: Base address per pool (fname).
        pools: The pool file it is compiled for.
        pair: The same network without the epoch controller; None: not asked for.
    """

    c: Any
    header: Any
    compiler: str
    more: dict[str, Any]
    initializers: dict[str, Any]
    pool_address: dict[str, int]
    pools: PoolFile
    pair: NetworkNodes | None = None

    @property
    def code(self) -> list[Any]:
        """C of this network alone: with what its compiler adds, and initializers that were written as C."""
        c = [node for name, node in sorted(self.more.items()) if name.endswith(".c")]
        return [self.c, *c, *(node for node in self.initializers.values() if str(node).endswith(".c"))]


@dataclass(frozen=True, kw_only=True)
class CpuNetworkNodes(CompiledNodes):
    """What ``env.Network`` returns for a board whose networks run on its core.

    Attributes:
        c: The generated C: layers, activations, constants.
        headers: ``N.h`` and those that it includes.
    """

    c: list[Any]
    headers: list[Any]

    @property
    def code(self) -> list[Any]:
        """C of this network alone."""
        return self.c

    @property
    def pair(self) -> None:
        """There is no epoch controller that could be left out."""
        return None


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
    if not isinstance(network, CompiledNodes):
        raise NeuralArtError(f"takes what Network returned, not {network!r}", where=where)
