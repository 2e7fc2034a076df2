"""``neuralart sign``: put the header of the boot chain in front of an image."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from neuralart import outputs, products
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_bytes
from neuralart.text import image_header
from neuralart.text.console import say
from neuralart.vendor import tools
from neuralart.vendor.programs import ask, fits
from neuralart.vendor.tools import BROKEN, Host, Tool, system_of
from neuralart_board.runners.process import cube_places

_SIGNERS = ("header", "vendor")


def _unsigned(data: bytes) -> bool:
    """An image with a header that can be made again; a signature cannot."""
    try:
        return not image_header.judged(data, "").signed
    except NeuralArtError:
        return False


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("image", type=Path, metavar="FILE", help="the bare image: firmware.bin, vector table first")
    outputs.add(parser, "-o", "--output", required=True, mine=_unsigned, help="the image with its header")
    text = "what the boot chain takes it for (default: %(default)s)"
    parser.add_argument("--type", choices=list(image_header.TYPES), default="application", help=text)
    text = "version of the header (default: %(default)s)"
    parser.add_argument("--header-version", choices=list(image_header.VERSIONS), default="2.3", help=text)
    text = "header: this package, without a signature; vendor: STM32_SigningTool_CLI (default: %(default)s)"
    parser.add_argument("--by", choices=_SIGNERS, default="header", help=text)
    text = "word for the vendor's tool instead of -nk, for example --option=-prvk --option=key.pem"
    parser.add_argument("--option", action="append", default=[], metavar="WORD", help=text)


def run(args: argparse.Namespace) -> int:
    """Write the image after it was judged. NeuralArtError: no bare image, or no tool that signs it."""
    if args.output.exists() and args.image.exists() and args.output.samefile(args.image):
        raise NeuralArtError("it is the bare image", where=str(args.output), hint="-o names another file")
    if args.by == "vendor":
        from neuralart_board.signing import cli

        made = cli.sign(args.image, args.type, args.header_version, args.option)
    elif args.option:
        raise NeuralArtError("--option is for the vendor's tool", where="--option", hint="add --by vendor")
    else:
        version = image_header.VERSIONS[args.header_version]
        made = image_header.make(products.read(args.image), args.type, version, where=str(args.image))
    image = image_header.judged(made, str(args.image))
    write_bytes(args.output, made)
    places = f"entry 0x{image.entry_point:08x}, vector table at 0x{image_header.VECTOR_TABLE:x}"
    said = f"{len(made)} bytes, header {args.header_version}, type {args.type}, {places}"
    say(f"{args.output}: {said}; {'signed' if image.signed else 'no signature'}")
    return 0


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
