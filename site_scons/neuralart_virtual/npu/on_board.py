"""A compiled network on the memory of a virtual board: its firmware has filled the pools, the virtual NPU computes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.flashing.nor import Nor
from neuralart.network.facts import pieces
from neuralart.relocatable.format.types import Image
from neuralart.vendor.generated.files import candidates
from neuralart_virtual.npu.dataflow import Settings
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import Bytes, NpuMemory
from neuralart_virtual.npu.modes import Assumptions
from neuralart_virtual.npu.run import VirtualNetwork, load
from neuralart_virtual.virtual_npu import NpuOptions


class BoardWithMemory(Protocol):
    """What the virtual NPU needs of a board."""

    def shared(self, address: int, size: int) -> memoryview:
        """The very bytes of memory, of flash to read alone. NeuralArtError: no memory answers there."""

    def where_is(self, near: int, data: bytes) -> int | None:
        """Where else in the memory at an address bytes stand."""


class BoardMemory(NpuMemory):
    """The memories of a board as its firmware left them, and what is added: buffers of the application."""

    def __init__(self, board: BoardWithMemory) -> None:
        super().__init__()
        self._board = board

    def view(self, address: int, size: int) -> Bytes:
        """The bytes from an address on; those of flash cannot be written. NpuError: no memory answers there."""
        if any(region.base <= address < region.base + len(region.data) for region in self.regions):
            return super().view(address, size)
        try:
            return np.frombuffer(self._board.shared(address, size), np.uint8)
        except NeuralArtError as error:
            raise NpuError(error.what) from None

    def where_is(self, near: int, data: bytes) -> int | None:
        """Where else in the same memory bytes stand; None: nowhere."""
        return self._board.where_is(near, data)


class _Ready:
    """A network of a build, ready to run."""

    def __init__(self, network: VirtualNetwork, options: NpuOptions) -> None:
        self._network, self._observer, self.notes = network, options.observer, list[str]()

    def infer(self, inputs: bytes) -> bytes:
        """One inference: all inputs in, all outputs out. NeuralArtError: an epoch cannot be executed."""
        ports = self._network.network.inputs
        for port, data in zip(ports, pieces(inputs, [port.row.bytes for port in ports]), strict=True):
            self._network.set_input(port.row.name, data)
        observer = self._observer
        if observer is not None:
            observer.begins(self._network.memory)
        result = self._network.run() if observer is None else self._network.run(observer)
        self.notes = result.notes
        return b"".join(result.outputs[port.row.name].tobytes() for port in self._network.network.outputs)


def _network_c(folder: Path) -> Path:
    names = candidates(folder)
    if len(names) != 1:
        what = f"holds {len(names)} generated networks in C, not one"
        raise NeuralArtError(what, where=str(folder), hint="build it again")
    return folder / names[0]


class NetworkOnBoard(_Ready):
    """A network behind firmware that has filled its pools: each holds what the compile wrote for it."""

    def __init__(self, board: BoardWithMemory, folder: Path, options: NpuOptions | None = None) -> None:
        """``folder``: of the compile, with network.c, initializers and programs. NeuralArtError: a pool has other
        contents, or a file is missing or cannot be read.
        """
        options = options or NpuOptions()
        network = load(
            _network_c(folder),
            assume=options.assume,
            ties=options.ties,
            bounds=options.observer is not None,
            board=BoardMemory(board),
        )
        super().__init__(network, options)


class LoadedNetwork(_Ready):
    """A relocatable model in flash, on the memories of a board: what a loader brings there is brought by our own."""

    def __init__(
        self, board: Board, nor: Nor, number: int, image: Image, folder: Path, options: NpuOptions | None = None
    ) -> None:
        """``number``: of the model in the load table; ``image``: what must be in flash; ``folder``: of the compile.

        Raises NeuralArtError: the flash holds something else, a loader would refuse the model, or a file is wrong.
        """
        from neuralart.relocatable.format import load_table
        from neuralart_virtual.npu.relocatable import COPY, XIP, install, network_of, slots_of

        options, base = options or NpuOptions(), nor.chip.base
        place = load_table.place(slots_of(board).table, nor.chip.sector)
        table = load_table.read(nor.read(place - base, 64), f"load table at 0x{place:08x}")
        if number >= len(table.models):
            what = f"names {len(table.models)} models, not that of {image.where}"
            raise NeuralArtError(what, where=f"load table at 0x{place:08x}", hint="flash- writes it")
        self.mode = XIP if XIP in table.mode else COPY
        at, params = table.models[number]
        for address, data in ((at, image.data), (params, image.params or b"")) if image.split else ((at, image.data),):
            held = nor.read(address - base, len(data))
            apart = np.flatnonzero(np.frombuffer(held, np.uint8) != np.frombuffer(data, np.uint8))
            if apart.size:
                what = (
                    f"the flash at 0x{address:08x} does not hold this model: {apart.size} of {len(data)} bytes differ"
                )
                raise NeuralArtError(what, where=image.where, hint="flash- writes it")
        loaded = install(image, board, self.mode, (at, params) if image.split else (at,))
        settings = Settings(options.ties, Assumptions.of(options.assume), bounds=options.observer is not None)
        super().__init__(network_of(loaded, _network_c(folder), settings), options)
