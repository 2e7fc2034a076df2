"""A page as one HTML file, of sections with pictures, tables and notes, and a policy that forbids everything else.

Texts are plain; the page quotes them, and none is part of a script. The policy names the hashes of a page's scripts, so
a browser runs no other, and loads nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.files import read_bytes
from neuralart.resources import templates

_TEMPLATES = Path(__file__).with_name("templates")


def text_of(name: str) -> str:
    """A file beside the template."""
    return read_bytes(_TEMPLATES / name).decode("utf-8")


def _hash(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode('utf-8')).digest()).decode('ascii')}'"


def sheet(
    maker: str,
    name: str,
    title: str,
    sections: Sequence[PageSection],
    pictures: str = "",
    scripts: Sequence[str] = (),
    bokeh: str = "",
) -> str:
    """Text of a page.

    Args:
        maker: The command that makes it, which the page names: so it knows its own pages again.
        name: The heading.
        title: A line below it; empty: none.
        sections: What it shows.
        pictures: JSON of the pictures, which can end no element.
        scripts: JavaScript that draws them; none: a page of texts and tables.
        bokeh: Version of the library among them.
    """
    read = [script.replace("\r\n", "\n") for script in scripts]  # A browser hashes lines as it reads them: with \n.
    said = {
        **{"maker": maker, "name": name, "title": title, "sections": sections, "style": text_of("page.css")},
        **{"pictures": pictures, "scripts": read, "hashes": " ".join(map(_hash, read)), "bokeh": bokeh},
    }
    return templates(_TEMPLATES, autoescape=True).get_template("page.html").render(said)


@dataclass(frozen=True)
class Picture:
    """A figure of the plotting library."""

    key: str  # Identifier in the page: letters, digits, ``-``
    title: str  # Above it
    figure: Any  # Of Bokeh
    marks: int  # How many things it must show: the browser compares with what it has drawn
    scrolls: bool = False  # It is higher than a screen: a frame around it scrolls


@dataclass(frozen=True)
class Jump:
    """A cell of a table that shows a range in a picture."""

    text: str  # What the cell says
    picture: str  # Key of the picture
    start: float  # Range on its x axis
    end: float
    color: str = ""  # Of the mark before the text; empty: none


@dataclass(frozen=True)
class Meter:
    """A cell of a table with a bar to scale."""

    text: str  # What the cell says
    share: float  # 0 to 1


Cell = str | Jump | Meter


@dataclass(frozen=True)
class PageTable:
    """A table; numbers stand to the right."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: tuple[int, ...] = ()  # Columns of numbers
    folded: str = ""  # The page shows this line, and the table after a click on it; empty: shown at once


@dataclass(frozen=True)
class Note:
    """A paragraph; ``kind``: ``plain``, ``warning``, ``unknown`` or ``text`` (lines as they are)."""

    text: str
    kind: str = "plain"


Part = Picture | PageTable | Note


@dataclass(frozen=True)
class PageSection:
    """A part of the page with a title."""

    key: str  # Identifier in the page
    title: str
    parts: tuple[Part, ...]

    @property
    def pictures(self) -> list[Picture]:
        """Its pictures."""
        return [part for part in self.parts if isinstance(part, Picture)]


def unknown(key: str, title: str, why: str) -> PageSection:
    """A section that has nothing to show, and says why."""
    return PageSection(key, title, (Note(why, "unknown"),))


def count_of(number: int, what: str) -> str:
    """``1 byte``, ``2,048 bytes``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def share_of(part: int, whole: int) -> str:
    """In per cent; what is little is not nothing."""
    percent = 100 * part / whole if whole else 0.0
    return "< 0.01\xa0%" if 0 < percent < 0.01 else f"{percent:.2f}\xa0%"


def span(start: int, size: int) -> str:
    """Addresses: first one, and first one behind it; the line does not break between them."""
    return f"0x{start:08x}\xa0–\u2060\xa00x{start + size:08x}"


def cut(rows: Sequence[Any], most: int) -> tuple[Sequence[Any], str]:
    """The first rows, and a sentence that says how many are left out; empty if none is."""
    left = len(rows) - most
    return (rows[:most], f"{left:,} more are left out.") if left > 0 else (rows, "")


def shortened(text: str, most: int) -> str:
    """A text of so many letters at most; the end stays, which tells names of one model apart."""
    head = max(1, most // 3)
    return text if len(text) <= most else f"{text[:head]}…{text[len(text) - most + head + 1 :]}"
