"""The options that say which image is meant, for every command that reads one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart.relocatable.format.types import Image


def number(text: str) -> int:
    """A 32-bit address or offset, for argparse."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"'{text}' is not a 32-bit number, for example 0x71000000")
    return value


def configure(parser: argparse.ArgumentParser, params: str = "--params") -> None:
    """Declare them.

    Args:
        parser: Where.
        params: Name of the option for the separate file of params.
    """
    parser.add_argument("image", type=Path, metavar="FILE", help="network_rel.bin")
    parser.add_argument(
        params, dest="params_file", type=Path, metavar="FILE", help="network_rel_params.bin of a split model"
    )
    parser.add_argument(
        "--offset", type=number, default=0, metavar="N", help="where the image begins in FILE (default: 0)"
    )


def read(args: argparse.Namespace) -> Image:
    """Read the image that the options name.

    Raises:
        NeuralArtError: A file cannot be read, or is no image.
    """
    from neuralart.errors import NeuralArtError
    from neuralart.files import read_bytes
    from neuralart.relocatable.format import container

    data = read_bytes(args.image)
    if args.offset and args.offset >= len(data):
        raise NeuralArtError(
            f"--offset 0x{args.offset:x} is behind the end of the file, which has {len(data)} bytes",
            where=str(args.image),
        )
    params = read_bytes(args.params_file) if args.params_file is not None else None
    return container.parse(data[args.offset :], str(args.image), params)
