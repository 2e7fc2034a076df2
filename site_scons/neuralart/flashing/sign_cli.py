"""``neuralart sign``: put the header of an STM32N6 in front of an image, without a signature."""

from __future__ import annotations

import argparse
from pathlib import Path

_VERSIONS = {"2.3": 0x00020300, "2.1": 0x00020100}
_TYPES = ("fsbl", "ssbl", "application")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("image", type=Path, metavar="FILE", help="the bare image: firmware.bin, vector table first")
    parser.add_argument("-o", "--output", required=True, type=Path, metavar="FILE", help="the image with its header")
    parser.add_argument(
        "--type", choices=_TYPES, default="application", help="what the boot chain takes it for (default: application)"
    )
    parser.add_argument(
        "--header-version", choices=_VERSIONS, default="2.3", help="version of the header (default: 2.3)"
    )


def run(args: argparse.Namespace) -> int:
    """Write the image and look at it again with other eyes. NeuralArtError: the file is no bare image."""
    from neuralart.errors import NeuralArtError
    from neuralart.files import read_bytes, write_bytes
    from neuralart.flashing import image_header

    made = image_header.make(read_bytes(args.image), args.type, _VERSIONS[args.header_version], where=str(args.image))
    image = image_header.read(made, where=str(args.output))
    wrong = image_header.problems(image)
    if wrong:
        raise NeuralArtError(f"the image that was made is wrong: {wrong[0]}", where=str(args.image))
    write_bytes(args.output, made)
    print(
        f"{args.output}: {len(made)} bytes, header {args.header_version}, type {args.type}, entry "
        f"0x{image.entry_point:08x}, vector table at 0x{image_header.VECTOR_TABLE:x}; no signature"
    )
    return 0
