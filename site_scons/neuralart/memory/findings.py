"""What a check says."""

from __future__ import annotations

from dataclasses import dataclass


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
    """The image does not work."""
    return Finding(check, "error", message, remedy)


def warning(check: str, message: str, remedy: str = "") -> Finding:
    """The image may work, or could not be checked."""
    return Finding(check, "warning", message, remedy)
