"""OpenOCD: for boards that it knows; the board's file names the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.files import read_bytes, write_bytes
from neuralart.flashing.runners import EXTERNAL, GDB, INTERNAL, RAM, RESET, SCRIPTS, SERIAL, Capabilities, FlashJob
from neuralart.flashing.script import Around, Beside, CommandScript, Word
from neuralart_board.runners.process import Answer
from neuralart_board.runners.programmer import SILICON, Programmer, needs_debug
from neuralart_board.runners.session import ConnectedProbe, ProbeSession, usb_probes

_CONFIG = "board.cfg"


class OpenOcd(Programmer):
    """Writes silicon by OpenOCD."""

    name = "openocd"
    capabilities = Capabilities(SILICON, probes=True, does=frozenset({EXTERNAL, INTERNAL, RESET, RAM, GDB, SERIAL}))
    refusals = (needs_debug("openocd"),)
    programs = ("openocd",)
    get = "install OpenOCD 0.12 or newer (Debian, Ubuntu: openocd)"

    def probes(self, program: Path, folder: Path, board: Board | None = None) -> list[ConnectedProbe]:
        """It lists none: those of ST on this machine, as the system lists them."""
        return usb_probes()

    def _openocd(self, session: ProbeSession, *commands: str, count: int = 0) -> Answer:
        debug = session.job.board.debug
        assert debug is not None
        # OpenOCD puts the name into a line of Tcl: a copy has a name that means nothing there.
        write_bytes(session.folder / _CONFIG, read_bytes(Path(debug.openocd)))
        chosen = [f"adapter serial {session.serial}"] if session.serial else []
        lines = (*chosen, "init", *commands, "shutdown")
        words = ["-s", str(Path(debug.openocd).parent), "-f", _CONFIG]
        return self.call(session, [*words, *(word for line in lines for word in ("-c", line))], count)

    def read(self, session: ProbeSession, parts: Sequence[tuple[str, int, int]]) -> Answer:
        """``dump_image``, of a core that stands still after a reset: then external flash is set up."""
        lines = [f"dump_image {name} 0x{address:08x} 0x{count:x}" for name, address, count in parts]
        return self._openocd(session, "reset init", *lines, count=sum(count for _, _, count in parts))

    def program(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``flash write_image``, which erases what it writes."""
        line = f"flash write_image erase {session.written(data)} 0x{address:08x} bin"
        return self._openocd(session, "reset init", line, count=2 * len(data))

    def put(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``load_image``."""
        name = session.written(data)
        return self._openocd(session, "reset init", f"load_image {name} 0x{address:08x} bin", count=len(data))

    def run_from(self, session: ProbeSession, stack: int, entry: int) -> Answer:
        """Set both registers and go on."""
        return self._openocd(session, "halt", f"reg sp 0x{stack:08x}", f"reg pc 0x{entry & ~1:08x}", "resume")

    def restart(self, session: ProbeSession) -> Answer:
        """Reset and run."""
        return self._openocd(session, "reset run")

    def script(self, job: FlashJob) -> CommandScript:
        """One call for each file, then a reset; the board's configuration lies beside the script."""
        debug = job.board.debug
        assert debug is not None
        head = ("openocd", "-f", Beside(Path(debug.openocd), f"{SCRIPTS}.cfg"))
        serial = ("-c", f"adapter serial {job.probe}") if job.probe else ()
        rows: list[tuple[Word, ...]] = []
        for write in self.in_order(job):
            line = Around("program ", Path(write.file), f" 0x{write.address:08x} verify")
            rows.append((*head, *serial, "-c", line, "-c", "shutdown"))
        return CommandScript((*rows, (*head, *serial, "-c", "init", "-c", "reset run", "-c", "shutdown")))


plugins.register("runners", OpenOcd.name, OpenOcd, protocol=1)
