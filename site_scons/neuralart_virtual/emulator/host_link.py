"""The host's side of the host link: a session with the reference application, over any byte transport."""

from __future__ import annotations

import struct
import time
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from neuralart_virtual.emulator import LinkFailure, MachineStop

# Frames of the host link: a pure codec (docs/reference/host-link.md) ------------------------------------------------

START = 0x01
# Longer than any memory of a board: such a length is damage.
LONGEST = 1 << 28
_HEADER = struct.Struct("<BI")
_CRC = struct.Struct("<I")


@dataclass(frozen=True)
class Frame:
    """A whole frame."""

    type: str  # One character
    payload: bytes  # Its bytes


@dataclass(frozen=True)
class Text:
    """Bytes between frames."""

    data: bytes


@dataclass(frozen=True)
class Damaged:
    """Something that began like a frame and is none."""

    type: str  # The type byte as a character
    reason: str  # What is wrong, with the numbers


Event = Frame | Text | Damaged


def encode(frame: Frame) -> bytes:
    """Bytes of a frame."""
    body = _HEADER.pack(ord(frame.type), len(frame.payload)) + frame.payload
    return bytes([START]) + body + _CRC.pack(zlib.crc32(body))


class Decoder:
    """Takes bytes in any portions, gives frames and text in their order. After damage it goes on searching behind the
    start byte that was wrong, so the next whole frame is found.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> bytes:
        """What has come of an unfinished frame."""
        return bytes(self._buffer)

    def feed(self, data: bytes) -> Iterator[Event]:
        """Yield what is complete now."""
        self._buffer += data
        while self._buffer:
            start = self._buffer.find(START)
            if start != 0:
                text = bytes(self._buffer[: len(self._buffer) if start < 0 else start])
                del self._buffer[: len(text)]
                yield Text(text)
                continue
            event = self._frame()
            if event is None:
                return
            yield event

    def _frame(self) -> Event | None:
        buffer = self._buffer
        head = 1 + _HEADER.size
        if len(buffer) < head:
            return None
        kind, length = _HEADER.unpack_from(buffer, 1)
        if length > LONGEST:
            return self._damaged(kind, f"length {length}")
        end = head + length
        if len(buffer) < end + _CRC.size:
            return None
        (received,) = _CRC.unpack_from(buffer, end)
        computed = zlib.crc32(memoryview(buffer)[1:end])
        if received != computed:
            return self._damaged(kind, f"CRC 0x{received:08x}, computed 0x{computed:08x} over {length} bytes")
        frame = Frame(chr(kind), bytes(buffer[head:end]))
        del buffer[: end + _CRC.size]
        return frame

    def _damaged(self, kind: int, reason: str) -> Damaged:
        # The rest may hold a whole frame: only the wrong start byte is given up.
        del self._buffer[:1]
        return Damaged(chr(kind), reason)


# ---------------------------------------------------------------------------------------------------------------------

PROTOCOL_VERSION = 1
FAULT_MARK = "firmware fault:"
LOOKS = 100
"""How often a firmware polls for input in vain before the host gives up."""
SLEEPING = 10.0
"""A machine may be silent for so many times its limit, where it does not compute."""


class Transport(Protocol):
    """Bytes to and from a machine."""

    def write(self, data: bytes) -> None:
        """Send bytes to the firmware's console."""

    def read(self, seconds: float) -> bytes:
        """Bytes from the console; empty when none came in time. MachineStop: no more will ever come."""

    def waiting_for(self) -> str:
        """What the machine does right now, for the message that no answer came."""

    def spent(self) -> float | None:
        """Seconds of processor time that the machine has computed so far; None if unknown."""

    def idle(self) -> bool:
        """Has the firmware read all that was sent, and does it wait for more? Then nothing will come by itself."""


@dataclass(frozen=True)
class RemoteNetwork:
    """A network as the firmware describes it."""

    name: str  # C name
    abi_stamp: str  # As in ``network.json``
    inputs: tuple[int, ...]  # Bytes of each input
    outputs: tuple[int, ...]  # Bytes of each output


class _Reader:
    """Takes fields off a payload."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise LinkFailure(f"the firmware's hello is cut short at byte {len(self._data)}", where="host link")
        self._at += count
        return self._data[self._at - count : self._at]

    def byte(self) -> int:
        return self.take(1)[0]

    def text(self) -> str:
        return self.take(self.byte()).decode("utf-8", "replace")

    def sizes(self) -> tuple[int, ...]:
        count = self.byte()
        return struct.unpack(f"<{count}I", self.take(4 * count))


def parse_hello(payload: bytes) -> tuple[RemoteNetwork, ...]:
    """Networks that an ``H`` frame describes. LinkFailure: another protocol version, or cut short."""
    reader = _Reader(payload)
    version = reader.byte()
    if version != PROTOCOL_VERSION:
        what = f"the firmware speaks host link version {version}, this program {PROTOCOL_VERSION}"
        raise LinkFailure(what, where="host link", hint="build the firmware with this version of the package")
    count = reader.byte()
    return tuple(RemoteNetwork(reader.text(), reader.text(), reader.sizes(), reader.sizes()) for _ in range(count))


class _Silence:
    """How long the firmware has said nothing: counted in what it computed, so that a busy computer changes nothing."""

    def __init__(self, transport: Transport, timeout: float) -> None:
        """It begins now."""
        self._transport = transport
        self._timeout = timeout
        self._spent = transport.spent()
        self._since = time.monotonic()
        self._idle = 0

    def slice(self) -> float:
        """Seconds to look for bytes before the limits are checked again."""
        return min(self._timeout, 1.0)

    def reached(self) -> str:
        """The limit that was reached; empty if none was."""
        self._idle = self._idle + 1 if self._transport.idle() else 0
        if self._idle >= LOOKS:
            return "can come"
        spent = self._transport.spent()
        passed = time.monotonic() - self._since
        if spent is not None and self._spent is not None:
            if spent - self._spent >= self._timeout:
                return f"after {self._timeout:g} s of computing"
            # A machine that neither computes nor speaks sleeps, or has no processor to itself for very long.
            most = SLEEPING * self._timeout
            return f"after {most:g} s in which it hardly computed" if passed >= most else ""
        return f"after {self._timeout:g} s of silence" if passed >= self._timeout else ""


class Session:
    """Speaks with one run of the firmware."""

    def __init__(
        self, transport: Transport, *, timeout: float = 60.0, on_text: Callable[[str], None] | None = None
    ) -> None:
        """Starts nothing yet. ``timeout``: seconds that the firmware may compute without a word."""
        self._transport = transport
        self._timeout = timeout
        self._on_text = on_text or (lambda line: None)
        self._decoder = Decoder()
        self._frames: deque[Frame | Damaged] = deque()
        self._line = b""
        self._hello: bytes | None = None

    def hello(self) -> tuple[RemoteNetwork, ...]:
        """Wait until the firmware introduces itself. LinkFailure: it reports an error, or speaks another protocol."""
        self._hello = self._expect("H", "its hello")
        return parse_hello(self._hello)

    def infer(self, index: int, inputs: bytes) -> bytes:
        """One inference: all inputs in, all outputs back. LinkFailure: refused or damaged. MachineStop: no answer."""
        self._transport.write(encode(Frame("I", bytes([index]) + inputs)))
        payload, self._hello = self._expect("O", "outputs"), None
        if not payload or payload[0] != index:
            raise LinkFailure(f"outputs of network {payload[:1].hex() or 'none'} arrived, expected those of {index}")
        return payload[1:]

    def quit(self) -> None:
        """Tell the firmware that it is done; it idles from then on. LinkFailure: it answers something else."""
        self._transport.write(encode(Frame("Q", b"")))
        self._expect("D", "its goodbye")

    def flush_text(self) -> None:
        """Hand over the last line of text, though unfinished."""
        if self._line:
            self._say(self._line)
            self._line = b""

    def _say(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        self._on_text(text)
        if text.startswith(FAULT_MARK):
            raise MachineStop(text)

    def _take_text(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self._say(line)

    def _some(self, what: str) -> bytes:
        """Some bytes. MachineStop: the machine is silent for too long."""
        silence = _Silence(self._transport, self._timeout)
        while not (data := self._transport.read(silence.slice())):
            if reached := silence.reached():
                self._no_answer(what, reached)
        return data

    def _expect(self, kind: str, what: str) -> bytes:
        while not self._frames:
            for event in self._decoder.feed(self._some(what)):
                if isinstance(event, Text):
                    self._take_text(event.data)
                else:
                    self._frames.append(event)
        frame = self._frames.popleft()
        if kind == "O" and frame == Frame("H", self._hello or b""):
            self._hello = None  # Started twice, and running the same: the first hello was of what ran before.
            return self._expect(kind, what)
        if isinstance(frame, Damaged):
            raise LinkFailure(f"a frame of type {frame.type!r} arrived damaged: {frame.reason}", where="host link")
        if frame.type == "E":
            code = int.from_bytes(frame.payload[:2], "little")
            text = frame.payload[2:].decode("utf-8", "replace")
            raise LinkFailure(f"the firmware reports error {code}: {text}")
        if frame.type != kind:
            raise LinkFailure(f"the firmware sent a frame of type {frame.type!r}, expected {kind!r} ({what})")
        return frame.payload

    def _no_answer(self, what: str, reached: str) -> None:
        self.flush_text()
        # A fault in the middle of a frame: its report looks like a part of the payload.
        pending = self._decoder.pending.decode("utf-8", "replace")
        if FAULT_MARK in pending:
            raise MachineStop(pending[pending.index(FAULT_MARK) :].splitlines()[0])
        unfinished = f"; an unfinished frame of {len(pending)} bytes came" if pending else ""
        what = f"no answer {reached}: waited for {what}; {self._transport.waiting_for()}{unfinished}"
        raise MachineStop(what, hint="--timeout S allows S seconds of computing without a word")
