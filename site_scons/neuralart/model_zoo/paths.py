"""Paths of a configuration, which the model zoo reads from the folder of its script, as paths from variants.yaml."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from neuralart.model_zoo.convert import Imported


def _bases(config: Path) -> list[Path]:
    """Folders that the zoo's script may have run in: that of the file, and the ones above its examples."""
    folder = config.parent
    return [folder, folder.parent] if folder.name.startswith("config_file_examples") else [folder]


def _found(text: str, bases: list[Path]) -> Path | None:
    for base in bases:
        path = base / text
        if path.exists():
            return path
    return None


def _relative(path: Path, folder: Path) -> str:
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:  # another drive
        return path.as_posix()


def relocated(imported: Imported, config: Path, output: Path | None, *, model_is_named: bool = False) -> Imported:
    """Rewrite paths that lead somewhere; keep the others and say so.

    Args:
        imported: What was converted.
        config: The configuration.
        output: The file to be written; None: the present folder counts.
        model_is_named: The model's path is the user's own, from the present folder.
    """
    folder = output.parent if output is not None else Path()
    notes: list[str] = []

    def moved(key: str, text: str, bases: list[Path]) -> str:
        found = _found(text, bases)
        if found is None:
            notes.append(f"{key}: {text} is not there, seen from {bases[-1].as_posix()}: the path is kept as it was")
            return text
        return _relative(found, folder)

    settings = dict(imported.settings)
    settings["model"] = moved("model", str(settings["model"]), [Path()] if model_is_named else _bases(config))
    section = settings.get("app_config")
    if isinstance(section, Mapping):
        changed = dict(section)
        for key in ("application", "class_names_file"):
            if key in changed:
                changed[key] = moved(key, str(changed[key]), _bases(config))
        settings["app_config"] = changed
    return replace(imported, settings=settings, notes=(*imported.notes, *notes))
