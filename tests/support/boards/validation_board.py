"""A made-up board that speaks the validation protocol, in the packets of either framing, byte by byte.

Its messages are made by the ``protobuf`` package, not by the code under test. It computes two networks of its own. It
keeps the rules of a board strictly: what a real one would not bear raises an AssertionError.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from neuralart_virtual import validation_link
from support.boards.counter_logs import node

_TYPES = {"double": 1, "float": 2, "uint64": 4, "int32": 5, "string": 9, "bytes": 12, "uint32": 13}
_LABELS = {"optional": 1, "required": 2, "repeated": 3}
IDLE, WAITING, PROCESSING, DONE, ERROR = range(5)
INVALID_SIZE, INVALID_PARAM, GENERIC = 1, 4, 10
S8, U8 = 0x00840440, 0x00040440
RAM = 0x34000000
Bytes = Generator[None, int, bytes]
CONFIG = ("version:1.0", "dev_id:0x486", "mcu_freq:800000000", "noc_freq:400000000", "npu_freq:1000000000")
CONFIG += ("nic_freq:900000000", "npu_cache:1")


def _classes() -> dict[str, type]:
    text = re.sub("//.*", "", (Path(validation_link.__file__).parent / "messages.proto").read_text("utf-8"))
    file = descriptor_pb2.FileDescriptorProto(name="messages.proto", package="v", syntax="proto2")
    for name, body in re.findall(r"message (\w+) \{(.*?)\}", text, re.DOTALL):
        message = file.message_type.add(name=name)
        for label, kind, field, number in re.findall(r"(\w+) (\w+) (\w+) = (\d+);", body):
            row = message.field.add(name=field, number=int(number), label=_LABELS[label])
            if kind in _TYPES:
                row.type = _TYPES[kind]
            else:
                row.type, row.type_name = 11, f".v.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [message.name for message in file.message_type]
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"v.{name}")) for name in names}


PB = _classes()


def rotated(data: bytes) -> int:
    total = 0
    for byte in data:
        total = ((total >> 1) + ((total & 1) << 15) + byte) & 0xFFFF
    return total


def layer(data: bytes) -> bytes:
    return bytes((byte * 3 + 7) & 0xFF for byte in data)


def network(data: bytes) -> bytes:
    """16 bytes to 5."""
    hidden = layer(data)
    return bytes(sum(hidden[n::5]) & 0xFF for n in range(5))


@contextlib.contextmanager
def over_tcp(board: ValidationBoard, hangs_up: Callable[[], bool] = lambda: False) -> Iterator[int]:
    """A port of this machine at which a board is, for one client."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while data := connection.recv(4096):
                    board.write(data)
                    if hangs_up():
                        return
                    connection.sendall(bytes(board.out))
                    board.out.clear()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)


class ValidationBoard:
    """A :class:`~neuralart_virtual.validation_link.messages.ByteStream` with a board behind it.

    ``framing``: "31" and "32" as the vendor's boards; "both": told apart by the first byte of each message. ``size``:
    of packets, announced to clients of 3.2. ``faults``: what it does wrong. ``epochs``: it has the vendor's firmware
    for profiling, and counts that of these epochs in each run. ``signature``: of its networks.
    """

    def __init__(self, framing="both", *, size=0, faults=(), talk="", two=False, epochs=(), signature="0x0123"):
        self.framing, self.announced, self.faults, self.two = framing, size, set(faults), two
        self.epochs, self.signature = epochs, signature
        self.header, self.size = (1 if framing == "31" else 2), 32
        self.memory = bytearray(8192)
        self.out = bytearray(talk.encode())
        self.more_asked = self.empty_ends = self.params = 0
        self.seen: list[tuple[int, int, str, int]] = []
        self.closed = False
        self.runs = 0
        self._program = self._serve()
        next(self._program)

    # ---- the stream

    def write(self, data: bytes) -> None:
        for byte in data:
            self._program.send(byte)

    def read(self, seconds: float) -> bytes:
        portion = bytes(self.out[:7])  # Never a packet at a time
        del self.out[:7]
        return portion

    def close(self) -> None:
        self.closed = True

    # ---- packets

    def _packet(self, first: bool) -> Bytes:
        data = bytearray([(yield)])
        if first and self.framing == "both":
            assert self.size == 32 or not data[0]
            self.header = 1 if data[0] else 2
        while len(data) < self.header + self.size:
            data.append((yield))
        length = int.from_bytes(data[: self.header], "big")
        length = min(length, self.size)
        return bytes(data[self.header : self.header + length])

    def _receive(self, kind: str) -> Generator[None, int, object]:
        data = yield from self._packet(True)
        while True:
            size = shift = at = 0
            while at < len(data):
                size |= (data[at] & 0x7F) << shift
                shift, at = shift + 7, at + 1
                if data[at - 1] < 0x80:
                    if len(data) >= at + size:
                        message = PB[kind]()
                        with contextlib.suppress(DecodeError):
                            message.ParseFromString(data[at : at + size])
                            return message
                        data = b""  # Bad ones are dropped, and the next message is waited for
                    break
            if not data and shift:
                data = yield from self._packet(True)
                continue
            self.more_asked += 1
            self.out += b"\x55" if "more" in self.faults else b"\xaa"
            data += yield from self._packet(False)

    def _send(self, state: int, **fields: object) -> None:
        message = PB["Response"](id=self.request.id + ("id" in self.faults), state=state)
        for name, value in fields.items():
            if isinstance(value, bytes):
                setattr(message, name, value)
            else:
                getattr(message, name).CopyFrom(value)
        data = message.SerializeToString()
        if "cut" in self.faults:
            data = data[:-1]
        while True:
            part, data = data[: self.size], data[self.size :]
            last = len(part) < self.size
            self.empty_ends += last and not part
            word = (len(part) + ("length" in self.faults) * 99) | (last and 0x80 << 8 * (self.header - 1))
            packet = (word & (1 << 8 * self.header) - 1).to_bytes(self.header, "big")
            self.out += packet + part.ljust(self.size, b"\xee")
            if last:
                return

    def _ack(self, state: int, param: int = 0, error: int = 0) -> None:
        self._send(state, ack=PB["Ack"](param=param, error=error))

    def _say(self, text: str) -> Generator[None, int, None]:
        self._send(WAITING, log=PB["Log"](level=1, text=text))
        yield from self._receive("Ack")

    # ---- commands

    def _serve(self) -> Generator[None, int, None]:
        commands = {0: self._sync, 1: self._system, 10: self._network, 11: self._run}
        commands |= dict.fromkeys((20, 21, 22), self._access)
        while True:
            self.request = request = yield from self._receive("Request")
            self.seen.append((request.command, request.param, request.name, request.option))
            if "mute" in self.faults and request.command:
                continue
            if request.command in commands:
                yield from commands[request.command]()
            else:
                self._ack(ERROR, INVALID_PARAM, INVALID_PARAM)

    def _sync(self) -> Generator[None, int, None]:
        self.size = 32
        version = 0x0302 if "version" in self.faults else 0x0301
        capability = (8 if "locked" not in self.faults else 0) | (1 if "blind" not in self.faults else 0)
        self._send(IDLE, sync=PB["Sync"](version=version, capability=capability, runtime=0x10004))
        yield from ()

    def _system(self) -> Generator[None, int, None]:
        common = {"device": 0x486, "core_hz": 800_000_000, "bus_hz": 400_000_000, "cache": 0x05010C00}
        extra = [0, 10**9, 9 * 10**8, 0]
        if self.header == 1:
            message = PB["System31"](**common, extra=extra)
        else:
            message = PB["System32"](**common, extra=extra, packet=5000 if "packet" in self.faults else self.announced)
        self._send(IDLE, system=message.SerializeToString())
        if self.header == 2 and self.announced:
            self.size = self.announced
        yield from ()

    @staticmethod
    def _described(name: str, size: int, flags: int, zero: int = -3) -> object:
        return PB["Description"](
            **{"name": name, "format": S8, "size": size, "rank": 2, "shape": [1, size], "scale": 0.5},
            **{"zero_point": zero, "address": RAM, "flags": flags},
        )

    def _tensors(self, name: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        if name == "two":
            return [("a", 16), ("b", 300)], [("y", 5), ("h", 16), ("b", 300)]
        return [("x", 16)], [("y", 5)]

    def _names(self) -> list[str]:
        return ["one", "two"] if self.two else ["one"]

    def _network(self) -> Generator[None, int, None]:
        number = self.request.param
        if number >= len(self._names()) or "nonet" in self.faults:
            self._ack(ERROR, INVALID_PARAM, GENERIC if "nonet" in self.faults else INVALID_PARAM)
            return
        for line in CONFIG if self.epochs else CONFIG[:1]:
            yield from self._say(f"s:config:{line}")
        name = self._names()[number]
        ins, outs = self._tensors(name)
        texts = {"name": name, "signature": self.signature, "compiled": "Jan 1 2026", "runtime_text": "made up"}
        counts = {"input_count": len(ins), "output_count": len(outs), "activation_count": 0, "param_count": 0}
        runtime = 1 if "core" in self.faults else 0x06010004
        numbers = {
            "runtime": runtime,
            "runtime_version": 1,
            "tool_version": 1,
            "macc": 1 << 40,
            "nodes": len(self.epochs) or 2,
        }
        described = {
            "inputs": [self._described(*each, 1) for each in ins],
            "outputs": [self._described(*each, 2) for each in outs],
        }
        self._send(IDLE, model=PB["Model"](**texts, **counts, **numbers, **described))

    def _tensor(self, state: int, name: str, data: bytes, flags: int) -> None:
        content = b"" if flags & 512 else data[:-1] if "short" in self.faults else data
        size = 0 if flags & 512 else len(data)
        data_message = PB["Data"](type=0, size=size, address=RAM, content=content)
        description = self._described(name, len(data), flags)
        self._send(state, tensor=PB["Tensor"](description=description, data=data_message))

    def _operator(self, name: str, kind: int, number: int, counters: list[int]) -> None:
        numbers = {"type": kind, "id": number, "duration": 0.5, "counter_type": 1 << 16, "counters": counters}
        self._send(PROCESSING, operator=PB["Operator"](name=name, **numbers, stack_used=-1, heap_used=-1))

    def _run(self) -> Generator[None, int, None]:
        request = self.request
        param, name = request.param, request.name
        if name not in self._names() or "refuse" in self.faults:
            self._ack(ERROR, INVALID_PARAM, INVALID_PARAM)
            return
        ins, outs = self._tensors(name)
        self._ack(WAITING, ins[0][1])
        given = []
        for number, (_, size) in enumerate(ins):
            data = (yield from self._receive("Data")).content
            wanted = 1 if param & 512 else size
            if len(data) != wanted:
                self._ack(ERROR, len(data), INVALID_SIZE)
                return
            given.append(data * (size // wanted))
            self._ack(PROCESSING if number + 1 == len(ins) else WAITING, wanted)
            yield from self._receive("Ack")
        hidden = layer(given[0])
        if param & 6 and self.epochs:
            yield from self._profiled(request.option >> 8)
        elif param & 6:
            yield from self._say("s:node:mcu_cycles:1:2:3")
            self._operator("", 1 << 24, 1 << 16 | 1, [1, 2, 3])
            if "halt" in self.faults:
                return
            for _ in range(2000 if "endless" in self.faults else 0):
                self._tensor(PROCESSING, "h", b"", 4 | 512)
            self._tensor(PROCESSING, "h", hidden, 4 | 256 | (0 if param & 4 else 512))
            self._operator("", (5 | (2 if "marked" in self.faults else 0)) << 24, 2 << 16 | 2, [4, 5, 6])
        self._operator(name, 0, 0, [0] * 10)
        results = [network(given[0]), hidden, given[-1]][: len(outs)]
        for number, ((title, _), data) in enumerate(zip(outs, results, strict=True)):
            last = number + 1 == len(outs)
            flags = 2 | (256 if last and "unmarked" not in self.faults else 0) | (512 if param & 8 else 0)
            self._tensor(DONE if last and "state" not in self.faults else PROCESSING, title, data, flags)

    def _profiled(self, counters: int) -> Generator[None, int, None]:
        """Epochs without their tensors. Every other run takes one cycle longer."""
        self.runs += 1
        for index, epoch in enumerate(self.epochs):
            for line in node(index, epoch, counters, self.runs % 2):
                yield from self._say(f"s:node:{line}{'x' * ('words' in self.faults)}")
            kind = ("HW", "EXTRA", "SW", "HYBRID", "EC").index(epoch.kind)
            last = epoch.number if epoch.last is None else epoch.last
            self._operator("", 5 << 24 | kind, (last & 0xFFFF) << 16 | max(epoch.number, 0), list(epoch.mcu))

    def _access(self) -> Generator[None, int, None]:
        command, at, size = self.request.command, self.request.param - RAM, self.request.option
        if not 0 <= at <= at + size <= len(self.memory):
            self._ack(ERROR, 0, INVALID_PARAM)
        elif command == 22:
            self._ack(DONE, rotated(self.memory[at : at + size]))
        elif command == 21:
            self._ack(WAITING if size else DONE, 0 if "tiny" in self.faults else min(size, 1024))
            while size:
                data = yield from self._receive("Data")
                assert data.address == RAM + at and data.size == len(data.content) <= size
                self.memory[at : at + data.size] = data.content
                at, size = at + data.size, size - data.size
                self._ack(WAITING if size else DONE, rotated(data.content) + ("lost" in self.faults))
        else:
            self._ack(PROCESSING if size else DONE, min(size, 1024))
            while size:
                count = min(size, 1024)
                size -= count
                content = bytes(self.memory[at : at + count])[: -1 if "short" in self.faults else None]
                data = PB["Data"](type=0, size=count, address=RAM + at, content=content)
                self._send(PROCESSING if size else DONE, data=data)
                at += count
                if size:
                    yield from self._receive("Ack")
        yield from ()
