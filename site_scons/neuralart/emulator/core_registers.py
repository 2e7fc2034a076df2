"""Registers of the core and of the NPU cache: plain values, but for the ones that maintain caches.

Offsets and bits: Armv8-M ARM (system control space: D-cache operations by address and by set and way), CMSIS device
header STM32N6 v1.1.0 (CACHEAXI).
"""

from __future__ import annotations

from collections.abc import Callable

from neuralart.emulator.devices import PAGE, RegisterFile

SCS = 0xE000E000
CPUID, VTOR, AIRCR = 0xD00, 0xD08, 0xD0C
RESET_REQUEST = 1 << 2
# What a write to each cache operation's register does to the line (or set and way) in it.
OPERATIONS = {
    0xF50: "ICIALLU",
    0xF58: "ICIMVAU",
    0xF5C: "DCIMVAC",
    0xF60: "DCISW",
    0xF64: "DCCMVAU",
    0xF68: "DCCMVAC",
    0xF6C: "DCCSW",
    0xF70: "DCCIMVAC",
    0xF74: "DCCISW",
    0xF78: "BPIALL",
}
# CACHECMD in CR2 of the NPU cache.
COMMANDS = {1: "clean", 2: "invalidate", 3: "clean and invalidate"}


class SystemControl(RegisterFile):
    """The system control space of the core: CPUID, vector table, cache operations."""

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
        elif offset != CPUID:
            super().write(offset, value)


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
        # Registers need not begin at a page; pages are what can be mapped.
        self._first = base % PAGE
        super().__init__("CACHEAXI", base - self._first, self._first + self.BYTES, changed=changed)
        self._operation = operation

    @property
    def on(self) -> bool:
        """It caches."""
        return bool(self.get(self._first + self.CR1) & self.ENABLE)

    def write(self, offset: int, value: int) -> None:
        """Write a register; commands leave their flag in SR."""
        at = offset - self._first
        if at == self.CR1 and value & self.INVALIDATE:
            self._operation("invalidate all", 0, 0)
            value &= ~self.INVALIDATE
            self._flag(self.DONE)
        elif at == self.CR1 and value & self.ENABLE and not self.on:
            self._operation("enable", 0, 0)
        elif at == self.CR2 and value & 1:
            start, end = self.get(self._first + self.START), self.get(self._first + self.END)
            self._operation(COMMANDS.get(value >> 1 & 3, "reserved command"), start, end)
            value &= ~1
            self._flag(self.COMMAND_DONE)
        elif at == self.FCR:
            status = self._first + self.SR
            super().write(status, self.get(status) & ~value)
            return
        elif at == self.SR:
            return
        super().write(offset, value)

    def _flag(self, bit: int) -> None:
        status = self._first + self.SR
        super().write(status, self.get(status) | bit)
