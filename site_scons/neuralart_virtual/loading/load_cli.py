"""``neuralart load``: what ST's st_load_and_run.py does for relocatable models, and n6_loader.py for ordinary networks.
Flash is written by a runner, the application is put into RAM by gdb and started, then the board is asked over its
serial port. It counts when the board says that it runs the very file that was given.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import __version__, outputs
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import LOG, write_lines
from neuralart.text import console, sizes

if TYPE_CHECKING:
    from neuralart.flashing.runners import FlashJob
    from neuralart_board.runners.process import Answer

_TITLE = "NeuralArt - load a model onto a board, start it, ask it"
_INPUT, _LOG = Path("build/network_rel.bin"), Path("neuralart_load.log")
_TABLE, _STEPS = ("xip", "copy", "ext", "clear", "no-overlay"), ("no-flash", "no-run")
# Words of ST's script for what the loading application does not have: they are taken, and it is said.
_NOTED = {
    "usbc": "it talks over the serial port alone (--port names another one)",
    "max-speed": "it leaves clocks and baud rate as it finds them (--baud: the rate of the port)",
}
_MODE = "words with commas: copy (default) or xip, ext, clear, no-overlay; no-flash, no-run; usbc, max-speed: a note"
_ADDRESS = "of the model and of the params of a split one (default: the board's: 0x71000000,0x71800000)"
_IDE = "STM32CubeIDE, whose programs are taken (default: STM32_CUBE_IDE_DIR, PATH, the usual folders)"


def _mode(text: str) -> list[str]:
    words, known = text.split(","), (*_TABLE, *_STEPS, *_NOTED)
    for word in words:
        if word not in known:
            raise argparse.ArgumentTypeError(f"'{word}' is not possible ({nearest(word, known)})")
    for pair in (("copy", "xip"), _STEPS):
        if set(pair) <= set(words):
            raise argparse.ArgumentTypeError(f"{pair[0]} or {pair[1]}, not both")
    return words if "xip" in words or "copy" in words else ["copy", *words]


def _addresses(text: str) -> tuple[int, ...]:
    if text.count(",") > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not NET or NET,PARAMS")
    return tuple(map(sizes.word, text.split(",")))


_above_0 = sizes.number_that(lambda value: 0 < value < 1e9, "is no number above 0")


def _positive(text: str) -> float:
    number = _above_0(text)
    return int(number) if number.is_integer() else number


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those that st_load_and_run.py has are called as there."""
    add = parser.add_argument
    add("folder", nargs="?", type=Path, metavar="FOLDER", help="an ordinary network: the folder of a built variant")
    add("-i", "--input", type=Path, metavar="FILE", help=f"relocatable model (default: {_INPUT.as_posix()})")
    add("--board", default="stm32n6570-dk", metavar="NAME", help="default: %(default)s")
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")
    add("--address", type=_addresses, default=(), metavar="NET[,PARAMS]", help=_ADDRESS)
    add("--mode", type=_mode, default=["copy"], metavar="WORDS", help=_MODE)
    add("--cube-ide-dir", type=Path, metavar="DIR", help=_IDE)
    add(
        "--application",
        type=Path,
        metavar="ELF",
        help="the loading application (default: firmware.elf beside FILE, else it is built)",
    )
    add("--runner", default="", metavar="NAME", help="who writes flash (default: cubeprogrammer; with --server: gdb)")
    add("--probe", default="", metavar="SERIAL", help="which probe, where several are connected")
    add("--server", default="", metavar="HOST:PORT", help="a gdb server that runs already: of a virtual board, OpenOCD")
    add("--port", default="", metavar="URL", help="/dev/ttyACM0, COM4, socket://HOST:PORT (default: that of the probe)")
    add("--baud", type=_positive, default=921600, metavar="N", help="default: %(default)s")
    add("--vectors", type=Path, metavar="DIR", help="golden vectors to compare with (default: two random inputs)")
    add("--cpu-mhz", type=_positive, default=0.0, metavar="MHZ", help="clock of the core: cycles become time and inf/s")
    add("--timeout", type=_positive, default=20.0, metavar="S", help="seconds of silence of the board (default: 20)")
    text = f"write the text there too ({_LOG})"
    outputs.add(parser, "--log", mine=outputs.says(LOG), nargs="?", const=_LOG, help=text)
    add("-v", "--verbosity", type=int, choices=(0, 1, 2), nargs="?", const=1, default=1, help="2: also each command")
    add("--debug", action="store_true", help="as -v 2, with all that the programs say")
    add("--no-color", action="store_true", help="for scripts of ST's tools; the output has no colors")


def run(args: argparse.Namespace) -> int:
    """Load it. Returns 0 when the board runs what was given. NeuralArtError: it does not."""
    from neuralart_board.runners import process

    lines: list[str] = []

    def say(*more: str) -> None:
        lines.extend(more)
        if args.verbosity:
            console.say(*more, flush=True)

    def told(answer: Answer) -> None:
        for line in (f"> {' '.join(answer.words)}", *(answer.text.splitlines() if args.debug else ())):
            say(f"  {line}")

    process.listeners[:] = [told] if args.verbosity > 1 or args.debug else []
    try:
        with tempfile.TemporaryDirectory(prefix="neuralart-") as work:
            _load(args, Path(work), say)
        return 0
    except NeuralArtError as error:
        lines.append(f"error: {error}")
        raise
    finally:
        process.listeners.clear()
        if args.log is not None:
            write_lines(args.log, lines)


def _load(args: argparse.Namespace, work: Path, say: Callable[..., None]) -> None:
    from neuralart import boards
    from neuralart.flashing.runners import FlashJob
    from neuralart_board.runners import process
    from neuralart_board.runners.gdb import Gdb
    from neuralart_board.runners.session import image_parts, serial_port
    from neuralart_virtual.emulator.host_link import Session
    from neuralart_virtual.emulator.image import read_elf
    from neuralart_virtual.emulator.vectors import load
    from neuralart_virtual.loading import deployment

    say(f"{_TITLE} (version {__version__})", f"Creating date  : {time.asctime()}")
    process.use_ide(args.cube_ide_dir)
    # What can be wrong here is looked at before the board is touched.
    board, path, words = boards.load(args.board, args.board_file), args.input or _INPUT, set(args.mode) & set(_TABLE)
    if args.folder is None:
        made = deployment.of_model(path, args.address, words, board, work)
    elif args.input or args.address or args.application:
        raise NeuralArtError("a folder and a model", where=str(args.folder), hint="-i FILE alone, or the folder alone")
    elif args.folder.is_file():
        raise NeuralArtError(
            "is no folder of a built variant", where=str(args.folder), hint="-i FILE: a relocatable model"
        )
    else:
        made = deployment.of_folder(args.folder, board)
    say(f"Entry point    : '{args.folder or path}'", f"Board          : '{board.name}'")
    if made.image is not None:
        say(f"Params         : '{deployment.params_of(path)}'" if made.image.split else "no split model")
    say(*(f"note: --mode {word}: no effect: {_NOTED[word]}" for word in args.mode if word in _NOTED))
    job = FlashJob(made.plan, board, work / "record", args.probe, top=made.top, server=args.server)
    if "no-run" in args.mode:
        return _flash(args, job, say)
    elf = args.application or made.elf or deployment.application_of(path, board)
    if elf is None:
        from neuralart_virtual.loading import stock

        say(f"Building the loading application of '{board.name}'..")
        elf = stock.make(work, made, args.address)
    image_parts(elf, board)
    vectors = load(args.vectors) if args.vectors is not None else None
    url, gdb = args.port or serial_port(args.probe, "--port"), Gdb()
    with closing(deployment.SerialTransport(url, args.baud)) as port:
        _flash(args, job, say)
        say(f"Loading & start the application '{elf.name}'..")
        with gdb.session(job) as probe:
            virtual = gdb.check_device(probe).device_id is None
            deployment.discard(port)
            gdb.start(probe, elf, made.later)
        session = Session(port, timeout=args.timeout, on_text=lambda line: say(f"  | {line}"))
        found = list(deployment.introduced(session, made.wanted, url))
        say(f"Executing the deployed model (desc={url})..")
        for (name, stamp, where), (number, remote) in zip(made.wanted, found, strict=True):
            say(f"The board runs '{name}', stamp {stamp}: that of {where}.")
            last = deployment.inferences(session, number, remote, vectors)
            how = f"{vectors.count} vectors bit-exact" if vectors else "computed, not compared: no --vectors"
            say(f"{name}: {how}")
            if read_elf(elf).symbols.address_of("validation_link_take") is None:
                say("  no table: 'defines: [NEURALART_VALIDATION_LINK]' in the variant lets it tell its epochs")
                continue
            for line in deployment.table(deployment.epochs(port, remote, *last), virtual, 1e6 * args.cpu_mhz):
                say(line)


def _flash(args: argparse.Namespace, job: FlashJob, say: Callable[..., None]) -> None:
    """Write what the board does not hold yet, and leave it reset."""
    from neuralart.flashing.runners import find

    runner, machines = find(args.runner or ("gdb" if args.server else "cubeprogrammer"), "--runner"), job.board.machines
    what, hint = runner.refusal("write", job.board, machines.get("silicon") or next(iter(machines.values())))
    if what:
        raise NeuralArtError(what, where=f"--runner {runner.name}", hint=hint)
    if "no-flash" not in args.mode and job.plan.writes:
        for write in job.plan.writes:
            say(f"Flashing '{write.file}' at address 0x{write.address:08x} (size={write.bytes})..")
        if any(written.erased for written in runner.flash(job)):
            return
        say("The flash holds all of it already.")
    say("Resetting the board.")
    runner.reset(job)
