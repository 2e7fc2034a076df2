"""``neuralart plugins``: what compilers, runners, boards, operators, rules and so on there are, and who brings them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from neuralart.plugins.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart.errors import NeuralArtError
    from neuralart.plugins import Plugin

SCHEMA = 1


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"only these: {', '.join(KINDS)}")
    parser.add_argument("--added", action="store_true", help="only what others than scons-neuralart bring")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--markdown", action="store_true", help="the protocols, as in docs/reference/plugins.md")


def run(args: argparse.Namespace) -> int:
    """Load all of them and list them; one line for each that cannot be loaded.
    Returns 0, or 1 if a plugin cannot be loaded. NeuralArtError: There is no such kind.
    """
    import sys

    from neuralart import plugins

    if args.markdown:
        from neuralart.plugins.catalog import markdown

        print(markdown(), end="")
        return 0
    found: list[Plugin] = []
    errors: list[NeuralArtError] = []
    for kind in args.kinds or KINDS:
        errors += plugins.problems(kind)
        found += [plugin for plugin in plugins.known(kind) if not args.added or plugin.source is not plugins.OWN]
    print(_json(found, errors) if args.json else _text(found), end="")
    if not args.json:
        for error in errors:
            print(f"neuralart plugins: error: {error}", file=sys.stderr)
    return 1 if errors else 0


def _json(found: Sequence[Plugin], errors: Sequence[NeuralArtError]) -> str:
    import json

    rows = [
        {
            "kind": plugin.kind,
            "name": plugin.name,
            "version": plugin.source.version,
            "from": plugin.source.package,
            "protocol": KINDS[plugin.kind].version,
        }
        for plugin in found
    ]
    wrong = [{"what": error.what, "where": error.where, "hint": error.hint} for error in errors]
    return json.dumps({"schema": SCHEMA, "plugins": rows, "errors": wrong}, indent=1) + "\n"


def _text(found: Sequence[Plugin]) -> str:
    rows = [("KIND", "NAME", "VERSION", "FROM")]
    rows += [(each.kind, each.name, each.source.version or "-", each.source.package) for each in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
