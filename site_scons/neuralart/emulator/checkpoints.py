"""Functions of the firmware at which the virtual board does something: the first epoch, the external loader's wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuralart.boards.types import Board
from neuralart.emulator.banks import Banks, import_unicorn
from neuralart.emulator.coherency import Coherency, Dirty
from neuralart.emulator.image import Conditions, Load, Symbols
from neuralart.errors import NeuralArtError

# Whichever comes first begins the first epoch (ll_aton_runtime.c).
FIRST_EPOCH = ("LL_ATON_RT_Main", "LL_ATON_RT_RunEpochBlock")
# Where the core waits until somebody has loaded the pools of strategy external-loader.
EXTERNAL_LOADER = "npu_memory_external_loader"


class Checkpoints:
    """Stops the core for a moment where a function begins; elsewhere it runs at full speed."""

    def __init__(
        self,
        uc: Any,
        board: Board,
        banks: Banks,
        coherency: Coherency,
        npu_dirty: Callable[[], Dirty | None],
        symbols: Symbols,
        halt: Callable[[str], None],
    ) -> None:
        """Watches nothing yet. ``npu_dirty`` tells what the NPU cache may hold otherwise than the memory."""
        self._uc = uc
        self._board = board
        self._banks = banks
        self._coherency = coherency
        self._npu_dirty = npu_dirty
        self._symbols = symbols
        self._halt = halt
        self._epoch_seen = False
        self._external: list[Load] = []

    def watch(self, given: Conditions, symbols_fit: bool) -> list[str]:
        """Begin; ``symbols_fit``: they belong to what runs. Returns what cannot be watched, for the user.
        NeuralArtError: there is something for the external loader, but the firmware never waits for it, or no memory
        is there.
        """
        waits = self._symbols.address_of(EXTERNAL_LOADER)
        for load in given.external:
            if self._board.region_at(load.address) is None or self._board.region_at(load.end - 1) is None:
                raise NeuralArtError(
                    f"{load.name} is for 0x{load.address:08x}..0x{load.end:08x}, where no memory is",
                    where=f"board {self._board.name}",
                )
            if waits is None:
                what = f"has no function {EXTERNAL_LOADER}" if symbols_fit else "is not the one that was given"
                raise NeuralArtError(
                    f"the image {what}: nothing tells when {load.name} is to be loaded",
                    hint="has a pool of the variant the strategy external-loader?",
                )
        if waits is not None and given.external:
            self._external = list(given.external)
            self._hook(waits, self._on_wait)
        epochs = [at for name in FIRST_EPOCH if (at := self._symbols.address_of(name)) is not None]
        if not given.watched:
            return []
        for at in epochs:
            self._hook(at, self._on_epoch)
        if epochs or not symbols_fit:
            return []
        return [f"the image has no {' or '.join(FIRST_EPOCH)}: nobody watches its cache maintenance"]

    def unused(self) -> list[str]:
        """What the external loader was never asked for."""
        return [
            f"the firmware never called {EXTERNAL_LOADER}: {load.name} was not loaded to 0x{load.address:08x}"
            for load in self._external
        ]

    def _hook(self, address: int, callback: Callable[..., None]) -> None:
        self._uc.hook_add(import_unicorn().UC_HOOK_CODE, callback, begin=address, end=address)

    def _on_epoch(self, uc: Any, address: int, size: int, data: Any) -> None:
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
                self._halt(
                    f"the external loader cannot write {load.name} to 0x{load.address:08x} "
                    f"while the core waits in {self._symbols.describe(address)}: {missing}"
                )
                return
            self._banks.load(load)
            # A debugger writes memory, not the core's cache.
            self._coherency.settle(load.address, len(load.data))
            del self._external[0]
