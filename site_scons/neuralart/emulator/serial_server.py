"""The serial port of a virtual board as a TCP port of this machine: programs for real boards open it by ``socket://``."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from typing import NoReturn

from neuralart.emulator import MachineStop
from neuralart.emulator.gdb.server import HOST, GdbServer
from neuralart.emulator.starting import Started
from neuralart.errors import NeuralArtError

# Seconds for the machine, or the clients, before the other side is looked at.
_SLICE = 0.005


class SerialServer:
    """One client at a time, others are hung up on. What the board sends while there is none is lost."""

    def __init__(self, port: int) -> None:
        """Listen (0: on a free port). NeuralArtError: the port is taken."""
        try:
            self._listener = socket.create_server((HOST, port))
        except OSError as error:
            what = f"cannot listen: {error.strerror or error}"
            raise NeuralArtError(what, where=f"{HOST}:{port}", hint="port 0 takes a free one") from error
        self.url = f"socket://{HOST}:{self._listener.getsockname()[1]}"
        self._client = socket.socket()
        self._client.close()  # There is none yet

    def close(self) -> None:
        """Hang up."""
        self._client.close()
        self._listener.close()

    def _receive(self, seconds: float) -> bytes:
        free = self._client.fileno() < 0
        ready = select.select([self._listener] if free else [self._listener, self._client], [], [], seconds)[0]
        if self._listener in ready:
            client, _ = self._listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if free:
                self._client = client
            else:
                client.close()  # As a port that another program has
        data = b""
        if self._client in ready:
            with contextlib.suppress(OSError):
                data = self._client.recv(1 << 16)
            if not data:
                self._client.close()
        return data

    def serve(self, started: Started, gdb: GdbServer | None, say: Callable[[str], None]) -> NoReturn:
        """Hand bytes to and fro. ``say``: told why the core of a debugged board stops, which ends nothing: a debugger
        may load another image. MachineStop: no debugger can.
        """
        said = ""
        while True:
            data = b""
            try:
                data = started.transport.read(_SLICE)
            except MachineStop as stop:
                if gdb is None or started.board is None:
                    raise
                if str(stop) != said:
                    said = str(stop)
                    say(said)
                gdb.pause()
            with contextlib.suppress(OSError):  # No client, or one that has gone
                self._client.sendall(data)
            # A core that waits for input has nothing to do until some comes.
            if data := self._receive(_SLICE if started.transport.idle() else 0):
                started.transport.write(data)
