"""Which memories and peripherals of a virtual board answer, and what is missing if one does not."""

from __future__ import annotations

from collections.abc import Collection

from neuralart.boards.types import Board, FlashWindow, MemoryRegion
from neuralart.memory.startup.tables import NPU_CACHE_POOL
from neuralart_virtual.emulator.devices import PAGE, ClockController, NpuCache, RegisterFile


class Power:
    """Clock and shutdown gates of a board, driven by the firmware's register writes."""

    # Bytes of registers of a controller of such memories.
    WINDOW_REGISTERS = 0x400

    def __init__(self, board: Board, *, unmapped: bool = False, mapped: Collection[str] = ()) -> None:
        """As after reset and boot chain, ``mapped`` beside the board's own; ``unmapped``: nothing is mapped."""
        self._board = board
        registers = board.registers
        self.controllers: dict[int, RegisterFile] = {}  # Clock controllers by base address, for the bus to map
        self.ramcfg: RegisterFile | None = None
        self.npu_cache: NpuCache | None = None  # Put there by the board
        self._early: set[str] = set()
        self.generation = 0
        console = board.console
        clocks = registers.memory_clock, registers.ramcfg_clock, registers.npu_cache_clock, registers.rimc_clock
        for address in (*clocks, console.clock_register if console else None):
            if address is not None:
                self._controller(address)
        if registers.memory_clock is not None:
            on = {each.enable.clock_bit for each in board.memory if each.on_at_reset and each.enable is not None}
            controller = self._controller(registers.memory_clock)
            controller.write(registers.memory_clock - controller.base, sum(1 << bit for bit in on if bit is not None))
        if registers.ramcfg is not None and registers.shutdown_bit is not None:
            gates = [region.enable for region in board.memory if not region.on_at_reset and region.enable is not None]
            off = {gate.ramcfg_offset: 1 << registers.shutdown_bit for gate in gates if gate.ramcfg_offset is not None}
            self.ramcfg = RegisterFile("RAMCFG", registers.ramcfg, PAGE, off, self._on_ramcfg)
        # Registers of the controllers of memories that must be memory mapped, by base address.
        self.windows: dict[int, RegisterFile] = {}
        self._window_of = {window.region: window for window in board.windows}
        for window in board.windows:
            by_boot = window.mapped_by_boot or window.region in mapped
            self._add_window(window, by_boot and not unmapped)

    def _add_window(self, window: FlashWindow, mapped: bool) -> None:
        base = window.control & ~(PAGE - 1)
        if base not in self.windows:
            size = window.control - base + self.WINDOW_REGISTERS
            self.windows[base] = RegisterFile("controller", base, min(size, PAGE), changed=self.note)
        clock = self._controller(window.clock_register)
        if mapped:
            offset = window.clock_register - clock.base
            clock.write(offset, clock.get(offset) | 1 << window.clock_bit)
            self.windows[base].write(window.control - base, window.value)

    def note(self, offset: int) -> None:
        """A register changed."""
        self.generation += 1

    def _on_ramcfg(self, offset: int) -> None:
        """A bank that leaves shutdown wants its clock by then; the contents of one that enters it are gone."""
        self.note(offset)
        for region in self._board.memory:
            if region.enable is not None and region.enable.ramcfg_offset == offset:
                early = not self.shut_down(region) and self._unclocked_bank(region)
                (self._early.add if early else self._early.discard)(region.name)

    def _controller(self, address: int) -> RegisterFile:
        base = address & ~(PAGE - 1)
        if base not in self.controllers:
            # Twins that set and clear: of the families here, the one with RAMCFG has them (STM32N6).
            twins = self._board.registers.ramcfg is not None
            kind, size = (ClockController, 2 * PAGE) if twins else (RegisterFile, PAGE)
            self.controllers[base] = kind("RCC", base, size, changed=self.note)
        return self.controllers[base]

    def _clocked(self, address: int | None, bit: int | None) -> bool:
        if address is None or bit is None:
            return True
        controller = self._controller(address)
        return bool(controller.get(address - controller.base) >> bit & 1)

    def _unclocked_bank(self, region: MemoryRegion) -> bool:
        register, enable = self._board.registers.memory_clock, region.enable
        return enable is not None and register is not None and not self._clocked(register, enable.clock_bit)

    def shut_down(self, region: MemoryRegion) -> bool:
        """Does a memory lose its bytes? (Without a clock it keeps them.)"""
        bit = self._board.registers.shutdown_bit
        if self.ramcfg is None or bit is None or region.enable is None or region.enable.ramcfg_offset is None:
            return False
        return bool(self.ramcfg.get(region.enable.ramcfg_offset) >> bit & 1)

    # Each says what something needs before its registers answer; nothing when they do.

    def ramcfg_missing(self) -> str:
        """Of RAMCFG."""
        registers = self._board.registers
        return self.unclocked("RAMCFG", registers.ramcfg_clock, registers.ramcfg_clock_bit, "RCC_AHB2ENR (0x{:08x})")

    def console_missing(self) -> str:
        """Why the console's port cannot be used; empty if it can."""
        port = self._board.console
        if port is None:
            return ""
        return self.unclocked(f"the console's port at 0x{port.base:08x}", port.clock_register, port.clock_bit)

    def window_clock_missing(self, base: int) -> str:
        """Why the controller in a page cannot be used; empty if it can."""
        inside = [window for window in self._board.windows if window.control & ~(PAGE - 1) == base]
        missing = [self._window_unclocked(window) for window in inside]
        return missing[0] if all(missing) else ""

    def _window_unclocked(self, window: FlashWindow) -> str:
        return self.unclocked(f"the controller of {window.region}", window.clock_register, window.clock_bit)

    def unclocked(self, name: str, register: int | None, bit: int | None, shown: str = "0x{:08x}") -> str:
        """Of anything that needs no more than a clock."""
        return "" if self._clocked(register, bit) else f"{name} has no clock: set bit {bit} of {shown.format(register)}"

    def _window_missing(self, region: MemoryRegion) -> str:
        window = self._window_of.get(region.name)
        if window is None:
            return ""
        if unclocked := self._window_unclocked(window):
            return f"{region.name} is not memory mapped, {unclocked}"
        base = window.control & ~(PAGE - 1)
        control = self.windows[base].get(window.control - base)
        if control & window.mask == window.value:
            return ""
        what = f"{region.name} is not memory mapped: the control register of its controller (0x{window.control:08x})"
        return f"{what} is 0x{control:08x}, its bits 0x{window.mask:08x} must be 0x{window.value:08x}"

    def bank_off(self, region: MemoryRegion) -> bool:
        """Is it a bank with gates of its own, and off? (Not: a memory behind a controller that is not mapped.)"""
        return region.enable is not None and bool(self.missing(region)) and not self._window_missing(region)

    def missing(self, region: MemoryRegion) -> str:
        """What a memory needs before it answers; empty when it does."""
        if unmapped := self._window_missing(region):
            return unmapped
        if region.enable is None:
            if region.on_at_reset or region.name in self._window_of:
                return ""
            return f"{region.name} is off after reset, and nothing here turns it on"
        registers = self._board.registers
        if region.pool_name == NPU_CACHE_POOL and self.npu_cache is not None and self.npu_cache.on:
            return f"{region.name} is the memory of the NPU cache, which is on: clear EN in CACHEAXI_CR1"
        gate = f"RAMCFG_{region.name}CR (0x{(registers.ramcfg or 0) + (region.enable.ramcfg_offset or 0):08x})"
        reasons = []
        if registers.memory_clock is not None and self._unclocked_bank(region):
            name = "RCC_MEMENR" if registers.ramcfg is not None else "RCC_AHB2ENR"
            place = f"{name} (0x{registers.memory_clock:08x})"
            reasons.append(f"has no clock: set bit {region.enable.clock_bit} of {place}")
        if self.shut_down(region):
            reasons.append(f"is shut down: clear SRAMSD in {gate}")
            if self.ramcfg_missing():
                reasons.append(f"and {self.ramcfg_missing()}")
        if not reasons and region.name in self._early:
            first = "left shutdown before it had a clock: set its bit of RCC_MEMENR first"
            reasons.append(f"{first}, then clear SRAMSD in {gate}")
        return f"{region.name} {', '.join(reasons)}" if reasons else ""
