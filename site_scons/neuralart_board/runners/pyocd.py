"""pyOCD: internal flash and RAM of the devices that its packs describe."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import GDB, INTERNAL, RAM, RESET, SERIAL, Capabilities, FlashJob, Refusal
from neuralart.flashing.script import CommandScript, Word
from neuralart_board.runners import process
from neuralart_board.runners.process import Answer
from neuralart_board.runners.programmer import SILICON, Programmer, needs_debug
from neuralart_board.runners.session import ConnectedProbe, ProbeSession


class PyOcd(Programmer):
    """Writes silicon by pyOCD."""

    name = "pyocd"
    capabilities = Capabilities(SILICON, probes=True, does=frozenset({INTERNAL, RESET, RAM, GDB, SERIAL}))
    refusals = (
        needs_debug("pyocd"),
        Refusal(
            lambda of: not any(region.sector for region in of["board"].memory),
            "runner pyocd writes internal flash only, and {board.name} has none",
            "RUNNER=cubeprogrammer writes external flash",
        ),
    )
    programs = ("pyocd",)
    get = "install pyOCD: pipx install pyocd, then 'pyocd pack install' the device"

    def probes(self, program: Path, folder: Path, board: Board | None = None) -> list[ConnectedProbe]:
        """By ``pyocd json``."""
        answer = process.call([str(program), "json", "--probes"], folder, process.CONNECTING)
        try:
            rows = json.JSONDecoder().raw_decode(answer.text, answer.text.index("{"))[0]["boards"]
            found = [ConnectedProbe(row["unique_id"], row.get("board_name") or row.get("info", "")) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            what = "it does not come to an end" if answer.late else "it lists no probes in JSON"
            hint = "pyOCD 0.34 or newer does: pipx upgrade pyocd"
            raise NeuralArtError(what, where=str(program), hint=hint) from error
        if not found:
            raise NeuralArtError("no probe answers", where=self.name, hint="plug in the board's probe")
        return found

    def _options(self, job: FlashJob, serial: str) -> list[str]:
        assert job.board.debug is not None
        return ["-t", job.board.debug.pyocd, *(["-u", serial] if serial else [])]

    def _pyocd(self, session: ProbeSession, verb: str, *words: str, count: int = 0) -> Answer:
        return self.call(session, [verb, *self._options(session.job, session.serial), *words], count)

    def read(self, session: ProbeSession, parts: Sequence[tuple[str, int, int]]) -> Answer:
        """``savemem``."""
        lines = [f"savemem 0x{address:08x} {count} {name}" for name, address, count in parts]
        words = [word for line in lines for word in ("-c", line)]
        return self._pyocd(session, "commander", *words, count=sum(count for _, _, count in parts))

    def program(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``load``, which erases sectors."""
        name = session.written(data)
        words = ("--format", "bin", "--base-address", f"0x{address:08x}", "--erase", "sector", "--no-reset", name)
        return self._pyocd(session, "load", *words, count=2 * len(data))

    def put(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """``loadmem``."""
        name = session.written(data)
        return self._pyocd(session, "commander", "-c", f"loadmem 0x{address:08x} {name}", count=len(data))

    def run_from(self, session: ProbeSession, stack: int, entry: int) -> Answer:
        """Set both registers and go on."""
        return self._pyocd(session, "commander", "-c", f"halt; wreg sp 0x{stack:x}; wreg pc 0x{entry & ~1:x}; go")

    def restart(self, session: ProbeSession) -> Answer:
        """Reset and run."""
        return self._pyocd(session, "reset")

    def script(self, job: FlashJob) -> CommandScript:
        """Load each file, then reset."""
        options = self._options(job, job.probe)
        rows: list[tuple[Word, ...]] = []
        for write in self.in_order(job):
            where = ("--format", "bin", "--base-address", f"0x{write.address:08x}")
            rows.append(("pyocd", "load", *options, *where, Path(write.file)))
        return CommandScript((*rows, ("pyocd", "reset", *options)))


plugins.register("runners", PyOcd.name, PyOcd, protocol=1)
