"""STM32_SigningTool_CLI, driven: which words it gets, and whether what it wrote can be believed.

Its words do not decide whether it succeeded. Some releases write a wrong image and end with 0, some print an error and
end with 0, and without ``-align`` releases from 2.21 on put the vector table where no boot chain looks for it. The file
is read again and judged (:func:`neuralart.text.image_header.judged`), and it must hold the program it was made of.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuralart import products
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text import image_header
from neuralart.vendor import tools
from neuralart.vendor.programs import ask, fits
from neuralart.vendor.tools import BROKEN, Host, Tool, system_of
from neuralart_board.runners.process import cube_places

SIGNING = Tool(
    "signing-tool",
    ("STM32_SigningTool_CLI",),
    ("--version",),
    r"(?i)signing\s*tool[^\n\d]*v?(\d+(?:\.\d+)+)",
    means="signed images, the only ones that the boot ROM of an STM32N6 starts from flash",
    get="it comes with STM32CubeProgrammer; put its bin folder on PATH",
    places=cube_places("STM32_SigningTool_CLI"),
)

#: The first release that puts the vector table right behind the header unless it is told otherwise.
ALIGNS = ">=2.21"
#: What the tool is given where nothing else is said: an image without a signature.
WITHOUT_KEYS = ("-nk",)
_SECONDS = 120.0


def arguments(image: Path, output: Path, kind: str, version: str, options: Sequence[str], *, align: bool) -> list[str]:
    """Words for the tool. ``kind``: fsbl, ssbl or application. ``options``: instead of ``-nk``."""
    # The tool's own word for an application is ssbl.
    word = "fsbl" if kind == "fsbl" else "ssbl"
    words = ["-s", "-bin", str(image), *(options or WITHOUT_KEYS), "-t", word, "-hv", version, "-o", str(output)]
    return [*words, "-align"] if align else words


def _tail(said: str) -> str:
    """The line of an output that tells most: the first with an error in it, else the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "nothing")[:200]


def sign(image: Path, kind: str, version: str, options: Sequence[str] = ()) -> bytes:
    """Sign a bare program that begins with its vector table; returns the image, header first. NeuralArtError: there is
    no tool, it wrote nothing, or what it wrote would not start or holds another program.
    """
    row = tools.row(SIGNING, Host(os.environ, system_of(sys.platform)))
    if not row.path or row.status == BROKEN:
        raise NeuralArtError(f"{SIGNING.programs[0]}: {row.problem}", where="--by vendor", hint=row.get)
    tool, found = Path(row.path), row.version
    program = products.read(image)
    with tempfile.TemporaryDirectory(prefix="neuralart-") as folder:
        output = Path(folder) / "signed.bin"
        words = arguments(image.absolute(), output, kind, version, options, align=not found or fits(found, ALIGNS))
        words = [str(Path(word).absolute()) if word in options and Path(word).is_file() else word for word in words]
        printed = ask(tool, words, os.environ, _SECONDS)
        made = read_bytes(output) if output.is_file() else b""
    where = f"{tool.name} {found or '(unknown version)'}"
    if not made:
        raise NeuralArtError(f"wrote nothing; it said: {_tail(printed)}", where=where, hint="run it by hand")
    judged = image_header.judged(made, where)
    if image_header.VERSIONS[version] != judged.layout.version:
        raise NeuralArtError(f"the header has version 0x{judged.layout.version:08x}, not {version}", where=where)
    if judged.binary_type != image_header.TYPES[kind]:
        raise NeuralArtError(f"the header says binary type 0x{judged.binary_type:x}, which is not {kind}", where=where)
    if made[image_header.VECTOR_TABLE :][: len(program)] != program:
        raise NeuralArtError("the image that it wrote holds another program", where=where, hint="sign the bare image")
    return made
