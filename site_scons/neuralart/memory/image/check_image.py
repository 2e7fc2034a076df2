"""``neuralart tool check-image``: checks an image before it is flashed. Each check has a name
(docs/reference/check-image.md). All findings are listed, not only the first.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart import boards
from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.findings import Finding, error, warning
from neuralart.memory.image import code_checks, elf_facts, image_facts, place_checks
from neuralart.memory.image.image_facts import ImageFacts, folded
from neuralart.memory.image.place_checks import stack_range
from neuralart.memory.regions import Span, alias_warnings, fold, network_spans
from neuralart.network import facts
from neuralart.network.facts import NETWORK_RUNTIME, NEURALART, Network
from neuralart.text import sizes
from neuralart.text.console import say

if TYPE_CHECKING:
    import argparse


def _image_spans(board: Board, image: ImageFacts) -> list[Span]:
    """All that the image occupies: where its bytes are loaded, where they are used, the stack."""
    spans = []
    for part in image.parts:
        spans.append(Span(f"{part.name} of the image", "image", part.run, part.run + part.size))
        if part.data and part.load != part.run:
            spans.append(Span(f"initial values of {part.name}", "image", part.load, part.load_end))
    stack = stack_range(board, image)
    if stack is not None:
        spans.append(Span("the stack", "image", *stack))
    return spans


def overlap(board: Board, image: ImageFacts, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that no pool of a network shares a byte with the image."""
    mine = _image_spans(board, image)
    for network in networks:
        try:
            pools = network_spans(board, network)
        except NeuralArtError as failure:
            yield error("overlap", str(failure))
            continue
        for pool in pools:
            for span in mine:
                common = min(span.end, pool.end) - max(span.start, pool.start)
                if common > 0:
                    what = f"{span} and {pool} have {common} bytes in common"
                    yield error("overlap", what, "move the pool, or link the image elsewhere")


def aliases(board: Board, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that networks use the addresses of the firmware's security state."""
    for network in networks:
        for text in alias_warnings(board, network):
            remedy = "give the pool its secure address, unless your firewall is set up for this one"
            yield warning("alias", text, remedy)


def _table(board: Board, image: ImageFacts) -> Mapping[str, str] | None:
    """Stamps by network, as the reference application's table has them; None without that table."""
    symbols = image.symbols
    if "app_networks" not in symbols or "app_network_count" not in symbols:
        return None
    count = image.word(fold(board, symbols["app_network_count"]))
    size = image.sizes.get("app_networks", 0)
    if not count or size != 12 * count:
        return None
    start = fold(board, symbols["app_networks"])
    stamps = {}
    for row in range(start, start + size, 12):
        pointers = image.word(row), image.word(row + 8)
        texts = [image.text(fold(board, pointer)) for pointer in pointers if pointer is not None]
        if len(texts) != 2 or texts[0] is None or texts[1] is None:
            return None
        stamps[texts[0]] = texts[1]
    return stamps


def _present(image: ImageFacts, stamp: str) -> bool:
    try:
        binary = bytes.fromhex(stamp)
    except ValueError:
        binary = b""
    wanted = [stamp.encode("utf-8"), *([binary] if len(binary) == 8 else [])]
    return any(form in part.data for part in image.loaded for form in wanted)


def stamps(board: Board, image: ImageFacts, networks: Sequence[Network]) -> Iterator[Finding]:
    """Check that the image was linked for these networks and no others."""
    table = _table(board, image)
    for network in networks:
        name, stamp = network.name, network.abi_stamp
        if table is not None and table.get(name, stamp) != stamp:
            what = f"the image was linked for abi stamp {table[name]} of network {name}, its network.json has {stamp}"
            yield error("stamp", what, "link the image again")
        elif table is None and network.runtime == NETWORK_RUNTIME:
            continue  # Its constants are C of the image itself.
        elif table is None and network.runtime != NEURALART and not _present(image, stamp):
            # An application of the user's own; the C of other compilers does not hold the stamp.
            what = f"nothing in the image tells whether the constants in the flash are those of network {name}"
            remedy = "compile npu_memory_init.c into it and call npu_memory_init()"
            yield warning("stamp", what, f"{remedy}: it turns memories on and checks them")
        elif not _present(image, stamp) or (table is not None and name not in table):
            has = f"; it has {', '.join(table) or 'none'}" if table is not None else ""
            what = f"abi stamp {stamp} of network {name} is not in the image{has}"
            yield error("stamp", what, "link the image with this network's C")
    # An application may offer a network under several names, such as with what comes before it.
    known = {network.name for network in networks} | {network.abi_stamp for network in networks}
    others = [name for name, stamp in (table or {}).items() if not {name, stamp} & known]
    if others and networks:
        for name in others:
            what = f"the image expects network {name} (abi stamp {(table or {})[name]}), which is not among those given"
            yield error("stamp", what, "give its network.json with --network, or link the image without it")
    elif others:
        what = f"the networks of the image are not checked: {', '.join(others)}"
        yield warning("stamp", what, "give each with --network")


def runtime(machine: Machine, networks: Sequence[Network], allow_reference: bool) -> Iterator[Finding]:
    """Check that the runtime of each network exists on the machine and is allowed there."""
    for network in networks:
        if machine.kind == "silicon" and network.runtime == NEURALART and not allow_reference:
            yield error(
                "runtime",
                f"network {network.name} is made for runtime neuralart, which computes without the NPU",
                "compile it with the vendor's compiler; if it is meant: allow_reference_on_hardware: true in the "
                "variant, --allow-reference-on-hardware by hand",
            )
        elif machine.kind == "qemu" and network.runtime not in (NEURALART, NETWORK_RUNTIME):
            what = f"network {network.name} is made for runtime {network.runtime}, machine {machine.kind} has no NPU"
            yield error("runtime", what, "machine unicorn has a virtual one; or a network of the reference compiler")


CHECKS = (
    *("vector-table", "stack", "reset", "alias", "size", "header", "memory", "cpu", "semihosting"),
    *("overlap", "stamp", "runtime"),
)
SCHEMA = 1
REFUSED = 1


def machine_of(board: Board, kind: str) -> Machine:
    """Find a machine of the board; without a name its first. NeuralArtError: it has no such machine."""
    known = list(board.machines)
    name = kind or (known[0] if known else "")
    if name not in board.machines:
        raise NeuralArtError(f"no machine '{name}'", where=f"board {board.name}", hint=nearest(name, known))
    return board.machines[name]


def read(path: Path, data: bytes, board: Board, address: int | None = None) -> ImageFacts:
    """Read an ELF file or a binary; ``address``: of its vector table; None: the board's. NeuralArtError: damaged."""
    if data[:4] != b"\x7fELF":
        return image_facts.read_binary(path, data, board, address)
    if address is not None:
        raise NeuralArtError("--address is for a binary: an ELF file says where it goes", where=str(path))

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
    found = [*place_checks.vectors(board, image), *place_checks.stack(board, image), *place_checks.reset(board, image)]
    found += [*place_checks.size(board, image), *place_checks.header(image), *place_checks.memory(board, image)]
    found += [*code_checks.cpu(board, machine, image), *code_checks.semihosting(image), *aliases(board, networks)]
    found += [*overlap(board, image, networks), *stamps(board, image, networks)]
    found += runtime(machine, networks, allow_reference)
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))


def configure(parser: argparse.ArgumentParser) -> None:
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
    return json.dumps(data, indent=1) + "\n"


def as_data(
    image: ImageFacts, board: Board, machine: Machine, networks: Sequence[Network], findings: Sequence[Finding]
) -> dict[str, Any]:
    """Make the result plain data, for JSON."""
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
    room = f" of {data['copy_size']} that the boot loader copies" if data["copy_size"] is not None else ""
    warnings = f", {data['warnings']} warning{'s' if data['warnings'] > 1 else ''}" if data["warnings"] else ""
    return f"{data['image']}: fits {data['board']} ({data['machine']}): {data['slot_bytes']} bytes{room}{warnings}"


def run(args: argparse.Namespace) -> int:
    """Check an image: 0 without errors, else 1. NeuralArtError: the file cannot be read, or another input is wrong."""
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
            say(f"{args.image}: {finding.level}: {finding}", file=sys.stderr)
        if data["ok"]:
            print(summary(data))
    return 0 if data["ok"] else REFUSED
