"""A virtual board on Unicorn: the CPU's baseline instruction set, the real addresses, banks dead until enabled.

Not modeled: interrupts but those of the NPU, exceptions (the run stops at one), caches (but whether they are
maintained, see coherency.py), MPU, SAU and RIF (its registers keep what is written), time. Both aliases of a memory
(secure and non-secure) are the same bytes and answer alike; peripherals answer at the addresses that the board's file
gives, not at the other security state's.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart_virtual.emulator import MachineStop, devices
from neuralart_virtual.emulator.banks import UNDEFINED, Banks, Bus, import_unicorn
from neuralart_virtual.emulator.coherency import Checkpoints, Coherency, Conditions, Dirty, NpuLines
from neuralart_virtual.emulator.image import BootState, Firmware, Load, Symbols
from neuralart_virtual.emulator.instructions import BlockCounter
from neuralart_virtual.emulator.npu_registers import NpuRegisters
from neuralart_virtual.emulator.power import Power

# The rest of the private peripheral bus (debug) is plain memory (Armv8-M ARM, B3.1).
PPB, PPB_SIZE = 0xE0000000, 0x100000
# Entries of the log of cache maintenance that are kept.
LOGGED = 100_000

WFI, WFE = b"\x30\xbf", b"\x20\xbf"
# Instructions that the core goes on for while the NPU works (it may enable more units), and of the longest handler.
NPU_WORKS, HANDLER = 20_000, 10_000_000

# Numbers by which the emulator's core reports exceptions (QEMU, target/arm/cpu.h).
EXCEPTIONS = {
    1: "undefined instruction",
    2: "SVC: no exceptions are modeled",
    3: "prefetch abort",
    4: "data abort",
    7: "breakpoint",
    8: "exception return without an exception",
    16: "semihosting breakpoint: no debugger is there, as on silicon",
    17: "coprocessor or FPU access while it is disabled",
    18: "invalid state: jump to an address without the Thumb bit?",
    19: "stack overflow: the stack pointer went below MSPLIM",
    22: "unaligned access",
}


class UnicornBoard:
    """One power-up of a virtual board. It is a :class:`~neuralart_virtual.emulator.host_link.Transport` too."""

    def __init__(
        self,
        board: Board,
        machine: Machine,
        firmware: Firmware,
        loads: Sequence[Load] = (),
        conditions: Conditions | None = None,
    ) -> None:
        """Load everything and reset the core.

        Without a flash the segments of the firmware and raw files (``loads``) go to their load addresses, and the
        vector table stands at the start of the board's code. NeuralArtError: Unicorn is missing, the board cannot be
        modeled, or something is loaded where no memory is. MachineStop: the flash or the vector table does not start
        anything.
        """
        self._unicorn = import_unicorn()
        given = conditions or Conditions()
        self._board = board
        self._stop = ""
        self.asleep = False  # The core sleeps, and nothing wakes it
        self._starved = self._counted = False
        self._spent = 0.0
        if given.nor is None:
            boot = BootState.direct(board, firmware, tuple(loads))
        else:
            boot = BootState.flash(board, firmware, given.nor)
        # None when the flash holds something else than the ELF.
        self.symbols = firmware.symbols if boot.symbols_fit else Symbols([])
        self.notes = list(boot.notes)  # What a user should know of this run, so far
        self.maintenance: list[str] = []  # The firmware's first writes to cache-maintenance registers, in order
        self._power = Power(board, unmapped=given.xspi_unmapped, mapped=given.mapped)
        self._seen = self._power.generation
        v8 = "Armv8-M mainline with FPU: no MVE, no Armv8.1-M" if "m33" in machine.model else machine.isa
        self._undefined = f"{EXCEPTIONS[1]} (the virtual board executes {v8})"
        self._uc = self._core(machine)
        self._usart = self._console()
        self._banks = Banks(self._uc, board, self._power, zeros=given.dead_bank == "zeros", lost=self._on_lost)
        self._coherency = Coherency(board, given.watched, self._banks.peek, UNDEFINED)
        self._npu_lines = NpuLines(board, given.watched, self._banks.peek, UNDEFINED)
        self._bus = Bus(self._uc, self._halt, self._near, self._on_register)
        self._system = devices.SystemControl(machine.cpuid, self._on_cache_operation, self._on_reset_request)
        self._counter = devices.InstructionCounter(self._uc.emu_stop)
        self._add_devices()
        self._bus.refresh()
        for load in boot.loads:
            self._banks.load(load)
            self._settled(load.address, len(load.data))
        of_caches = (self._coherency, self._npu_dirty)
        self._checkpoints = Checkpoints(self._uc, board, self._banks, *of_caches, self.symbols, self._halt)
        self.notes += self._checkpoints.watch(given, boot.symbols_fit)
        counts, peek = given.counts, self._banks.peek
        self._blocks = None if counts is None else BlockCounter(self._uc, peek, self.symbols, counts)
        self._reset(boot.vectors)

    def _on_lost(self, start: int, end: int) -> None:
        self._coherency.forget(start, end)
        self._npu_lines.forget(start, end)

    def _settled(self, address: int, size: int) -> None:
        """Memory was written, not by the core."""
        self._coherency.settle(address, size)
        self._npu_lines.settle(address, size)

    def finish(self) -> None:
        """The run is over: note what never came about."""
        self.notes += self._checkpoints.unused()

    def _core(self, machine: Machine) -> Any:
        unicorn = self._unicorn
        names = [name for name in vars(unicorn.arm_const) if name.startswith("UC_CPU_ARM_CORTEX_M")]
        known = vars(unicorn.arm_const)
        models = {name[len("UC_CPU_ARM_") :].lower().replace("_", "-"): known[name] for name in names}
        model = machine.model or "cortex-m33"
        if model not in models:
            what = f"machine unicorn has no CPU model '{model}'"
            raise NeuralArtError(what, where=f"board {self._board.name}", hint=nearest(model, list(models)))
        # In its mode for M-class cores Unicorn emulates a Cortex-M33, whatever model it is told.
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB)
        uc.ctl_set_cpu_model(models[model])
        rights = unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE
        uc.mem_map(PPB, devices.DWT - PPB, rights)
        uc.mem_map(devices.DWT + devices.PAGE, devices.SCS - (devices.DWT + devices.PAGE), rights)
        uc.mem_map(devices.SCS + devices.PAGE, PPB_SIZE - (devices.SCS + devices.PAGE - PPB), rights)
        uc.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, self._on_unmapped)
        uc.hook_add(unicorn.UC_HOOK_MEM_PROT, self._on_protected)
        uc.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        return uc

    def _console(self) -> devices.Usart:
        console = self._board.console
        if console is None or console.driver != "uart_stm32":
            has = f"{console.driver} at 0x{console.base:08x}" if console else "none"
            what = f"machine unicorn models a console of driver uart_stm32, the board has {has}"
            raise NeuralArtError(what, where=f"board {self._board.name}")
        return devices.Usart(console.base, self._on_starved)

    # ---- peripherals ----

    def _add_devices(self) -> None:
        power, registers, bus = self._power, self._board.registers, self._bus
        bus.add(self._system)
        bus.add(self._counter)
        for controller in power.controllers.values():
            bus.add(controller)
        bus.add(self._usart, power.console_missing)
        if power.ramcfg is not None:
            bus.add(power.ramcfg, power.ramcfg_missing)
        for base, window in power.windows.items():
            bus.add(window, partial(power.window_clock_missing, base))
        self._npu = NpuRegisters(self, self._halt)
        if registers.npu_cache is not None:
            bus.add(self._npu)
            power.npu_cache = devices.NpuCache(registers.npu_cache, self._on_npu_cache, power.note)
            missing = partial(power.unclocked, "CACHEAXI", registers.npu_cache_clock, registers.npu_cache_clock_bit)
            bus.add(power.npu_cache, missing)
        if registers.rimc_npu is not None:
            missing = partial(power.unclocked, "RIFSC", registers.rimc_clock, registers.rimc_clock_bit)
            bus.add(devices.RegisterFile("RIFSC", registers.rimc_npu & ~(devices.PAGE - 1), devices.PAGE), missing)

    def _on_register(self) -> None:
        if self._seen != self._power.generation:
            self._seen = self._power.generation
            self._banks.apply_power()
            self._bus.refresh()
        if self._npu.pending and not self._counted:
            self._uc.emu_stop()

    def _on_cache_operation(self, name: str, operand: int) -> None:
        self._coherency.operation(name, operand)
        self._maintain(f"{name} 0x{operand:08x}")

    def _on_npu_cache(self, name: str, start: int, end: int) -> None:
        self._npu_lines.command(name, start, end)
        self._maintain(f"CACHEAXI {name} 0x{start:08x}..0x{end:08x}")

    def _npu_dirty(self) -> Dirty | None:
        cache = self._power.npu_cache
        return self._npu_lines.dirty() if cache is not None and cache.on else None

    def _maintain(self, text: str) -> None:
        # A firmware that maintains caches in every inference must not fill the host's memory.
        if len(self.maintenance) < LOGGED:
            self.maintenance.append(text)

    def _on_reset_request(self) -> None:
        self._halt(f"the firmware asks for a reset (AIRCR){self._near()}: the virtual board ends there")

    def _on_starved(self) -> None:
        self._starved = True
        self._uc.emu_stop()

    # ---- ends ----

    def _pc(self) -> int:
        return int(self._uc.reg_read(self._unicorn.arm_const.UC_ARM_REG_PC))

    def _near(self) -> str:
        # Inside a register access the emulator knows the block of code, not the instruction.
        return f" near {self.symbols.describe(self._pc())}"

    def _halt(self, reason: str) -> None:
        # What runs on until the core really stops is a consequence: the first reason stays.
        self._stop = self._stop or reason
        self._uc.emu_stop()

    def _why_dead(self, address: int) -> str:
        region = self._board.region_at(address)
        if region is not None:
            return self._power.missing(region)
        missing = self._bus.why_dead(address)
        if missing:
            return missing
        if 0x40000000 <= address < 0x60000000:
            return "this peripheral is not modeled"
        return "no memory is there"

    def _on_unmapped(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        unicorn = self._unicorn
        if self._banks.map_at(address):
            return True
        verb = {unicorn.UC_MEM_READ_UNMAPPED: "read", unicorn.UC_MEM_WRITE_UNMAPPED: "write"}.get(access, "fetch")
        bank = self._banks.pretend(address) if verb != "fetch" else None
        if bank is not None:
            what = f"first {verb} of {bank.name} while it is off, at 0x{address:08x}"
            self.notes.append(f"{what} by {self.symbols.describe(self._pc())}: reads give zeros, writes vanish")
            return True
        by = f" by {self.symbols.describe(self._pc())}" if verb != "fetch" else f" (lr {self._caller()})"
        self._halt(f"{verb} at 0x{address:08x}{by}: {self._why_dead(address)}")
        return False

    def _caller(self) -> str:
        lr = int(self._uc.reg_read(self._unicorn.arm_const.UC_ARM_REG_LR))
        return self.symbols.name_at(lr & ~1) or f"0x{lr:08x}"

    def _on_protected(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        region = self._board.region_at(address)
        verb = "write" if access == self._unicorn.UC_MEM_WRITE_PROT else "fetch"
        what = "not executable"
        if region is not None:
            store = f"{region.name} is {region.kind}: a store does not change it"
            what = store if verb == "write" else self._power.missing(region) or what
        self._halt(f"{verb} at 0x{address:08x} by {self.symbols.describe(self._pc())}: {what}")
        return False

    def _on_exception(self, uc: Any, number: int, data: Any) -> None:
        what = self._undefined if number == 1 else EXCEPTIONS.get(number, f"exception {number}")
        self._halt(f"at {self.symbols.describe(self._pc())}: {what}")

    # ---- running ----

    def _reset(self, vectors: int) -> None:
        stack, entry = struct.unpack("<II", self._banks.peek(vectors, 8).ljust(8, b"\0"))
        registers = self._unicorn.arm_const
        if self._board.region_at(stack - 4) is None or self._board.region_at(entry) is None or not entry & 1:
            what = f"the vector table at 0x{vectors:08x} starts nothing: stack 0x{stack:08x}, reset 0x{entry:08x}"
            raise MachineStop(what, hint="is the image linked for this board?")
        self._system.write(devices.VTOR, vectors)
        self._uc.reg_write(registers.UC_ARM_REG_MSP, stack)
        self._uc.reg_write(registers.UC_ARM_REG_SP, stack)
        self._uc.reg_write(registers.UC_ARM_REG_LR, 0xFFFFFFFF)
        self._uc.reg_write(registers.UC_ARM_REG_PC, entry)

    def _run(self, seconds: float) -> None:
        """Run until a stop, the firmware waits for input, or time is over."""
        deadline = time.monotonic() + seconds
        began = time.thread_time()
        try:
            self._run_until(deadline)
        finally:
            self._spent += time.thread_time() - began

    def _run_until(self, deadline: float) -> None:
        self._starved = False
        while not (self._stop or self._starved):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            if self._blocks is not None:
                self._blocks.deadline = deadline
            if self._npu.pending:
                self._start(0, NPU_WORKS)
                self._take_interrupts()
                continue
            step = self._counter.step
            self._start(0 if step or self._blocks is not None else max(1, int(left * 1e6)), step)
            self._counter.done(step)
            if not (self._stop or self._starved):
                self._look_for_sleep()

    def _start(self, microseconds: int = 0, count: int = 0, until: int = 0xFFFFFFFE) -> None:
        """Let the core go until its time is over, so many instructions are done (0: any number), it is stopped, or at
        an address.
        """
        if count > 1 and not self._counted:
            self._uc.ctl_flush_tb()  # Code that was translated before is not counted
        self._counted = count > 1
        try:
            self._uc.emu_start(self._pc() | 1, until, microseconds, count)
        except self._unicorn.UcError as error:
            undefined = error.errno == self._unicorn.UC_ERR_INSN_INVALID
            # The emulator knows no events, and leaves the instruction that waits for one in this way.
            if undefined and not self._stop and self._banks.peek(self._pc() - 2, 2) == WFE:
                return
            self._halt(f"at {self.symbols.describe(self._pc())}: {self._undefined if undefined else error}")

    def _take_interrupts(self) -> None:
        """The NPU has finished, and the core takes its interrupts: each handler is called as a function that returns to
        where the core was.
        """
        arm, self._npu.owed = self._unicorn.arm_const, False
        for irq in self._npu.work() if not self._stop else ():
            enabled = self._system.get(devices.ISER + irq // 32 * 4) >> irq % 32 & 1
            if self._stop or not enabled or self._uc.reg_read(arm.UC_ARM_REG_PRIMASK):
                self._npu.owed = True
                continue
            table, back = self._system.get(devices.VTOR), self._pc()
            context = self._uc.context_save()
            (handler,) = struct.unpack("<I", self._banks.peek(table + 4 * (16 + irq), 4).ljust(4, b"\0"))
            self._uc.reg_write(arm.UC_ARM_REG_LR, back | 1)
            self._uc.reg_write(arm.UC_ARM_REG_PC, handler | 1)
            self._start(0, HANDLER, back)
            if not self._stop:
                self._uc.context_restore(context)

    def _look_for_sleep(self) -> None:
        pc = self._pc()
        if not self._npu.pending and WFI in (self._banks.peek(pc - 2, 2), self._banks.peek(pc, 2)):
            self.asleep = True
            self._stop = f"the core sleeps at {self.symbols.describe(pc)} (WFI) and nothing wakes it"

    def write(self, data: bytes) -> None:
        """Bytes for the console; the firmware reads them as it runs."""
        self._usart.feed(data)

    def read(self, seconds: float) -> bytes:
        """Run the firmware and return what it sent. MachineStop: it stopped, and all that it sent was returned."""
        if not self._stop:
            self._run(seconds)
        sent = self._usart.take_sent()
        if self._stop and not sent:
            raise MachineStop(self._stop)
        return sent

    def memory(self, address: int, size: int) -> bytes:
        """Bytes as a debugger reads them; fewer where no memory answers."""
        return self._banks.peek(address, size)

    def shared(self, address: int, size: int) -> memoryview:
        """The very bytes of memory, for another bus master. MachineStop: they do not answer, or are in no one piece."""
        return self._banks.shared(address, size)

    def where_is(self, near: int, data: bytes) -> int | None:
        """Where in the memory at an address bytes stand; None: nowhere."""
        return self._banks.where_is(near, data)

    def begin_epochs(self) -> None:
        """The virtual NPU begins, in the place of a runtime. MachineStop: caches hold what it is to read."""
        self._checkpoints.begin_epochs(self._pc())
        if self._stop:
            raise MachineStop(self._stop)

    def spent(self) -> float:
        """Seconds of processor time of the emulation."""
        return self._spent

    def idle(self) -> bool:
        """The firmware waits for input, and all that was sent was read."""
        return self._starved

    def waiting_for(self) -> str:
        """What the core does right now."""
        at = self.symbols.describe(self._pc())
        return f"the firmware waits for input at {at}" if self._starved else f"the core runs at {at}"
