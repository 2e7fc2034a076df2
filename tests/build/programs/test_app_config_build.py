"""``env.AppConfig`` in a consumer's build: what makes the header again, and what follows from that."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.projects.appconfig_project import INCLUDERS, SETTINGS, wrapper_source, write_project
from support.projects.sconsproject import Project, copy_built

pytestmark = [pytest.mark.arm, pytest.mark.long]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = write_project(tmp_path_factory.mktemp("pose") / "consumer")
    project.run()
    return project


@pytest.fixture
def built(made: Project, tmp_path: Path) -> Project:
    return copy_built(made, tmp_path / "a product")


def header(project: Project) -> Path:
    (found,) = (project.root / "build" / "app_config").glob("*/app_config.h")
    return found


def name(project: Project) -> str:
    return header(project).relative_to(project.root).as_posix()


def test_a_header_is_made_and_read(made: Project) -> None:
    text = header(made).read_text("utf-8")
    assert "#define POSTPROCESS_TYPE POSTPROCESS_SPE_MOVENET_UF" in text
    assert "AI_POSE_PP_CONF_THRESHOLD" in text and "(0.4f)" in text
    assert "pose.tflite" in text, "what the display shows"
    made.up_to_date()


def test_a_changed_threshold_rebuilds_the_header_and_its_includers_only(built: Project) -> None:
    built.edit("SConstruct", "0.4", "0.5")
    result = built.run()
    assert result.commands == {
        ("HEADER", name(built)),
        *(("CC", each) for each in INCLUDERS),
        ("LINK", "build/app.elf"),
    }
    assert "(0.5f)" in header(built).read_text("utf-8")
    built.up_to_date()


def test_a_header_that_comes_out_the_same_is_left_alone(built: Project) -> None:
    before = header(built).stat().st_mtime_ns
    built.edit("firmware/Inc/own.h", "#define OWN 1", "#define OWN 2 /* a header may define what the wrapper reads */")
    result = built.run()
    assert result.commands == {("HEADER", name(built)), ("CC", "build/other.o"), ("LINK", "build/app.elf")}
    assert header(built).stat().st_mtime_ns == before
    built.up_to_date()


def test_a_source_that_reads_no_macro_is_no_matter_of_the_header(built: Project) -> None:
    built.edit("firmware/Src/other.c", "return OWN", "return 1 + OWN")
    assert built.run().commands == {("CC", "build/other.o"), ("LINK", "build/app.elf")}


@pytest.mark.parametrize("jobs", ["-j1", "-j4"])
def test_a_compile_that_says_the_same_makes_nothing_else(built: Project, jobs: str) -> None:
    data = built.path("pose.tflite").read_bytes()
    built.path("pose.tflite").write_bytes(data + b"\0" * 16)
    assert {tag for tag, _ in built.run(jobs).commands} == {"NETWORK"}
    built.up_to_date()


def test_another_type_of_output_is_another_symbol(built: Project) -> None:
    built.edit("SConstruct", 'output_data_type="float32"', 'output_data_type="int8"')
    built.run()
    text = max(built.path("build/app_config").glob("*/app_config.h"), key=lambda path: path.stat().st_mtime)
    assert "POSTPROCESS_SPE_MOVENET_UI" in text.read_text("utf-8")


def test_a_macro_that_the_wrapper_begins_to_read(built: Project) -> None:
    text = wrapper_source("POSTPROCESS_SPE_MOVENET_UF").replace("AI_POSE_PP_CONF_THRESHOLD", "AI_POSE_PP_RADIUS")
    built.path("firmware/Src/app_postprocess_spe_movenet_uf.c").write_text(text, "utf-8")
    failed = built.run(code=2)
    (said,) = [line for line in failed.errors if "AI_POSE_PP_RADIUS" in line]
    assert "firmware/Src/app_postprocess_spe_movenet_uf.c:9: reads AI_POSE_PP_RADIUS" in said
    built.path("firmware/Inc/radius.h").write_text("#define AI_POSE_PP_RADIUS (2)\n", "utf-8")
    built.edit("firmware/Src/app_postprocess_spe_movenet_uf.c", '"app_config.h"', '"app_config.h"\n#include "radius.h"')
    built.run()


def test_a_network_that_does_not_fit(built: Project) -> None:
    built.edit("SConstruct", SETTINGS, f"{SETTINGS}, keypoints=17")
    failed = built.run(code=2)
    (said,) = [line for line in failed.errors if "17" in line]
    assert "SConstruct:12: " in said and "3" in said, said


def test_files_of_the_users(built: Project) -> None:
    built.path("mine.h.j2").write_text(
        "{% extends default_template %}\n{% block extra %}\n#define MINE {{ 7 | cint }}\n{% endblock %}\n", "utf-8"
    )
    built.edit("SConstruct", SETTINGS, f'{SETTINGS}, template=File("mine.h.j2"), folder="#build/inc"')
    built.run()
    target = built.path("build/inc/app_config.h")
    assert "#define MINE (7)" in target.read_text("utf-8") or "#define MINE 7" in target.read_text("utf-8")
    built.edit("mine.h.j2", "7", "8")
    assert ("HEADER", "build/inc/app_config.h") in built.run().commands
    assert "8" in target.read_text("utf-8").split("MINE")[1]
    built.up_to_date()
    built.edit("mine.h.j2", "cint", "dint")
    failed = built.run(code=2)
    assert [line for line in failed.errors if "mine.h.j2:3: template: " in line], failed.err
    assert "8" in target.read_text("utf-8").split("MINE")[1], "the last good one"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('application="nowhere"', "SConstruct:12: no such folder: nowhere"),
        ('application="firmware", confidence_tresh=0.4', "unknown key 'confidence_tresh' (did you mean"),
        ('application="firmware", nms_thresh=2', "AppConfig('pose'): nms_thresh: 2 is out of range, allowed: 0 to 1"),
        ('application="firmware", template="no.j2"', "app_config: template 'no.j2' does not exist"),
        ('application="firmware", class_names_file="no.txt"', "class_names_file 'no.txt' does not exist"),
        ('application="firmware", folder=5', "folder must be text, not 5"),
        ('application="firmware", folder="/abs"', "folder must be text, not '/abs'"),
        ('application="firmware", config=5', "config must be an AppConfig, not 5"),
        ('application="firmware", color_mode=None, welcome=object', "welcome: must be text, a number or a list"),
        ('application="firmware", use_case_=1', "unknown key 'use_case_'"),
    ],
)
def test_wrong_keywords(made: Project, tmp_path: Path, change: str, words: str) -> None:
    project = copy_built(made, tmp_path / "wrong")
    project.edit("SConstruct", 'application="firmware"', change)
    failed = project.run(code=2)
    assert words in failed.errors[0] and len(failed.errors) == 2, failed.err
