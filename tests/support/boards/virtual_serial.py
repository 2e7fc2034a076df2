"""Virtual boards as `neuralart run --gdb --serial` offers them to programs for real boards."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from neuralart import cli
from neuralart_board.runners.process import free_port
from support.boards.gdb_rig import Client
from support.boards.images import Sect, elf

# Where a board's code begins, and a stack.
PLACES = {"stm32n6570-dk": (0x34000400, 0x30001000), "mps3-an547": (0x10000000, 0x30001000)}


def asleep(path: Path, board: str) -> Path:
    """An image that does nothing: a board in development mode, before anything is loaded."""
    at, stack = PLACES[board.removesuffix("-psram")]
    code = struct.pack("<2I", stack, at + 0x41).ljust(0x40, b"\0") + struct.pack("<2H", 0xBF30, 0xE7FD)
    path.write_bytes(elf((Sect(".text", at, code, 6),), entry=at + 0x41))
    return path


@dataclass
class Offered:
    """A board, and how it is reached."""

    board: str
    gdb: int
    serial: int

    @property
    def words(self) -> list[str]:
        return [
            "--board", self.board, "--server", f"localhost:{self.gdb}", "--port", f"socket://127.0.0.1:{self.serial}"
        ]  # fmt: skip


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


@contextlib.contextmanager
def offered(board: str, folder: Path, *more: str) -> Iterator[Offered]:
    """Run it until the block ends."""
    made = Offered(board, free_port(), free_port())
    words = ["--gdb", f":{made.gdb}", "--serial", f":{made.serial}", *more]
    words = ["run", "--board", board, "--elf", str(asleep(folder / f"{board}.elf", board)), *words]
    thread = threading.Thread(target=cli.main, args=(words,), daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    # The serial port listens first; a connection would be gdb's only one.
    while thread.is_alive() and time.monotonic() < deadline and _free(made.gdb):
        time.sleep(0.02)
    try:
        yield made
    finally:
        while thread.is_alive() and time.monotonic() < deadline + 60:
            with contextlib.suppress(OSError):
                client = Client(made.gdb)
                client.send(b"$k#6b")
                thread.join(5)
                client.close()
            thread.join(0.05)
