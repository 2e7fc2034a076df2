"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or may be.

    Attributes:
        check: Name of the check.
        level: ``error`` or ``warning``.
        message: What is wrong, with the numbers that show it.
        remedy: What to do about it.
    """

    check: str
    level: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.message} ({self.remedy})" if self.remedy else self.message
        return " ".join(text.split())


def error(check: str, message: str, remedy: str = "") -> Finding:
    """The image does not work."""
    return Finding(check, "error", message, remedy)


def warning(check: str, message: str, remedy: str = "") -> Finding:
    """The image may work, or could not be checked."""
    return Finding(check, "warning", message, remedy)
