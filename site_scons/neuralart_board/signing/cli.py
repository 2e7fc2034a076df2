"""``neuralart tool sign``: put the header of the boot chain in front of an image."""

from __future__ import annotations

import argparse
from pathlib import Path

from neuralart import outputs, products
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.text import image_header
from neuralart.text.console import say

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
        from neuralart_board.signing import vendor_tool

        made = vendor_tool.sign(args.image, args.type, args.header_version, args.option)
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
