"""``neuralart run``: run firmware on a virtual board and compare it with golden vectors."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TextIO

from neuralart.errors import NeuralArtError

FAILED = 2


def _load(text: str) -> tuple[Path, int]:
    name, at, address = text.rpartition("@")
    try:
        if not (name and at):
            raise ValueError
        number = int(address, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not FILE@ADDRESS, for example weights.bin@0x71000000") from None
    if not 0 <= number < 1 << 32:
        raise argparse.ArgumentTypeError(f"address {address} has more than 32 bits")
    return Path(name), number


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time in seconds")
    return value


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--board", required=True, metavar="NAME", help="board of the database")
    parser.add_argument(
        "--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own"
    )
    parser.add_argument("--machine", default="", metavar="KIND", help="unicorn or qemu (default: the board's first)")
    parser.add_argument("--elf", required=True, type=Path, metavar="FILE", help="the image")
    parser.add_argument(
        "--load", action="append", default=[], type=_load, metavar="FILE@ADDR", help="raw file loaded before the start"
    )
    parser.add_argument(
        "--network", action="append", default=[], type=Path, metavar="FILE", help="network.json of a network to check"
    )
    parser.add_argument(
        "--vectors", action="append", default=[], type=Path, metavar="DIR", help="its golden vectors, in the same order"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=60.0, metavar="S", help="seconds one answer may take (default: 60)"
    )
    parser.add_argument("--console", type=Path, metavar="FILE", help="write the console's text there as well")


class _Progress:
    """A line that is overwritten while vectors are computed; nothing where nobody watches."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._width = 0

    def show(self, network: str, done: int, count: int) -> None:
        if self._live:
            text = f"{network}: {done}/{count} vectors"
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
            self._width = len(text)

    def clear(self) -> None:
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0


def run(args: argparse.Namespace) -> int:
    """Run it.

    Returns:
        0 when every output is bit-exact; 2 when one differs or the run stopped.

    Raises:
        NeuralArtError: Something given is wrong.
    """
    from neuralart import boards
    from neuralart.emulator import runner
    from neuralart.emulator.stops import RunFailure
    from neuralart.files import write_text

    if len(args.network) != len(args.vectors):
        raise NeuralArtError(
            f"{len(args.network)} --network and {len(args.vectors)} --vectors", hint="give one --vectors per --network"
        )
    board = boards.load(args.board, args.board_file)
    progress = _Progress(sys.stderr)
    lines: list[str] = []

    def text(line: str) -> None:
        lines.append(line)
        progress.clear()
        print(f"  | {line}", flush=True)

    runs = [runner.NetworkRun(*pair) for pair in zip(args.network, args.vectors, strict=True)]
    try:
        result = runner.run(
            board,
            args.machine,
            args.elf,
            args.load,
            runs,
            timeout=args.timeout,
            on_text=text,
            on_vector=progress.show,
        )
    except RunFailure as failure:
        progress.clear()
        sys.stdout.flush()
        print(f"neuralart run: {failure}", file=sys.stderr)
        return FAILED
    finally:
        progress.clear()
        if args.console is not None:
            write_text(args.console, "".join(f"{line}\n" for line in lines))
    for network in result.networks:
        print(f"{network.name}: {network.vectors} vectors bit-exact on {result.machine} ({result.note})")
    return 0
