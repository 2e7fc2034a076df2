"""What the documentation names exists: pages, links, anchors, files, extension points, versions."""

from __future__ import annotations

import ast
import datetime
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from test_architecture import FLOORS

from neuralart import __version__
from neuralart.resources import PACKAGE

REPO = Path(__file__).resolve().parents[3]
DOCS = REPO / "docs"
PAGES = sorted(
    [*REPO.glob("*.md"), *DOCS.rglob("*.md")]
    + [page for folder in ("models", "benchmarks", "examples") for page in (REPO / folder).rglob("*.md")]
)
DEVELOPING = DOCS / "developing.md"
TO_ADD = (
    *("An operator", "A kernel", "A board", "A flash runner", "A vendor release", "A key of variants.yaml"),
    *("A lint rule", "A kind for inspect"),
)
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.M)
_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1", re.M | re.S)
# A file of this repository, and perhaps a name in it; <...> stands for whatever is added.
_FILE = re.compile(r"`([\w./<>-]+\.(?:py|md|c|h|yaml|yml|toml|json|mpool))(?::(\w+))?`")


def _name(path: Path) -> str:
    return path.relative_to(REPO).as_posix()


@cache
def _text(page: Path) -> str:
    """A page without its code blocks: what is in them are examples."""
    return _FENCE.sub("", page.read_text("utf-8"))


def _slug(heading: str) -> str:
    """The anchor that readers of Markdown give a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@cache
def _anchors(page: Path) -> frozenset[str]:
    found: list[str] = []
    for heading in _HEADING.findall(_text(page)):
        slug = _slug(heading)
        repeated = sum(one == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", one) is not None for one in found)
        found.append(f"{slug}-{repeated}" if repeated else slug)
    return frozenset(found)


def _links(page: Path) -> Iterator[tuple[str, Path, str]]:
    """(as written, file, anchor) of each link to a file of this repository."""
    for link in _LINK.findall(_text(page)):
        if not re.match(r"[a-z]+:", link):
            path, _, anchor = link.partition("#")
            yield link, (page.parent / path).resolve() if path else page, anchor


def test_the_index_has_every_page() -> None:
    linked = {path for _, path, _ in _links(DOCS / "README.md")}
    missing = [_name(page) for page in DOCS.rglob("*.md") if page != DOCS / "README.md" and page not in linked]
    assert missing == [], "link them in docs/README.md"


def test_the_index_has_four_kinds() -> None:
    """A page stands under the kind that its folder names; pages of the top folder may stand anywhere."""
    parts = re.findall(r"^## ([\w-]+): .+\n((?:(?!## ).*\n)+)", (DOCS / "README.md").read_text("utf-8"), re.MULTILINE)
    assert [title for title, _ in parts] == ["Tutorial", "How-to", "Reference", "Explanation"]
    for title, rows in parts:
        assert set(re.findall(r"\]\(([\w-]+)/", rows)) == {title.lower()}


def test_the_readme_is_short() -> None:
    assert len((REPO / "README.md").read_text("utf-8").splitlines()) < 150


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    for link, path, anchor in _links(page):
        assert path.is_relative_to(REPO) and path.exists(), f"{_name(page)}: {link}: there is no such file"
        if anchor:
            assert anchor in _anchors(path), (
                f"{_name(page)}: {link}: no such heading; there are {sorted(_anchors(path))}"
            )


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("A board of your own", "a-board-of-your-own"),
        ("`check-image`: what, and why?", "check-image-what-and-why"),
        ("[A](b.md) – c", "a--c"),
    ],
)
def test_anchors_of_headings(heading: str, slug: str) -> None:
    assert _slug(heading) == slug


def _found(name: str) -> list[Path]:
    """The files that are meant: of the repository, or of the package."""
    pattern = re.sub(r"<[\w-]+>", "*", name)
    return [path for top in (REPO, PACKAGE, PACKAGE.parent) for path in top.glob(pattern) if path.is_file()]


def _defined(path: Path) -> set[str]:
    """Names that a module defines at its top."""
    names: set[str] = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


def wrong_names(text: str) -> list[str]:
    """Files and extension points that a page names and that do not exist."""
    wrong = []
    for name, symbol in dict.fromkeys(_FILE.findall(text)):
        files = _found(name)
        if not files:
            wrong.append(name)
        elif symbol and not any(symbol in _defined(path) for path in files):
            wrong.append(f"{name}:{symbol}")
    return wrong


def test_what_developing_names_exists() -> None:
    text = _text(DEVELOPING)
    assert len(_FILE.findall(text)) > 50
    assert wrong_names(text) == []


def test_names_that_do_not_exist_are_found() -> None:
    text = "`fingerprint.py:closure` `fingerprint.py:nothing` `scons/<any>.py` `nowhere/<any>.py` `docs/none.md`"
    assert wrong_names(text) == ["fingerprint.py:nothing", "nowhere/<any>.py", "docs/none.md"]


@pytest.mark.parametrize("title", TO_ADD)
def test_how_to_add_has_a_list_of_files(title: str) -> None:
    part = _text(DEVELOPING).partition(f"\n### {title}\n")[2].partition("\n#")[0]
    rows = [line for line in part.splitlines() if line.startswith("| `")]
    assert len(rows) >= 2 and all(_FILE.search(row.split("|")[1]) for row in rows), title


def test_the_floors_are_those_of_the_architecture_page() -> None:
    page = (DOCS / "explanation" / "architecture.md").read_text("utf-8")
    rows = [f"| {number} | {', '.join(f'`{room}`' for room in sorted(rooms))} |" for number, rooms in enumerate(FLOORS)]
    table = "\n".join(["| floor | rooms |", "|---|---|", *rows]) + "\n\n"
    assert table in page, f"the table must be:\n{table}"
    described = set(re.findall(r"`(\w+)`", page.partition("| room | is |")[2].partition("\n\n")[0]))
    assert set().union(*FLOORS) <= described, "say what the room is"


def test_the_changelog_has_the_version_of_the_package() -> None:
    headings = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", (REPO / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert headings[0] == ("Unreleased", "")
    assert headings[1][0] == __version__
    assert f"\nversion: {__version__}\n" in (REPO / "CITATION.cff").read_text("utf-8")
    days = [datetime.date.fromisoformat(day) for _, day in headings[1:]]
    assert days == sorted(days, reverse=True)


def test_copies_in_examples_are_the_same() -> None:
    """Each example is a folder that users copy alone, so each has its model and its picture."""
    for name in ("digits.tflite", "image.h"):
        assert len({path.read_bytes() for path in (REPO / "examples").rglob(name)}) == 1, name
