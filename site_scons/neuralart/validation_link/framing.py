"""Packets of the validation protocol: both framings, which of them a board speaks, and how a stuck board comes back."""

from __future__ import annotations

from typing import Protocol

from neuralart.errors import NeuralArtError
from neuralart.validation_link.messages import Fields, damaged, decode, encode, varint

SMALLEST, LARGEST = 32, 4094
"""Bytes of a packet's payload: until the board announces more, and the most that it may announce."""
_LONGEST = 1 << 26  # No message of a board is longer: that would be damage
_NEXT = b"\xaa"  # The board wants the next packet of a message
_TRIES, _ZEROS = 3, 80


class ByteStream(Protocol):
    """Bytes to and from a board. NeuralArtError of each: the port fails."""

    def write(self, data: bytes) -> None:
        """Send bytes."""

    def read(self, seconds: float) -> bytes:
        """Some bytes; empty when none came in time."""


class PacketLink:
    """Sends and receives whole messages. Waiting is counted in vain reads, so a busy computer changes nothing."""

    def __init__(self, stream: ByteStream) -> None:
        self.stream = stream
        self.header = 2  # Bytes of a packet's header: 1 with clients of 3.1, 2 with those of 3.2
        self.size = SMALLEST
        self._buffer = b""

    def drain(self, silence: float = 0.05) -> bytes:
        """Drop what comes until nothing comes: the last portion. NeuralArtError: it never ends."""
        self._buffer = last = b""
        for _ in range(1000):
            if not (more := self.stream.read(silence)):
                return last
            last = more
        raise damaged("the board never stops talking", "is this its port, and its baud rate?")

    def _take(self, count: int, seconds: float) -> bytes:
        """So many bytes; fewer if so many seconds pass without any."""
        waited = 0.0
        while len(self._buffer) < count and waited < seconds:
            step = min(seconds, 0.1)
            more = self.stream.read(step)
            waited = 0.0 if more else waited + step
            self._buffer += more
        data, self._buffer = self._buffer[:count], self._buffer[count:]
        return data

    def send(self, message: bytes) -> None:
        """Send a message. NeuralArtError: the board does not take it."""
        data, at = varint(len(message)) + message, 0
        while True:
            part = data[at : at + self.size]
            self.stream.write(len(part).to_bytes(self.header, "big") + part.ljust(self.size, b"\0"))
            at += len(part)
            if at >= len(data):
                return
            if (said := self._take(1, 5.0)) != _NEXT:
                what = f"says 0x{said.hex()}" if said else "says nothing for 5 s"
                raise damaged(f"the board {what} after {at} of {len(data)} bytes of a message, 0xaa is due")

    def receive(self, seconds: float, what: str) -> bytes:
        """The next message. NeuralArtError: none came in time, or it is damaged."""
        header, message = self.header, bytearray()
        while True:
            packet = self._take(header + self.size, seconds)
            if len(packet) < header + self.size:
                some = f" ({len(message) + len(packet)} bytes of one)" if packet or message else ""
                raise damaged(f"no answer of the board in {seconds:g} s{some}: {what}", "reset it if that stays so")
            end, length = packet[0] & 0x80, int.from_bytes([packet[0] & 0x7F, *packet[1:header]], "big")
            if not end:
                message += packet[header:]  # It is full, whatever length it says
                if len(message) > _LONGEST:
                    raise damaged(f"a message of the board is longer than {_LONGEST} bytes")
                continue
            if length > self.size:
                raise damaged(f"a packet of {self.size} bytes says that it has {length}", "bytes were lost")
            return bytes(message + packet[header : header + length])

    def find(self) -> Fields:
        """Find the framing of the board, stuck or not: its answer to SYNC. NeuralArtError: it has none."""
        for attempt in range(_TRIES):
            self.size = SMALLEST
            self.drain()
            # The first answer may be that to a request in which the board was stuck: the second one tells.
            if self._probe(2 + attempt) and (answer := self._probe(5 + attempt)):
                return answer
            if attempt:
                # Perhaps packets are as large as another program and the board had agreed.
                self.stream.write(bytes(LARGEST))
                self.drain()
            for _ in range(_ZEROS):  # Zeros fill the packet that the board is stuck in, until it wants another one
                self.stream.write(b"\0")
                if self.drain(0.004).endswith(_NEXT):
                    break
        hint = "is it the right port and baud rate, and does the firmware speak the protocol? reset the board"
        raise damaged("no board answers in either framing", hint)

    def _probe(self, number: int) -> Fields | None:
        """SYNC in the framing of 3.2, whose last padding byte is the header of a packet of 3.1.

        A board of 3.1 sees an empty packet first, asks for more, and gets the rest of the packet whose header it has.
        """
        request = encode("Request", {"id": number, "command": 0, "param": 0, "name": "", "option": 0})
        sync = varint(len(request)) + request
        self.header = 2
        self.stream.write(bytes([0, len(sync)]) + sync.ljust(SMALLEST - 1, b"\0") + bytes([len(sync)]))
        first = self._take(1, 0.3)
        if first == _NEXT:
            self.header = 1
            self.stream.write(sync.ljust(SMALLEST, b"\0"))
            first = self._take(1, 0.3)
        self._buffer = first + self._buffer
        if not first or first[0] < 0x80:
            return None
        try:
            answer = decode("Response", self.receive(0.3, "SYNC"))
        except NeuralArtError:
            return None  # Whatever this was, the next attempt begins with silence
        return answer if "sync" in answer and answer["id"] == number else None
