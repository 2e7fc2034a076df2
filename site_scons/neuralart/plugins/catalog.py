"""The protocols of all kinds for docs/reference/plugins.md, from the classes that define them."""

from __future__ import annotations

import importlib
import inspect
import re

from neuralart.plugins.collection import members
from neuralart.plugins.kinds import KINDS, Kind

_ATTRIBUTE = re.compile(r"^    (\w+): (.*(?:\n     +\S.*)*)", re.M)


def protocol_of(kind: Kind) -> type:
    """The class that says what plugins of a kind offer."""
    module, _, name = kind.protocol.partition(":")
    found: type = getattr(importlib.import_module(module), name)
    return found


def markdown() -> str:
    """The part of the page that is made: a table of kinds, and for each what a plugin offers."""
    lines = ["| kind | protocol | entry points | a plugin is |", "|---|---|---|---|"]
    lines += [
        f"| [{kind.name}](#{kind.name}) | {kind.version} | `{kind.group}` | {kind.what} |" for kind in KINDS.values()
    ]
    for kind in KINDS.values():
        lines += ["", *_section(kind)]
    return "\n".join(lines) + "\n"


def _section(kind: Kind) -> list[str]:
    protocol = protocol_of(kind)
    module, _, name = kind.protocol.partition(":")
    summary, _, rest = inspect.getdoc(protocol).partition("\n")  # type: ignore[union-attr]
    told = dict(_ATTRIBUTE.findall(rest.partition("Attributes:\n")[2]))
    lines = [f"### {kind.name}", "", f"`{module}.{name}`, version {kind.version}. {_plain(summary)}", ""]
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
