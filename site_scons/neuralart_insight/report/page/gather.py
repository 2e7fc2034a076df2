"""What the page shows, read from the files that the build of a variant has left, each by its own reader."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board
from neuralart.errors import NeuralArtError
from neuralart.files import is_file, read_bytes
from neuralart.flashing import plan as flash_plans
from neuralart.flashing.plan import FlashPlan
from neuralart.memory.plan import plan_report
from neuralart.network import facts
from neuralart.network.facts import Listed, Network
from neuralart.text.elf import FUNCTION, OBJECT, Elf, Section
from neuralart.vendor.c_info import read as c_info
from neuralart.vendor.c_info.types import CInfo
from neuralart.vendor.generated.files import candidates
from neuralart_bring import last_build
from neuralart_insight.report import npu_epochs
from neuralart_insight.report.offload import Offload, from_c_info

CODE, CONSTANTS, DATA, ZEROED = "code", "constants", "variables with a first value", "zeroed memory"
UNNAMED = "(no symbol)"
"""Bytes that no symbol covers: fillings, literals of assembly, what the linker script reserves."""


@dataclass(frozen=True)
class SizedPart:
    """A function or an object of the firmware, or what is left of a section."""

    memory: str  # Where it is while the program runs
    kind: str  # CODE, CONSTANTS, DATA or ZEROED
    section: str
    name: str  # Symbol; UNNAMED: none
    address: int
    bytes: int


def _kind(section: Section, *, function: bool) -> str:
    if function:
        return CODE
    filled = DATA if section.writable else CONSTANTS
    return filled if section.filled else ZEROED


def sizes(elf: Elf, board: Board) -> tuple[SizedPart, ...]:
    """Every byte that the image occupies while it runs, once: sections, taken apart by symbols. The largest part first.
    Of several names of one place the first by the alphabet counts.
    """
    found = [part for section in elf.sections if section.allocated for part in _of_section(elf, section, board)]
    return tuple(sorted(found, key=lambda part: (-part.bytes, part.memory, part.address, part.name)))


def _of_section(elf: Elf, section: Section, board: Board) -> Iterator[SizedPart]:
    if not section.size:
        return
    region = board.region_at(section.address)
    memory = region.name if region is not None else f"0x{section.address:08x}"
    symbols = [
        # The lowest bit of a function's address says that it is Thumb code.
        (symbol.value & ~1 if symbol.kind == FUNCTION else symbol.value, -symbol.size, symbol.name, symbol.kind)
        for symbol in elf.symbols
        if symbol.section == section.index and symbol.kind in (FUNCTION, OBJECT) and symbol.size
    ]
    at, end, left = section.address, section.address + section.size, section.size
    for start, size, name, kind in sorted(symbols):
        low, high = max(start, at), min(start - size, end)
        if low < high:
            yield SizedPart(memory, _kind(section, function=kind == FUNCTION), section.name, name, low, high - low)
            at, left = high, left - (high - low)
    if left:
        yield SizedPart(
            memory, _kind(section, function=section.executable), section.name, UNNAMED, section.address, left
        )


def groups(parts: tuple[SizedPart, ...]) -> dict[tuple[str, str], int]:
    """Bytes by memory and kind, the largest group first."""
    sums = Counter[tuple[str, str]]()
    for part in parts:
        sums[part.memory, part.kind] += part.bytes
    return dict(sorted(sums.items(), key=lambda item: (-item[1], item[0])))


@dataclass(frozen=True)
class ReportNetwork:
    """A network of the variant."""

    facts: Network  # ``network.json``
    info: CInfo | None  # ``c_info.json``; None: the compiler wrote none that can be read
    missing: str  # Why there is no ``info``; empty otherwise
    offload: Offload | None  # What the NPU does, by ``info``
    files: tuple[Listed, ...]  # Of the compile, with their hashes
    provenance: str  # Text of ``provenance.txt``; empty if it is not there
    npu: Mapping[str, Any]  # What each epoch does on the NPU, of ST's compiler


@dataclass(frozen=True)
class PageFacts:
    """A build of a variant."""

    title: str  # For people; may be empty
    index: dict[str, Any]  # ``index.json``
    board: Board
    plan: dict[str, Any] | None  # ``plan.json``; None: the linker alone has chosen addresses
    flash: dict[str, FlashPlan]  # By the name of the file; none: nothing goes into a flash
    networks: tuple[ReportNetwork, ...]
    parts: tuple[SizedPart, ...] | None  # Of the firmware; None: it is built elsewhere


def _network(path: Path) -> ReportNetwork:
    folder = path.parent
    network = facts.load(path)
    info, missing = None, "The compiler wrote no c_info.json."
    for found in sorted(folder.glob("*c_info.json")):
        try:
            info, missing = c_info.read(found, found.name), ""
        except NeuralArtError as error:
            missing = f"It cannot be read: {error}."
    provenance = folder / "provenance.txt"
    estimate = from_c_info(info) if info is not None else None
    listed = facts.listed_files(folder) if is_file(folder / facts.MANIFEST) else ()
    said = read_bytes(provenance).decode("utf-8", "replace") if is_file(provenance) else ""
    code = candidates(folder) if network.runtime == facts.LL_ATON else []
    npu = npu_epochs.of_file(folder / code[0]) if len(code) == 1 else npu_epochs.NOTHING
    return ReportNetwork(network, info, missing, estimate, listed, said, npu)


def gather(folder: Path, board_files: Sequence[Path] = (), title: str = "") -> PageFacts:
    """Read everything. ``folder``: of the variant in the build folder; ``index.json`` is in it; ``board_files``: boards
    of the user's own; ``title``: of the variant. NeuralArtError: nothing is built there, or a file is missing or
    damaged.
    """
    from neuralart import boards

    path = folder / "index.json"
    if not is_file(path):
        raise NeuralArtError("nothing is built here: no index.json", where=str(folder), hint="build the variant first")
    index = last_build.read_whole_index(path)
    top = last_build.top_folder(path)
    board = boards.load(index["board"], board_files, path.as_posix())

    def named(*endings: str) -> list[str]:
        return [name for name in index["artefacts"] if name.endswith(endings)]

    plans, images = named("/plan.json"), named(".elf")
    flash = [name for name in named(".json") if Path(name).name.startswith("flash_plan")]
    return PageFacts(
        title,
        index,
        board,
        plan_report.read(top / plans[0]) if plans else None,
        {name: flash_plans.read(top / name) for name in flash},
        tuple(_network(top / name) for name in named("/network.json")),
        # Of several programs (models that run on several boards) the variant's own is the first.
        sizes(Elf(read_bytes(top / images[0]), images[0]), board) if images else None,
    )
