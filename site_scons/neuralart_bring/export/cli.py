"""``neuralart export``: what the last build of a variant made, or a model, as a folder for the user's own build."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import project_folder
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart_bring.export.plan import ExportInputs


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("variant", nargs="?", metavar="VARIANT", help="a variant of the project file; build it first")
    add("--to", type=Path, required=True, metavar="DIR", help="the folder to write")
    project_folder.add_options(parser)
    add("--model", type=Path, metavar="FILE", help="compile this model instead: no variant, no project file")
    add("--board", metavar="NAME", help="with --model: a board, or the file of one")
    add("--name", default="network", metavar="NAME", help="with --model: C name of the network (default: network)")
    text = "with --model: a word for neuralart compile; may be repeated: --option=--memory --option=smallest"
    add("--option", action="append", default=[], metavar="WORD", help=text)
    text = "with --model: write what the folder depends on for make and Ninja; it is of the target FILE without .d"
    add("--depfile", type=Path, metavar="FILE.d", help=text)
    add("--force", action="store_true", help="overwrite edited files, and files that no export wrote")
    add("--quiet", action="store_true", help="print nothing when it went well")


def run(args: argparse.Namespace) -> int:
    """Write the folder. NeuralArtError: nothing is built of today's configuration, the model cannot be compiled, or the
    folder holds other files.
    """
    from neuralart.errors import NeuralArtError

    if (args.variant is None) == (args.model is None):
        what = "a variant or --model, not both" if args.model else "neither a variant nor --model"
        raise NeuralArtError(what, where="export", hint="neuralart export --help")
    return _of_variant(args) if args.model is None else _of_model(args)


def _of_model(args: argparse.Namespace) -> int:
    from neuralart.errors import NeuralArtError
    from neuralart.files import write_text
    from neuralart_bring.export.of_model import inputs_of

    if args.board is None:
        raise NeuralArtError("no board", where="--model", hint="neuralart boards lists them: --board NAME")
    if args.depfile is not None and args.depfile.suffix != ".d":
        raise NeuralArtError("no .d at the end", where=f"--depfile {args.depfile}")
    with tempfile.TemporaryDirectory() as work:
        made = inputs_of(args.model, args.board, args.name, args.option, Path(work))
        _write(args, made.inputs)
    if args.depfile is not None:
        code = [
            Path(file)
            for name, module in sys.modules.items()
            if (file := getattr(module, "__file__", None)) and name.startswith("neuralart")
        ]
        needed = {path.absolute() for path in (*made.read, *code, *(part.path for part in made.inputs.runtime))}
        words = " \\\n  ".join(_escaped(path) for path in sorted(needed))
        write_text(args.depfile, f"{_escaped(args.depfile.with_suffix('').absolute())}: {words}\n")
    return 0


def _escaped(path: Path) -> str:
    """A path as a word of a file of dependencies, as GCC writes them (-MD)."""
    return path.as_posix().replace("$", "$$").replace("#", "\\#").replace(" ", "\\ ")


def _write(args: argparse.Namespace, inputs: ExportInputs) -> None:
    from neuralart_bring.export.folder import write

    done = write(args.to, inputs, force=args.force)
    if not args.quiet:
        counts = f"{len(done.written)} files written, {len(done.removed)} removed, {len(done.kept)} as they were"
        say(f"{args.to}: {counts}")


def _of_variant(args: argparse.Namespace) -> int:
    from neuralart import boards, config
    from neuralart.errors import NeuralArtError
    from neuralart.memory.layout.layout import make_layout
    from neuralart.network import facts
    from neuralart.network.targets import CPU, flow_of
    from neuralart_bring import last_build
    from neuralart_bring.export.collect import BuiltNetwork, collect
    from neuralart_bring.last_build import network_folders, read_networks

    file: Path = args.file
    project = config.read(file, file.as_posix())
    variant = project.variant(args.variant)
    board = boards.load(variant.booted[0], [file.parent / path for path in project.config.boards], variant.booted[1])
    networks = read_networks(board, variant, file.parent)
    build: Path = args.build or file.parent / "build"
    built = last_build.read(build, variant.name, board, networks)
    if built.note:
        raise NeuralArtError(built.note, where=f"variant {variant.name}", hint=f"scons {variant.name} builds it")
    layout = None
    if flow_of(board.target) != CPU:
        with_firmware = last_build.has_firmware(variant, built.networks)
        layout = make_layout(board, variant, networks, with_firmware=with_firmware)
    folders = network_folders(build / variant.name / "index.json")
    # What runs on the core is a part of the firmware to those who plan addresses.
    found = built.networks or [facts.load(folder / "network.json") for folder in folders.values()]
    pools = {network.name: {pool.fname: pool.address for pool in network.pools.enabled} for network in networks}
    machine = board.machines.get(variant.machine) or next(iter(board.machines.values()), None)
    parts = [BuiltNetwork(each, folders[each.name], pools.get(each.name, {})) for each in found]
    flags = machine.cpu_flags if machine is not None else ()
    _write(args, collect(variant, board, layout, parts, build / variant.name, flags))
    return 0
