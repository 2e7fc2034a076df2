"""The page of ``neuralart report``: facts become sections, names stay texts, and equal facts give equal bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli
from neuralart.text.elf import Elf
from neuralart.vendor.c_info.types import InfoBuffer, InfoNode
from neuralart_insight.profiling import report_cli
from neuralart_insight.report.page import document, lifetimes, memory_map, network_graph, treemap
from neuralart_insight.report.page.gather import CODE, CONSTANTS, UNNAMED, ZEROED, PageFacts, gather, groups, sizes
from neuralart_insight.report.page.network_graph import edges_of, rows_of
from neuralart_insight.report.page.parts import Jump, Note, PageSection, PageTable, Picture
from support.boards import images
from support.boards.images import Sect, Symbol
from support.servers import page_folder
from support.servers.page_folder import BOARD, HOSTILE

MOST = 1000
draws = pytest.mark.needs("bokeh", "squarify")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> PageFacts:
    return gather(page_folder.write(tmp_path_factory.mktemp("page")), (), "Toy")


@pytest.fixture(scope="module")
def page(facts: PageFacts) -> str:
    return document.html(facts, report_cli._profile(facts, ""))


def pictures(section: PageSection) -> dict[str, Picture]:
    return {each.title: each for each in section.pictures}


def tables(section: PageSection) -> list[PageTable]:
    return [part for part in section.parts if isinstance(part, PageTable)]


def notes(section: PageSection, kind: str = "plain") -> str:
    return "\n".join(part.text for part in section.parts if isinstance(part, Note) and part.kind == kind)


def counted(picture: Picture) -> dict[str, list[Any]]:
    """Columns of what the picture must show."""
    (renderer,) = (each for each in picture.figure.renderers if each.name == "counted")
    assert isinstance(renderer.data_source.data, dict)
    columns = dict(renderer.data_source.data)
    assert {len(column) for column in columns.values()} == {picture.marks}
    return columns


# ---- sections


@draws
def test_memory_map(facts: PageFacts) -> None:
    section = memory_map.section(facts)
    overview = tables(section)[0]
    assert [row[0] for row in overview.rows] == [region.name for region in BOARD.memory]
    (title,) = (each for each in pictures(section) if each.startswith("xSPI2: 128M flash, "))
    picture = pictures(section)[title]
    start, end = picture.figure.x_range.start, picture.figure.x_range.end
    assert (start, end) == (0x70000000, 0x78000000), "the whole memory, to scale"
    used = {row: columns for row, columns in enumerate(counted(picture)["opacity"]) if columns == 1.0}
    columns = counted(picture)
    (bar,) = (n for n in used if columns["owner"][n] == "slot application")
    assert columns["right"][bar] - columns["left"][bar] == 88 << 10, "nothing is wider than it is"
    rows = {row[0].text: row for table in tables(section) for row in table.rows if isinstance(row[0], Jump)}
    jump = rows["slot application"][0]
    assert isinstance(jump, Jump) and jump.picture == picture.key
    assert jump.start < BOARD.slots["application"] < BOARD.slots["application"] + (88 << 10) < jump.end
    assert rows["slot tensor"][3] == "unknown"


@draws
def test_without_a_plan_the_sections_of_the_image_are_shown(facts: PageFacts) -> None:
    section = memory_map.section(replace(facts, plan=None))
    assert notes(section).startswith("This variant has no address plan")
    shown = {owner for picture in section.pictures for owner in counted(picture)["owner"]}
    assert shown == {"section .vectors", "section .text"}
    section = memory_map.section(replace(facts, plan=None, parts=None))
    assert notes(section, "unknown").startswith("Unknown: the firmware is built elsewhere") and not section.pictures


@draws
def test_lifetimes(facts: PageFacts) -> None:
    section = lifetimes.section(facts, MOST)
    found = {title: counted(picture) for title, picture in pictures(section).items()}
    assert list(found) == ["Network net, pool npuRAM4", "Network net, pool npuRAM5"]
    boxes = found["Network net, pool npuRAM5"]
    assert dict(zip(boxes["name"], zip(boxes["left"], boxes["right"], strict=True), strict=True)) == {
        "tensor_1": (0, 2),
        "tensor_2": (1, 5),
        "tensor_6": (2, 5),
    }
    assert "3 tensors in 9,072 bytes. Most bytes are needed in epoch 2: " in notes(section)


def test_peak_counts_what_lies_in_something_else_once() -> None:
    def buffer(number: int, offset: int, size: int, first: int, last: int) -> InfoBuffer:
        return InfoBuffer(number, str(number), 0, offset, size, first=first, last=last)

    whole, part, other = buffer(0, 0, 100, 0, 2), buffer(1, 20, 50, 1, 1), buffer(2, 150, 10, 2, 3)
    assert lifetimes.peak([whole, part, other]) == (110, 2)
    assert lifetimes.peak([]) == (0, 0)


def test_lifetimes_that_are_not_told(facts: PageFacts) -> None:
    (network,) = facts.networks
    assert network.info is not None
    flat = [replace(each, first=0, last=0) for each in network.info.buffers]
    silent = replace(network, info=replace(network.info, buffers=tuple(flat)))
    section = lifetimes.section(replace(facts, networks=(silent,)), MOST)
    assert not section.pictures and "does not tell when" in notes(section, "unknown")
    nothing = replace(network, info=replace(network.info, buffers=()))
    assert "--all-buffers-info" in notes(lifetimes.section(replace(facts, networks=(nothing,)), MOST), "unknown")
    missing = replace(network, info=None, missing="There is none.")
    for make in (lifetimes.section, network_graph.section):
        section = make(replace(facts, networks=(missing,)), MOST)
        assert notes(section, "unknown") == "Network net: unknown. There is none." and not section.pictures


@draws
def test_network(facts: PageFacts) -> None:
    section = network_graph.section(facts, MOST)
    columns = counted(pictures(section)["Network net"])
    rows = list(zip(columns["label"], columns["what"], columns["mark"], columns["color"], strict=True))
    colors = network_graph.COLORS
    assert rows == [
        ("", "input", "", colors["INPUT"]),
        ("1", "Conv", "on the NPU", colors["HW"]),
        ("2", "Conv", "NPU and CPU: type", colors["HYBRID"]),
        ("3", "Conv", "on the NPU", colors["HW"]),
        ("4", "Softmax", "CPU (software): type", colors["SW"]),
        ("", "output", "", colors["OUTPUT"]),
    ]
    assert (columns["shape"][1], columns["dtype"][1]) == ("1×8×8×3", "int8")
    assert columns["quantization"][1] == "scale 0.0039, zero point -128"
    assert notes(section, "warning").startswith("Network net: 2 epochs of 4 need the CPU. 50.0 % of the epochs")


@draws
def test_network_of_the_reference_compiler(facts: PageFacts) -> None:
    """Its operators are not unsupported: it computes all of them on the CPU."""
    (network,) = facts.networks
    own = replace(network, facts=replace(network.facts, runtime="neuralart"))
    section = network_graph.section(replace(facts, networks=(own,)), MOST)
    assert "the reference compiler computes all on the CPU" in notes(section) and not notes(section, "warning")
    assert "unsupported" not in " ".join(counted(section.pictures[0])["mark"])


def test_lines_of_the_graph(facts: PageFacts) -> None:
    """A tensor that skips a row has a lane; what is computed in place comes from the last that wrote it."""
    info = facts.networks[0].info
    assert info is not None
    rows = rows_of(info)
    assert [(edge.start, edge.end, edge.lane) for edge in edges_of(rows)] == [
        (0, 1, 0),
        (1, 2, 0),
        (2, 3, 0),
        (1, 4, 1),
        (3, 4, 0),
        (4, 5, 0),
    ]


def test_lanes_do_not_cross() -> None:
    """At each row a lane has one tensor."""
    nodes = [InfoNode(n, f"n{n}", inputs=tuple(range(max(0, n - 3), n)), outputs=(n,)) for n in range(1, 12)]
    from neuralart_insight.report.page.network_graph import GraphRow

    edges = edges_of([GraphRow("HW", "", node, node.inputs, node.outputs) for node in nodes])
    taken: dict[tuple[int, int], set[int]] = {}
    for edge in edges:
        assert edge.start < edge.end and (edge.lane == 0) <= (edge.end - edge.start == 1 or edge.lane > 0)
        if edge.lane:
            for row in range(edge.start, edge.end):
                taken.setdefault((edge.lane, row), set()).add(edge.buffer)
    assert taken and all(len(buffers) == 1 for buffers in taken.values())


def test_sizes_of_the_firmware() -> None:
    """Every byte once, also where names share a place or overlap."""
    sections = (
        Sect(".text", 0x34000400, bytes(100), 6),
        Sect(".rodata", 0x34001000, bytes(40), 2),
        Sect(".bss", 0x30000000, flags=3, kind=8, size=1000),
        Sect(".comment", 0, bytes(50), 0),
    )
    symbols = (
        *(Symbol("f", 0x34000401, 1, 60, 2), Symbol("alias", 0x34000401, 1, 60, 2), Symbol("g", 0x34000431, 1, 40, 2)),
        *(Symbol("table", 0x34001008, 2, 32, 1), Symbol("heap", 0x30000000, 3, 999, 1)),
        Symbol("$t", 0x34000400, 1, 0, 0),
    )
    found = sizes(Elf(images.elf(sections, symbols), "a.elf"), BOARD)
    assert [(part.name, part.kind, part.memory, part.bytes) for part in found] == [
        ("heap", ZEROED, "DTCM", 999),
        ("alias", CODE, "FLEXRAM", 60),
        ("table", CONSTANTS, "FLEXRAM", 32),
        ("g", CODE, "FLEXRAM", 28),
        (UNNAMED, CODE, "FLEXRAM", 12),
        (UNNAMED, CONSTANTS, "FLEXRAM", 8),
        (UNNAMED, ZEROED, "DTCM", 1),
    ]
    assert groups(found) == {("DTCM", ZEROED): 1000, ("FLEXRAM", CODE): 100, ("FLEXRAM", CONSTANTS): 40}


@draws
def test_treemap_is_to_scale(facts: PageFacts) -> None:
    assert facts.parts is not None
    many = tuple(replace(facts.parts[0], name=f"f{n}", bytes=1000 // (n + 1) + 1) for n in range(400))
    _, boxes = treemap.layout(many)
    total, area = sum(part.bytes for part in many), 1000.0 * 540.0
    size = {part.name: part.bytes for part in many} | {"100 smaller ones": sum(part.bytes for part in many[300:])}
    assert len(boxes) == 301
    for box in boxes:
        covered = (box["right"] - box["left"]) * (box["top"] - box["bottom"])
        assert covered == pytest.approx(area * size[box["name"]] / total, rel=1e-6), box["name"]
    section = treemap.section(replace(facts, parts=many))
    assert section.pictures[0].marks == 301 and len(tables(section)[0].rows) == 200
    assert tables(section)[0].heads == ("Name", "Kind", "Memory", "Section", "Bytes", "")
    assert notes(treemap.section(replace(facts, parts=None)), "unknown") == "Unknown: the firmware is built elsewhere."


@draws
def test_flash_plan_and_provenance(facts: PageFacts) -> None:
    section = memory_map.flash_section(facts)
    columns = counted(section.pictures[0])
    assert {*columns["owner"]} == {"tensor", "weights"}
    order = [row[:3] for row in tables(section)[-1].rows]
    assert order == [("1", "tensor", "application"), ("2", "weights", "model")]
    assert notes(memory_map.flash_section(replace(facts, flash={})), "unknown")
    section = document.provenance_section(facts)
    assert notes(section, "text") == "tool: tensor\nmodel: net.tflite\n"
    assert ("net.c", "1", hashlib.sha256(b"c").hexdigest()) in tables(section)[0].rows
    (network,) = facts.networks
    bare = replace(network, facts=replace(network.facts, epochs=(), macc=None))
    said = tables(document.build_section(replace(facts, networks=(bare,))))[0].rows[-1][1]
    assert str(said).startswith("unknown epochs, unknown multiply-accumulate operations, ")


# ---- the page


class _Elements(HTMLParser):
    """Elements with their attributes, and the texts of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.found and self.found[-1][0] == "script" and self.cdata_elem:
            self.scripts.append(data)


@draws
def test_the_same_facts_give_the_same_bytes(facts: PageFacts, page: str, tmp_path: Path) -> None:
    """In one process, where the library has counted on, and from another folder."""
    other = gather(page_folder.write(tmp_path / "elsewhere"), (), "Toy")
    assert document.html(other, report_cli._profile(other, "")) == page
    assert str(tmp_path) not in page and len(page.encode()) < document.LARGEST


@draws
def test_nothing_is_loaded(page: str) -> None:
    """No element names a place outside, and the policy allows the two scripts that are there and nothing else."""
    elements = _Elements(page)
    for tag, attributes in elements.found:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), tag
        assert not [name for name in attributes if name.startswith("on")]
    (policy,) = (each["content"] for tag, each in elements.found if tag == "meta" and each.get("http-equiv"))
    assert policy is not None
    digests = (hashlib.sha256(text.encode()).digest() for text in elements.scripts[1:])
    hashes = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in digests)
    assert policy == f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:"
    assert not re.search(r"url\(|@import", page[page.index("<style>") : page.index("</style>")])


@draws
def test_a_name_is_a_text(page: str, tmp_path: Path) -> None:
    """The same elements as with plain names, whatever they are called."""
    named = gather(page_folder.write(tmp_path, HOSTILE), (), HOSTILE)
    text = document.html(named, report_cli._profile(named, ""))
    plain, hostile = _Elements(page), _Elements(text)
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]
    assert "<img" not in text and text.count("</script>") == page.count("</script>") == 3
    names = json.dumps(json.loads(hostile.scripts[0]))
    assert json.dumps(HOSTILE)[1:-1] in names, "it is there, as data"


@draws
def test_a_large_network_is_cut(facts: PageFacts) -> None:
    """The page stays below its limit, and says what it leaves out."""
    (network,) = facts.networks
    info = network.info
    assert info is not None and info.graph is not None
    (conv,) = (node for node in info.graph.nodes if node.number == 1)
    count = 900
    buffers = tuple(
        replace(info.buffers[1], id=n, name=f"a name of a tensor that is long {n}" * 12, first=n, last=n + 1, offset=n)
        for n in range(count)
    )
    nodes = tuple(
        replace(conv, id=n, number=n, name=f"epoch_{n}", inputs=(n,), outputs=(n + 1,)) for n in range(count - 1)
    )
    graph = replace(info.graph, nodes=nodes, inputs=(0,), outputs=(count - 1,))
    large = replace(facts, networks=(replace(network, info=replace(info, buffers=buffers, graph=graph)),))
    text = document.html(large)
    assert document.LARGEST / 2 < len(text.encode()) <= document.LARGEST
    left = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) more are left out\.", text)]
    assert len(left) == 2 and min(left) >= 500


# ---- the command


@draws
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], page: str, monkeypatch: Any) -> None:
    folder = page_folder.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert cli.main(["report", "build/toy-n6", "-o", "sub/toy.html", "--title", "Toy"]) == 0
    assert (tmp_path / "sub/toy.html").read_text("utf-8") == page
    assert capsys.readouterr().out == f"sub/toy.html: {len(page.encode()):,} bytes\n"
    (tmp_path / "variants.yaml").write_text(
        "schema: 1\ndefault: [toy-n6]\nnetworks: {net: {model: net.tflite}}\n"
        "variants: {toy-n6: {board: stm32n6570-dk, title: Toy, network: net}}\n",
        "utf-8",
    )
    with monkeypatch.context() as patch:
        patch.setattr(document, "html", lambda facts, more: f"{facts.index['variant']}: {facts.title}")
        assert cli.main(["report", "toy-n6", "-o", "toy.html"]) == 0
    assert (tmp_path / "toy.html").read_text("utf-8") == "toy-n6: Toy"
    capsys.readouterr()
    shutil.rmtree(folder)
    assert cli.main(["report", "toy-n6", "-o", "toy.html", "--force"]) == 1
    said = "build/toy-n6: nothing is built here: no index.json (build the variant first)"
    assert capsys.readouterr().err == f"neuralart report: error: {said}\n"
    assert cli.main(["report", "toyn6", "-o", "toy.html", "--force"]) == 1
    assert "did you mean 'toy-n6'?" in capsys.readouterr().err


@draws
@pytest.mark.parametrize("missing", ["bokeh", "squarify"])
def test_without_its_library(missing: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    folder = page_folder.write(tmp_path)
    monkeypatch.setitem(sys.modules, missing, None)
    assert cli.main(["report", str(folder), "-o", str(tmp_path / "toy.html")]) == 1
    said = f"report needs the package {missing} (pip install 'scons-neuralart[report]')"
    assert capsys.readouterr() == ("", f"neuralart report: error: {said}\n")
    assert not (tmp_path / "toy.html").exists()


def test_a_file_that_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = page_folder.write(tmp_path)
    (folder / "plan.json").unlink()
    assert cli.main(["report", str(folder), "-o", str(tmp_path / "toy.html")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "1 of 6 files of the last build are gone" in line
