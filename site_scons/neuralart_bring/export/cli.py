"""``neuralart export``: what the last build of a variant made, as a folder for the user's own build."""

from __future__ import annotations

import argparse
from pathlib import Path

from neuralart import project_folder
from neuralart.text.console import say


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("variant", metavar="VARIANT", help="a variant of the project file; build it first")
    add("--to", type=Path, required=True, metavar="DIR", help="the folder to write")
    text = "project file (default: variants.yaml)"
    add("--file", type=Path, default=project_folder.default("variants.yaml"), metavar="FILE", help=text)
    add("--build", type=Path, metavar="DIR", help="build folder (default: build beside the project file)")
    add("--force", action="store_true", help="overwrite edited files, and files that no export wrote")
    add("--quiet", action="store_true", help="print nothing when it went well")


def run(args: argparse.Namespace) -> int:
    """Write the folder. NeuralArtError: nothing is built of today's configuration, or the folder holds other files."""
    from neuralart import boards, config
    from neuralart.errors import NeuralArtError
    from neuralart.memory.layout.layout import make_layout
    from neuralart.network import facts
    from neuralart.network.targets import CPU, flow_of
    from neuralart_bring import last_build
    from neuralart_bring.export.collect import BuiltNetwork, collect
    from neuralart_bring.export.folder import write
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
    done = write(args.to, collect(variant, board, layout, parts, build / variant.name, flags), force=args.force)
    if not args.quiet:
        counts = f"{len(done.written)} files written, {len(done.removed)} removed, {len(done.kept)} as they were"
        say(f"{args.to}: {counts}")
    return 0
