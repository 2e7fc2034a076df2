"""The GDB server on a virtual board with five instructions, and a client that counts every byte."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator

import pytest

from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.gdb.packets import Packet, Sign, encode
from neuralart_virtual.emulator.gdb.server import HOST, SerialServer
from support.boards.gdb_rig import COUNTER, FLASH, START, Rig

pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")


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


# ---- who is let in

POST = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: text/plain\r\n\r\n"


def told(port: int, data: bytes) -> bytes:
    """All that a client is told that says something, until it is hung up on."""
    with socket.create_connection((HOST, port), timeout=20) as client:
        client.sendall(data)
        said = b""
        with contextlib.suppress(ConnectionResetError):  # what it sent was not read
            while part := client.recv(4096):
                said += part
    return said


@pytest.mark.parametrize(
    "data", [POST + encode(b"M%x,4:deadbeef" % COUNTER), b"\x16\x03\x01" + encode(b"k"), b"\r\n+", b"c"]
)
def test_what_is_not_the_protocol_is_refused(data: bytes):
    rig = Rig()
    rig.client.close()  # it has said nothing
    assert told(rig.server.port, data).count(b"\n") <= 1, "no answer to a packet within"
    client = rig.again()
    assert client.pc() == START and client.ask(b"m%x,4" % COUNTER) == b"a5" * 4, "nothing was done, and nothing ran"
    (warning,) = rig.warnings
    line = f"port {rig.server.port} of {HOST}: a GDB server for one debugger, refused: what came is not GDB's protocol"
    assert warning == line
    client.send(encode(b"k"))
    rig.thread.join(20)
    client.close()


def test_a_running_core_is_not_stopped_by_a_request():
    rig = Rig()
    client = rig.quiet()
    assert client.ask(b"D") == b"OK"
    told(rig.server.port, POST)
    client = rig.again()
    first = client.ask(b"m%x,4" % COUNTER)
    client.send(encode(b"c"))
    time.sleep(0.05)
    client.send(b"\x03")
    assert client.next() == Packet(b"T02") and client.ask(b"m%x,4" % COUNTER) != first
    client.send(encode(b"k"))
    rig.thread.join(20)
    client.close()


@pytest.mark.parametrize("running", [False, True])
def test_a_second_debugger_is_refused(rig: Rig, running: bool):
    client = rig.quiet()
    if running:
        client.send(encode(b"c"))
    why = "another debugger is connected"
    assert told(rig.server.port, b"+" + encode(b"k")).endswith(f"refused: {why}\n".encode())
    if running:
        client.send(b"\x03")
        assert client.next() == Packet(b"T02")
    assert client.ask(b"P0=00000000") == b"OK" and len(rig.warnings) == 1 and rig.warnings[0].endswith(why)


def test_a_client_that_says_nothing_is_in_nobodys_way(rig: Rig):
    silent = rig.client
    rig.client = type(silent)(rig.server.port)
    assert rig.quiet().pc() == START and silent.next() is None and rig.warnings == []
    silent.close()


class Echo:
    """A board that sends what it gets."""

    def __init__(self) -> None:
        self.transport, self.board, self.held = self, None, b""

    def read(self, seconds: float) -> bytes:
        held, self.held = self.held, b""
        if held == b"end":
            raise MachineStop("end")
        return held

    def write(self, data: bytes) -> None:
        self.held += data

    def idle(self) -> bool:
        return not self.held


def test_the_serial_port_of_a_virtual_board():
    warnings: list[str] = []
    server = SerialServer(0, warnings.append)

    def serve() -> None:
        with contextlib.suppress(MachineStop):
            server.serve(Echo(), None, print)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    port = int(server.url.rpartition(":")[2])
    head = f"port {port} of {HOST}: a serial port for one client, refused: "
    assert told(port, POST + b"end") in (f"{head}what came is a request of a browser\n".encode(), b"")
    with socket.create_connection((HOST, port), timeout=20) as client:
        client.sendall(b"POST a letter")
        assert client.recv(100) == b"POST a letter"
        assert told(port, b"") == f"{head}another program has it\n".encode()
        client.sendall(POST[:20])
        assert client.recv(100) == POST[:20], "whoever is in may say anything"
        client.sendall(b"end")
        thread.join(20)
    server.close()
    assert [each.removeprefix(head) for each in warnings] == [
        "what came is a request of a browser",
        "another program has it",
    ]
