"""The programs of others: what they are called, how they say their version, where installers put them; their rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from neuralart.doctor.types import BROKEN, MISSING, NOTE, OK, UNFIT, WARNING, Host, Remark, ToolRow
from neuralart.errors import NeuralArtError
from neuralart.flashing.runners.cubeprogrammer import CubeProgrammer
from neuralart.flashing.runners.gdb import Gdb
from neuralart.flashing.runners.openocd import OpenOcd
from neuralart.flashing.runners.process import cube_places
from neuralart.flashing.runners.pyocd import PyOcd
from neuralart.vendor.asking import ask, fits, in_places, on_path


@dataclass(frozen=True)
class Tool:
    """A program."""

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
PROGRAMMER = Tool(
    "cubeprogrammer",
    CubeProgrammer.programs,
    ("--version",),
    r"STM32CubeProgrammer(?: version:?)?\s+v?(\d+(?:\.\d+)+)",
    means="writing to the flash of a real board",
    get=CubeProgrammer.get,
    places=CubeProgrammer.places,
)
SIGNING = Tool(
    "signing-tool",
    ("STM32_SigningTool_CLI",),
    ("--version",),
    r"(?i)signing\s*tool[^\n\d]*v?(\d+(?:\.\d+)+)",
    means="signed images, the only ones that the boot ROM of an STM32N6 starts from flash",
    get="it comes with STM32CubeProgrammer; put its bin folder on PATH",
    places=cube_places("STM32_SigningTool_CLI"),
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
_OTHERWISE = "the flash runner of this name"
# What other flash runners than cubeprogrammer start; shown where it is there, or where a variant names the runner.
PROBE_TOOLS = (
    Tool(
        "openocd", OpenOcd.programs, ("--version",), r"Open On-Chip Debugger (\d+(?:\.\d+)+)", _OTHERWISE, OpenOcd.get
    ),
    Tool("gdb", Gdb.programs, ("--version",), r"GNU gdb [^\n]*?(\d+\.\d+(?:\.\d+)*)", _OTHERWISE, Gdb.get),
    Tool("pyocd", PyOcd.programs, ("--version",), r"(\d+\.\d+(?:\.\d+)*)", _OTHERWISE, PyOcd.get, fits=">=0.34"),
)
TOOLS = (QEMU, PROGRAMMER, SIGNING, CUBEIDE, CMAKE, MAKE)


def _version(tool: Tool, path: Path, host: Host) -> str:
    """What a program says it is; empty if that is not understood. NeuralArtError as :func:`ask`."""
    text = ask(path, tool.question, host.environ, host.seconds) if tool.question else path.resolve().as_posix()
    found = re.search(tool.answer, text)
    return found[1] if found else ""


def row(tool: Tool, host: Host) -> ToolRow:
    """Look for a program: on PATH, then where installers put it."""
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
    """Say that a second program of the same name is on PATH, and whether it is another version."""
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


def qemu_row(machines: tuple[str, ...], host: Host) -> ToolRow:
    """QEMU and the machines that the boards' images run on (``machines``: QEMU's names of them)."""
    found = row(QEMU, host)
    if found.status != OK:
        return found
    try:
        said = ask(Path(found.path), ("-M", "help"), host.environ, host.seconds)
    except NeuralArtError as error:
        return replace(found, status=BROKEN, problem=error.what)
    listed = {line.split(" ")[0] for line in said.splitlines()}
    missing = ", ".join(name for name in machines if name not in listed)
    if missing:
        return replace(found, status=UNFIT, problem=f"it has no machine {missing}: too old, or built without")
    return replace(found, details=(*found.details, *(f"machine {name}" for name in machines)))
