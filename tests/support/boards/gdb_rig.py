"""The GDB server on a virtual board with five instructions, and a client that counts every byte."""

from __future__ import annotations

import socket
import struct
import threading

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.gdb.packets import BadPacket, Packet, PacketReader, Sign, encode
from neuralart_virtual.emulator.gdb.server import GdbServer
from neuralart_virtual.emulator.image import Firmware, Load, Symbols

START, COUNTER = 0x34000440, 0x34001000
# movs r0, #0; ldr r1, =COUNTER; again: adds r0, #1; str r0, [r1]; b again
CODE = struct.pack("<6HI", 0x2000, 0x4902, 0x3001, 0x6008, 0xE7FC, 0xBF00, COUNTER)


def vectors(start: int, stack: int = 0x34010000) -> bytes:
    """A table with a stack and an entry."""
    return struct.pack("<2I", stack, start | 1).ljust(0x40, b"\0")


VECTORS = vectors(START)
FLASH = 0x70000000


class Client:
    """What gdb would send and read."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self._reader = PacketReader()
        self._events: list[Packet | Sign | BadPacket] = []

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def next(self) -> Packet | Sign | BadPacket | None:
        while not self._events:
            data = self._socket.recv(4096)
            if not data:
                return None
            self._events += self._reader.feed(data)
        return self._events.pop(0)

    def ask(self, payload: bytes) -> bytes:
        """An answer in no-acknowledgment mode."""
        self.send(encode(payload))
        event = self.next()
        assert isinstance(event, Packet), event
        return event.payload

    def pc(self) -> int:
        return int.from_bytes(bytes.fromhex(self.ask(b"pf").decode()), "little")

    def close(self) -> None:
        self._socket.close()


class Rig:
    """A server, and a thread in which its board runs."""

    def __init__(self, code: bytes = CODE, name: str = "stm32n6570-dk", table: bytes = VECTORS) -> None:
        board = boards.load(name)
        self.cpuid = board.machines["unicorn"].cpuid or 0
        self.flashed = 0
        self.warnings: list[str] = []
        self.result: object = None
        start = int.from_bytes(table[4:8], "little") & ~1
        loads = (Load("code", start - 0x40, table + code),)
        firmware = Firmware("x.elf", loads, Symbols([(start, 16, "start")]))
        self.server = GdbServer(0, self._on_flashed, self.warnings.append)

        def once() -> str:
            made = self.server.power_up(board, board.machines["unicorn"], firmware, [], Conditions())
            while True:
                made.read(1.0)

        def work() -> None:
            try:
                self.result = self.server.until_done(once, str)
            except NeuralArtError as error:
                self.result = error

        self.thread = threading.Thread(target=work, daemon=True)
        self.thread.start()
        self.client = Client(self.server.port)

    def _on_flashed(self) -> None:
        self.flashed += 1

    def quiet(self) -> Client:
        self.client.send(encode(b"QStartNoAckMode"))
        assert self.client.next() == Sign(ord("+")) and self.client.next() == Packet(b"OK")
        return self.client

    def again(self) -> Client:
        self.client.close()
        self.client = Client(self.server.port)
        return self.quiet()
