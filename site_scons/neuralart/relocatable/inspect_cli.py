"""``neuralart inspect``: header, flags, sizes, pools, context and epoch-controller blobs of a relocatable model."""

from __future__ import annotations

import argparse

from neuralart.relocatable import opening


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    opening.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")


def run(args: argparse.Namespace) -> int:
    """Print it.

    Raises:
        NeuralArtError: The file is no image, or parts of it cannot be found.
    """
    import json

    from neuralart.relocatable import report

    image = opening.read(args)
    if args.json:
        print(json.dumps(report.as_data(image), indent=1))
    else:
        print(report.as_text(image), end="")
    return 0
