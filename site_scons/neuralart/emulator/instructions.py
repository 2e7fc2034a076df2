"""Counts the instructions that each epoch of a network executes on a virtual machine. They are no cycles.

An epoch counts from the first instruction of its function up to its return: kernels are in it, the scheduler is not.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuralart.emulator.banks import import_unicorn
from neuralart.emulator.image import Symbols
from neuralart.errors import NeuralArtError

HOST = "127.0.0.1"
# An instruction takes so much virtual time, more than a tick of a board's clock: so ticks tell their number exactly.
_NANOSECONDS = 256
QEMU_WORDS = ("-icount", "shift=8,sleep=off")
# A debugger reads registers of devices, but cannot write them: counters that always count are in the FPGA I/O block of
# QEMU's MPS2 and MPS3 boards, here by model (Arm AN500 and AN547, "FPGA system control and I/O").
FPGA_IO = {"mps2-an500": 0x40028000, "mps3-an547": 0x49302000}
_SECONDS, _TICKS = 0x10, 0x18
_CLOCK = re.compile(r"prescale-clk = (\d+)")
_PATIENCE = 100
# First halfwords from here on begin an instruction of 32 bits (Armv7-M ARM, A5.1).
_WIDE = 0xE800
_LR = 14


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
        found = {}
        for name, epoch in self.functions.items():
            address = symbols.address_of(name)
            if address is None:
                raise NeuralArtError(f"the image has no function {name}", hint="are its epochs loaded at run time?")
            found[address & ~1] = epoch
        return found


class BlockCounter:
    """Counts on Unicorn, which tells of each block of code before it executes it."""

    def __init__(self, uc: Any, peek: Callable[[int, int], bytes], symbols: Symbols, found: EpochInstructions) -> None:
        """Begin. NeuralArtError: the image lacks a function."""
        self._found, self._places, self._peek = found, found.places(symbols), peek
        self._sizes: dict[tuple[int, int], int] = {}
        self._count = 0
        self._epoch, self._end = -1, -1
        self._lr = import_unicorn().arm_const.UC_ARM_REG_LR
        uc.hook_add(import_unicorn().UC_HOOK_BLOCK, self._block)

    def _block(self, uc: Any, address: int, size: int, data: Any) -> None:
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
    """Counts on QEMU through its GDB server: it stops at the beginning and the end of each epoch."""

    def __init__(self, model: str, port: int, symbols: Symbols, found: EpochInstructions) -> None:
        """The server will be on this port of 127.0.0.1. ``model``: QEMU's name of the machine.
        NeuralArtError: the image lacks a function, or nothing counts on this machine.
        """
        super().__init__(daemon=True)
        if model not in FPGA_IO:
            raise NeuralArtError(f"instructions are not counted on QEMU's {model}", hint=f"on {', '.join(FPGA_IO)}")
        self._registers, self._port = FPGA_IO[model], port
        self._found, self._places = found, found.places(symbols)

    def run(self) -> None:
        """Work until QEMU ends."""
        try:
            with _connected(self._port) as stream:
                client = GdbClient(stream)
                try:
                    self._count(client)
                except ValueError as error:
                    self._found.failed = f"QEMU's GDB server: {error}"
                    client.ask("D")  # The core goes on without breakpoints
        except OSError as error:
            # What a user waits for is the end of QEMU, which also looks like this.
            self._found.failed = self._found.failed or f"QEMU's GDB server: {error}"

    def _count(self, gdb: GdbClient) -> None:
        clock = _CLOCK.search(gdb.monitor("info qtree"))
        if clock is None:
            raise ValueError("it does not tell the clock of its board")
        hertz = int(clock[1])
        per_instruction = hertz * _NANOSECONDS * 1e-9
        gdb.ask("Qqemu.sstep=1")  # A step is like any other time that the core goes on
        for address in self._places:
            gdb.ask(f"Z0,{address:x},2")
        while gdb.ask("c").startswith(b"T"):
            registers = bytes.fromhex(gdb.ask("g")[: 16 * 8].decode("ascii"))
            lr, pc = (int.from_bytes(registers[4 * n : 4 * n + 4], "little") & ~1 for n in (_LR, _LR + 1))
            # A core that goes on would stop at the same place again.
            gdb.ask(f"z0,{pc:x},2")
            gdb.ask(f"Z0,{lr:x},2")
            steps = self._settle(gdb, hertz, 2 * per_instruction)
            before = self._ticks(gdb, hertz)
            gdb.ask("c")
            took = round((self._ticks(gdb, hertz) - before) / per_instruction)
            self._found.took(self._places[pc], steps + took)
            gdb.ask(f"z0,{lr:x},2")
            gdb.ask(f"Z0,{pc:x},2")

    def _settle(self, gdb: GdbClient, hertz: int, most: float) -> int:
        """When a machine goes on, its clock may jump to the next timer. Returns after how many steps it did not."""
        for steps in range(1, _PATIENCE):
            before = self._ticks(gdb, hertz)
            gdb.ask("s")
            if 0 < self._ticks(gdb, hertz) - before < most:
                return steps
        raise ValueError("its clock does not count instructions")

    def _ticks(self, gdb: GdbClient, hertz: int) -> int:
        """Of the board's clock since it counts; its counter goes round after 32 bits, its seconds tell how often."""
        seconds, ticks = (gdb.read(self._registers + offset) for offset in (_SECONDS, _TICKS))
        return ticks + round((seconds * hertz - ticks) / 2**32) * 2**32


def _connected(port: int) -> socket.socket:
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection((HOST, port), timeout=20)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


class GdbClient:
    """Asks a GDB server of a QEMU. OSError: it is gone. ValueError: it says something else."""

    def __init__(self, stream: socket.socket) -> None:
        """``stream`` is connected to the server, whose core stands still."""
        stream.settimeout(None)
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream, self._file = stream, stream.makefile("rb")

    def _answer(self) -> bytes:
        while (byte := self._file.read(1)) != b"$":
            if not byte:
                raise ConnectionError("it is gone")
        data = b""
        while not data.endswith(b"#"):
            byte = self._file.read(1)
            if not byte:
                raise ConnectionError("it is gone")
            data += byte
        self._file.read(2)
        self._stream.sendall(b"+")
        return data[:-1]

    def ask(self, text: str) -> bytes:
        """Send a packet, and wait for the answer."""
        self._stream.sendall(f"${text}#{sum(text.encode('ascii')) & 255:02x}".encode("ascii"))
        return self._answer()

    def monitor(self, text: str) -> str:
        """What QEMU's monitor answers."""
        said, answer = b"", self.ask("qRcmd," + text.encode("ascii").hex())
        while answer.startswith(b"O") and answer != b"OK":
            said += bytes.fromhex(answer[1:].decode("ascii"))
            answer = self._answer()
        return said.decode("utf-8", "replace")

    def read(self, address: int) -> int:
        """A register of 32 bits."""
        return int.from_bytes(bytes.fromhex(self.ask(f"m{address:x},4").decode("ascii")), "little")
