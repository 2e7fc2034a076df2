"""What the build of a relocatable model needs from a network.c: a strict view of what its reader finds.

Without guard, without pools or with a row that cannot be understood there is nothing to build from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import Lines
from neuralart.vendor.network_c import read as generated
from neuralart.vendor.network_c.blocks import getter_name
from neuralart.vendor.network_c.types import GeneratedNetwork, Pool, Row


@dataclass(frozen=True)
class SourcePool:
    """A pool as the comments of network.c describe it.

    Attributes:
        fname: File postfix.
        name: Report name.
        address: ``offset=`` of the comment.
        capacity: Bytes; 0: disabled.
        said: Bytes in use as the comment rounds them; 0 for ``?``.
        precision: How much ``said`` may be off, in bytes.
        writable: READ_WRITE.
        cacheable: Through the NPU cache.
        relative: Its base is a symbol.
        virtual: Made of others.
        where: ``file:line``.
    """

    fname: str
    name: str
    address: int
    capacity: int
    said: int
    precision: int
    writable: bool
    cacheable: bool
    relative: bool
    virtual: bool
    where: str

    def symbol(self, c_name: str) -> str:
        """What the C code calls the base of a relative pool."""
        return f"_mem_pool_{self.fname}_{c_name}"


@dataclass(frozen=True)
class SourceBuffer:
    """A row of a buffer table.

    Attributes:
        name: Of the tensor.
        symbol: Base, when the pool is relative; else empty.
        address: Base, when the pool is absolute; else 0.
        start: First byte, from the base.
        end: Behind the last byte, from the base.
        is_param: Constant.
        where: ``file:line``.
    """

    name: str
    symbol: str
    address: int
    start: int
    end: int
    is_param: bool
    where: str


@dataclass(frozen=True)
class NetworkSource:
    """A network.c.

    Attributes:
        path: The file.
        text: Its text.
        c_name: Suffix of its functions.
        description: GIT_DESCRIPTION of the compiler.
        version: ll_aton major, minor, micro, dev that its guard asks for.
        options: ``--name = value`` lines of the first comment, without dashes.
        pools: Enabled pools, highest base address first.
        buffers: Of all three tables, without those of the application.
    """

    path: Path
    text: str = field(repr=False)
    c_name: str
    description: str
    version: tuple[int, int, int, int]
    options: dict[str, str]
    pools: tuple[SourcePool, ...]
    buffers: tuple[SourceBuffer, ...]

    @property
    def epoch_controller(self) -> bool:
        """It has epoch-controller blobs."""
        return self.options.get("enable-epoch-controller") == "true"

    @property
    def version_text(self) -> str:
        """``1.1.3.262``."""
        return ".".join(map(str, self.version))


def _pool(pool: Pool, where: str, lines: Lines) -> SourcePool:
    return SourcePool(
        fname=pool.fname,
        name=pool.name,
        address=pool.address,
        capacity=pool.size,
        said=pool.said,
        precision=pool.precision,
        writable=pool.writable,
        cacheable=pool.cacheable,
        relative=pool.relative,
        virtual=pool.virtual,
        where=f"{where}:{lines.of(pool.offset)}",
    )


def _buffer(row: Row, where: str, lines: Lines) -> SourceBuffer:
    place = f"{where}:{lines.of(row.offset)}"
    return SourceBuffer(row.name, row.symbol, row.base, row.start, row.end, row.is_param, place)


def _refuse(network: GeneratedNetwork, path: str) -> None:
    """What is good enough to look at, but not to build from."""
    if not getter_name(network.text):
        raise NeuralArtError(
            "no function LL_ATON_EpochBlockItems_<name>: not a generated network", where=path, hint="is it network.c?"
        )
    if network.runtime is None:
        raise NeuralArtError(
            "no guard on LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV: the runtime it is made for is unknown",
            where=path,
        )
    for problem in network.problems:
        if problem.code in ("unreadable", "cut-table"):
            raise NeuralArtError(problem.what, where=problem.where, hint="is the file complete and undamaged?")


def read(path: Path, display: str = "") -> NetworkSource:
    """Read a network.c.

    Args:
        path: The file.
        display: Its name in messages.

    Raises:
        NeuralArtError: It is no generated network, or damaged.
    """
    network = generated.read(path, display)
    where = network.where
    _refuse(network, where)
    lines = Lines(network.text)
    pools = [_pool(pool, where, lines) for pool in network.pools if pool.size and not pool.of_user]
    if not pools:
        raise NeuralArtError(
            "no comment describes a memory pool", where=where, hint="is it a generated network.c, and complete?"
        )
    banner = network.banner
    assert network.runtime is not None
    return NetworkSource(
        path=path,
        text=network.text,
        c_name=network.name,
        description=banner.origin.get("GIT_DESCRIPTION", ""),
        version=network.runtime,
        options={**banner.expanded, **banner.origin, **banner.options},
        pools=tuple(sorted(pools, key=lambda pool: -pool.address)),
        buffers=tuple(_buffer(row, where, lines) for row in network.rows if not row.user_allocated),
    )
