"""The memory that a compiled network runs on: its pools, its initializers, the application's buffers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from neuralart.files import read_bytes
from neuralart.vendor.network_c.initializers import array_text, integers
from neuralart.vendor.network_c.types import GeneratedNetwork, Pool
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import BlankMemory, Bytes, NpuMemory

# The RAM that the NPU of the STM32N6 reaches.
RAM, RAM_SIZE = 0x34000000, 0x3C0000
# Where buffers and relative pools are put that have no address of their own.
_FREE, _STEP = 0xA0000000, 0x01000000
# Bytes of the largest window of the address map.
_MOST = 1 << 28
# Engines may touch the line behind the last byte of an initializer.
LINE = 64
# Bytes of an initializer that are looked for elsewhere.
_HEAD = 64
_SUFFIXES = (".raw", ".bin", ".c")
# What memory is full of where nothing was written.
_NEVER = {0xFF: "nothing was written to this flash", 0xA5: "nothing was copied there", 0: "it is all zeros"}


def initializer(network: GeneratedNetwork, folder: Path, pool: Pool) -> Path | None:
    """The file with a pool's contents beside a network: ``<network>_<anything>.<pool>.raw``, ``.bin`` or ``.c``, or
    ``atonbuf.<pool>.raw``. What begins with another name belongs to another network.
    """
    head = f"{Path(network.where).stem}_"
    tails = tuple(f".{pool.fname}{suffix}" for suffix in _SUFFIXES)
    alone = tuple(f"atonbuf{tail}" for tail in tails)
    found = (path for path in folder.iterdir() if path.name.endswith(tails) and path.is_file())
    names = sorted(found, key=lambda path: (path.suffix == ".c", path.name))
    own = (path for path in names if path.name.startswith(head) or path.name in alone)
    return next(own, None)


def _bytes(path: Path, symbol: str) -> Bytes:
    """What an initializer holds: its bytes, or words of 64 bits in C."""
    data = read_bytes(path)
    if path.suffix != ".c":
        return np.frombuffer(data, np.uint8)
    words = integers(array_text(data.decode("utf-8", "replace"), symbol) or "?")
    if words is None or any(word >> 64 for word in words):
        raise NpuError(f"no array {symbol} of words of 64 bits", file=path.name)
    return np.array(words, "<u8").view(np.uint8)


class NetworkMemory:
    """Memory with all pools of a network, and where each symbol stands."""

    def __init__(
        self,
        network: GeneratedNetwork,
        initializers: Mapping[str, Path],
        missing: Path | None = None,
        board: NpuMemory | None = None,
        loaded: Mapping[str, int] | None = None,
    ) -> None:
        """``initializers``: a file by the pool's fname. ``missing``: the folder where others are looked for. ``board``:
        memory of a board whose firmware has filled the pools; None: they are filled here; blank memory needs no files.
        ``loaded``: of a relocatable model on the board, where its relative pools begin by fname; it has brought its
        constants itself.

        Raises NpuError: a pool with initializers has no file, or a file is larger than its pool; a pool of a board
        has other contents.
        """
        self.memory = NpuMemory() if board is None else board
        self.bases: dict[str, int] = {}  # By symbol
        self.ids: dict[str, int] = {}  # By the id of a relocation
        self._network, self._free = network, _FREE
        for pool in network.pools:
            self._check_size(pool.name, pool.address, pool.size)
        known = {pool.fname for pool in network.pools}
        for fname in initializers:
            if fname not in known:
                raise NpuError(f"no pool is called '{fname}'", file=network.where, hint=", ".join(sorted(known)))
        if loaded is not None:
            for pool in (pool for pool in network.pools if pool.relative and (pool.size or pool.fname in loaded)):
                if pool.fname not in loaded:
                    raise NpuError(f"the relocatable model has no pool {pool.fname}", file=network.where)
                self._base(pool, loaded[pool.fname])
            self._map_buffers()
            return
        blank = isinstance(board, BlankMemory)
        given = () if blank else network.pools
        contents = {pool.fname: self._contents(pool, initializers, missing) for pool in given}
        if board is None:
            self._map_writable()
        for pool in network.pools:
            path, data = contents.get(pool.fname, (None, None))
            if pool.of_user or pool.virtual or not (pool.size or pool.relative):
                continue
            if board is not None and not pool.relative:
                # A bank that nothing uses may be off.
                if not blank and (data is not None or pool.told[0]):
                    self._compare(pool, path, data)
                continue
            base = self._place(pool, data)
            if data is not None:
                self.memory.view(base, len(data))[:] = data
        self._map_buffers()

    def _check_size(self, name: str, address: int, size: int) -> None:
        if size > _MOST or address + size > 1 << 32:
            reason = f"{name} at 0x{address:08x} has {size} bytes: no memory of the chip has so many there"
            raise NpuError(reason, file=self._network.where)

    def _compare(self, pool: Pool, path: Path | None, data: Bytes | None) -> None:
        """Has the firmware brought a pool's constants where the network reads them?"""
        wanted = (data if data is not None else np.zeros(0, np.uint8))[: pool.size]
        where = f"pool {pool.fname} at 0x{pool.address:08x}"
        try:
            there = self.memory.view(pool.address, max(len(wanted), 1))[: len(wanted)]
        except NpuError as error:
            raise NpuError(f"{where}: {error.reason}", file=self._network.where) from None
        different = np.flatnonzero(there != wanted)
        if not different.size:
            return
        at, name = int(different[0]), path.name if path is not None else ""
        reason = f"{where} does not hold {name}: {different.size} of {len(wanted)} bytes differ"
        reason += f", the first at 0x{pool.address + at:08x} is 0x{there[at]:02x}, not 0x{wanted[at]:02x}"
        elsewhere = self.memory.where_is(pool.address, wanted[:_HEAD].tobytes())
        if elsewhere is not None:
            hint = f"its first bytes are at 0x{elsewhere:08x}"
        elif len(set(there.tolist())) == 1:
            hint = _NEVER.get(int(there[0]), "")
        else:
            hint = "the constants of another model, or of another compile?"
        raise NpuError(reason, file=self._network.where, hint=hint)

    def _contents(self, pool: Pool, given: Mapping[str, Path], folder: Path | None) -> tuple[Path | None, Bytes | None]:
        """Its file and what that holds; None: it has no constants."""
        path = given.get(pool.fname)
        if path is None and folder is not None and not pool.of_user:
            path = initializer(self._network, folder, pool)
        if path is not None:
            data = _bytes(path, f"_mem_pool_{pool.fname}_{self._network.name}")
            # A file may end with a guard byte that the pool does not count.
            if pool.size and len(data) > pool.size + 1:
                reason = f"{path.name} has {len(data)} bytes, pool {pool.fname} {pool.size}"
                raise NpuError(reason, file=self._network.where)
            return path, data
        weights = [row for row in self._network.rows if row.is_param and self._in_pool(row.base, row.symbol, pool)]
        if weights and not pool.writable:
            reason = f"pool {pool.fname} has {len(weights)} constants, and no file with them is given"
            raise NpuError(
                reason, file=self._network.where, hint=f"wanted: {Path(self._network.where).stem}_*.{pool.fname}.raw"
            )
        return None, None

    def _in_pool(self, base: int, symbol: str, pool: Pool) -> bool:
        if symbol:
            return symbol == f"_mem_pool_{pool.fname}_{self._network.name}"
        return pool.address <= base < pool.address + pool.size

    def _map_writable(self) -> None:
        """RAM and writable pools with addresses; those that adjoin or overlap are one region."""
        spans = [(RAM, RAM + RAM_SIZE, "RAM")]
        for pool in self._network.pools:
            if pool.writable and pool.size and not (pool.relative or pool.of_user or pool.virtual):
                spans.append((pool.address, pool.address + pool.size, pool.name))
        self.memory.add_merged(spans)

    def _place(self, pool: Pool, data: Bytes | None) -> int:
        """Map what is not mapped yet, and tell the base of a pool."""
        room = len(data) + LINE if data is not None else 0
        if pool.relative:
            base = self._new(pool.fname, max(room, pool.exact or 0, pool.said, LINE))
            return self._base(pool, base)
        if not pool.writable and data is not None:
            self.memory.add(pool.name, pool.address, np.zeros(room, np.uint8))
        return pool.address

    def _base(self, pool: Pool, base: int) -> int:
        self.bases[f"_mem_pool_{pool.fname}_{self._network.name}"] = self.ids[pool.fname] = base
        return base

    def _map_buffers(self) -> None:
        """Buffers that the application provides."""
        ends: dict[str, int] = {}
        for row in self._network.rows:
            if row.user_allocated and row.symbol:
                ends[row.symbol] = max(ends.get(row.symbol, 0), row.end)
        for symbol, end in sorted(ends.items()):
            name = symbol.removeprefix("_mem_pool_").removesuffix(f"_{self._network.name}")
            self.bases[symbol] = self.ids[name] = self._new(name, end + LINE)

    def _new(self, name: str, size: int) -> int:
        base = self._free
        self._free += -(-size // _STEP) * _STEP
        self._check_size(name, base, size)
        self.memory.add(name, base, np.zeros(size, np.uint8))
        return base
