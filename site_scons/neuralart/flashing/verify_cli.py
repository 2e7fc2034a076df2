"""``neuralart verify``: compare a virtual flash with a flash plan."""

from __future__ import annotations

import argparse
import sys

from neuralart.flashing.flash_cli import options

DIFFERS = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare them.

    Returns:
        0 when the flash holds every byte of the plan; 2 at the first difference.

    Raises:
        NeuralArtError: Something given is wrong.
    """
    from neuralart import boards
    from neuralart.flashing.nor import load_for
    from neuralart.flashing.plan import read
    from neuralart.flashing.program import verify

    plan = read(args.plan)
    board = boards.load(plan.board, args.board_file, where=plan.where)
    mismatch = verify(plan, load_for(args.nor, board), args.only, args.top)
    if mismatch is not None:
        print(f"neuralart verify: {args.nor}: {mismatch}", file=sys.stderr)
        return DIFFERS
    writes = plan.chosen(args.only)
    print(f"{args.nor}: {len(writes)} writes, {sum(write.bytes for write in writes)} bytes, all as planned")
    return 0
