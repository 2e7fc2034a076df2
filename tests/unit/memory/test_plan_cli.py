"""``neuralart plan``: a table, JSON and a picture, before a build and after it, and one line for whatever is wrong."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from neuralart import boards, cli
from neuralart.memory.layout import identity
from neuralart.network.facts import Network, PoolUse, to_json
from neuralart.network.pools import PoolFile
from neuralart.vendor import mpool
from support.projects import smallboard

DK = boards.load("stm32n6570-dk")
KB, MB = 1 << 10, 1 << 20
FLASH = 0x70380000

VARIANTS = """\
schema: 1
default: [v]
networks:
  one: {{model: one.tflite, mpool: one.mpool{one}}}
  two: {{model: two.tflite, mpool: two.mpool{two}}}
variants:
  v:
    board: stm32n6570-dk
    networks: [{names}]
{more}"""


def pool_text(*listed: tuple[str, int, int, str]) -> str:
    """A pool file with one pool per line, from line 4 on."""
    rows = [
        f'{{"fname": "{fname}", "name": "{fname}_", "fformat": "FORMAT_RAW", "prop": {{"rights": "{rights}", '
        '"throughput": "MID", "latency": "MID", "byteWidth": 8, "freqRatio": 1.0, "read_power": 1, "write_power": 1}, '
        f'"offset": {{"value": "{address:#x}", "magnitude": "BYTES"}}, '
        f'"size": {{"value": "{size}", "magnitude": "BYTES"}}}}'
        for fname, address, size, rights in listed
    ]
    return '{"memory": {\n"mem_file_prefix": "atonbuf",\n"mempools": [\n' + ",\n".join(rows) + "\n]}}\n"


RAM5 = ("AXISRAM5", 0x342E0000, 448 * KB, "ACC_WRITE")
RAM6 = ("AXISRAM6", 0x34350000, 448 * KB, "ACC_WRITE")
NOR = ("xSPI2", FLASH, 61 * MB, "ACC_READ")
LATER = ("xSPI2", 0x71000000, MB, "ACC_READ")

Used = Mapping[str, tuple[int, int]]


class Project:
    """A folder with variants.yaml, pool files, and what a build might have left."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        self.pools("one", RAM5, NOR)
        self.pools("two", RAM6, LATER)
        self.configure("one")

    def pools(self, name: str, *listed: tuple[str, int, int, str]) -> None:
        (self.folder / f"{name}.mpool").write_text(pool_text(*listed), encoding="utf-8")

    def configure(self, *names: str, one: str = "", two: str = "", more: str = "") -> None:
        text = VARIANTS.format(names=", ".join(names), one=one, two=two, more=more)
        (self.folder / "variants.yaml").write_text(text, encoding="utf-8")

    def facts(self, name: str, used: Used, **changes: Any) -> Network:
        file: PoolFile = mpool.read(self.folder / f"{name}.mpool")
        uses = [
            PoolUse(
                p.name, p.fname, p.address, p.size, sum(used.get(p.fname, ())), *used.get(p.fname, (0, 0)), p.rights
            )
            for p in file.enabled
        ]
        return replace(smallboard.network(*uses, name=name), **changes)

    def build(
        self,
        *networks: Network,
        application: int = 20000,
        index: Mapping[str, Any] | None = None,
        folder: str = "build",
    ) -> Path:
        """Leave an index, the facts that it lists and the application's image."""
        artefacts = {f"{folder}/v/application.bin": bytes(application)}
        artefacts |= {f"{folder}/networks/{n.name}/network.json": to_json(n).encode() for n in networks}
        for name, data in artefacts.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        content = {
            "schema": 1,
            "variant": "v",
            "board": "stm32n6570-dk",
            "firmware": {"FLEXRAM": {"used": 18000, "capacity": 0}, "DTCM": {"used": 9000, "capacity": 131072}},
            "artefacts": list(artefacts),
            **(index or {}),
        }
        file = self.folder / folder / "v" / "index.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        return file

    def plan(self, *words: str, variant: str = "v") -> tuple[int, str, str]:
        """Exit code, output and error output."""
        code = cli.main(["plan", variant, "--file", "variants.yaml", *words])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def said(self) -> str:
        """All that was printed last."""
        return "".join(self._capsys.readouterr())

    def data(self, *words: str) -> dict[str, Any]:
        code, out, err = self.plan("--json", *words)
        assert (code, [line for line in err.splitlines() if ": note: " not in line]) == (0, [])
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path, capsys)


def tables(text: str) -> list[list[list[str]]]:
    """Rows of each table, cells cut where the heading says."""
    found = []
    for block in text.split("\n\n"):
        lines = block.splitlines()
        if not lines or not re.match(r"  (MEMORY|START|NETWORK) ", lines[0]):
            continue
        starts = [match.start() for match in re.finditer(r"\S+( \S+)*", lines[0])]
        ends = [*starts[1:], None]
        found.append([[line[a:b].strip() for a, b in zip(starts, ends, strict=True)] for line in lines])
    return found


def rows(table: list[list[str]], column: str) -> dict[str, dict[str, str]]:
    return {row[table[0].index(column)]: dict(zip(table[0], row, strict=True)) for row in table[1:]}


# ---- before a build


def test_table_before_a_build(project: Project) -> None:
    code, out, err = project.plan()
    assert (code, err) == (0, "")
    assert out.startswith(
        "v on stm32n6570-dk, as declared: sizes are the most that fits, ? is known after a build\n\n  MEMORY "
    )
    assert out.endswith(
        "\nThere is no build/v/index.json: this is what is declared. Build the variant to see what is used.\n"
    )
    memories, placements, initializers = tables(out)
    assert [row[0] for row in memories[1:]] == [region.name for region in DK.memory]
    by_name = rows(memories, "MEMORY")
    assert by_name["AXISRAM4"]["BY"] == "unused, stays off"
    assert by_name["AHBSRAM1"] == {
        "MEMORY": "AHBSRAM1",
        "ADDRESS": "0x38000000",
        "SIZE": "16K",
        "KIND": "ram",
        "USED": "0",
        "BY": "unused",
    }
    assert by_name["AXISRAM5"]["USED"] == str(448 * KB)
    assert by_name["xSPI2"]["BY"] == ("slot fsbl, slot application, identity descriptor, pool xSPI2 of network one")
    assert [row[:5] for row in placements[1:]] == [
        ["0x30000000", "0x30020000", "128K", "?", "firmware"],
        ["0x34000400", "0x34100000", "1023K", "?", "firmware"],
        ["0x342e0000", "0x34350000", "448K", "?", "pool"],
        ["0x70000000", "0x70100000", "1M", "?", "slot"],
        ["0x70100000", "0x70200000", "1M", "?", "slot"],
        ["0x70200000", "0x70210000", "64K", "?", "descriptor"],
        ["0x70380000", "0x74080000", "61M", "?", "pool"],
    ]
    by_owner = rows(placements, "OWNER")
    assert by_owner["pool xSPI2 of network one"]["CHOSEN BY"] == "one.mpool:5:1"
    assert by_owner["slot application"]["CHOSEN BY"] == DK.place("slots.application")
    assert initializers[1:] == [["one", "xSPI2", "flash", "0x70380000", "0x70380000", "?", str(61 * MB)]]


def test_no_line_ends_with_blanks(project: Project) -> None:
    _, out, _ = project.plan()
    assert [line for line in out.splitlines() if line != line.rstrip()] == []


def test_json_before_a_build(project: Project) -> None:
    data = project.data()
    assert sorted(data) == [
        "application",
        "board",
        "descriptor",
        "initializers",
        "memories",
        "placements",
        "schema",
        "variant",
        "view",
    ]
    assert (data["schema"], data["variant"], data["board"], data["view"]) == (1, "v", "stm32n6570-dk", "declared")
    assert (data["application"], data["descriptor"]) == (0x70100000, 0x70200000)
    assert data["initializers"] == [
        {
            "network": "one",
            "pool": "xSPI2",
            "strategy": "flash",
            "run_address": FLASH,
            "load_address": FLASH,
            "capacity": 61 * MB,
            "cacheable": False,
            "bytes": None,
        }
    ]
    assert {use["used"] for use in data["placements"]} == {None}
    assert [each["name"] for each in data["memories"]] == [region.name for region in DK.memory]


# ---- after a build


def test_table_after_a_build(project: Project) -> None:
    project.configure("one", one=", initializers: [AXISRAM5, xSPI2]")
    project.build(project.facts("one", {"AXISRAM5": (0, 5000), "xSPI2": (4136, 0)}))
    code, out, err = project.plan()
    assert (code, err) == (0, "")
    assert out.startswith("v on stm32n6570-dk, as built\n")
    memories, placements, initializers = tables(out)
    by_owner = {row["OWNER"]: row["USED"] for row in rows(placements, "OWNER").values()}
    assert by_owner == {
        "firmware data": "9000",
        "firmware code": "18000",
        "pool AXISRAM5 of network one": "5000",
        "slot fsbl": "?",
        "slot application": "20000",
        "identity descriptor": str(identity.size_of(1)),
        "staging of pool AXISRAM5 of network one": "0",
        "pool xSPI2 of network one": "4136",
    }
    assert rows(memories, "MEMORY")["AXISRAM5"]["USED"] == "5000"
    assert [row[:2] + row[5:] for row in initializers[1:]] == [
        ["one", "AXISRAM5", "0, skipped", str(448 * KB)],
        ["one", "xSPI2", "4136", str(61 * MB)],
    ]


def test_json_after_a_build(project: Project) -> None:
    project.build(project.facts("one", {"AXISRAM5": (0, 5000), "xSPI2": (4136, 0)}))
    data = project.data()
    assert data["view"] == "actual"
    used = {use["owner"]: use["used"] for use in data["placements"]}
    assert used["slot application"] == 20000
    assert used["pool xSPI2 of network one"] == 4136
    assert data["initializers"][0]["bytes"] == 4136
    by_name = {each["name"]: each for each in data["memories"]}
    assert by_name["AXISRAM5"] == {
        "name": "AXISRAM5",
        "start": 0x342E0000,
        "size": 448 * KB,
        "kind": "ram",
        "used": 5000,
        "owners": ["pool AXISRAM5 of network one"],
    }
    assert by_name["AXISRAM6"]["owners"] == []


def test_build_folder_elsewhere(project: Project) -> None:
    project.build(project.facts("one", {"xSPI2": (4136, 0)}), folder="out")
    assert project.data()["view"] == "declared"
    assert project.data("--build", "out")["view"] == "actual"


def test_two_networks_in_the_order_of_the_configuration(project: Project) -> None:
    project.configure("two", "one")
    project.build(project.facts("one", {"xSPI2": (1, 0)}), project.facts("two", {"xSPI2": (2, 0)}))
    data = project.data()
    assert data["view"] == "actual"
    assert [(each["network"], each["bytes"]) for each in data["initializers"]] == [("two", 2), ("one", 1)]


# ---- a picture


def picture(project: Project, *words: str) -> ET.Element:
    code, _, _ = project.plan("--svg", "plan.svg", *words)
    assert code == 0
    return ET.fromstring((project.folder / "plan.svg").read_text("utf-8"))


@pytest.mark.parametrize("built", [False, True])
def test_picture(project: Project, built: bool) -> None:
    if built:
        project.build(project.facts("one", {"AXISRAM5": (0, 5000), "xSPI2": (4136, 0)}))
    root = picture(project)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    data = project.data()
    for use in data["placements"]:
        line = f"0x{use['start']:08x}-0x{use['start'] + use['size']:08x}  {use['owner']} ("
        assert [text for text in texts if text.startswith(line)], use["owner"]
    for each in data["memories"]:
        (label,) = [text for text in texts if text.startswith(f"{each['name']}  0x{each['start']:08x}")]
        touched = [u for u in data["placements"] if u["start"] < each["start"] + each["size"]]
        touched = [u for u in touched if u["start"] + u["size"] > each["start"]]
        used = f"  {each['used']} of {each['size']} bytes used ("
        assert used in label if touched else label.endswith("unused")
    width = float(root.attrib["width"])
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert 0 <= float(bar.attrib.get("x", 0)) <= float(bar.attrib.get("x", 0)) + float(bar.attrib["width"]) <= width
        assert float(bar.attrib["width"]) > 0
        assert float(bar.attrib.get("y", 0)) < float(root.attrib["height"])


def test_picture_shows_no_use_where_there_is_none(project: Project) -> None:
    """The firmware's code may run from FLEXRAM into AXISRAM1; 18000 bytes do not."""
    project.build(project.facts("one", {"xSPI2": (4136, 0)}))
    root = picture(project)
    top = {}
    for bar in root.iter("{http://www.w3.org/2000/svg}rect"):
        title = bar.find("{http://www.w3.org/2000/svg}title")
        if title is not None and "firmware code" in (title.text or ""):
            top.setdefault(bar.attrib["y"], []).append(bar.attrib["fill-opacity"])
    # In FLEXRAM, there again magnified, and declared in AXISRAM1.
    assert list(top.values()) == [["0.15", "1.00"], ["0.15", "1.00"], ["0.15"]]


@pytest.mark.parametrize(("used", "share"), [(88 * KB, 0.0014), (30 * MB, 0.49), (1, 0.0)])
def test_picture_is_to_scale(project: Project, used: int, share: float) -> None:
    """What is used is as wide as it is, or has the factor beside it and more than itself around it."""
    project.build(project.facts("one", {"xSPI2": (used, 0)}))
    root = picture(project)
    svg = "{http://www.w3.org/2000/svg}"
    bars = [
        float(bar.attrib["width"])
        for bar in root.iter(f"{svg}rect")
        if "pool xSPI2" in bar.findtext(f"{svg}title", "") and bar.attrib["fill-opacity"] == "1.00"
    ]
    whole = float(root.attrib["width"]) - 32
    assert bars[0] == pytest.approx(whole * used / (128 * MB), abs=0.01)
    assert bars[0] / whole <= share + 0.01
    texts = [element.text or "" for element in root.iter(f"{svg}text")]
    (label,) = [text for text in texts if text.startswith("xSPI2  ")]
    factors = [text for text in texts if "times magnified: 0x7" in text]
    assert f" of {128 * MB} bytes used (" in label
    assert len(bars) == 1 + len(factors) and len(factors) == (used < MB)
    assert all(bar < 0.7 * whole for bar in bars)
    marks = [path for path in root.iter(f"{svg}path") if path.attrib.get("fill") == "#009e73"]
    assert len(marks) == (2 if used == 1 else 1 if used < MB else 0), "what is narrower than a pixel is marked"


def test_picture_is_written_even_if_something_is_wrong(project: Project) -> None:
    project.build(project.facts("one", {"xSPI2": (4136, 0)}), application=MB + 1)
    code, _, _ = project.plan("--svg", "sub/plan.svg")
    assert code == 1
    ET.fromstring((project.folder / "sub/plan.svg").read_text("utf-8"))


def test_picture_that_cannot_be_written(project: Project) -> None:
    (project.folder / "file").write_text("")
    code, out, err = project.plan("--svg", "file/plan.svg")
    assert (code, len(err.splitlines())) == (1, 1)
    assert err.startswith("neuralart plan: error: file/plan.svg: cannot write: ")
    assert out.startswith("v on ")


@pytest.mark.parametrize("built", [False, True])
def test_the_same_plan_gives_the_same_bytes(project: Project, built: bool, tmp_path_factory: Any, capsys: Any) -> None:
    """In any folder."""
    made = []
    for where in (project, Project(tmp_path_factory.mktemp("elsewhere"), capsys)):
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(where.folder)
            if built:
                where.build(where.facts("one", {"xSPI2": (4136, 0)}))
            texts = [where.plan(), where.plan("--json"), where.plan("--svg", "p.svg")]
            made.append((texts, (where.folder / "p.svg").read_bytes()))
    assert made[0] == made[1]


# ---- builds that say nothing

NOTE = "This is what is declared: "


def _drop(key: str) -> Callable[[dict[str, Any]], Any]:
    return lambda data: {name: value for name, value in data.items() if name != key}


INDEXES: dict[str, tuple[Callable[[dict[str, Any]], Any] | bytes, str]] = {
    "empty": (b"", "not the index of a build: no JSON"),
    "no JSON": (b"{", "not the index of a build: no JSON"),
    "no UTF-8": (b'{"schema": "\xff"}', "not the index of a build: no JSON"),
    "deep": (b"[" * 100000, "not the index of a build: no JSON"),
    "a list": (b"[]", "not the index of a build: no JSON object"),
    "no schema": (_drop("schema"), "index of schema None, this version reads 1"),
    "other schema": (lambda data: {**data, "schema": 2}, "index of schema 2, this version reads 1"),
    "no board": (_drop("board"), "not the index of a build: 'board' is missing"),
    "no artefacts": (_drop("artefacts"), "not the index of a build: 'artefacts' is missing"),
    "artefacts of numbers": (
        lambda data: {**data, "artefacts": [1]},
        "not the index of a build: 'artefacts' is damaged",
    ),
    "artefacts as an object": (
        lambda data: {**data, "artefacts": {"a/network.json": 1}},
        "not the index of a build: 'artefacts' is damaged",
    ),
    "empty artefacts": (lambda data: {**data, "artefacts": []}, "not the index of a build: 'artefacts' is damaged"),
    "no firmware": (_drop("firmware"), "not the index of a build: 'firmware' is missing"),
    "firmware as a list": (lambda data: {**data, "firmware": []}, "not the index of a build: 'firmware' is damaged"),
    "firmware without numbers": (
        lambda data: {**data, "firmware": {"DTCM": {"used": "9000"}}},
        "not the index of a build: 'firmware' is damaged",
    ),
    "a file that is gone": (
        lambda data: {**data, "artefacts": [*data["artefacts"], "build/v/gone.bin"]},
        "1 of 3 files of the last build are gone, build/v/gone.bin first",
    ),
}


@pytest.mark.parametrize(("change", "said"), INDEXES.values(), ids=INDEXES)
def test_damaged_index(project: Project, change: Any, said: str) -> None:
    index = project.build(project.facts("one", {"xSPI2": (4136, 0)}))
    index.write_bytes(
        change if isinstance(change, bytes) else json.dumps(change(json.loads(index.read_text()))).encode()
    )
    code, out, err = project.plan()
    assert (code, err) == (0, "")
    assert "as declared" in out.splitlines()[0]
    assert out.splitlines()[-1] == f"{NOTE}build/v/index.json: {said} (build it again)"
    code, out, err = project.plan("--json")
    assert (code, json.loads(out)["view"]) == (0, "declared")
    assert err == f"neuralart plan: note: {NOTE}build/v/index.json: {said} (build it again)\n", "said all the same"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a network.json: "),
        (b"[]", "not a network.json: "),
        (b"{}", "not a network.json: 'schema'"),
        (b'{"schema": 7}', "schema 7, this version reads 1 "),
    ],
)
def test_damaged_facts(project: Project, content: bytes, said: str) -> None:
    project.build(project.facts("one", {}))
    (project.folder / "build/networks/one/network.json").write_bytes(content)
    code, out, err = project.plan()
    assert (code, err) == (0, "")
    last = out.splitlines()[-1]
    assert last.startswith(f"{NOTE}build/networks/one/network.json: {said}"), "relative, as the index names it"


def _other_board(project: Project) -> None:
    project.build(project.facts("one", {}), index={"board": "nucleo-n657x0-q"})


def _other_networks(project: Project) -> None:
    project.build(project.facts("two", {}))


def _no_network(project: Project) -> None:
    project.build()


def _twice(project: Project) -> None:
    index = project.build(project.facts("one", {}))
    data = json.loads(index.read_text())
    data["artefacts"].append(data["artefacts"][-1])
    index.write_text(json.dumps(data))


def _moved_pool(project: Project) -> None:
    project.build(project.facts("one", {"xSPI2": (8, 0)}))
    project.pools("one", RAM5, LATER)


def _other_size(project: Project) -> None:
    project.build(project.facts("one", {}))
    project.pools("one", ("AXISRAM5", 0x342E0000, 4096, "ACC_WRITE"), NOR)


def _pool_gone(project: Project) -> None:
    project.build(project.facts("one", {}))
    project.pools("one", NOR)


@pytest.mark.parametrize(
    ("outdate", "why"),
    [
        (_other_board, "it is for board nucleo-n657x0-q"),
        (_other_networks, "it is of two"),
        (_no_network, "it is of no network"),
        (_twice, "it is of one, one"),
        (_moved_pool, f"its pool xSPI2 of network one is 0x70380000 with {61 * MB} bytes"),
        (_other_size, f"its pool AXISRAM5 of network one is 0x342e0000 with {448 * KB} bytes"),
        (_pool_gone, f"its pool AXISRAM5 of network one is 0x342e0000 with {448 * KB} bytes"),
    ],
)
def test_outdated_build(project: Project, outdate: Callable[[Project], None], why: str) -> None:
    outdate(project)
    code, out, err = project.plan()
    assert (code, err) == (0, "")
    assert "as declared" in out.splitlines()[0]
    assert out.splitlines()[-1] == f"{NOTE}the last build is of another configuration, {why}."


def test_a_pool_beyond_the_end_of_the_flash(project: Project) -> None:
    """The compiler knows where the flash ends: the build is of this configuration, and what counts is said."""
    name, start, _, rights = NOR
    room = 0x78000000 - start
    for built in (room, room - 8):
        project.pools("one", RAM5, (name, start, built, rights))
        project.build(project.facts("one", {name: (8, 0)}))
        project.pools("one", RAM5, (name, start, 128 * MB, rights))
        code, out, _ = project.plan()
        assert code == 0 and "as built" in out.splitlines()[0]
        assert f"pool xSPI2 of network one has {128 * MB} bytes, at 0x70380000 are {room}: that many count" in out
        assert cli.main(["lint", "v", "--file", "variants.yaml"]) == 0
        said = project.said()
        assert f"has {128 * MB} bytes, board stm32n6570-dk has {room} at 0x70380000" in said
        assert "another configuration" not in said
    project.pools("one", RAM5, (name, start, room - 4096, rights))
    assert "another configuration" in project.plan()[1]


@pytest.mark.parametrize(
    ("more", "there"),
    [
        ("", True),
        ("    application: {elf: mine.elf}\n", False),
        ("    application: {sources: {files: [a.c], linker_script: mine.ld}}\n", False),
        ("    application: {sources: {files: [a.c]}}\n", True),
    ],
)
def test_where_the_firmware_is(project: Project, more: str, there: bool) -> None:
    """The addresses of the board's own sections, unless another linker script decides."""
    project.configure("one", more=more)
    assert ("firmware code" in project.plan()[1]) is there


def test_a_model_for_the_firmware_of_the_vendor(project: Project) -> None:
    """Of its runtime no image is made here, before a build and after it."""
    text = pool_text(RAM5, ("xSPI2", 0x71000000, 16 * MB, "ACC_READ"))
    head, _, tail = text.rpartition('"prop"')
    (project.folder / "one.mpool").write_text(f'{head}"mode": "USEMODE_RELATIVE", "prop"{tail}', "utf-8")
    project.configure("one", one=", compiler: stedgeai", more="    relocatable: true\n")
    assert "firmware code" not in project.plan()[1]
    project.build(project.facts("one", {"AXISRAM5": (0, 8)}, runtime="ll_aton"))
    out = project.plan()[1]
    assert "as built" in out.splitlines()[0] and "firmware code" not in out
    project.configure("one", one=", compiler: auto", more="    relocatable: true\n")
    assert "firmware code" not in project.plan()[1], "what was built tells"
    project.build(project.facts("one", {"AXISRAM5": (0, 8)}))
    assert "firmware code" in project.plan()[1]


def test_constants_of_a_core_in_the_external_flash(project: Project) -> None:
    """``N_data.bin`` at its address, with its size when it is built."""
    text = """\
schema: 1
networks:
  net: {model: net.tflite, compiler: stedgeai, options: [--binary, --address, "0x90010000"]}
variants:
  v: {board: stm32h747i-disco, machine: silicon, network: net, application: {elf: app.elf}}
"""
    (project.folder / "variants.yaml").write_text(text, encoding="utf-8")
    (before,) = [each for each in project.data()["placements"] if each["owner"] == "pool weights of network net"]
    assert (before["start"], before["used"], before["chosen_by"]) == (0x90010000, None, "variants.yaml:3")
    data = project.folder / "build/v/net_data.bin"
    data.parent.mkdir(parents=True)
    data.write_bytes(bytes(5000))
    facts = to_json(smallboard.network(name="network"))
    (project.folder / "build/network.json").write_text(facts, encoding="utf-8")
    named = ["build/v/net_data.bin", "build/network.json"]
    index = {"schema": 1, "board": "stm32h747i-disco", "firmware": {}, "artefacts": named}
    (project.folder / "build/v/index.json").write_text(json.dumps(index), encoding="utf-8")
    (after,) = [each for each in project.data()["placements"] if each["owner"] == before["owner"]]
    assert (after["start"], after["used"]) == (0x90010000, 5000)


# ---- what is wrong is said, and the plan is shown


def wrong(project: Project, *words: str) -> tuple[str, str]:
    code, out, err = project.plan(*words)
    assert code == 1
    assert err.startswith("neuralart plan: error: ")
    assert err.count("\n") == 1
    return out, err.removeprefix("neuralart plan: error: ").rstrip("\n")


def test_overlap_after_a_build(project: Project) -> None:
    project.configure("one", "two")
    project.pools("two", ("mine", 0x242E0000, 4096, "ACC_WRITE"), LATER)
    project.build(project.facts("one", {"AXISRAM5": (0, 5000)}), project.facts("two", {"mine": (0, 64)}))
    out, err = wrong(project)
    assert "pool mine of network two" in out and "as built" in out
    assert err == (
        "two.mpool:4:1: pool mine of network two [0x342e0000, 0x342e0040) overlaps pool AXISRAM5 of network one "
        "[0x342e0000, 0x342e1388) of one.mpool:4:1 by 64 bytes "
        "(64 bytes are free at 0x342e13a0: make that the offset of the pool)"
    )
    code, out, err = project.plan("--json")
    note, said = err.splitlines()
    assert note.startswith("neuralart plan: note: pool mine of network two is at 0x242e0000, the non-secure alias of")
    assert code == 1 and said.startswith("neuralart plan: error: two.mpool:4:1: ")
    assert json.loads(out)["view"] == "actual"


def test_the_same_pools_before_a_build_are_no_error(project: Project) -> None:
    """Whether both networks use what they share is known after the compile."""
    project.configure("one", "two")
    project.pools("two", RAM5, NOR)
    code, _, err = project.plan()
    assert (code, err) == (0, "")


def test_application_that_is_too_large(project: Project) -> None:
    project.build(project.facts("one", {}), application=MB + 1)
    out, err = wrong(project)
    assert str(MB + 1) in out
    assert err.startswith(
        f"{DK.place('slots.application')}: slot application [0x70100000, 0x70200000) has 1048576 bytes"
    )


def test_constants_that_nobody_brings(project: Project) -> None:
    project.build(project.facts("one", {"AXISRAM5": (77, 0)}))
    _, err = wrong(project)
    assert err == (
        "one.mpool:4:1: network one has 77 bytes of constants in pool AXISRAM5, which is not declared "
        "(initializers: [xSPI2, AXISRAM5] declares it)"
    )


def test_used_pool_in_no_memory(project: Project) -> None:
    """The plan cannot place it: what is declared is shown."""
    project.pools("one", RAM5, NOR, ("spare", 0xA0000000, 4096, "ACC_WRITE"))
    note = (
        "one.mpool:6:1: pool spare of network one at 0xa0000000 is in no memory of stm32n6570-dk; a network that uses "
        "it is refused"
    )
    code, out, _ = project.plan()
    assert (code, out.splitlines()[-1]) == (0, note)
    project.build(project.facts("one", {"spare": (0, 77)}))
    out, err = wrong(project)
    assert "as declared" in out.splitlines()[0]
    assert err.startswith("one.mpool: pool spare of network one uses 77 bytes, but there is no memory at 0xa0000000 (")


def test_relative_pools_are_not_looked_for(project: Project) -> None:
    """The one of the epoch controller has an offset, no address."""
    text = pool_text(RAM5, NOR, ("params", 0xA0000000, 4096, "ACC_WRITE"))
    text = text.replace('"name": "params_"', '"mode": "USEMODE_RELATIVE", "name": "params_"')
    (project.folder / "one.mpool").write_text(text)
    code, out, _ = project.plan()
    assert (code, "params" in out) == (0, False)


def test_conflicts_of_what_is_fixed(project: Project) -> None:
    """Nothing can be shown then: there is no layout."""
    project.configure("one", more="    slots: {application: 0x70380000}\n")
    out, err = wrong(project)
    assert out == ""
    assert err == (
        "one.mpool:5:1: pool xSPI2 of network one [0x70380000, 0x74080000) overlaps slot application "
        "[0x70380000, 0x70480000) of variants.yaml:10 by 1048576 bytes "
        "(63963136 bytes are free at 0x70480000: make that the offset of the pool)"
    )


# ---- bad input


@pytest.mark.parametrize(
    ("break_it", "words", "said"),
    [
        (lambda p: None, ("vv",), "variants.yaml: no variant 'vv' (did you mean 'v'? known: v)"),
        (
            lambda p: (p.folder / "variants.yaml").unlink(),
            ("v",),
            "variants.yaml: cannot read: No such file or directory (is this the right folder?)",
        ),
        (lambda p: (p.folder / "one.mpool").unlink(), ("v",), "one.mpool: cannot read: No such file or directory"),
        (lambda p: (p.folder / "one.mpool").write_text("{"), ("v",), "one.mpool:1:"),
        (lambda p: p.pools("one", (*RAM5[:2], 0, RAM5[3])), ("v",), "one.mpool:3:13: no pool is enabled: 1 listed"),
        (lambda p: p.configure("three"), ("v",), "variants.yaml:9"),
        (
            lambda p: p.configure("one", one=", initializers: [xSPI]"),
            ("v",),
            "variants.yaml:4: initializers of network one: no pool 'xSPI' in one.mpool (did you mean 'xSPI2'? known: ",
        ),
    ],
)
def test_bad_input_is_one_line(
    project: Project, break_it: Callable[[Project], Any], words: Sequence[str], said: str
) -> None:
    break_it(project)
    (variant,) = words
    code, out, err = project.plan(variant=variant)
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"neuralart plan: error: {said}")


@pytest.mark.parametrize("words", [["plan"], ["plan", "v", "--svg"], ["plan", "v", "--nonsense"]])
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
