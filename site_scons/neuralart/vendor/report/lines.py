"""Text of a report or of captured console output: decoded, and freed of what the console added."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Progress bars share the line with what follows; the graphical front end stamps each line.
_PROGRESS = re.compile(r"PASS:\s{0,8}\d{1,3}%\|[^|\n]{0,200}\|\s{0,4}\d+/\d+ \[[^\]\n]{0,80}\]\s*")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{1,6} \[[A-Z]{1,10}\] \w{1,40}:\d{1,6} - ?")
_RULER = re.compile(r"-{3,}(?: +-{2,})*")
_BREAK = re.compile(r"\r\n|\n|\r")


# Command lines are longer; no line of a table is.
LONGEST = 2000


@dataclass(frozen=True)
class Line:
    """A line."""

    number: int  # In the file, from 1
    text: str  # Without its end and blanks behind; blanks in front are kept, tables need them

    @property
    def bare(self) -> str:
        """Without blanks around it."""
        return self.text.strip()

    @property
    def is_ruler(self) -> bool:
        """Dashes only."""
        return bool(_RULER.fullmatch(self.bare))

    @property
    def is_end(self) -> bool:
        """The line of equal signs behind a block."""
        bare = self.bare
        return len(bare) > 20 and not bare.strip("=")


def decode(data: bytes) -> str:
    """Text of a console or of an editor: UTF-8, UTF-16 with a mark in front, or else the Western code page."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def lines_of(data: bytes) -> tuple[list[Line], bool]:
    """Lines that say something.

    Returns:
        The lines, blank ones left in; and whether a console had added anything.
    """
    lines: list[Line] = []
    added = False
    for number, raw in enumerate(_BREAK.split(decode(data)), start=1):
        text = _STAMP.sub("", raw, count=1) if raw[:4].isdigit() else raw
        if "PASS:" in text:
            text = _PROGRESS.sub("", text)
        added = added or text != raw
        lines.append(Line(number, text.rstrip()))
    return lines, added


def without_long(lines: list[Line]) -> list[Line]:
    """The same with lines emptied that are too long to be in a table."""
    return [line if len(line.text) <= LONGEST else Line(line.number, "") for line in lines]


def spans(ruler: str) -> list[tuple[int, int]]:
    """Columns of a table from its ruler: ``--- -----`` has (0, 3) and (4, 9)."""
    return [match.span() for match in re.finditer(r"-+", ruler)]


def whole(text: str) -> int | None:
    """``1,234`` or None."""
    return int(text.replace(",", "")) if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20}", text) else None
