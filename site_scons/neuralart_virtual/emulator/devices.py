"""Peripherals of a virtual board, as plain register models. They know nothing of the CPU emulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

PAGE = 0x1000
# Offsets and bits: Armv8-M ARM (system control space: D-cache operations by address and by set and way), CMSIS device
# header STM32N6 v1.1.0 (CACHEAXI).
SCS = 0xE000E000
ISER, CPUID, VTOR, AIRCR = 0x100, 0xD00, 0xD08, 0xD0C
RESET_REQUEST = 1 << 2
# What a write to each cache operation's register does to the line (or set and way) in it.
OPERATIONS = {
    **{0xF50: "ICIALLU", 0xF58: "ICIMVAU", 0xF5C: "DCIMVAC", 0xF60: "DCISW", 0xF64: "DCCMVAU", 0xF68: "DCCMVAC"},
    **{0xF6C: "DCCSW", 0xF70: "DCCIMVAC", 0xF74: "DCCISW", 0xF78: "BPIALL"},
}
# CACHECMD in CR2 of the NPU cache.
COMMANDS = {1: "clean", 2: "invalidate", 3: "clean and invalidate"}


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
    """Registers that keep what is written, and report it."""

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
        return self.get(offset)

    def write(self, offset: int, value: int) -> None:
        before = self.get(offset)
        self._values[offset] = value & 0xFFFFFFFF
        if before != self._values[offset]:
            self._changed(offset)


class ClockController(RegisterFile):
    """RCC of the STM32N6 as far as clocks of memories and peripherals go. Each register R has a twin at R+0x800 that
    sets the bits written to it and one at R+0x1000 that clears them (CMSIS device header of the STM32N6: MEMENR 0x24C,
    MEMENSR 0xA4C, MEMENCR 0x124C).
    """

    SET = 0x800
    CLEAR = 0x1000

    def read(self, offset: int) -> int:
        """Value of a register; its set and clear twins read as 0."""
        return self.get(offset) if offset < self.SET else 0

    def write(self, offset: int, value: int) -> None:
        """Replace, set or clear bits."""
        twin = self.CLEAR if offset >= self.CLEAR else self.SET if offset >= self.SET else 0
        held = self.get(offset - twin)
        super().write(offset - twin, {self.CLEAR: held & ~value, self.SET: held | value, 0: value}[twin])


class Usart:
    """The newer STM32 USART: CR1 0x00, ISR 0x1C, ICR 0x20, RDR 0x24, TDR 0x28. As on the chip, a byte moves when the
    firmware has looked at ISR: a second read of RDR gives the same byte, a second write of TDR replaces the byte. So an
    access that the emulator does twice changes nothing: it does that with the one during which its time is over.
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


class SystemControl(RegisterFile):
    """The system control space of the core: CPUID, vector table, enabled interrupts, cache operations."""

    narrow = True

    def __init__(
        self, cpuid: int | None, operation: Callable[[str, int], None], reset: Callable[[], None] = lambda: None
    ) -> None:
        """Takes what CPUID answers, whom to tell a cache operation and its operand, and whom to tell a reset."""
        super().__init__("SCS", SCS, PAGE, {CPUID: cpuid or 0})
        self._operation = operation
        self._reset = reset

    def write(self, offset: int, value: int) -> None:
        """Write a register; CPUID stays, and cache operations keep nothing."""
        if offset in OPERATIONS:
            self._operation(OPERATIONS[offset], value)
        elif offset == AIRCR and value >> 16 == 0x05FA and value & RESET_REQUEST:
            self._reset()
        elif offset & ~0x3F == ISER + 0x80:
            super().write(offset - 0x80, self.get(offset - 0x80) & ~value)
        elif offset != CPUID:
            super().write(offset, value | (self.get(offset) if offset & ~0x3F == ISER else 0))


class NpuCache(RegisterFile):
    """CACHEAXI: commands are done at once. It holds nothing, since no NPU reads through it."""

    CR1, SR, FCR, CR2, START, END = 0x00, 0x04, 0x0C, 0x100, 0x104, 0x108
    BYTES = 0x400
    ENABLE, INVALIDATE = 1 << 0, 1 << 1
    # Flags of SR: the end of a full invalidation, the end of a command.
    DONE, COMMAND_DONE = 1 << 1, 1 << 4

    def __init__(
        self,
        base: int,
        operation: Callable[[str, int, int], None],
        changed: Callable[[int], None] = lambda offset: None,
    ) -> None:
        """Takes whom to tell a command, its start address and its end address, and whom any change."""
        super().__init__("CACHEAXI", base, self.BYTES, changed=changed)
        self._operation = operation

    @property
    def on(self) -> bool:
        """It caches."""
        return bool(self.get(self.CR1) & self.ENABLE)

    def write(self, offset: int, value: int) -> None:
        """Write a register; commands leave their flag in SR."""
        if offset == self.CR1 and value & self.INVALIDATE:
            self._operation("invalidate all", 0, 0)
            value &= ~self.INVALIDATE
            self._flag(self.DONE)
        elif offset == self.CR1 and value & self.ENABLE and not self.on:
            self._operation("enable", 0, 0)
        elif offset == self.CR2 and value & 1:
            start, end = self.get(self.START), self.get(self.END)
            self._operation(COMMANDS.get(value >> 1 & 3, "reserved command"), start, end)
            value &= ~1
            self._flag(self.COMMAND_DONE)
        elif offset == self.FCR:
            super().write(self.SR, self.get(self.SR) & ~value)
            return
        elif offset == self.SR:
            return
        super().write(offset, value)

    def _flag(self, bit: int) -> None:
        super().write(self.SR, self.get(self.SR) | bit)


DWT = 0xE0001000
_CTRL, _COUNT, _ENABLE = 0x0, 0x4, 1
# The emulator tells no more than that so many instructions are done. Fewer would take longer.
STEP = 1000


class InstructionCounter(RegisterFile):
    """Counts in steps once the firmware has turned it on; the emulator is slower from then on."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """``stop``: called when it is turned on; the core is to stop then, and to go on in steps."""
        super().__init__("DWT", DWT, PAGE, changed=lambda offset: stop())

    @property
    def step(self) -> int:
        """How many instructions the core may execute at once; 0: any number."""
        return STEP if self.get(_CTRL) & _ENABLE else 0

    def done(self, instructions: int) -> None:
        """The core has executed so many."""
        self._values[_COUNT] = self.get(_COUNT) + instructions & 0xFFFFFFFF
