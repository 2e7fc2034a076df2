"""Everything that can be wrong with an image before it is flashed, in one list.

Each check has a name (docs/reference/check-image.md). All findings are listed, not only the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from neuralart.boards.types import Board, Machine
from neuralart.errors import NeuralArtError, nearest
from neuralart.memory.findings import Finding, error, warning
from neuralart.memory.image import bin_facts, core_checks, network_checks, place_checks, semihosting, size_checks
from neuralart.memory.image.image_facts import ImageFacts, folded
from neuralart.network.facts import Network

CHECKS = (
    "vector-table",
    "stack",
    "reset",
    "alias",
    "size",
    "header",
    "memory",
    "cpu",
    "semihosting",
    "overlap",
    "stamp",
    "runtime",
)
_SHOWN = 3


def machine_of(board: Board, kind: str) -> Machine:
    """A machine of the board; its first if none is named.

    Raises:
        NeuralArtError: It has no such machine.
    """
    known = list(board.machines)
    name = kind or (known[0] if known else "")
    if name not in board.machines:
        raise NeuralArtError(f"no machine '{name}'", where=f"board {board.name}", hint=nearest(name, known))
    return board.machines[name]


def read(path: Path, data: bytes, board: Board, address: int | None = None) -> ImageFacts:
    """Facts of an ELF file or a binary.

    Args:
        path: Name of the file, for messages.
        data: Its bytes.
        board: The board it is for.
        address: Where the vector table of a binary goes; None: where the board expects it.

    Raises:
        NeuralArtError: The file is damaged, or of another kind.
    """
    if data[:4] != b"\x7fELF":
        return bin_facts.read(path, data, board, address)
    if address is not None:
        raise NeuralArtError("--address is for a binary: an ELF file says where it goes", where=str(path))
    from neuralart.memory.image import elf_facts

    return elf_facts.read(path, data)


def _semihosting(image: ImageFacts) -> Iterator[Finding]:
    hits = semihosting.traps(image)
    if not hits:
        return
    places = ", ".join(image.place(address) for address, _ in hits[:_SHOWN])
    more = f" and {len(hits) - _SHOWN} more" if len(hits) > _SHOWN else ""
    if image.code is None:
        yield warning(
            "semihosting",
            f"{len(hits)} halfwords may be semihosting breakpoints (BKPT 0xAB) or data: at {places}{more}",
            "check the ELF file with its symbols",
        )
    else:
        yield error(
            "semihosting",
            f"{len(hits)} semihosting traps ({semihosting.names(hits)}) stop the core without a debugger: "
            f"at {places}{more}",
            "link without semihosting (rdimon.specs, librdimon, libsemihost)",
        )


def _cpu(board: Board, machine: Machine, image: ImageFacts) -> Iterator[Finding]:
    if image.kind == "elf":
        for level, what, remedy in core_checks.findings(board, machine, image.attributes):
            yield Finding("cpu", level, what, remedy)


def check(
    image: ImageFacts,
    board: Board,
    machine: Machine,
    networks: Sequence[Network] = (),
    *,
    allow_reference: bool = False,
) -> tuple[Finding, ...]:
    """All findings, in the order of :data:`CHECKS`; errors of a check before its warnings.

    Args:
        image: What :func:`read` found.
        board: The board.
        machine: Where it executes.
        networks: Networks that the image is said to hold; none: they are not checked.
        allow_reference: The reference runtime is wanted on silicon.
    """
    image = folded(board, image)
    found = [
        *place_checks.vectors(board, image),
        *place_checks.stack(board, image),
        *place_checks.reset(board, image),
        *size_checks.size(board, image),
        *size_checks.header(image),
        *place_checks.memory(board, image),
        *_cpu(board, machine, image),
        *_semihosting(image),
        *network_checks.aliases(board, networks),
        *network_checks.overlap(board, image, networks),
        *network_checks.stamps(board, image, networks),
        *network_checks.runtime(machine, networks, allow_reference),
    ]
    return tuple(sorted(found, key=lambda finding: (CHECKS.index(finding.check), finding.level)))
