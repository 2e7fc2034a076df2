"""The validation protocol from the host's side, against a made-up board whose messages the protobuf package makes."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_board import ports
from neuralart_virtual.validation_link import client as clients
from neuralart_virtual.validation_link.client import IO_ONLY, PER_LAYER, PERF, WITH_DATA, ValidationClient
from neuralart_virtual.validation_link.messages import PacketLink, _schema, decode, encode, varint

pytest.importorskip("google.protobuf", reason="protobuf is not installed: it comes with the extra 'test'")
from support.boards.validation_board import PB, RAM, ValidationBoard, layer, network, rotated

INPUT = bytes(range(100, 116))
BOARDS = [("31", 0), ("32", 0), ("32", 64), ("32", 100), ("32", 4094), ("both", 0)]
SYNC_31 = bytes.fromhex("0b0a08011000180022002800") + bytes(21)
SYNC_32 = b"\0" + SYNC_31


def contents(record):
    return [tensor["data"]["content"] for tensor in record.tensors]


@pytest.mark.parametrize(("framing", "size"), BOARDS)
def test_a_whole_session(framing, size):
    board = ValidationBoard(framing, size=size, talk="boot text\r\n", two=True)
    client = ValidationClient(board)
    assert client.framing == ("3.1" if framing == "31" else "3.2")
    assert client.system["device"] == 0x486 and client.system["extra"][1] == 10**9
    one, two = client.networks()
    assert (one["name"], one["macc"], one["inputs"][0]["zero_point"]) == ("one", 1 << 40, -3)
    assert client.lines == ["s:config:version:1.0"] * 2
    (whole,) = client.run(one, [INPUT])
    assert contents(whole) == [network(INPUT)]
    big = bytes(range(250)) + bytes(50)
    first, second, whole = client.run(two, [INPUT, big], WITH_DATA)
    assert contents(whole) == [network(INPUT), layer(INPUT), big]
    assert (first.lines, second.lines) == (("s:node:mcu_cycles:1:2:3",), ())
    assert (contents(first), contents(second)) == ([layer(INPUT)], [])
    assert second.operator["counters"] == [4, 5, 6] and second.operator["stack_used"] == -1
    assert whole.operator["name"] == "two" and board.seen[-1] == (11, 7, "two", 1)
    first, *_ = client.run(one, [INPUT], PER_LAYER, first=False)
    assert contents(first) == [b""] and board.seen[-1] == (11, 3, "one", 0)
    assert contents(client.run(one, [b"\5"], PERF)[-1]) == [b""] and board.seen[-1] == (11, 0x209, "one", 1)
    blob = bytes(n * 7 & 255 for n in range(3000))
    client.write(RAM + 16, blob)
    assert board.memory[16:3016] == blob and client.read(RAM + 16, 3000) == blob
    assert client.checksum(RAM + 16, 3000) == rotated(blob) == clients.bsd16(blob)
    client.write(RAM, b"")
    assert client.read(RAM, 0) == b""
    client.close()
    assert board.size == 32
    board.out.clear()
    assert ValidationClient(board).network("two")["nodes"] == 2


def test_the_bytes_of_the_specification():
    request = encode("Request", {"id": 1, "command": 0, "param": 0, "name": "", "option": 0})
    assert varint(len(request)) + request == SYNC_31[1:12]
    board = ValidationBoard("both")
    message = "080110005209088106200928848004"
    for sync, start in ((SYNC_31, f"8f{message}"), (SYNC_32, f"800f{message}")):
        board.write(sync)
        answer = b"".join(iter(lambda: board.read(0), b""))
        assert len(answer) == len(sync) and answer.startswith(bytes.fromhex(start))
    written: list[bytes] = []
    link = PacketLink(type("", (), {"write": lambda self, data: written.append(data)})())
    for link.header in (1, 2):
        link.send(encode("Ack", {"param": 0, "error": 0}))
    assert written == [bytes.fromhex(ack) + bytes(27) for ack in ("050408001000", "00050408001000")]


@given(st.integers(0, 140), st.sampled_from([1, 2]))
@settings(max_examples=25, deadline=None)
def test_every_size_both_ways(size, header):
    """A full last packet: no request for more, and an empty packet that marks the end."""
    board = ValidationBoard("31" if header == 1 else "32")
    client = ValidationClient(board)
    asked, ends = board.more_asked, board.empty_ends
    data = bytes(n * 5 & 255 for n in range(size))
    message = len(encode("Data", {"type": 0, "size": size, "address": RAM, "content": data}))
    client.write(RAM, data)
    whole = message + len(varint(message))
    assert board.more_asked - asked == ((whole - 1) // 32 if size else 0)
    assert client.read(RAM, size) == data
    response = PB["Response"](id=client._id, state=3)
    response.data.CopyFrom(PB["Data"](type=0, size=size, address=RAM, content=data))
    assert (board.empty_ends - ends) == (size > 0 and response.ByteSize() % 32 == 0)


@pytest.mark.parametrize("framing", ["31", "32"])
def test_a_board_that_is_stuck_comes_back(framing):
    """By the client of the other framing, and by a SYNC of its own that was cut anywhere."""
    wrong = SYNC_32 if framing == "31" else SYNC_31
    right = SYNC_31 if framing == "31" else SYNC_32
    lost = []
    for stuck in (wrong, wrong + wrong, *(right[:cut] for cut in range(1, len(right)))):
        board = ValidationBoard(framing)
        try:
            board.write(stuck)
            assert ValidationClient(board).network("")["name"] == "one"
        except NeuralArtError:
            lost.append(len(stuck))
    # One cut ends where the zeros complete a message of zeros, as on the vendor's own code.
    assert len(lost) <= (framing == "31"), lost


@pytest.mark.parametrize("size", [33, 64, 512, 4094])
def test_a_board_left_with_large_packets_comes_back(size):
    board = ValidationBoard("32", size=size)
    ValidationClient(board)  # Gone without a word
    assert ValidationClient(board).network("")["name"] == "one"


FAULTS = [
    ("version", "the board speaks version 3.2 of the protocol, this program 3.1"),
    ("id", "no board answers in either framing"),
    ("length", "no board answers in either framing"),
    ("cut", "no board answers in either framing"),
    ("mute", "no answer of the board in 0.5 s: 'system' is due"),
    ("packet", "the board announces packets of 5000 bytes, at most are 4094"),
    ("nonet", "network 0 of the board failed to start"),
    ("refuse", "the board refuses: invalid parameter (4)"),
    ("more", "the board says 0x55 after 32 of 53 bytes of a message, 0xaa is due"),
    ("blind", "the board's firmware cannot observe layers"),
    ("halt", "no answer of the board in 10 s: 'tensor' is due"),
    ("unmarked", "an output is wrongly marked as the last one, or not marked"),
    ("state", "the board sends 'tensor' in state processing; 'tensor' is due in state done"),
    ("short", "an output has 4 bytes, 5 are announced"),
    ("endless", "a layer of the board has more than 1024 tensors"),
]


@pytest.mark.parametrize(("fault", "text"), FAULTS)
def test_faults_of_a_board(fault, text):
    def all_of_it():
        client = ValidationClient(ValidationBoard("32", faults=[fault]))
        client.write(RAM, bytes(40))
        client.run(client.network("one"), [INPUT], PER_LAYER)

    with pytest.raises(NeuralArtError) as caught:
        all_of_it()
    assert text in caught.value.what and caught.value.where == "validation protocol"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("locked", "the board's firmware gives no access to its memory"),
        ("lost", "checksum 0x0062 of the bytes from 0x34000000, sent was 0x0061"),
        ("tiny", "the board takes pieces of 0 bytes"),
        ("short", "a piece of the board's memory has 0 bytes, 1 are announced"),
    ],
)
def test_faults_of_its_memory(fault, text):
    client = ValidationClient(ValidationBoard(faults=[fault]))
    with pytest.raises(NeuralArtError, match=text):
        client.write(RAM, b"a")
        client.read(RAM, 1)


def test_what_a_board_refuses():
    client = ValidationClient(ValidationBoard("32", two=True))
    one = client.network("one")
    for inputs, text in (([], "0 inputs for network 'one', which has 1"), ([b"short"], r"invalid size \(1\)")):
        with pytest.raises(NeuralArtError, match=text):
            client.run(one, inputs)
    with pytest.raises(NeuralArtError, match=r"the board has 2 networks \(known: one, two\)"):
        client.network("")
    with pytest.raises(NeuralArtError, match=r"no network 'tow'.*did you mean 'two'"):
        client.network("tow")
    with pytest.raises(NeuralArtError, match=r"invalid parameter|error"):
        client.read(RAM + 8000, 1000)
    with pytest.raises(NeuralArtError, match="16 bytes at 0xfffffff8 are no memory of a board"):
        client.read(0xFFFFFFF8, 16)
    assert contents(client.run(one, [INPUT], IO_ONLY)[-1]) == [network(INPUT)]  # Goes on
    marked = ValidationClient(ValidationBoard("31", faults=["marked"]))
    assert len(marked.run(marked.network(""), [INPUT], PER_LAYER)) == 3


def _random_fields(kind, draw):
    drawn = {
        "uint32": st.integers(0, 2**32 - 1),
        "uint64": st.integers(0, 2**64 - 1),
        "int32": st.integers(-(2**31), 2**31 - 1),
        "float": st.floats(width=32, allow_nan=False),
        "string": st.text(max_size=20).filter(lambda text: text.isascii()),
        "bytes": st.binary(max_size=40),
    }
    fields = {}
    for field in _schema()[kind].values():
        one = drawn.get(field.kind)
        make = (lambda s=one: draw(s)) if one is not None else (lambda f=field: _random_fields(f.kind, draw))
        if field.label == "repeated":
            fields[field.name] = [make() for _ in range(draw(st.integers(0, 2)))]
        elif field.label == "required" or draw(st.booleans()):
            fields[field.name] = make()
    return fields


@given(st.data(), st.sampled_from(["Request", "Operator", "Model", "Response", "System32"]))
@settings(max_examples=25, deadline=None)
def test_messages_are_those_of_protobuf(data, kind):
    fields = _random_fields(kind, data.draw)
    encoded = encode(kind, fields)
    message = PB[kind]()
    message.ParseFromString(encoded)
    assert message.SerializeToString() == encoded
    assert decode(kind, encoded) == fields


def test_what_other_encoders_may_write():
    known = encode("System31", {"device": 1, "core_hz": 2, "bus_hz": 3, "cache": 4, "extra": [7, 128]})
    assert decode("System31", known + b"\x78\x05\xa2\x06\x01x")["extra"] == [7, 128]
    assert decode("Ack", b"\x08\x01\x08\x02\x10\x03") == {"param": 2, "error": 3}
    for data, text in (
        (b"\x08\x01", "'error' is missing"),
        (b"\x0a\x01a\x10\x00", "wire type 2, not 0"),
        (b"\x08" + b"\xff" * 11, "more than 10 bytes"),
        (b"\x0b", "wire type 3"),
        (b"\x7a\x05ab", "5 bytes are announced, 2 are left"),
        (b"\x15\x01", "4 bytes are announced"),
    ):
        with pytest.raises(NeuralArtError, match=text):
            decode("Ack", data)


@given(st.binary(max_size=400), st.sampled_from([1, 2]))
@settings(max_examples=60, deadline=None)
def test_no_bytes_break_the_client(data, header):
    """A port on which anything comes: one line, never a traceback, never without end."""

    class Noise:
        def __init__(self):
            self.left = data

        def write(self, sent):
            pass

        def read(self, seconds):
            part, self.left = self.left[:50], self.left[50:]
            return part

        def close(self):
            pass

    link = PacketLink(Noise())
    link.header = header
    try:
        decode("Response", link.receive(0.2, "something"))
    except NeuralArtError as error:
        assert "\n" not in str(error) and error.where == "validation protocol"
    with pytest.raises(NeuralArtError, match="no board answers"):
        PacketLink(Noise()).find()


def test_a_port_that_never_stops_talking():
    stream = type("", (), {"read": lambda self, seconds: b"x"})()
    with pytest.raises(NeuralArtError, match="the board never stops talking"):
        PacketLink(stream).find()


@pytest.fixture
def talk(monkeypatch, capsys):
    def go(board, *words):
        monkeypatch.setattr(ports, "BoardPort", lambda url, baud: board)
        status = cli.main(["tool", "talk", "COM4", *map(str, words)])
        assert board.closed
        return (status, *capsys.readouterr())

    return go


def test_the_command(talk, tmp_path):
    status, out, err = talk(ValidationBoard("31"))
    assert (status, err) == (0, "") and out.splitlines() == [
        "device 0x486, core 800 MHz, framing 3.1",
        "one 0x0123: 2 nodes, made up",
        "  input x int8[1,16]",
        "  output y int8[1,5]",
    ]
    given, made = tmp_path / "in put.bin", tmp_path / "out.bin"
    given.write_bytes(INPUT)
    status, out, err = talk(ValidationBoard("32", size=100), "--input", given, "--per-layer", "-o", made)
    lines = ["epoch 1: 0.500 ms", "  h int8[1,16]", "epoch 2: 0.500 ms", "one: 0.500 ms", "  y int8[1,5]"]
    assert (status, err, out.splitlines()[1:]) == (0, "", lines) and made.read_bytes() == network(INPUT)
    status, out, err = talk(ValidationBoard("31"), "--input", given, "--layers", tmp_path / "of layers", "--lines")
    file = tmp_path / "of layers" / "000_0.bin"
    lines[1] += f" -> {file}"
    lines.insert(2, "  | s:node:mcu_cycles:1:2:3")
    assert (status, err, out.splitlines()[1:]) == (0, "", lines) and file.read_bytes() == layer(INPUT)
    assert sorted(each.name for each in file.parent.iterdir()) == [file.name, "input_0.bin", "record.json"]
    board = ValidationBoard()
    board.memory[:4] = b"abcd"
    status, out, err = talk(board, "--memory", "0x34000000", "4", "-o", made, "--force")
    line = f"4 bytes at 0x34000000, checksum 0x{rotated(b'abcd'):04x}"
    assert (out.splitlines()[1], made.read_bytes()) == (line, b"abcd")
    given.write_bytes(b"short")
    status, out, err = talk(ValidationBoard(), "--input", given, "-o", made, "--force")
    assert (status, made.read_bytes()) == (1, b"abcd")
    assert err == "neuralart talk: error: validation protocol: the board refuses: invalid size (1)\n"


def test_a_port_that_is_not_there(capsys, monkeypatch):
    pytest.importorskip("serial", reason="pyserial is not installed: pip install scons-neuralart[serial]")
    for url in ("socket://127.0.0.1:1", "socket://localhost", "/nowhere/port", "what://ever"):
        assert cli.main(["tool", "talk", url]) == 1
        shown = capsys.readouterr().err
        assert shown.startswith(f"neuralart talk: error: {url}: the port fails: ") and shown.count("\n") < 3
    monkeypatch.setitem(sys.modules, "serial", None)
    assert cli.main(["tool", "talk", "COM4"]) == 1
    said = "neuralart talk: error: COM4: pyserial is not installed (pip install 'scons-neuralart[serial]')\n"
    assert capsys.readouterr().err == said
    with pytest.raises(SystemExit, match="2"):
        cli.main(["tool", "talk", "COM4", "--memory", "16", "x"])
