"""The GDB server on a virtual board with five instructions, and a client that counts every byte."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from neuralart import boards
from neuralart.emulator import MachineStop
from neuralart.emulator.coherency import Conditions
from neuralart.emulator.gdb.packets import BadPacket, Packet, PacketReader, Sign, encode
from neuralart.emulator.gdb.server import GdbServer
from neuralart.emulator.image import Firmware, Load, Symbols
from neuralart.errors import NeuralArtError

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")

START, COUNTER = 0x34000440, 0x34001000
# movs r0, #0; ldr r1, =COUNTER; again: adds r0, #1; str r0, [r1]; b again
CODE = struct.pack("<6HI", 0x2000, 0x4902, 0x3001, 0x6008, 0xE7FC, 0xBF00, COUNTER)
VECTORS = struct.pack("<2I", 0x34010000, START | 1).ljust(0x40, b"\0")
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

    def __init__(self, code: bytes = CODE) -> None:
        board = boards.load("stm32n6570-dk")
        self.cpuid = board.machines["unicorn"].cpuid or 0
        self.flashed = 0
        self.result: object = None
        firmware = Firmware("x.elf", (Load("code", START - 0x40, VECTORS + code),), Symbols([(START, 16, "start")]))
        self.server = GdbServer(0, self._on_flashed)

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


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    if made.thread.is_alive():
        made.again().send(encode(b"k"))
        made.thread.join(20)
    made.client.close()
    assert not made.thread.is_alive()


def test_acknowledgments(rig: Rig):
    client = rig.client
    client.send(b"$?#00")
    assert client.next() == Sign(ord("-")), "the checksum is wrong"
    client.send(encode(b"?"))
    assert [client.next(), client.next()] == [Sign(ord("+")), Packet(b"T05")]
    client.send(b"-")
    assert client.next() == Packet(b"T05"), "once more"
    client.send(b"\x03+")
    rig.quiet()
    assert client.ask(b"?") == b"T05", "it stands still already"


def test_steps_breakpoints_and_watchpoints(rig: Rig):
    client = rig.quiet()
    assert client.pc() == START and client.ask(b"p10").endswith(b"1")
    assert client.ask(b"s") == b"T05" and client.pc() == START + 2
    assert client.ask(b"Z0,%x,2" % (START + 6)) == client.ask(b"Z0,%x,2" % (START + 6)) == b"OK"
    for count in (1, 2):
        assert client.ask(b"c") == b"T05" and client.pc() == START + 6
        assert client.ask(b"p0") == b"%02x000000" % count
    assert client.ask(b"m%x,4" % COUNTER) == b"01000000"
    assert client.ask(b"z0,%x,2" % (START + 6)) == b"OK"
    assert client.ask(b"Z2,%x,2" % (COUNTER + 2)) == b"OK", "a part of the word"
    assert client.ask(b"c") == b"T05watch:%x;" % (COUNTER + 2) and client.pc() == START + 6
    assert client.ask(b"m%x,4" % COUNTER) == b"01000000", "in front of the store"
    assert client.ask(b"z2,%x,2" % (COUNTER + 2)) == b"OK"
    assert client.ask(b"s") == b"T05" and client.ask(b"m%x,4" % COUNTER) == b"02000000"
    assert client.ask(b"P0=fffffffe") == b"OK"
    client.send(encode(b"c"))
    client.send(b"\x03")
    assert client.next() == Packet(b"T02")
    assert START + 4 <= client.pc() <= START + 8


def test_memory_and_flash(rig: Rig):
    client = rig.quiet()
    assert client.ask(b"M%x,4:01020304" % COUNTER) == b"OK" and client.ask(b"m%x,2" % COUNTER) == b"0102"
    assert client.ask(b"X%x,2:\xff\xfe" % COUNTER) == b"OK" and client.ask(b"m%x,4" % COUNTER) == b"fffe0304"
    assert client.ask(b"m34200000,4") == b"E0e", "this bank is off"
    assert client.ask(b"m34063ffe,4") == b"a5" * 4, "two memories that adjoin"
    assert client.ask(b"m52001010,4") == b"E0e", "a port without a clock"
    assert client.ask(b"me000ed00,4") == struct.pack("<I", rig.cpuid).hex().encode(), "CPUID"
    assert client.ask(b"M%x,1:00" % FLASH) == b"E0e", "flash is no RAM"
    for wrong in (b"vFlashErase:70000001,10000", b"vFlashErase:70000000,1", b"vFlashErase:34000000,10000"):
        assert client.ask(wrong) == b"E05", wrong
    assert client.ask(b"vFlashErase:%x,10000" % FLASH) == b"OK"
    assert client.ask(b"vFlashWrite:%x:\x12\x34" % FLASH) == b"OK"
    assert client.ask(b"vFlashWrite:%x:\xff" % FLASH) == b"E05", "not erased"
    assert client.ask(b"vFlashDone") == b"OK" and rig.flashed == 1
    assert client.ask(b"m%x,3" % FLASH) == b"1234ff"
    assert b"is written" in bytes.fromhex(client.ask(b"qRcmd,666c617368").decode())
    assert b"AXISRAM3   0x34200000    448 KiB  off" in bytes.fromhex(client.ask(b"qRcmd,62616e6b73").decode())


def test_a_power_cycle_keeps_the_flash(rig: Rig):
    client = rig.quiet()
    assert client.ask(b"vFlashWrite:%x:\x12" % FLASH) == client.ask(b"M%x,1:77" % COUNTER) == b"OK"
    assert client.ask(b"s") == b"T05"
    assert client.ask(b"qRcmd,7265736574") == b"OK"
    assert client.pc() == START
    assert client.ask(b"m%x,1" % FLASH) == b"12" and client.ask(b"m%x,1" % COUNTER) == b"a5"


def test_a_debugger_that_goes_and_one_that_comes(rig: Rig):
    client = rig.quiet()
    assert client.ask(b"Z0,%x,2" % START) == b"OK"
    assert client.ask(b"D") == b"OK" and client.next() is None
    client = rig.again()
    assert client.pc() > START, "it ran"
    assert client.ask(b"P0=00000000") == b"OK"
    client = rig.again()
    assert client.ask(b"p0") != b"00000000", "it went on when the connection was lost"
    client.send(encode(b"k"))
    rig.thread.join(20)
    assert rig.result is None, "ended by the debugger"


def test_a_fault_is_shown_and_ends_the_run_when_the_debugger_goes():
    rig = Rig(struct.pack("<H", 0xDE00))  # udf
    client = rig.quiet()
    client.send(encode(b"c"))
    text, stop = client.next(), client.next()
    assert isinstance(text, Packet) and text.payload[:1] == b"O"
    assert b"undefined instruction" in bytes.fromhex(text.payload[1:].decode())
    assert stop == Packet(b"T04") and client.pc() == START
    assert client.ask(b"D") == b"OK"
    rig.thread.join(20)
    assert isinstance(rig.result, MachineStop) and "undefined instruction" in str(rig.result)
    client.close()
