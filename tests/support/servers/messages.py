"""The form of what a user is told."""

from __future__ import annotations

from neuralart.errors import LONGEST


def one_message(text: str) -> str:
    """The text, which must be one line; what to do about it may stand in a second one where both are long."""
    first, *more = text.split("\n")
    assert not more or (len(more) == 1 and more[0].startswith("  ") and len(text) > LONGEST), text
    return first


def flat(text: str) -> str:
    """A message as it would be were it short: what to do about it in brackets behind what is wrong."""
    one_message(text)
    first, *more = text.split("\n")
    return f"{first} ({more[0].strip()})" if more else first
