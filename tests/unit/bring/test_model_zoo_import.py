"""``neuralart import``: configurations shaped like those of each release of the zoo, written by us."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from neuralart import config
from neuralart.cli import main
from neuralart.config import app_config
from neuralart.config.app_config import AppConfig
from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values
from neuralart_bring.model_zoo import convert, tree
from neuralart_bring.model_zoo.convert import Imported, Wishes
from support.projects import repositories
from support.servers.messages import flat

V1 = """\
general: {project_name: Demo}
dataset: {name: faces, class_names: [cup, plate], training_path: }
pre_processing:
  rescaling: {scale: 127.5, offset: -1}
  resizing: bilinear
  aspect_ratio: False
  color_mode: bgr
post_processing: {type: SSD, confidence_thresh: 0.5, NMS_thresh: 0.4}
model:
  model_type: {name: mobilenet, version: v1, alpha: 0.25}
  input_shape: [192, 192, 3]
  model_path: ..\\..\\object_detection\\demo-192_int8.tflite
quantization: {quantize: False}
stm32ai:
  c_project_path: ../app
  serie: STM32H7
  optimization: ram
  footprints_on_target: STM32H747I-DISCO
mlflow: {uri: ./mlruns}
hydra: {run: {dir: "outputs/${now:%Y_%m_%d_%H_%M_%S}"}}
"""
V3 = """\
general:
  project_name: pose
  model_type: heatmaps_spe
  model_path: ../zoo/pose_estimation/heat.tflite   # a comment
  gpu_memory_limit: 8
operation_mode: deployment
dataset: {name: persons, keypoints: 13}
preprocessing:
  rescaling: {scale: 1/127.5, offset: -1}
  resizing: {interpolation: bilinear, aspect_ratio: crop}
  color_mode: rgb
postprocessing: {kpts_conf_thresh: 0.3, confidence_thresh: 0.4, NMS_thresh: 0.1, max_detection_boxes: 10}
data_augmentation:
  random_flip: {mode: horizontal}
  random_rotation: {factor: (-0.1, 0.1)}
tools:
  stedgeai: {version: 10.0.0, optimization: balanced, on_cloud: False, path_to_stedgeai: "C:/x/stedgeai.exe"}
  path_to_cubeIDE: C:/ST/ide.exe
deployment:
  c_project_path: ../app/STM32N6/
  IDE: GCC
  verbosity: 1
  hardware_setup: {serie: STM32N6, board: STM32N6570-DK}
mlflow: {uri: ./mlruns}
hydra:
  run:
    dir: ./experiments_outputs/${now:%Y_%m_%d_%H_%M_%S}
"""
V4 = """\
operation_mode: deployment
model:
  model_type: yolov2t
  model_name: yolov2t_224
  model_path: models/object_detection/t.tflite
dataset: {dataset_name: p, class_names: [person]}
preprocessing: {resizing: {aspect_ratio: fit, interpolation: nearest}, color_mode: rgb}
postprocessing:
  confidence_thresh: 0.6
  NMS_thresh: 0.3
  IoU_eval_thresh: 0.5
  yolo_anchors: [[0.9883, 3.3606], [2.1194, 5.3759]]
  max_detection_boxes: 10
tools: {stedgeai: {optimization: time}}
deployment: {c_project_path: ../a, hardware_setup: {serie: STM32N6, board: NUCLEO-N657X0-Q}}
"""
AUDIO = """\
general: {model_path: a/audio_event_detection/y.tflite}
operation_mode: deployment
dataset: {class_names: ['dog', 'rain'], use_garbage_class: False, file_extension: '.wav'}
preprocessing: {target_rate: 16000, hop_length: 3200}
feature_extraction:
  patch_length: 96
  n_mels: 64
  overlap: 0.25
  n_fft: 512
  hop_length: 160
  window_length: 400
  window: hann
  power: 1.0
  fmin: 125
  fmax: 7500
  norm: None
  htk : True
  to_db : False
deployment:
  c_project_path: ../audio/STM32N6
  hardware_setup: {serie: STM32N6, board: STM32N6570-DK}
  unknown_class_threshold: 0.5
  build_conf: "BM"
"""


def imported(tmp_path: Path, text: str, wishes: Wishes | None = None) -> Imported:
    path = tmp_path / "user_config.yaml"
    path.write_text(text)
    return convert.convert(tree.read(path, "u.yaml"), wishes or Wishes())


def section(tmp_path: Path, got: Imported) -> AppConfig:
    """The section as config reads it."""
    path = tmp_path / "out.yaml"
    path.write_text(convert.text(got, "u.yaml"))
    network = yaml_values.read(path).mapping()["networks"].mapping()[got.network].mapping()
    made = app_config.resolve(app_config.read_settings(network["app_config"]))
    assert made is not None
    return made


def dropped(got: Imported) -> dict[str, str]:
    return {each.key: each.reason for each in got.dropped}


def test_the_first_release(tmp_path: Path) -> None:
    got = imported(tmp_path, V1)
    assert (got.release, got.network) == ("v1", "demo_192_int8")
    assert got.settings["model"] == "../../object_detection/demo-192_int8.tflite"
    assert got.settings["options"] == ["--optimization", "ram"]
    assert "input_data_type" not in got.settings
    assert got.variant_settings["board"] == "stm32h747i-disco"
    made = section(tmp_path, got)
    assert (made.use_case, made.model_type, made.class_names) == ("object_detection", "st_ssd", ("cup", "plate"))
    assert (made.aspect_ratio, made.color_mode, made.application) == ("fit", "bgr", "../app")
    assert (made.confidence_thresh, made.nms_thresh, made.max_detection_boxes) == (0.5, 0.4, 0)
    assert got.notes == ("the file has no max_detection_boxes: add it to app_config",)
    assert dropped(got) == {
        "general.project_name": "a network is named by its model (--name)",
        "dataset.name": "training belongs to the model zoo",
        "pre_processing.rescaling": "part of the quantized model, whose input takes bytes",
        "pre_processing.resizing": "the camera pipe scales in hardware",
        "model.model_type": "training belongs to the model zoo",
        "model.input_shape": "the model says it",
        "quantization": "the model is quantized already; the use case says the types of its inputs and outputs",
        "stm32ai.serie": "programs are found on this machine",
        "mlflow": "logs of training",
        "hydra": "folders of the model zoo's runs",
    }


def test_the_third_release(tmp_path: Path) -> None:
    got = imported(tmp_path, V3)
    assert got.release == "v2 or v3"
    assert {key: got.settings[key] for key in ("input_data_type", "inputs_ch_position")} == {
        "input_data_type": "uint8",
        "inputs_ch_position": "chlast",
    }
    assert "output_data_type" not in got.settings and "options" not in got.settings
    assert got.variant == "heat-stm32n6570-dk"
    made = section(tmp_path, got)
    assert (made.use_case, made.model_type, made.keypoints) == ("pose_estimation", "movenet", 13)
    assert (made.confidence_thresh, made.nms_thresh, made.application) == (0.4, None, "../app/STM32N6")
    assert got.settings["compiler"] == {"stedgeai": "2.0.*"} and got.variant_settings["machine"] == "silicon"
    gone = dropped(got)
    assert gone["postprocessing.kpts_conf_thresh"] == "confidence_thresh is what the application is told"
    assert gone["postprocessing.NMS_thresh"] == "movenet does not choose between boxes"
    assert gone["tools.stedgeai.optimization"] == "does not apply to the NPU, where options stand in a profile"
    # One line for a section that is left out as a whole, at the line of its key.
    assert [str(each) for each in got.dropped if "augmentation" in each.key] == [
        "u.yaml:13: data_augmentation: training belongs to the model zoo"
    ]
    assert [each.where for each in got.dropped] == sorted((e.where for e in got.dropped), key=lambda w: int(w[7:]))
    assert got.notes == ()


def test_the_fourth_release(tmp_path: Path) -> None:
    got = imported(tmp_path, V4)
    assert (got.release, got.variant_settings["board"]) == ("v4", "nucleo-n657x0-q")
    made = section(tmp_path, got)
    assert (made.model_type, made.network_stride, made.anchors) == ("yolo_v2", 32, (0.9883, 3.3606, 2.1194, 5.3759))
    assert (made.confidence_thresh, made.nms_thresh, made.max_detection_boxes) == (0.6, 0.3, 10)
    assert dropped(got)["model.model_name"] == "a variant of the architecture, part of the model"


def test_sound(tmp_path: Path) -> None:
    got = imported(tmp_path, AUDIO)
    assert "input_data_type" not in got.settings
    made = section(tmp_path, got)
    assert made.class_names == ("dog", "rain")
    assert made.audio == app_config.AudioConfig(unknown_class_threshold=0.5)
    gone = dropped(got)
    assert gone["preprocessing.hop_length"] == "belongs to data sets"
    assert gone["feature_extraction.overlap"] == "the application extracts features its own way"
    assert got.configuration is not None and got.configuration.text() == "BM"


def test_a_classifier_reads_float32(tmp_path: Path) -> None:
    text = V3.replace("pose_estimation", "image_classification").replace(
        "model_type: heatmaps_spe", "model_type: resnet"
    )
    got = imported(tmp_path, text.replace("keypoints: 13", 'class_names: [a, no, "x: y"]'))
    assert got.settings["output_data_type"] == "float32"
    assert section(tmp_path, got).class_names == ("a", "no", "x: y")
    assert dropped(got)["general.model_type"] == "image_classification has one way only"
    assert dropped(got)["postprocessing.NMS_thresh"] == "classifier does not choose between boxes"


@pytest.mark.parametrize(
    ("zoo", "use_case", "expected"),
    [
        ("tiny_yolo_v2", "object_detection", ("yolo_v2", 32)),
        ("st_yolo_lc_v1", "object_detection", ("yolo_v2", 16)),
        ("st_yololcv1", "object_detection", ("yolo_v2", 16)),
        ("st_yolo_x", "object_detection", ("st_yolo_x", 0)),
        ("st_yoloxn", "object_detection", ("st_yolo_x", 0)),
        ("yolo_v8", "object_detection", ("yolo_v8", 0)),
        ("yolov11n", "object_detection", ("yolo_v8", 0)),
        ("yolo_v5u", "object_detection", ("yolo_v8", 0)),
        ("st_ssd_mobilenet_v1", "object_detection", ("st_ssd", 0)),
        ("face_detect_front", "object_detection", ("blazeface", 0)),
        ("facedetect_front", "face_detection", ("blazeface", 0)),
        ("yolo_mpe", "pose_estimation", ("yolo_v8_pose", 0)),
        ("yolov8n", "pose_estimation", ("yolo_v8_pose", 0)),
        ("yolo_v8_seg", "instance_segmentation", ("yolo_v8_seg", 0)),
        ("deeplab_v3", "semantic_segmentation", ("deeplab_v3", 0)),
    ],
)
def test_model_types(tmp_path: Path, zoo: str, use_case: str, expected: tuple[str, int]) -> None:
    text = V4.replace("yolov2t\n", f"{zoo}\n").replace("object_detection", use_case)
    made = section(tmp_path, imported(tmp_path, text))
    assert (made.use_case, made.model_type, made.network_stride) == (use_case, *expected)


def test_references_between_values(tmp_path: Path) -> None:
    text = V4.replace("models/object_detection/t.tflite", "${paths.root}/${.model_name}_${paths.${which}}.tflite")
    text = text.replace("[person]", '"${names}"')
    text += "paths: {root: zoo/object_detection, eight: int8}\nwhich: eight\nnames: [a, b]\nlimits: {low: 0.25}\n"
    text = text.replace("confidence_thresh: 0.6", "confidence_thresh: ${limits.low}").replace("0.3", "${..limits.low}")
    got = imported(tmp_path, text)
    assert got.settings["model"] == "zoo/object_detection/yolov2t_224_int8.tflite"
    made = section(tmp_path, got)
    assert (made.class_names, made.confidence_thresh, made.nms_thresh) == (("a", "b"), 0.25, 0.25)
    assert dropped(got)["paths"] == dropped(got)["which"] == "not a key of the model zoo that is known"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${nowhere.at.all}", "refers to nowhere.at.all, which is not there (write the value out)"),
        ("${model.model_path}", "model.model_path: refers to itself"),
        ("${a}${b}", "refers to itself"),
        ("${now:%Y}.tflite", "${now:...} depends on when and where it runs (write the value out)"),
        ("${oc.env:HOME}/m.tflite", "its value comes from the environment variable HOME (write the value out)"),
        ("${my.own:1}", "${my.own:...} depends on when and where it runs"),
        ("${ 1 + 1 }", "is no reference that is understood"),
        ("${....x}", "refers to x, which is not there"),
        ("${dataset}", "must be a single value"),
    ],
)
def test_references_that_lead_nowhere(tmp_path: Path, value: str, said: str) -> None:
    text = V4.replace("models/object_detection/t.tflite", f'"{value}"') + 'a: "${b}"\nb: "${a}"\n'
    with pytest.raises(NeuralArtError) as caught:
        imported(tmp_path, text, Wishes(use_case="object_detection"))
    assert said in str(caught.value) and str(caught.value).startswith("u.yaml:")


def test_references_that_nobody_needs_are_not_followed(tmp_path: Path) -> None:
    text = V4 + 'training: {a: "${nowhere}", b: "${now:%Y}", c: "${oc.env:X}"}\n'
    assert dropped(imported(tmp_path, text))["training"] == "training belongs to the model zoo"


def test_other_values_of_references(tmp_path: Path) -> None:
    path = "models/object_detection/t.tflite"
    text = V4.replace(path, '"${oc.env:ZOO, zoo}/object_detection/\\\\${x}.tflite"')
    assert imported(tmp_path, text).settings["model"] == "zoo/object_detection/${x}.tflite"
    assert imported(tmp_path, V4.replace(path, "???"), Wishes(model="a/object_detection/b.tflite")).network == "b"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("models/object_detection/t.tflite", "", "u.yaml: names no model: model.model_path (or general.model_path) is"),
        ("models/object_detection/t.tflite", "???", "names no model"),
        ("models/object_detection/t.tflite", "/", "u.yaml:5: model.model_path: '/' is not the path of a file"),
        (
            "yolov2t\n",
            "yolo_v22\n",
            "model.model_type: 'yolo_v22' is no model type of the zoo that is known (did you mean",
        ),
        (
            "yolov2t\n",
            "deeplab_v3\n",
            "'deeplab_v3' is deeplab_v3, which object_detection does not have (known: yolo_v2",
        ),
        (
            "confidence_thresh: 0.6",
            "confidence_thresh: 60",
            "postprocessing.confidence_thresh: 60 is out of range, allowed: 0",
        ),
        ("NMS_thresh: 0.3", "NMS_thresh: often", "postprocessing.NMS_thresh: 'often' is not a number (decimal, or a"),
        ("NMS_thresh: 0.3", "NMS_thresh: 1/0", "'1/0' is not a number"),
        ("NMS_thresh: 0.3", "NMS_thresh: {a: 1}", "postprocessing.NMS_thresh: must be a single value"),
        ("max_detection_boxes: 10", "max_detection_boxes: 2.5", "2.5 is not a whole number"),
        ("aspect_ratio: fit", "aspect_ratio: stretch", "preprocessing.resizing.aspect_ratio: 'stretch' is not allowed"),
        ("color_mode: rgb", "color_mode: rgba", "preprocessing.color_mode: 'rgba' is not allowed (did you mean 'rgb'?"),
        ("[[0.9883, 3.3606], [2.1194, 5.3759]]", "[1, 2, 3]", "has 3 numbers, anchors are pairs"),
        ("[[0.9883, 3.3606], [2.1194, 5.3759]]", "(1, x)", "'(1, x)' is not a list of numbers"),
        ("[[0.9883, 3.3606], [2.1194, 5.3759]]", "{a: 1}", "postprocessing.yolo_anchors: must be"),
        ("NUCLEO-N657X0-Q", "my board!", "'my board!' is not the name of a board"),
        ("[person]", "{a: 1}", "dataset.class_names: must be a list"),
        (
            "operation_mode: deployment",
            "<<: {a: 1}",
            "u.yaml:1: a key must be a plain word (merge keys (<<) are not read)",
        ),
        ("operation_mode: deployment", "? [a]\n: 1", "a key must be a plain word"),
        ("operation_mode: deployment", "- 1", "not valid YAML"),
    ],
)
def test_bad_values(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in V4
    with pytest.raises(NeuralArtError) as caught:
        imported(tmp_path, V4.replace(old, new))
    assert said in flat(str(caught.value))


def test_an_optimization_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match=r"stm32ai.optimization: 'rom' is not allowed \(did you mean 'ram'"):
        imported(tmp_path, V1.replace("optimization: ram", "optimization: rom"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [*a]\n", "nested deeper than 60 levels (do aliases refer in a circle?)"),
        ("a: &a {b: *a}\n", "nested deeper than 60 levels"),
        ("".join(f"k{n}: &k{n} [{', '.join([f'*k{n - 1}'] * 9) if n else 1}]\n" for n in range(9)), "too many values"),
        ("[" * 70 + "]" * 70, "nested deeper than 60 levels"),
        ("- a\n", "the file must be a mapping of keys and values"),
        ("", "the file is empty"),
        ("a: b: c\n", "not valid YAML"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        imported(tmp_path, text)
    assert said in str(caught.value)


def test_what_the_user_says_wins(tmp_path: Path) -> None:
    got = imported(tmp_path, V4, Wishes("mine", "x/other.onnx", "my-board", "face_detection"))
    assert (got.network, got.settings["model"], got.variant) == ("mine", "x/other.onnx", "mine-my-board")
    assert got.settings["app_config"]["use_case"] == "face_detection"
    with pytest.raises(NeuralArtError, match="no use case 'faces'"):
        imported(tmp_path, V4, Wishes(use_case="faces"))


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (V4.replace("t.tflite", "t.h5"), "t.h5 is not quantized: a network is compiled from .tflite (or .onnx)"),
        (
            V4.replace("models/object", "https://x.org/object"),
            "https://x.org/object_detection/t.tflite is not fetched: put t.tflite beside this file",
        ),
        (
            V4.replace("board: NUCLEO-N657X0-Q", "x: 1"),
            "the file names no board: stm32n6570-dk is assumed (--board says it)",
        ),
        (
            V4.replace("aspect_ratio: fit", "aspect_ratio: padding"),
            "applications for the N6 have no padding: choose crop,",
        ),
        (V4.replace("class_names: [person]", "x: 1"), "the file names no classes: add class_names to app_config"),
        (V4.replace("c_project_path: ../a", "x: 1"), "the file names no application: add application: or generation:"),
        (
            V4.replace("  model_type: yolov2t\n", ""),
            "the file names no model_type: add one of yolo_v2, yolo_v5, yolo_v8",
        ),
        (
            V4.replace("  yolo_anchors: [[0.9883, 3.3606], [2.1194, 5.3759]]\n", ""),
            "the file has no yolo_anchors: add anchors to app_config, in cells, as the model was trained",
        ),
        (V4.replace("object_detection", "hand_posture"), "no header is made for this use case: app_config is left out"),
        (V4.replace("yolov2t\n", "hand_spe\n"), "no header is made for this use case: app_config is left out"),
        (
            V4.replace("yolov2t\n", "mine\n").replace("object_detection", "o"),
            "the use case is not clear: app_config is left out (--use-case says it)",
        ),
    ],
)
def test_notes(tmp_path: Path, text: str, note: str) -> None:
    notes = imported(tmp_path, text).notes
    assert any(each.startswith(note) for each in notes), notes


def test_a_type_that_two_use_cases_have(tmp_path: Path) -> None:
    with pytest.raises(NeuralArtError, match=r"use case of model_type 'yolov8n' is not clear \(--use-case says it\)"):
        imported(tmp_path, V4.replace("yolov2t\n", "yolov8n\n").replace("object_detection", "o"))


def test_the_board_with_two_interfaces(tmp_path: Path) -> None:
    hardware = "{board: NUCLEO-H743ZI2, input: CAMERA_INTERFACE_USB, output: DISPLAY_INTERFACE_SPI}"
    text = V4.replace("{serie: STM32N6, board: NUCLEO-N657X0-Q}", hardware).replace(
        "object_detection", "image_classification"
    )
    got = imported(tmp_path, text)
    assert got.variant_settings["board"] == "nucleo-h743zi2"
    assert (section(tmp_path, got).display, section(tmp_path, got).camera) == ("spi", "usb")
    other = imported(tmp_path, text.replace("NUCLEO-H743ZI2", "STM32H747I-DISCO"))
    assert dropped(other)["deployment.hardware_setup.input"] == "the board has one way only"


def test_a_name_that_means_a_verb(tmp_path: Path) -> None:
    assert imported(tmp_path, V4, Wishes(name="run")).variant == "net-run-nucleo-n657x0-q"
    assert imported(tmp_path, V4.replace("t.tflite", "3-d net.v1.tflite")).network == "net_3_d_net_v1"


@pytest.mark.parametrize("text", [V1, V3, V4, AUDIO])
def test_the_result_is_a_project_file(tmp_path: Path, text: str) -> None:
    got = imported(tmp_path, text, Wishes(board="stm32n6570-dk"))
    data = yaml.safe_load(convert.text(got, "u.yaml"))
    data["networks"][got.network].pop("app_config")  # read on its own above
    path = tmp_path / "variants.yaml"
    path.write_text(yaml.safe_dump(data))
    variant = config.read(path).variant(got.variant)
    assert variant.networks[0].model == got.settings["model"]


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=12), max_size=5))
@example([".0", ".5e3", "-.5", "._"])
def test_any_text_survives_the_emitted_yaml(names: list[str]) -> None:
    text = "\n".join(f"{key}: {convert.scalar(name)}" for key, name in zip("abcde", names, strict=False))
    assert list((yaml.safe_load(text) or {}).values()) == names
    assert yaml.safe_load("[" + ", ".join(map(convert.scalar, names)) + "]") == names


@given(st.floats(0, 1) | st.integers(0, 2**31))
def test_numbers_survive_the_emitted_yaml(number: float) -> None:
    assert float(convert.scalar(number)) == number


# The command ----------------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    zoo = tmp_path / "src" / "config_file_examples"
    for folder in (zoo, tmp_path / "zoo" / "pose_estimation", tmp_path / "mine"):
        folder.mkdir(parents=True)
    repositories.edge_impulse(tmp_path / "app" / "STM32N6")
    (tmp_path / "zoo" / "pose_estimation" / "heat.tflite").write_bytes(b"")
    (zoo / "c.yaml").write_text(V3.replace("verbosity: 1", "build_conf: N6-DK"))
    # The zoo's examples are read from the folder above them, and paths are written as the new file sees them.
    assert main(["import", "src/config_file_examples/c.yaml", "-o", "mine/variants.yaml"]) == 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert (
        "dropped: src/config_file_examples/c.yaml:24: mlflow: logs of training\n" in shown.err
        and "note" not in shown.err
    )
    data = yaml.safe_load((tmp_path / "mine" / "variants.yaml").read_text())
    assert data["networks"]["heat"]["model"] == "../zoo/pose_estimation/heat.tflite"
    assert data["networks"]["heat"]["app_config"]["application"] == "../app/STM32N6"
    assert data["networks"]["heat"]["compiler"] == {"stedgeai": "2.0.*"}
    # What the tree says: its build, and where its scripts flash the program.
    variant = config.read(tmp_path / "mine" / "variants.yaml").variant("heat-stm32n6570-dk")
    external = variant.application.external
    assert variant.application.kind == "make" and external is not None
    assert (external.folder, external.artefact) == ("../app/STM32N6", "build/out/Project.elf")
    assert dict(external.variables) == {"BUILD_CONF": "N6-DK"}
    assert (variant.machine, dict(variant.slots)) == ("silicon", {"application": 0x70080000})
    # Never over another file.
    assert main(["import", "src/config_file_examples/c.yaml", "-o", "mine/variants.yaml"]) == 1
    assert "mine/variants.yaml: is there already (another name, or --force to replace it)" in capsys.readouterr().err
    assert main(["import", "src/config_file_examples/c.yaml", "-o", "mine/variants.yaml", "--force"]) == 0
    capsys.readouterr()
    assert main(["import", "src/config_file_examples/c.yaml"]) == 0
    assert "    model: zoo/pose_estimation/heat.tflite\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("IDE: GCC", "IDE: GCC", ":20: deployment.c_project_path: ../app/STM32N6/ is not there: its firmware is not b"),
        ("  c_project_path: ../app/STM32N6/", "  speed: 3", ":20: deployment.speed: has no counterpart (or --lossy)"),
        ("mode: deployment", "mode: chain_qd", ":6: operation_mode: what is deployed is the model that the chain mak"),
    ],
)
def test_what_changes_the_meaning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], old: str, new: str, said: str
) -> None:
    path, out = tmp_path / "c.yaml", tmp_path / "out.yaml"
    path.write_text(V3.replace(old, new))
    assert main(["import", str(path), "-o", str(out)]) == 1
    shown = capsys.readouterr().err
    assert said in flat(shown.rstrip("\n")) and "or --lossy" in shown
    assert not out.exists()
    assert main(["import", str(path), "-o", str(out), "--lossy"]) == 0
    assert f"dropped: {path}{said[:20]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "compiler"),
    [("4.0.1", {"stedgeai": "4.0.*"}), ("10.2.0", {"stedgeai": "2.2.*"}), ("", "auto"), ("new", None)],
)
def test_the_compiler_of_the_zoo(tmp_path: Path, said: str, compiler: object) -> None:
    text = V3.replace("version: 10.0.0, ", f"version: {said}, " if said else "")
    if compiler is None:
        with pytest.raises(NeuralArtError, match="'new' is no version of ST Edge AI Core"):
            imported(tmp_path, text)
    else:
        assert imported(tmp_path, text).settings["compiler"] == compiler


H7_CAMERA = "Application/STM32H747I-DISCO"


def h7_application(top: Path, *, camera: bool) -> None:
    """An application for two cores; with a ``camera`` the patch list fits it, else a network lies in it."""
    project = "<projectDescription><name>Cam</name></projectDescription>"
    files = {f"{H7_CAMERA}/STM32CubeIDE/{core}/.project": project for core in ("CM4", "CM7")}
    for core in ("CM4", "CM7"):
        files[f"{H7_CAMERA}/STM32CubeIDE/{core}/.cproject"] = repositories.CPROJECT.format(name="Debug")
    names = ("Inc/CM7/main.h", "Src/CM7/main.c", "Inc/CM7/ai_interface.h")
    other = ("Net/Inc/network.h", "Net/Src/network.c")
    files |= {f"{H7_CAMERA}/{name}": "\n" for name in (names if camera else other)}
    repositories.put(top, files)


H7_CONF = """{"version": "0.1", "configurations": [], // c
 "memory_pool": {"internalFlash_size": "1024KB", "externalFlash_size": "64MB", "application_size": "8KB",},}"""


@pytest.mark.parametrize(
    ("script", "conf", "rooms"),
    [
        ("*(.InternalFlashSection) *(.ExternalFlashSection)", H7_CONF, (1016 << 10, 64 << 20)),
        ("*(.InternalFlashSection)", H7_CONF, ()),
        ("*(.InternalFlashSection) *(.ExternalFlashSection)", H7_CONF.replace("externalFlash_size", "x"), ()),
    ],
)
def test_flash_inside_and_outside_of_the_h7(tmp_path: Path, script: str, conf: str, rooms: tuple[int, ...]) -> None:
    """The zoo's description of a project says how much is there, if the linker script knows both sections."""
    h7_application(tmp_path / "app", camera=True)
    repositories.put(tmp_path / "app", {"stmaic_STM32H747I-DISCO.conf": conf, f"{H7_CAMERA}/app.ld": script})
    path, out = tmp_path / "v1.yaml", tmp_path / "variants.yaml"
    path.write_text(V1.replace("../app", "app"))
    assert main(["import", str(path), "-o", str(out)]) == 0
    (network,) = config.read(out).variant("demo_192_int8-stm32h747i-disco").networks
    names = (".InternalFlashSection", ".ExternalFlashSection")
    assert network.dispatch_weights == tuple(f"{name}={size}" for name, size in zip(names, rooms, strict=False))


@pytest.mark.parametrize("camera", [True, False])
def test_an_application_for_the_h7(tmp_path: Path, camera: bool) -> None:
    """Its build, the compiler with its version, and where the network takes the place of the application's own."""
    h7_application(tmp_path / "app", camera=camera)
    tool = "stm32ai:\n  version: 4.0.1\n"
    path, out = tmp_path / "v1.yaml", tmp_path / "variants.yaml"
    path.write_text(V1.replace("stm32ai:\n", tool).replace("../app", "app"))
    assert main(["import", str(path), "-o", str(out)]) == 0
    variant = config.read(out).variant("demo_192_int8-stm32h747i-disco")
    app = variant.application.external
    assert (variant.application.kind, variant.machine) == ("cubeide", "silicon") and app is not None
    assert (app.folder, app.directory, app.build) == ("app", f"{H7_CAMERA}/STM32CubeIDE/CM7", "native")
    (network,) = variant.networks
    assert (network.name, network.compiler, network.compiler_version) == ("network", "stedgeai", "4.0.*")
    rules = [(rule.pattern, rule.destination) for rule in app.stage.rules]
    if camera:
        assert variant.patch is not None and (variant.patch.aspect_ratio, rules) == ("fit", [])
    else:
        assert variant.patch is None
        assert rules == [("network*.c", f"{H7_CAMERA}/Net/Src/"), ("network*.h", f"{H7_CAMERA}/Net/Inc/")]


def test_an_application_for_the_h7_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An error; without it the camera application of this project is built, by the reference compiler."""
    path, out = tmp_path / "v1.yaml", tmp_path / "variants.yaml"
    path.write_text(V1)
    assert main(["import", str(path), "-o", str(out)]) == 1
    assert "stm32ai.c_project_path: ../app is not there: its firmware is not built" in flat(
        capsys.readouterr().err.rstrip("\n")
    )
    assert main(["import", str(path), "-o", str(out), "--lossy", "--name", "mine"]) == 0
    data = yaml.safe_load(out.read_text())
    assert "compiler" not in data["networks"]["mine"]
    section = data["networks"]["mine"]["app_config"]
    assert section["generation"] == "h7" and "application" not in section, "nothing is looked for where nothing is"
    assert not {"application", "machine"} & data["variants"]["mine-stm32h747i-disco"].keys()


def test_paths_that_lead_nowhere_are_kept_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(V4.replace("NUCLEO-N657X0-Q", "STM32F7-X"))
    assert main(["import", str(path), "--lossy"]) == 0
    shown = capsys.readouterr()
    assert "    model: models/object_detection/t.tflite\n" in shown.out
    assert "note: model: models/object_detection/t.tflite is not there, seen from " in shown.err
    assert "note: there is no board stm32f7-x: describe it in a file of your own" in shown.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none.yaml"], "none.yaml: cannot read"),
        (["c.yaml", "--name", "2x"], "'2x' is no C identifier"),
        (["c.yaml", "--use-case", "pose"], "no use case 'pose'"),
    ],
)
def test_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words, said
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_text(V4)
    assert main(["import", *words]) == 1
    shown = capsys.readouterr()
    assert said in shown.err and shown.err.count("\n") == 1 and shown.out == ""


def test_damaged_files_are_one_line_or_a_result(tmp_path: Path) -> None:
    """No traceback, whatever a slip of the keyboard makes of a file."""
    draw = random.Random(7)
    pieces = (
        "${a}",
        "${",
        "}",
        "{",
        "[",
        "]",
        ":",
        "\n",
        "  ",
        "- ",
        "&a ",
        "*a",
        "None",
        "???",
        '"',
        "1e9",
        "\t",
        "<<: ",
    )
    path = tmp_path / "u.yaml"
    refused = 0
    for _ in range(400):
        text = draw.choice((V1, V3, V4, AUDIO))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            text = text[:at] + draw.choice(pieces) + text[at + draw.randint(0, 6) :]
        path.write_text(text)
        try:
            yaml.safe_load(convert.text(convert.convert(tree.read(path, "u.yaml")), "u.yaml"))
        except NeuralArtError as error:
            assert "u.yaml" in flat(str(error))
            refused += 1
    assert 100 < refused < 400
