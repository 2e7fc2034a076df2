"""The vendor's validation protocol, answered by our firmware on the virtual STM32N6 and on QEMU."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from neuralart import boards
from neuralart.errors import NeuralArtError
from neuralart.network import facts
from neuralart_insight.profiling.board import measured_log
from neuralart_insight.profiling.counter_log import parse_counter_log
from neuralart_virtual.emulator import host_link
from neuralart_virtual.emulator.host_link import Session
from neuralart_virtual.emulator.image import read_elf, read_raw
from neuralart_virtual.emulator.qemu import QemuMachine
from neuralart_virtual.emulator.unicorn_board import UnicornBoard
from neuralart_virtual.validation.reference import on_board, outputs_of
from neuralart_virtual.validation_link.client import IO_ONLY, PER_LAYER, PERF, WITH_DATA, ValidationClient, bsd16
from neuralart_virtual.validation_link.messages import PacketLink, decode, encode, varint
from support.boards.board_ports import on_tcp
from support.boards.firmware import N6_STEPS, STAMP, Builder, have_gcc, have_qemu, memory_init, pixels, reference
from support.boards.h747 import DIGITS, H747Builder

pytestmark = [pytest.mark.arm, pytest.mark.skipif(not have_gcc, reason="arm-none-eabi-gcc is not on PATH")]

FLASH = 0x71000000
DEFINES = ("NEURALART_VALIDATION_LINK", "NEURALART_VALIDATION_SILENCE=30u")
OUTPUTS = (0x342E0200, 16), (0x342E0300, 8)


class Stream:
    """A machine as a port."""

    def __init__(self, machine):
        self.machine = machine

    def write(self, data):
        self.machine.write(data)

    def read(self, seconds):
        return self.machine.read(seconds)

    def close(self):
        pass


@pytest.fixture(scope="module")
def n6(tmp_path_factory):
    pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
    board = boards.load("stm32n6570-dk")
    folder = tmp_path_factory.mktemp("n6")
    builder = Builder(folder / "objects", board, "unicorn", FLASH, 0x342E0000)
    return board, builder, builder.image(folder / "image", memory=memory_init(tuple(N6_STEPS)), app_defines=DEFINES)


@pytest.fixture
def machine(n6):
    board, _, image = n6
    made = UnicornBoard(board, board.machines["unicorn"], read_elf(image.elf), [read_raw(image.weights, FLASH)])
    assert [each.name for each in Session(made, timeout=60.0).hello()] == ["toy"]  # It has started
    return made


def contents(record):
    return [tensor["data"]["content"] for tensor in record.tensors]


def whole_session(client, ram):
    assert client.sync["capability"] == 9 and client.system["device"] == 0x486
    (network,) = client.networks()
    assert client.lines[:2] == ["s:config:version:1.0", "s:config:dev_id:0x486"] and len(client.lines) == 7
    assert (network["name"], network["signature"], network["nodes"]) == ("toy", STAMP, 3)
    (taken,), given = network["inputs"], network["outputs"]
    assert (taken["name"], taken["shape"], taken["format"], taken["flags"]) == ("pixels", [1, 16], 0x00840440, 1025)
    assert [(each["name"], each["format"]) for each in given] == [("scores", 0x00840440), ("sums", 0x00840840)]
    for number in range(2):
        (whole,) = client.run(network, [pixels(number)], IO_ONLY, first=not number)
        assert b"".join(contents(whole)) == reference(pixels(number))
    *layers, whole = client.run(network, [pixels(2)], PER_LAYER)
    assert [layer.operator["id"] for layer in layers] == [0, 1 << 16 | 1, 2 << 16 | 2]
    assert {layer.operator["type"] for layer in layers} == {1 << 24 | 2} and whole.operator["stack_used"] == -1
    assert b"".join(contents(whole)) == reference(pixels(2)) and whole.operator["name"] == "toy"
    assert [contents(layer) for layer in layers] == [[b""]] * 3
    before, after, cycles = layers[1].lines
    assert before == "s:node:evt_pre_start:1:1:1:1:00000023:05000002:SW" and after == "s:node:evt_post_end:1:1:1:1:1"
    assert re.fullmatch(r"s:node:mcu_cycles:0:\d+:0", cycles)  # 0 where nothing counts
    *layers, whole = client.run(network, [pixels(1)], WITH_DATA, counters=0x31)
    scores, sums = reference(pixels(1))[:16], reference(pixels(1))[16:]
    assert [contents(layer) for layer in layers] == [[scores[::-1]], [scores], [sums]]
    assert [layer.tensors[0]["description"]["name"] for layer in layers] == ["hidden", "scores", "sums"]
    assert layers[0].tensors[0]["description"]["flags"] == 4 | 256 | 1024
    assert layers[2].lines[-1] == "s:node:npu_cycles:0:0:0"
    assert contents(client.run(network, [b"\x07"], PERF)[-1]) == [b"", b""]
    done = b"".join(client.read(each["address"], size) for each, (_, size) in zip(given, OUTPUTS, strict=True))
    assert done == reference(b"\x07" * 16)
    with pytest.raises(NeuralArtError, match=r"invalid size \(1\)"):
        client.run(network, [b"short"])
    with pytest.raises(NeuralArtError, match=r"invalid parameter \(4\)"):
        client.run({**network, "name": "toyy"}, [pixels(0)])
    blob = bytes(n * 7 & 255 for n in range(1500))
    client.write(ram, blob)
    assert client.read(ram, 1500) == blob and client.checksum(ram, 1500) == bsd16(blob)
    assert b"".join(contents(client.run(network, [pixels(4)])[-1])) == reference(pixels(4))


def test_a_session_on_the_virtual_n6(machine):
    client = ValidationClient(Stream(machine))
    assert client.framing == "3.2"
    whole_session(client, 0x342E1000)
    # Its own frames are answered as before.
    session = Session(machine, timeout=5.0)
    machine.write(host_link.encode(host_link.Frame("H", b"")))
    assert [each.name for each in session.hello()] == ["toy"]
    assert session.infer(0, pixels(3)) == reference(pixels(3))
    assert ValidationClient(Stream(machine)).network("toy")["nodes"] == 3


def test_the_other_framing(machine, monkeypatch):
    """As a client of 3.1 speaks: the first byte of each message tells."""

    def only_31(packets):
        packets.header = 1
        packets.drain()
        packets.send(encode("Request", {"id": 1, "command": 0, "param": 0, "name": "", "option": 0}))
        return decode("Response", packets.receive(1.0, "SYNC"))

    monkeypatch.setattr(PacketLink, "find", only_31)
    client = ValidationClient(Stream(machine))
    assert "packet" not in client.system and client.system["extra"] == [0] * 4
    whole_session(client, 0x342E1000)


def test_half_messages_are_dropped(machine):
    """Cut anywhere, and then a client of either framing comes."""
    sync = encode("Request", {"id": 9, "command": 0, "param": 0, "name": "", "option": 0})
    whole = bytes([len(sync) + 1]) + varint(len(sync)) + sync
    stream = Stream(machine)
    for data in (
        b"\0",
        whole[:1],
        whole[:7],
        b"\0" + whole[:9],
        b"\0\xff" + whole,
        b"\x1f" * 20,
        b"\0\x03\xff\xff\xff" + bytes(29),
        *(random.Random(seed).randbytes(150) for seed in range(6)),
        b"\x01I\x20\0\0\0" + bytes(5),  # a frame of the host link that does not end
    ):
        stream.write(data)
        stream.read(0.01)  # Silence
        assert ValidationClient(stream).network("")["name"] == "toy"
    # A host that is gone in the middle of a run, and another one that begins with a request.
    client = ValidationClient(stream)
    network = client.network("")
    client._request(11, 1, "toy", 1)
    client._answer(1, "ack", 1.0)
    assert ValidationClient(stream).run(network, [pixels(0)])[-1].operator["name"] == "toy"


@pytest.mark.qemu
@pytest.mark.skipif(not have_qemu, reason="qemu-system-arm is not on PATH")
def test_a_session_on_qemu(tmp_path):
    board = boards.load("mps3-an547")
    builder = Builder(tmp_path / "objects", board, "qemu", FLASH, 0x31000000)
    image = builder.image(tmp_path / "image", memory=memory_init(()), app_defines=(DEFINES[0],))
    with QemuMachine(board, board.machines["qemu"], image.elf, [(image.weights, FLASH)]) as machine:
        assert [each.name for each in Session(machine, timeout=60.0).hello()] == ["toy"]  # It has started
        whole_session(ValidationClient(Stream(machine)), 0x31001000)


@pytest.fixture(scope="module")
def h747_image(tmp_path_factory):
    pytest.importorskip("unicorn", reason="Unicorn is not installed: pip install scons-neuralart[emulator]")
    builder = H747Builder(tmp_path_factory.mktemp("h747"), boards.load("stm32h747i-disco"), DEFINES)
    return builder, builder.build(builder.folder / "image")


def test_the_application_of_the_h747(h747_image):
    """Its network, its preprocessing and both together are three networks; each is one layer."""
    builder, built = h747_image
    given, wanted = ((DIGITS / "vectors" / f"{name}.bin").read_bytes() for name in ("inputs", "outputs"))
    with builder.stream(built) as stream:
        client = ValidationClient(stream)
        assert client.system["device"] == 0x450 and client.system["cache"] == 0x03010000
        network, camera, _ = client.networks()
        assert client.lines == [] and (network["nodes"], network["signature"]) == (1, built.result.network.abi_stamp)
        assert [each["name"] for each in client.networks()] == ["network", "camera", "preprocess"]
        (into,), (out,) = network["inputs"], network["outputs"]
        (port,) = built.result.network.inputs
        assert (into["format"], into["scale"], into["zero_point"]) == (0x00840440, port.scale, port.zero_point)
        size, made = into["size"], out["size"]
        for number in (0, 7):
            sample, right = given[number * size :][:size], wanted[number * made :][:made]
            layer, whole = client.run(network, [sample], WITH_DATA)
            assert contents(layer) == contents(whole) == [right]
        picture = bytes(camera["inputs"][0]["size"] * 2)
        assert len(contents(client.run(camera, [picture])[-1])[0]) == made
        assert client.read(into["address"], 16)
        # Its own frames are answered as before.
        session = Session(stream, timeout=60.0)
        stream.write(host_link.encode(host_link.Frame("H", b"")))
        assert [each.name for each in session.hello()] == ["network", "camera", "preprocess"]


def test_validate_reads_what_a_board_computes(n6, machine):
    """Over TCP; the board runs the build of the network, or is refused."""
    pytest.importorskip("serial", reason="pyserial is not installed: pip install scons-neuralart[serial]")
    toy = facts.load(n6[2].network)
    done = []
    with on_tcp(machine) as (host, port):
        url = f"socket://{host}:{port}"
        where, outputs = on_board(url, 921600, toy, [pixels(1), pixels(2)], done.append)
    assert outputs == [reference(pixels(1)), reference(pixels(2))] and done == [1, 2]
    assert where == f"device 0x486 at {url}"


def test_profile_asks_our_firmware(machine):
    """It has no lines for profilers: its layers are the epochs."""
    log = measured_log(ValidationClient(Stream(machine)), "PORT", "", 2, {"toy": STAMP}, lambda done, count: None)
    (found,) = parse_counter_log(log.encode(), "PORT")
    assert (found.name, found.nodes, found.samples) == ("toy", 3, 6)
    assert [(each.name, each.kind, each.mcu.total) for each in found.epochs] == [
        (f"EpochBlock_{number}", "SW", 0) for number in range(3)
    ]
    assert [(each.name, each.dtype, each.shape) for each in found.inputs] == [("pixels", "int8", (1, 16))]
    with pytest.raises(NeuralArtError, match="PORT: the board runs another build of network 'toy'"):
        measured_log(ValidationClient(Stream(machine)), "PORT", "toy", 1, {"toy": "f" * 16}, lambda done, count: None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"abi_stamp": "f" * 16}, f"the board runs another build of network 'toy': {STAMP}, not {'f' * 16}"),
        ({"name": "kws"}, "the board has no network 'kws'"),
        ({"outputs": ()}, "has 1 inputs and 2 outputs, that of the build 1 and 0"),
    ],
)
def test_validate_refuses_another_build(n6, machine, changes, said):
    other = replace(facts.load(n6[2].network), **changes)
    with pytest.raises(NeuralArtError, match=re.escape(said)):
        outputs_of(ValidationClient(Stream(machine)), other, [pixels(1)], lambda done: None)
