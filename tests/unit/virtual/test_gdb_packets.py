"""The GDB server without a core: packets, good and malformed, and what commands answer."""

from __future__ import annotations

import itertools
import random
import re
import socket
import xml.etree.ElementTree as ET

import pytest

from neuralart import boards, cli
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.gdb.commands import GdbCommands
from neuralart_virtual.emulator.gdb.debugged import REGISTERS, Halt, memory_map_xml, target_xml
from neuralart_virtual.emulator.gdb.packets import (
    ACK,
    INTERRUPT,
    LONGEST,
    NACK,
    BadPacket,
    Packet,
    PacketReader,
    Sign,
    encode,
    expand,
)
from neuralart_virtual.emulator.gdb.server import GdbServer, port_of


def read(*portions: bytes) -> list[object]:
    reader = PacketReader()
    return [event for data in portions for event in reader.feed(data)]


def test_framing_of_the_manual():
    assert encode(b"OK") == b"$OK#9a"
    assert encode(b"0" * 4) == b"$0* #7a", "the manual's own example of a run"
    assert encode(b"") == b"$#00"
    assert encode(b"a#$}*b") == b"$a}\x03}\x04}]}\nb#%02x" % (sum(b"a}\x03}\x04}]}\nb") & 0xFF)


def test_runs_never_use_a_letter_that_frames():
    for repeats in range(1, 210):
        packet = encode(b"x" + b"0" * repeats + b"y")
        assert packet.count(b"$") == 1 and packet.count(b"#") == 1
        assert read(packet) == [Packet(b"x" + b"0" * repeats + b"y")]


def test_anything_comes_back_in_any_portions():
    draw = random.Random(1)
    payloads = [bytes(draw.choice(b"#$}*+-\x03 00000\xff") for _ in range(draw.randrange(200))) for _ in range(200)]
    stream = b"".join(map(encode, payloads))
    reader, got, at = PacketReader(), [], 0
    while at < len(stream):
        size = draw.randrange(1, 9)
        got += reader.feed(stream[at : at + size])
        at += size
    assert got == [Packet(payload) for payload in payloads]


def test_signs_and_noise_between_packets():
    assert read(b"+noise$OK#9a-\x03") == [Sign(ACK), Packet(b"OK"), Sign(NACK), Sign(INTERRUPT)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"$OK#9b", "checksum b'9b', computed 9a"),
        (b"$OK#zz", "checksum b'zz', computed 9a"),
        (b"$OK# 9", "checksum b' 9', computed 9a"),
        (b"$}#7d", "ends within an escape or a run"),
        (b"$*\x20#4a", "no run: '\\*' in front of byte 0x20"),
        (b"$0*#5a", "ends within an escape or a run"),
        (b"$0*\x1f#79", "no run: '\\*' in front of byte 0x1f"),
        (b"$" + b"m" * (LONGEST + 1), f"more than {LONGEST} bytes without an end"),
    ],
)
def test_malformed_packets(data: bytes, reason: str):
    (event,) = read(data)
    assert isinstance(event, BadPacket) and re.search(reason, event.reason)


def test_a_packet_that_begins_again():
    assert read(b"$lost$OK#9a") == [Packet(b"OK")]
    assert read(b"$" + b"m" * (LONGEST + 1), b"$OK#9a")[1:] == [Packet(b"OK")]


def test_damage_never_raises():
    draw = random.Random(2)
    good = encode(b"X34000000,8:}\x03\x04\xff0000") + encode(b"qXfer:features:read:target.xml:0,ffb")
    for _ in range(2000):
        data = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        reader = PacketReader()
        assert all(isinstance(event, Packet | Sign | BadPacket) for event in reader.feed(bytes(data)))


def test_runs_that_are_too_long_are_refused():
    with pytest.raises(ValueError, match="no run"):
        expand(b"0*\x7f")


class FakeBoard:
    """Memory of 16 bytes at 0x1000, and a list of what was asked."""

    def __init__(self) -> None:
        self.registers = [bytes([n]) * (r.bits // 8) for n, r in enumerate(REGISTERS)]
        self.memory = bytearray(range(16))
        self.calls: list[tuple[object, ...]] = []

    def register(self, number: int) -> bytes:
        return self.registers[number]

    def set_register(self, number: int, value: bytes) -> None:
        self.registers[number] = value

    def look(self, address: int, size: int) -> bytes:
        return bytes(self.memory[address - 0x1000 :][:size]) if 0x1000 <= address < 0x1010 else b""

    def put(self, address: int, data: bytes) -> None:
        if not 0x1000 <= address <= 0x1010 - len(data):
            raise NeuralArtError("nothing can be written")
        self.memory[address - 0x1000 :][: len(data)] = data
        self.calls.append(("put", address, data))

    def banks(self) -> str:
        return "AXISRAM1 on\n"

    flash = banks

    def __getattr__(self, name: str):
        return lambda *args: self.calls.append((name, *args))


@pytest.fixture
def board() -> FakeBoard:
    return FakeBoard()


@pytest.fixture
def commands(board: FakeBoard) -> GdbCommands:
    return GdbCommands(board, boards.load("stm32n6570-dk"), board.flashed)  # type: ignore[arg-type]


def test_registers(commands: GdbCommands, board: FakeBoard):
    everything = commands.answer(b"g")
    assert everything == b"".join(board.registers).hex().encode()
    assert commands.answer(b"p10") == b"10101010"
    assert commands.answer(b"Pf=78563412") == b"OK" and board.registers[15] == b"\x78\x56\x34\x12"
    assert commands.answer(b"G" + b"ab" * 8) == b"OK" and board.registers[1] == b"\xab" * 4
    for wrong in (b"p", b"pzz", b"pff", b"P0=1", b"P0=123456", b"Pff=00000000", b"Gxy"):
        assert commands.answer(wrong) == b"E16", wrong


def test_memory(commands: GdbCommands, board: FakeBoard):
    assert commands.answer(b"m1000,4") == b"00010203"
    assert commands.answer(b"m100c,8") == b"0c0d0e0f", "as much as there is"
    assert commands.answer(b"m2000,4") == b"E0e"
    assert commands.answer(b"M1000,2:fffe") == b"OK"
    assert commands.answer(b"X1004,3:#}$") == b"OK"
    assert [call[2] for call in board.calls] == [b"\xff\xfe", b"#}$"]
    assert commands.answer(b"X1000,0:") == b"OK", "how GDB asks whether the command is there"
    for wrong in (b"m", b"m10", b"m10,", b"m-1,4", b"m1ffffffff,4", b"M1000,2:ff", b"X1000,2:abc", b"m1_0,1"):
        assert commands.answer(wrong) == b"E16", wrong
    assert commands.answer(b"M2000,1:00") == b"E0e"


def test_running(commands: GdbCommands, board: FakeBoard):
    assert commands.answer(b"?") == b"T05"
    for payload, wish in ((b"c", "go"), (b"s", "step"), (b"C05", "go"), (b"S0b;1002", "step"), (b"k", "kill")):
        commands.wish = ""
        assert commands.answer(payload) is None and commands.wish == wish
    assert board.registers[15] == b"\x02\x10\x00\x00"
    assert commands.answer(b"D") == b"OK" and commands.wish == "detach"
    assert commands.answer(b"vKill;1") == b"OK" and commands.wish == "kill"
    assert GdbCommands.stopped(Halt(5, "watch:20000000;")) == b"T05watch:20000000;"


def test_points_and_flash(commands: GdbCommands, board: FakeBoard):
    for payload in (b"Z0,1000,2", b"z0,1000,2", b"Z2,1000,4;X1,0", b"vFlashErase:70000000,10000", b"vFlashDone"):
        assert commands.answer(payload) == b"OK"
    assert commands.answer(b"vFlashWrite:70000000:\x00:,") == b"OK"
    assert board.calls == [
        ("insert", 0, 0x1000, 2),
        ("remove", 0, 0x1000, 2),
        ("insert", 2, 0x1000, 4),
        ("erase", 0x70000000, 0x10000),
        ("flashed",),
        ("program", 0x70000000, b"\x00:,"),
    ]
    assert commands.answer(b"Z5,1000,2") == b"" and commands.answer(b"Z2,1000,0") == b""
    for wrong in (b"Z0", b"Z0,1000", b"vFlashErase:7", b"vFlashWrite:x:", b"z,,"):
        assert commands.answer(wrong) == b"E16", wrong


def test_questions(commands: GdbCommands):
    supported = commands.answer(b"qSupported:multiprocess+;swbreak+")
    assert supported == b"PacketSize=4000;QStartNoAckMode+;qXfer:features:read+;qXfer:memory-map:read+"
    parts, at = b"", 0
    while True:
        part = commands.answer(b"qXfer:features:read:target.xml:%x,40" % at)
        parts, at = parts + part[1:], at + 0x40
        if part[:1] == b"l":
            break
    assert parts.decode() == target_xml()
    for unknown in (b"", b"vCont?", b"vMustReplyEmpty", b"qOffsets", b"Q", b"\xff", b"qXfer:auxv:read::0,1"):
        assert commands.answer(unknown) == b"", unknown
    for wrong in (b"qXfer", b"qXfer:features:read:target.xml:0", b"qRcmd,x"):
        assert commands.answer(wrong) == b"E16", wrong


def test_monitor(commands: GdbCommands):
    def monitor(text: str) -> str | None:
        reply = commands.answer(b"qRcmd," + text.encode().hex().encode())
        return None if reply is None else "OK" if reply == b"OK" else bytes.fromhex(reply.decode()).decode()

    assert monitor("banks") == "AXISRAM1 on\n"
    assert monitor("halt") == "OK", "cortex-debug says it"
    assert [line.split()[0] for line in monitor("").splitlines()] == ["reset", "halt", "banks", "flash"]
    assert monitor("reset halt") is None and commands.wish == "reset"


def test_random_commands_never_raise(commands: GdbCommands):
    draw = random.Random(3)
    for _ in range(3000):
        payload = bytes(draw.choice(b"gGpPmMXzZvqcCsS?:;,=0f1\xff") for _ in range(draw.randrange(1, 12)))
        reply = commands.answer(payload)
        assert reply is None or isinstance(reply, bytes), payload


@pytest.mark.parametrize("name", ["stm32n6570-dk", "stm32n6570-dk-psram", "nucleo-n657x0-q", "stm32h747i-disco"])
def test_memory_map(name: str):
    rows = ET.fromstring(memory_map_xml(boards.load(name)).split("\n", 2)[2])
    ranges = sorted((int(row.get("start"), 0), int(row.get("length"), 0)) for row in rows)
    assert all(a + size <= b for (a, size), (b, _) in itertools.pairwise(ranges)), "GDB ignores overlaps"
    flashes = {row.get("start"): row[0].text for row in rows if row.get("type") == "flash"}
    expected = {"0x8000000": "0x20000", "0x8100000": "0x20000", "0x90000000": "0x20000"}
    assert flashes == (expected if "h747" in name else {"0x70000000": "0x10000"})


@pytest.mark.parametrize(
    ("text", "port"), [(":3333", 3333), ("33", 33), ("localhost:0", 0), ("127.0.0.1:65535", 65535)]
)
def test_ports(text: str, port: int):
    assert port_of(text) == port


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.0.0.0:3333", "is not on this machine: a debugger is listened for on 127.0.0.1 only"),
        ("", "is no port"),
        (":-1", "is no port"),
        (":65536", "is no port"),
        (":٣", "is no port"),
    ],
)
def test_ports_that_are_none(text: str, said: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        cli.main(["run", "--board", "stm32n6570-dk", "--elf", "x.elf", f"--gdb={text}"])
    error = capsys.readouterr().err
    assert caught.value.code == 2 and said in error and error.count("\n") == 1


def test_a_port_in_use_is_one_line(tmp_path, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert cli.main(["run", "--board", "stm32n6570-dk", "--elf", str(tmp_path), f"--gdb=:{port}"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("neuralart run: error: ") and f"127.0.0.1:{port}" in error and error.count("\n") == 1


def test_a_server_that_is_not_needed_leaves_its_port():
    server = GdbServer(0)
    assert not server.attached
    port = server.hand_over()
    with socket.create_server(("127.0.0.1", port)):
        server.hang_up()
