"""What an ``.mpool`` file says (spec: the Neural-ART memory-pool format, absolute and relative pools)."""

from __future__ import annotations

from dataclasses import dataclass, replace

EPOCH_CONTROLLER_POOL = "params"
"""A compiler saves this relative pool with every pool file; it belongs to the epoch controller, no tensor is in it."""


@dataclass(frozen=True)
class MemoryPool:
    """One pool.

    Attributes:
        fname: File postfix; names the initializer ``<network>_atonbuf.<fname>.raw``.
        name: Report name.
        address: Base address.
        size: Bytes; 0 disables the pool.
        rights: ``ACC_READ`` or ``ACC_WRITE`` (= read and write).
        fformat: ``FORMAT_RAW``, ``FORMAT_C``, ``FORMAT_HEX``...
        mode: ``USEMODE_ABSOLUTE`` or ``USEMODE_RELATIVE``.
        throughput: ``LOW``, ``MID`` or ``HIGH``.
        latency: ``LOW``, ``MID`` or ``HIGH``.
        byte_width: Bytes per access.
        freq_ratio: Clock ratio to the NPU.
        read_power: mW.
        write_power: mW.
        cacheable: Through the NPU cache.
        constants_preferred: Constants go here first.
        where: ``file:line:column`` of the pool, for messages.
    """

    fname: str
    name: str
    address: int
    size: int
    rights: str = "ACC_WRITE"
    fformat: str = "FORMAT_RAW"
    mode: str = "USEMODE_ABSOLUTE"
    throughput: str = "MID"
    latency: str = "MID"
    byte_width: int = 8
    freq_ratio: float = 1.0
    read_power: float = 0.0
    write_power: float = 0.0
    cacheable: bool = False
    constants_preferred: bool = False
    where: str = ""

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
    """All pools of a file, in its order.

    Attributes:
        path: As the user named it.
        prefix: ``mem_file_prefix``, ``atonbuf`` everywhere in the field.
        pools: Enabled and disabled ones.
    """

    path: str
    prefix: str
    pools: tuple[MemoryPool, ...]

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
