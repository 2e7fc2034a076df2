"""A board, which is a stream of bytes, behind a port that other programs open: TCP, or a pseudo terminal."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any


@contextlib.contextmanager
def _pumped(board: Any, get: Callable[[], bytes | None], put: Callable[[bytes], Any]) -> Iterator[None]:
    """``get`` waits a little, and returns nothing when nothing came, None while nobody is there."""
    ended = threading.Event()

    def pump() -> None:
        while not ended.is_set():
            if (data := get()) is None:
                continue
            board.write(data)
            while said := board.read(0.01):
                put(said)

    thread = threading.Thread(target=pump)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(10)


class OverTelnet:
    """A board behind a terminal server of RFC 2217: data and commands, which set the baud rate, in one stream."""

    def __init__(self, board: Any) -> None:
        import serial
        from serial.rfc2217 import PortManager

        self._board, self._answers = board, bytearray()
        self.settings = serial.serial_for_url("loop://")  # Takes what a client sets
        self._manager = PortManager(self.settings, SimpleNamespace(write=self._answers.extend))

    def write(self, data: bytes) -> None:
        self._board.write(b"".join(self._manager.filter(data)))

    def read(self, seconds: float) -> bytes:
        said = bytes(self._answers) + b"".join(self._manager.escape(self._board.read(seconds)))
        self._answers.clear()
        return said


@contextlib.contextmanager
def on_tcp(board: Any) -> Iterator[tuple[str, int]]:
    """Host and port; one client."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        connection: list[socket.socket] = []

        def get() -> bytes | None:
            ready, _, _ = select.select(connection or [server], [], [], 0.01)
            if not connection:
                if ready:
                    connection.append(stack.enter_context(server.accept()[0]))
                return None
            data = connection[0].recv(4096) if ready else b""
            if ready and not data:
                connection.clear()  # Gone; another one may come
            return data

        def put(said: bytes) -> None:
            with contextlib.suppress(OSError):
                if connection:
                    connection[0].sendall(said)

        with _pumped(board, get, put):
            yield server.getsockname()


@contextlib.contextmanager
def on_terminal(board: Any) -> Iterator[str]:
    """The name of a terminal that takes every byte as it is."""
    import tty

    ours, theirs = os.openpty()
    tty.setraw(theirs)

    def get() -> bytes:
        return os.read(ours, 4096) if select.select([ours], [], [], 0.01)[0] else b""

    try:
        with _pumped(board, get, lambda said: os.write(ours, said)):
            yield os.ttyname(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
