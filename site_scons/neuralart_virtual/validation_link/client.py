"""A client of the validation protocol: what a board is, what its networks compute, what its memory holds."""

from __future__ import annotations

import re
from dataclasses import dataclass

from neuralart.errors import NeuralArtError, nearest
from neuralart_virtual.validation_link.messages import (
    LARGEST,
    SMALLEST,
    ByteStream,
    Fields,
    PacketLink,
    damaged,
    decode,
    encode,
)

_SYNC, _SYSTEM, _NETWORK, _RUN, _READ, _WRITE, _CHECKSUM = 0, 1, 10, 11, 20, 21, 22
_STATES = ("idle", "waiting", "processing", "done", "error")
_IDLE, _WAITING, _PROCESSING, _DONE, _ERROR = range(5)
_ERRORS = "none,invalid size,invalid format,invalid state,invalid parameter,invalid shape,invalid command,"
_ERRORS += "not initialized,memory overflow,error,generic error"
_GENERIC = 10
_MOST_LAYERS, _MOST_TENSORS = 1 << 16, 1 << 10
_OBSERVER, _MEMORY = 1, 8  # Capabilities of a board
IO_ONLY, PER_LAYER, WITH_DATA, PERF = 1, 3, 7, 0x209
"""What a run tells: outputs; also layers; also their tensors; or durations alone, of inputs that the board makes up."""
_LAST, _NO_DATA = 256, 512
_INTERNAL, _LAST_LAYER, _WITHOUT_TENSOR = 1, 2, 4
_NEWEST = 0x0301
# Our firmware signs a network with this, the vendor's with other texts.
_STAMP = re.compile(r"[0-9a-f]{16}")
_MOST_NETWORKS, _MOST_LOGS = 64, 100_000


@dataclass(frozen=True)
class LayerRecord:
    """A layer that a board computed, or the whole network."""

    operator: Fields
    tensors: tuple[Fields, ...]  # Its outputs, in messages ``Tensor``
    lines: tuple[str, ...]  # What the board said of it


def check_stamp(network: Fields, stamp: str, where: str) -> None:
    """NeuralArtError: the firmware says that it has another build of a network than the one with this ABI stamp."""
    said = network["signature"]
    if _STAMP.fullmatch(said) and said != stamp:
        what = f"the board runs another build of network '{network['name']}': {said}, not {stamp}"
        raise NeuralArtError(what, where=where, hint="flash- writes this one")


def bsd16(data: bytes) -> int:
    """The protocol's checksum: 16 bits, rotated to the right before each byte is added."""
    total = 0
    for byte in data:
        total = (total >> 1 | (total & 1) << 15) + byte & 0xFFFF
    return total


class ValidationClient:
    """Talks with one board. Each request waits for its answers; lines of the board's log are kept in ``lines``."""

    def __init__(self, stream: ByteStream) -> None:
        """Find the board. NeuralArtError: no board answers, or speaks a newer version."""
        self._link = PacketLink(stream)
        self.lines: list[str] = []
        self._id = 1
        self.sync: Fields = self._link.find()["sync"]
        if (version := self.sync["version"]) >> 8 != _NEWEST >> 8 or version > _NEWEST:
            raise damaged(f"the board speaks version {version >> 8}.{version & 255} of the protocol, this program 3.1")
        self.framing = f"3.{self._link.header}"
        self._request(_SYSTEM)
        self.system = decode(f"System3{self._link.header}", self._answer(_IDLE, "system", 0.5)["system"])
        # From the next packet on, in both directions.
        if (size := self.system.get("packet", 0)) > LARGEST:
            raise damaged(f"the board announces packets of {size} bytes, at most are {LARGEST}")
        self._link.size = size or SMALLEST

    def close(self) -> None:
        """Bring packets back to the size that the next program expects; the port stays open."""
        if self._link.size != SMALLEST:
            self._request(_SYNC)

    def _request(self, command: int, param: int = 0, name: str = "", option: int = 0) -> None:
        self._id = self._id % 0xFFFF_FFFF + 1
        fields = {"id": self._id, "command": command, "param": param, "name": name, "option": option}
        self._link.send(encode("Request", fields))

    def _ack(self) -> None:
        self._link.send(encode("Ack", {"param": 0, "error": 0}))

    def _send_data(self, address: int, data: bytes) -> None:
        self._link.send(encode("Data", {"type": 0, "size": len(data), "address": address, "content": data}))

    def _any_answer(self, seconds: float, kind: str) -> Fields:
        """The next message that is no text; texts are acknowledged, as the board waits for that."""
        for _ in range(_MOST_LOGS):
            answer = decode("Response", self._link.receive(seconds, f"'{kind}' is due"))
            if answer["id"] != self._id:
                raise damaged(f"the board answers request {answer['id']}, asked was {self._id}", "who else asks it?")
            if "log" not in answer:
                return answer
            self.lines.append(answer["log"]["text"])
            self._ack()
        raise damaged(f"the board sends more than {_MOST_LOGS} lines of text")

    def _answer(self, state: int, kind: str, seconds: float) -> Fields:
        answer = self._any_answer(seconds, kind)
        said = answer["state"]
        if said == _ERROR and "ack" in answer:
            error = answer["ack"]["error"]
            raise damaged(f"the board refuses: {_ERRORS.split(',')[min(error, _GENERIC)]} ({error})")
        if said != state or kind not in answer:
            what = ", ".join(each for each in answer if each not in ("id", "state"))
            named = _STATES[min(said, _ERROR)]
            raise damaged(f"the board sends '{what}' in state {named}; '{kind}' is due in state {_STATES[state]}")
        return answer

    def networks(self) -> list[Fields]:
        """Every network of the board, as ``Model`` messages. NeuralArtError: one of them failed to start."""
        found: list[Fields] = []
        while len(found) < _MOST_NETWORKS:
            self._request(_NETWORK, param=len(found))
            answer = self._any_answer(5.0, "model")
            if answer["state"] == _ERROR and answer.get("ack", {}).get("error", _GENERIC) != _GENERIC:
                return found
            if "model" not in answer or answer["state"] != _IDLE:
                raise damaged(f"network {len(found)} of the board failed to start")
            found.append(answer["model"])
        raise damaged(f"the board has more than {_MOST_NETWORKS} networks")

    def network(self, name: str) -> Fields:
        """One network; empty: the only one. NeuralArtError: none, or several."""
        found = self.networks()
        chosen = [each for each in found if name in ("", each["name"])]
        if len(chosen) != 1:
            what = f"no network '{name}'" if name else f"{len(found)} networks"
            raise damaged(f"the board has {what}", nearest(name, [each["name"] for each in found]))
        return chosen[0]

    def run(
        self, network: Fields, inputs: list[bytes], mode: int = IO_ONLY, first: bool = True, counters: int = 0
    ) -> list[LayerRecord]:
        """One inference, ``first`` or not of a batch: its layers if asked for, then the whole of it. With PERF, an
        input is the one element that fills it. ``counters``: what a firmware for profiling counts. NeuralArtError:
        another number of inputs, or the board refuses them, or misbehaves.
        """
        if (given := len(inputs)) != (wanted := len(network["inputs"])):
            raise damaged(f"{given} inputs for network '{network['name']}', which has {wanted}")
        if mode & PER_LAYER != IO_ONLY and not self.sync["capability"] & _OBSERVER:
            raise damaged("the board's firmware cannot observe layers", "ask for whole inferences")
        self._request(_RUN, mode, network["name"], counters << 8 | int(first))
        self._answer(_WAITING, "ack", 1.0)
        for number, (data, into) in enumerate(zip(inputs, network["inputs"], strict=True)):
            self._send_data(into["address"], data)
            self._answer(_PROCESSING if number + 1 == given else _WAITING, "ack", 10.0)
            self._ack()
        layers: list[LayerRecord] = []
        more = True
        while len(layers) < _MOST_LAYERS:
            seen = len(self.lines)
            operator = self._answer(_PROCESSING, "operator", 50.0)["operator"]
            flags = operator["type"] >> 24
            if not more or not flags & _INTERNAL:
                break
            tensors = () if flags & _WITHOUT_TENSOR else tuple(self._layer_tensors())
            layers.append(LayerRecord(operator, tensors, tuple(self.lines[seen:])))
            more = not flags & _LAST_LAYER
        else:
            raise damaged(f"the board's network has more than {_MOST_LAYERS} layers")
        outputs = tuple(self._output(last=not left) for left in reversed(range(len(network["outputs"]))))
        return [*layers, LayerRecord(operator, outputs, tuple(self.lines[seen:]))]

    def _tensor(self, state: int, seconds: float, kind: str) -> Fields:
        tensor: Fields = self._answer(state, "tensor", seconds)["tensor"]
        data = tensor["data"]
        if len(data["content"]) != data["size"] and not tensor["description"]["flags"] & _NO_DATA:
            raise damaged(f"{kind} has {len(data['content'])} bytes, {data['size']} are announced")
        return tensor

    def _layer_tensors(self) -> list[Fields]:
        tensors: list[Fields] = []
        while len(tensors) < _MOST_TENSORS:
            tensors.append(self._tensor(_PROCESSING, 10.0, "a tensor of a layer"))
            if tensors[-1]["description"]["flags"] & _LAST:
                return tensors
        raise damaged(f"a layer of the board has more than {_MOST_TENSORS} tensors")

    def _output(self, last: bool) -> Fields:
        tensor = self._tensor(_PROCESSING if not last else _DONE, 50.0, "an output")
        if last != bool(tensor["description"]["flags"] & _LAST):
            raise damaged("an output is wrongly marked as the last one, or not marked")
        return tensor

    def _memory(self, command: int, address: int, size: int, state: int) -> int:
        if not self.sync["capability"] & _MEMORY:
            raise damaged("the board's firmware gives no access to its memory")
        if not 0 < address < address + max(size, 1) <= 1 << 32:
            raise damaged(f"{size} bytes at 0x{address:x} are no memory of a board")
        self._request(command, address, option=size)
        return int(self._answer(state, "ack", 0.5)["ack"]["param"])

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the board's memory. NeuralArtError: refused, or pieces of another size came."""
        out, chunk = b"", self._memory(_READ, address, size, _PROCESSING if size else _DONE)
        while len(out) < size:
            last = size - len(out) <= chunk
            part = self._answer(_DONE if last else _PROCESSING, "data", 10.0)["data"]["content"]
            if len(part) != min(chunk, size - len(out)) or not part:
                raise damaged(f"a piece of the board's memory has {len(part)} bytes, {chunk} are announced")
            out += part
            if not last:
                self._ack()
        return out

    def write(self, address: int, data: bytes) -> None:
        """Write to the board's memory. NeuralArtError: refused, or the board's checksum differs."""
        chunk = self._memory(_WRITE, address, len(data), _WAITING if data else _DONE)
        if data and not chunk:
            raise damaged("the board takes pieces of 0 bytes")
        for at in range(0, len(data), max(chunk, 1)):
            part = data[at : at + chunk]
            self._send_data(address + at, part)
            said = self._answer(_WAITING if data[at + chunk :] else _DONE, "ack", 10.0)["ack"]["param"]
            if said != (sent := bsd16(part)):
                raise damaged(f"checksum 0x{said:04x} of the bytes from 0x{address + at:08x}, sent was 0x{sent:04x}")

    def checksum(self, address: int, size: int) -> int:
        """The board's :func:`bsd16` of a piece of its memory. NeuralArtError: refused."""
        return self._memory(_CHECKSUM, address, size, _DONE)
