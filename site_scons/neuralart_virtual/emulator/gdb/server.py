"""Connections of a virtual board on the loopback interface: to one debugger at a time, with a core that stands still at
first; and its serial port as a TCP port, which programs for real boards open by ``socket://``.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import MachineStop, RunFailure
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.gdb.commands import OK, REFUSED, GdbCommands
from neuralart_virtual.emulator.gdb.debugged import INTERRUPTED, SLICE, DebuggedBoard, Halt
from neuralart_virtual.emulator.gdb.packets import (
    ACK,
    INTERRUPT,
    NACK,
    START,
    BadPacket,
    Packet,
    PacketReader,
    Sign,
    encode,
)
from neuralart_virtual.emulator.image import Firmware, Load

if TYPE_CHECKING:
    from neuralart_virtual.emulator.boot_chain import Started

HOST = "127.0.0.1"
T = TypeVar("T")
# Exit status of a run that did not end well.
FAILED = 2
# Seconds that a debugger may be silent after the end before it is hung up on.
_FAREWELL = 1.0


class PowerCycle(Exception):
    """The board is to be powered up again."""


class Killed(Exception):
    """The debugger ended the run."""


def port_of(text: str) -> int:
    """The port in ``:3333``, ``3333`` or ``localhost:3333``; 0: a free one. ValueError: another machine, or no port."""
    host, _, number = text.rpartition(":")
    if host not in ("", "localhost", HOST):
        raise ValueError(f"'{text}' is not on this machine: a debugger is listened for on {HOST} only")
    if not number.isascii() or not number.isdecimal() or int(number) > 0xFFFF:
        raise ValueError(f"'{text}' is no port, for example :3333")
    return int(number)


def _listening(port: int) -> socket.socket:
    """A socket that takes connections. NeuralArtError: the port is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if os.name == "posix":
            # Elsewhere it would let two servers have one port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        what = f"cannot listen: {error.strerror or error}"
        raise NeuralArtError(what, where=f"{HOST}:{port}", hint="port 0 takes a free one") from error
    return listener


# A page in a browser can send requests to any port of this machine.
_HTTP = re.compile(rb"[A-Z]+ \S+ HTTP/")


def _accepted(listener: socket.socket) -> socket.socket:
    client, _ = listener.accept()
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return client


class _Door:
    """Who is let in by a server that serves one client at a time, and what the others are told."""

    def __init__(self, listener: socket.socket, what: str, warn: Callable[[str], None]) -> None:
        self._what, self._warn = f"port {listener.getsockname()[1]} of {HOST}: {what}", warn

    def refuse(self, client: socket.socket, why: str) -> None:
        """Hang up, with a line for both sides."""
        self._warn(f"{self._what}, refused: {why}")
        with client, contextlib.suppress(OSError):
            client.sendall(f"{self._what}, refused: {why}\n".encode())


class GdbServer:
    """Waits for a debugger and lets it control a board, power-up after power-up. A client that begins with something
    else than the protocol does is hung up on, and so is a second one.
    """

    def __init__(
        self, port: int, flashed: Callable[[], None] = lambda: None, warn: Callable[[str], None] = lambda _: None
    ) -> None:
        """Listen; ``flashed`` is called when the debugger has written a flash, ``warn`` of each client that is refused.
        NeuralArtError: the port is taken.
        """
        self._listener = _listening(port)
        self.port: int = self._listener.getsockname()[1]
        self._door = _Door(self._listener, "a GDB server for one debugger", warn)
        self.stepping = False  # The debugger wants one instruction only
        self.board: DebuggedBoard | None = None  # The last power-up: while one starts, that before it
        self._flashed = flashed
        self._commands: GdbCommands | None = None
        self._connection: socket.socket | None = None
        self._spoken = False  # The connected client has begun as a debugger does
        self._reader = PacketReader()
        self._acks = True
        self._sent = b""
        self._halted = True
        self._resetting = False

    @property
    def attached(self) -> bool:
        """A debugger is connected."""
        return self._connection is not None and self._spoken

    def hand_over(self) -> int:
        """Stop listening: another server takes the port."""
        self._listener.close()
        return self.port

    def power_up(
        self, board: Board, machine: Machine, firmware: Firmware, loads: Sequence[Load], conditions: Conditions
    ) -> DebuggedBoard:
        """A board that this server controls. As :class:`DebuggedBoard`."""
        self.board = DebuggedBoard(self, board, machine, firmware, loads, conditions)
        self._commands = GdbCommands(self.board, board, self._flashed)
        self._halted = True
        if self._resetting:
            self._resetting = False
            self._send(OK)
        return self.board

    # ---- what the board asks ----

    def wait(self) -> None:
        """Return when the core may run. PowerCycle, Killed: the debugger wants that instead."""
        self._look(0)
        while self._halted:
            self._look(None)

    def report(self, halt: Halt) -> None:
        """The core stands still: tell the debugger."""
        if halt.reason:
            self.say(halt.reason)
        self._halted = True
        if self._commands is not None:
            self._commands.last = halt
        self._send(GdbCommands.stopped(halt))

    def pause(self) -> None:
        """The core has nothing to do for now."""
        self._look(SLICE)

    def say(self, text: str) -> None:
        """Show the debugger's user a line; the core must be running, as GDB sees it."""
        if not self._halted:
            self._send(b"O" + f"{text}\n".encode().hex().encode())

    def close(self, status: int, text: str = "") -> None:
        """The run is over: the program ended with this status, as far as the debugger is concerned."""
        if self._resetting:
            self._send(f"{text}\n".encode().hex().encode())
            self._send(REFUSED)
        elif self.board is not None and self.attached:
            # What it asks before it lets the program go on is answered.
            with contextlib.suppress(PowerCycle, Killed):
                while self._halted and self.attached:
                    self._look(None)
            if text:
                self.say(text)
            self._send(b"W%02x" % status)
            self._linger()
        self.hang_up()

    def hang_up(self) -> None:
        """Close everything, whatever state it is in."""
        self._drop()
        self._listener.close()

    def until_done(self, run: Callable[[], T], said: Callable[[T], str]) -> T | None:
        """Run, again after each power cycle. Returns what the run returned; None: the debugger ended it. ``said``: what
        the debugger's user is shown of a result. Whatever ``run`` raises is raised, and shown, too.
        """
        try:
            while True:
                try:
                    result = run()
                except PowerCycle:
                    continue
                self.close(0, said(result))
                return result
        except Killed:
            return None
        except RunFailure as failure:
            self.close(FAILED, str(failure))
            raise
        finally:
            self.hang_up()

    # ---- the connection ----

    def _look(self, seconds: float | None) -> None:
        """Take what has come; wait for it so long (None: for ever)."""
        ready = select.select([each for each in (self._connection, self._listener) if each], [], [], seconds)[0]
        # What one that goes says last comes before the next one.
        while self._connection is not None and select.select([self._connection], [], [], 0)[0]:
            self._hear()
            if not self._halted:
                break  # The core is to run now
        if self._listener in ready:
            self._open()

    def _open(self) -> None:
        """Let a client in: it may become the debugger, if there is none."""
        client = _accepted(self._listener)
        if self.attached:
            self._door.refuse(client, "another debugger is connected")
            return
        self._drop()  # A client that sends nothing makes room
        self._connection, self._reader, self._acks = client, PacketReader(), True

    def _hear(self) -> None:
        """Take what the client says."""
        data = self._receive()
        if not self._spoken:
            if data and data[0] not in (ACK, NACK, INTERRUPT, START):
                client, self._connection = self._connection, None
                assert client is not None
                self._door.refuse(client, "what came is not GDB's protocol")
                return
            if not data:
                self._drop()
                return
            self._spoken = self._halted = True
        if not data:
            self._detach()
            return
        for event in self._reader.feed(data):
            if isinstance(event, Packet):
                self._take(event.payload)
            elif isinstance(event, BadPacket):
                self._acknowledge(NACK)
            else:
                self._sign(event)

    def _linger(self) -> None:
        """Give a debugger the time to hang up first, and know nothing any more."""
        while self._connection is not None and select.select([self._connection], [], [], _FAREWELL)[0]:
            data = self._receive()
            if not data:
                return
            for event in self._reader.feed(data):
                if isinstance(event, Packet):
                    self._acknowledge()
                    self._send(b"")

    def _receive(self) -> bytes:
        assert self._connection is not None
        try:
            return self._connection.recv(1 << 16)
        except OSError:
            return b""

    def _acknowledge(self, sign: int = ACK) -> None:
        if self._acks:
            self._raw(bytes([sign]))

    def _sign(self, sign: Sign) -> None:
        if sign.byte == NACK and self._acks:
            self._raw(self._sent)
        elif sign.byte == INTERRUPT and not self._halted:
            self.report(Halt(INTERRUPTED))

    def _take(self, payload: bytes) -> None:
        assert self._commands is not None  # connections are taken once there is a board
        self._acknowledge()
        reply = self._commands.answer(payload)
        if reply is not None:
            self._send(reply)
        if payload == b"QStartNoAckMode":
            self._acks = False
        wish, self._commands.wish = self._commands.wish, ""
        if wish in ("go", "step"):
            self._halted, self.stepping = False, wish == "step"
        elif wish == "detach":
            self._detach()
        elif wish == "kill":
            raise Killed
        elif wish == "reset":
            self._resetting = True
            raise PowerCycle

    def _detach(self) -> None:
        """The program runs on without a debugger; another one may come."""
        self._drop()
        self._halted = self.stepping = False
        if self.board is not None:
            self.board.let_go()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._spoken = False

    def _send(self, payload: bytes) -> None:
        self._sent = encode(payload)
        self._raw(self._sent)

    def _raw(self, data: bytes) -> None:
        if self._connection is not None:
            # A debugger that has gone is seen at the next look.
            with contextlib.suppress(OSError):
                self._connection.sendall(data)


# Seconds for the machine, or the clients, before the other side is looked at.
_SLICE = 0.005


class SerialServer:
    """One client at a time; others are hung up on, and one that speaks HTTP. What the board sends while there is none
    is lost.
    """

    def __init__(self, port: int, warn: Callable[[str], None] = lambda _: None) -> None:
        """Listen (0: on a free port); ``warn`` is told of each client that is refused. NeuralArtError: it is taken."""
        self._listener = _listening(port)
        self._door = _Door(self._listener, "a serial port for one client", warn)
        self._spoken = False  # Something came from the client
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
            client = _accepted(self._listener)
            if free:
                self._client, self._spoken = client, False
            else:
                self._door.refuse(client, "another program has it")
        data = b""
        if self._client in ready:
            with contextlib.suppress(OSError):
                data = self._client.recv(1 << 16)
            if not self._spoken and _HTTP.match(data):
                self._door.refuse(self._client, "what came is a request of a browser")
                return b""
            self._spoken = True
            if not data:
                self._client.close()
        return data

    def serve(self, started: Started, gdb: GdbServer | None, say: Callable[[str], None]) -> NoReturn:
        """Hand bytes to and fro; ``say`` is told why a core stops, which is no end. MachineStop: no debugger can."""
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
