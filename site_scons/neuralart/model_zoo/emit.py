"""The text of variants.yaml, with its paths."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.model_zoo.convert import Imported

# What YAML takes for text without quotes, in its oldest and its newest reading.
_PLAIN = re.compile(r"[A-Za-z_./][A-Za-z0-9_./-]*(?: [A-Za-z0-9_./-]+)*")
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
    """Rewrite paths that lead somewhere; keep the others and say so.

    The model zoo reads them from the folder of its script, variants.yaml from its own (without ``output``: from the
    present folder, as the model's path where the user has named it).
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
