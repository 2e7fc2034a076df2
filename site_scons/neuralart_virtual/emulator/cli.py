"""``neuralart run``: run firmware on a virtual board, and compare it with golden vectors where there are some."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import LOG, write_lines
from neuralart.text.console import say, say_result
from neuralart.text.progress import Work, at_work
from neuralart.text.sizes import number_that
from neuralart_fleet.ci.junit import MARK as JUNIT

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.flashing.nor import Nor
    from neuralart_virtual.emulator.gdb.server import GdbServer
    from neuralart_virtual.emulator.inferences import NetworkResult, NetworkRun, RunResult

FAILED = 2


def _at(text: str, example: str) -> tuple[str, int]:
    name, at, address = text.rpartition("@")
    try:
        if not (name and at):
            raise ValueError
        number = int(address, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not {example}") from None
    if not 0 <= number < 1 << 32:
        raise argparse.ArgumentTypeError(f"address {address} has more than 32 bits")
    return name, number


def _load(text: str) -> tuple[Path, int]:
    name, address = _at(text, "FILE@ADDRESS, for example weights.bin@0x71000000")
    return Path(name), address


def _count(text: str) -> tuple[str, str]:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1 << 20):
        raise argparse.ArgumentTypeError(f"'{text}' is no number of vectors")
    return "random", text


def _gdb(text: str) -> int:
    from neuralart_virtual.emulator.gdb.server import port_of

    try:
        return port_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    from neuralart_virtual.virtual_npu import add_options

    add, several = parser.add_argument, partial(parser.add_argument, action="append", default=[])
    add("--board", required=True, metavar="NAME", help="board of the database")
    several("--board-file", type=Path, metavar="FILE", help="board file of your own")
    add("--machine", default="", metavar="KIND", help="unicorn or qemu (default: the board's first)")
    text = (
        "the image; none: relocatable models for the vendor's runtime, which the virtual NPU runs from --plan or --nor"
    )
    add("--elf", type=Path, metavar="FILE", help=text)
    flash = parser.add_mutually_exclusive_group()
    text = "boot from a fresh virtual flash written by this flash_plan.json"
    flash.add_argument("--plan", type=Path, metavar="FILE", help=text)
    flash.add_argument("--nor", type=Path, metavar="FILE", help="boot from this virtual flash, as it is")
    text = "no flash: the image is loaded in place, and this raw file beside it"
    flash.add_argument("--load", action="append", default=[], type=_load, metavar="FILE@ADDR", help=text)
    text = "folder that the plan's paths start from (default: .)"
    add("--top", type=Path, default=Path(), metavar="DIR", help=text)
    slot = partial(_at, example="NAME@ADDRESS, for example application@0x70100000")
    several("--slot", type=slot, metavar="NAME@ADDR", help="flash slot that was moved")
    text = "access to a bank that is off: stop (default), or read zeros and lose writes"
    add("--dead-bank", choices=("fault", "zeros"), default="fault", help=text)
    text = "raw file that the external loader writes while the firmware waits for it"
    several("--external", type=_load, metavar="FILE@ADDR", help=text)
    text = "memory (xSPI1: the PSRAM) that the boot chain leaves mapped beside those that the board's file says"
    several("--mapped", metavar="MEMORY", help=text)
    add("--xspi-unmapped", action="store_true", help="the boot chain leaves flash and PSRAM unmapped")
    several("--network", type=Path, metavar="FILE", help="network.json of a network to run")
    text = "the image is a program of its own: show its console until its main returns"
    add("--program", action="store_true", help=text)
    fed = partial(several, dest="feeds")
    text = "its golden vectors; one of this, --input and --random for each --network, in the same order, or none at all"
    fed("--vectors", type=lambda text: ("vectors", text), metavar="DIR", help=text)
    text = "its inputs, whose outputs are shown: raw elements, .npy, .npz, .csv, sound, pictures or a folder of them"
    fed("--input", type=lambda text: ("input", text), metavar="FILE", help=text)
    text = "its inputs are pseudo-random, that many (default: 1), and its outputs are shown"
    fed("--random", type=_count, metavar="N", help=text)
    text = "names of its classes: a file with one a line, or a JSON list; empty: none"
    several("--labels", metavar="NAMES", help=text)
    text = "the networks are relocatable models that the firmware loads: that of each --network, in the same order"
    several("--model", type=Path, metavar="FILE", help=text)
    text = "params of each --model that is split, in the same order"
    several("--model-params", type=Path, metavar="FILE", help=text)
    text = "how close the outputs of each --network must come: exact (default), or max_lsb=1,cos=0.99,rmse=0.1"
    several("--check", metavar="BOUNDS", help=text)
    text = "seconds of processor time that the firmware may compute without a word (default: 60)"
    seconds = number_that(lambda value: 0 < value < 1e6, "is not a time in seconds")
    add("--timeout", type=seconds, default=60.0, metavar="S", help=text)
    add_options(parser)
    text = "wait for gdb on this port of 127.0.0.1 (default: a free one) before the first instruction"
    add("--gdb", nargs="?", const=0, type=_gdb, metavar=":PORT", help=text)
    text = "no run: the board's serial port is this TCP port of 127.0.0.1 (default: a free one), until Ctrl-C"
    add("--serial", nargs="?", const=0, type=_gdb, metavar=":PORT", help=text)
    add("--name", default="", help="what this run is called in each line of its own: a variant, if several run at once")
    outputs.add(parser, "--console", mine=outputs.says(LOG), help="write the console's text there as well")
    text = "write what became of each network there, as JUnit XML"
    outputs.add(parser, "--junit", mine=outputs.says(JUNIT), help=text)


def _board_with_slots(board: Board, moved: Sequence[tuple[str, int]]) -> Board:
    for name, _ in moved:
        if name not in board.slots:
            hint = nearest(name, list(board.slots))
            raise NeuralArtError(f"board {board.name} has no slot '{name}'", where="--slot", hint=hint)
    return replace(board, slots={**board.slots, **dict(moved)})


def _runs(args: argparse.Namespace) -> list[NetworkRun]:
    """What is to be run. NeuralArtError: options that belong together differ in number."""
    from neuralart import products
    from neuralart.relocatable.format import container
    from neuralart_virtual.emulator.inputs.source import Feed, InputFile, RandomInputs
    from neuralart_virtual.emulator.runner import NetworkRun
    from neuralart_virtual.emulator.vectors import Closeness, parse
    from neuralart_virtual.virtual_npu import of_arguments

    networks, models = len(args.network), len(args.model)
    if len(args.feeds) not in (0, networks):
        hint = "give one of them per --network, or none: then all inputs are pseudo-random"
        raise NeuralArtError(f"{networks} --network and {len(args.feeds)} --vectors, --input and --random", hint=hint)
    if models not in (0, networks):
        hint = "give one --model per --network, or none"
        raise NeuralArtError(f"{networks} --network and {models} --model", hint=hint)
    if len(args.check) not in (0, networks):
        raise NeuralArtError(f"{networks} --network and {len(args.check)} --check", hint="give one each, or no --check")
    bounds = [parse(text) for text in args.check] or [Closeness()] * networks
    split = [n for n, path in enumerate(args.model) if container.parse(products.read(path), str(path)).split]
    if len(split) != len(args.model_params):
        hint = "give the _rel_params.bin of each split model, and of no other"
        raise NeuralArtError(f"{len(split)} split models and {len(args.model_params)} --model-params", hint=hint)
    params = dict(zip(split, args.model_params, strict=True))
    makers: dict[str, Callable[[str], Feed]] = {
        "vectors": Path,
        "input": lambda text: InputFile(Path(text)),
        "random": lambda text: RandomInputs(int(text)),
    }
    feeds = [makers[kind](text) for kind, text in args.feeds] or [RandomInputs()] * networks
    npu = of_arguments(args)
    return [
        NetworkRun(network, feed, args.model[number] if models else None, params.get(number), bounds[number], npu)
        for number, (network, feed) in enumerate(zip(args.network, feeds, strict=True))
    ]


def _labels(args: argparse.Namespace) -> list[tuple[str, ...]]:
    """Names of the classes of each network. NeuralArtError: a list is damaged, a file cannot be read."""
    from neuralart import jsontext
    from neuralart.app_config.generate import class_names
    from neuralart.config.app_config import AppConfig

    if len(args.labels) not in (0, len(args.network)):
        hint = "give one each, or no --labels"
        raise NeuralArtError(f"{len(args.network)} --network and {len(args.labels)} --labels", hint=hint)
    found: list[tuple[str, ...]] = []
    for text in args.labels or [""] * len(args.network):
        if text.startswith("["):
            try:
                found.append(tuple(map(str, jsontext.loads(text))))
            except ValueError as error:
                raise NeuralArtError(f"not a JSON list: {error}", where="--labels") from error
        else:
            found.append(class_names(AppConfig("", "", class_names_file=text), Path()))
    return found


def _results(run: NetworkRun, result: NetworkResult, labels: Sequence[str], machine: str) -> list[str]:
    """What is said of a network that was run."""
    from neuralart.network import facts
    from neuralart_virtual.emulator.vectors import described

    if result.note:
        machine = f"{machine.partition(' ')[0]} ({result.note})"
    if result.how:
        return [f"{result.name}: {result.vectors} vectors {result.how} on {machine}"]
    network, lines = facts.load(run.network), []
    for number, values in enumerate(result.outputs):
        lines += [f"{result.name}: input {number}: {line}" for line in described(network, values, labels)]
    count = f"{result.vectors} input{'s' if result.vectors > 1 else ''}"
    return [*lines, f"{result.name}: {count} ({run.feed}) computed on {machine}; not compared: no vectors"]


def _debugger(args: argparse.Namespace, nor: Nor | None, warn: Callable[[str], None]) -> GdbServer:
    """Listen for a debugger, and say how to call it. A virtual flash of a file keeps what the debugger writes to it."""
    from neuralart_virtual.emulator.gdb.server import HOST, GdbServer

    def flashed() -> None:
        if nor is not None and args.nor is not None:
            nor.save(args.nor)

    server = GdbServer(args.gdb, flashed, warn)
    words = shlex.join(["gdb-multiarch", str(args.elf), "-ex", f"target remote {HOST}:{server.port}"])
    say(f"gdb: {words}", flush=True)
    return server


def run(args: argparse.Namespace) -> int:
    """Run it. Returns 0 unless an output differs from what is known of it, or the run stopped: then 2."""
    with at_work(f"run {args.name}".strip()) as work:
        return _run(args, work)


def _run(args: argparse.Namespace, work: Work) -> int:
    from neuralart import boards
    from neuralart.flashing.nor import load_for
    from neuralart_fleet.ci import junit
    from neuralart_virtual.emulator import RunFailure, boot_chain, runner
    from neuralart_virtual.emulator.coherency import Conditions
    from neuralart_virtual.emulator.gdb.server import SerialServer
    from neuralart_virtual.emulator.image import read_raw

    if args.elf is None and (not args.model or args.program or args.gdb is not None or not (args.plan or args.nor)):
        hint = "or --model with --plan or --nor, of models for the vendor's runtime"
        raise NeuralArtError("no image to run: give --elf", hint=hint)
    suite = f"run {args.name or (args.elf or args.network[0]).stem} on {args.board}"
    board = _board_with_slots(boards.load(args.board, args.board_file), args.slot)
    machine = runner.machine_of(board, args.machine)
    flash = boot_chain.Media(loads=tuple(args.load))
    if args.plan is not None:
        flash = boot_chain.of_plan(args.plan, board, machine, args.top)
    elif args.nor is not None:
        flash = boot_chain.Media(load_for(args.nor, board))
    who = f"{args.name}: " if args.name else ""
    lines: list[str] = []

    def text(line: str) -> None:
        lines.append(line)
        say(f"  {args.name}{' ' if args.name else ''}| {line}", flush=True)

    def note(line: str) -> None:
        sys.stdout.flush()
        say(f"neuralart run: note: {who}{line}", file=sys.stderr)

    for line in flash.notes:
        note(line)
    if args.program and (args.feeds or args.model or args.check):
        hint = "the program feeds its networks itself"
        raise NeuralArtError("--program takes no inputs, models and bounds", hint=hint)
    if args.serial is not None and (args.network or args.program):
        raise NeuralArtError("--serial runs no networks", hint="neuralart load, talk and validate open the port")
    runs, labels = _runs(args), _labels(args)
    external = tuple(read_raw(path, address) for path, address in args.external)
    serial = None if args.serial is None else SerialServer(args.serial, note)
    if serial is not None:
        say(f"serial: {serial.url}", flush=True)
    server = None if args.gdb is None else _debugger(args, flash.nor, note)
    given = Conditions(flash.nor, args.dead_bank, args.xspi_unmapped, external, tuple(args.mapped), gdb=server)

    def said(done: RunResult) -> str:
        parts = zip(runs, done.networks, labels, strict=True)
        machine = f"{done.machine} ({done.note})"
        if done.ended:
            return f"{who}{done.ended} on {machine}"
        found = [line for one, network, names in parts for line in _results(one, network, names, machine)]
        # A variant that is called like its network is not named twice.
        return "\n".join(line if line.startswith(who) else who + line for line in found)

    def once() -> RunResult:
        if args.elf is None:
            assert flash.nor is not None
            return runner.run_loaded(board, flash.nor, runs, lambda _, done, count: work.show(done, count, "vectors"))
        if serial is not None:
            with boot_chain.started_machine(board, machine, args.elf, flash.loads, given, ()) as started:
                serial.serve(started, server, note)
        # Who looks at a program with a debugger takes the time that it takes.
        timeout = args.timeout if server is None else math.inf
        start = partial(runner.run, runs=runs, on_vector=lambda _, done, count: work.show(done, count, "vectors"))
        if args.program:
            start = partial(runner.run_program, networks=args.network)
        place = (board, machine.kind, args.elf, flash.loads)
        return start(*place, surroundings=given, timeout=timeout, on_text=text, on_note=note)

    try:
        result = once() if server is None else server.until_done(once, said)
    except RunFailure as failure:
        sys.stdout.flush()
        print(f"neuralart run: {who}{failure}", file=sys.stderr)
        if args.junit is not None:
            junit.write(args.junit, [junit.CheckOutcome(suite, "run", [str(failure)], output=lines)])
        return FAILED
    finally:
        if serial is not None:
            serial.close()
        if args.console is not None:
            write_lines(args.console, lines)
    if result is None:
        note("the debugger ended the run")
        return 0
    if args.junit is not None:
        names = [network.name for network in result.networks] or ["run"]
        shown = [*lines, *said(result).splitlines()]
        junit.write(args.junit, [junit.CheckOutcome(suite, name, output=shown) for name in names])
    say_result(said(result))
    return 0
