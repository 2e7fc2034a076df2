"""A board, which is a stream of bytes, behind a port that other programs open: TCP, or a pseudo terminal."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def _pumped(board: Any, get: Callable[[], bytes], put: Callable[[bytes], Any]) -> Iterator[None]:
    """``get`` waits a little, and returns nothing when nothing came."""
    ended = threading.Event()

    def pump() -> None:
        while not ended.is_set():
            board.write(get())
            while said := board.read(0.01):
                put(said)

    thread = threading.Thread(target=pump)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(10)


@contextlib.contextmanager
def on_tcp(board: Any) -> Iterator[tuple[str, int]]:
    """Host and port; one client."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        connection: list[socket.socket] = []

        def get() -> bytes:
            ready, _, _ = select.select(connection or [server], [], [], 0.01)
            if not ready:
                return b""
            if not connection:
                connection.append(stack.enter_context(server.accept()[0]))
                return b""
            data = connection[0].recv(4096)
            if not data:
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
