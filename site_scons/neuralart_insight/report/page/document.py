"""The page of a build: its sections, and the data of the pictures, JSON in an element that is not executed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from neuralart.errors import NeuralArtError
from neuralart_insight.report import npu_epochs
from neuralart_insight.report.page import figures, lifetimes, memory_map, network_graph, treemap
from neuralart_insight.report.page.gather import PageFacts
from neuralart_insight.report.page.parts import Cell, Note, PageSection, PageTable, Part, count_of, cut, sheet, text_of

LARGEST = 2_000_000
"""Bytes of a page."""
_MOST = (800, 400, 200, 100, 50)
"""Rows of a graph and boxes of lifetimes: the next number is tried if the page is too large."""
More = Callable[[int], Sequence[PageSection]]


def sections(facts: PageFacts, most: int = _MOST[0], more: More | None = None) -> list[PageSection]:
    """Everything that the page shows; ``most``: rows and boxes of a picture. ``more``: makes sections, of ``most``."""
    first = build_section(facts), memory_map.section(facts), lifetimes.section(facts, most)
    shown = *first, network_graph.section(facts, most), *(more(most) if more is not None else ())
    return [
        *shown,
        *npu_section(facts, most),
        treemap.section(facts),
        memory_map.flash_section(facts),
        provenance_section(facts),
    ]


def build_section(facts: PageFacts) -> PageSection:
    """The head of the page: a line for each fact about the variant."""
    index = facts.index
    board = f"{facts.board.name}: {facts.board.title}" if facts.board.title else facts.board.name
    rows: list[tuple[Cell, ...]] = [("Board", board), ("Image for", index["machine"])]
    rows.append(("Firmware by", index["toolchain"] or "another build"))
    for network in facts.networks:
        each = network.facts
        pools = [pool for pool in each.pools if not pool.virtual]
        sums = [[getattr(pool, key) for pool in pools] for key in ("weights", "activations")]
        weights, activations = ("unknown bytes" if None in some else count_of(sum(some), "byte") for some in sums)
        macc = "unknown" if each.macc is None else f"{each.macc:,}"
        said = f"{count_of(len(each.epochs), 'epoch') if each.epochs else 'unknown epochs'}, "
        said += f"{macc} multiply-accumulate operations, {weights} of weights, {activations} of activations"
        rows.append((f"Network {each.name}", f"{said}; runtime {each.runtime}"))
    return PageSection("build", "Build", (PageTable(("", ""), tuple(rows)),))


def npu_section(facts: PageFacts, most: int) -> list[PageSection]:
    """A table of what each epoch does on the NPU; no section where no network has such epochs."""
    parts: list[Part] = []
    for network in facts.networks:
        name, epochs = network.facts.name, network.npu["epochs"]
        if network.npu["missing"]:
            parts.append(Note(f"Network {name}: unknown. {network.npu['missing']}", "unknown"))
        if epochs:
            rows, left = cut(npu_epochs.cells(epochs), most)
            parts.append(Note(f"Network {name}: {npu_epochs.summary(epochs)}. {left}".rstrip()))
            folded = f"{count_of(len(epochs), 'epoch')} of {name}; {npu_epochs.MOST}"
            parts.append(PageTable(npu_epochs.HEADS, tuple(rows), npu_epochs.NUMBERS, folded))
    return [PageSection("npu", "What each epoch does", tuple(parts))] if parts else []


def provenance_section(facts: PageFacts) -> PageSection:
    """Tools, models, arguments, and the hash of every file of a compile."""
    parts: list[Part] = []
    for network in facts.networks:
        name, info = network.facts.name, network.info
        tools = ", ".join(f"{tool.name} {tool.version}" for tool in info.tools) if info is not None else "unknown"
        parts.append(Note(f"Network {name}: compiled by {tools or 'unknown'}. ABI stamp {network.facts.abi_stamp}."))
        if network.provenance:
            parts.append(Note(network.provenance, "text"))
        else:
            parts.append(Note("Unknown: there is no provenance.txt.", "unknown"))
        rows = tuple((each.name, f"{each.bytes:,}", each.sha256) for each in network.files)
        if rows:
            folded = f"{count_of(len(rows), 'file')} of the compile of {name}"
            parts.append(PageTable(("File", "Bytes", "SHA-256"), rows, (1,), folded))
    names = tuple((name,) for name in facts.index["artefacts"])
    parts.append(PageTable(("File",), names, (), f"{count_of(len(names), 'file')} of the variant"))
    return PageSection("provenance", "Provenance", tuple(parts))


def data(parts: list[PageSection]) -> str:
    """JSON of all pictures for an element of the page: no ``<`` in it can end that."""
    pictures = [figures.as_json(each.figure, each.key) for section in parts for each in section.pictures]
    text = json.dumps({"ink": figures.INK, "pictures": pictures}, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _html(facts: PageFacts, parts: list[PageSection]) -> str:
    version, library = figures.script()
    name = f"{facts.index['variant']} on {facts.board.name}"
    return sheet("neuralart report", name, facts.title, parts, data(parts), [library, text_of("page.js")], version)


def html(facts: PageFacts, more: More | None = None) -> str:
    """Text of the page, with ``more`` sections; the same facts and the same Bokeh give the same bytes. NeuralArtError:
    the plotting library is not installed, or a variant is too large for a page.
    """
    figures.script()  # Before anything else: without it nothing can be made.
    size = 0
    for most in _MOST:
        text = _html(facts, sections(facts, most, more))
        size = len(text.encode("utf-8", "replace"))
        if size <= LARGEST:
            return text
    what = f"the page would have {size:,} bytes, possible are {LARGEST:,}"
    raise NeuralArtError(what, where=f"variant {facts.index['variant']}", hint="neuralart inspect shows each file")
