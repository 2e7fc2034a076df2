"""What an ``.mpool`` file says (spec: the Neural-ART memory-pool format, absolute and relative pools)."""

from __future__ import annotations

from dataclasses import dataclass, replace

EPOCH_CONTROLLER_POOL = "params"
"""A compiler saves this relative pool with every pool file; it belongs to the epoch controller, no tensor is in it."""


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
        """Its base is known when a relocatable model is installed; :attr:`address` is the place to start from."""
        return self.mode == "USEMODE_RELATIVE"

    @property
    def epoch_controller(self) -> bool:
        """It holds nothing of a network."""
        return self.relative and self.fname == EPOCH_CONTROLLER_POOL

    @property
    def writable(self) -> bool:
        """Activations may live here."""
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
    """fnames of the pools for which a build declares an initializer when the user names none.

    Pools that prefer constants or are read-only; without any such pool, all of them.
    """
    chosen = [p.fname for p in pools.enabled if p.constants_preferred or not p.writable]
    return tuple(chosen or [p.fname for p in pools.enabled])
