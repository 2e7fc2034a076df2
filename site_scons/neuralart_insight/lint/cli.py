"""``neuralart lint``: known traps in networks, pool files, sources and linker scripts, with file and line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import project_folder
from neuralart.text.console import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart.findings import LintFinding

SCHEMA = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    words = "variants of the project file, and files or folders to look at with them (default: all variants)"
    parser.add_argument("words", nargs="*", metavar="VARIANT|FILE", help=words)
    project_folder.add_options(parser)
    parser.add_argument("--board", default="", metavar="NAME", help="board of the files, where no variant is named")
    own = "board file of your own"
    parser.add_argument("--board-file", action="append", default=[], type=Path, metavar="FILE", help=own)
    parser.add_argument("--ignore", action="append", default=[], metavar="RULE", help="leave a rule out")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--rules", action="store_true", help="list the rules")
    parser.add_argument("--markdown", action="store_true", help="list the rules as in docs/reference/lint.md")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(args: argparse.Namespace) -> int:
    """Apply the rules: 0 without errors, else 1. NeuralArtError: a word is no variant or file, or a rule is none."""
    from neuralart_insight.lint import engine

    if args.rules or args.markdown:
        print(engine.markdown() if args.markdown else engine.as_text(), end="")
        return 0
    engine.check_ids(args.ignore)
    paths = [Path(word) for word in args.words if Path(word).exists()]
    variants = [word for word in args.words if not Path(word).exists()]
    notes: list[str] = []
    found = _variants(args, variants, paths, notes) if variants or not paths else _files(args, paths, notes)
    findings = engine.ordered(dict.fromkeys(each for each in found if each.rule not in args.ignore))
    failed = engine.failed(findings, strict=args.strict)
    _show(args, findings, notes, failed)
    return 1 if failed else 0


def _variants(args: argparse.Namespace, names: list[str], paths: list[Path], notes: list[str]) -> list[LintFinding]:
    from neuralart import config
    from neuralart.errors import NeuralArtError
    from neuralart_insight.lint import engine, gather

    if args.board:
        raise NeuralArtError("--board is for files alone: a variant has its own board")
    file: Path = args.file
    if names and not file.is_file():
        hint = "or --file FILE"
        raise NeuralArtError(f"'{names[0]}' is no file, and there is no {file.as_posix()} with variants", hint=hint)
    project = config.read(file, file.as_posix())
    found = []
    for name in names or project.config.titles:
        bag = gather.Bag()
        variant = project.variant(name)
        board, note = gather.add_variant(bag, project, variant, file, args.build or file.parent / "build")
        if note:
            notes.append(f"{name}: {note}")
        gather.add(bag, paths)
        found += [*bag.findings, *engine.lint(bag.facts(board), args.ignore)]
    return found


def _files(args: argparse.Namespace, paths: Sequence[Path], notes: list[str]) -> list[LintFinding]:
    from neuralart import boards
    from neuralart_insight.lint import engine, gather

    board = boards.load(args.board, args.board_file, "--board") if args.board else None
    bag = gather.Bag()
    gather.add(bag, paths)
    facts = bag.facts(board)
    left_out = engine.not_applied(facts)
    if left_out:
        notes.append(f"without --board these rules see nothing: {', '.join(left_out)}")
    return [*bag.findings, *engine.lint(facts, args.ignore)]


def _show(args: argparse.Namespace, findings: Sequence[LintFinding], notes: Sequence[str], failed: bool) -> None:
    from dataclasses import asdict

    from neuralart.findings import LEVELS
    from neuralart_insight.lint import engine

    if args.json:
        import json

        known = set(engine.rule_ids())
        pages = {rule: f"{engine.PAGE}#{rule}" if rule in known else engine.PAGE for rule in (f.rule for f in findings)}
        listed = [{**asdict(finding), "page": pages[finding.rule]} for finding in findings]
        print(json.dumps({"schema": SCHEMA, "ok": not failed, "notes": list(notes), "findings": listed}, indent=1))
        return
    for finding in findings:
        say(str(finding))
    for note in notes:
        say(f"neuralart lint: note: {note}", file=sys.stderr)
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    say(", ".join(f"{count} {level}{'' if count == 1 else 's'}" for level, count in counts.items()))
