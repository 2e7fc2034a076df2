"""``neuralart flash`` and ``verify``: write a device's flash, or compare it with its plan."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.files import alone_with, read_bytes, write_bytes
from neuralart.flashing.runners import DEFAULT, FlashJob, Runner, find
from neuralart.text.console import say
from neuralart.text.progress import at_work

if TYPE_CHECKING:
    from neuralart.flashing.nor import Written

PARTS = ("application", "model")
DIFFERS = 2


def configure_flash(parser: argparse.ArgumentParser) -> None:
    """Declare the options, for ``verify`` too."""
    add = parser.add_argument
    add("--plan", required=True, type=Path, metavar="FILE", help="flash_plan.json")
    text = "the virtual flash, or of another runner the record of what its device holds"
    add("--nor", "--record", dest="record", required=True, type=Path, metavar="FILE", help=text)
    add("--runner", default=DEFAULT, metavar="NAME", help="what writes (default: %(default)s)")
    add("--probe", default="", metavar="SERIAL", help="which device, of a runner that has several")
    add("--server", default="", metavar="HOST:PORT", help="a gdb server that runs, for --runner gdb")
    add("--force", action="store_true", help="write what the device holds already, too")
    text = "write nothing: print the commands, and write them as scripts beside the plan"
    add("--dry-run", action="store_true", help=text)
    add("--only", choices=PARTS, help="a part; model: the initializers and their descriptor")
    text = "folder that the plan's paths start from (default: .)"
    add("--top", type=Path, default=Path(), metavar="DIR", help=text)
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")


configure_verify = configure_flash


def _sectors(number: int) -> str:
    return f"{number} sector{'' if number == 1 else 's'}"


def describe(written: Written) -> list[str]:
    """Say what was written, in lines."""
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
    """Find the runner and the job of a command line. NeuralArtError: no such runner, or plan or board are wrong."""
    from neuralart import boards
    from neuralart.flashing.plan import read

    runner = find(args.runner, "--runner")
    plan = read(args.plan)
    board = boards.load(plan.board, args.board_file, where=plan.where)
    job = FlashJob(plan, board, args.record, args.probe, args.only, args.top, force=args.force, server=args.server)
    return runner, job


def _show(runner: Runner, job: FlashJob, plan: Path) -> int:
    """Print what a person would type, and write scripts for people without this package."""
    from neuralart.flashing.plan import contents

    contents(job.plan, job.plan.chosen(job.only), job.top)
    script = runner.script(job)
    name = plan.stem + (f".{job.only}" if job.only else "")
    for beside, file in script.files().items():
        write_bytes(plan.with_name(beside), read_bytes(file))
    shell, batch = plan.with_name(f"{name}.sh"), plan.with_name(f"{name}.bat")
    write_bytes(shell, script.shell(job.top, plan.parent).encode())
    write_bytes(batch, script.batch(job.top, plan.parent).encode())
    programs, loaders = runner.installed()
    for line in script.lines(job.top, programs, loaders):
        say(line)
    say(f"# the same as scripts: {shell}, {batch}")
    return 0


def run_flash(args: argparse.Namespace) -> int:
    """Write a device. NeuralArtError: an input is wrong; nothing was written."""
    runner, job = chosen(args)
    if args.dry_run:
        return _show(runner, job, args.plan)
    with at_work("flash"), alone_with(args.record):
        done = runner.flash(job)
    for written in done:
        for line in describe(written):
            say(line)
    if not any(written.erased for written in done):
        say(f"{runner.device(str(args.record), args.probe)}: nothing was written, it held all of this already")
    return 0


def run_verify(args: argparse.Namespace) -> int:
    """Compare a device with its plan: 0 if all bytes are equal, 2 at the first difference."""
    runner, job = chosen(args)
    device = runner.device(str(args.record), args.probe)
    mismatch = runner.verify(job)
    if mismatch is not None:
        say(f"neuralart verify: {device}: {mismatch}", file=sys.stderr)
        return DIFFERS
    writes = job.plan.chosen(job.only)
    say(f"{device}: {len(writes)} writes, {sum(write.bytes for write in writes)} bytes, all as planned")
    return 0
