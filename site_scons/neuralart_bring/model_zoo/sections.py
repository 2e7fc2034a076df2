"""The keys of ``app_config:`` from the sections of a configuration; what the keys and words of the zoo mean here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from neuralart.config.app_config import COLOR_MODES, USE_CASES
from neuralart.config.app_config import MODEL_TYPES as USE_CASE_TYPES
from neuralart.errors import nearest
from neuralart_bring.model_zoo.tree import ZooConfig, ZooEntry

# (model type, network_stride) -> model_type of the zoo; what is not here is a name of a family of classifiers.
_SPELLINGS = {
    ("yolo_v2", 32): "tiny_yolo_v2 yolov2t",
    ("yolo_v2", 16): "st_yolo_lc_v1 st_yololcv1",
    ("st_yolo_x", 0): "st_yolo_x st_yoloxn",
    ("yolo_v5", 0): "yolo_v5",
    ("yolo_v8", 0): "yolo_v5u yolov5u yolo_v8 yolov8 yolov8n yolo_v11 yolov11 yolov11n",
    ("st_ssd", 0): "st_ssd_mobilenet_v1 ssd_mobilenet_v2_fpnlite SSD",
    ("blazeface", 0): "face_detect_front facedetect_front",
    ("movenet", 0): "heatmaps_spe",
    ("yolo_v8_pose", 0): "yolo_mpe",
    ("deeplab_v3", 0): "deeplab_v3 deeplabv3",
    ("yolo_v8_seg", 0): "yolo_v8_seg yolov8n_seg",
}
MODEL_TYPES: Mapping[str, tuple[str, int]] = {
    word: kind for kind, words in _SPELLINGS.items() for word in words.split()
}
# Model types that have an application, but no header here.
NO_HEADER = frozenset({"CENTER_NET", "hand_spe", "spe", "ssd", "st_yolodv2milli", "st_yolod", "yunet", "yunetn"})
# The same word in another use case.
BY_USE_CASE: Mapping[tuple[str, str], str] = {
    ("pose_estimation", "yolo_v8"): "yolo_v8_pose",
    ("instance_segmentation", "yolo_v8"): "yolo_v8_seg",
}
# Where a model type alone says what it is for: those of the zoo call three of their own yolo_v8.
USE_CASE_OF: Mapping[str, str] = {
    kind: use_case for use_case in USE_CASES for kind in USE_CASE_TYPES[use_case] if kind != "yolo_v8"
}
# Parts of paths of the zoo -> use case; empty: it has one, but no header is made for it.
FOLDERS: Mapping[str, str] = {
    **{name: name for name in USE_CASES},
    "audio": "audio_event_detection",
    "sensing_free_rtos": "audio_event_detection",
    **dict.fromkeys(("speech_enhancement", "sensing_thread_x", "hand_posture", "human_activity_recognition"), ""),
    **dict.fromkeys(("arc_fault_detection", "depth_estimation", "neural_style_transfer"), ""),
    **dict.fromkeys(("re_identification", "reidentification"), ""),
}
# Families of parts -> the built-in board that is meant where none is named.
SERIES: Mapping[str, str] = {"STM32N6": "stm32n6570-dk", "STM32H7": "stm32h747i-disco"}
# How the zoo's names of boards with an STM32N6 begin.
N6_BOARDS = ("stm32n6", "nucleo-n6")
# feature_extraction.<key> -> audio.<key>.
AUDIO = (
    *("n_mels", "patch_length", "hop_length", "n_fft", "window_length", "fmin", "fmax", "power", "norm", "htk"),
    "to_db",
)

NO_COUNTERPART = "has no counterpart"
_TRAINING = "training belongs to the model zoo"
_PROGRAM = "programs are found on this machine"
_RESCALING = "part of the quantized model, whose input takes bytes"
_SCALING = "the camera pipe scales in hardware"
# Dotted path -> why nothing here corresponds. The longest one wins; a section whose keys are all dropped is one line.
REASONS: Mapping[str, str] = {
    **dict.fromkeys(("general", "dataset", "training", "train_parameters", "data_augmentation", "model"), _TRAINING),
    **dict.fromkeys(("custom_data_augmentation", "callbacks"), _TRAINING),
    **dict.fromkeys(("evaluation", "prediction"), "accuracy on a data set is measured by the model zoo"),
    **dict.fromkeys(("benchmarking", "benchmark"), "boards are measured here, not in a cloud"),
    **dict.fromkeys(("preprocessing", "pre_processing"), "belongs to data sets"),
    **dict.fromkeys(("preprocessing.rescaling", "pre_processing.rescaling"), _RESCALING),
    **dict.fromkeys(("preprocessing.resizing.interpolation", "pre_processing.resizing"), _SCALING),
    **dict.fromkeys(("postprocessing", "post_processing"), "belongs to evaluation"),
    **dict.fromkeys(("tools", "stm32ai"), _PROGRAM),
    **dict.fromkeys(("tools.stedgeai.on_cloud", "tools.stm32ai.on_cloud"), "networks are compiled on this machine"),
    "general.project_name": "a network is named by its model (--name)",
    "operation_mode": "scons and its targets say what is done",
    "quantization": "the model is quantized already; the use case says the types of its inputs and outputs",
    "mlflow": "logs of training",
    "hydra": "folders of the model zoo's runs",
    "defaults": "hydra's composition of files; write the values into this one",
    "model.model_name": "a variant of the architecture, part of the model",
    "model.input_shape": "the model says it",
    "feature_extraction": "the application extracts features its own way",
    "deployment": NO_COUNTERPART,
    "deployment.verbosity": "scons says what it does",
    "deployment.hardware_setup.serie": "follows from the board",
    "deployment.hardware_setup": "the board has one way only",
}

_DETECTORS = ("yolo_v2", "yolo_v5", "yolo_v8", "st_yolo_x", "st_ssd", "blazeface", "yolo_v8_pose", "yolo_v8_seg")
_ANCHORED = ("yolo_v2", "st_yolo_x")
_POSES = ("movenet", "yolo_v8_pose")
# The first release asked a question: keep the aspect ratio?
_RATIOS = {**{name: name for name in ("crop", "fit", "padding", "full_screen")}, "False": "fit", "false": "fit"}


def _either(*paths: str) -> tuple[str, ...]:
    """A path in the spelling of all releases."""
    return (*paths, *(path.replace("processing.", "_processing.") for path in paths))


def _probability(entry: ZooEntry) -> float:
    number = entry.number()
    if not 0.0 <= number <= 1.0:
        raise entry.error(f"{number:g} is out of range, allowed: 0 to 1")
    return number


def _names(source: ZooConfig) -> dict[str, object]:
    found = source.take("dataset.class_names")
    if found is not None:
        return {"class_names": [item.text() for item in found.items()]}
    found = source.take("dataset.classes_file_path", "deployment.label_file_path")
    if found is not None:
        return {"class_names_file": found.text().replace("\\", "/")}
    source.note("the file names no classes: add class_names to app_config")
    return {}


def application(source: ZooConfig, model_type: str, stride: int, n6: bool, board: str) -> dict[str, object]:
    """Keys of an application with a camera."""
    section: dict[str, object] = {}
    if model_type not in _POSES:
        section |= _names(source)
    else:
        section |= source.taken("keypoints", ZooEntry.integer, "dataset.keypoints")
    return section | _camera(source, n6) | _thresholds(source, model_type, stride) | _interfaces(source, board)


def _camera(source: ZooConfig, n6: bool) -> dict[str, object]:
    section: dict[str, object] = {}
    found = source.take("preprocessing.resizing.aspect_ratio", "pre_processing.aspect_ratio")
    if found is not None:
        section["aspect_ratio"] = _RATIOS[_choice(found, tuple(_RATIOS))]
        if n6 and section["aspect_ratio"] == "padding":
            source.note("applications for the N6 have no padding: choose crop, fit or full_screen for aspect_ratio")
    color = partial(_choice, allowed=COLOR_MODES)
    return section | source.taken("color_mode", color, *_either("preprocessing.color_mode"))


def _choice(entry: ZooEntry, allowed: Sequence[str]) -> str:
    word = entry.text()
    if word not in allowed:
        raise entry.error(f"'{word}' is not allowed", nearest(word, tuple(allowed)))
    return word


def _thresholds(source: ZooConfig, model_type: str, stride: int) -> dict[str, object]:
    section: dict[str, object] = {}
    names = ["confidence_thresh"] if model_type in (*_DETECTORS, "movenet") else []
    if model_type == "movenet":
        both = [entry for name in ("confidence_thresh", "kpts_conf_thresh") if (entry := _post(source, name))]
        if len(both) == 2:
            source.drop(both[1], "confidence_thresh is what the application is told")
        names.append("kpts_conf_thresh")
    paths = _either(*(f"postprocessing.{name}" for name in names))
    section |= source.taken("confidence_thresh", _probability, *paths)
    for name, key in (("NMS_thresh", "nms_thresh"), ("max_detection_boxes", "max_detection_boxes")):
        entry = _post(source, name)
        if entry is None:
            continue
        if model_type not in _DETECTORS:
            source.drop(entry, f"{model_type} does not choose between boxes")
            continue
        source.take(entry.path)
        section[key] = _probability(entry) if key == "nms_thresh" else entry.integer()
    if model_type in _DETECTORS and "max_detection_boxes" not in section:
        source.note("the file has no max_detection_boxes: add it to app_config")
    return {**section, **_anchors(source, model_type, stride)}


def _post(source: ZooConfig, name: str) -> ZooEntry | None:
    return source.first(*_either(f"postprocessing.{name}"))


def _anchors(source: ZooConfig, model_type: str, stride: int) -> dict[str, object]:
    section: dict[str, object] = {"network_stride": stride} if stride else {}
    found = _post(source, "yolo_anchors")
    if model_type not in _ANCHORED:
        if found is not None:
            source.drop(found, f"{model_type} has no anchors of its own")
        return section
    if found is not None:
        source.take(found.path)
        numbers = found.numbers()
        if not numbers or len(numbers) % 2:
            raise found.error(f"has {len(numbers)} numbers, anchors are pairs")
        section["anchors"] = numbers
    elif model_type == "yolo_v2":
        source.note("the file has no yolo_anchors: add anchors to app_config, in cells, as the model was trained")
    return section


def _interfaces(source: ZooConfig, board: str) -> dict[str, object]:
    """The NUCLEO-H743ZI2 can have its camera and its display on different interfaces; other boards cannot."""
    if not board.startswith("nucleo-h743"):
        return {}

    def interface(entry: ZooEntry, *, of: str) -> str:
        return entry.text().removeprefix(f"{of}_INTERFACE_").lower()

    display, camera = (partial(interface, of=of) for of in ("DISPLAY", "CAMERA"))
    section = source.taken("display", display, "deployment.hardware_setup.output")
    return section | source.taken("camera", camera, "deployment.hardware_setup.input")


def audio(source: ZooConfig) -> dict[str, object]:
    """Keys of an application with a microphone."""
    section = _names(source)
    sound = source.taken("target_rate", ZooEntry.integer, *_either("preprocessing.target_rate"))
    for key in AUDIO:
        if key == "norm":  # its usual value is None, which counts as empty elsewhere
            sound |= {"norm": "none", **source.taken(key, ZooEntry.text, f"feature_extraction.{key}")}
        else:
            read = ZooEntry.boolean if key in ("htk", "to_db") else ZooEntry.integer
            sound |= source.taken(key, read, f"feature_extraction.{key}")
    window = source.top.find("feature_extraction.window")
    if window is not None and window.text() != "hann":
        raise window.error(f"'{window.text()}': the application has a Hann window only")
    sound |= source.taken("use_garbage_class", ZooEntry.boolean, "dataset.use_garbage_class")
    paths = ("deployment.unknown_class_threshold", "model.unknown_class_threshold")
    sound |= source.taken("unknown_class_threshold", _probability, *paths)
    return {**section, "audio": sound}
