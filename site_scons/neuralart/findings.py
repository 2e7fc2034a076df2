"""Findings of checks: a level, a place, what is wrong, and what to do."""

from __future__ import annotations

from neuralart.errors import printable
from neuralart.quick import dataclass

ERROR, WARNING, NOTE = "error", "warning", "note"


LEVELS = (ERROR, WARNING, NOTE)


@dataclass(frozen=True)
class LintFinding:
    """A finding with its place in a file."""

    rule: str  # Id of the rule
    level: str  # ``error``, ``warning`` or ``note``
    where: str  # ``file:line``, or the file
    message: str  # What is so, with the numbers that show it
    hint: str = ""  # What to do about it

    def __str__(self) -> str:
        text = f"{self.message} ({self.hint})" if self.hint else self.message
        return printable(" ".join(f"{self.where}: {self.level}: {text} [{self.rule}]".split()))


@dataclass(frozen=True)
class Finding:
    check: str  # name of the check
    level: str  # error or warning
    message: str  # what is wrong, with the numbers that show it
    remedy: str = ""  # what to do about it

    def __str__(self) -> str:
        text = f"{self.message} ({self.remedy})" if self.remedy else self.message
        return " ".join(text.split())


def error(check: str, message: str, remedy: str = "") -> Finding:
    """Make a finding: the image does not work."""
    return Finding(check, "error", message, remedy)


def warning(check: str, message: str, remedy: str = "") -> Finding:
    """Make a finding: the image may work, or could not be checked."""
    return Finding(check, "warning", message, remedy)
