"""Makes the text of a configuration header from tensors and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from neuralart.app_config.application import Application
from neuralart.app_config.generations import GENERATIONS, H7_SYMBOLS, Generation, expected
from neuralart.app_config.kinds import UseCase, check_reads, choose_prefix, choose_symbol, kind_of
from neuralart.app_config.render import render
from neuralart.app_config.request import ImageSize, Request, Values, image
from neuralart.app_config.tensors import TensorInfo, Tensors
from neuralart.config.app_config import AppConfig
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.quick import dataclass, field

_FORMATS = {"uint8": "UINT8_FORMAT", "int8": "INT8_FORMAT", "float32": "FLOAT32_FORMAT"}
_WELCOME = "Model runs on the STM32"
_CAMERA_WIDTH = 16


@dataclass(frozen=True)
class Header:
    name: str  # name of the file that the application includes
    text: str  # its text
    generation: str  # which kind of header it is
    symbol: str  # ``POSTPROCESS_...``; empty where the use case has none
    companions: Mapping[str, str] = field(default_factory=dict)  # further files of the same folder, name -> text
    notes: tuple[str, ...] = ()  # what the user should know, one line each


def class_names(config: AppConfig, base: Path) -> tuple[str, ...]:
    """Read ``class_names``, or ``class_names_file`` relative to ``base``. NeuralArtError: unreadable, or no names."""
    if not config.class_names_file:
        return config.class_names
    where = config.said("class_names_file")
    try:
        text = read_bytes(base / config.class_names_file).decode("utf-8-sig")
    except NeuralArtError as error:
        raise NeuralArtError(f"{config.class_names_file}: {error.what}", where=where) from error
    except UnicodeDecodeError as error:
        raise NeuralArtError(f"{config.class_names_file} is not UTF-8", where=where) from error
    names = [line.strip() for line in re.split(r"\r\n|\n|\r", text)]
    while names and not names[-1]:
        names.pop()
    for number, name in enumerate(names, 1):
        if not name or any(char < " " or char == "\x7f" for char in name):
            what = "is empty" if not name else "has a control character"
            hint = "one name of a class a line"
            raise NeuralArtError(f"line {what}", where=f"{config.class_names_file}:{number}", hint=hint)
    if not names:
        raise NeuralArtError(f"{config.class_names_file} holds no names", where=where)
    return tuple(names)


def generation_of(config: AppConfig, application: Application | None, override: str = "") -> Generation:
    """Choose the generation of the header: ``override``, else the settings, else what the application expects.
    NeuralArtError: nothing says it, or the application's sources contradict each other.
    """
    name = override or config.generation
    if not name:
        if application is None:
            hint = f"name the application's folder (application:), or generation: one of {', '.join(GENERATIONS)}"
            raise NeuralArtError("app_config: for which generation of application?", where=config.said(), hint=hint)
        name = expected(application, config.said("application"))
    return GENERATIONS[name]


def header(
    config: AppConfig,
    tensors: Tensors,
    *,
    classes: tuple[str, ...] = (),
    application: Application | None = None,
    generation: str = "",
    model_name: str = "",
    board: str = "",
    narrow_display: bool = False,
    template: Path | None = None,
    template_display: str = "",
) -> Header:
    """Make a header from the settings and a network's inputs and outputs.

    Without ``classes`` those of ``config`` are named. The wrapper of the ``application`` is asked for symbols and
    names; ``generation`` wins over it and the settings. ``model_name`` (the network's name unless given) and ``board``
    are for the display; a narrow one takes the second line of the greeting in two parts. ``template``: the user's own,
    with its name in messages. NeuralArtError: network, use case and application do not fit each other, a setting is
    missing or means nothing here, or a template is wrong.
    """
    kind_of_header = generation_of(config, application, generation)
    kind = kind_of(config.use_case, config.model_type)
    if kind_of_header.name not in kind.generations:
        what = f"{config.use_case} with {config.model_type} does not exist in generation {kind_of_header.name}"
        hint = f"it exists in {', '.join(kind.generations)}"
        raise NeuralArtError(f"app_config: {what}", where=config.said("use_case"), hint=hint)
    request = Request(config, tensors, classes or config.class_names, kind_of_header, application)
    values = kind.derive(request)
    symbol = choose_symbol(request, kind, values.dtype)
    context = _context(request, values, symbol, choose_prefix(request, kind, symbol))
    context |= {"model_name": model_name or tensors.network, "board": board}
    context["welcome"] = _welcome(request, model_name, narrow_display)
    if isinstance(kind.template, Path):
        # A plugin's, unless the user has one.
        template, template_display = template or kind.template, template_display or kind.template.name
    text = render(str(kind.template), context, template, template_display)
    check_reads(request, kind, symbol, text)
    companions, notes = dict(sorted(values.companions.items())), (*values.notes, *_notes(request, kind))
    return Header(kind_of_header.header, text, kind_of_header.name, symbol, companions, notes)


def _symbol(request: Request, key: str, table: Mapping[str, str] | None) -> str:
    """The symbol for a setting; NeuralArtError: applications of this generation have none."""
    value = str(getattr(request.config, key))
    if table is None:
        return ""
    if value not in table:
        what = f"app_config: {key}: {value} does not exist in applications of generation {request.generation.name}"
        raise request.refuse(what, f"known: {', '.join(table)}", key)
    return table[value]


def _context(request: Request, values: Values, symbol: str, prefix: str) -> dict[str, object]:
    config, generation, application = request.config, request.generation, request.application
    inputs, outputs = request.tensors.inputs, request.tensors.outputs
    return {
        "generation": generation.name,
        "use_case": config.use_case,
        "model_type": config.model_type,
        "network": request.tensors.network,
        "inputs": inputs,
        "outputs": outputs,
        "size": image(request) if generation.aspect_ratios is not None else ImageSize(0, 0, 0),
        "config": config,
        "classes": values.classes,
        "postprocess_type": symbol,
        "prefix": prefix,
        "values": values.values,
        "aspect_ratio": _symbol(request, "aspect_ratio", generation.aspect_ratios),
        "color_mode": _symbol(request, "color_mode", generation.color_modes),
        "camera_flip": "CMW_MIRRORFLIP_" + config.camera_flip.upper(),
        "sizes": generation.sizes or bool(application and application.reads_any("NN_WIDTH", "LCD_FG_WIDTH")),
        "h7_symbols": H7_SYMBOLS,
        "input_format": _format(inputs),
        "output_format": _format(outputs),
        "interfaces": _interfaces(request),
        "audio_prefix": "CTRL_X_CUBE_AI_MODEL_" if generation.name == "audio-v2" else "CTRL_X_CUBE_AI_MODE_",
        "defines": [tuple(text.split("=", 1)) if "=" in text else (text, "") for text in config.defines],
    }


def _format(tensors: tuple[TensorInfo, ...]) -> str:
    return _FORMATS.get(tensors[0].dtype, "") if tensors else ""


def _welcome(request: Request, model_name: str, narrow: bool) -> dict[str, object]:
    lines = request.config.welcome
    first = lines[0] if lines else model_name or request.tensors.network
    second = lines[1] if len(lines) > 1 else _WELCOME
    if not narrow:
        return {"first": first, "second": second, "parts": ()}
    words = second.split(" ")
    half = (len(words) + 1) // 2
    return {"first": first, "second": second, "parts": (" ".join(words[:half]), " ".join(words[half:]))}


def _interfaces(request: Request) -> dict[str, str] | None:
    """Display and camera of the H743, else None. NeuralArtError: one alone, both on its only USB, or it has neither."""
    display, camera = request.config.display, request.config.camera
    if not display and not camera:
        return None
    key = "display" if display else "camera"
    if request.generation.name != "h7":
        what = f"app_config: '{key}' means nothing in generation {request.generation.name}"
        raise request.refuse(what, "it chooses between the interfaces of a NUCLEO-H743ZI2", key)
    if not display or not camera:
        other = "camera" if display else "display"
        raise request.refuse(f"app_config: '{other}' is missing beside '{key}'", "name both, or none", key)
    if display == camera == "usb":
        raise request.refuse("app_config: display and camera both take USB, the board has 1 port", key="camera")
    return {"display": f"DISPLAY_INTERFACE_{display.upper()}", "camera": f"CAMERA_INTERFACE_{camera.upper()}"}


def _notes(request: Request, kind: UseCase) -> list[str]:
    notes = []
    if request.generation.name.startswith("n6"):
        width = image(request).width
        if width % _CAMERA_WIDTH:
            needs = "the camera pipe needs a buffer from which the application cuts each line"
            notes.append(f"the input is {width} pixels wide, no multiple of {_CAMERA_WIDTH}: {needs}")
    application = request.application
    if application is not None and application.wrapper is None and (kind.stems or kind.h7_symbol):
        notes.append(f"no post-processing wrapper below {application.root}: symbols are those of the generation")
    return notes
