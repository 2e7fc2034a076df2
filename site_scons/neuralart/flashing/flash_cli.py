"""``neuralart flash``: write a virtual flash by a flash plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart.flashing.program import Written

PARTS = ("application", "model")


def options(parser: argparse.ArgumentParser) -> None:
    """What ``flash`` and ``verify`` have in common."""
    parser.add_argument("--plan", required=True, type=Path, metavar="FILE", help="flash_plan.json")
    parser.add_argument("--nor", required=True, type=Path, metavar="FILE", help="the virtual flash")
    parser.add_argument("--only", choices=PARTS, help="a part; model: the initializers and their descriptor")
    parser.add_argument(
        "--top", type=Path, default=Path(), metavar="DIR", help="folder that the plan's paths start from (default: .)"
    )
    parser.add_argument(
        "--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own"
    )


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    options(parser)


def _sectors(number: int) -> str:
    return f"{number} sector{'' if number == 1 else 's'}"


def describe(written: Written) -> list[str]:
    """Lines that say what was written."""
    write = written.write
    done = []
    if written.erased:
        done.append(f"{_sectors(written.erased)} erased and written")
    if written.kept:
        done.append(f"{_sectors(written.kept)} held these bytes already")
    lines = [f"{write.name}: {write.bytes} bytes at 0x{write.address:08x}, {', '.join(done)}"]
    for start, end in written.lost:
        lines.append(f"{write.name}: what stood at [0x{start:08x}, 0x{end:08x}) shared its sectors and is erased now")
    return lines


def run(args: argparse.Namespace) -> int:
    """Write it.

    Returns:
        0.

    Raises:
        NeuralArtError: Something given is wrong; the file is as it was then.
    """
    from neuralart import boards
    from neuralart.files import alone_with
    from neuralart.flashing.nor import Nor, chip_of, load_for
    from neuralart.flashing.plan import read
    from neuralart.flashing.program import program

    plan = read(args.plan)
    board = boards.load(plan.board, args.board_file, where=plan.where)
    chip = chip_of(board)
    with alone_with(args.nor):
        new = not args.nor.exists()
        nor = Nor(chip) if new else load_for(args.nor, board)
        done = program(plan, nor, args.only, args.top)
        if new or any(written.erased for written in done):
            nor.save(args.nor)
    for written in done:
        for line in describe(written):
            print(line)
    return 0
