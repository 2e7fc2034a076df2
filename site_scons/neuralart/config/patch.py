"""The keys of ``patch:`` of a variant: how an application's sources are changed for its network."""

from __future__ import annotations

from neuralart.config.keys import PATH, Key, Located, Settings, either, members, named, pairs, section, text_or_none
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass, lazy_regex
from neuralart.text.values import Value

ASPECT_RATIOS = ("crop", "fit", "padding")
_MEMORY = lazy_regex(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class PatchConfig(Located):
    """The resolved section; empty: not given."""

    application: str = ""  # Folder of the application; empty: the reference application
    aspect_ratio: str = ""  # One of ASPECT_RATIOS; empty: as ``app_config`` says
    list: str = ""  # Patch list, by name or a file; empty: the one whose files the application has
    linker_script: str = ""  # Instead of the list's
    memory_pools: str = ""  # Memory-pool file that limits memories, instead of the list's
    reserve: tuple[tuple[str, int], ...] = ()  # (memory, bytes) kept free for the application, instead of the list's
    include: tuple[str, ...] = ()  # The application's include path, from the list's root


def is_file(name: str) -> bool:
    """Whether the name of a patch list is a file of the user."""
    return name.endswith((".yaml", ".yml")) or "/" in name or "\\" in name


def _reserve(value: Value) -> Settings:
    return named("reserve", value, _MEMORY, "the key must be a memory of the linker script, like AXIRAM", Value.integer)


KEYS: tuple[Key, ...] = (
    Key("application", Value.text).says(
        "folder of your application. Its copies go to `build/<variant>/patched`, and its own project builds the image "
        "from them",
        "this project's camera application, built and run as well",
    ),
    Key("aspect_ratio", lambda value: value.choice(ASPECT_RATIOS)).says(
        either(ASPECT_RATIOS),
        "as `app_config` of the network says; refused if that does not say it either. Both must agree",
    ),
    Key("list", text_or_none, "patch list, by name, or a file of your own", "the one whose files the application has"),
    Key("linker_script", text_or_none, "the one that the application is linked with", "the list's", form=PATH),
    Key("memory_pools", text_or_none, "memory-pool file that limits memories", "the list's, if it is there", form=PATH),
    Key("reserve", _reserve, section=True, join=pairs("reserve")).says(
        "memory: size, kept free for the application: `{AXIRAM: 96K}`", "the list's"
    ),
    Key("include", Value.texts).says(
        "the application's include path, from the list's root, for `patched.json`", "the copied folders"
    ),
)


def read_settings(value: Value) -> Settings:
    """Read the section as one layer, named like ``patch.reserve.AXIRAM``; ``patch.`` has the place of the section."""
    return {"patch.": (None, value.where), **section("patch", value, KEYS)}


def resolve(settings: Settings) -> PatchConfig | None:
    """Make the section from the merged layers of a variant, whose other keys are ignored; None without it."""
    mine = members(settings, "patch")
    if not mine:
        return None
    _, where = mine.pop("")
    values = {field: value for key in KEYS for field, value in key.values(mine).items()}
    return PatchConfig(**values, where=where, places={key: place for key, (_, place) in mine.items()})


def aspect_ratio(config: PatchConfig, of_header: str, header_said: str, where: str) -> str:
    """Find the aspect ratio of the camera's picture in ``patch``, ``app_config`` or both. ``of_header``: empty without
    ``app_config``; ``where``: for messages about a missing key. NeuralArtError: both are missing or differ, or no
    application for this can do it.
    """
    said = config.said("aspect_ratio") or config.said() or where
    if config.aspect_ratio and of_header and config.aspect_ratio != of_header:
        what = f"aspect_ratio is {config.aspect_ratio} here, and {of_header} in app_config ({header_said or where})"
        raise NeuralArtError(what, where=said, hint="one of them is enough: the sources and their header must agree")
    found = config.aspect_ratio or of_header
    if not found:
        hint = "crop, padding or fit, as the network was trained for; in patch or in app_config"
        raise NeuralArtError("'aspect_ratio' is missing", where=said, hint=hint)
    if found not in ASPECT_RATIOS:
        what = f"aspect_ratio: {found} does not exist in applications that are patched"
        raise NeuralArtError(what, where=header_said or said, hint=f"known: {', '.join(ASPECT_RATIOS)}")
    return found
