"""A QEMU machine: the true Armv8.1-M core with MVE, at the addresses of an FPGA board that QEMU knows. One process is
started and, whatever happens, ended again: that one and no other.
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import MachineStop

PROGRAM = "qemu-system-arm"
# Seconds after which a process that does not end when asked is killed.
PATIENCE = 5.0


def arguments(
    program: str, machine: Machine, elf: Path, loads: Sequence[tuple[Path, int]], gdb: int | None = None
) -> list[str]:
    """The command line, with raw files by address; ``gdb``: port of QEMU's GDB server; None: there is none."""
    command = [program, "-M", machine.model, "-display", "none", "-monitor", "none", "-serial", "stdio"]
    command += ["-kernel", str(elf)]
    command += [] if gdb is None else ["-S", "-gdb", f"tcp:127.0.0.1:{gdb}"]
    for path, address in loads:
        file = str(path).replace(",", ",,")  # A comma in a value is doubled (QEMU manual, "Device loader")
        command += ["-device", f"loader,file={file},addr=0x{address:08x},force-raw=on"]
    return command


class QemuMachine:
    """One run of QEMU, for ``with``. It is a :class:`~neuralart_virtual.emulator.host_link.Transport`."""

    def __init__(
        self,
        board: Board,
        machine: Machine,
        elf: Path,
        loads: Sequence[tuple[Path, int]] = (),
        gdb: int | None = None,
        words: Sequence[str] = (),
    ) -> None:
        """Start QEMU with more words of its command line. NeuralArtError: not there, or a file is missing."""
        program = shutil.which(PROGRAM)
        if program is None:
            hint = "Debian: apt-get install --no-install-recommends qemu-system-arm; elsewhere: qemu.org"
            raise NeuralArtError(f"machine qemu of board {board.name} needs {PROGRAM}", hint=hint)
        if not machine.model:
            raise NeuralArtError("machine qemu has no 'model'", where=board.where or f"board {board.name}")
        for path in (elf, *(path for path, _ in loads)):
            if not path.is_file():
                raise NeuralArtError("no such file", where=str(path))
        # An empty file has nothing to load, and QEMU refuses it.
        filled = [(path, address) for path, address in loads if path.stat().st_size]
        try:
            command, pipe = [*arguments(program, machine, elf, filled, gdb), *words], subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        except OSError as error:
            raise NeuralArtError(f"cannot start: {error.strerror}", where=program) from error
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._to_send: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._complaints = b""
        self._ended = False
        works = (self._receive, self._send, self._listen)
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> QemuMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _receive(self) -> None:
        stream: IO[bytes] | None = self._process.stdout
        assert stream is not None
        while data := stream.read(1 << 16):
            self._received.put(data)
        self._received.put(b"")

    def _send(self) -> None:
        stream: IO[bytes] | None = self._process.stdin
        assert stream is not None
        while (data := self._to_send.get()) is not None:
            view = memoryview(data)
            try:
                while view:
                    view = view[stream.write(view) or 0 :]
            except (OSError, ValueError):
                return  # QEMU has ended: read() says so

    def _listen(self) -> None:
        stream: IO[bytes] | None = self._process.stderr
        assert stream is not None
        while data := stream.read(1 << 16):
            self._complaints = (self._complaints + data)[-(1 << 16) :]

    def write(self, data: bytes) -> None:
        """Bytes for the console, sent as fast as the firmware takes them."""
        self._to_send.put(data)

    def read(self, seconds: float) -> bytes:
        """Bytes from the console. MachineStop: QEMU ended."""
        if not self._ended:
            try:
                data = self._received.get(timeout=seconds)
            except queue.Empty:
                return b""
            if data:
                return data
            self._ended = True
        raise MachineStop(self._last_words())

    def _last_words(self) -> str:
        try:
            code = f"exit code {self._process.wait(PATIENCE)}"
        except subprocess.TimeoutExpired:
            code = "console closed"
        self._threads[2].join(PATIENCE)
        lines = self._complaints.decode("utf-8", "replace").splitlines()
        # A lockup of the core dumps registers behind the line that says why.
        named = [line for line in lines if "Lockup" in line or line.startswith(PROGRAM)]
        last = (named or [line for line in lines if line.strip()] or ["it says nothing"])[-1]
        return f"{PROGRAM} ended early ({code}): {last}"

    def waiting_for(self) -> str:
        return f"{PROGRAM} still runs"

    def spent(self) -> float | None:
        """Seconds of processor time of QEMU; None where the system does not show them as files."""
        try:
            text = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8")
            # Behind the name, which may hold anything: the 12th and 13th field are ticks as user and for the user.
            user, system = text.rpartition(")")[2].split()[11:13]
            return (int(user) + int(system)) / float(os.sysconf("SC_CLK_TCK"))
        except (OSError, ValueError, AttributeError):
            return None

    def idle(self) -> bool:
        return False  # It is unknown

    def close(self) -> None:
        """End the process, if it has not ended."""
        self._to_send.put(None)
        self._process.terminate()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    continue  # unsent bytes for a process that is gone
