"""The programs of others: what they are called, how they say their version, where installers put them; their rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.vendor.asking import ask
from neuralart.vendor.tools import (
    BROKEN,
    CMAKE,
    CUBEIDE,
    MAKE,
    OK,
    QEMU,
    UNFIT,
    Host,
    Tool,
    ToolRow,
    row,
)
from neuralart_board.runners.cubeprogrammer import CubeProgrammer
from neuralart_board.runners.gdb import Gdb
from neuralart_board.runners.openocd import OpenOcd
from neuralart_board.runners.pyocd import PyOcd
from neuralart_board.signing.vendor_tool import SIGNING

PROGRAMMER = Tool(
    "cubeprogrammer",
    CubeProgrammer.programs,
    ("--version",),
    r"STM32CubeProgrammer(?: version:?)?\s+v?(\d+(?:\.\d+)+)",
    means="writing to the flash of a real board",
    get=CubeProgrammer.get,
    places=CubeProgrammer.places,
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
