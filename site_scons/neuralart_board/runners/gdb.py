"""gdb through any server: that of ST's tools, which is started, or one that runs already (OpenOCD, pyOCD, J-Link, QEMU,
ours). Flash that the server describes is written by gdb's ``load``; RAM as well.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.flashing.runners import EXTERNAL, GDB, INTERNAL, RAM, RESET, SERIAL, Capabilities, FlashJob
from neuralart.flashing.script import CommandScript, Word
from neuralart.text.ihex import ihex
from neuralart_board.runners import process
from neuralart_board.runners.process import Answer, ServerEnded, cube_places, reason, served
from neuralart_board.runners.programmer import Programmer
from neuralart_board.runners.session import ConnectedProbe, Identity, ProbeSession, image_parts, usb_probes

SERVER = "ST-LINK_gdbserver"
_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9a-fA-F:]+\])?:\d{1,5}")
_STARTING = 20.0
_QUIETLY = ("set pagination off", "set confirm off", "set tcp auto-retry off")


@dataclass
class Attached(ProbeSession):
    """A session with a server."""

    server: str = ""  # Where it listens, ``HOST:PORT``


@dataclass(frozen=True)
class Later:
    """What is written while an image waits for it."""

    waits: int  # Address of the function that it calls then
    parts: tuple[tuple[int, bytes], ...]  # Address and bytes


class Gdb(Programmer):
    """Writes what a gdb server reaches, by gdb."""

    name = "gdb"
    machines = frozenset({"silicon", "unicorn", "qemu"})
    capabilities = Capabilities(machines, probes=True, does=frozenset({EXTERNAL, INTERNAL, RESET, RAM, GDB, SERIAL}))
    programs = ("gdb-multiarch", "arm-none-eabi-gdb")
    get = "install gdb (Debian, Ubuntu: gdb-multiarch), or the one that comes with the Arm compiler"

    def probes(self, program: Path, folder: Path, board: Board | None = None) -> list[ConnectedProbe]:
        """Those of ST on this machine, as the system lists them."""
        return usb_probes()

    def _chosen(self, job: FlashJob, probes: object) -> str:
        # Who named a server has chosen.
        return job.probe if job.server else super()._chosen(job, usb_probes())

    @contextlib.contextmanager
    def opened(self, session: ProbeSession) -> Iterator[ProbeSession]:
        """Find the server, or start ST's for this probe and end it. NeuralArtError: there is none."""
        job = session.job
        made = Attached(job, session.program, session.serial, session.folder, server=job.server)
        if job.server:
            if not _ADDRESS.fullmatch(job.server):
                hint = "for example localhost:3333"
                raise NeuralArtError(f"'{job.server}' is no HOST:PORT", where="SERVER", hint=hint)
            yield made
            return
        server, cube = (process.find((name,), cube_places(name)) for name in (SERVER, "STM32_Programmer_CLI"))
        if server is None or cube is None:
            what = f"no {SERVER if server is None else 'STM32_Programmer_CLI, which it needs'}"
            hint = "it comes with STM32CubeIDE and STM32CubeCLT; or SERVER=HOST:PORT names a server that runs"
            raise NeuralArtError(what, where=f"runner {self.name}", hint=hint)
        port = process.free_port()
        made.server = f"localhost:{port}"
        with self._serving(made, [str(server), *server_words(job.board, session.serial, port, cube)], port):
            yield made

    @contextlib.contextmanager
    def _serving(self, session: ProbeSession, words: list[str], port: int) -> Iterator[None]:
        try:
            with served(words, session.folder, port, _STARTING):
                yield
        except ServerEnded as ended:
            what, hint = reason(str(ended), session.job.board)
            raise self.failed(session, f"{SERVER} does not start: {what}", hint or "start it by hand") from None

    def _gdb(self, session: ProbeSession, *commands: str, count: int = 0, end: str = "disconnect") -> Answer:
        assert isinstance(session, Attached)
        script = (*_QUIETLY, f"target remote {session.server}", *commands, end)
        words = [word for line in script for word in ("-ex", line)]
        return self.call(session, ["-nx", "-q", "-batch", *words], count)

    def identify(self, session: ProbeSession) -> Identity:
        """As others; a server that another program started may have another machine behind it than silicon."""
        if session.job.server and session.job.board.debug is None:
            return Identity(None)
        try:
            said = super().identify(session)
        except NeuralArtError:
            if session.job.server and not self._refused(session):
                return Identity(None)
            raise
        # What a virtual board answers where silicon has its number.
        return Identity(None) if session.job.server and not said.device_id else said

    def _refused(self, session: ProbeSession) -> bool:
        """Whether no program listens, or the connection broke."""
        return re.search(r"refused|timed out|closed|reset by peer", session.answers[-1].text, re.IGNORECASE) is not None

    def check_device(self, session: ProbeSession) -> Identity:
        """As others; without a description of the device, the server that the user named is believed."""
        if session.job.server and session.job.board.debug is None:
            return Identity(None)
        return super().check_device(session)

    def read(self, session: ProbeSession, parts: Sequence[tuple[str, int, int]]) -> Answer:
        """``dump``."""
        lines = [f"dump binary memory {name} 0x{address:x} 0x{address + count:x}" for name, address, count in parts]
        return self._gdb(session, *lines, count=sum(count for _, _, count in parts))

    def program(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``load``: gdb erases the flash blocks of its server's memory map, and writes RAM directly."""
        name = session.written(ihex(address, data).encode("ascii"), ".hex")
        # After a load gdb wants to start there: what the core was doing goes on instead.
        return self._gdb(session, "set $before = $pc", f"load {name}", "set $pc = $before", count=2 * len(data))

    def restart(self, session: ProbeSession) -> Answer:
        """Reset and run."""
        return self._gdb(session, "monitor reset")

    def put(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``load`` writes RAM as well."""
        return self.program(session, address, data)

    def run_from(self, session: ProbeSession, stack: int, entry: int) -> Answer:
        """Set both registers and detach: the core goes on."""
        return self._gdb(session, f"set $sp = 0x{stack:x}", f"set $pc = 0x{entry & ~1:x}", end="detach")

    def start(self, session: ProbeSession, elf: Path, later: Later | None = None) -> int:
        """Put an image where it is linked, let it run, and what it waits for where that belongs; compare all. Returns
        its entry. NeuralArtError: it is no image, goes to memory that the board has not, does not arrive, or does not
        come to where it waits.
        """
        parts, stack, entry = image_parts(elf, session.job.board)
        held: list[tuple[int, bytes, Path]] = []

        def dump(address: int, data: bytes) -> str:
            held.append((address, data, session.file(".read")))
            return f"dump binary memory {held[-1][2].name} 0x{address:x} 0x{address + len(data):x}"

        script = []
        for address, data in parts:
            script.append(f"load {session.written(ihex(address, data).encode('ascii'), '.hex')}")
        script += [dump(address, data) for address, data in parts]
        script += [f"set $sp = 0x{stack:x}", f"set $pc = 0x{entry & ~1:x}"]
        if later is not None:
            script += [f"tbreak *0x{later.waits:x}", "continue"]
            for address, data in later.parts:
                script.append(f"restore {session.written(data)} binary 0x{address:x}")
                script.append(dump(address, data))
        answer = self._gdb(session, *script, count=2 * sum(len(data) for _, data, _ in held), end="detach")
        for address, data, path in held:
            if not path.is_file() or read_bytes(path) != data:
                raise self.complaint(session, f"{len(data)} bytes at 0x{address:08x} do not arrive", answer)
        if answer.status:
            raise self.complaint(session, "loaded, but it does not run", answer)
        return entry

    def script(self, job: FlashJob) -> CommandScript:
        """Turn each file into one that knows its address, then load it."""
        rows: list[tuple[Word, ...]] = []
        server = job.server or "localhost:61234"
        for number, write in enumerate(self.in_order(job)):
            hex_file = f"flash_part{number}.hex"
            words = ("-I", "binary", "-O", "ihex", "--change-addresses", f"0x{write.address:08x}")
            rows.append(("arm-none-eabi-objcopy", *words, Path(write.file), hex_file))
            said = (f"target remote {server}", f"load {hex_file}", f"file {hex_file}", "compare-sections", "disconnect")
            rows.append(("gdb-multiarch", "-nx", "-q", "-batch", *(word for line in said for word in ("-ex", line))))
        return CommandScript(rows)


def server_words(board: Board, serial: str, port: int, cube: Path) -> list[str]:
    """Arguments of ST's server: SWD, one connection after the other; programmer, core, probe, loader."""
    words = ["-p", str(port), "-d", "-s", "-e", "-cp", str(cube.resolve().parent)]
    words += ["-m", str(board.debug.access_port)] if board.debug is not None and board.debug.access_port else []
    words += ["-i", serial] if serial else []
    if board.flash.get("loader"):
        words += ["-el", str(cube.resolve().parent / "ExternalLoader" / str(board.flash["loader"]))]
    return words


plugins.register("runners", Gdb.name, Gdb, protocol=1)
