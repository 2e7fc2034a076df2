"""``neuralart plan``: who has which addresses, before a build by what is declared, after it by what is used."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.config.types import VariantConfig
    from neuralart.memory.strategies import LayoutNetwork
    from neuralart.network.facts import Network


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("variant", metavar="VARIANT", help="a variant of the project file")
    parser.add_argument(
        "--file", type=Path, default=Path("variants.yaml"), metavar="FILE", help="project file (default: variants.yaml)"
    )
    parser.add_argument(
        "--build", type=Path, metavar="DIR", help="build folder (default: build beside the project file)"
    )
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="write a picture as well")


def run(args: argparse.Namespace) -> int:
    """Print the plan, then say what is wrong with it.

    Raises:
        NeuralArtError: A file is wrong, or the plan does not work out.
    """
    from neuralart import boards, config
    from neuralart.files import write_text
    from neuralart.memory import plan as plans
    from neuralart.memory import plan_report
    from neuralart.memory.layout import make_layout
    from neuralart.memory.project_networks import read_networks

    file: Path = args.file
    project = config.read(file, file.as_posix())
    variant = project.variant(args.variant)
    extra = [file.parent / path for path in project.config.boards]
    board = boards.load(variant.board, extra, str(variant.place("board")))
    networks = read_networks(board, variant, file.parent)
    layout = make_layout(board, variant, networks)
    facts, sizes, notes = _built(args.build or file.parent / "build", variant, board, networks)
    plan = plans.make_plan(layout, board, facts, sizes)
    if args.json:
        print(plan_report.to_json(plan, variant.name), end="")
    else:
        print(plan_report.text(plan, variant.name, [*notes, *_homeless(board, networks)]), end="")
    if args.svg is not None:
        from neuralart.memory.svg import svg

        write_text(args.svg, svg(plan, variant.name))
    plans.check(plan)
    return 0


def _homeless(board: Board, networks: list[LayoutNetwork]) -> list[str]:
    return [
        f"{pool.where}: pool {pool.fname} of network {network.name} at 0x{pool.address:08x} is in no memory of "
        f"{board.name}; a network that uses it is refused"
        for network in networks
        for pool in network.pools.enabled
        if board.region_at(pool.address) is None
    ]


# ---- what the last build left


def _built(
    build: Path, variant: VariantConfig, board: Board, networks: list[LayoutNetwork]
) -> tuple[list[Network], dict[str, int], list[str]]:
    """Facts and sizes of the last build, or none and a line that says why."""
    from neuralart.errors import NeuralArtError
    from neuralart.network import facts

    index = build / variant.name / "index.json"
    if not index.is_file():
        return (
            [],
            {},
            [f"There is no {index.as_posix()}: this is what is declared. Build the variant to see what is used."],
        )
    try:
        data, top = _index(index)
        paths = [top / path for path in data["artefacts"] if path.endswith("/network.json")]
        found = [facts.load(path) for path in paths]
    except NeuralArtError as error:
        return [], {}, [f"This is what is declared: {error}"]
    why = _outdated(found, networks)
    if why:
        return [], {}, [f"This is what is declared: the last build is of another configuration, {why}."]
    order = [network.name for network in networks]
    found.sort(key=lambda network: order.index(network.name))
    return found, _sizes(data, top, variant.name, board), []


def _index(path: Path) -> tuple[dict[str, Any], Path]:
    """The index of a build and the folder that its paths start from."""
    import json

    from neuralart.errors import NeuralArtError
    from neuralart.files import read_bytes

    try:
        data = json.loads(read_bytes(path))
        artefacts = data["artefacts"]
        if not all(isinstance(name, str) for name in artefacts):
            raise TypeError("artefacts are paths")
    except (ValueError, KeyError, TypeError) as error:
        raise NeuralArtError("not the index of a build", where=path.as_posix(), hint="build it again") from error
    for top in path.resolve().parents:
        if artefacts and all((top / name).exists() for name in artefacts):
            return data, top
    raise NeuralArtError("files of the last build are gone", where=path.as_posix(), hint="build it again")


def _outdated(found: list[Network], networks: list[LayoutNetwork]) -> str:
    """What differs between a build and the configuration; empty if nothing does."""
    now = {network.name: {pool.fname: pool for pool in network.pools.enabled} for network in networks}
    if sorted(network.name for network in found) != sorted(now):
        return f"it is of {', '.join(network.name for network in found) or 'no network'}"
    for network in found:
        for pool in network.pools:
            if pool.virtual:
                continue
            here = now[network.name].get(pool.fname)
            if here is None or (here.address, here.size) != (pool.address, pool.size):
                return f"its pool {pool.fname} of network {network.name} is 0x{pool.address:08x} with {pool.size} bytes"
    return ""


def _sizes(data: dict[str, Any], top: Path, variant: str, board: Board) -> dict[str, int]:
    from neuralart.memory.plan import APPLICATION, CODE, DATA
    from neuralart.memory.regions import firmware_spans, touched_regions

    sizes = {}
    for name in data["artefacts"]:
        if name.endswith(f"/{variant}/application.bin"):
            sizes[APPLICATION] = (top / name).stat().st_size
    firmware = data.get("firmware", {})
    spans = {span.owner: span for span in firmware_spans(board)}
    for key in (CODE, DATA):
        span = spans.get(f"firmware {key}")
        used = [
            firmware[region.name]["used"]
            for region in (touched_regions(board, [span]) if span is not None else ())
            if region.name in firmware
        ]
        if used:
            sizes[key] = sum(used)
    return sizes
