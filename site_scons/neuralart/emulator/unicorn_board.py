"""A virtual board on Unicorn: the CPU's baseline instruction set, the real addresses, banks dead until enabled.

Not modelled: interrupts and exceptions (the run stops at one), caches, MPU, SAU and RIF, the NPU, time. Both aliases of
a memory (secure and non-secure) are the same bytes and answer alike; peripherals answer at the addresses that the
board's file gives, not at the other security state's.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Sequence
from typing import Any

from neuralart.boards.types import Board, Machine
from neuralart.emulator.banks import Banks, import_unicorn
from neuralart.emulator.devices import PAGE, Device, Usart
from neuralart.emulator.image import Firmware, Load
from neuralart.emulator.power import Power
from neuralart.emulator.stops import MachineStop
from neuralart.errors import NeuralArtError, nearest

# System control space and debug: plain registers (Armv8-M ARM, B3.1: private peripheral bus).
PPB, PPB_SIZE, CPUID = 0xE0000000, 0x100000, 0xE000ED00

WFI = b"\x30\xbf"

# Numbers by which the emulator's core reports exceptions (QEMU, target/arm/cpu.h).
EXCEPTIONS = {
    1: "undefined instruction (the virtual board executes Armv8-M mainline with FPU: no MVE, no Armv8.1-M)",
    2: "SVC: no exceptions are modelled",
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
    """One power-up of a virtual board. It is a :class:`~neuralart.emulator.link.Transport` too."""

    def __init__(self, board: Board, machine: Machine, firmware: Firmware, loads: Sequence[Load] = ()) -> None:
        """Load everything and reset the core.

        Args:
            board: Memories, registers, console.
            machine: CPU model and CPUID.
            firmware: Segments go to their load addresses; the vector table stands at the start of the board's code.
            loads: Raw files.

        Raises:
            NeuralArtError: Unicorn is missing, the board cannot be modelled, or something is loaded where no memory is.
            MachineStop: The vector table does not start anything.
        """
        self._unicorn = import_unicorn()
        self._board = board
        self._symbols = firmware.symbols
        self._stop = ""
        self._starved = False
        self._power = Power(board)
        self._seen = self._power.generation
        self._devices: set[int] = set()
        self._uc = self._core(machine)
        self._usart = self._console()
        self._banks = Banks(self._uc, board, self._power)
        self._map_devices()
        for load in (*firmware.loads, *loads):
            self._banks.load(load)
        self._reset()

    def _core(self, machine: Machine) -> Any:
        unicorn = self._unicorn
        models = {
            name[len("UC_CPU_ARM_") :].lower().replace("_", "-"): value
            for name, value in vars(unicorn.arm_const).items()
            if name.startswith("UC_CPU_ARM_CORTEX_M")
        }
        model = machine.model or "cortex-m33"
        if model not in models:
            raise NeuralArtError(
                f"machine unicorn has no CPU model '{model}'",
                where=f"board {self._board.name}",
                hint=nearest(model, list(models)),
            )
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(models[model])
        uc.mem_map(PPB, PPB_SIZE, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        if machine.cpuid is not None:
            uc.mem_write(CPUID, struct.pack("<I", machine.cpuid))
        uc.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, self._on_unmapped)
        uc.hook_add(unicorn.UC_HOOK_MEM_PROT, self._on_protected)
        uc.hook_add(unicorn.UC_HOOK_INTR, self._on_exception)
        return uc

    def _console(self) -> Usart:
        console = self._board.console
        if console is None or console.driver != "uart_stm32" or console.base % PAGE:
            has = f"{console.driver} at 0x{console.base:08x}" if console else "none"
            raise NeuralArtError(
                f"machine unicorn models a console of driver uart_stm32 in a page of its own, the board has {has}",
                where=f"board {self._board.name}",
            )
        return Usart(console.base, self._on_starved)

    # ---- peripherals ----

    def _map_devices(self) -> None:
        power = self._power
        devices: list[tuple[Device, str]] = [(controller, "") for controller in power.controllers.values()]
        devices.append((self._usart, power.console_missing()))
        if power.ramcfg is not None:
            devices.append((power.ramcfg, power.ramcfg_missing()))
        for device, missing in devices:
            size = (device.size + PAGE - 1) // PAGE * PAGE
            if not missing and device.base not in self._devices:
                self._uc.mmio_map(device.base, size, self._on_read, device, self._on_write, device)
                self._devices.add(device.base)
            elif missing and device.base in self._devices:
                self._uc.mem_unmap(device.base, size)
                self._devices.discard(device.base)

    def _on_read(self, uc: Any, offset: int, size: int, device: Device) -> int:
        if offset >= device.size:
            self._halt(f"read at 0x{device.base + offset:08x}{self._near()}: nothing is modelled there")
            return 0
        # Registers are words; a narrower read takes its bytes.
        value = device.read(offset & ~3) >> 8 * (offset & 3)
        return value & ((1 << 8 * size) - 1)

    def _on_write(self, uc: Any, offset: int, size: int, value: int, device: Device) -> None:
        if offset >= device.size or (size != 4 and device is not self._usart) or offset & 3:
            self._halt(
                f"write of {size} bytes at 0x{device.base + offset:08x}{self._near()}: no such register is modelled"
            )
            return
        device.write(offset, value)
        if self._seen != self._power.generation:
            self._seen = self._power.generation
            self._banks.apply_power()
            self._map_devices()

    def _on_starved(self) -> None:
        self._starved = True
        self._uc.emu_stop()

    # ---- ends ----

    def _pc(self) -> int:
        return int(self._uc.reg_read(self._unicorn.arm_const.UC_ARM_REG_PC))

    def _near(self) -> str:
        # Inside a register access the emulator knows the block of code, not the instruction.
        return f" near {self._symbols.describe(self._pc())}"

    def _halt(self, reason: str) -> None:
        # What runs on until the core really stops is a consequence: the first reason stays.
        self._stop = self._stop or reason
        self._uc.emu_stop()

    def _why_dead(self, address: int) -> str:
        region = self._board.region_at(address)
        if region is not None:
            return self._power.missing(region)
        ramcfg = self._power.ramcfg
        if ramcfg is not None and ramcfg.base <= address < ramcfg.base + ramcfg.size:
            return self._power.ramcfg_missing()
        if self._usart.base <= address < self._usart.base + self._usart.size:
            return self._power.console_missing()
        if 0x40000000 <= address < 0x60000000:
            return "this peripheral is not modelled"
        return "no memory is there"

    def _on_unmapped(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        unicorn = self._unicorn
        if self._banks.map_at(address):
            return True
        verb = {unicorn.UC_MEM_READ_UNMAPPED: "read", unicorn.UC_MEM_WRITE_UNMAPPED: "write"}.get(access, "fetch")
        by = f" by {self._symbols.describe(self._pc())}" if verb != "fetch" else f" (lr {self._caller()})"
        self._halt(f"{verb} at 0x{address:08x}{by}: {self._why_dead(address)}")
        return False

    def _caller(self) -> str:
        lr = int(self._uc.reg_read(self._unicorn.arm_const.UC_ARM_REG_LR))
        return self._symbols.name_at(lr & ~1) or f"0x{lr:08x}"

    def _on_protected(self, uc: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        region = self._board.region_at(address)
        what = f"{region.name} is {region.kind}: a store does not change it" if region else "not executable"
        verb = "write" if access == self._unicorn.UC_MEM_WRITE_PROT else "fetch"
        self._halt(f"{verb} at 0x{address:08x} by {self._symbols.describe(self._pc())}: {what}")
        return False

    def _on_exception(self, uc: Any, number: int, data: Any) -> None:
        self._halt(f"at {self._symbols.describe(self._pc())}: {EXCEPTIONS.get(number, f'exception {number}')}")

    # ---- running ----

    def _reset(self) -> None:
        code = self._board.code
        if code is None:
            raise NeuralArtError("the board does not say where code is", where=f"board {self._board.name}")
        vectors = self._board.region(code.region).base + code.offset
        stack, entry = struct.unpack("<II", self._banks.peek(vectors, 8).ljust(8, b"\0"))
        registers = self._unicorn.arm_const
        if self._board.region_at(stack - 4) is None or self._board.region_at(entry) is None or not entry & 1:
            raise MachineStop(
                f"the vector table at 0x{vectors:08x} starts nothing: stack 0x{stack:08x}, reset 0x{entry:08x}",
                hint="is the image linked for this board?",
            )
        self._uc.mem_write(0xE000ED08, struct.pack("<I", vectors))
        self._uc.reg_write(registers.UC_ARM_REG_MSP, stack)
        self._uc.reg_write(registers.UC_ARM_REG_SP, stack)
        self._uc.reg_write(registers.UC_ARM_REG_LR, 0xFFFFFFFF)
        self._uc.reg_write(registers.UC_ARM_REG_PC, entry)

    def _run(self, seconds: float) -> None:
        """Run until a stop, the firmware waits for input, or time is over."""
        deadline = time.monotonic() + seconds
        self._starved = False
        while not (self._stop or self._starved):
            left = deadline - time.monotonic()
            if left <= 0:
                return
            try:
                self._uc.emu_start(self._pc() | 1, 0xFFFFFFFE, max(1, int(left * 1e6)))
            except self._unicorn.UcError as error:
                undefined = error.errno == self._unicorn.UC_ERR_INSN_INVALID
                self._halt(f"at {self._symbols.describe(self._pc())}: {EXCEPTIONS[1] if undefined else error}")
            if not (self._stop or self._starved) and WFI in (
                self._banks.peek(self._pc() - 2, 2),
                self._banks.peek(self._pc(), 2),
            ):
                self._stop = f"the core sleeps at {self._symbols.describe(self._pc())} (WFI) and nothing wakes it"

    def write(self, data: bytes) -> None:
        """Bytes for the console; the firmware reads them as it runs."""
        self._usart.feed(data)

    def read(self, seconds: float) -> bytes:
        """Run the firmware and return what it sent.

        Raises:
            MachineStop: It stopped, and everything that it had sent before was returned already.
        """
        if not self._stop:
            self._run(seconds)
        sent = self._usart.take_sent()
        if self._stop and not sent:
            raise MachineStop(self._stop)
        return sent

    def memory(self, address: int, size: int) -> bytes:
        """Bytes as a debugger reads them; fewer where no memory answers."""
        return self._banks.peek(address, size)

    def waiting_for(self) -> str:
        """What the core does right now."""
        at = self._symbols.describe(self._pc())
        return f"the firmware waits for input at {at}" if self._starved else f"the core runs at {at}"
