"""The section app_config: what each key takes, and one line for everything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuralart.config import app_config
from neuralart.config.app_config import AppConfig, AudioConfig
from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values
from support.servers.messages import flat

MOVENET = "use_case: pose_estimation, model_type: movenet"
DETECTOR = "use_case: object_detection, model_type: yolo_v8"
AUDIO = "use_case: audio_event_detection"


def read(tmp_path: Path, keys: str) -> AppConfig:
    path = tmp_path / "app.yaml"
    path.write_text(f"schema: 1\napp_config: {{{keys}}}\n")
    return app_config.read(path, "app.yaml")


def refusal(tmp_path: Path, keys: str) -> str:
    with pytest.raises(NeuralArtError) as caught:
        read(tmp_path, keys)
    return str(caught.value)


def test_every_key(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text("""\
schema: 1
app_config:
  use_case: object_detection
  model_type: yolo_v2
  class_names: [person, "no", 'a "b"']
  keypoints: 17
  aspect_ratio: full_screen
  color_mode: bgr
  camera_flip: flip_mirror
  confidence_thresh: 0.4
  nms_thresh: 1e-1
  max_detection_boxes: 10
  anchors: [0.5, 1, 2., .25]
  network_stride: 16
  welcome: [one, two]
  generation: n6-v1
  application: ../firmware
  template: mine.h.j2
  display: spi
  camera: dcmi
  defines: [ROTATE, "LEVEL=(3)"]
  audio:
    target_rate: 48000
    n_mels: 40
    patch_length: 50
    hop_length: 480
    n_fft: 1024
    window_length: 1024
    fmin: 0
    fmax: 20000
    power: 2
    norm: slaney
    htk: false
    to_db: true
    use_garbage_class: true
    unknown_class_threshold: 0
    silence_threshold: 12.5
    sensor: mic
""")
    got = app_config.read(path, "app.yaml")
    assert got == AppConfig(
        use_case="object_detection",
        model_type="yolo_v2",
        class_names=("person", "no", 'a "b"'),
        keypoints=17,
        aspect_ratio="full_screen",
        color_mode="bgr",
        camera_flip="flip_mirror",
        confidence_thresh=0.4,
        nms_thresh=0.1,
        max_detection_boxes=10,
        anchors=(0.5, 1.0, 2.0, 0.25),
        network_stride=16,
        welcome=("one", "two"),
        generation="n6-v1",
        application="../firmware",
        template="mine.h.j2",
        display="spi",
        camera="dcmi",
        defines=("ROTATE", "LEVEL=(3)"),
        audio=AudioConfig(48000, 40, 50, 480, 1024, 1024, 0, 20000, 2, "slaney", False, True, True, 0.0, 12.5, "mic"),
        where=got.where,
    )
    assert (got.said(), got.said("nms_thresh"), got.said("audio.n_fft")) == ("app.yaml:2", "app.yaml:11", "app.yaml:27")


def test_the_only_model_type_need_not_be_named(tmp_path: Path) -> None:
    assert read(tmp_path, "use_case: semantic_segmentation").model_type == "deeplab_v3"
    assert read(tmp_path, f"{AUDIO}, audio: {{}}").audio == AudioConfig()
    assert read(tmp_path, AUDIO).audio is None


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ("model_type: movenet", "app.yaml:2: app_config: 'use_case' is missing (known: image_classification, "),
        ("use_case: pose", "app.yaml:2: app_config.use_case: 'pose' is not allowed (known: audio_event_detection, "),
        ("use_case: pose_estimatoin", "did you mean 'pose_estimation'?"),
        ("use_case: object_detection", "'model_type' is missing, object_detection has 6 (known: yolo_v2, yolo_v5"),
        (
            "use_case: pose_estimation, model_type: yolo_v8",
            "app_config.model_type: 'yolo_v8' is no model type of pose_estimation (did you mean 'yolo_v8_pose'?",
        ),
        (f"{MOVENET}, NMS_thresh: 0.5", "unknown key 'NMS_thresh' in app_config (did you mean 'nms_thresh'?"),
        (f"{MOVENET}, confidence: 0.5", "unknown key 'confidence' in app_config (did you mean 'confidence_thresh'?"),
        (f"{MOVENET}, audio: {{nfft: 5}}", "unknown key 'nfft' in app_config.audio (did you mean 'n_fft'?"),
        (f"{MOVENET}, confidence_thresh: 1.01", "1.01 is out of range, allowed: 0 to 1"),
        (f"{MOVENET}, confidence_thresh: -0.1", "-0.1 is out of range, allowed: 0 to 1"),
        (f"{MOVENET}, confidence_thresh: .nan", "must be a number, this is '.nan'"),
        (f"{MOVENET}, confidence_thresh: .inf", "must be a number, this is '.inf'"),
        (f"{MOVENET}, confidence_thresh: 1e999", "1e999 is out of range"),
        (f"{MOVENET}, confidence_thresh: 0x1", "must be a number, this is '0x1'"),
        (f"{MOVENET}, confidence_thresh: 1_0.5", "must be a number, this is '1_0.5'"),
        (f"{MOVENET}, confidence_thresh: 40%", "must be a number, this is '40%'"),
        (f"{MOVENET}, confidence_thresh: [0.4]", "must be a number, this is a list"),
        (f"{MOVENET}, confidence_thresh: null", "must be a number, this is empty"),
        (f"{MOVENET}, confidence_thresh: 0.{'1' * 50}", "must be a number"),
        (f"{DETECTOR}, nms_thresh: 2", "2 is out of range, allowed: 0 to 1"),
        (f"{DETECTOR}, max_detection_boxes: 0", "0 is out of range, allowed: 1 to 65535"),
        (f"{DETECTOR}, max_detection_boxes: 70000", "70000 is out of range, allowed: 1 to 65535"),
        (f"{DETECTOR}, max_detection_boxes: 2.5", "must be a number, this is '2.5'"),
        (f"{DETECTOR}, class_names: []", "class_names: is empty (name the classes in the order"),
        (f"{DETECTOR}, class_names: person", "class_names: must be a list, like [a, b], this is 'person'"),
        (f"{DETECTOR}, class_names: [no]", "no is a true/false value in YAML, this must be text"),
        (f"{DETECTOR}, class_names: [1]", "1 is a number in YAML, this must be text"),
        (f"{DETECTOR}, class_names: [a], class_names_file: b", "cannot both be there (keep one of them)"),
        (f"{DETECTOR}, anchors: [1, 2, 3]", "has 3 numbers, it takes pairs"),
        (f"{DETECTOR}, anchors: []", "has 0 numbers, it takes pairs"),
        (f"{DETECTOR}, anchors: [1, 0]", "anchors[1]: 0 is out of range"),
        (f"{DETECTOR}, network_stride: 0", "0 is out of range, allowed: 1 to 256"),
        (f"{DETECTOR}, aspect_ratio: stretch", "'stretch' is not allowed (known: crop, fit, full_screen, padding)"),
        (f"{DETECTOR}, color_mode: RGB", "'RGB' is not allowed"),
        (f"{DETECTOR}, camera_flip: both", "'both' is not allowed"),
        (f"{DETECTOR}, welcome: [a, b, c]", "has 3 lines, the display has room for one or two"),
        (f"{DETECTOR}, welcome: []", "has 0 lines"),
        (f"{DETECTOR}, generation: n6-v4", "'n6-v4' is not allowed (did you mean 'n6-v"),
        (f"{DETECTOR}, defines: ['2X']", "'2X' is not NAME or NAME=value"),
        (f"{DETECTOR}, keypoints: 0", "0 is out of range, allowed: 1 to 1000"),
        (f"{AUDIO}, audio: {{n_fft: 500}}", "500 is not a power of two"),
        (f"{AUDIO}, audio: {{n_fft: 256}}", "audio.window_length: 400 is more than n_fft, 256"),
        (f"{AUDIO}, audio: {{target_rate: 22050}}", "22050 is no rate of the microphone (allowed: 16000, 48000)"),
        (f"{AUDIO}, audio: {{fmin: 7500}}", "audio.fmin: 7500 Hz is not below fmax, 7500 Hz"),
        (f"{AUDIO}, audio: {{fmax: 8001}}", "audio.fmax: 8001 Hz is above half of target_rate, 8000 Hz"),
        (f"{AUDIO}, audio: {{power: 3}}", "3 is out of range, allowed: 1 to 2"),
        (f"{AUDIO}, audio: {{norm: l2}}", "'l2' is not allowed (known: none, slaney)"),
        (f"{AUDIO}, audio: {{htk: yes}}", "must be true or false, this is 'yes'"),
        (
            f"{AUDIO}, audio: {{use_garbage_class: true, unknown_class_threshold: 0.5}}",
            "a threshold and use_garbage_class exclude each other",
        ),
        (f"{AUDIO}, audio: 3", "app_config.audio: must be a mapping"),
    ],
)
def test_refused(tmp_path: Path, keys: str, said: str) -> None:
    message = flat(refusal(tmp_path, keys))
    assert message.startswith("app.yaml:2: ")
    assert said in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("app_config: {}\n", "'schema' is missing"),
        ("schema: 2\napp_config: {}\n", "a.yaml:1: schema: 2 is not a version this program reads"),
        ("schema: 1\n", "'app_config' is missing (the file is schema: 1 and app_config: with its keys)"),
        ("schema: 1\nappconfig: {}\n", "a.yaml:2: unknown key 'appconfig' (did you mean 'app_config'?"),
        ("schema: 1\napp_config: movenet\n", "must be a mapping"),
        ("", "the file is empty"),
        ("\t- x", "a tab indents this line"),
    ],
)
def test_a_file_that_is_none(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(NeuralArtError) as caught:
        app_config.read(path, "a.yaml")
    assert said in str(caught.value)


def test_layers_change_single_keys(tmp_path: Path) -> None:
    """An override of a variant changes one threshold, or one key of audio, and keeps the rest."""
    path = tmp_path / "v.yaml"
    path.write_text("""\
network: {use_case: audio_event_detection, class_names: [a], confidence_thresh: 0.5, audio: {n_mels: 40, fmin: 0}}
override: {confidence_thresh: 0.75, audio: {fmin: 50}}
""")
    parts = yaml_values.read(path, "v.yaml").mapping()
    layers = [app_config.read_settings(parts[name]) for name in ("network", "override")]
    got = app_config.resolve({**layers[0], "model": ("x.tflite", None), **layers[1]})
    assert got is not None
    assert (got.class_names, got.confidence_thresh) == (("a",), 0.75)
    assert got.audio == AudioConfig(n_mels=40, fmin=50)
    assert (got.said("confidence_thresh"), got.said("audio.n_mels")) == ("v.yaml:2", "v.yaml:1")


def test_no_section_is_none() -> None:
    assert app_config.resolve({}) is None
    assert app_config.resolve({"model": ("x.tflite", None), "strategies.a": ("flash", None)}) is None
