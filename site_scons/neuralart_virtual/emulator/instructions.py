"""Counts the instructions that each epoch of a network executes on a virtual machine. They are no cycles. An epoch
counts from the first instruction of its function up to its return: kernels are in it, the scheduler is not.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuralart.boards.types import Machine
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.banks import import_unicorn
from neuralart_virtual.emulator.image import Symbols

# First halfwords from here on begin an instruction of 32 bits (Armv7-M ARM, A5.1).
_WIDE = 0xE800
# A debugger can read registers of QEMU's devices, but not write them: what it reads must count without being told to.
_SECONDS, _TICKS = 0x10, 0x18
# Virtual time of an instruction, as a power of 2 in nanoseconds: some ticks, so that they tell the number exactly.
_SHIFT = 8


@dataclass
class EpochInstructions:
    """What the epochs of one network took, inference by inference."""

    functions: Mapping[str, int]  # Name of an epoch's function, and the epoch's number
    samples: list[dict[int, int]] = field(default_factory=list)  # Instructions by epoch
    failed: str = ""  # Why nothing more was counted

    def took(self, epoch: int, instructions: int) -> None:
        """An epoch ended. One that is there already begins another inference."""
        if not self.samples or epoch in self.samples[-1]:
            self.samples.append({})
        self.samples[-1][epoch] = instructions

    def places(self, symbols: Symbols) -> dict[int, int]:
        """The epochs by address. NeuralArtError: the image lacks a function."""
        return {symbols.needed(name) & ~1: epoch for name, epoch in self.functions.items()}


class BlockCounter:
    """Counts on Unicorn, which tells of each block of code before it executes it."""

    deadline = 0.0  # When to stop, by ``time.monotonic()``: a stop from outside may leave a block counted, not executed

    def __init__(self, uc: Any, peek: Callable[[int, int], bytes], symbols: Symbols, found: EpochInstructions) -> None:
        """Begin. NeuralArtError: the image lacks a function."""
        self._found, self._places, self._peek = found, found.places(symbols), peek
        self._sizes: dict[tuple[int, int], int] = {}
        self._count, self._seen, self._epoch, self._end = 0, 0, -1, -1
        self._lr = import_unicorn().arm_const.UC_ARM_REG_LR
        uc.hook_add(import_unicorn().UC_HOOK_BLOCK, self._block)

    def _block(self, uc: Any, address: int, size: int, data: Any) -> None:
        self._seen += 1
        if self._seen % 4096 == 0 and time.monotonic() > self.deadline:
            uc.emu_stop()  # It will tell of this block again
            return
        if address == self._end:
            self._found.took(self._epoch, self._count)
            self._end = -1
        elif address in self._places:
            self._epoch, self._count = self._places[address], 0
            self._end = uc.reg_read(self._lr) & ~1
        if self._end >= 0:
            known = self._sizes.get((address, size))
            if known is None:
                known = self._sizes[address, size] = instructions_in(self._peek(address, size))
            self._count += known


def instructions_in(code: bytes) -> int:
    """How many Thumb instructions some bytes of code are."""
    at = count = 0
    while at < len(code):
        at += 4 if int.from_bytes(code[at : at + 2], "little") >= _WIDE else 2
        count += 1
    return count


class QemuCounter(threading.Thread):
    """Counts on QEMU as its debugger: stops it where an epoch begins and ends, and reads its board's clock."""

    def __init__(self, machine: Machine, symbols: Symbols, found: EpochInstructions) -> None:
        """NeuralArtError: nothing counts on this machine, or the image lacks a function."""
        super().__init__(daemon=True)
        if machine.counter is None or not machine.counter_hz:
            hint = "'counter' and 'counter_hz' in the board's file"
            raise NeuralArtError(f"instructions are not counted on QEMU's {machine.model}", hint=hint)
        self._registers, self._hertz = machine.counter, machine.counter_hz
        self._per_instruction = self._hertz * 2**_SHIFT * 1e-9
        self._found, self._places = found, found.places(symbols)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(20.0)
        # What QEMU's command line needs.
        port = f"socket,id=counter,host=127.0.0.1,nodelay=on,port={self._listener.getsockname()[1]}"
        self.words = ("-icount", f"shift={_SHIFT},sleep=off", "-chardev", port, "-S", "-gdb", "chardev:counter")

    def run(self) -> None:
        """Work until QEMU ends."""
        try:
            with self._listener:
                self._stream = self._listener.accept()[0]
            # An acknowledgement and the next packet would wait 40 ms for each other.
            self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._stream, self._stream.makefile("rb") as self._file:
                self._stream.settimeout(None)
                self._count()
        except (OSError, ValueError) as error:
            # That the other side is gone is also how a run ends.
            self._found.failed = f"QEMU counts nothing: {error}"

    def _count(self) -> None:
        self._ask("Qqemu.sstep=1")  # A step is like any other time that the core goes on
        for address in self._places:
            self._ask(f"Z0,{address:x},2")
        while self._ask("c").startswith(b"T"):
            registers = bytes.fromhex(self._ask("g")[: 16 * 8].decode("ascii"))
            lr, pc = (int.from_bytes(registers[4 * n : 4 * n + 4], "little") & ~1 for n in (14, 15))
            # A core that goes on would stop at the same place again.
            self._ask(f"z0,{pc:x},2")
            self._ask(f"Z0,{lr:x},2")
            steps, before = self._settle()
            self._ask("c")
            self._found.took(self._places[pc], steps + round((self._ticks() - before) / self._per_instruction))
            self._ask(f"z0,{lr:x},2")
            self._ask(f"Z0,{pc:x},2")

    def _settle(self) -> tuple[int, int]:
        """When a machine goes on, its clock may jump to the next timer: steps until it did not, and the ticks then."""
        before = self._ticks()
        for steps in range(1, 100):
            self._ask("s")
            now = self._ticks()
            if 0 < now - before < 2 * self._per_instruction:
                return steps, now
            before = now
        self._ask("D")  # It goes on without a debugger
        raise ValueError("'counter' or 'counter_hz' of its machine is wrong")

    def _ticks(self) -> int:
        """Since the start. The counter goes round after 32 bits; the seconds tell how often."""
        seconds, ticks = (
            int.from_bytes(bytes.fromhex(self._ask(f"m{self._registers + at:x},4").decode("ascii")), "little")
            for at in (_SECONDS, _TICKS)
        )
        return ticks + round((seconds * self._hertz - ticks) / 2**32) * 2**32

    def _ask(self, text: str) -> bytes:
        """Send a packet, and wait for the answer."""
        self._stream.sendall(f"${text}#{sum(text.encode('ascii')) & 255:02x}".encode("ascii"))
        data = b""
        while not data.endswith(b"#"):
            byte = self._file.read(1)
            if not byte:
                raise ConnectionError("it is gone")
            data = b"" if byte == b"$" else data + byte
        self._file.read(2)
        self._stream.sendall(b"+")
        return data[:-1]
