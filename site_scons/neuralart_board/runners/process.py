"""Programs of others that reach a device: found, started with nothing to read from, ended when they take too long; and
what it means that they say. Words give a reason; they never prove that something worked.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.vendor.programs import end_tree, in_places, on_path

# Bytes of what a program says that are kept: its end, where the reason stands.
_MOST = 1 << 18
# Seconds for a connection, and bytes a second of the slowest flash.
CONNECTING, SLOWEST = 60.0, 10_000


@dataclass(frozen=True)
class Answer:
    """What a program did."""

    words: tuple[str, ...]  # How it was called
    status: int  # How it ended
    text: str  # What it printed, both streams
    late: bool = False  # It took too long and was ended


def patience(count: int) -> float:
    """Seconds after which a program that moves so many bytes is taken for stuck."""
    return CONNECTING + count / SLOWEST


def cube_places(program: str) -> dict[str, tuple[str, ...]]:
    """Where installers put a program of STM32CubeProgrammer, by system."""
    roots = ("/usr/local/STMicroelectronics/STM32Cube", "~/STMicroelectronics/STM32Cube")
    cube, clt = "C:/Program Files/STMicroelectronics/STM32Cube", ("/opt/st/stm32cubeclt_*", "/opt/ST/STM32CubeCLT_*")
    inside = f"STM32CubeProgrammer/bin/{program}"
    app = "STM32CubeProgrammer/STM32CubeProgrammer.app/Contents/MacOs/bin"
    return {
        "linux": tuple(f"{root}/{inside}" for root in (*roots, *clt)),
        "windows": (f"{cube}/{inside}.exe", f"C:/ST/STM32CubeCLT_*/{inside}.exe"),
        "mac": (f"/Applications/STMicroelectronics/STM32Cube/{app}/{program}",),
    }


# Variable with the folder of STM32CubeIDE, whose programs come first; ST's scripts know it as well.
CUBE_IDE = "STM32_CUBE_IDE_DIR"


def use_ide(folder: Path | None) -> None:
    """Take the programs of a STM32CubeIDE (None: of that which the variable names). NeuralArtError: none is there."""
    named = folder.expanduser() if folder is not None else Path(os.environ.get(CUBE_IDE) or "")
    if named != Path() and not (named / "plugins").is_dir():
        hint = "the folder with 'plugins' in it, as ~/ST/STM32CubeIDE_1.18.0/STM32CubeIDE"
        raise NeuralArtError("no STM32CubeIDE is there", where=str(named), hint=f"--cube-ide-dir or {CUBE_IDE}: {hint}")
    os.environ[CUBE_IDE] = str(named) if named != Path() else ""


def find(names: tuple[str, ...], places: Mapping[str, tuple[str, ...]]) -> Path | None:
    """A program: of the STM32CubeIDE that is named, on PATH, then where installers put it; None: it is not here."""
    system = {"win32": "windows", "darwin": "mac"}.get(sys.platform, "linux")
    named, ending = os.environ.get(CUBE_IDE), ".exe" if system == "windows" else ""
    tools = f"{Path(named or '').as_posix()}/plugins/com.st.stm32cube.ide.mcu.externaltools.*/tools/bin"
    ide = tuple(f"{tools}/{name}{ending}" for name in names) if named else ()
    hits = [*in_places(ide, os.environ, system), *on_path(names, os.environ, system)]
    return hits[0] if hits else next(iter(in_places(places.get(system, ()), os.environ, system)), None)


def _environment() -> dict[str, str]:
    # Messages are looked at: they have to be English, numbers have to have points, and paths all their letters.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "PYTHON"))}
    return {**kept, "LC_ALL": "C.UTF-8", "LANG": "C", "LANGUAGE": ""}


def _started(words: Sequence[str], folder: Path, output: BinaryIO) -> Any:
    try:
        return subprocess.Popen(
            list(words),
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        what = f"cannot be started: {getattr(error, 'strerror', None) or error}"
        raise NeuralArtError(what, where=str(words[0])) from error


# Told what each program did: for who wants to see all of it.
listeners: list[Callable[[Answer], None]] = []


def call(words: Sequence[str], folder: Path, seconds: float) -> Answer:
    """Run a program in a folder to its end, or for so many seconds. NeuralArtError: it cannot be started."""
    said = folder / ".said"
    with said.open("w+b") as stream:
        process = _started(words, folder, stream)
        late = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            late = True
        finally:
            if process.poll() is None:
                end_tree(process)
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _MOST))
        text = stream.read().decode("utf-8", "replace")
    answer = Answer(tuple(words), process.returncode, text, late)
    for told in listeners:
        told(answer)
    return answer


@contextlib.contextmanager
def served(words: Sequence[str], folder: Path, port: int, seconds: float) -> Iterator[None]:
    """Start a server and wait until its port listens; end it behind the block. NeuralArtError: it cannot be started,
    ends before it listens, or does not listen in time; it says the text that the server printed.
    """
    said = folder / ".served"
    with said.open("w+b") as stream:
        process = _started(words, folder, stream)
        try:
            if not _listens(process, port, seconds):
                text = said.read_bytes()[-_MOST:].decode("utf-8", "replace")
                raise ServerEnded(text)
            yield
        finally:
            end_tree(process)


class ServerEnded(Exception):
    """A server does not listen; the argument is what it printed."""


def _listens(process: Any, port: int, seconds: float) -> bool:
    """Ask the system rather than the server: a connection of ours would be its one client."""
    import socket
    import time

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return True
        time.sleep(0.05)
    return False


def free_port() -> int:
    """A port of this machine that no program listens on."""
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Symptom:
    """A reason that programs give."""

    says: re.Pattern[str]  # What one of them prints
    what: str  # What is so; ``{line}``: the line that it prints
    hint: str  # What to do; ``{switches}`` is filled in


def _symptom(says: str, what: str, hint: str) -> Symptom:
    return Symptom(re.compile(says, re.IGNORECASE), what, hint)


# The first that fits; what is nearer to the cause stands first.
SYMPTOMS = (
    _symptom(r"\[y/n\]|press any key|\(yes/no\)", "it asks a question", "answer it once by hand"),
    _symptom(
        r"already in use|in use by another|DEV_USB_COMM_ERR|LIBUSB_ERROR_(BUSY|ACCESS)|resource busy|exclusive access",
        "another program has the probe, or the system does not let you use it",
        "close debuggers and gdb servers; on Linux install ST's udev rules",
    ),
    _symptom(
        r"voltage[^\n]{0,20}too low|not powered|no power|voltage\s*:\s*0(?:[.,]0\d*)?\s*V\b",
        "the board has no power",
        "plug in its power supply, look at the power jumper",
    ),
    _symptom(
        r"no (?:debug probe|st-?link|connected debug|available debug)|probe[^\n]{0,30}not found|open failed"
        r"|no device found|unable to open|DEV_NOT_FOUND|no matching",
        "no probe answers",
        "plug in the board's ST-LINK cable; 'neuralart boards --connected' lists probes",
    ),
    _symptom(
        r"no stm32 target|core id|DEV_(?:TARGET|CONNECT|NO_DEVICE)|connect to (?:the )?(?:target|device)"
        r"|init mode failed|examination failed|no ACK|target not|cannot halt|timed out while"
        r"|remote failure|doesn't support read_memory",
        "the device does not answer",
        "{switches}",
    ),
    _symptom(
        r"connection (?:refused|timed out|reset)|remote connection closed",
        "the gdb server does not answer",
        "does it still run? SERVER=HOST:PORT says where",
    ),
    _symptom(
        r"external ?loader|\.stldr|loader init",
        "the external loader does not work",
        "is the board in development mode, and its loader in the folder of STM32CubeProgrammer?",
    ),
    _symptom(
        r"unknown (?:option|argument|target)|invalid (?:option|command)|unrecognized|wrong (?:command|argument)",
        "it does not take the command: {line}",
        "another version of it may; DRY=1 shows the whole command",
    ),
    _symptom(r"protected|failed to erase|error erasing", "the flash does not take it", "is it write protected?"),
    _symptom(r"no space left|disk full", "the disk is full", "make room in the folder for temporary files"),
)
_ERROR = re.compile(r"^.*?\b(?:error|fail(?:ed|ure)|fatal|cannot|unable)\b.*$", re.IGNORECASE | re.MULTILINE)


def switches_of(board: Board) -> str:
    """Both positions of a board's boot switches, in words."""
    words = [f"{mode}: {text}" for mode, text in sorted(board.switches.items())]
    return "boot switches: " + "; ".join(words) if words else "power, cable, reset?"


def complains(text: str) -> bool:
    """Whether a program speaks of an error."""
    return _ERROR.search(text) is not None


def reason(text: str, board: Board) -> tuple[str, str]:
    """What a program that failed says: the meaning and what to do, or its own words and nothing."""
    for symptom in SYMPTOMS:
        if found := symptom.says.search(text):
            line = text[text.rfind("\n", 0, found.start()) + 1 :].splitlines()[0].strip()
            return symptom.what.replace("{line}", line), symptom.hint.format(switches=switches_of(board))
    own = _ERROR.search(text)
    lines = text.strip().splitlines()
    return f"it says: {own[0].strip() if own else lines[-1].strip()}" if lines else "it says nothing", ""
