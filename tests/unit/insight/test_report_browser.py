"""The page in a real browser: everything is drawn, nothing is asked for, nothing of a name is executed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from neuralart_insight.profiling import report_cli
from neuralart_insight.report.page import document
from neuralart_insight.report.page.gather import PageFacts, gather
from support.servers import page_folder
from support.servers.browser import Browser, browser
from support.servers.page_folder import HOSTILE, ROOT

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed: ./sconsw test installs it")
pytestmark = [pytest.mark.needs("bokeh", "squarify"), pytest.mark.browser, pytest.mark.long]
SCREENS = ROOT / "build" / "screenshots"
"""Kept: people look at them."""
EVERYWHERE = """(() => {
    const found = [];
    const look = (root) => root.querySelectorAll("*").forEach((each) => {
        found.push(each);
        if (each.shadowRoot) look(each.shadowRoot);
    });
    look(document);
    return found;
})()"""
"""All elements, those inside of the library's own too."""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def written(page: Path, facts: PageFacts) -> tuple[Path, list[Any]]:
    """The page, and its sections, which are made once."""
    more = report_cli._profile(facts, "")
    sections = document.sections(facts, more=more)
    with mock.patch.object(document, "sections", return_value=sections):
        page.write_text(document.html(facts, more), "utf-8")
    return page, sections


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A page whose every name would like to be more than a name."""
    folder = page_folder.write(tmp_path_factory.mktemp("hostile"), HOSTILE)
    return written(folder / "report.html", gather(folder, (), HOSTILE))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A page about a network of 600 epochs."""
    folder = page_folder.write(tmp_path_factory.mktemp("large"))
    return written(folder / "report.html", page_folder.large(gather(folder), 600))


def check(chromium: Browser, pictures: dict[str, int]) -> None:
    """The page has drawn what it must, has asked for nothing and complains of nothing."""
    drawn = "Object.fromEntries([...document.querySelectorAll('.picture')].map((p) => [p.id, Number(p.dataset.drawn)]))"
    assert chromium.evaluate(drawn) == {f"picture-{key}": marks for key, marks in pictures.items()}
    assert [url for url in chromium.requests() if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in chromium.requests() if url.startswith("file:")]) == 1
    assert chromium.problems() == []
    assert chromium.evaluate("document.getElementById('failed').hidden") is True
    empty = (
        "[...document.querySelectorAll('.picture')].filter((p) => p.offsetWidth < 300 || p.offsetHeight < 60).length"
    )
    assert chromium.evaluate(empty) == 0
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth") is True


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_is_drawn(chromium: Browser, hostile: tuple[Path, list[Any]], scheme: str) -> None:
    page, sections = hostile
    chromium.open(page, scheme)
    check(chromium, {each.key: each.marks for section in sections for each in section.pictures})
    ids = chromium.evaluate("[...document.querySelectorAll('main > section')].map((s) => s.id)")
    assert ids == [section.key for section in sections]
    rows = sum(len(part.rows) for section in sections for part in section.parts if hasattr(part, "rows"))
    assert chromium.evaluate("document.querySelectorAll('tbody tr').length") == rows
    screen = SCREENS / f"report-{scheme}.png"
    chromium.picture(screen)
    with Image.open(screen) as image:
        colors = dict((color, count) for count, color in image.convert("RGB").getcolors(1 << 24))
    paper = max(colors, key=lambda color: colors[color])
    assert (sum(paper) > 700) is (scheme == "light"), "the page has the scheme of the browser"
    orange = sum(count for (r, g, b), count in colors.items() if r > 180 and 60 < g < 130 and b < 60)
    blue = sum(count for (r, g, b), count in colors.items() if r < 60 and 80 < g < 150 and b > 140)
    assert orange > 200 and blue > 200, "bars and boxes are seen"


def test_a_page_of_600_epochs(chromium: Browser, large: tuple[Path, list[Any]]) -> None:
    """It opens fast, by what the browser does: an epoch costs it neither a layout nor a style, and few elements.

    What is typed is selected, its first epoch comes into sight, Enter goes on; a long table hides its other rows.
    """
    page, sections = large
    assert page.stat().st_size < 3_000_000
    chromium.call("Performance.enable")
    chromium.open(page)
    metrics = {each["name"]: each["value"] for each in chromium.call("Performance.getMetrics")["metrics"]}
    chromium.call("Performance.disable")
    assert metrics["LayoutCount"] < 200 and metrics["RecalcStyleCount"] < 500, metrics
    # Not the browser's own count, which has pages of other tests.
    assert 600 < chromium.evaluate("document.querySelectorAll('*').length") < 12_000
    check(chromium, {each.key: each.marks for part in sections for each in part.pictures})
    boxes = chromium.evaluate("Number(document.getElementById('picture-profile-0').dataset.drawn)")
    assert boxes == 600, "an epoch, a box"
    typed = """((input, text, key) => {
        input.value = text;
        const bubbles = true;
        input.dispatchEvent(key ? new KeyboardEvent("keydown", {key, bubbles}) : new Event("input", {bubbles}));
        return input.nextElementSibling.textContent;
    })"""
    picture = "document.querySelector('#network .find')"
    frame = "document.getElementById('picture-network-0')"
    assert chromium.evaluate(f"{typed}({picture}, 'SoftMax')") == "60 of 602"
    first = chromium.evaluate(f"{frame}.scrollTop")
    assert chromium.evaluate(f"{typed}({picture}, 'softmax', 'Enter')") == "60 of 602"
    assert chromium.evaluate(f"{frame}.scrollTop") > first
    assert chromium.evaluate(f"{typed}({picture}, '599')") == "2 of 602", "by its number and by its tensor"
    chromium.picture(SCREENS / "report-600.png")
    seen = f"{frame}.scrollTop + {frame}.clientHeight > 0.95 * {frame}.scrollHeight"
    assert chromium.evaluate(seen) is True
    assert chromium.evaluate(f"{typed}({picture}, '')") == ""
    table = "document.querySelector('#profile details .find')"
    assert chromium.evaluate(f"{typed}({table}, 'no such row')") == "0 of 60"
    shown = "[...document.querySelectorAll('#profile details tbody tr')].filter((row) => !row.hidden).length"
    assert chromium.evaluate(shown) == 0
    chromium.evaluate(f"{typed}({table}, '')")
    assert chromium.evaluate(shown) == 60 and chromium.problems() == []


@pytest.mark.parametrize("of", ["hostile", "large"])
def test_a_narrow_page(chromium: Browser, request: pytest.FixtureRequest, of: str) -> None:
    """Labels of axes have room beside each other, and columns of the network do not lie upon each other."""
    chromium.open(request.getfixturevalue(of)[0], "dark", 420)
    chromium.picture(SCREENS / f"report-{of}-narrow.png")
    rooms = chromium.evaluate("""Bokeh.documents.map((d) => d.roots()[0]).filter((f) => f.below.length
        && "desired_num_ticks" in f.below[0].ticker).map((f) => f.inner_width / f.below[0].ticker.desired_num_ticks)""")
    assert len(rooms) >= 5 and min(rooms) >= 80
    assert chromium.evaluate("document.querySelector('#picture-network-0 > *').offsetWidth") >= 900
    texts = chromium.evaluate("""Bokeh.documents.map((d) => d.roots()[0]).flatMap((f) => f.renderers.flatMap((r) => {
        const { text, left, right } = r.data_source.data;
        const room = (row) => ((right[row] - left[row]) * f.inner_width) / (f.x_range.end - f.x_range.start);
        return text && left ? [...text].map((each, row) => [each, 7.2 * each.length <= room(row)]) : []; }))""")
    assert len(texts) >= 8 and all(fits for _, fits in texts) and any(each.endswith("…") for each, _ in texts)
    assert chromium.evaluate("document.documentElement.scrollWidth <= innerWidth") is True


def test_nothing_of_a_name_is_executed(chromium: Browser, hostile: tuple[Path, list[Any]]) -> None:
    """Not even in what is shown under the pointer, where the library makes HTML of it."""
    chromium.open(hostile[0])
    chromium.evaluate("document.querySelector('#lifetimes figure').scrollIntoView({block: 'center'})")
    box = chromium.evaluate(
        "(({x, y, width, height}) => [x, y, width, height])"
        "(document.querySelector('#lifetimes .picture').getBoundingClientRect())"
    )
    shown = f"{EVERYWHERE}.filter((e) => e.classList.contains('bk-tooltip-content')).map((e) => e.innerText).join()"
    texts: list[str] = []
    for right in (0.75, 0.9):
        for down in (0.3, 0.5, 0.8):
            chromium.point_at(box[0] + right * box[2], box[1] + down * box[3])
            chromium.evaluate("new Promise((done) => setTimeout(done, 60))")
            texts.append(chromium.evaluate(shown))
    assert [text for text in texts if HOSTILE in text], texts
    assert chromium.evaluate(f"{EVERYWHERE}.filter((e) => e.tagName === 'IMG').length") == 0
    assert chromium.evaluate("typeof window.hacked") == "undefined"
    assert chromium.evaluate("document.scripts.length") == 3
    assert HOSTILE in chromium.evaluate("document.querySelector('header p').textContent")
    assert chromium.problems() == []


def test_a_click_on_an_owner_zooms(chromium: Browser, hostile: tuple[Path, list[Any]]) -> None:
    chromium.open(hostile[0])
    ranges = "Bokeh.documents.map((d) => d.roots()[0].x_range).map((r) => [r.start, r.end])"
    before = chromium.evaluate(ranges)
    button = "[...document.querySelectorAll('.jump')].find((b) => b.textContent === 'slot application')"
    target = chromium.evaluate(f"[Number({button}.dataset.start), Number({button}.dataset.end)]")
    chromium.evaluate(f"{button}.click()")
    after = chromium.evaluate(ranges)
    assert [now for then, now in zip(before, after, strict=True) if then != now] == [target]
    assert target[0] < page_folder.BOARD.slots["application"] < target[1]


def test_the_button_changes_the_scheme(chromium: Browser, hostile: tuple[Path, list[Any]]) -> None:
    """Texts of pictures follow; they are painted, so no style sheet can do it."""
    chromium.open(hostile[0])
    ink = "Bokeh.documents[0].roots()[0].below[0].major_label_text_color"
    colors = "[getComputedStyle(document.body).color, " + ink + "]"
    light = chromium.evaluate(colors)
    chromium.evaluate("document.getElementById('theme').click()")
    dark = chromium.evaluate(colors)
    assert light[0] == light[1] != dark[0] == dark[1]
    chromium.evaluate("document.getElementById('theme').click()")
    assert chromium.evaluate(colors) == light
