"""Networks, settings and applications for tests of configuration headers: all of them made up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from neuralart.app_config.generations import GENERATIONS
from neuralart.app_config.tensors import TensorInfo, Tensors
from neuralart.config.app_config import AppConfig, AudioConfig


def tensor(*shape: int, dtype: str = "float32", layout: str = "", name: str = "out", scale=None, zero=0) -> TensorInfo:
    """A tensor; four axes are NHWC unless said otherwise."""
    scale = (0.0 if dtype == "float32" else 0.25) if scale is None else scale
    return TensorInfo(name, shape, layout or ("NHWC" if len(shape) == 4 else ""), dtype, scale, zero)


def picture(height: int, width: int = 0, channels: int = 3, dtype: str = "uint8") -> TensorInfo:
    """An input for a camera."""
    return tensor(1, height, width or height, channels, dtype=dtype, name="image", scale=1 / 255)


def network(given: TensorInfo, *outputs: TensorInfo) -> Tensors:
    """A network with one input; outputs get numbers."""
    named = tuple(replace(out, name=f"{out.name}_{at}") if len(outputs) > 1 else out for at, out in enumerate(outputs))
    return Tensors("network", (given,), named, "network.json")


@dataclass(frozen=True)
class Case:
    """A use case: settings and a network that fits."""

    name: str
    config: AppConfig
    tensors: Tensors

    def with_outputs(self, dtype: str) -> Case:
        """The same with other outputs."""
        outputs = tuple(
            replace(
                out, dtype=dtype, scale=0.0 if dtype == "float32" else 0.25, zero_point=-7 if dtype == "int8" else 0
            )
            for out in self.tensors.outputs
        )
        return replace(self, tensors=replace(self.tensors, outputs=outputs))


_LIMITS = {"confidence_thresh": 0.6, "nms_thresh": 0.45, "max_detection_boxes": 10}
_CLASSES = ("bird", 'a "quoted" cat', "d\\og")
_ANCHORS = (0.9883, 3.3606, 2.1194, 5.3759, 3.052, 9.1336, 5.5517, 9.3066, 9.726, 11.1422)

MOVENET = Case(
    "pose_movenet",
    AppConfig("pose_estimation", "movenet", confidence_thresh=0.4, keypoints=13),
    network(picture(192), tensor(1, 48, 48, 13, name="heatmaps")),
)
CLASSIFIER = Case(
    "image_classification",
    AppConfig("image_classification", "classifier", class_names=("daisy", "dandelion", "roses"), aspect_ratio="fit"),
    network(picture(128, 96), tensor(1, 3, name="scores")),
)
YOLO_V8 = Case(
    "detection_yolo_v8",
    AppConfig("object_detection", "yolo_v8", class_names=_CLASSES, color_mode="bgr", **_LIMITS),
    network(picture(256), tensor(1, 7, 1344)),
)
YOLO_V5 = Case(
    "detection_yolo_v5",
    AppConfig("object_detection", "yolo_v5", class_names=("person",), **_LIMITS),
    network(picture(320), tensor(1, 6300, 6, dtype="uint8")),
)
YOLO_V2 = Case(
    "detection_yolo_v2",
    AppConfig("object_detection", "yolo_v2", class_names=("person",), network_stride=32, anchors=_ANCHORS, **_LIMITS),
    network(picture(224, 416), tensor(1, 7, 13, 30)),
)
YOLO_X = Case(
    "detection_st_yolo_x",
    AppConfig("object_detection", "st_yolo_x", class_names=("person", "cup"), camera_flip="flip_mirror", **_LIMITS),
    network(picture(256), tensor(1, 8, 8, 7), tensor(1, 32, 32, 7), tensor(1, 16, 16, 7)),
)
SSD = Case(
    "detection_st_ssd",
    AppConfig("object_detection", "st_ssd", class_names=("person",), aspect_ratio="fit", **_LIMITS),
    network(picture(192), tensor(1, 3830, 2), tensor(1, 3830, 4), tensor(1, 3830, 4)),
)
_FACE = (tensor(1, 512, 16), tensor(1, 512, 1), tensor(1, 384, 1), tensor(1, 384, 16))
BLAZEFACE = Case(
    "detection_blazeface",
    AppConfig("object_detection", "blazeface", class_names=("face",), **_LIMITS),
    network(picture(128), *_FACE),
)
FACES = Case(
    "face_blazeface", AppConfig("face_detection", "blazeface", **_LIMITS), network(picture(128), *_FACE)
).with_outputs("int8")
POSES = Case(
    "pose_yolo_v8", AppConfig("pose_estimation", "yolo_v8_pose", **_LIMITS), network(picture(256), tensor(1, 56, 1344))
)
DEEPLAB = Case(
    "segmentation_deeplab_v3",
    AppConfig("semantic_segmentation", "deeplab_v3", class_names=("background", "person"), aspect_ratio="full_screen"),
    network(picture(320, 256), tensor(1, 320, 256, 2)),
)
SEG = Case(
    "segmentation_yolo_v8",
    AppConfig("instance_segmentation", "yolo_v8_seg", class_names=("a", "b"), **_LIMITS),
    network(
        picture(256),
        tensor(1, 38, 1344, dtype="int8", scale=0.02, zero=25),
        tensor(1, 64, 64, 32, dtype="int8", scale=0.0207486841827631, zero=-115),
    ),
)
AUDIO = Case(
    "audio_event",
    AppConfig(
        "audio_event_detection",
        "log_mel",
        class_names=("dog", "chainsaw", "rain"),
        audio=AudioConfig(unknown_class_threshold=0.5),
    ),
    network(tensor(1, 64, 96, 1, dtype="int8", name="patch"), tensor(1, 3, name="scores")),
)
CASES = (*(CLASSIFIER, MOVENET, POSES, YOLO_V8, YOLO_V5, YOLO_V2, YOLO_X, SSD, BLAZEFACE, FACES, DEEPLAB, SEG), AUDIO)

# What each generation can do, without an application at hand; other types of output follow in the table of suffixes.
_POSSIBLE = {
    "image_classification": ("h7", "n6-v1", "n6-v2", "n6-v3"),
    "pose_movenet": ("n6-v1", "n6-v2", "n6-v3"),
    "pose_yolo_v8": ("n6-v1", "n6-v2", "n6-v3"),
    "detection_yolo_v8": ("n6-v1", "n6-v2", "n6-v3"),
    "detection_yolo_v5": ("n6-v1", "n6-v2", "n6-v3"),
    "detection_yolo_v2": ("h7", "n6-v1", "n6-v2", "n6-v3"),
    "detection_st_yolo_x": ("h7", "n6-v1", "n6-v2", "n6-v3"),
    "detection_st_ssd": ("h7", "n6-v1", "n6-v2"),
    "detection_blazeface": ("n6-v3",),
    "face_blazeface": ("n6-v3",),
    "segmentation_deeplab_v3": ("n6-v1", "n6-v2", "n6-v3"),
    "segmentation_yolo_v8": ("n6-v1", "n6-v2", "n6-v3"),
    "audio_event": ("audio-v1", "audio-v2"),
}


def possible() -> Iterator[tuple[Case, str]]:
    """Every use case with every generation that has it."""
    for case in CASES:
        yield from ((case, generation) for generation in _POSSIBLE[case.name])


# Applications ---------------------------------------------------------------------------------------------------------


def wrapper_header(generation: str, *, without: tuple[str, ...] = (), more: tuple[str, ...] = ()) -> str:
    """Text of an app_postprocess.h that numbers its symbols as that generation does."""
    step = 100 if generation == "n6-v3" else 10
    lines = ["#ifndef APP_POSTPROCESS_H", "#define APP_POSTPROCESS_H"]
    if generation != "h7":
        names = [name for name in (*GENERATIONS[generation].symbols, *more) if name not in without]
        lines += [f"#define {name:<34} ({step + at}) /* number {at} */" for at, name in enumerate(names)]
    info = ", stai_network_info *info" if generation == "n6-v3" else ""
    return "\n".join([*lines, f"int app_postprocess_init(void *parameters{info});", "#endif", ""])


def wrapper_source(symbol: str, *macros: str) -> str:
    """Text of an app_postprocess_x.c that implements one symbol and reads some macros."""
    reads = "\n".join(f"    values[{at}] = {macro};" for at, macro in enumerate(macros))
    return (
        '#include "app_postprocess.h"\n#include "app_config.h"\n\n'
        f"#if POSTPROCESS_TYPE == {symbol}\n"
        f"int app_postprocess_init(void *parameters)\n{{\n    float *values = parameters;\n{reads}\n    return 0;\n}}\n"
        "#endif\n"
    )


def write_application(root: Path, files: dict[str, str]) -> Path:
    """Files below a folder; returns the folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return root
