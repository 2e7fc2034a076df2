"""Peripherals of a virtual board, as plain register models. They know nothing of the CPU emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

PAGE = 0x1000


class Device(Protocol):
    """Registers at an address."""

    name: str  # For messages
    base: int  # Address; a multiple of 4 KiB
    size: int  # Bytes that answer
    narrow: bool  # Writes of less than a word are taken

    def read(self, offset: int) -> int:
        """Value of the register at a byte offset."""

    def write(self, offset: int, value: int) -> None:
        """Write the register at a byte offset."""


class RegisterFile:
    """Registers that keep what is written, and tell somebody."""

    narrow = False

    def __init__(
        self,
        name: str,
        base: int,
        size: int,
        initial: Mapping[int, int] | None = None,
        changed: Callable[[int], None] = lambda offset: None,
    ) -> None:
        """Takes values after reset by offset (others are 0) and whom to tell the offset of a changed register."""
        self.name = name
        self.base = base
        self.size = size
        self._values = dict(initial or {})
        self._changed = changed

    def get(self, offset: int) -> int:
        """The value, without the effects of a read."""
        return self._values.get(offset, 0)

    def read(self, offset: int) -> int:
        """Value of a register."""
        return self.get(offset)

    def write(self, offset: int, value: int) -> None:
        """Replace a register."""
        before = self.get(offset)
        self._values[offset] = value & 0xFFFFFFFF
        if before != self._values[offset]:
            self._changed(offset)


class ClockController(RegisterFile):
    """RCC of the STM32N6 as far as clocks of memories and peripherals go.

    Each register R has a twin at R+0x800 that sets the bits written to it and one at R+0x1000 that clears them
    (CMSIS device header of the STM32N6: MEMENR 0x24C, MEMENSR 0xA4C, MEMENCR 0x124C).
    """

    SET = 0x800
    CLEAR = 0x1000

    def read(self, offset: int) -> int:
        """Value of a register; its set and clear twins read as 0."""
        return self.get(offset) if offset < self.SET else 0

    def write(self, offset: int, value: int) -> None:
        """Replace, set or clear bits."""
        if offset >= self.CLEAR:
            target = offset - self.CLEAR
            super().write(target, self.get(target) & ~value)
        elif offset >= self.SET:
            target = offset - self.SET
            super().write(target, self.get(target) | value)
        else:
            super().write(offset, value)


class Usart:
    """The newer STM32 USART: CR1 0x00, ISR 0x1C, ICR 0x20, RDR 0x24, TDR 0x28.

    As on the chip, a byte moves when the firmware has looked at ISR: a second read of RDR gives the same byte, a second
    write of TDR replaces the byte. So an access that the emulator does twice changes nothing: it does that with the one
    during which its time is over.
    """

    CR1, ISR, RDR, TDR = 0x00, 0x1C, 0x24, 0x28
    UE, RE, TE = 1 << 0, 1 << 2, 1 << 3
    RXNE, TC, TXE = 1 << 5, 1 << 6, 1 << 7
    narrow = True
    # Looks at an empty port without sending anything in between, after which the firmware counts as waiting.
    PATIENCE = 32

    def __init__(self, base: int, starved: Callable[[], None] = lambda: None) -> None:
        """Takes whom to tell that the firmware looks for a byte and there is none."""
        self.name = "USART"
        self.base = base
        self.size = 0x400
        self.sent = bytearray()
        self._received = b""
        self._at = 0
        self._byte = 0
        self._full = False
        self._room = True
        self._values: dict[int, int] = {}
        self._starved = starved
        self._looks = 0

    def feed(self, data: bytes) -> None:
        """Bytes arrive from outside."""
        self._received = self._received[self._at :] + data
        self._at = 0

    def take_sent(self) -> bytes:
        """What the firmware has sent since the last call."""
        data = bytes(self.sent)
        self.sent.clear()
        return data

    def _enabled(self, bit: int) -> bool:
        both = self.UE | bit
        return self._values.get(self.CR1, 0) & both == both

    def read(self, offset: int) -> int:
        """Value of a register; reading RDR takes the byte."""
        if offset == self.ISR:
            state = self.TXE | self.TC if self._enabled(self.TE) else 0
            self._room = True
            if not self._full and self._at < len(self._received):
                self._byte = self._received[self._at]
                self._at += 1
                self._full = True
            if self._full and self._enabled(self.RE):
                return state | self.RXNE
            self._looks += 1
            if self._looks >= self.PATIENCE:
                self._looks = 0
                self._starved()
            return state
        if offset == self.RDR:
            if not self._enabled(self.RE):
                return 0
            self._full = False
            return self._byte
        return self._values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        """Write a register; writing TDR sends, if the transmitter is on."""
        if offset == self.TDR:
            self._looks = 0
            if self._enabled(self.TE):
                if self._room:
                    self.sent.append(value & 0xFF)
                elif self.sent:
                    self.sent[-1] = value & 0xFF
                self._room = False
        elif offset != self.ISR:
            self._values[offset] = value
