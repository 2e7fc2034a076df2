"""The epoch controller: it runs a program from memory, epoch by epoch."""

from __future__ import annotations

from typing import Protocol

from neuralart_virtual.npu.blobs import MAGIC, FieldWrite, Label, decode
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory


class EpochHost(Protocol):
    """The device that the controller is a part of."""

    memory: NpuMemory

    def read(self, offset: int) -> int:
        """A word of the NPU."""

    def write(self, offset: int, value: int) -> None:
        """Write a word of the NPU."""

    def stored(self, offset: int) -> int:
        """A word of the NPU, without the effects of a read."""

    def begin_epoch(self, label: str) -> None:
        """What is run from now on has this label."""

    def takes_commands(self, offset: int) -> bool:
        """A write of ones does something there, and what reads back is something else."""


def fetch(memory: NpuMemory, address: int) -> list[int]:
    """The words of a program in memory. NpuError: there is none, or it leaves its memory."""
    if address % 8:
        reason = f"a program begins at a multiple of 8 bytes, not at 0x{address:08x}"
        raise NpuError(reason, unit="EPOCHCTRL")
    try:
        head = memory.words(address, 2)
        if head[0] != MAGIC:
            reason = f"no program at 0x{address:08x}: 0x{head[0]:08x} stands there"
            raise NpuError(reason, unit="EPOCHCTRL")
        return memory.words(address, 2 + head[1])
    except NpuError as error:
        raise NpuError(f"its program: {error.reason}", unit="EPOCHCTRL") from None


def execute(words: list[int], host: EpochHost) -> None:
    """Run a program to its end. NpuError: an unknown operation, or a poll that never ends."""
    for step in decode(words):
        if isinstance(step, Label):
            host.begin_epoch(str(step.number))
            continue
        address = step.ip << 12 | step.offset
        mask = ((1 << (step.high - step.low + 1)) - 1) << step.low
        if isinstance(step, FieldWrite):
            whole = mask == 0xFFFFFFFF or host.takes_commands(address)
            kept = 0 if whole else host.stored(address) & ~mask
            host.write(address, kept | step.value << step.low & mask)
            continue
        # Reading runs what is enabled: nothing changes from one look to the next.
        seen = (host.read(address) & mask) >> step.low
        if seen != step.value & mask >> step.low:
            reason = (
                f"word {step.at} of the program waits for {step.value} in bits {step.high} to"
                f" {step.low} at 0x{address:05x}, where {seen} stays"
            )
            raise NpuError(reason, unit="EPOCHCTRL")
