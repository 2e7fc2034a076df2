"""Commands of the GDB remote serial protocol: what a payload asks of a board, and what is answered."""

from __future__ import annotations

from collections.abc import Callable

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.gdb import debugged
from neuralart_virtual.emulator.gdb.packets import LONGEST

OK = b"OK"
# errno numbers, which is what GDB shows them as.
NO_MEMORY, WRONG, REFUSED = b"E0e", b"E16", b"E05"
MONITOR_HELP = """\
reset   power up again: flashes keep what they hold, the boot chain copies the application, RAM is undefined
halt    nothing: while you can type, the core stands still
banks   the memories, and what each needs before it answers
flash   the flashes, and what of them is written
"""


def _numbers(data: bytes, count: int) -> list[int]:
    """Hexadecimal numbers with commas between them. ValueError: not so many, or none."""
    words = data.split(b",")
    if len(words) != count or not all(word.isalnum() for word in words):
        raise ValueError
    numbers = [int(word, 16) for word in words]
    if max(numbers) >= 1 << 32:
        raise ValueError
    return numbers


def _unhex(data: bytes) -> bytes:
    return bytes.fromhex(data.decode("ascii"))


class GdbCommands:
    """Answers payloads. What concerns the connection or the run is left in ``wish`` for the server."""

    def __init__(self, board: debugged.DebuggedBoard, data: Board, flashed: Callable[[], None]) -> None:
        """``data``: the board that the memories are of. ``flashed``: called when a flash was written."""
        self.board = board
        self.wish = ""  # ``detach``, ``kill``, or what has no answer yet: ``go``, ``step``, ``reset``
        self.last = debugged.Halt(debugged.TRAP)  # Why the core stands still
        self._flashed = flashed
        self._documents = {b"features": debugged.target_xml(), b"memory-map": debugged.memory_map_xml(data)}

    def answer(self, payload: bytes) -> bytes | None:
        """The reply; empty: no such command. None: there is none (now)."""
        try:
            return self._answer(payload)
        except (ValueError, IndexError):
            return WRONG
        except NeuralArtError:
            return NO_MEMORY if payload[:1] in b"mMXp" else REFUSED

    def _answer(self, payload: bytes) -> bytes | None:
        name, rest = payload[:1], payload[1:]
        if name in b"vq":
            return self._long(payload)
        if name == b"?":
            return self.stopped(self.last)
        if name in b"cCsS":
            address = rest.partition(b";")[2] if name in b"CS" else rest
            if address:
                (pc,) = _numbers(address, 1)
                self.board.set_register(15, pc.to_bytes(4, "little"))
            self.wish = "step" if name in b"sS" else "go"
            return None
        if name in b"gGpP":
            return self._registers(name, rest)
        if name in b"mMX":
            return self._memory(name, rest)
        if name in b"zZ":
            return self._point(name, rest)
        if name in (b"!", b"H", b"T"):
            return OK
        if name in (b"D", b"k"):
            self.wish = "detach" if name == b"D" else "kill"
            return OK if name == b"D" else None
        return b"OK" if payload == b"QStartNoAckMode" else b""

    @staticmethod
    def stopped(halt: debugged.Halt) -> bytes:
        """The report that the core stands still."""
        return f"T{halt.signal:02x}{halt.detail}".encode()

    def _registers(self, name: bytes, rest: bytes) -> bytes:
        board = self.board
        if name == b"g":
            return b"".join(board.register(number) for number in range(len(debugged.REGISTERS))).hex().encode()
        if name == b"G":
            data = _unhex(rest)
            for number, register in enumerate(debugged.REGISTERS):
                size = register.bits // 8
                if len(data) < size:
                    break
                board.set_register(number, data[:size])
                data = data[size:]
            return OK
        word, _, value = rest.partition(b"=")
        (number,) = _numbers(word, 1)
        if name == b"p":
            return board.register(number).hex().encode()
        if len(_unhex(value)) != debugged.REGISTERS[number].bits // 8:
            raise ValueError
        board.set_register(number, _unhex(value))
        return OK

    def _memory(self, name: bytes, rest: bytes) -> bytes:
        head, _, data = rest.partition(b":")
        address, size = _numbers(head, 2)
        if name == b"m":
            found = self.board.look(address, min(size, LONGEST // 2 - 8))
            return found.hex().encode() if found or not size else NO_MEMORY
        content = _unhex(data) if name == b"M" else data
        if len(content) != size:
            raise ValueError
        self.board.put(address, content)
        return OK

    def _point(self, name: bytes, rest: bytes) -> bytes:
        kind, address, size = _numbers(rest.partition(b";")[0], 3)
        if kind not in (*debugged.BREAKS, *debugged.WATCHES) or size == 0:
            return b""
        (self.board.insert if name == b"Z" else self.board.remove)(kind, address, size)
        return OK

    def _long(self, payload: bytes) -> bytes | None:
        name, _, rest = payload.partition(b":")
        if name == b"qSupported":
            read = "".join(f"qXfer:{document.decode()}:read+;" for document in self._documents)
            return f"PacketSize={LONGEST:x};QStartNoAckMode+;{read}".rstrip(";").encode()
        if name == b"qAttached":
            return b"1"
        if name == b"qXfer":
            return self._document(rest)
        if payload.startswith(b"qRcmd,"):
            return self._monitor(_unhex(payload[6:]).decode("utf-8", "replace").split())
        if name == b"vFlashErase":
            self.board.erase(*_numbers(rest, 2))
            return OK
        if name == b"vFlashWrite":
            head, _, data = rest.partition(b":")
            self.board.program(_numbers(head, 1)[0], data)
            return OK
        if name == b"vFlashDone":
            self._flashed()
            return OK
        if payload.startswith(b"vKill"):
            self.wish = "kill"
            return OK
        return b""

    def _document(self, rest: bytes) -> bytes:
        name, verb, _, part = rest.split(b":")
        if name not in self._documents or verb != b"read":
            return b""
        offset, size = _numbers(part, 2)
        data = self._documents[name].encode()
        return (b"m" if offset + size < len(data) else b"l") + data[offset : offset + size]

    def _monitor(self, words: list[str]) -> bytes | None:
        if words[:1] == ["reset"]:
            # cortex-debug and OpenOCD's users say 'reset halt'.
            self.wish = "reset"
            return None
        if words[:1] == ["halt"]:
            return OK
        known = {"banks": self.board.banks, "flash": self.board.flash}
        text = known[words[0]]() if words and words[0] in known else MONITOR_HELP
        return text.encode().hex().encode()
