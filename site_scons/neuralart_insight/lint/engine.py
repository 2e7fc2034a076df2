"""All rules, and running them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from neuralart import plugins
from neuralart.errors import NeuralArtError, nearest
from neuralart.findings import ERROR, LEVELS, LintFinding
from neuralart_insight.lint.types import Facts, Rule

PAGE = "docs/reference/lint.md"
# What other parts of the command say with an id of their own.
UNREADABLE, REFUSED = "unreadable", "refused-model"
_ALLOWED = re.compile(r"neuralart-lint:\s*([\w-]+(?:\s*,\s*[\w-]+)*)")


def as_text() -> str:
    """One line for each rule."""
    found = rules()
    width = max(len(rule.id) for rule in found)
    return "".join(f"{rule.id:<{width}}  {rule.level:<7}  {rule.finds}\n" for rule in found)


def markdown() -> str:
    """The part of the documentation's page that is generated."""
    own: list[Rule] = [plugin.made for plugin in plugins.own("lint")]
    lines = ["| rule | level | finds | looks at |", "|---|---|---|---|"]
    lines += [f"| [{rule.id}](#{rule.id}) | {rule.level} | {rule.finds} | {', '.join(rule.looks_at)} |" for rule in own]
    for rule in own:
        lines += ["", f"### {rule.id}", "", rule.why, "", f"What to do: {rule.hint}."]
    return "\n".join(lines) + "\n"


def rules() -> tuple[Rule, ...]:
    """Our rules in the order of the documentation, then those of plugins; NeuralArtError: one cannot be loaded."""
    return tuple(plugin.made for plugin in plugins.every("lint"))


def rule_ids() -> list[str]:
    """Ids of the rules, in their order."""
    return [rule.id for rule in rules()]


def check_ids(names: Iterable[str]) -> None:
    """Refuse what is no rule. Raises NeuralArtError: one is none."""
    for name in names:
        if name not in rule_ids():
            raise NeuralArtError(f"there is no rule '{name}'", hint=nearest(name, rule_ids()))


def _allowed(finding: LintFinding, texts: dict[str, list[str]]) -> bool:
    """The line says ``neuralart-lint: <rule>``: a person has looked at it."""
    file, _, line = finding.where.rpartition(":")
    lines = texts.get(file, [])
    if not line.isdigit() or not 0 < int(line) <= len(lines):
        return False
    said = _ALLOWED.search(lines[int(line) - 1])
    return said is not None and finding.rule in re.split(r"\s*,\s*", said[1])


def lint(facts: Facts, ignore: Collection[str] = ()) -> list[LintFinding]:
    """What all rules but the ignored ones find: errors first, then by place."""
    texts = {source.file: source.text.split("\n") for source in facts.sources}
    found: dict[LintFinding, None] = {}
    for plugin in plugins.every("lint"):
        rule: Rule = plugin.made
        if rule.id in ignore:
            continue
        for hit in plugin.run("check", lambda check: list(check(facts)), rule.check):
            finding = LintFinding(rule.id, hit.level or rule.level, hit.where, hit.message, hit.hint or rule.hint)
            if not _allowed(finding, texts):
                found[finding] = None
    return ordered(found)


def ordered(findings: Iterable[LintFinding]) -> list[LintFinding]:
    """Errors first, then warnings, then notes; each sort by file and line."""

    def key(finding: LintFinding) -> tuple[int, str, int, str]:
        file, _, line = finding.where.rpartition(":")
        number = int(line) if line.isdigit() else 0
        return LEVELS.index(finding.level), file or finding.where, number, finding.rule

    return sorted(findings, key=key)


def failed(findings: Sequence[LintFinding], *, strict: bool = False) -> bool:
    """Whether there is an error; with ``strict`` also a warning."""
    levels = LEVELS[:2] if strict else (ERROR,)
    return any(finding.level in levels for finding in findings)


def not_applied(facts: Facts) -> list[str]:
    """Ids of rules that need a board where none is known."""
    return [rule.id for rule in rules() if "board" in rule.looks_at] if facts.board is None else []
