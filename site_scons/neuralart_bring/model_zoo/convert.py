"""From a configuration of the model zoo to variants.yaml's text of a network and a variant; lists what was left out."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from neuralart.config.app_config import MODEL_TYPES, USE_CASES
from neuralart.config.read import verbs
from neuralart.errors import NeuralArtError, nearest
from neuralart.vendor.releases import parse_core
from neuralart_bring.model_zoo import sections as vocabulary
from neuralart_bring.model_zoo.sections import application, audio
from neuralart_bring.model_zoo.tree import UNKNOWN, ZooConfig, ZooEntry

_MODEL = ("model.model_path", "general.model_path", "model.onnx_path")
_TYPE = ("model.model_type", "general.model_type", "post_processing.type")
_BOARD = ("deployment.hardware_setup.board", "stm32ai.footprints_on_target", "benchmarking.board")
_OPTIMIZATION = ("tools.stedgeai.optimization", "tools.stm32ai.optimization", "stm32ai.optimization")
_PROJECT = ("deployment.c_project_path", "stm32ai.c_project_path")
_VERSION = ("tools.stedgeai.version", "tools.stm32ai.version", "stm32ai.version")
_BUILD = "deployment.build_conf"
_QUANTIZED = (".tflite", ".onnx")
_AUTO = "auto"
_CHAIN = "what is deployed is the model that the chain makes first; --model names it"


@dataclass(frozen=True)
class Wishes:
    """What the user said on the command line; empty where nothing was."""

    name: str = ""  # name of the network
    model: str = ""  # path of the model
    board: str = ""  # name of the board
    use_case: str = ""  # one of those that have a header


@dataclass(frozen=True)
class Dropped:
    where: str
    key: str
    reason: str
    lossy: bool = False  # what is built without it is not what was meant

    def __str__(self) -> str:
        return f"{self.where}: {self.key}: {self.reason}"


@dataclass(frozen=True)
class Imported:
    release: str  # which releases of the zoo write such files, for example ``v4``
    network: str  # name of the network
    settings: Mapping[str, object]  # keys of the network, ``app_config`` among them as a mapping
    variant: str  # name of the variant
    variant_settings: Mapping[str, object]  # keys of the variant
    dropped: tuple[Dropped, ...] = ()  # what was left out, in the order of the file
    notes: tuple[str, ...] = field(default=())  # what the user should look at
    project: ZooEntry | None = None  # folder of the application; None: the file names none
    ide: str = ""  # how that is built: ``GCC``, ``stm32cubeide``; empty: not said
    configuration: ZooEntry | None = None  # the configuration of its build, if one is named


def convert(top: ZooEntry, wishes: Wishes = Wishes(), boards: tuple[str, ...] = ()) -> Imported:
    """Convert a configuration; ``boards``: those there are. NeuralArtError: no model is named, or a value is wrong."""
    source = ZooConfig(top)
    model = wishes.model or _model(source)
    use_case = _use_case(source, wishes.use_case, model)
    board = wishes.board or _board(source, boards)
    name = wishes.name or _identifier(PurePosixPath(model).name.rsplit(".", 1)[0])
    n6 = board.startswith(vocabulary.N6_BOARDS)
    settings: dict[str, object] = {"model": _local(source, model)}
    if n6 and use_case and use_case != "audio_event_detection":
        # What the camera writes; classifiers are read as float32.
        settings |= {"input_data_type": "uint8", "inputs_ch_position": "chlast"}
        if use_case == "image_classification":
            settings["output_data_type"] = "float32"
    _optimization(source, n6, settings)
    settings["compiler"] = _compiler(source)
    variant_settings = {"machine": "silicon"} if settings["compiler"] != _AUTO else {}
    project, ide, configuration = (source.take(*paths) for paths in (_PROJECT, ("deployment.IDE",), (_BUILD,)))
    mode = source.top.find("operation_mode")
    made_first = not wishes.model and mode is not None and mode.text().startswith("chain_") and mode.text()[-1] == "d"
    if made_first and mode is not None:
        source.drop(mode, _CHAIN)
    section = _section(source, use_case, n6, board)
    if section:
        settings["app_config"] = section
    variant = f"{name}-{board}"
    if variant.startswith(verbs()):
        variant = f"net-{variant}"
    title = f"{PurePosixPath(model).name} on {board}"
    return Imported(
        release=_release(top),
        network=name,
        settings=settings,
        variant=variant,
        variant_settings={"title": title, "board": board, "network": name, **variant_settings},
        dropped=tuple(
            Dropped(entry.where, entry.path, reason, reason == _CHAIN or _decides(entry.path, reason))
            for entry, reason in source.rest(vocabulary.REASONS)
        ),
        notes=tuple(source.notes),
        project=project,
        ide=ide.text().lower() if ide is not None else "",
        configuration=configuration,
    )


def _decides(path: str, reason: str) -> bool:
    """Whether a key that nothing is known of may say what is built; references may lead to keys anywhere."""
    unknown = reason in (UNKNOWN, vocabulary.NO_COUNTERPART)
    return unknown and path.startswith(("deployment.", "tools.", "stm32ai."))


def _compiler(source: ZooConfig) -> object:
    """Who compiles: ST Edge AI Core, of the version that the file names."""
    found = source.take(*_VERSION)
    if found is None:
        return _AUTO
    version = parse_core(found.text())
    if version is None:
        raise found.error(f"'{found.text()}' is no version of ST Edge AI Core", "for example 4.0.0")
    major, minor, _ = version.numbers
    # Until 2.2 the zoo says the version of the package around it: 10.2.
    return {"stedgeai": f"{major - 8 if major == 10 else major}.{minor}.*"}


def _release(top: ZooEntry) -> str:
    sections = top.children()
    if "stm32ai" in sections or "pre_processing" in sections or "post_processing" in sections:
        return "v1"
    if top.find("model.model_path") is not None or top.find("model.model_type") is not None:
        return "v4"
    return "v2 or v3"


def _model(source: ZooConfig) -> str:
    found = source.take(*_MODEL)
    if found is None:
        what = "names no model: model.model_path (or general.model_path) is empty"
        raise NeuralArtError(what, where=source.top.file, hint="--model FILE says it")
    text = found.text().replace("\\", "/")
    if not PurePosixPath(text).name:
        raise found.error(f"'{text}' is not the path of a file")
    return text


def _local(source: ZooConfig, model: str) -> str:
    """A path that a build can have."""
    name = PurePosixPath(model).name
    if not name.lower().endswith(_QUANTIZED):
        source.note(f"{name} is not quantized: a network is compiled from .tflite (or .onnx)")
    if re.match(r"[a-z]+://", model):
        source.note(f"{model} is not fetched: put {name} beside this file")
        return name
    return model


def _folder(text: str) -> str | None:
    """Use case that a path of the zoo speaks of; empty: one without a header; None: none."""
    for part in PurePosixPath(text.replace("\\", "/")).parts:
        if part in vocabulary.FOLDERS:
            return vocabulary.FOLDERS[part]
    return None


def _use_case(source: ZooConfig, wish: str, model: str) -> str:
    """Empty for a use case that has no header."""
    if wish:
        if wish not in USE_CASES:
            raise NeuralArtError(f"no use case '{wish}'", hint=nearest(wish, USE_CASES))
        return wish
    kind = _zoo_type(source)
    by_type = vocabulary.USE_CASE_OF.get(vocabulary.MODEL_TYPES[kind][0]) if kind in vocabulary.MODEL_TYPES else None
    project = source.first(*_PROJECT)
    by_model, by_project = _folder(model), _folder(project.text() if project is not None else "")
    if kind in vocabulary.NO_HEADER:
        by_model = ""
    # Speech enhancement shares its folder of applications with audio events.
    if source.top.find("deployment.frames_per_patch") is not None:
        by_model = by_model or ""
    by_sections = "audio_event_detection" if source.top.find("feature_extraction") is not None else None
    for found in (by_model, by_project, by_type, by_sections):
        if found is not None:
            if not found:
                source.note("no header is made for this use case: app_config is left out")
            return found
    if kind in vocabulary.MODEL_TYPES:
        what = f"the use case of model_type '{kind}' is not clear"
        raise NeuralArtError(what, where=source.top.file, hint="--use-case says it")
    source.note("the use case is not clear: app_config is left out (--use-case says it)")
    return ""


def _zoo_type(source: ZooConfig) -> str:
    found = source.first(*_TYPE)
    # The first release describes the architecture by a mapping.
    return "" if found is None or found.is_mapping else found.text()


def _board(source: ZooConfig, boards: tuple[str, ...]) -> str:
    found = source.take(*_BOARD)
    serie = source.top.find("deployment.hardware_setup.serie") or source.top.find("stm32ai.serie")
    if found is None or found.text() in ("False", "false"):
        name = vocabulary.SERIES.get(serie.text() if serie is not None else "", vocabulary.SERIES["STM32N6"])
        source.note(f"the file names no board: {name} is assumed (--board says it)")
        return name
    # "NUCLEO-H743ZI2,OV5640": a camera may follow.
    name = found.text().split(",")[0].strip().lower()
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise found.error(f"'{found.text()}' is not the name of a board")
    if boards and name not in boards:
        source.note(f"there is no board {name}: describe it in a file of your own (docs/reference/boards.md)")
    return name


def _identifier(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    return name if re.match(r"[A-Za-z_]", name) else f"net_{name}".rstrip("_")


def _optimization(source: ZooConfig, n6: bool, settings: dict[str, object]) -> None:
    found = source.first(*_OPTIMIZATION)
    if found is None:
        return
    if n6:
        source.drop(found, "does not apply to the NPU, where options stand in a profile")
        return
    source.take(found.path)
    word = found.text()
    if word not in ("time", "ram", "balanced"):
        raise found.error(f"'{word}' is not allowed", nearest(word, ("time", "ram", "balanced")))
    settings["options"] = ["--optimization", word]


def _section(source: ZooConfig, use_case: str, n6: bool, board: str) -> dict[str, object]:
    if not use_case:
        return {}
    section: dict[str, object] = {"use_case": use_case}
    known = MODEL_TYPES[use_case]
    stride = 0
    if len(known) > 1:
        model_type, stride = _model_type(source, use_case)
        if model_type:
            section["model_type"] = model_type
    elif (found := source.top.find("model.model_type") or source.top.find("general.model_type")) is not None:
        source.drop(found, f"{use_case} has one way only")
    if use_case == "audio_event_detection":
        section |= audio(source)
    else:
        section |= application(source, str(section.get("model_type", known[0])), stride, n6, board)
    project = source.first(*_PROJECT)
    if project is not None:
        section["application"] = project.text().replace("\\", "/").rstrip("/")
    elif not n6 and use_case != "audio_event_detection":
        section["generation"] = "h7"
    else:
        source.note("the file names no application: add application: or generation: to app_config")
    return section


def _model_type(source: ZooConfig, use_case: str) -> tuple[str, int]:
    found = source.take(*(path for path in _TYPE if (e := source.top.find(path)) is not None and not e.is_mapping))
    if found is None:
        source.note(f"the file names no model_type: add one of {', '.join(MODEL_TYPES[use_case])} to app_config")
        return "", 0
    word = found.text()
    if word not in vocabulary.MODEL_TYPES:
        what = f"'{word}' is no model type of the zoo that is known"
        raise found.error(what, nearest(word, tuple(vocabulary.MODEL_TYPES)))
    kind, stride = vocabulary.MODEL_TYPES[word]
    kind = vocabulary.BY_USE_CASE.get((use_case, kind), kind)
    if kind not in MODEL_TYPES[use_case]:
        hint = f"known: {', '.join(MODEL_TYPES[use_case])}; --use-case"
        raise found.error(f"'{word}' is {kind}, which {use_case} does not have", hint)
    return kind, stride


# What YAML takes for text without quotes, in its oldest and its newest reading.
_PLAIN = re.compile(r"(?!\.[0-9_])[A-Za-z_./][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")  # ``.5`` is a number
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n", ".inf", ".nan"})
_WIDTH = 110


def bases(config: Path) -> list[Path]:
    """Folders that the zoo's script may have run in: that of the file, and the ones above its examples."""
    folder = config.parent
    return [folder, folder.parent] if folder.name.startswith("config_file_examples") else [folder]


def relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def relocated(imported: Imported, config: Path, output: Path | None, *, model_is_named: bool = False) -> Imported:
    """Rewrite paths that lead somewhere; keep the others and say so. The model zoo reads them from the folder of its
    script, variants.yaml from its own (without ``output``: from the present folder, as the model's path where the user
    has named it).
    """
    folder = output.parent if output is not None else Path()
    notes: list[str] = []

    def moved(key: str, text: str, bases: list[Path]) -> str:
        try:
            found = next((base / text for base in bases if (base / text).exists()), None)
        except OSError as error:
            raise NeuralArtError(f"{key} '{text}': {error.strerror}", where=str(config)) from error
        if found is None:
            notes.append(f"{key}: {text} is not there, seen from {bases[-1].as_posix()}: the path is kept as it was")
            return text
        return relative(found, folder)

    settings = dict(imported.settings)
    settings["model"] = moved("model", str(settings["model"]), [Path()] if model_is_named else bases(config))
    section = settings.get("app_config")
    if isinstance(section, Mapping):
        changed = dict(section)
        for key in ("application", "class_names_file"):
            if key in changed:
                changed[key] = moved(key, str(changed[key]), bases(config))
        settings["app_config"] = changed
    return replace(imported, settings=settings, notes=(*imported.notes, *notes))


def scalar(value: object) -> str:
    """A value on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not text.startswith(("---", "...")):
        return text
    return json.dumps(text, ensure_ascii=False)


def lines(settings: Mapping[str, object], indent: str) -> list[str]:
    """Lines of YAML for nested settings."""
    made: list[str] = []
    for name, value in settings.items():
        key = scalar(name)
        if isinstance(value, Mapping):
            made += [f"{indent}{key}:", *lines(value, indent + "  ")]
        elif isinstance(value, Sequence) and not isinstance(value, str):
            items = [scalar(item) for item in value]
            line = f"{indent}{key}: [{', '.join(items)}]"
            made += [line] if len(line) <= _WIDTH else [f"{indent}{key}:", *(f"{indent}  - {item}" for item in items)]
        else:
            made.append(f"{indent}{key}: {scalar(value)}")
    return made


def text(imported: Imported, origin: str) -> str:
    """A whole file: one network and one variant; ``origin``: the file it came from."""
    shown = "".join(char if " " <= char <= "~" else "?" for char in origin)
    head = f"# From {shown}, a configuration of the model zoo ({imported.release}), by neuralart import."
    network = ["networks:", f"  {imported.network}:", *lines(imported.settings, "    ")]
    variant = ["variants:", f"  {imported.variant}:", *lines(imported.variant_settings, "    ")]
    return "\n".join([head, "schema: 1", "", *network, "", *variant, ""])
