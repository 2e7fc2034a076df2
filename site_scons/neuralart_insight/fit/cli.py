"""``neuralart fit``: which boards a model fits, before anything is built."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from neuralart import outputs
from neuralart_insight.fit import page
from neuralart_reference.fit import Demand, Fit, fits
from neuralart_reference.model.refusal import ModelRefusal

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
            write_text(args.output, page.of_refusal(args.model, refusal))
        raise
    if args.output is not None:
        write_text(args.output, page.of_answers(args.model, needed, answers))
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
        lines += ["", page.NONE]
    return lines
