"""``neuralart tool appconfig`` as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuralart.cli import main
from support.models.app_configs import wrapper_header, wrapper_source, write_application

CONFIG = """\
schema: 1
app_config:
  use_case: pose_estimation
  model_type: movenet
  confidence_thresh: 0.4
"""


def c_info(out: list[int] = (1, 48, 48, 13), dtype: str = "FLOAT") -> str:
    def buffer(number: int, shape: list[int], kind: str) -> dict[str, object]:
        names = ["BATCH", "H", "W", "CH"]
        return {"id": number, "name": f"t{number}", "shape": shape, "shape_map": names, "format": f"STAI_FORMAT_{kind}"}

    buffers = [buffer(1, [1, 192, 192, 3], "U8"), buffer(2, list(out), dtype)]
    graph = {"name": "network", "inputs": [1], "outputs": [2]}
    return json.dumps({"json_schema_version": "2.0", "buffers": buffers, "graphs": [graph]})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_application(tmp_path, {"cfg/app.yaml": CONFIG, "c_info.json": c_info()})
    write_application(tmp_path / "fw", {"PP/app_postprocess.h": wrapper_header("n6-v3")})
    return tmp_path


def run(*words: str) -> int:
    return main(["tool", "appconfig", "--network", "c_info.json", "--config", "cfg/app.yaml", *words])


def test_by_the_application(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--application", "fw", "--model-name", "m.tflite", "-o", "out/app_config.h") == 0
    text = (folder / "out" / "app_config.h").read_text()
    assert "#define AI_SPE_MOVENET_POSTPROC_HEATMAP_WIDTH  (48)\n" in text and '"m.tflite"' in text
    assert "NN_WIDTH" not in text
    shown = capsys.readouterr()
    assert shown.out == "out/app_config.h: generation n6-v3, POSTPROCESS_SPE_MOVENET_UF\n" and shown.err == ""


def test_by_the_file(folder: Path) -> None:
    """Paths in the file are seen from the file."""
    template = "{% extends default_template %}{% block camera %}#define MINE\n{% endblock %}"
    more = "  application: ../fw\n  template: mine.j2\n"
    write_application(folder, {"cfg/app.yaml": CONFIG + more, "cfg/mine.j2": template})
    assert run("-o", str(folder)) == 0
    assert "#define MINE\n" in (folder / "app_config.h").read_text()


def test_a_second_run_writes_nothing(folder: Path) -> None:
    words = ("--generation", "n6-v1", "-o", "app_config.h")
    assert run(*words) == 0
    path = folder / "app_config.h"
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert run(*words) == 0
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before
    (folder / "cfg" / "app.yaml").write_text(CONFIG.replace("0.4", "0.5"))
    assert run(*words) == 0
    assert "(0.5f)" in path.read_text()


def test_files_that_belong_to_the_header(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    buffers = [
        {
            "id": 1,
            "name": "x",
            "shape": [1, 128, 128, 3],
            "shape_map": ["BATCH", "H", "W", "CH"],
            "format": "STAI_FORMAT_U8",
        }
    ] + [
        {"id": at, "name": f"o{at}", "shape": list(shape), "format": "STAI_FORMAT_S8"}
        for at, shape in enumerate(((1, 512, 16), (1, 512, 1), (1, 384, 1), (1, 384, 16)), 2)
    ]
    graph = {"name": "network", "inputs": [1], "outputs": [2, 3, 4, 5]}
    (folder / "c_info.json").write_text(
        json.dumps({"json_schema_version": "2.0", "buffers": buffers, "graphs": [graph]})
    )
    keys = "use_case: face_detection, confidence_thresh: 0.5, nms_thresh: 0.3, max_detection_boxes: 3"
    (folder / "cfg" / "app.yaml").write_text(f"schema: 1\napp_config: {{{keys}}}\n")
    assert run("--application", "fw", "-o", "inc/other.h") == 0
    assert sorted(path.name for path in (folder / "inc").iterdir()) == [
        "fd_blazeface_anchors_0.h",
        "fd_blazeface_anchors_1.h",
        "other.h",
    ]
    assert "note: the application includes app_config.h" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "x.h"), "cfg/app.yaml:2: app_config: for which generation of application?"),
        (("--generation", "n6v3", "-o", "x.h"), "no generation 'n6v3' (did you mean 'n6-v3'?"),
        (("--generation", "h7", "-o", "x.h"), "pose_estimation with movenet does not exist in generation h7"),
        (("--application", "none", "-o", "x.h"), "no such folder: none"),
        (("--application", "cfg", "-o", "x.h"), "there is no app_postprocess.h below cfg"),
        (("--application", "fw", "--template", "none.j2", "-o", "x.h"), "none.j2: cannot read"),
        (("--generation", "n6-v2", "--network", "none.json", "-o", "x.h"), "none.json: cannot read"),
        (("--generation", "n6-v2", "--config", "none.yaml", "-o", "x.h"), "none.yaml: cannot read"),
    ],
)
def test_refused_in_one_line_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert run(*words) == 1
    shown = capsys.readouterr()
    assert shown.out == "" and said in shown.err and shown.err.count("\n") == 1
    assert shown.err.startswith("neuralart appconfig: error: ")
    assert not (folder / "x.h").exists()


def test_a_network_that_does_not_fit_is_named_with_both_numbers(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "c_info.json").write_text(c_info([1, 24, 48, 13]))
    assert run("--generation", "n6-v2", "-o", "x.h") == 1
    assert capsys.readouterr().err == (
        "neuralart appconfig: error: c_info.json: height of the heatmap is 24, 4 x 24: 96, but 192 is the height of "
        "the input\n"
    )


def test_a_wrapper_without_the_symbol(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "c_info.json").write_text(c_info(dtype="S8"))
    write_application(
        folder / "fw",
        {
            "PP/app_postprocess.h": wrapper_header("n6-v2"),
            "PP/app_postprocess.c": wrapper_source("POSTPROCESS_SPE_MOVENET_UF", "AI_POSE_PP_CONF_THRESHOLD"),
        },
    )
    assert run("--application", "fw", "-o", "x.h") == 1
    assert capsys.readouterr().err == (
        "neuralart appconfig: error: cfg/app.yaml:4: POSTPROCESS_SPE_MOVENET_UI is not in fw/PP/app_postprocess.h (the "
        "outputs are int8) (it has POSTPROCESS_SPE_MOVENET_UF: compile with output_data_type: float32)\n"
    )
