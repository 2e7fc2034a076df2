"""The sections ``build`` and ``provenance``: what was built of what, by which tools."""

from __future__ import annotations

from neuralart_insight.report.page.gather import PageFacts
from neuralart_insight.report.page.parts import Cell, Note, PageSection, PageTable, Part, count_of


def build(facts: PageFacts) -> PageSection:
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


def section(facts: PageFacts) -> PageSection:
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
