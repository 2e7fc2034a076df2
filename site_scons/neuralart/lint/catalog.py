"""The list of rules, for people and for the documentation."""

from __future__ import annotations

from neuralart.lint.engine import rules
from neuralart.lint.types import Rule
from neuralart.plugins import own as plugins_own

PAGE = "docs/reference/lint.md"


def text() -> str:
    """One line for each rule."""
    found = rules()
    width = max(len(rule.id) for rule in found)
    return "".join(f"{rule.id:<{width}}  {rule.level:<7}  {rule.finds}\n" for rule in found)


def markdown() -> str:
    """The part of the documentation's page that is generated."""
    own: list[Rule] = [plugin.made for plugin in plugins_own("lint")]
    lines = ["| rule | level | finds | looks at |", "|---|---|---|---|"]
    lines += [f"| [{rule.id}](#{rule.id}) | {rule.level} | {rule.finds} | {', '.join(rule.looks_at)} |" for rule in own]
    for rule in own:
        lines += ["", f"### {rule.id}", "", f"Finds {rule.finds}. {rule.why}", "", f"What to do: {rule.hint}."]
    return "\n".join(lines) + "\n"


def page_of(rule: str) -> str:
    """Where a rule is documented."""
    return f"{PAGE}#{rule}"
