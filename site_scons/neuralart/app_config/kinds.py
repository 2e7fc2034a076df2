"""Which use cases there are: template, symbols, names of macros and the function that derives the values.

Which ``POSTPROCESS_...`` symbol and which names of macros a header takes: the application's own wrapper decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from neuralart import plugins
from neuralart.app_config import audio, vision
from neuralart.app_config.application import Wrapper
from neuralart.app_config.generations import AUDIO, N6, VISION
from neuralart.app_config.request import LETTERS, Request, Values
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass, field, replace

# The first wrapper calls its DeepLab "UF" and reads bytes.
_TAKES_UINT8 = "AI_SSEG_DATA_UINT8"
_DEFINED = re.compile(r"^[ \t]*(?:#[ \t]*define[ \t]+|static const \w+ )([A-Za-z_]\w*)", re.M | re.ASCII)


@dataclass(frozen=True)
class UseCase:
    """A use case with its model type.

    Attributes:
        template: File of the template: the name of a built-in one, or the path of a plugin's.
        derive: Makes the values.
        generations: Those that have such an application.
        stems: What a symbol is made of: ``POSTPROCESS_<stem>_U<letter>``; more than one where it was renamed.
        h7_symbol: The symbol of the STM32H747.
        prefixes: Generation -> beginning of the macros; an application that reads one of the others gets that one.
        families: Further beginnings of macros that the post-processing reads.
        companions: Names of the files beside the header, the same for every network.
    """

    template: str | Path
    derive: Callable[[Request], Values]
    generations: tuple[str, ...] = N6
    stems: tuple[str, ...] = ()
    h7_symbol: str = ""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    families: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()

    def all_prefixes(self) -> tuple[str, ...]:
        """Every beginning that one of the generations uses, each once."""
        return tuple(dict.fromkeys(self.prefixes.values()))


def _made(
    template: str,
    derive: Callable[[Request], Values],
    stems: str,
    prefix: str,
    *,
    h7: str = "",
    others: Mapping[str, str] | None = None,
    **more: tuple[str, ...],
) -> UseCase:
    """A use case with a post-processing, on the STM32H747 too where it has a symbol there."""
    prefixes, symbol = {**dict.fromkeys(N6, prefix), **(others or {})}, f"POSTPROCESS_{h7}" if h7 else ""
    return UseCase(f"{template}.h.j2", derive, VISION if h7 else N6, (*stems.split(),), symbol, prefixes, **more)


# Generations whose macros begin otherwise.
_YOLO_V5, _YOLO_V8 = ({"n6-v1": f"AI_OBJDETECT_{name}_PP_"} for name in ("YOLOV5", "YOLOV8"))
_YOLO_V2, _YOLO_X = ({each: f"AI_OBJDETECT_{name}_PP_" for each in ("n6-v1", "h7")} for name in ("YOLOV2", "YOLOVX"))
_SSD, _FACES = {"h7": "AI_OBJDETECT_SSD_ST_PP_"}, {"n6-v3": "AI_OD_BLAZEFACE_PP_"}
_ANCHORS = ("fd_blazeface_anchors_0.h", "fd_blazeface_anchors_1.h")
_POSE = ("AI_POSE_PP_",)

KINDS: Mapping[tuple[str, str], UseCase] = {
    ("image_classification", "classifier"): UseCase("image_classification.h.j2", vision.classifier, VISION),
    ("object_detection", "yolo_v2"): _made(
        "detection_yolo_v2", vision.yolo_v2, "OD_YOLO_V2", "AI_OD_YOLOV2_PP_", h7="YOLO_V2", others=_YOLO_V2
    ),
    ("object_detection", "yolo_v5"): _made(
        "detection_yolo_v5", vision.yolo_v5, "OD_YOLO_V5", "AI_OD_YOLOV5_PP_", others=_YOLO_V5
    ),
    ("object_detection", "yolo_v8"): _made(
        "detection_yolo_v8", vision.yolo_v8, "OD_YOLO_V8", "AI_OD_YOLOV8_PP_", others=_YOLO_V8
    ),
    ("object_detection", "st_yolo_x"): _made(
        "detection_st_yolo_x", vision.st_yolo_x, "OD_ST_YOLOX", "AI_OD_ST_YOLOX_PP_", h7="ST_YOLO_X", others=_YOLO_X
    ),
    ("object_detection", "st_ssd"): _made(
        "detection_st_ssd", vision.st_ssd, "OD_ST_SSD", "AI_OD_SSD_ST_PP_", h7="ST_SSD", others=_SSD
    ),
    ("object_detection", "blazeface"): _made(
        "detection_blazeface",
        vision.blazeface,
        "OD_BLAZEFACE OD_FD_BLAZEFACE",
        "AI_OD_FD_BLAZEFACE_PP_",
        others=_FACES,
        companions=_ANCHORS,
    ),
    ("face_detection", "blazeface"): _made(
        "detection_blazeface", vision.blazeface, "FD_BLAZEFACE", "AI_FD_BLAZEFACE_PP_", companions=_ANCHORS
    ),
    ("pose_estimation", "movenet"): _made(
        "pose_movenet", vision.movenet, "SPE_MOVENET", "AI_SPE_MOVENET_POSTPROC_", families=_POSE
    ),
    ("pose_estimation", "yolo_v8_pose"): _made(
        "pose_yolo_v8", vision.yolo_v8_pose, "MPE_YOLO_V8", "AI_MPE_YOLOV8_PP_", families=_POSE
    ),
    ("semantic_segmentation", "deeplab_v3"): _made(
        "segmentation_deeplab_v3", vision.deeplab_v3, "SSEG_DEEPLAB_V3", "AI_SSEG_DEEPLABV3_PP_"
    ),
    ("instance_segmentation", "yolo_v8_seg"): _made(
        "segmentation_yolo_v8", vision.yolo_v8_seg, "ISEG_YOLO_V8", "AI_YOLOV8_SEG_"
    ),
    ("audio_event_detection", "log_mel"): UseCase(
        "audio_event.h.j2", audio.log_mel, AUDIO, companions=("user_mel_tables.c", "user_mel_tables.h")
    ),
}


def kind_of(use_case: str, model_type: str) -> UseCase:
    """Find the use case of two settings. NeuralArtError: there is none, or its plugin cannot be loaded."""
    plugin = plugins.find("use_cases", f"{use_case}/{model_type}")
    found: UseCase = plugin.made
    return found if plugin.source is plugins.OWN else replace(found, derive=plugin.guarded("derive"))


for (_case, _type), _kind in KINDS.items():
    plugins.register("use_cases", f"{_case}/{_type}", _kind, protocol=1)


# The names that a header takes ---------------------------------------------------------------------------------------


def _wrapper(request: Request) -> Wrapper | None:
    return request.application.wrapper if request.application else None


def _known(request: Request) -> tuple[tuple[str, ...], str]:
    """Symbols that there are, and who says so."""
    generation, wrapper = request.generation, _wrapper(request)
    if wrapper is not None:
        if generation.name == "h7" and wrapper.tested:
            return tuple(sorted(wrapper.tested)), wrapper.sources[0]
        if generation.name != "h7" and wrapper.symbols:
            return tuple(sorted(wrapper.symbols)), wrapper.header
    return generation.symbols, f"the wrapper of generation {generation.name}"


def _taken(request: Request, symbol: str) -> str:
    """Type of the outputs that the source of a symbol takes: its last letter, unless the source says otherwise."""
    wrapper = _wrapper(request)
    if wrapper is not None and any(read.name == _TAKES_UINT8 for read in wrapper.reads_under(symbol)):
        return "uint8"
    return {letter: dtype for dtype, letter in LETTERS.items()}[symbol[-1]]


def choose_symbol(request: Request, kind: UseCase, dtype: str) -> str:
    """Choose the ``POSTPROCESS_...`` symbol for this use case and type of output; empty if it has no post-processing.
    NeuralArtError: the wrapper has no such symbol, or no source that implements it.
    """
    known, who = _known(request)
    if request.generation.name == "h7":
        if kind.h7_symbol and kind.h7_symbol not in known:
            raise request.refuse(f"{kind.h7_symbol} is not in {who}", nearest(kind.h7_symbol, known), "model_type")
        return kind.h7_symbol
    if not kind.stems:
        return ""
    of_kind = [symbol for stem in kind.stems for symbol in known if re.fullmatch(f"POSTPROCESS_{stem}_U[FIU]", symbol)]
    fitting = [symbol for symbol in of_kind if _taken(request, symbol) == dtype]
    if not fitting:
        wanted = f"POSTPROCESS_{kind.stems[0]}_U{LETTERS[dtype]}"
        what = f"{wanted} is not in {who}" if wanted not in known else f"{wanted} of {who} takes other outputs"
        hint = nearest(wanted, known)
        if of_kind:
            hint = f"it has {of_kind[0]}: compile with output_data_type: {_taken(request, of_kind[0])}"
        raise request.refuse(f"{what} (the outputs are {dtype})", hint, "model_type")
    symbol, wrapper = fitting[0], _wrapper(request)
    if wrapper is not None and wrapper.sources and symbol not in wrapper.tested:
        where, hint = wrapper.symbols.get(symbol, wrapper.header), ", ".join(sorted(wrapper.tested)) or "none"
        raise NeuralArtError(f"{symbol} is defined, but no source implements it", where=where, hint=f"sources: {hint}")
    return symbol


def choose_prefix(request: Request, kind: UseCase, symbol: str) -> str:
    """Choose the beginning of the macros: what the wrapper's sources read, else the generation's."""
    usual, wrapper = kind.prefixes.get(request.generation.name, ""), _wrapper(request)
    if wrapper is None or not symbol:
        return usual
    read = [read.name for read in wrapper.reads_under(symbol) if read.name not in wrapper.defines]
    for candidate in (usual, *kind.all_prefixes()):
        if candidate and any(name.startswith(candidate) for name in read):
            return candidate
    return usual


def check_reads(request: Request, kind: UseCase, symbol: str, text: str) -> None:
    """Check that the header defines what the wrapper reads under the symbol. NeuralArtError: the wrapper reads a macro
    that neither the header nor the application defines.
    """
    application, wrapper = request.application, _wrapper(request)
    if application is None or wrapper is None or not symbol:
        return
    beginnings = (*kind.all_prefixes(), *kind.families)
    defined = {*_DEFINED.findall(text), *wrapper.defines}
    for read in wrapper.reads_under(symbol):
        asked = not read.optional and read.name not in defined and read.name.startswith(beginnings)
        if asked and not application.provides(read.name):
            what = f"reads {read.name}, which {request.generation.header} does not define"
            hint = f"defines: [{read.name}=...] in app_config, or a template of your own"
            raise NeuralArtError(what, where=read.where, hint=hint)
