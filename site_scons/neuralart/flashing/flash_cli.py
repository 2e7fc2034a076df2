"""``neuralart flash``: write the flash of a device by a flash plan."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.flashing.runners import DEFAULT

if TYPE_CHECKING:
    from neuralart.flashing.program import Written
    from neuralart.flashing.runners import FlashJob, Runner

PARTS = ("application", "model")


def options(parser: argparse.ArgumentParser) -> None:
    """What ``flash`` and ``verify`` have in common."""
    parser.add_argument("--plan", required=True, type=Path, metavar="FILE", help="flash_plan.json")
    parser.add_argument(
        "--nor",
        "--record",
        dest="record",
        required=True,
        type=Path,
        metavar="FILE",
        help="the virtual flash, or of another runner the record of what its device holds",
    )
    parser.add_argument("--runner", default=DEFAULT, metavar="NAME", help="what writes (default: %(default)s)")
    parser.add_argument("--probe", default="", metavar="SERIAL", help="which device, of a runner that has several")
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


def chosen(args: argparse.Namespace) -> tuple[Runner, FlashJob]:
    """The runner of a command line and its job. NeuralArtError: no such runner, or plan or board are wrong."""
    from neuralart import boards
    from neuralart.flashing.plan import read
    from neuralart.flashing.runners import FlashJob, find

    runner = find(args.runner, "--runner")
    plan = read(args.plan)
    board = boards.load(plan.board, args.board_file, where=plan.where)
    return runner, FlashJob(plan, board, args.record, args.probe, args.only, args.top)


def run(args: argparse.Namespace) -> int:
    """Write it. NeuralArtError: something given is wrong; the file is as it was then."""
    from neuralart.files import alone_with

    runner, job = chosen(args)
    with alone_with(args.record):
        done = runner.flash(job)
    for written in done:
        for line in describe(written):
            print(line)
    if not any(written.erased for written in done):
        print(f"{runner.device(str(args.record), args.probe)}: nothing was written, it held all of this already")
    return 0
