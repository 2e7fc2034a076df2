"""The generations of headers, which are not compatible with each other, and which one an application expects."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.app_config.application import Application, Wrapper
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass


@dataclass(frozen=True)
class Generation:
    name: str  # as in ``generation:``
    header: str  # name of the file
    layout: str  # template that the templates of use cases extend
    # ``POSTPROCESS_...`` symbols that its wrapper defines; where an application is named, its own wrapper decides
    # instead
    symbols: tuple[str, ...]
    sizes: bool = False  # the header brings NN_*, CAPTURE_* and LCD_* along
    aspect_ratios: Mapping[str, str] | None = None  # ``aspect_ratio:`` -> symbol
    color_modes: Mapping[str, str] | None = None  # ``color_mode:`` -> symbol


def _symbols(words: str) -> tuple[str, ...]:
    return tuple(f"POSTPROCESS_{word}" for word in words.split())


_N6_FIRST = _symbols("""
    OD_YOLO_V2_UF OD_YOLO_V5_UU OD_YOLO_V8_UF OD_YOLO_V8_UI OD_ST_YOLOX_UF OD_ST_SSD_UF MPE_YOLO_V8_UF MPE_PD_UF
    SPE_MOVENET_UF ISEG_YOLO_V8_UI SSEG_DEEPLAB_V3_UF CUSTOM
""")
_N6_LATER = _symbols("""
    OD_YOLO_V2_UF OD_YOLO_V2_UI OD_YOLO_V5_UU OD_YOLO_V8_UF OD_YOLO_V8_UI OD_ST_YOLOX_UF OD_ST_YOLOX_UI OD_SSD_UF
    OD_SSD_UI OD_ST_YOLOD_UI OD_BLAZEFACE_UF OD_BLAZEFACE_UU OD_BLAZEFACE_UI MPE_YOLO_V8_UF MPE_YOLO_V8_UI MPE_PD_UF
    SPE_MOVENET_UF SPE_MOVENET_UI ISEG_YOLO_V8_UI SSEG_DEEPLAB_V3_UF SSEG_DEEPLAB_V3_UI FD_BLAZEFACE_UI FD_YUNET_UI
    CUSTOM
""")
# The header itself numbers these from 1, in this order.
H7_SYMBOLS = _symbols("CENTER_NET YOLO_V2 ST_SSD SSD ST_YOLO_X")
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

_HINT = "say it: generation: n6-v2, for example"


def expected(application: Application, where: str = "") -> str:
    """Find the generation that an application expects. NeuralArtError: its sources do not show it, or disagree."""
    wrapper = application.wrapper
    if wrapper is not None and (wrapper.symbols or wrapper.tested):
        return _by_wrapper(wrapper)
    if wrapper is not None and wrapper.header:
        raise NeuralArtError("defines no POSTPROCESS_ symbol", where=wrapper.header, hint=_HINT)
    sizes = application.reads_any("STAI_NETWORK_IN_1_")
    found = {
        "audio-v1": application.reads_any("CTRL_X_CUBE_AI_MODE_"),
        "audio-v2": application.reads_any("CTRL_X_CUBE_AI_MODEL_"),
        "h7": application.reads_any("QUANT_INPUT_TYPE", "PP_COLOR_MODE"),
        "n6-v3": sizes,
        # Sizes that the header brings along; an application may read both for a while.
        "n6-v2": "" if sizes else application.reads_any("NN_WIDTH"),
    }
    said = [(name, reason) for name, reason in found.items() if reason]
    if len(said) > 1:
        what = "sources of two generations: " + "; ".join(f"{name}, {reason}" for name, reason in said)
        raise NeuralArtError(what, where=where or application.root, hint=_HINT)
    if not said:
        what = f"there is no app_postprocess.h below {application.root}"
        what += ", and no source reads a macro of a generated header"
        raise NeuralArtError(what, where=where, hint=_HINT)
    return said[0][0]


def _by_wrapper(wrapper: Wrapper) -> str:
    if not wrapper.symbols:
        if set(wrapper.tested) & set(H7_SYMBOLS):
            return "h7"
        name, place = min(wrapper.tested.items(), key=lambda item: item[1])
        what = f"compares POSTPROCESS_TYPE with {name}, which no app_postprocess.h defines"
        hint = "is the application complete? or say the generation: generation: n6-v2, for example"
        raise NeuralArtError(what, where=place, hint=hint)
    ids = [number for name, number in wrapper.numbers.items() if name != "POSTPROCESS_CUSTOM"]
    # The later wrapper counts in hundreds and asks the st-ai runtime for quantization.
    if any(number >= 100 for number in ids) or "stai_network_info" in wrapper.words:
        return "n6-v3"
    old = any(read.name.startswith("AI_OBJDETECT_") and "_PP_" in read.name for read in wrapper.reads)
    return "n6-v1" if old else "n6-v2"
