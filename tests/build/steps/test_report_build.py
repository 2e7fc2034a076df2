"""``report-<variant>``: a file like others, made again when what it shows has changed, and drawn by a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart_insight.report.page import document
from neuralart_insight.report.page.gather import gather
from support.models import tflite_edit
from support.projects.sconsproject import REPO, Project
from support.servers.browser import browser

pytestmark = [pytest.mark.arm, pytest.mark.long]
PAGE = "build/digits-n6/report.html"


def test_a_variant(built: Project) -> None:
    first = built.run("report-digits-n6")
    assert first.commands == {("REPORT", PAGE)}, "all else was there"
    before = built.path(PAGE).read_bytes()
    assert len(before) < document.LARGEST and str(built.root).encode() not in before
    assert b"Digits on the STM32N6570-DK" in before
    # What the page does not show.
    (built.path("models/digits/vectors") / "more.txt").write_text("vectors are not shown", "utf-8")
    built.up_to_date("report-digits-n6")
    # Hashes of the weights are shown, and nothing else of them.
    tflite_edit.reverse_weights(built.path("models/digits/digits.tflite"))
    again = built.run("report-digits-n6")
    assert ("REPORT", PAGE) in again.commands
    after = built.path(PAGE).read_bytes()
    assert after != before and len(after) == len(before)
    assert "REPORT" not in built.run("digits-n6").tags, "it is no part of a build"
    built.run("-c", "digits-n6")
    assert not built.path(PAGE).exists()


@pytest.mark.browser
def test_a_browser_draws_all_that_was_built(built: Project, tmp_path: Path) -> None:
    """The counts are those of the build's own files."""
    built.run("report-digits-n6-rel")
    folder = built.path("build/digits-n6-rel")
    facts = gather(folder)
    (network,) = facts.networks
    with browser(tmp_path) as chromium:
        chromium.open(folder / "report.html")
        drawn = chromium.evaluate(
            "Object.fromEntries([...document.querySelectorAll('.picture')].map((p) => [p.id, Number(p.dataset.drawn)]))"
        )
        pictures = [each for section in document.sections(facts) for each in section.pictures]
        assert drawn == {f"picture-{each.key}": each.marks for each in pictures}
        ports = len(network.facts.inputs) + len(network.facts.outputs)
        assert drawn["picture-network-0"] == len(network.facts.epochs) + ports
        assert drawn["picture-firmware-sizes"] == len(facts.parts or ()) > 50
        assert len([key for key in drawn if key.startswith("picture-flash-")]) == len(facts.flash) == 2
        assert chromium.problems() == []
        assert [url for url in chromium.requests() if not url.startswith(("file:", "data:"))] == []
        chromium.picture(REPO / "build/screenshots/report-digits-n6-rel.png")
