"""The answers of ``neuralart fit`` as one page without scripts: the same answers give the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuralart.errors import shown
from neuralart.text.sizes import size
from neuralart_insight.report.page.parts import Cell, Meter, Note, PageSection, PageTable, count_of, share_of
from neuralart_insight.report.page.sheet import sheet
from neuralart_reference.fit import Demand, Fit, InPool
from neuralart_reference.model.refusal import ModelRefusal

NONE = "no board takes it: give a board of your own with larger pools, or a smaller model"
_NAME = 80  # Letters of a tensor's name


def of_answers(path: Path, needed: Demand, answers: Sequence[Fit]) -> str:
    """The page of a model that the compiler takes, whether or not it fits anywhere."""
    took = [each for each in answers if each.fits]
    title = f"{count_of(needed.epochs, 'epoch')}, {needed.macc:,} multiply-accumulate operations. "
    title += f"It fits {len(took)} of {count_of(len(answers), 'board')}."
    rows = tuple((shown(each.board), _answer(each), _todo(each)) for each in answers)
    found: list[Note | PageTable] = [PageTable(("Board", "Fits", "What to do"), rows)]
    if not took:
        found.append(Note(f"{NONE[0].upper()}{NONE[1:]}.", "warning"))
    sections = [PageSection("boards", "Boards", tuple(found)), _needs(needed)]
    if took:
        sections.append(PageSection("memories", "Where it would lie", tuple(_memories(took))))
    return _page(path, title, sections)


def of_refusal(path: Path, refusal: ModelRefusal) -> str:
    """The page of a model with operators that the compiler does not take, on any board."""
    kinds = sorted(refusal.kinds.items(), key=lambda item: (-item[1], item[0]))
    parts: list[Note | PageTable] = [
        PageTable(("Operator", "How many"), tuple((shown(kind), f"{count:,}") for kind, count in kinds), (1,)),
        Note(shown(refusal.what, 2000)),
    ]
    if refusal.hint:
        parts.append(Note(shown(refusal.hint, 4000)))
    return _page(path, "It fits no board.", [PageSection("operators", "What is not supported", tuple(parts))])


def _page(path: Path, title: str, sections: Sequence[PageSection]) -> str:
    return sheet("neuralart fit", f"{shown(path.name)}: which boards it fits", title, sections)


def _answer(fit: Fit) -> str:
    if not fit.fits:
        return "no"
    return f"with memory: {fit.memory}" if fit.memory else "yes"


def _todo(fit: Fit) -> str:
    if fit.fits:
        return f"Give the network of this board the key memory: {fit.memory}." if fit.memory else ""
    return shown(f"{fit.why}{f' ({fit.hint})' if fit.hint else ''}", 2000)


def _needs(needed: Demand) -> PageSection:
    """What it needs on any board, and the tensors that are live where it needs most."""
    rows: list[tuple[Cell, ...]] = [
        ("Weights", f"{needed.weights:,} B", ""),
        ("Activations, at least", f"{needed.peak:,} B", shown(needed.peak_at, 200)),
    ]
    rows += [("Tensor live then", f"{count:,} B", shown(name, _NAME)) for name, count in needed.largest]
    return PageSection("needs", "What it needs", (PageTable(("", "Bytes", "Where"), tuple(rows), (1,)),))


def _memories(fits: Sequence[Fit]) -> list[Note | PageTable]:
    parts: list[Note | PageTable] = []
    for each in fits:
        rows = tuple((shown(use.pool), _bar(use), f"{use.weights:,}", f"{use.activations:,}") for use in each.uses)
        parts.append(Note(f"{shown(each.board)}{f', with memory: {each.memory}' if each.memory else ''}"))
        parts.append(PageTable(("Pool", "Used", "Weights, B", "Activations, B"), rows, (2, 3)))
    return parts


def _bar(use: InPool) -> Cell:
    used = use.weights + use.activations
    if not use.size:
        return size(used)
    return Meter(f"{share_of(used, use.size)} of {size(use.size)}", min(1.0, used / use.size))
