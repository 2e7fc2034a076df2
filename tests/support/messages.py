"""The form of what a user is told."""

from __future__ import annotations

from neuralart.errors import LONGEST


def one_message(text: str) -> str:
    """The text, which must be one line; what to do about it may stand in a second one where both are long."""
    first, *more = text.split("\n")
    assert not more or (len(more) == 1 and more[0].startswith("  ") and len(text) > LONGEST), text
    return first
