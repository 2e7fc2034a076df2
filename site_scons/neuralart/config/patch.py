"""The keys of ``patch:`` of a variant: how the sources of an application are fitted to its network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.text.values import NOWHERE, Location, Value

ASPECT_RATIOS = ("crop", "fit", "padding")
_MEMORY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PREFIX = "patch."
_RESERVE = "patch.reserve."

Settings = Mapping[str, tuple[Any, Location]]


@dataclass(frozen=True)
class PatchConfig:
    """The section, resolved. What is empty was not said.

    Attributes:
        application: Folder of the application; empty: the reference application.
        aspect_ratio: One of :data:`ASPECT_RATIOS`; empty: as ``app_config`` says.
        list: Patch list, by name or a file; empty: the one whose files the application has.
        linker_script: Instead of the list's.
        memory_pools: Memory-pool file that limits memories, instead of the list's.
        reserve: (memory, bytes) kept free for the application, instead of the list's.
        include: The application's include path, from the list's root.
        where: Where the section was written.
        places: Where each of its keys was written.
    """

    application: str = ""
    aspect_ratio: str = ""
    list: str = ""
    linker_script: str = ""
    memory_pools: str = ""
    reserve: tuple[tuple[str, int], ...] = ()
    include: tuple[str, ...] = ()
    where: Location = NOWHERE
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def said(self, key: str = "") -> str:
        """The place of a key for a message; empty where no file said it."""
        place = self.places.get(key, self.where)
        return str(place) if place.file else ""


def is_file(name: str) -> bool:
    """Whether the name of a patch list is a file of the user's own."""
    return name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name


def _path_or_none(value: Value) -> str:
    return value.text(empty=True)


_READERS: dict[str, Callable[[Value], Any]] = {
    "application": Value.text,
    "aspect_ratio": lambda value: value.choice(ASPECT_RATIOS),
    "list": _path_or_none,
    "linker_script": _path_or_none,
    "memory_pools": _path_or_none,
    "include": Value.texts,
}
KEYS = (*_READERS, "reserve")


def read_settings(value: Value) -> Settings:
    """Read the section as one layer.

    Returns:
        For each key that is there its value and its place, keyed like ``patch.list`` and ``patch.reserve.AXIRAM``;
        ``patch.`` itself has the place of the section.

    Raises:
        NeuralArtError: An unknown key or a wrong value.
    """
    settings: dict[str, tuple[Any, Location]] = {_PREFIX: (None, value.where)}
    for name, entry in value.fields(KEYS).items():
        if name == "reserve":
            for memory, size in entry.mapping().items():
                if not _MEMORY.fullmatch(memory):
                    raise size.error("the key must be a memory of the linker script, like AXIRAM")
                settings[_RESERVE + memory] = (size.integer(), size.where)
        else:
            settings[_PREFIX + name] = (_READERS[name](entry), entry.where)
    return settings


def resolve(settings: Settings) -> PatchConfig | None:
    """The section from layers that were merged.

    Args:
        settings: Of a variant; keys of other sections are left alone.

    Returns:
        None where no layer has the section.
    """
    mine = {key: setting for key, setting in settings.items() if key.startswith(_PREFIX)}
    if not mine:
        return None
    reserve = {key.removeprefix(_RESERVE): value for key, (value, _) in mine.items() if key.startswith(_RESERVE)}
    values: dict[str, Any] = {
        key.removeprefix(_PREFIX): value
        for key, (value, _) in mine.items()
        if key != _PREFIX and not key.startswith(_RESERVE)
    }
    return PatchConfig(
        **values,
        reserve=tuple(reserve.items()),
        where=mine[_PREFIX][1],
        places={key.removeprefix(_PREFIX): place for key, (_, place) in mine.items() if key != _PREFIX},
    )


def aspect_ratio(config: PatchConfig, of_header: str, header_said: str, where: str) -> str:
    """How the camera's picture becomes the network's, said once or twice alike.

    Args:
        config: The section.
        of_header: As ``app_config`` says it; empty: there is no such section.
        header_said: Where it says so.
        where: For messages where neither has a place.

    Raises:
        NeuralArtError: Nobody says it, both say different things, or no application for this can do it.
    """
    said = config.said("aspect_ratio") or config.said() or where
    if config.aspect_ratio and of_header and config.aspect_ratio != of_header:
        raise NeuralArtError(
            f"aspect_ratio is {config.aspect_ratio} here, and {of_header} in app_config ({header_said or where})",
            where=said,
            hint="one of them is enough: the sources and their header must agree",
        )
    found = config.aspect_ratio or of_header
    if not found:
        raise NeuralArtError(
            "'aspect_ratio' is missing",
            where=said,
            hint="crop, padding or fit, as the network was trained for; in patch or in app_config",
        )
    if found not in ASPECT_RATIOS:
        raise NeuralArtError(
            f"aspect_ratio: {found} does not exist in applications that are patched",
            where=header_said or said,
            hint=f"known: {', '.join(ASPECT_RATIOS)}",
        )
    return found
