"""The one error family that users see."""

from __future__ import annotations

# Characters of a message without its place. No text before a hint is longer; a hint that makes it longer than two such
# lines stands on a line of its own.
LONGEST = 160


class NeuralArtError(Exception):
    """An expected failure, said in one line without a traceback; a long hint stands in a second one.

    ``what`` is wrong, with the numbers that show it; ``where``: ``file:line``, ``file:line:column``, ``file@0x1c`` (a
    byte offset) or a name; ``hint``: what to do about it.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        self.what = what
        self.where = where
        self.hint = hint
        super().__init__(what, where, hint)

    def __str__(self) -> str:
        what = " ".join(self.what.split())
        hint = " ".join(self.hint.split())
        text = f"{self.where}: {what}" if self.where else what
        if not hint:
            return text
        # The length of a path is not ours, and must not decide the form of a message.
        return f"{text}\n  {hint}" if len(what) > LONGEST or len(what) + len(hint) > 2 * LONGEST else f"{text} ({hint})"


def nearest(name: str, known: list[str] | tuple[str, ...]) -> str:
    """Name the known values, and the one that is most similar: ``did you mean 'x'? known: a, b, x``."""
    import difflib

    listed = "known: " + ", ".join(sorted(known)) if known else "none is known"
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{close[0]}'? {listed}" if close else listed
