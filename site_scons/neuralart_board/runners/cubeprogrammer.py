"""STM32CubeProgrammer: internal flash, and external flash by the loader that the board names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from neuralart import plugins
from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners import EXTERNAL, INTERNAL, RAM, RESET, SERIAL, Capabilities, FlashJob, Refusal
from neuralart.flashing.script import CommandScript, Loader, Word
from neuralart.vendor.programs import fits
from neuralart_board.runners import process
from neuralart_board.runners.process import Answer, reason, switches_of
from neuralart_board.runners.programmer import SILICON, Programmer, needs_debug
from neuralart_board.runners.session import ConnectedProbe, Identity, ProbeSession, number_in

_VERSION = re.compile(r"STM32CubeProgrammer(?: version:?)?\s+v?(\d+(?:\.\d+)+)")
_UNITS = {"K": 1 << 10, "M": 1 << 20}
# What it prints for each way to connect.
_MODES = {"HOTPLUG": "Hot Plug", "UR": "Under Reset", "NORMAL": "Normal", "POWERDOWN": "Power Down"}


def _is_external(board: Board, address: int) -> bool:
    base = int(board.flash.get("base", -1))
    return 0 <= base <= address < base + int(board.flash.get("size", 0))


class CubeProgrammer(Programmer):
    """Writes silicon by STM32_Programmer_CLI of ST."""

    name = "cubeprogrammer"
    capabilities = Capabilities(SILICON, probes=True, does=frozenset({EXTERNAL, INTERNAL, RESET, RAM, SERIAL}))
    refusals = (
        needs_debug("device_id"),
        Refusal(
            lambda of: "base" in of["board"].flash and not of["board"].flash.get("loader"),
            "board {board.name} names no external loader for its flash",
            "'flash: loader' in the board's file does",
        ),
    )
    programs = ("STM32_Programmer_CLI", "STM32_Programmer_CLI.sh")
    places = process.cube_places("STM32_Programmer_CLI")
    get = "install STM32CubeProgrammer or STM32CubeCLT of ST, and put its bin folder on PATH"

    def probes(self, program: Path, folder: Path, board: Board | None = None) -> list[ConnectedProbe]:
        """By ``-l st-link``, whose first lines also say the version."""
        answer = process.call([str(program), "-l", "st-link"], folder, process.CONNECTING)
        version = _VERSION.search(answer.text)
        if version is None:
            what = "it does not say that it is STM32CubeProgrammer" if not answer.late else "it does not come to an end"
            raise NeuralArtError(what, where=str(program), hint="run it by hand with --version")
        wanted = board.debug.programmer if board is not None and board.debug is not None else ""
        if wanted and board is not None and not fits(version[1], wanted):
            what = f"version {version[1]} does not know {board.device}, needed: {wanted}"
            raise NeuralArtError(what, where=str(program), hint=self.get)
        found = []
        for block in re.split(r"ST-?Link Probe \d+\s*:", answer.text, flags=re.IGNORECASE)[1:]:
            said = [number_in(block, label) for label in ("ST-LINK SN", "Board(?: Name)?", "ST-LINK FW")]
            found += [ConnectedProbe(said[0], said[1], said[2])] if said[0] else []
        if not found:
            what, hint = reason(answer.text, board) if board is not None else ("no probe answers", "")
            what = what if "probe" in what else "no probe answers"
            hint = hint or "plug in the board's ST-LINK cable; 'neuralart boards --connected' lists probes"
            raise NeuralArtError(what, where=self.name, hint=hint)
        return found

    def _connection(self, board: Board, serial: str, mode: str = "") -> list[str]:
        debug = board.debug
        assert debug is not None
        words = ["-c", "port=SWD", f"mode={mode or debug.mode}"]
        words += [f"ap={debug.access_port}"] if debug.access_port else []
        return [*words, *([f"sn={serial}"] if serial else [])]

    def _loader(self, session: ProbeSession, address: int) -> list[str]:
        board = session.job.board
        if not _is_external(board, address):
            return []
        return ["-el", str(session.program.resolve().parent / "ExternalLoader" / str(board.flash["loader"]))]

    def _talk(self, session: ProbeSession, *words: str, mode: str = "", count: int = 0) -> Answer:
        """Run it; each time it says which probe it took. NeuralArtError: another one than was named."""
        answer = self.call(session, [*self._connection(session.job.board, session.serial, mode), *words], count)
        taken = number_in(answer.text, "ST-LINK SN")
        if session.serial and taken and taken != session.serial:
            what = f"it took probe {taken}, though it was told sn={session.serial}"
            raise self.failed(session, what, "unplug the other board, then flash again")
        return answer

    def identify(self, session: ProbeSession) -> Identity:
        """By a connection that does nothing; what it prints has the device's numbers."""
        answer = self._talk(session)
        said = number_in(answer.text, "Device ID")
        if not re.fullmatch(r"0x[0-9A-Fa-f]{3,4}", said):
            raise self._not_reached(session, answer)
        mode, wanted = number_in(answer.text, "Connect mode"), session.job.board.debug
        assert wanted is not None
        if mode != _MODES[wanted.mode] and mode in _MODES.values():
            what = f"it connected in mode {mode}, not {_MODES[wanted.mode]}"
            raise self.failed(session, what, "power-cycle the board, then again")
        size = re.fullmatch(r"(\d+) ([KM])Bytes", number_in(answer.text, "Flash size"))
        inside = int(size[1]) * _UNITS[size[2]] if size is not None else None
        return Identity(int(said, 16), number_in(answer.text, "Voltage"), mode, inside)

    def _not_reached(self, session: ProbeSession, answer: Answer) -> NeuralArtError:
        """Tell a board that started from flash from one that does not answer at all."""
        board = session.job.board
        what, hint = reason(answer.text, board)
        if board.debug is not None and board.debug.mode == "HOTPLUG" and "does not answer" in what and board.switches:
            # The only mode that reaches a board whose boot ROM has started an image.
            again = self._talk(session, mode="UR")
            if number_in(again.text, "Device ID"):
                what = "the board has started from flash: its boot switches are not in the development position"
                return self.failed(session, what, f"{switches_of(board)}; then power-cycle it")
        return self.failed(session, what, hint or switches_of(board))

    def read(self, session: ProbeSession, parts: Sequence[tuple[str, int, int]]) -> Answer:
        """Upload, one part each time: whether it takes several is not documented."""
        answers = []
        for name, address, count in parts:
            words = (*self._loader(session, address), "-u", f"0x{address:08x}", f"0x{count:x}", name)
            answers.append(self._talk(session, *words, count=count))
        return next((answer for answer in answers if answer.status), answers[-1])

    def program(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """Download, and let it compare for itself as well."""
        name, words = session.written(data), self._loader(session, address)
        return self._talk(session, *words, "-w", name, f"0x{address:08x}", "-v", count=2 * len(data))

    def put(self, session: ProbeSession, address: int, data: bytes) -> Answer:
        """Download: it knows RAM from flash by the address."""
        return self.program(session, address, data)

    def run_from(self, session: ProbeSession, stack: int, entry: int) -> Answer:
        """Set both registers and run."""
        return self._talk(session, "-coreReg", f"MSP=0x{stack:08x}", f"PC=0x{entry & ~1:08x}", "-run")

    def restart(self, session: ProbeSession) -> Answer:
        """By the reset line."""
        return self._talk(session, "-hardRst")

    def installed(self) -> tuple[dict[str, str], Path]:
        """Where its program is on this machine, and the folder of loaders beside it."""
        program = self.found()
        known = {"STM32_Programmer_CLI": str(program)} if program is not None else {}
        beside = program.resolve().parent if program is not None else Path()
        return known, beside / "ExternalLoader"

    def script(self, job: FlashJob) -> CommandScript:
        """Connect, download and verify each file, reset."""
        connection = self._connection(job.board, job.probe)
        rows: list[tuple[Word, ...]] = [("STM32_Programmer_CLI", *connection)]
        for write in self.in_order(job):
            loader = ("-el", Loader(str(job.board.flash["loader"]))) if _is_external(job.board, write.address) else ()
            file = Path(write.file)
            rows.append(("STM32_Programmer_CLI", *connection, *loader, "-w", file, f"0x{write.address:08x}", "-v"))
        return CommandScript((*rows, ("STM32_Programmer_CLI", *connection, "-hardRst")))


plugins.register("runners", CubeProgrammer.name, CubeProgrammer, protocol=1)
