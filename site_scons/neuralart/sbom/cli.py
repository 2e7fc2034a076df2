"""``neuralart sbom``: the software bill of materials of this package as it is installed."""

from __future__ import annotations

import argparse
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it to a file (default: print it)")


def run(args: argparse.Namespace) -> int:
    """Print or write the bill. NeuralArtError: The library is not installed, or the file cannot be written."""
    from neuralart.files import write_text
    from neuralart.sbom.package import text

    if args.output is not None:
        write_text(args.output, text())
    else:
        print(text(), end="")
    return 0
