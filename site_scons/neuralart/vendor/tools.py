"""Programs of others: their names, version options, and where installers put them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.findings import NOTE, WARNING
from neuralart.quick import dataclass, field
from neuralart.vendor.programs import ask, fits, in_places, on_path

OK, MISSING, BROKEN, UNFIT = "ok", "missing", "broken", "unfit"


@dataclass(frozen=True)
class Host:
    environ: Mapping[str, str]  # Of the process
    system: str  # ``windows``, ``linux`` or ``mac``
    seconds: float = 10.0  # Time limit of each answer
    usual_places: bool = True  # Look where installers put programs, besides PATH


@dataclass(frozen=True)
class Need:
    build: tuple[str, ...] = ()  # Targets that cannot be built without it: names of variants
    use: tuple[str, ...] = ()  # Targets that build but cannot do their work: ``run-<variant>`` and the like


@dataclass(frozen=True)
class ToolRow:
    tool: str  # Its name
    # ``ok``; ``missing``; ``broken``: it is there and does not answer; ``unfit``: it is there, but another version or
    # without a part that is needed
    status: str
    version: str = ""  # What it says of itself; empty if unknown
    path: str = ""  # The program, or the folder of an installation
    details: tuple[str, ...] = ()  # Facts about it
    problem: str = ""  # Why it is not ok, in words
    means: str = ""  # What does not work without it
    get: str = ""  # How to get it
    need: Need = field(default_factory=Need)  # Who in the project needs it
    blocks: bool = False  # Something that was asked for does not work because of it


@dataclass(frozen=True)
class Remark:
    """A remark about several tools, or about places."""

    id: str  # Short name
    level: str  # ``error``, ``warning`` or ``note``
    message: str  # What is so
    remedy: str = ""  # What to do about it

    def __str__(self) -> str:
        text = f"{self.message} ({self.remedy})" if self.remedy else self.message
        return " ".join(text.split())


@dataclass(frozen=True)
class Tool:
    name: str  # How rows, conditions and documentation call it
    programs: tuple[str, ...]  # Its file names, by preference
    question: tuple[str, ...]  # Arguments that make it say its version; empty: it is never started
    answer: str  # Regular expression whose first group is the version in what it prints, or in its path
    means: str  # What does not work without it
    get: str  # How to get it
    # Globs of the program where installers put it, by system
    places: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fits: str = ""  # Range of versions that work; empty: any


QEMU = Tool(
    "qemu-system-arm",
    ("qemu-system-arm",),
    ("--version",),
    r"QEMU emulator version (\d+(?:\.\d+)+)",
    means="run- and boot- of variants with machine: qemu",
    get="install QEMU with its Arm system emulator (Debian, Ubuntu: qemu-system-arm)",
)


CUBEIDE = Tool(
    "stm32cubeide",
    ("stm32cubeidec", "stm32cubeide"),
    (),
    r"(?i)stm32cubeide[_-](\d+(?:\.\d+)+)",
    means="applications that are built with STM32CubeIDE without its window (application: cubeide)",
    get="install STM32CubeIDE of ST; it is found in the folder that its installer proposes, or on PATH",
    places={
        "linux": ("/opt/st/stm32cubeide_*/stm32cubeide",),
        "windows": ("C:/ST/STM32CubeIDE_*/STM32CubeIDE/stm32cubeidec.exe",),
        "mac": ("/Applications/STM32CubeIDE.app/Contents/MacOS/STM32CubeIDE",),
    },
)


CMAKE = Tool(
    "cmake",
    ("cmake",),
    ("--version",),
    r"cmake version (\d+(?:\.\d+)+)",
    means="applications that are built with CMake (application: cmake), and use of an exported network.cmake",
    get="install CMake, for example with pip install cmake",
    fits=">=3.16",
)


MAKE = Tool(
    "make",
    ("make", "gmake", "mingw32-make"),
    ("--version",),
    r"GNU Make (\d+(?:\.\d+)+)",
    means="applications that are built with make (application: make), and use of an exported network.mk",
    get="install GNU make",
    fits=">=3.81",
)


def _version(tool: Tool, path: Path, host: Host) -> str:
    """What a program says it is; empty if that is not understood. NeuralArtError as :func:`ask`."""
    text = ask(path, tool.question, host.environ, host.seconds) if tool.question else path.resolve().as_posix()
    found = re.search(tool.answer, text)
    return found[1] if found else ""


def row(tool: Tool, host: Host) -> ToolRow:
    """Find a program: on PATH, then where installers put it."""
    made = partial(ToolRow, tool.name, means=tool.means, get=tool.get)
    hits = on_path(tool.programs, host.environ, host.system)
    details = () if hits else ("not on PATH",)
    if not hits and host.usual_places:
        hits = list(in_places(tool.places.get(host.system, ()), host.environ, host.system))
    if not hits:
        both = tool.places and host.usual_places
        return made(MISSING, problem="neither on PATH nor in the usual folders" if both else "not on PATH")
    path = str(hits[0])
    try:
        version = _version(tool, hits[0], host)
    except NeuralArtError as error:
        return made(BROKEN, path=path, problem=error.what)
    if tool.fits and not fits(version, tool.fits):
        said = f"version {version}" if version else "does not say a version"
        return made(UNFIT, version, path, details, f"{said}, needed: {tool.fits}")
    return made(OK, version, path, details)


def shadowed(tool: Tool, host: Host) -> list[Remark]:
    """Find a second program of the same name on PATH, and whether its version differs."""
    hits = on_path(tool.programs, host.environ, host.system)
    if len(hits) < 2:
        return []
    said = []
    for path in hits[:2]:
        try:
            said.append(_version(tool, path, host))
        except NeuralArtError:
            said.append("")
    shown = [f"{path}{f' ({version})' if version else ''}" for path, version in zip(hits, said, strict=False)]
    same = said[0] == said[1] != ""
    message = f"{tool.programs[0]} is on PATH {len(hits)} times: {shown[0]} is used, {shown[1]} is not"
    remedy = "" if same else "order the folders of PATH so that the one you mean comes first"
    return [Remark(f"shadowed-{tool.name}", NOTE if same else WARNING, message, remedy)]


def system_of(platform: str) -> str:
    """Translate ``sys.platform`` to ``windows``, ``mac`` or ``linux``."""
    return {"win32": "windows", "cygwin": "windows", "darwin": "mac"}.get(platform, "linux")
