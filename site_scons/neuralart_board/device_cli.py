"""``neuralart device``: list probes, reset a board, load an image and run it, debug it, show its serial port."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from neuralart import products
from neuralart.flashing.runners import FlashJob, find
from neuralart.text.console import say

_BAUD = 921600


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the debug probes: serial number, board, voltage, device id, port")
    listing.add_argument("--json", action="store_true", help="for programs")
    for name, text in (
        ("reset", "start the device anew"),
        ("boot", "start the device anew, from flash; say how its switches must stand"),
        ("load", "load an image where it is linked, compare it, and run it"),
        ("debug", "start a gdb server and say how gdb is called; Ctrl-C ends it"),
        ("monitor", "print what the serial port says; Ctrl-C ends it"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("--board", required=True, metavar="NAME", help="the board")
        action.add_argument("--board-file", action="append", default=[], type=Path, metavar="FILE", help="one of yours")
        action.add_argument("--probe", default="", metavar="SERIAL", help="which probe, where several are connected")
        if name in ("load", "debug"):
            action.add_argument("--elf", required=True, type=Path, metavar="FILE", help="the image")
        if name == "monitor":
            text = "/dev/ttyACM0, COM4, socket://HOST:PORT, rfc2217://HOST:PORT (default: that of the probe)"
            action.add_argument("--port", default="", metavar="URL", help=text)
            action.add_argument("--baud", type=int, default=_BAUD, metavar="N", help="default: %(default)s")
            action.add_argument("--seconds", type=float, metavar="N", help="end after so many seconds of silence")
        else:
            action.add_argument("--server", default="", metavar="HOST:PORT", help="a gdb server that runs, for gdb")
        if name not in ("debug", "monitor"):
            action.add_argument("--runner", default="cubeprogrammer", metavar="NAME", help="who (default: %(default)s)")


def run(args: argparse.Namespace) -> int:
    """Do it. NeuralArtError: the device does not answer, or what is given is wrong."""
    from neuralart import boards
    from neuralart.flashing.plan import FlashPlan

    if args.action == "list":
        from neuralart_board import connected

        return connected.show(as_json=args.json)
    board, server = boards.load(args.board, args.board_file), getattr(args, "server", "")
    job = FlashJob(FlashPlan(board.name, ()), board, Path(f"flash-{args.action}"), args.probe, server=server)
    if args.action == "monitor":
        return _monitor(args)
    if args.action == "debug":
        return _debug(args, job)
    runner = find(args.runner, "--runner")
    if args.action == "load":
        say(f"{args.elf}: compared, running from 0x{runner.load(job, args.elf):08x}")
        return 0
    runner.reset(job)
    say(f"{board.name}: reset")
    if args.action == "boot" and "flash" in board.switches:
        say(f"it starts from flash with {board.switches['flash']}, then a power cycle")
    return 0


def _debug(args: argparse.Namespace, job: FlashJob) -> int:
    from neuralart_board.runners.gdb import Attached, Gdb

    products.read(args.elf)  # gdb loads it
    with Gdb().session(job) as session:
        assert isinstance(session, Attached)
        words = [str(session.program), str(args.elf), "-ex", f"target remote {session.server}", "-ex", "load"]
        say(f"gdb: {shlex.join(words)}", flush=True)
        try:
            sys.stdin.read()
        except KeyboardInterrupt:
            return 0
    return 0


def _monitor(args: argparse.Namespace) -> int:
    from neuralart_board.ports import BoardPort
    from neuralart_board.runners.session import serial_port

    port = BoardPort(args.port or serial_port(args.probe, "device monitor"), args.baud)
    try:
        # One byte at least, and then whatever is there: lines appear when they are sent.
        while data := port.read(args.seconds):
            sys.stdout.write(data.decode("utf-8", "replace"))
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 0
    finally:
        port.close()
    return 0
