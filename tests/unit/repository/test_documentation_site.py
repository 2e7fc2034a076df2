"""The documentation as a site: all pages, all links, nothing from a network."""

from __future__ import annotations

import logging
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.servers.browser import Browser, browser

# What MkDocs and its parts use of newer Pythons is theirs.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
pytest.importorskip("material", reason="MkDocs is not installed: pip install -e '.[docs]'")

REPO = Path(__file__).resolve().parents[3]


def _built(top: Path, site: Path) -> list[str]:
    """Build a tree's site in this process. Returns what MkDocs warned about; with that it has failed."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("mkdocs")
    log.addHandler(handler)
    try:
        config = load_config(str(top / "mkdocs.yml"), site_dir=str(site))
        build(config)
    except Abort:
        assert said
    finally:
        log.removeHandler(handler)
    return said


@dataclass
class Page(HTMLParser):
    """What a page of the site is made of."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    paragraphs: list[str] = field(default_factory=list)
    _inside: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.classes |= set(given.get("class", "").split())
        if tag == "a":
            self.links += [given["href"]] if "href" in given else []
        else:
            self.loads += [given[name] for name in ("src", "href", "srcset", "data", "action") if name in given]
        if "md-content" not in self.classes:
            return
        self._inside = tag in ("p", "li") or (self._inside and tag not in ("pre", "ul", "ol", "table"))
        if tag in ("p", "li"):
            self.paragraphs.append("")
        elif self._inside:
            self.paragraphs[-1] += "\0"  # ``**1. Bold**`` is meant as it looks

    def handle_endtag(self, tag: str) -> None:
        self._inside = self._inside and tag not in ("p", "li")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.paragraphs[-1] += data


@dataclass(frozen=True)
class Site:
    folder: Path
    pages: dict[str, Page]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_MKDOCS_2_WARNING", "1")  # A note of the theme about its successor
        assert _built(REPO, folder) == []
    pages = {}
    for path in sorted(folder.rglob("*.html")):
        if path.name != "404.html":  # For servers: its links are absolute
            page = pages[path.relative_to(folder).as_posix()] = Page()
            page.feed(path.read_text("utf-8"))
    yield Site(folder, pages)
    shutil.rmtree(folder)


def _target(page: str, link: str) -> tuple[str, str]:
    """The file of the site that a link means, and the anchor."""
    parts = urlsplit(link)
    path = os.path.normpath(Path(page).parent / unquote(parts.path)) if parts.path else page
    return Path(path).as_posix(), unquote(parts.fragment)


def test_every_page_is_there_and_can_be_reached(site: Site) -> None:
    wanted = {path.relative_to(REPO).with_suffix(".html") for path in (REPO / "docs").rglob("*.md")}
    wanted = {path.with_name("index.html") if path.name == "README.html" else path for path in wanted}
    assert {path.as_posix() for path in wanted} | {"index.html", "CHANGELOG.html", "models/index.html"} <= set(
        site.pages
    )
    # The navigation is on each page: that of the first one is enough.
    text = (site.folder / "index.html").read_text("utf-8")
    navigation = Page()
    navigation.feed(text[text.index('class="md-nav md-nav--primary') : text.index('class="md-content')])
    assert {_target("index.html", link)[0] for link in navigation.links if link != "."} >= set(site.pages) - {
        "index.html"
    }


def test_links_and_anchors(site: Site) -> None:
    """MkDocs has checked them in the sources; these are those that readers click."""
    wrong = []
    count = 0
    for name, page in site.pages.items():
        for link in page.links:
            if urlsplit(link).scheme:
                continue
            count += 1
            path, anchor = _target(name, link)
            path = "index.html" if path == "." else path
            there = path in site.pages or (site.folder / path).is_file()
            if not there or (anchor and anchor not in site.pages[path].ids):
                wrong.append(f"{name}: {link}")
    assert wrong == [] and count > 2000


def test_nothing_comes_from_a_network(site: Site) -> None:
    loaded = [f"{name}: {each}" for name, page in site.pages.items() for each in page.loads if urlsplit(each).netloc]
    assert loaded == []
    assert all(
        (site.folder / _target(name, each)[0]).exists() for name, page in site.pages.items() for each in page.loads
    )
    for sheet in site.folder.rglob("*.css"):
        named = re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", sheet.read_text("utf-8"))
        assert not [each for each in named if urlsplit(each).netloc], sheet
    # The theme's script would load a library for diagrams and for mathematics: there must be none of their elements.
    used = set().union(*(page.classes for page in site.pages.values()))
    assert not used & {"mermaid", "arithmatex"} and "highlight" in used


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.browser
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 420)])
def test_search_works_from_a_folder(site: Site, chromium: Browser, scheme: str, width: int) -> None:
    """A real browser, no server: what is typed is found, and no page asks for anything of a network."""
    chromium.open(site.folder / "index.html", scheme, width, "document.readyState === 'complete'")
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth") is True
    chromium.picture(REPO / "build" / "screenshots" / f"site-{scheme}-{width}.png")
    field = "document.querySelector('[data-md-component=search-query]')"
    found = "[...document.querySelectorAll('.md-search-result__link')].map((each) => each.href)"
    chromium.evaluate(f"document.querySelector('#__search').click(); {field}.focus()")
    chromium.evaluate(f"{field}.value = 'fsbl'; {field}.dispatchEvent(new Event('keyup', {{bubbles: true}}))")
    links = chromium.wait(f"{found}.length > 2 && {found}")
    assert any("first-flash.html" in link for link in links)
    assert [url for url in chromium.requests() if not url.startswith(("file:", "data:", "about:"))] == []
    assert chromium.problems() == []


@pytest.mark.browser
def test_the_plan_follows_light_and_dark(chromium: Browser) -> None:
    fills = []
    for scheme in ("light", "dark"):
        chromium.open(REPO / "docs/pictures/plan.svg", scheme, 1000, "document.readyState === 'complete'")
        chromium.picture(REPO / "build" / "screenshots" / f"plan-{scheme}.png")
        fill = "getComputedStyle(document.querySelector('{}')).fill"
        fills.append([chromium.evaluate(fill.format(each)) for each in (".paper", "text", ".free")])
    assert fills[0][0] == "rgb(255, 255, 255)" and all(a != b for a, b in zip(*fills, strict=True))


def test_pages_look_as_they_are_meant(site: Site) -> None:
    """A list or a table that other readers of Markdown see is none here without an empty line above it."""
    wrong = [
        f"{name}: {text[:80]}"
        for name, page in site.pages.items()
        for text in page.paragraphs
        if re.search(r"^ *(?:[-*] |\d+\. |\|.*\|$|```|#+ )", text, re.M)
    ]
    assert wrong == []
    architecture = (site.folder / "docs/explanation/architecture.html").read_text("utf-8")
    assert "flowchart TD" in architecture, "a diagram is shown as text"


def test_the_texts_of_linked_files_are_pages(site: Site) -> None:
    text = (site.folder / "examples/plain-scons.html").read_text("utf-8")
    assert all(f"{name}</" in text or f"{name}<a" in text for name in ("SConstruct", "main.c", "product.ld"))
    assert "Apache License" in (site.folder / "LICENSE.html").read_text("utf-8")


def test_what_is_wrong_fails(tmp_path: Path) -> None:
    (tmp_path / "docs/how-to").mkdir(parents=True)
    shutil.copy(REPO / "mkdocs.yml", tmp_path)
    shutil.copy(REPO / "docs/site_hooks.py", tmp_path / "docs")
    (tmp_path / "README.md").write_text("# Top\n\n[index](docs/README.md)\n[none](docs/none.md)\n", "utf-8")
    (tmp_path / "docs/README.md").write_text(
        "# Index\n\n## How-to: to do\n\n| page | for |\n|---|---|\n| [a](how-to/a.md) | [b](../README.md#nowhere) |\n",
        "utf-8",
    )
    (tmp_path / "docs/how-to/a.md").write_text("# A\n", "utf-8")
    (tmp_path / "docs/how-to/forgotten.md").write_text("# B\n", "utf-8")
    said = "\n".join(_built(tmp_path, tmp_path / "site"))
    assert "how-to/forgotten.md" in said and 'not included in the "nav"' in said
    assert "'docs/none.md', but the target is not found" in said
    assert "'../README.md#nowhere', but the doc 'README.md' does not contain an anchor '#nowhere'" in said
