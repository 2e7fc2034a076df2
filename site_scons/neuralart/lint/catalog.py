"""The list of rules, for people and for the documentation."""

from __future__ import annotations

from neuralart.lint.engine import RULES

PAGE = "docs/reference/lint.md"


def text() -> str:
    """One line for each rule."""
    width = max(len(rule.id) for rule in RULES)
    return "".join(f"{rule.id:<{width}}  {rule.level:<7}  {rule.finds}\n" for rule in RULES)


def markdown() -> str:
    """The part of the documentation's page that is generated."""
    lines = ["| rule | level | finds | looks at |", "|---|---|---|---|"]
    lines += [
        f"| [{rule.id}](#{rule.id}) | {rule.level} | {rule.finds} | {', '.join(rule.looks_at)} |" for rule in RULES
    ]
    for rule in RULES:
        lines += ["", f"### {rule.id}", "", f"Finds {rule.finds}. {rule.why}", "", f"What to do: {rule.hint}."]
    return "\n".join(lines) + "\n"


def page_of(rule: str) -> str:
    """Where a rule is documented."""
    return f"{PAGE}#{rule}"
