"""A page as one HTML file: sections, style, and a policy that forbids everything else. Nothing of the user's is part of
a script: texts are quoted for HTML. The policy names the hashes of a page's scripts, so a browser runs no other, and
loads nothing at all.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path

from neuralart.files import read_bytes
from neuralart.resources import templates
from neuralart_insight.report.page.parts import PageSection

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
