"""``neuralart plan``: shows who has which addresses, as text, JSON and a picture."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs, project_folder
from neuralart.text.console import say

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.memory.layout.strategies import LayoutNetwork


def configure(parser: argparse.ArgumentParser) -> None:
    from neuralart_insight.plan.picture import MARK

    parser.add_argument("variant", metavar="VARIANT", help="a variant of the project file")
    project_folder.add_options(parser)
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")
    outputs.add(parser, "--svg", mine=outputs.says(MARK.encode()), help="write a picture as well")


def run(args: argparse.Namespace) -> int:
    """Print the plan, then say what is wrong with it. NeuralArtError: a file is wrong, or the plan does not fit."""
    from neuralart import boards, config
    from neuralart.errors import NeuralArtError
    from neuralart.files import write_text
    from neuralart.memory.layout.layout import make_layout
    from neuralart.memory.layout.relative_pools import placed_in
    from neuralart.memory.plan import plan as plans
    from neuralart.memory.plan import plan_report
    from neuralart.memory.regions import alias_warnings
    from neuralart_bring import last_build
    from neuralart_bring.last_build import read_networks
    from neuralart_insight.plan import picture

    file: Path = args.file
    project = config.read(file, file.as_posix())
    variant = project.variant(args.variant)
    extra = [file.parent / path for path in project.config.boards]
    board = boards.load(variant.booted[0], extra, variant.booted[1])
    networks = read_networks(board, variant, file.parent)
    built = last_build.read(args.build or file.parent / "build", variant.name, board, networks)
    layout = make_layout(board, variant, networks, with_firmware=last_build.has_firmware(variant, built.networks))
    failure: NeuralArtError | None = None
    try:
        plan = plans.make_plan(layout, board, placed_in(layout, built.networks), built.sizes)
    except NeuralArtError as error:
        failure = error
        plan = plans.make_plan(layout, board, (), {})
    aliases = [text for network in built.networks for text in alias_warnings(board, network)]
    notes = [*([built.note] if built.note else []), *_homeless(board, networks), *aliases]
    if args.json:
        print(plan_report.to_json(plan, variant.name), end="")
        for note in notes:
            say(f"neuralart plan: note: {note}", file=sys.stderr)
    else:
        data = plan_report.as_data(plan, variant.name)
        print(plan_report.text(data, notes, plan_report.unpowered(board)), end="")
    if args.svg is not None:
        write_text(args.svg, picture.svg(plan, variant.name))
    if failure is not None:
        raise failure
    plans.check(plan)
    return 0


def _homeless(board: Board, networks: list[LayoutNetwork]) -> list[str]:
    from neuralart.memory.layout.flash_areas import cut_off

    clamped = [
        f"{pool.where}: pool {pool.fname} of network {network.name} has {pool.size} bytes, at 0x{pool.address:08x} are "
        f"{room}: that many count"
        for network in networks
        for pool, room in cut_off(board, network.pools)
    ]
    return clamped + [
        f"{pool.where}: pool {pool.fname} of network {network.name} at 0x{pool.address:08x} is in no memory of "
        f"{board.name}; a network that uses it is refused"
        for network in networks
        for pool in network.pools.enabled
        if pool.mode == "USEMODE_ABSOLUTE" and board.region_at(pool.address) is None
    ]
