"""The generations of headers, which are not compatible with each other, and the symbols that each one knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Generation:
    """A generation."""

    name: str  # as in ``generation:``
    header: str  # name of the file
    layout: str  # template that the templates of use cases extend
    # ``POSTPROCESS_...`` symbols that its wrapper defines; where an application is named, its own wrapper decides
    # instead
    symbols: tuple[str, ...]
    sizes: bool = False  # the header brings NN_*, CAPTURE_* and LCD_* along
    aspect_ratios: Mapping[str, str] | None = None  # ``aspect_ratio:`` -> symbol
    color_modes: Mapping[str, str] | None = None  # ``color_mode:`` -> symbol


_N6_FIRST = (
    "POSTPROCESS_OD_YOLO_V2_UF",
    "POSTPROCESS_OD_YOLO_V5_UU",
    "POSTPROCESS_OD_YOLO_V8_UF",
    "POSTPROCESS_OD_YOLO_V8_UI",
    "POSTPROCESS_OD_ST_YOLOX_UF",
    "POSTPROCESS_OD_ST_SSD_UF",
    "POSTPROCESS_MPE_YOLO_V8_UF",
    "POSTPROCESS_MPE_PD_UF",
    "POSTPROCESS_SPE_MOVENET_UF",
    "POSTPROCESS_ISEG_YOLO_V8_UI",
    "POSTPROCESS_SSEG_DEEPLAB_V3_UF",
    "POSTPROCESS_CUSTOM",
)
_N6_LATER = (
    "POSTPROCESS_OD_YOLO_V2_UF",
    "POSTPROCESS_OD_YOLO_V2_UI",
    "POSTPROCESS_OD_YOLO_V5_UU",
    "POSTPROCESS_OD_YOLO_V8_UF",
    "POSTPROCESS_OD_YOLO_V8_UI",
    "POSTPROCESS_OD_ST_YOLOX_UF",
    "POSTPROCESS_OD_ST_YOLOX_UI",
    "POSTPROCESS_OD_SSD_UF",
    "POSTPROCESS_OD_SSD_UI",
    "POSTPROCESS_OD_ST_YOLOD_UI",
    "POSTPROCESS_OD_BLAZEFACE_UF",
    "POSTPROCESS_OD_BLAZEFACE_UU",
    "POSTPROCESS_OD_BLAZEFACE_UI",
    "POSTPROCESS_MPE_YOLO_V8_UF",
    "POSTPROCESS_MPE_YOLO_V8_UI",
    "POSTPROCESS_MPE_PD_UF",
    "POSTPROCESS_SPE_MOVENET_UF",
    "POSTPROCESS_SPE_MOVENET_UI",
    "POSTPROCESS_ISEG_YOLO_V8_UI",
    "POSTPROCESS_SSEG_DEEPLAB_V3_UF",
    "POSTPROCESS_SSEG_DEEPLAB_V3_UI",
    "POSTPROCESS_FD_BLAZEFACE_UI",
    "POSTPROCESS_FD_YUNET_UI",
    "POSTPROCESS_CUSTOM",
)
# The header itself numbers these from 1, in this order.
H7_SYMBOLS = (
    "POSTPROCESS_CENTER_NET",
    "POSTPROCESS_YOLO_V2",
    "POSTPROCESS_ST_SSD",
    "POSTPROCESS_SSD",
    "POSTPROCESS_ST_YOLO_X",
)
_N6_ASPECT = {"crop": "ASPECT_RATIO_CROP", "fit": "ASPECT_RATIO_FIT", "full_screen": "ASPECT_RATIO_FULLSCREEN"}
_H7_ASPECT = {"crop": "ASPECT_RATIO_CROP", "fit": "ASPECT_RATIO_FIT", "padding": "ASPECT_RATIO_PADDING"}
_N6_COLOR = {"rgb": "COLOR_RGB", "bgr": "COLOR_BGR"}
_H7_COLOR = {"rgb": "RGB_FORMAT", "bgr": "BGR_FORMAT", "grayscale": "GRAYSCALE_FORMAT"}

_ALL = (
    Generation("h7", "ai_model_config.h", "layout_h7.h.j2", H7_SYMBOLS, False, _H7_ASPECT, _H7_COLOR),
    Generation("n6-v1", "app_config.h", "layout_n6.h.j2", _N6_FIRST, True, _N6_ASPECT, _N6_COLOR),
    Generation("n6-v2", "app_config.h", "layout_n6.h.j2", _N6_FIRST, True, _N6_ASPECT, _N6_COLOR),
    Generation("n6-v3", "app_config.h", "layout_n6.h.j2", _N6_LATER, False, _N6_ASPECT, _N6_COLOR),
    Generation("audio-v1", "ai_model_config.h", "layout_audio.h.j2", ()),
    Generation("audio-v2", "ai_model_config.h", "layout_audio.h.j2", ()),
)
GENERATIONS: Mapping[str, Generation] = {generation.name: generation for generation in _ALL}
N6 = ("n6-v1", "n6-v2", "n6-v3")
VISION = ("h7", *N6)
AUDIO = ("audio-v1", "audio-v2")
