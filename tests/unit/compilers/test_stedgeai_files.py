"""Which files there are, by version and condition; what a run may leave; what a folder may hold."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from neuralart.compilers.stedgeai import run as folders
from neuralart.compilers.stedgeai.fileset import (
    FileConditions,
    collect,
    file_names,
    initializers,
    is_initializer,
    sizes,
)
from neuralart.vendor.releases import parse_core
from support.fake_stedgeai import VERSIONS
from support.models.stedgeai_case import refusal
from support.servers.programs import FLASH, RAM, pool_file

CORE = {text: parse_core(row[0]) for text, row in VERSIONS.items()}
OURS = {"network.json", "manifest.json", "provenance.txt"}
ALWAYS = {"n.c", "n_c_info.json", "n_generate_report.txt"}
LEGACY = {"n.h", "n_config.h", "n_data.c", "n_data.h", "n_data_params.c", "n_data_params.h"}
ST_AI = {"n.h", "n_data.c", "n_data.h", "n_details.h"}


def npu(suffix: str, *more: str) -> set[str]:
    return {*ALWAYS, *OURS, f"my.net_OE_{suffix}.onnx", f"my.net_OE_{suffix}_Q.json", *more}


# ---- what is foretold


@pytest.mark.parametrize(
    ("version", "files"),
    [
        ("2.0.0", npu("3_1_0")),
        ("2.1.0", npu("3_2_0")),
        ("2.2.0", npu("3_3_0", "n.h")),
        ("3.0.0", npu("3_3_1", "n.h", "stai_n.c", "stai_n.h")),
        ("4.0.0", npu("3_3_1", "n.h", "stai_n.c", "stai_n.h")),
        ("4.0.1", npu("3_3_1", "n.h", "stai_n.c", "stai_n.h")),
    ],
)
def test_the_npu_files_of_each_version(version, files):
    def names(**given):
        found = file_names(FileConditions("n", "my.net", **given), CORE[version], {"xSPI2": "n_atonbuf.xSPI2.raw"})
        assert len(found) == len(set(found))
        return set(found)

    files = files | {"n_atonbuf.xSPI2.raw"}
    assert names() == files
    assert names(controller=True) == files | {"n_ecblobs.h"}
    assert names(report=False) == files - {"n_generate_report.txt"}
    assert names(csv=True) == files | {"n.csv"}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("api", ["", "legacy", "st-ai"])
def test_the_cpu_files_of_each_version(version, api):
    def names(**given):
        return set(file_names(FileConditions("n", "my.net", npu=False, c_api=api, **given), CORE[version], {}))

    legacy = api == "legacy" or (not api and version < "3")
    files = ALWAYS | OURS | (LEGACY if legacy else ST_AI)
    assert names() == files
    assert names(binary=True) == files | {"n_data.bin"}
    assert names(relocatable=True) == files | {"n_rel.bin", "n_img_rel.c", "n_img_rel.h"}
    assert names(controller=True) == files


def test_an_unknown_version_promises_no_export():
    found = file_names(FileConditions("n", "m"), parse_core("4.1.0-1"), {})
    assert {"stai_n.c", "n.h"} <= set(found)
    assert not [name for name in found if "_OE_" in name]


def pools_of(**formats):
    found = pool_file(("RAM", 0x1000, 512, RAM), ("NOR", 0x70000000, 4096, FLASH), ("OFF", 0x80000000, 0, FLASH))
    return replace(found, pools=tuple(replace(p, fformat=formats.get(p.fname, p.fformat)) for p in found.pools))


def test_initializers_by_format():
    given = FileConditions("n", "m")
    assert initializers(given, pools_of(), ("NOR", "RAM")) == {"NOR": "n_atonbuf.NOR.raw", "RAM": "n_atonbuf.RAM.raw"}
    linked = replace(pools_of(NOR="FORMAT_C").pools[1], mode="USEMODE_RELATIVE")
    pools = replace(pools_of(), pools=(linked,))
    assert initializers(given, pools, ("NOR",)) == {"NOR": "n_atonbuf.NOR.c"}
    for form in ("FORMAT_C", "FORMAT_HEX", "FORMAT_HEX16", "FORMAT_HEX32", "FORMAT_IHEX"):
        assert initializers(given, pools_of(NOR=form), ("NOR",)) == {"NOR": "n_atonbuf.NOR.raw"}


@pytest.mark.parametrize("name", ["n_atonbuf.xSPI2.raw", "n_my-buf.A.c", "n_atonbuf.P.hex"])
def test_names_of_initializers(name):
    assert is_initializer(name, "n")
    assert not is_initializer(name, "net")


@pytest.mark.parametrize(
    "name", ["n.c", "n_c_info.json", "n_data.c", "n_data_params.c", "stai_n.c", "n_ecblobs.h", "n.x.raw"]
)
def test_names_of_others(name):
    assert not is_initializer(name, "n")


# ---- what a run left


@pytest.fixture
def run(tmp_path):
    """A folder in which version 2.2 has just compiled."""
    out, inner = tmp_path / "out", tmp_path / "ws" / "neural_art__n"
    out.mkdir()
    inner.mkdir(parents=True)
    for name in ("n.c", "n.h", "m_OE_3_3_0.onnx", "m_OE_3_3_0_Q.json", "n_c_info.json", "n_generate_report.txt"):
        (out / name).write_text(f"text of {name}")
    (out / "n_atonbuf.NOR.raw").write_bytes(b"weights")
    (out / "LICENSE.txt").write_text("words")
    (inner / "atonn_options.ini").write_text("x=1")
    (inner / "n6.mpool").write_text("{}")
    (inner / "atonbuf.RAM.raw").write_bytes(b"")
    (inner / "table.csv").write_text("epochs\n")
    return tmp_path


DECLARED = {"NOR": "n_atonbuf.NOR.raw"}


def collected(run, declared=DECLARED, csv="", version="2.2.0", **given):
    return collect(run, FileConditions("n", "m", csv=bool(csv), **given), CORE[version], declared, csv)


def test_a_complete_run(run):
    found = collected(run)
    assert set(found.files) == {
        *("n.c", "n.h", "m_OE_3_3_0.onnx", "m_OE_3_3_0_Q.json", "n_c_info.json", "n_generate_report.txt")
    }
    assert found.initializers == {"NOR": ("n_atonbuf.NOR.raw", b"weights")}
    assert set(found.aside) == {"LICENSE.txt", "atonn_options.ini", "n6.mpool"}
    assert found.notes == ()
    assert sizes(found.initializers) == {"NOR": 7}


def test_declared_and_empty(run):
    found = collected(run, {**DECLARED, "RAM": "n_atonbuf.RAM.raw", "C": "n_atonbuf.C.c"})
    assert found.initializers["RAM"] == ("n_atonbuf.RAM.raw", b"")
    assert found.initializers["C"] == ("n_atonbuf.C.c", b"/* Pool C of network n holds no constants. */\n")
    assert sizes(found.initializers) == {"NOR": 7, "RAM": 0, "C": 0}


def test_undeclared_and_not_empty(run):
    (run / "out/n_atonbuf.RAM.raw").write_bytes(b"spilled")
    (run / "out/n_atonbuf.SRAM5.raw").write_bytes(b"x" * 300)
    text = refusal(collected, run)
    assert text == (
        "network n: network n has constants in RAM (7 bytes), SRAM5 (300 bytes), whose initializer is not declared and "
        "would not be loaded (add the line initializers: [NOR, RAM, SRAM5] or --initializers NOR,RAM,SRAM5)"
    )
    assert "[NOR]" in refusal(collected, run, {}) or "NOR, RAM, SRAM5" in refusal(collected, run, {})


def test_undeclared_and_empty_is_nothing(run):
    (run / "out/n_atonbuf.RAM.raw").write_bytes(b"")
    assert collected(run).initializers == {"NOR": ("n_atonbuf.NOR.raw", b"weights")}
    assert collected(run, None).initializers == {"NOR": ("n_atonbuf.NOR.raw", b"weights")}


def test_an_initializer_in_another_format(run):
    text = refusal(collected, run, {"NOR": "n_atonbuf.NOR.c"})
    assert (
        "n_atonbuf.NOR.c: network n has initializers in another format than its pool file says: n_atonbuf.NOR.raw"
        in text
    )


@pytest.mark.parametrize("gone", [("n.c",), ("n.h", "m_OE_3_3_0.onnx"), ("m_OE_3_3_0_Q.json",)])
def test_files_that_must_be_there(run, gone):
    for name in gone:
        (run / "out" / name).unlink()
    assert f"the tool ended without an error but wrote no {', '.join(gone)}" in refusal(collected, run)


def test_blobs_that_must_be_there(run):
    assert "wrote no n_ecblobs.h" in refusal(collected, run, controller=True)
    assert "wrote no stai_n.c, stai_n.h, m_OE_3_3_1.onnx" in refusal(collected, run, version="4.0.1")


def test_no_output_at_all(tmp_path):
    assert "wrote no n.c, n.h" in refusal(collected, tmp_path)


def test_files_that_may_be_missing(run):
    (run / "out/n_c_info.json").unlink()
    (run / "out/n_generate_report.txt").unlink()
    found = collected(run, csv="none.csv")
    assert json.loads(found.files["n_c_info.json"]) == {"json_schema_version": "2.0", "environment": {}}
    assert found.files["n_generate_report.txt"] == b"The compiler wrote no report.\n"
    assert found.files["n.csv"] == b""
    assert [note.partition(":")[0] for note in found.notes] == [
        *("the tool wrote no n_c_info.json", "the tool wrote no n_generate_report.txt", "the tool wrote no none.csv")
    ]


def test_the_table_comes_from_the_workspace(run):
    assert collected(run, csv="table.csv").files["n.csv"] == b"epochs\n"


def test_unexpected_files(run):
    (run / "out/n_more.h").write_text("#define MORE\n")
    (run / "out/notes.txt").write_text("x")
    (run / "out/sub").mkdir()
    found = collected(run)
    assert found.files["n_more.h"] == b"#define MORE\n"
    assert found.aside["notes.txt"] == b"x"
    assert len(found.notes) == 2
    assert found.notes[0].startswith("n_more.h was not expected: it is delivered")


# ---- the folder


def filled(folder, name="n", **files):
    rows = [{"name": each} for each in files]
    for each, text in files.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_text(text)
    (folder / "manifest.json").write_text(json.dumps({"network": name, "files": rows}))


def test_what_an_earlier_compile_left_goes(tmp_path):
    filled(tmp_path, **{"old_OE_3_1_0.onnx": "x", "n.c": "x", "gone.h": "x"})
    for name in ("n_ecblobs.h", "stai_n.c", "n_atonbuf.A.raw", "network.json", "n.csv", ".vendor"):
        (tmp_path / name).mkdir() if name == ".vendor" else (tmp_path / name).write_text("x")
    for name in ("mine.c", "n_main.c", "other_atonbuf.A.raw"):
        (tmp_path / name).write_text("mine")
    folders.clear(tmp_path, "n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.c", "n_main.c", "other_atonbuf.A.raw"]


def test_another_networks_folder(tmp_path):
    filled(tmp_path, "other", **{"other.c": "x"})
    before = sorted(tmp_path.iterdir())
    assert "the folder holds network 'other', whose network.json would be lost" in refusal(folders.clear, tmp_path, "n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"network": "n", "files": [{"name": "../up.c"}, {"name": "a\\\\b"}]}',
        '{"network": "n", "files": 5}',
    ],
)
def test_a_damaged_manifest_reaches_nothing_outside(tmp_path, text):
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "up.c").write_text("mine")
    (inside / "manifest.json").write_text(text)
    folders.clear(inside, "n")
    assert (tmp_path / "up.c").read_text() == "mine"
    assert list(inside.iterdir()) == []


def test_a_set_that_cannot_be_written_whole_is_not_there_at_all(tmp_path):
    (tmp_path / "b.h").mkdir()  # in the way
    (tmp_path / "b.h" / "x").write_text("mine")
    text = refusal(folders.fill, tmp_path, {"a.c": b"1", "b.h": b"2", "manifest.json": b"{}"}, {"log.txt": b"words"})
    assert "b.h: cannot write" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [".vendor", "b.h"]
    assert (tmp_path / ".vendor/log.txt").read_text() == "words"


def test_a_file_where_the_folder_should_be(tmp_path):
    (tmp_path / "out").write_text("mine")
    assert "cannot write" in refusal(folders.fill, tmp_path / "out", {"a.c": b""}, {})
    assert (tmp_path / "out").read_text() == "mine"
