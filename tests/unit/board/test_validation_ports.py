"""Ports that boards talk on: over networks, with a cable that is pulled, noise on the line, another baud rate."""

from __future__ import annotations

import importlib
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart_board.ports import BoardPort
from neuralart_virtual.validation_link.client import ValidationClient

pytest.importorskip("google.protobuf", reason="protobuf is not installed: it comes with the extra 'test'")
pytest.importorskip("serial", reason="pyserial is not installed: pip install scons-neuralart[serial]")
from support.boards.board_ports import OverTelnet, on_tcp
from support.boards.validation_board import ValidationBoard, network

INPUT = bytes(range(100, 116))
pytestmark = pytest.mark.filterwarnings("ignore:set(Daemon|Name):DeprecationWarning")  # pyserial's own


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """pyserial waits 0.3 s when it closes a port, for servers that are not ready for the next connection."""
    hurried = SimpleNamespace(time=time.time, sleep=lambda seconds: time.sleep(seconds / 10))
    for module in ("rfc2217", "urlhandler.protocol_socket"):
        monkeypatch.setattr(importlib.import_module(f"serial.{module}"), "time", hurried)


@pytest.mark.parametrize("framing", ["31", "32"])
def test_behind_a_terminal_server(framing, tmp_path, capsys):
    """RFC 2217; bytes of 0xff are commands there, unless there are two."""
    board = OverTelnet(ValidationBoard(framing, talk="boot text"))
    given, made = tmp_path / "input.bin", tmp_path / "made.bin"
    given.write_bytes(b"\xff" * 16)
    with on_tcp(board) as (host, port):
        words = ["--input", str(given), "-o", str(made), "--baud", "115200"]
        assert cli.main(["tool", "talk", f"rfc2217://{host}:{port}", *words]) == 0, capsys.readouterr().err
    assert made.read_bytes() == network(b"\xff" * 16) and board.settings.baudrate == 115200


@pytest.mark.parametrize("scheme", ["socket", "rfc2217"])
@pytest.mark.parametrize("after", [0, 20, 34, 150])
def test_a_cable_that_is_pulled(scheme, after, tmp_path, capsys):
    """After so many bytes of the board: in SYNC, between answers, in the middle of a long one."""
    board = ValidationBoard("32")
    stream = OverTelnet(board) if scheme == "rfc2217" else board
    given = tmp_path / "input.bin"
    given.write_bytes(INPUT)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            left = after
            with server.accept()[0] as connection:
                while data := connection.recv(4096):
                    stream.write(data)
                    left -= len(board.out)
                    connection.sendall(b"".join(iter(lambda: stream.read(0), b"")))
                    if left < 0:
                        return

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"{scheme}://127.0.0.1:{server.getsockname()[1]}"
        assert cli.main(["tool", "talk", url, "--input", str(given), "-o", str(tmp_path / "out.bin")]) == 1
        thread.join(10)
    shown = capsys.readouterr().err
    assert f"neuralart talk: error: {url}: the port fails: " in shown and shown.count("\n") == 1
    assert not (tmp_path / "out.bin").exists()


def test_a_server_that_is_no_terminal_server(capsys):
    """It takes the connection, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"rfc2217://127.0.0.1:{server.getsockname()[1]}?timeout=0.2"
        assert cli.main(["tool", "talk", url]) == 1
    assert f"{url}: the port fails: Remote does not " in capsys.readouterr().err


class Line:
    """A board whose bytes are changed on their way, in both directions."""

    def __init__(self, board, change):
        self.board, self.change = board, change

    def write(self, data):
        self.board.write(bytes(map(self.change, data)))

    def read(self, seconds):
        return bytes(map(self.change, self.board.read(seconds)))


@pytest.mark.parametrize("change", [lambda bits: bits >> 1, lambda bits: bits | 0x80, lambda _: 0xFF, lambda _: 0])
@pytest.mark.parametrize("framing", ["31", "32"])
def test_another_baud_rate(framing, change):
    """Another number of bits arrives for each byte."""
    with pytest.raises(NeuralArtError, match=r"no board answers in either framing.* baud rate"):
        ValidationClient(Line(ValidationBoard(framing), change))


@pytest.mark.parametrize("framing", ["31", "32"])
@pytest.mark.parametrize("noise", [b"\xaa", b"\x80" * 40, b"\x91" + bytes(60), bytes(range(256)) * 3, b"\xff"])
def test_noise_before_sync(framing, noise):
    """What is on the line before is dropped; what comes between is one attempt that fails."""
    board = ValidationBoard(framing)
    board.out += noise
    assert ValidationClient(board).network("")["name"] == "one"
    late, write = ValidationBoard(framing), ValidationBoard.write

    def once(data):
        del late.write
        late.out += noise
        write(late, data)

    late.write = once
    assert ValidationClient(late).network("")["name"] == "one"


def test_a_read_ends_in_time_and_changes_no_setting():
    with on_tcp(ValidationBoard()) as (host, port):
        opened = BoardPort(f"socket://{host}:{port}", 921600)
        before = opened._port.timeout
        assert opened.read(0.004) == b"" and opened.read(0.05) == b"" and opened._port.timeout == before
        opened.write(b"\0")
        opened.close()
