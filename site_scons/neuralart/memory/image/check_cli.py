"""``neuralart check-image``: says whether an image can start on a board and belongs to its networks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart.boards.types import Board, Machine
    from neuralart.memory.findings import Finding
    from neuralart.memory.image.image_facts import ImageFacts
    from neuralart.network.facts import Network

SCHEMA = 1
REFUSED = 1


def _address(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 32:
        raise argparse.ArgumentTypeError(f"'{text}' is not a 32-bit address, for example 0x34000400")
    return value


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("image", type=Path, metavar="FILE", help="ELF file or binary")
    parser.add_argument("--board", required=True, metavar="NAME", help="board of the database")
    parser.add_argument(
        "--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own"
    )
    parser.add_argument(
        "--machine", default="", metavar="KIND", help="unicorn, qemu or silicon (default: the board's first)"
    )
    parser.add_argument(
        "--network", action="append", default=[], type=Path, metavar="FILE", help="network.json of a network in it"
    )
    parser.add_argument(
        "--address", type=_address, metavar="A", help="where a binary's vector table goes (default: as the board boots)"
    )
    parser.add_argument(
        "--allow-reference-on-hardware", action="store_true", help="the reference runtime on silicon is no mistake"
    )
    parser.add_argument("--json", action="store_true", help="for programs; addresses and sizes are plain integers")


def as_text(data: dict[str, Any]) -> str:
    """The same as the JSON that ``--json`` prints."""
    import json

    return json.dumps(data, indent=1) + "\n"


def as_data(
    image: ImageFacts, board: Board, machine: Machine, networks: Sequence[Network], findings: Sequence[Finding]
) -> dict[str, Any]:
    """The result as plain mappings, lists, texts and integers."""
    from dataclasses import asdict

    from neuralart.memory.image.image_facts import folded
    from neuralart.memory.image.place_checks import table_address
    from neuralart.memory.image.size_checks import slot_bytes

    plain = folded(board, image)
    table = table_address(board, plain)
    errors = sum(finding.level == "error" for finding in findings)
    return {
        "schema": SCHEMA,
        "image": image.path,
        "kind": image.kind,
        "board": board.name,
        "machine": machine.kind,
        "ok": not errors,
        "errors": errors,
        "warnings": len(findings) - errors,
        "vector_table": table,
        "initial_sp": plain.word(table) if table is not None else None,
        "reset": plain.word(table + 4) if table is not None else None,
        "slot_bytes": slot_bytes(board, plain),
        "copy_size": board.boot.copy_size if board.boot is not None else None,
        "attributes": asdict(image.attributes) if image.attributes is not None else None,
        "networks": [{"name": network.name, "abi_stamp": network.abi_stamp} for network in networks],
        "findings": [asdict(finding) for finding in findings],
    }


def summary(data: dict[str, Any]) -> str:
    """One line for people."""
    room = ""
    if data["copy_size"] is not None:
        room = f" of {data['copy_size']} that the boot loader copies"
    warnings = f", {data['warnings']} warning{'s' if data['warnings'] > 1 else ''}" if data["warnings"] else ""
    return f"{data['image']}: fits {data['board']} ({data['machine']}): {data['slot_bytes']} bytes{room}{warnings}"


def run(args: argparse.Namespace) -> int:
    """Check it.

    Returns:
        0 without errors, 1 with any.

    Raises:
        NeuralArtError: The file cannot be read as an image, or something else given is wrong.
    """
    import sys

    from neuralart import boards
    from neuralart.files import read_bytes
    from neuralart.memory.image import check_image
    from neuralart.network import facts

    board = boards.load(args.board, args.board_file)
    machine = check_image.machine_of(board, args.machine)
    networks = [facts.load(path) for path in args.network]
    image = check_image.read(args.image, read_bytes(args.image), board, args.address)
    findings = check_image.check(image, board, machine, networks, allow_reference=args.allow_reference_on_hardware)
    data = as_data(image, board, machine, networks, findings)
    if args.json:
        print(as_text(data), end="")
    else:
        for finding in findings:
            print(f"{args.image}: {finding.level}: {finding}", file=sys.stderr)
        if data["ok"]:
            print(summary(data))
    return 0 if data["ok"] else REFUSED
