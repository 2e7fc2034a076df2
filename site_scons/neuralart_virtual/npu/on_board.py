"""A compiled network on the memory of a virtual board: its firmware has filled the pools, the virtual NPU computes."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import numpy as np

from neuralart.errors import NeuralArtError
from neuralart.network.facts import pieces
from neuralart.vendor.generated.files import candidates
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import Bytes, NpuMemory
from neuralart_virtual.npu.run import load
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


class NetworkOnBoard:
    """A network of a build, ready to run: each of its pools holds what the compile wrote for it."""

    def __init__(self, board: BoardWithMemory, folder: Path, options: NpuOptions | None = None) -> None:
        """``folder``: of the compile, with network.c, initializers and programs. NeuralArtError: a pool has other
        contents, or a file is missing or cannot be read.
        """
        names = candidates(folder)
        if len(names) != 1:
            what = f"holds {len(names)} generated networks in C, not one"
            raise NeuralArtError(what, where=str(folder), hint="build it again")
        options = options or NpuOptions()
        self._observer, self.notes = options.observer, list[str]()
        self._network = load(
            folder / names[0],
            assume=options.assume,
            ties=options.ties,
            bounds=options.observer is not None,
            board=BoardMemory(board),
        )

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
