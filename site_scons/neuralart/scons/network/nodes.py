"""Networks as ``env.Network`` returns them, and the C of the runtime that a program with them needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeAlias

from neuralart.boards.types import Board
from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.network.facts import LL_ATON as LL_ATON
from neuralart.network.facts import NEURALART as NEURALART
from neuralart.network.pools import PoolFile
from neuralart.quick import dataclass, field
from neuralart.resources import firmware_dir


@dataclass(frozen=True, kw_only=True)
class CompiledNodes:
    """The nodes of a compile."""

    name: str  # C name of the network
    board: Board  # The board it was compiled for
    folder: str  # Where its files are, relative to the top folder
    facts: Any  # ``network.json``
    manifest: Any  # ``manifest.json``: sizes and hashes
    c_info: Any  # ``N_c_info.json``
    report: Any  # ``N_generate_report.txt``
    provenance: Any  # ``provenance.txt``; nothing depends on it
    runtime: str  # ``neuralart`` or ``ll_aton``: what a program with it needs
    declare_runtime: Callable[[], list[Any]]  # Once; our own programs compile the runtime elsewhere
    include_dirs: list[Any]  # For CPPPATH
    config: NetworkConfig  # What it was made from
    files: list[Any]  # All files of the compile
    defines: list[str] = field(default_factory=list)  # For CPPDEFINES
    vectors: str = ""  # Folder of golden vectors (as named) or empty
    input: str = ""  # File or folder of inputs (as named) or empty
    labels: str = ""  # File with the names of the classes (as named) or empty

    @property
    def code(self) -> list[Any]:
        """C of this network, without the runtime."""
        raise NotImplementedError

    @property
    def runtime_sources(self) -> list[Any]:
        """C sources of the runtime and its kernels."""
        return self.declare_runtime()

    @property
    def sources(self) -> list[Any]:
        """Everything to compile into a program with this one network. A program with several networks takes each
        network's ``code`` and one ``runtime_sources``.
        """
        return [*self.code, *self.runtime_sources]


@dataclass(frozen=True, kw_only=True)
class NetworkNodes(CompiledNodes):
    """What ``env.Network`` returns for a board with an NPU."""

    c: Any  # The generated C
    header: Any  # ``N.h``; None where the compiler writes none
    compiler: str  # ``reference``, ``stedgeai`` or ``recorded``
    more: dict[str, Any]  # Further files by name: ``N_ecblobs.h``, ``stai_N.c``
    initializers: dict[str, Any]  # Raw file per pool (fname)
    pool_address: dict[str, int]  # Base address per pool (fname)
    pools: PoolFile  # The pool file it is compiled for
    pair: NetworkNodes | None = None  # The same network without the epoch controller; None: not asked for

    @property
    def code(self) -> list[Any]:
        """C of this network, without the runtime: also what its compiler adds, and initializers in C."""
        c = [node for name, node in sorted(self.more.items()) if name.endswith(".c")]
        return [self.c, *c, *(node for node in self.initializers.values() if str(node).endswith(".c"))]


@dataclass(frozen=True, kw_only=True)
class CpuNetworkNodes(CompiledNodes):
    """What ``env.Network`` returns for a board whose networks run on its core."""

    c: list[Any]  # The generated C: layers, activations, constants
    headers: list[Any]  # ``N.h`` and those that it includes

    @property
    def code(self) -> list[Any]:
        """C of this network, without the runtime."""
        return self.c

    @property
    def pair(self) -> None:
        """None: there is no epoch controller to leave out."""
        return None


Compiled: TypeAlias = NetworkNodes | CpuNetworkNodes


def refuse_cpu(networks: Iterable[Any], where: str) -> None:
    """Refuse networks that run on the core, which need no initializers (NeuralArtError)."""
    for network in networks:
        if isinstance(network, CpuNetworkNodes):
            said = f"network {network.name} runs on the core of board {network.board.name}"
            what = f"{said}: its constants are C, its buffers the application's"
            raise NeuralArtError(what, where=where, hint="compile its 'sources' into the program")


def check_compiled(network: Any, where: str) -> None:
    """Refuse what is no network (NeuralArtError)."""
    if not isinstance(network, CompiledNodes):
        raise NeuralArtError(f"takes what Network returned, not {network!r}", where=where)


# Kernels that stand for others of the same name, code that becomes a part of relocatable models, that of CPU networks.
_OF_OTHER_PROGRAMS = ("kernels_", "relocatable/", "legacy/")


def cpu_runtime_files() -> list[str]:
    """C files of the runtime for networks on the core, relative to the runtime's folder."""
    origin = firmware_dir() / "runtime"
    return sorted(
        path.relative_to(origin).as_posix() for part in ("kernels", "legacy") for path in (origin / part).glob("*.c")
    )


def cpu_runtime_includes() -> list[str]:
    """Include folders of that runtime."""
    runtime = firmware_dir() / "runtime"
    return [str(runtime / "include"), str(runtime / "legacy" / "include")]


@cache
def _npu_runtime_files() -> tuple[str, ...]:
    origin = firmware_dir() / "runtime"
    relative = sorted(path.relative_to(origin).as_posix() for path in origin.rglob("*.c"))
    return tuple(name for name in relative if not name.startswith(_OF_OTHER_PROGRAMS))


def runtime_nodes(env: Any, folder: str, *, cpu: bool) -> tuple[Callable[[], list[Any]], list[Any]]:
    """Returns a function that declares the runtime's sources below ``folder`` (relative to the top folder), so that
    objects are never written beside the package; and the include folders.
    """
    origin = firmware_dir() / "runtime"

    @cache
    def declare() -> list[Any]:
        local = f"#{folder}/runtime"
        env.VariantDir(local, env.fs.Dir(str(origin)), duplicate=0)
        return [env.fs.File(f"{local}/{name}") for name in (cpu_runtime_files() if cpu else _npu_runtime_files())]

    return declare, [env.fs.Dir(text) for text in (cpu_runtime_includes() if cpu else [str(origin / "include")])]
