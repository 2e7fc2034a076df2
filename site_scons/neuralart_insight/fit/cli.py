"""``neuralart fit``: which boards a model fits, before anything is built; as lines, or as one page without scripts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuralart import outputs
from neuralart.errors import shown
from neuralart.text.sizes import size
from neuralart_insight.report.page.parts import Cell, Meter, Note, PageSection, PageTable, count_of, share_of, sheet
from neuralart_reference.fit import Demand, Fit, InPool, fits
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


SCHEMA = "neuralart-fit-1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="a .tflite or .onnx")
    text = "ask only for this board; may be repeated (default: all of 'neuralart boards')"
    parser.add_argument("--board", action="append", default=[], metavar="NAME", help=text)
    parser.add_argument("--json", action="store_true", help="for programs")
    mine = outputs.says(b'content="neuralart fit"')
    outputs.add(parser, "-o", "--output", mine=mine, help="write the answers as a page (HTML), too")


def run(args: argparse.Namespace) -> int:
    """Print the answers, and write the page. Returns 0 if the model fits a board, else 1.

    Raises:
        NeuralArtError: A board is unknown, or the model cannot be read or has operators that are not supported.
    """
    from neuralart import boards
    from neuralart.files import write_text

    asked = [boards.load(name, (), "--board") for name in (args.board or boards.names())]
    try:
        needed, answers = fits(args.model, asked)
    except ModelRefusal as refusal:
        if args.output is not None:
            write_text(args.output, of_refusal(args.model, refusal))
        raise
    if args.output is not None:
        write_text(args.output, of_answers(args.model, needed, answers))
    if args.json:
        print(json.dumps(_record(args.model, needed, answers), indent=1))
    else:
        print("\n".join(_lines(args.model, needed, answers)))
    return 0 if any(each.fits for each in answers) else 1


def _record(path: Path, needed: Demand, answers: Sequence[Fit]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "model": path.name,
        "needs": asdict(needed),
        "boards": [{**asdict(each), "fits": each.fits} for each in answers],
    }


def _lines(path: Path, needed: Demand, answers: Sequence[Fit]) -> list[str]:
    from neuralart.errors import shown
    from neuralart.text.sizes import size
    from neuralart.vendor.tables import table
    from neuralart_reference.planning.placement import brief

    largest = ", ".join(f"'{shown(brief(name))}' {size}" for name, size in needed.largest)
    lines = [
        f"{shown(path.name)}: {needed.epochs} epochs, {needed.macc:,} MACC",
        f"  weights      {needed.weights:,} B",
        f"  activations  {needed.peak:,} B at least, {needed.peak_at}: {largest}",
        "",
    ]
    rows: list[tuple[str, ...]] = []
    for each in answers:
        answer = "no" if not each.fits else f"memory: {each.memory}" if each.memory else "yes"
        for number, use in enumerate(each.uses or (None,)):
            name = ("", "") if number else (each.board, answer)
            if use is None:
                rows.append((*name, "", "", "", ""))
                continue
            amounts = (f"{count:,} B" if count else "" for count in (use.weights, use.activations))
            rows.append((*name, use.pool, *amounts, f"of {size(use.size)}" if use.size else ""))
    lines += table(("board", "fits", "pool", "weights", "activations", ""), rows)
    refused = [each for each in answers if not each.fits]
    lines += [""] if refused else []
    lines += [f"{each.board}: {each.why}{f' ({each.hint})' if each.hint else ''}" for each in refused]
    if len(refused) == len(answers):
        lines += ["", NONE]
    return lines
