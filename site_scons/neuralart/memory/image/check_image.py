"""Everything that can be wrong with an image before it is flashed, in one list (``neuralart check-image``).

Each check has a name (docs/reference/check-image.md). All findings are listed, not only the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.findings import Finding
from neuralart.memory.image import code_checks, image_facts, network_checks, place_checks
from neuralart.memory.image.image_facts import ImageFacts, folded
from neuralart.network.facts import Network
from neuralart.text import sizes

if TYPE_CHECKING:
    import argparse

CHECKS = (
    *("vector-table", "stack", "reset", "alias", "size", "header", "memory", "cpu", "semihosting"),
    *("overlap", "stamp", "runtime"),
)
SCHEMA = 1
REFUSED = 1


def machine_of(board: Board, kind: str) -> Machine:
    """A machine of the board; its first if none is named. NeuralArtError: it has no such machine."""
    known = list(board.machines)
    name = kind or (known[0] if known else "")
    if name not in board.machines:
        raise NeuralArtError(f"no machine '{name}'", where=f"board {board.name}", hint=nearest(name, known))
    return board.machines[name]


def read(path: Path, data: bytes, board: Board, address: int | None = None) -> ImageFacts:
    """Facts of an ELF file or a binary. ``address``: where the vector table of a binary goes; None: where the board
    expects it. NeuralArtError: the file is damaged, or of another kind.
    """
    if data[:4] != b"\x7fELF":
        return image_facts.read_binary(path, data, board, address)
    if address is not None:
        raise NeuralArtError("--address is for a binary: an ELF file says where it goes", where=str(path))
    from neuralart.memory.image import elf_facts

    return elf_facts.read(path, data)


def check(
    image: ImageFacts,
    board: Board,
    machine: Machine,
    networks: Sequence[Network] = (),
    *,
    allow_reference: bool = False,
) -> tuple[Finding, ...]:
    """All findings, in the order of :data:`CHECKS`; errors of a check before its warnings. ``networks``: those that the
    image is said to hold; none: they are not checked; ``allow_reference``: the reference runtime is wanted on silicon.
    """
    image = folded(board, image)
    found = [
        *place_checks.vectors(board, image),
        *place_checks.stack(board, image),
        *place_checks.reset(board, image),
        *place_checks.size(board, image),
        *place_checks.header(image),
        *place_checks.memory(board, image),
        *code_checks.cpu(board, machine, image),
        *code_checks.semihosting(image),
        *network_checks.aliases(board, networks),
        *network_checks.overlap(board, image, networks),
        *network_checks.stamps(board, image, networks),
        *network_checks.runtime(machine, networks, allow_reference),
    ]
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("image", type=Path, metavar="FILE", help="ELF file or binary")
    add("--board", required=True, metavar="NAME", help="board of the database")
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")
    add("--machine", default="", metavar="KIND", help="unicorn, qemu or silicon (default: the board's first)")
    add("--network", action="append", default=[], type=Path, metavar="FILE", help="network.json of a network in it")
    what = "where a binary's vector table goes (default: as the board boots)"
    add("--address", type=sizes.word, metavar="A", help=what)
    add("--allow-reference-on-hardware", action="store_true", help="the reference runtime on silicon is no mistake")
    add("--json", action="store_true", help="for programs; addresses and sizes are plain integers")


def as_text(data: dict[str, Any]) -> str:
    """The same as the JSON that ``--json`` prints."""
    return json.dumps(data, indent=1) + "\n"


def as_data(
    image: ImageFacts, board: Board, machine: Machine, networks: Sequence[Network], findings: Sequence[Finding]
) -> dict[str, Any]:
    """The result as plain mappings, lists, texts and integers."""
    plain = folded(board, image)
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
        "vector_table": place_checks.table_address(board, plain),
        "initial_sp": place_checks.vector(board, plain, 0),
        "reset": place_checks.vector(board, plain, 1),
        "slot_bytes": place_checks.slot_bytes(board, plain),
        "copy_size": board.boot.copy_size if board.boot is not None and not board.boot.in_place else None,
        "attributes": asdict(image.attributes) if image.attributes is not None else None,
        "networks": [{"name": network.name, "abi_stamp": network.abi_stamp} for network in networks],
        "findings": [asdict(finding) for finding in findings],
    }


def summary(data: dict[str, Any]) -> str:
    """One line for people."""
    room = f" of {data['copy_size']} that the boot loader copies" if data["copy_size"] is not None else ""
    warnings = f", {data['warnings']} warning{'s' if data['warnings'] > 1 else ''}" if data["warnings"] else ""
    return f"{data['image']}: fits {data['board']} ({data['machine']}): {data['slot_bytes']} bytes{room}{warnings}"


def run(args: argparse.Namespace) -> int:
    """Check it: 0 without errors, 1 with any. NeuralArtError: the file cannot be read, or another input is wrong."""
    from neuralart import boards
    from neuralart.files import read_bytes
    from neuralart.network import facts

    board = boards.load(args.board, args.board_file)
    machine = machine_of(board, args.machine)
    networks = [facts.load(path) for path in args.network]
    image = read(args.image, read_bytes(args.image), board, args.address)
    findings = check(image, board, machine, networks, allow_reference=args.allow_reference_on_hardware)
    data = as_data(image, board, machine, networks, findings)
    if args.json:
        print(as_text(data), end="")
    else:
        for finding in findings:
            print(f"{args.image}: {finding.level}: {finding}", file=sys.stderr)
        if data["ok"]:
            print(summary(data))
    return 0 if data["ok"] else REFUSED
