"""What the build of a relocatable model needs from a network.c: a strict view of what its reader finds. Without guard,
without pools or with a row that cannot be understood there is nothing to build from.
"""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, field, replace
from neuralart.text.c_source import Lines
from neuralart.vendor.network_c import read as generated
from neuralart.vendor.network_c.blocks import getter_name
from neuralart.vendor.network_c.types import BufferRow, EpochBlock, GeneratedNetwork, Pool


@dataclass(frozen=True)
class NetworkSource:
    path: Path  # the file
    text: str = field(repr=False)
    c_name: str  # suffix of its functions
    description: str  # GIT_DESCRIPTION of the compiler
    version: tuple[int, int, int, int]  # ll_aton major, minor, micro, dev that its guard asks for
    options: dict[str, str]  # --name = value lines of the first comment, without dashes
    pools: tuple[Pool, ...]  # enabled pools, highest base address first
    buffers: tuple[BufferRow, ...]  # of all three tables, without those of the application
    epochs: tuple[EpochBlock, ...] = ()  # in order

    @property
    def epoch_controller(self) -> bool:
        return self.options.get("enable-epoch-controller") == "true"

    @property
    def all_buffers(self) -> bool:
        """Whether its tables list the buffers between input and output, too."""
        return self.options.get("all-buffers-info") == "true"


def _refuse(network: GeneratedNetwork, path: str) -> None:
    """What is good enough to look at, but not to build from."""
    if not getter_name(network.text):
        what = "no function LL_ATON_EpochBlockItems_<name>: not a generated network"
        raise NeuralArtError(what, where=path, hint="is it network.c?")
    if network.runtime is None:
        what = "no guard on LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV: the runtime it is made for is unknown"
        raise NeuralArtError(what, where=path)
    for problem in network.problems:
        if problem.code in ("unreadable", "cut-table"):
            raise NeuralArtError(problem.what, where=problem.where, hint="is the file complete and undamaged?")


def read(path: Path, display: str = "") -> NetworkSource:
    """Read a network.c. ``display``: its name in messages. NeuralArtError: it is no generated network, or damaged."""
    network = generated.read(path, display)
    where = network.where
    _refuse(network, where)
    lines = Lines(network.text)
    pools = [
        replace(pool, where=f"{where}:{lines.of(pool.offset)}")
        for pool in network.pools
        if pool.size and not pool.of_user
    ]
    if not pools:
        hint = "is it a generated network.c, and complete?"
        raise NeuralArtError("no comment describes a memory pool", where=where, hint=hint)
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
        buffers=tuple(
            replace(row, where=f"{where}:{lines.of(row.offset)}") for row in network.rows if not row.user_allocated
        ),
        epochs=network.blocks,
    )
