"""Memory pools of ``.mpool`` files, absolute and relative."""

from __future__ import annotations

from collections.abc import Iterable

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, replace

EPOCH_CONTROLLER_POOL = "params"
"""A compiler saves this relative pool with every pool file; it belongs to the epoch controller, no tensor is in it."""
# Relative pools (USEMODE_RELATIVE): external memories that get their place when a model is installed.
EXTERNAL = 0x60000000
"""Memories below are inside the chip: they stay where they are, and cacheable accesses of the NPU are wrong there."""
_ADDRESS_SPACE = 1 << 32


def initializer_name(network: str, prefix: str, fname: str) -> str:
    """File name of an initializer; the prefix is ``mem_file_prefix`` of the pool file."""
    return f"{network}_{prefix}.{fname}.raw"


@dataclass(frozen=True)
class MemoryPool:
    """One pool."""

    fname: str  # File postfix; names the initializer ``<network>_atonbuf.<fname>.raw``
    name: str  # Report name
    address: int  # Base address
    size: int  # Bytes; 0 disables the pool
    rights: str = "ACC_WRITE"  # ``ACC_READ`` or ``ACC_WRITE`` (= read and write)
    fformat: str = "FORMAT_RAW"  # ``FORMAT_RAW``, ``FORMAT_C``, ``FORMAT_HEX``...
    mode: str = "USEMODE_ABSOLUTE"  # ``USEMODE_ABSOLUTE`` or ``USEMODE_RELATIVE``
    throughput: str = "MID"  # ``LOW``, ``MID`` or ``HIGH``
    latency: str = "MID"  # ``LOW``, ``MID`` or ``HIGH``
    byte_width: int = 8  # Bytes per access
    freq_ratio: float = 1.0  # Clock ratio to the NPU
    read_power: float = 0.0  # mW
    write_power: float = 0.0  # mW
    cacheable: bool = False  # Through the NPU cache
    constants_preferred: bool = False  # Constants go here first
    where: str = ""  # ``file:line:column`` of the pool, for messages

    @property
    def end(self) -> int:
        """First address behind the pool."""
        return self.address + self.size

    @property
    def relative(self) -> bool:
        """Whether its base is only known when a relocatable model is installed; :attr:`address` is then a default."""
        return self.mode == "USEMODE_RELATIVE"

    @property
    def in_c(self) -> bool:
        """Whether its constants are C of the program, placed by the linker; others are a raw file."""
        return self.fformat == "FORMAT_C" and self.relative

    @property
    def epoch_controller(self) -> bool:
        """Whether it belongs to the epoch controller, not to a network."""
        return self.relative and self.fname == EPOCH_CONTROLLER_POOL

    @property
    def writable(self) -> bool:
        """Whether activations may be in it."""
        return self.rights == "ACC_WRITE"


@dataclass(frozen=True)
class PoolFile:
    """All pools of a file, in its order."""

    path: str  # As the user named it
    prefix: str  # ``mem_file_prefix``, ``atonbuf`` everywhere in the field
    pools: tuple[MemoryPool, ...]  # Enabled and disabled ones

    @property
    def enabled(self) -> tuple[MemoryPool, ...]:
        """Pools with a size."""
        return tuple(pool for pool in self.pools if pool.size)

    def without(self, *fnames: str) -> PoolFile:
        """The same file with some pools disabled."""
        return replace(self, pools=tuple(replace(p, size=0) if p.fname in fnames else p for p in self.pools))


def default_initializers(pools: PoolFile) -> tuple[str, ...]:
    """Choose the pools that get an initializer when none is named: those for constants or read-only, else all."""
    chosen = [p.fname for p in pools.enabled if p.constants_preferred or not p.writable]
    return tuple(chosen or [p.fname for p in pools.enabled])


def _range(pool: MemoryPool) -> str:
    return f"{pool.fname} [0x{pool.address:08x}, 0x{pool.end:08x})"


def _place(pool: MemoryPool) -> None:
    if pool.address < EXTERNAL:
        what = f"pool {pool.fname} is USEMODE_RELATIVE and lies at 0x{pool.address:08x}"
        what += f": only external memory, from 0x{EXTERNAL:08x}, can move"
        raise NeuralArtError(what, where=pool.where, hint="USEMODE_ABSOLUTE for memories inside the chip")
    if pool.end > _ADDRESS_SPACE:
        what = f"pool {pool.fname} ends at 0x{pool.end:x}, behind the 32-bit address space"
        hint = "its offset is the place it has by default; are the magnitudes of offset and size right?"
        raise NeuralArtError(what, where=pool.where, hint=hint)


def _kinds(pools: Iterable[MemoryPool]) -> None:
    first: dict[bool, MemoryPool] = {}
    for pool in pools:
        before = first.setdefault(pool.writable, pool)
        if before is not pool:
            kind = "read/write" if pool.writable else "read-only"
            what = f"{before.fname} and {pool.fname} are both relative {kind} pools: a loader moves one of each kind"
            raise NeuralArtError(what, where=pool.where, hint="disable one of them with size 0")


def _overlaps(pools: tuple[MemoryPool, ...]) -> None:
    """The addresses in the pool file tell pools apart, before they move."""
    ordered = sorted(pools, key=lambda pool: pool.address)
    for number, before in enumerate(ordered):
        for after in ordered[number + 1 :]:
            if after.address < before.end and (before.relative or after.relative):
                mover = after if after.relative else before
                common = min(before.end, after.end) - after.address
                what = f"pools {_range(before)} and {_range(after)} overlap by {common} bytes; "
                what += f"{mover.fname} is USEMODE_RELATIVE, its offset is the place it has by default"
                hint = "give it another offset, or disable it with size 0"
                raise NeuralArtError(what, where=mover.where, hint=hint)


def check_relative(pools: PoolFile) -> None:
    """What every loader asks of the pools of a relocatable model. NeuralArtError: a pool is ``FORMAT_C``; a
    relative one is inside the chip, overlaps another, or is the second of its kind (read-only, read/write).
    """
    mine = tuple(pool for pool in pools.enabled if not pool.epoch_controller)
    for pool in mine:
        if pool.in_c:
            what = f"fformat of pool {pool.fname} is {pool.fformat}: a relocatable model takes raw initializers only"
            raise NeuralArtError(what, where=pool.where, hint="set its fformat to FORMAT_RAW")
    movers = [pool for pool in mine if pool.relative]
    for pool in movers:
        _place(pool)
    _kinds(movers)
    _overlaps(mine)
