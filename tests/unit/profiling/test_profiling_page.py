"""The profile in the page of ``neuralart report``: time line, roofline, pools, and what the CPU computes and why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bokeh", reason="Bokeh is not installed: pip install scons-neuralart[report]")
from neuralart.cli import main
from neuralart.errors import NeuralArtError
from neuralart.vendor.c_info.types import Execution
from neuralart_insight.profiling import report_cli
from neuralart_insight.report.page.gather import PageFacts, gather
from neuralart_insight.report.page.parts import Jump, Note, PageTable, Picture
from support.boards.counter_logs import LoggedEpoch, log
from support.models import vendor_reports as vendor
from support.servers import page_folder

LOGGED = [LoggedEpoch(1), LoggedEpoch(2, "HYBRID"), LoggedEpoch(3), LoggedEpoch(4, "SW", None, (5, 6, 400), (1, 2, 3))]


def said_of(epochs: list[LoggedEpoch]) -> str:
    return log(epochs, samples=1).replace("Input_0_out_0", "tensor_1")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> PageFacts:
    return gather(page_folder.write(tmp_path_factory.mktemp("page")), (), "Toy")


def parts(facts: PageFacts, desc: str = "") -> tuple[Any, ...]:
    (section,) = report_cli._profile(facts, desc)(1000)
    assert section.key == "profile"
    return section.parts


def drawn(part: Any) -> dict[str, list[Any]]:
    assert isinstance(part, Picture)
    (renderer,) = (each for each in part.figure.renderers if each.name == "counted")
    assert {len(column) for column in renderer.data_source.data.values()} == {part.marks}
    return dict(renderer.data_source.data)


def test_an_estimate(facts: PageFacts) -> None:
    """Of 600 epochs: each has its time and what bounds it; sums are those of all."""
    found = parts(page_folder.large(facts, 600))
    _, said, line, bounds, pools, roofline, cpu = found
    assert isinstance(said, Note) and "Network net (times: estimate)\n" in said.text
    boxes = drawn(line)
    assert boxes["left"][:3] == pytest.approx([0, 1000e-6, 2007e-6]) and boxes["right"][0] == pytest.approx(1000e-6)
    assert [boxes["bound"][n] for n in (0, 9, 10, 40)] == ["compute", "CPU", "compute", "npuRAM5 read"]
    assert boxes["name"][0] == "epoch 0 Conv" and len(set(boxes["color"])) == 3
    assert [row[0].text for row in bounds.rows] == ["npuRAM5 read", "compute", "CPU"]
    assert sum(int(row[1]) for row in bounds.rows) == 600
    first = bounds.rows[0][0]
    assert isinstance(first, Jump) and (first.picture, first.start) == (line.key, boxes["left"][598])
    total = float(bounds.rows[0][2]) + float(bounds.rows[1][2])
    assert total == pytest.approx(boxes["right"][-1], abs=2e-3)
    dots = drawn(roofline)
    assert roofline.marks == 540, "what computes nothing is nowhere"
    assert dots["x"][0] == pytest.approx(50000 / (8 * 900 + 800 + 100)) and dots["y"][0] == 50.0
    (roofs,) = (each for each in roofline.figure.renderers if each.name != "counted")
    assert roofs.data_source.data["ys"][0] == (50.0, 50.0), "no epoch is faster than it computes"
    rows = {row[0]: row[1:] for row in pools.rows}
    assert rows["octoFlash"][0] == f"{sum(100 + n for n in range(600) if n % 10 != 9):,}"
    assert rows["npuRAM5"][2] == f"{(8 * 1175 + 800) / 1175:.2f} GB/s", "of epoch 25"
    assert len(cpu.rows) == 60 and cpu.rows[0] == ("9", "SW", "Softmax", cpu.rows[0][3]) and cpu.rows[0][3]


def test_a_measurement_beside_it(facts: PageFacts, tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text(said_of(LOGGED))
    _, said, line, bounds, *_ = parts(facts, str(path))
    boxes = drawn(line)
    names = ["EpochBlock_1 Conv", "EpochBlock_2 Conv", "EpochBlock_3 Conv", "EpochBlock_4 Softmax"]
    assert line.marks == 8 and boxes["name"][:4] == names
    assert boxes["right"][:4] == pytest.approx([100 / 800e3, 200 / 800e3, 300 / 800e3, 711 / 800e3])
    assert boxes["bottom"] == [0] * 4 + [1] * 4 and boxes["bound"][3] == "CPU"
    assert bounds.heads[0] == "Bound (measured)" and bounds.rows[0][0].text == "CPU"
    assert "inf/s                : 1125175.8 (0.001ms)" in said.text
    path.write_text(said_of(LOGGED[:2]))
    with pytest.raises(NeuralArtError, match=r"the measurement is of another build than .*c_info\.json"):
        parts(facts, str(path))


def test_nothing_is_told(facts: PageFacts) -> None:
    (network,) = facts.networks
    assert network.info is not None
    info = replace(network.info, estimates=(), accesses=())
    _, note, cpu = parts(replace(facts, networks=(replace(network, info=info),)))
    assert note == Note("Network net: unknown. Nothing tells how long an epoch takes.", "unknown")
    assert isinstance(cpu, PageTable) and [row[:2] for row in cpu.rows] == [("2", "HYBRID"), ("4", "SW")]
    gone = replace(facts, networks=(replace(network, info=None),))
    assert report_cli._profile(gone, "")(10) == []


def test_times_of_the_compile_itself_are_shown_if_they_are_asked_for(facts: PageFacts, tmp_path: Path) -> None:
    """A build writes its page whatever they are."""
    (network,) = facts.networks
    assert network.info is not None
    wrong = replace(network.info, executions=(Execution((1, 2, 3), 6, 0.1, 100.0),))
    assert parts(replace(facts, networks=(replace(network, info=wrong),)))[2].marks == 4
    data = page_folder.c_info()
    data["aton_execution_time"] = [{"counters": [100, 600, 100], "cycles": 800, "duration_ms": 0.001}] * 4
    (tmp_path / "c_info.json").write_bytes(vendor.dump(data))
    _, said, line, *_ = parts(facts, str(tmp_path / "c_info.json"))
    assert "Network net (times: measured)\n" in said.text and line.marks == 8


def test_many_epochs_are_cut(facts: PageFacts) -> None:
    (section,) = report_cli._profile(page_folder.large(facts, 600), "")(50)
    line, _ = section.pictures
    assert line.marks == 50 and line.title == "Network net: time line. 550 more are left out"


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = page_folder.write(tmp_path), tmp_path / "toy.html"
    path = tmp_path / "x.log"
    path.write_text(said_of(LOGGED))
    assert main(["report", str(folder), "-o", str(page), "--measured", str(path)]) == 0
    assert "Bound (measured)" in page.read_text("utf-8")
    assert main(["report", str(folder), "-o", str(tmp_path / "no.html"), "--measured", "gone.log"]) == 1
    assert "gone.log: cannot read" in capsys.readouterr().err and not (tmp_path / "no.html").exists()
