"""``neuralart plugins``: lists compilers, runners, boards, operators, rules and so on, with their packages."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from typing import TYPE_CHECKING

from neuralart import plugins
from neuralart.plugins.collection import members, protocol_of
from neuralart.plugins.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart.errors import NeuralArtError
    from neuralart.plugins import Plugin

SCHEMA = 1
_ATTRIBUTE = r"^    (\w+): (.*(?:\n     +\S.*)*)"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"only these: {', '.join(plugins.kinds())}")
    parser.add_argument("--added", action="store_true", help="only what others than scons-neuralart bring")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--markdown", action="store_true", help="the protocols, as in docs/reference/plugins.md")


def run(args: argparse.Namespace) -> int:
    """List them; returns 1 and prints a line for each that cannot be loaded. NeuralArtError: no such kind."""
    if args.markdown:
        print(markdown(), end="")
        return 0
    found: list[Plugin] = []
    errors: list[NeuralArtError] = []
    for kind in args.kinds or plugins.kinds():
        errors += plugins.problems(kind)
        found += [plugin for plugin in plugins.known(kind) if not args.added or plugin.source is not plugins.OWN]
    print(_json(found, errors) if args.json else _text(found), end="")
    if not args.json:
        for error in errors:
            print(f"neuralart plugins: error: {error}", file=sys.stderr)
    return 1 if errors else 0


def _json(found: Sequence[Plugin], errors: Sequence[NeuralArtError]) -> str:
    import json

    rows = []
    for plugin in found:
        said = {"kind": plugin.kind, "name": plugin.name, "version": plugin.source.version}
        rows.append({**said, "from": plugin.source.package, "protocol": plugins.kinds()[plugin.kind].version})
    wrong = [{"what": error.what, "where": error.where, "hint": error.hint} for error in errors]
    return json.dumps({"schema": SCHEMA, "plugins": rows, "errors": wrong}, indent=1) + "\n"


def _text(found: Sequence[Plugin]) -> str:
    rows = [("KIND", "NAME", "VERSION", "FROM")]
    rows += [(each.kind, each.name, each.source.version or "-", each.source.package) for each in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )


# ---- docs/reference/plugins.md, from the classes that say what plugins offer


def markdown() -> str:
    """Write the generated part of the page: a table of kinds, and the members of each."""
    lines = ["| kind | protocol | entry points | a plugin is |", "|---|---|---|---|"]
    lines += [
        f"| [{kind.name}](#{kind.name}) | {kind.version} | `{kind.group}` | {kind.what} |"
        for kind in plugins.kinds().values()
    ]
    for kind in plugins.kinds().values():
        lines += ["", *_section(kind)]
    return "\n".join(lines) + "\n"


def _section(kind: Kind) -> list[str]:
    protocol = protocol_of(kind)
    summary, _, rest = inspect.getdoc(protocol).partition("\n")  # type: ignore[union-attr]
    told = dict(re.findall(_ATTRIBUTE, rest.partition("Attributes:\n")[2], re.M))
    offered = kind.protocol.replace(":", ".")
    lines = [f"### {kind.name}", "", f"`{offered}`, version {kind.version}. {_plain(summary)}", ""]
    lines += ["| member | is |", "|---|---|"]
    for member in members(kind):
        value = inspect.getattr_static(protocol, member, None)
        if inspect.isfunction(value):
            names = [each for each in inspect.signature(value).parameters if each != "self"]
            text = (inspect.getdoc(value) or "").partition("\n\n")[0]
            lines.append(f"| `{member}({', '.join(names)})` | {_plain(text)} |")
        else:
            lines.append(f"| `{member}` | {_plain(told[member])} |")
    return lines


def _plain(text: str) -> str:
    """Words of a docstring as Markdown: references become code."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", " ".join(text.split()))
    return text.replace("``", "`").replace("|", "\\|")
