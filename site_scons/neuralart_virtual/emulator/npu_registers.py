"""The NPU of a virtual board as its firmware drives it: registers, and the lines of its interrupts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.inputs.preprocessing import library

if TYPE_CHECKING:
    from neuralart_virtual.npu.device import NpuDevice
    from neuralart_virtual.npu.on_board import BoardWithMemory

# Of the core, by line (CMSIS device header of the STM32N6: NPU0_IRQn to NPU3_IRQn).
IRQS = (53, 54, 55, 56)


class NpuRegisters:
    """Registers of the NPU. NumPy is loaded when the first one is touched."""

    narrow = False

    def __init__(self, board: BoardWithMemory, halt: Callable[[str], None]) -> None:
        """``halt``: is told why the firmware cannot go on: a mode that is not executed, or no NumPy."""
        from neuralart_virtual.npu import registers

        self.name, self.base, self.size = "NPU", registers.BASE_SECURE, registers.SIZE
        self._board, self._halt = board, halt
        self._device: NpuDevice | None = None
        self.owed = False  # The core has not taken an interrupt yet

    @property
    def pending(self) -> bool:
        """Something was enabled that has not run yet, or an interrupt waits."""
        return self.owed or (self._device is not None and self._device.pending)

    def read(self, offset: int) -> int:
        return self._do(lambda device: device.read(offset))

    def write(self, offset: int, value: int) -> None:
        self._do(lambda device: device.write(offset, value))

    def work(self) -> list[int]:
        """Run what is pending. Returns the interrupts that wait for the core then."""
        self._do(lambda device: device.advance())
        device = self._device
        return [] if device is None else [irq for line, irq in enumerate(IRQS) if device.interrupt(line)]

    def _do(self, what: Callable[[NpuDevice], int | None]) -> int:
        try:
            if self._device is None:
                library("numpy", "the virtual NPU")
                from neuralart_virtual.npu.device import NpuDevice
                from neuralart_virtual.npu.on_board import BoardMemory

                self._device = NpuDevice(BoardMemory(self._board))
            return what(self._device) or 0
        except NeuralArtError as error:
            self._halt(f"the virtual NPU: {error}")
            return 0
