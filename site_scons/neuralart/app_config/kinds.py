"""Which use cases there are: template, symbols, names of macros and the function that derives the values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from neuralart import plugins
from neuralart.app_config import audio, detection, vision
from neuralart.app_config.generations import AUDIO, N6, VISION
from neuralart.app_config.request import Request, Values


@dataclass(frozen=True)
class Kind:
    """A use case with its model type."""

    template: str | Path  # file of the template: a name of ours, of a plugin its path
    derive: Callable[[Request], Values]  # makes the values
    generations: tuple[str, ...] = N6  # those that have such an application
    # what a symbol is made of: ``POSTPROCESS_<stem>_U<letter>``; more than one where it was renamed
    stems: tuple[str, ...] = ()
    h7_symbol: str = ""  # the symbol of the STM32H747
    # generation -> beginning of the macros; an application that reads one of the others gets that one
    prefixes: Mapping[str, str] = field(default_factory=dict)
    families: tuple[str, ...] = ()  # further beginnings of macros that the post-processing reads
    companions: tuple[str, ...] = ()  # names of the files beside the header, the same for every network

    def all_prefixes(self) -> tuple[str, ...]:
        """Every beginning that one of the generations uses, each once."""
        return tuple(dict.fromkeys(self.prefixes.values()))


def _object(name: str, h7: str = "") -> dict[str, str]:
    first, later = f"AI_OBJDETECT_{name}_PP_", f"AI_OD_{name}_PP_"
    return {"n6-v1": first, "n6-v2": later, "n6-v3": later, **({"h7": h7} if h7 else {})}


_YOLO_X = {
    "h7": "AI_OBJDETECT_YOLOVX_PP_",
    "n6-v1": "AI_OBJDETECT_YOLOVX_PP_",
    "n6-v2": "AI_OD_ST_YOLOX_PP_",
    "n6-v3": "AI_OD_ST_YOLOX_PP_",
}
_SSD = {"h7": "AI_OBJDETECT_SSD_ST_PP_", **dict.fromkeys(N6, "AI_OD_SSD_ST_PP_")}
_POSE = ("AI_POSE_PP_",)
_ANCHORS = ("fd_blazeface_anchors_0.h", "fd_blazeface_anchors_1.h")

KINDS: Mapping[tuple[str, str], Kind] = {
    ("image_classification", "classifier"): Kind("image_classification.h.j2", vision.classifier, VISION),
    ("object_detection", "yolo_v2"): Kind(
        "detection_yolo_v2.h.j2",
        detection.yolo_v2,
        VISION,
        ("OD_YOLO_V2",),
        "POSTPROCESS_YOLO_V2",
        _object("YOLOV2", "AI_OBJDETECT_YOLOV2_PP_"),
    ),
    ("object_detection", "yolo_v5"): Kind(
        "detection_yolo_v5.h.j2", detection.yolo_v5, N6, ("OD_YOLO_V5",), prefixes=_object("YOLOV5")
    ),
    ("object_detection", "yolo_v8"): Kind(
        "detection_yolo_v8.h.j2", detection.yolo_v8, N6, ("OD_YOLO_V8",), prefixes=_object("YOLOV8")
    ),
    ("object_detection", "st_yolo_x"): Kind(
        "detection_st_yolo_x.h.j2", detection.st_yolo_x, VISION, ("OD_ST_YOLOX",), "POSTPROCESS_ST_YOLO_X", _YOLO_X
    ),
    ("object_detection", "st_ssd"): Kind(
        "detection_st_ssd.h.j2", detection.st_ssd, VISION, ("OD_ST_SSD",), "POSTPROCESS_ST_SSD", _SSD
    ),
    ("object_detection", "blazeface"): Kind(
        "detection_blazeface.h.j2",
        detection.blazeface,
        N6,
        ("OD_BLAZEFACE", "OD_FD_BLAZEFACE"),
        prefixes={"n6-v3": "AI_OD_BLAZEFACE_PP_", "n6-v2": "AI_OD_FD_BLAZEFACE_PP_", "n6-v1": "AI_OD_FD_BLAZEFACE_PP_"},
        companions=_ANCHORS,
    ),
    ("face_detection", "blazeface"): Kind(
        "detection_blazeface.h.j2",
        detection.blazeface,
        N6,
        ("FD_BLAZEFACE",),
        prefixes=dict.fromkeys(N6, "AI_FD_BLAZEFACE_PP_"),
        companions=_ANCHORS,
    ),
    ("pose_estimation", "movenet"): Kind(
        "pose_movenet.h.j2",
        vision.movenet,
        N6,
        ("SPE_MOVENET",),
        prefixes=dict.fromkeys(N6, "AI_SPE_MOVENET_POSTPROC_"),
        families=_POSE,
    ),
    ("pose_estimation", "yolo_v8_pose"): Kind(
        "pose_yolo_v8.h.j2",
        vision.yolo_v8_pose,
        N6,
        ("MPE_YOLO_V8",),
        prefixes=dict.fromkeys(N6, "AI_MPE_YOLOV8_PP_"),
        families=_POSE,
    ),
    ("semantic_segmentation", "deeplab_v3"): Kind(
        "segmentation_deeplab_v3.h.j2",
        vision.deeplab_v3,
        N6,
        ("SSEG_DEEPLAB_V3",),
        prefixes=dict.fromkeys(N6, "AI_SSEG_DEEPLABV3_PP_"),
    ),
    ("instance_segmentation", "yolo_v8_seg"): Kind(
        "segmentation_yolo_v8.h.j2",
        vision.yolo_v8_seg,
        N6,
        ("ISEG_YOLO_V8",),
        prefixes=dict.fromkeys(N6, "AI_YOLOV8_SEG_"),
    ),
    ("audio_event_detection", "log_mel"): Kind(
        "audio_event.h.j2", audio.log_mel, AUDIO, companions=("user_mel_tables.c", "user_mel_tables.h")
    ),
}


def kind_of(use_case: str, model_type: str) -> Kind:
    """The use case of two settings.

    Args:
        use_case: As the settings name it.
        model_type: Likewise.

    Raises:
        NeuralArtError: There is none, or its plugin cannot be loaded.
    """
    found: Kind = plugins.find("use_cases", f"{use_case}/{model_type}").made
    return found


for (_case, _type), _kind in KINDS.items():
    plugins.register("use_cases", f"{_case}/{_type}", _kind, protocol=1)
