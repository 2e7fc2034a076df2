"""Did the core clean its data cache behind what it wrote for the NPU, and the NPU's cache? Looked at at checkpoints.

The virtual board has no cache. What memory behind a write-back cache would hold is kept beside it instead: a line
changes there when it is cleaned by address, or when another bus master writes it. At the first epoch, a
watched line that differs from that was stored and never cleaned, or stored to again after it was cleaned. The worst
case is assumed: a cache that never evicts a line by itself, and is on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Nor
from neuralart.memory.regions import fold
from neuralart.network.facts import Network
from neuralart_virtual.emulator.banks import Banks, import_unicorn
from neuralart_virtual.emulator.image import Load, Symbols

if TYPE_CHECKING:
    from neuralart_virtual.emulator.gdb.server import GdbServer
    from neuralart_virtual.emulator.instructions import EpochInstructions

LINE = 32
CLEANS = ("DCCMVAC", "DCCIMVAC")
INVALIDATES = ("DCIMVAC",)
NPU_LINE = 64
# Whichever comes first begins the first epoch (ll_aton_runtime.c).
FIRST_EPOCH = ("LL_ATON_RT_Main", "LL_ATON_RT_RunEpochBlock")
# Where the core waits until a debugger has loaded the pools of strategy external-loader.
EXTERNAL_LOADER = "npu_memory_external_loader"
DEAD_BANKS = ("fault", "zeros")


@dataclass(frozen=True)
class Watched:
    """A range that the NPU reads and the core fills."""

    owner: str  # For messages, like ``pool npuRAM5 of network digits``
    start: int  # First address, in the alias of the firmware's security state
    end: int  # First address behind it
    npu_cached: bool = False  # The NPU reads it through its own cache


@dataclass(frozen=True)
class Dirty:
    """Bytes of a watched range that memory does not have."""

    watched: Watched  # The range
    start: int  # First address of its first line
    end: int  # First address behind its last one
    bytes: int  # How many, in lines that differ
    invalidated: bool  # One of these lines was invalidated without being cleaned


def watched_ranges(board: Board, networks: Sequence[Network]) -> tuple[Watched, ...]:
    """Initializers in RAM: they must be brought there at each start, and not into the core's cache alone."""
    ranges = []
    for network in networks:
        for pool in network.initializers:
            region = board.region_at(pool.address)
            if region is None or region.kind in ("flash", "rom"):
                continue
            start = fold(board, pool.address)
            owner = f"pool {pool.fname} of network {network.name}"
            ranges.append(Watched(owner, start, start + pool.weights, pool.cacheable))
    return tuple(ranges)


class Coherency:
    """What memory behind the data cache holds of the watched ranges."""

    def __init__(self, board: Board, watched: Sequence[Watched], peek: Callable[[int, int], bytes], fill: int) -> None:
        """Nothing was written yet: RAM is made of ``fill``. ``peek`` tells what the core sees at an address."""
        self._board = board
        self._watched = tuple(watched)
        self._peek = peek
        self._unwritten = bytes([fill]) * LINE
        self._held: dict[int, bytes] = {}
        self._invalidated: set[int] = set()

    def _lines(self, start: int, end: int) -> Iterator[int]:
        """Lines of [start, end) that hold a byte of a watched range."""
        for watched in self._watched:
            first, last = max(start, watched.start), min(end, watched.end)
            if first < last:
                yield from range(first // LINE * LINE, last, LINE)

    def operation(self, name: str, operand: int) -> None:
        """The core maintains its cache. Only operations by address say which bytes they are for."""
        if name not in (*CLEANS, *INVALIDATES):
            return
        line = fold(self._board, operand) // LINE * LINE
        for at in self._lines(line, line + LINE):
            if name in CLEANS:
                self._held[at] = self._peek(at, LINE)
                self._invalidated.discard(at)
            elif self._peek(at, LINE) != self._held.get(at, self._unwritten):
                self._invalidated.add(at)

    def settle(self, address: int, size: int) -> None:
        """Another bus master wrote these bytes: memory has them."""
        start = fold(self._board, address)
        for at in self._lines(start, start + size):
            self._held[at] = self._peek(at, LINE)

    def forget(self, start: int, end: int) -> None:
        """Memories lost their contents."""
        for at in [at for at in self._held if start <= at < end]:
            del self._held[at]
        self._invalidated = {at for at in self._invalidated if not start <= at < end}

    def dirty(self) -> Dirty | None:
        """The first watched range with bytes that memory does not have."""
        for watched in self._watched:
            lines = [at for at in self._lines(watched.start, watched.end) if self._differs(watched, at)]
            if lines:
                size = sum(min(at + LINE, watched.end) - max(at, watched.start) for at in lines)
                lost = any(at in self._invalidated for at in lines)
                return Dirty(watched, lines[0], lines[-1] + LINE, size, lost)
        return None

    def _differs(self, watched: Watched, line: int) -> bool:
        # A line at the border holds bytes of others too: they are none of our business.
        first, last = max(line, watched.start) - line, min(line + LINE, watched.end) - line
        return self._peek(line, LINE)[first:last] != self._held.get(line, self._unwritten)[first:last]


class NpuLines(Coherency):
    """What memory behind the NPU cache holds of the watched ranges that it caches. It changes by commands of that cache
    alone, and counts only while the cache is on: off, it holds nothing, and it starts empty. A range is dirty while the
    cache may hold something else for it than the memory.
    """

    def __init__(self, board: Board, watched: Sequence[Watched], peek: Callable[[int, int], bytes], fill: int) -> None:
        super().__init__(board, [each for each in watched if each.npu_cached], peek, fill)

    def command(self, name: str, start: int, end: int) -> None:
        """The NPU cache does something to the lines from that of address ``start`` to that of address ``end``."""
        if name in ("invalidate all", "enable"):
            for each in self._watched:
                self.settle(each.start, each.end - each.start)
        elif name in ("clean", "invalidate", "clean and invalidate") and start <= end:
            first = start // NPU_LINE * NPU_LINE
            self.settle(first, end // NPU_LINE * NPU_LINE + NPU_LINE - first)


@dataclass(frozen=True)
class Conditions:
    """What a run may be given beside the image: the surroundings of one power-up."""

    # The flash. The virtual board boots what is in it, and the ELF gives names to addresses only; QEMU has its contents
    # in memory and starts the ELF. None: the ELF and raw files are loaded in place
    nor: Nor | None = None
    dead_bank: str = "fault"  # An access to a bank that is off stops the run, or with ``zeros`` reads zeros
    xspi_unmapped: bool = False  # The boot chain leaves no memory mapped
    external: tuple[Load, ...] = ()  # What the external loader writes when the firmware waits for it
    mapped: tuple[str, ...] = ()  # Memories that the boot chain leaves mapped beside those that the board's file says
    watched: tuple[Watched, ...] = ()  # Ranges that the core must clean its data cache behind before the first epoch
    gdb: GdbServer | None = None  # Who waits for a debugger and lets it control the core
    # Called with a way to read memory whenever the core begins the function of that name
    calls: Mapping[str, Callable[[Callable[[int, int], bytes]], None]] = field(default_factory=dict)
    counts: EpochInstructions | None = None  # Where instructions are counted; not with a debugger


@dataclass
class Checkpoints:
    """Stops the core for a moment where a function begins; elsewhere it runs at full speed."""

    _uc: Any
    _board: Board
    _banks: Banks
    _coherency: Coherency
    _npu_dirty: Callable[[], Dirty | None]  # What the NPU cache may hold otherwise than the memory
    _symbols: Symbols
    _halt: Callable[[str], None]
    _epoch_seen: bool = False
    _external: list[Load] = field(default_factory=list)

    def watch(self, given: Conditions, symbols_fit: bool) -> list[str]:
        """Begin; ``symbols_fit``: they belong to what runs. Returns what cannot be watched, for the user.
        NeuralArtError: there is something for the external loader, but the firmware never waits for it, or no memory
        is there.
        """
        waits = self._symbols.address_of(EXTERNAL_LOADER)
        for load in given.external:
            if self._board.region_at(load.address) is None or self._board.region_at(load.end - 1) is None:
                what = f"{load.name} is for 0x{load.address:08x}..0x{load.end:08x}, where no memory is"
                raise NeuralArtError(what, where=f"board {self._board.name}")
            if waits is None:
                what = f"has no function {EXTERNAL_LOADER}" if symbols_fit else "is not the one that was given"
                hint = "has a pool of the variant the strategy external-loader?"
                raise NeuralArtError(f"the image {what}: nothing tells when {load.name} is to be loaded", hint=hint)
        if waits is not None and given.external:
            self._external = list(given.external)
            self._hook(waits, self._on_wait)
        for name, call in given.calls.items():
            begins = self._symbols.needed(name)
            self._hook(begins, lambda uc, address, size, data, call=call: call(self._banks.peek))
        epochs = [at for name in FIRST_EPOCH if (at := self._symbols.address_of(name)) is not None]
        if not given.watched:
            return []
        for at in epochs:
            self._hook(at, self._on_epoch)
        if epochs or not symbols_fit:
            return []
        return [f"the image has no {' or '.join(FIRST_EPOCH)}: its cache maintenance is not checked"]

    def unused(self) -> list[str]:
        """What the external loader was never asked for."""
        never = f"the firmware never called {EXTERNAL_LOADER}:"
        return [f"{never} {load.name} was not loaded to 0x{load.address:08x}" for load in self._external]

    def _hook(self, address: int, callback: Callable[..., None]) -> None:
        self._uc.hook_add(import_unicorn().UC_HOOK_CODE, callback, begin=address, end=address)

    def _on_epoch(self, uc: Any, address: int, size: int, data: Any) -> None:
        self.begin_epochs(address)

    def begin_epochs(self, address: int) -> None:
        """The first epoch begins while the core is at an address."""
        if self._epoch_seen:
            return
        self._epoch_seen = True
        dirty = self._coherency.dirty()
        if dirty is not None:
            how = "invalidated instead of cleaned" if dirty.invalidated else "not cleaned"
            self._halt(
                f"cache not maintained: {dirty.bytes} bytes of {dirty.watched.owner}, between 0x{dirty.start:08x} and "
                f"0x{dirty.end:08x}, were stored by the core and {how} before the first epoch "
                f"({self._symbols.name_at(address)}): an NPU would read what memory held before. Clean them by "
                "address, line by line, after the last store (SCB DCCMVAC 0xe000ef68 or DCCIMVAC 0xe000ef70)"
            )
            return
        dirty = self._npu_dirty()
        if dirty is not None:
            self._halt(
                f"NPU cache not maintained: {dirty.bytes} bytes of {dirty.watched.owner}, between 0x{dirty.start:08x} "
                f"and 0x{dirty.end:08x}, changed since its last command for them, and it is on before the first epoch "
                f"({self._symbols.name_at(address)}): an NPU might read old lines. Clean and invalidate them by a "
                "command with their addresses (CACHEAXI_CR2)"
            )

    def _on_wait(self, uc: Any, address: int, size: int, data: Any) -> None:
        while self._external:
            load = self._external[0]
            missing = self._banks.missing_for(load)
            if missing:
                what = f"the external loader cannot write {load.name} to 0x{load.address:08x}"
                self._halt(f"{what} while the core waits in {self._symbols.describe(address)}: {missing}")
                return
            self._banks.load(load)
            # A debugger writes memory, not the core's cache.
            self._coherency.settle(load.address, len(load.data))
            del self._external[0]
