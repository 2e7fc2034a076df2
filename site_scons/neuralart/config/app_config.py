"""The keys of ``app_config:``: settings of an application header that the network does not contain. They are read in
layers: defaults, network, override of a variant.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.config.keys import PATH, Key, Located, Settings, define, either, members, one_of, real, section, whole
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass
from neuralart.text import yaml_values
from neuralart.text.values import Location, Value

SCHEMA = 1
# Use case -> model types; the first is meant where none is named and there is only one.
MODEL_TYPES: Mapping[str, tuple[str, ...]] = {
    "image_classification": ("classifier",),
    "object_detection": ("yolo_v2", "yolo_v5", "yolo_v8", "st_yolo_x", "st_ssd", "blazeface"),
    "face_detection": ("blazeface",),
    "pose_estimation": ("movenet", "yolo_v8_pose"),
    "semantic_segmentation": ("deeplab_v3",),
    "instance_segmentation": ("yolo_v8_seg",),
    "audio_event_detection": ("log_mel",),
}
USE_CASES = tuple(MODEL_TYPES)
GENERATIONS = ("h7", "n6-v1", "n6-v2", "n6-v3", "audio-v1", "audio-v2")
ASPECT_RATIOS = ("crop", "fit", "full_screen", "padding")
COLOR_MODES = ("rgb", "bgr", "grayscale")
CAMERA_FLIPS = ("none", "flip", "mirror", "flip_mirror")
DISPLAYS = ("usb", "spi")
CAMERAS = ("dcmi", "usb", "spi")
NORMS = ("none", "slaney")
SAMPLE_RATES = (16000, 48000)  # what the digital microphone can do


@dataclass(frozen=True)
class AudioConfig:
    """Settings of audio input and output."""

    target_rate: int = 16000  # Samples per second, 16000 or 48000
    n_mels: int = 64  # Rows of the spectrogram
    patch_length: int = 96  # Columns of the spectrogram
    hop_length: int = 160  # Samples from one column to the next
    n_fft: int = 512  # Length of the Fourier transform, a power of two
    window_length: int = 400  # Samples under the window, at most ``n_fft``
    fmin: int = 125  # Lowest frequency in Hz
    fmax: int = 7500  # Highest frequency in Hz
    power: int = 1  # 1 magnitude, 2 power
    norm: str = "none"  # ``none`` or ``slaney``
    htk: bool = True  # Mel formula of HTK instead of Slaney's
    to_db: bool = False  # Decibels instead of the natural logarithm
    use_garbage_class: bool = False  # The network has one more class, ``other``
    unknown_class_threshold: float = 0.0  # Below it a sound counts as unknown, 0 to 1; 0 turns this off
    silence_threshold: float | None = None  # Below this sum of a spectrogram it counts as silence; None: by rule
    sensor: str = "imp34dt05"  # Name of the microphone


@dataclass(frozen=True)
class AppConfig(Located):
    """The resolved section; empty, zero or None: not given."""

    use_case: str  # One of USE_CASES
    model_type: str  # One of MODEL_TYPES of the use case
    class_names: tuple[str, ...] = ()  # In the order of the network's output
    class_names_file: str = ""  # Instead of ``class_names``: a file with one name a line
    keypoints: int = 0  # Number of keypoints, to be compared with the network's
    aspect_ratio: str = "crop"  # ``crop``, ``fit``, ``full_screen`` (N6) or ``padding`` (H7)
    color_mode: str = "rgb"  # ``rgb``, ``bgr``, ``grayscale`` (H7)
    camera_flip: str = "none"  # ``none``, ``flip``, ``mirror`` or ``flip_mirror``
    confidence_thresh: float | None = None  # 0 to 1
    nms_thresh: float | None = None  # 0 to 1
    max_detection_boxes: int = 0  # At least 1
    anchors: tuple[float, ...] = ()  # Widths and heights in turn
    network_stride: int = 0  # Pixels of the input per cell of the output
    welcome: tuple[str, ...] = ()  # Up to two lines for the display
    generation: str = ""  # One of GENERATIONS; empty: by the application
    application: str = ""  # Folder of the application's sources; empty: none
    template: str = ""  # The user's own template; empty: ours
    display: str = ""  # H743 only: ``usb`` or ``spi``
    camera: str = ""  # H743 only: ``dcmi``, ``usb`` or ``spi``
    defines: tuple[str, ...] = ()  # Further macros, ``NAME`` or ``NAME=value``
    audio: AudioConfig | None = None  # Sound; None without the section


def _names(value: Value) -> tuple[str, ...]:
    names = value.texts()
    if not names:
        raise value.error("is empty", "name the classes in the order of the network's output")
    return names


def _welcome(value: Value) -> tuple[str, ...]:
    lines = value.texts()
    if not 1 <= len(lines) <= 2:
        raise value.error(f"has {len(lines)} lines, the display has room for one or two")
    return lines


def _anchors(value: Value) -> tuple[float, ...]:
    numbers = value.reals(1e-6, 1e6)
    if not numbers or len(numbers) % 2:
        raise value.error(f"has {len(numbers)} numbers, it takes pairs", "width and height of each anchor in turn")
    return numbers


def _rate(value: Value) -> int:
    number = value.integer(1)
    if number not in SAMPLE_RATES:
        raise value.error(f"{number} is no rate of the microphone", f"allowed: {', '.join(map(str, SAMPLE_RATES))}")
    return number


def use_cases() -> tuple[str, ...]:
    return tuple(dict.fromkeys((*USE_CASES, *(name.partition("/")[0] for name in plugins.names("use_cases")))))


def model_types(use_case: str) -> tuple[str, ...]:
    """List the model types of a use case, those of plugins too."""
    pairs = (name.partition("/") for name in plugins.names("use_cases"))
    added = (kind for case, _, kind in pairs if case == use_case)
    return tuple(dict.fromkeys((*MODEL_TYPES.get(use_case, ()), *added)))


def _transform(value: Value) -> int:
    number = value.integer(16, 8192)
    if number & (number - 1):
        raise value.error(f"{number} is not a power of two", "the Fourier transform of CMSIS-DSP takes no other")
    return number


AUDIO_KEYS: tuple[Key, ...] = (
    Key("target_rate", _rate, f"samples per second, {either(tuple(map(str, SAMPLE_RATES)))}"),
    Key("n_mels", whole(1, 1024), "rows of the spectrogram"),
    Key("patch_length", whole(1, 0xFFFF), "columns of the spectrogram"),
    Key("hop_length", whole(1, 0xFFFF), "samples from one column to the next"),
    Key("n_fft", _transform, "length of the Fourier transform, a power of two"),
    Key("window_length", whole(2, 8192), "samples under the window, not more than `n_fft`"),
    Key("fmin", whole(0, 24000), "lowest frequency in Hz"),
    Key("fmax", whole(1, 24000), "highest frequency in Hz, not above half of `target_rate`"),
    Key("power", whole(1, 2), "`1`: magnitude, `2`: power"),
    Key("norm", one_of(NORMS), either(NORMS)),
    Key("htk", Value.boolean, "`true`: HTK's formula for mels, `false`: Slaney's"),
    Key("to_db", Value.boolean, "`true`: decibels instead of the natural logarithm"),
    Key("use_garbage_class", Value.boolean, "`true`: the network has one more class, `other`"),
    Key("unknown_class_threshold", real(0.0, 1.0)).says(
        "0 to 1: a sound below it counts as unknown; not together with `use_garbage_class`", "`0`: off"
    ),
    Key("silence_threshold", real(0.0, 1e9)).says(
        "a spectrogram with a smaller sum counts as silence", "`100`; `0` with `to_db`"
    ),
    Key("sensor", Value.text, "name of the microphone"),
)


def _audio(value: Value) -> Settings:
    """Keyed like ``audio.n_fft``; ``audio.`` itself has the place of the section."""
    return {"audio.": (None, value.where), **section("audio", value, AUDIO_KEYS)}


def _joined_audio(merged: Settings) -> AudioConfig | None:
    """Sound from merged layers. NeuralArtError: two of its keys contradict each other."""
    mine = members(merged, "audio")
    if not mine:
        return None
    _, where = mine.pop("")

    def refuse(key: str, what: str) -> NeuralArtError:
        place = mine[key][1] if key in mine else where
        return NeuralArtError(f"app_config.audio.{key}: {what}", where=str(place))

    audio = AudioConfig(**{key: value for key, (value, _) in mine.items()})
    if audio.window_length > audio.n_fft:
        raise refuse("window_length", f"{audio.window_length} is more than n_fft, {audio.n_fft}")
    if audio.fmin >= audio.fmax:
        raise refuse("fmin", f"{audio.fmin} Hz is not below fmax, {audio.fmax} Hz")
    if 2 * audio.fmax > audio.target_rate:
        half = audio.target_rate // 2
        raise refuse("fmax", f"{audio.fmax} Hz is above half of target_rate, {half} Hz")
    if audio.use_garbage_class and audio.unknown_class_threshold:
        raise refuse("unknown_class_threshold", "a threshold and use_garbage_class exclude each other")
    return audio


_THRESHOLD = "refused for detectors"
KEYS: tuple[Key, ...] = (
    Key("use_case", lambda value: value.choice(USE_CASES if value.text() in USE_CASES else use_cases())).says(
        "see the table of use cases", "refused"
    ),
    Key("model_type", Value.text, "see the table of use cases", "the only one, if there is only one"),
    Key("class_names", _names).says(
        'names in the order of the network\'s output. Quote words that YAML reads as something else (`"no"`)',
        "refused where the use case has classes",
    ),
    Key("class_names_file", Value.text, needed=True, form=PATH).says(
        "instead of `class_names`: a file with one name per line"
    ),
    Key("keypoints", whole(1, 1000), "the expected number; the network must have the same", "not compared"),
    Key("aspect_ratio", one_of(ASPECT_RATIOS), "N6: `crop`, `fit`, `full_screen`. H7: `crop`, `fit`, `padding`"),
    Key("color_mode", one_of(COLOR_MODES), "`rgb` or `bgr`; H7 also `grayscale`"),
    Key("camera_flip", one_of(CAMERA_FLIPS), either(CAMERA_FLIPS)),
    Key("confidence_thresh", real(0.0, 1.0), "0 to 1", "refused where it is needed"),
    Key("nms_thresh", real(0.0, 1.0), "0 to 1: above this overlap one of two boxes is dropped", _THRESHOLD),
    Key("max_detection_boxes", whole(1, 0xFFFF), "1 to 65535", _THRESHOLD),
    Key("anchors", _anchors).says(
        "width and height of each anchor in turn: in cells for `yolo_v2`, as a fraction of the image for `st_yolo_x`",
        "refused for `yolo_v2`; `st_yolo_x`: 0.5, 0.5",
    ),
    Key("network_stride", whole(1, 256)).says(
        "pixels of the input for each cell: 32 for Tiny YOLO v2, 16 for ST YOLO LC", "refused for `yolo_v2`"
    ),
    Key("welcome", _welcome, "one or two lines for the display", "the model, and that it runs on the STM32"),
    Key("generation", one_of(GENERATIONS), "see below", "found from the application"),
    Key("application", Value.text, "the folder with the application's sources", "none", form=PATH),
    Key("template", Value.text, "your own template", "the use case's", form=PATH),
    Key("display", one_of(DISPLAYS), f"NUCLEO-H743ZI2 only: {either(DISPLAYS)}", "no such macro"),
    Key("camera", one_of(CAMERAS), f"NUCLEO-H743ZI2 only: {either(CAMERAS)}", "no such macro"),
    Key("defines", lambda value: tuple(define(item) for item in value.items())).says(
        "further macros at the end: `NAME` or `NAME=value`", "none"
    ),
    Key("audio", _audio, "sound, see below", needed=True, section=True, join=_joined_audio),
)


def read_settings(value: Value) -> Settings:
    """Read the section as one layer: value and place of each given key, such as ``app_config.nms_thresh`` and
    ``app_config.audio.n_fft``, so that an override may change one key. ``app_config.`` has the place of the section.
    """
    return {"app_config.": (None, value.where), **section("app_config", value, KEYS)}


def resolve(settings: Settings) -> AppConfig | None:
    """Make the section from merged layers; None without it. NeuralArtError: no use case, or a contradiction."""
    mine = members(settings, "app_config")
    if not mine:
        return None
    _, where = mine.pop("")
    places = {key: place for key, (_, place) in mine.items() if key != "audio."}
    values = {field: value for key in KEYS for field, value in key.values(mine).items()}
    if "use_case" not in values:
        hint = "known: " + ", ".join(USE_CASES)
        raise NeuralArtError("app_config: 'use_case' is missing", where=str(where), hint=hint)
    values["model_type"] = _model_type(values, places, where)
    if "class_names" in values and "class_names_file" in values:
        what = "app_config: 'class_names' and 'class_names_file' cannot both be there"
        raise NeuralArtError(what, where=str(places["class_names_file"]), hint="keep one of them")
    return AppConfig(**values, where=where, places=places)


def _model_type(values: Mapping[str, Any], places: Mapping[str, Location], where: Location) -> str:
    known, found = MODEL_TYPES.get(values["use_case"], ()), values.get("model_type")
    if found not in known and (found is not None or not known):
        known = model_types(values["use_case"])
    if found is None:
        if len(known) == 1:
            return known[0]
        what = f"app_config: 'model_type' is missing, {values['use_case']} has {len(known)}"
        raise NeuralArtError(what, where=str(where), hint="known: " + ", ".join(known))
    if found not in known:
        what = f"app_config.model_type: '{found}' is no model type of {values['use_case']}"
        raise NeuralArtError(what, where=str(places["model_type"]), hint=nearest(found, known))
    return str(found)


def read(path: Path, display: str = "") -> AppConfig:
    """Read the section from a file (``schema: 1`` and ``app_config:``); ``display``: its name in messages."""
    top = yaml_values.read(path, display)
    yaml_values.check_schema(top, SCHEMA)
    fields = top.fields(("schema", "app_config"))
    if "app_config" not in fields:
        raise top.error("'app_config' is missing", "the file is schema: 1 and app_config: with its keys")
    made = resolve(read_settings(fields["app_config"]))
    assert made is not None  # the section is there
    return made
