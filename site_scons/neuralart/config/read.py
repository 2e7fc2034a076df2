"""Reads variants.yaml: all of it is checked at once; a variant is resolved when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.config import networks, variant_keys
from neuralart.config.keys import PROJECT, Key, Settings, distinct, every_key, names
from neuralart.config.types import NetworkConfig, ProjectConfig, VariantConfig
from neuralart.config.variant_keys import read_settings, values_of
from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass
from neuralart.text import yaml_values
from neuralart.text.values import Location, Value

SCHEMA = 1
KEYS = ("schema", "default", "boards", "defaults", "networks", "variants")
# flash-application-NAME and flash-model-NAME write a part of NAME.
FLASH_PARTS = ("application-", "model-")
# Folders of the build directory that do not belong to one variant.
RESERVED = ("app_config", "firmware", "initializers", "networks", "patched", "relocatable")


@dataclass(frozen=True)
class ProjectFile:
    config: ProjectConfig  # What holds for the whole file
    _networks: Mapping[str, tuple[Location, Settings]]
    _variants: Mapping[str, Draft]
    _network_defaults: Settings

    def variant(self, name: str) -> VariantConfig:
        """Resolve a variant and its networks, with overrides. NeuralArtError: there is no such variant."""
        draft = self._variants.get(name)
        if draft is None:
            hint = nearest(name, tuple(self._variants))
            raise NeuralArtError(f"no variant '{name}'", where=self.config.path, hint=hint)
        made = []
        for network in draft.networks:
            where, settings = self._networks[network]
            override = draft.overrides.get(network, {})
            made.append(networks.resolve(network, where, self._network_defaults, settings, override))
        return _resolve(draft, tuple(made))


def verbs() -> tuple[str, ...]:
    """List the verbs before a variant's name in its targets (``run-`` and so on), without those of a part."""
    parts = tuple(f"flash-{part}" for part in FLASH_PARTS)
    return tuple(verb for name in plugins.names("targets") if (verb := f"{name}-") not in parts)


def read(path: Path, display: str = "") -> ProjectFile:
    """Read a project file, usually ``variants.yaml``. NeuralArtError: something in it is wrong."""
    top = yaml_values.read(path, display)
    yaml_values.check_schema(top, SCHEMA)
    added = dict(every_key(PROJECT)) if top.is_mapping and top.mapping().keys() - set(KEYS) else {}
    entries = top.fields((*KEYS, *added))
    for key in ("networks", "variants"):
        if key not in entries:
            raise top.error(f"'{key}' is missing", f"known: {', '.join(KEYS)}")
    network_defaults, variant_defaults = _defaults(entries.get("defaults"))
    nets = {
        name: (value.where, _network(value))
        for name, value in _named(entries["networks"], networks.NAME, "a C identifier")
    }
    drafts = {
        name: read_draft(name, value, variant_defaults, nets)
        for name, value in _named(entries["variants"], variant_keys.NAME, "letters, digits, '.', '_' and '-'")
    }
    spoken = verbs()
    for name in drafts:
        _check_variant_name(entries["variants"].mapping()[name], name, drafts, spoken)
    config = ProjectConfig(
        path=top.file,
        default=_default(entries.get("default"), tuple(drafts)),
        titles={name: draft.title for name, draft in drafts.items()},
        boards=distinct(entries["boards"]) if "boards" in entries else (),
        added={name: key.read(entries[name]) for name, key in added.items() if name in entries},
    )
    return ProjectFile(config, nets, drafts, network_defaults)


def _named(value: Value, pattern: Any, wanted: str) -> list[tuple[str, Value]]:
    entries = value.mapping()
    if not entries:
        raise value.error("is empty", "the file needs at least one network and one variant")
    folded: dict[str, str] = {}
    for name, entry in entries.items():
        if not pattern.fullmatch(name):
            raise entry.error(f"the name must be {wanted}")
        # Both become folders, and some file systems do not tell A from a.
        other = folded.setdefault(name.casefold(), name)
        if other != name:
            raise entry.error(f"the name differs from '{other}' only in upper and lower case")
    return list(entries.items())


def _network(value: Value) -> Settings:
    settings = networks.read_settings(value)
    if "model" not in settings and settings.get("compiler", ("",))[0] != "adopted":
        raise value.error("names no model", "for example model: models/digits/digits.tflite")
    return settings


def _check_variant_name(value: Value, name: str, names: Iterable[str], verbs: Iterable[str]) -> None:
    folded = name.casefold()
    for verb in verbs:
        if folded.startswith(verb):
            raise value.error(f"the name must not begin with '{verb}'", f"'{verb}NAME' is an alias of a variant NAME")
    for part in FLASH_PARTS:
        if folded.startswith(part) and folded.removeprefix(part) in {other.casefold() for other in names}:
            other = name[len(part) :]
            what = f"flash-{name} would mean two things: to flash this variant, and a part of '{other}'"
            raise value.error(what, "rename one of them")
    if folded in RESERVED:
        raise value.error("this name is taken by a folder of the build", f"taken: {', '.join(RESERVED)}")


def _defaults(value: Value | None) -> tuple[Settings, Settings]:
    fields = value.fields(("network", "variant")) if value is not None else {}
    return (
        _shared(fields.get("network"), networks.keys_of(fields.get("network")), networks.read_settings),
        _shared(fields.get("variant"), variant_keys.keys_of(fields.get("variant")), variant_keys.read_settings),
    )


def _shared(value: Value | None, keys: tuple[Key, ...], read: Callable[[Value, tuple[str, ...]], Settings]) -> Settings:
    if value is None:
        return {}
    shared = tuple(key.name for key in keys if key.shared)
    for name, entry in value.mapping().items():
        if name in names(keys) and name not in shared:
            raise entry.error("cannot be the same for all of them", f"allowed here: {', '.join(sorted(shared))}")
    return read(value, shared)


def _default(value: Value | None, known: tuple[str, ...]) -> tuple[str, ...]:
    def variant(item: Value) -> str:
        if item.text() not in known:
            raise item.error(f"no variant '{item.text()}'", nearest(item.text(), known))
        return item.text()

    if value is None:
        return known
    chosen = distinct(value, variant) if value.is_list else (variant(value),)
    if not chosen:
        raise value.error("is empty", "name at least one variant, or leave 'default' out: then it is all of them")
    return chosen


@dataclass(frozen=True)
class Draft:
    """A checked variant without its networks."""

    name: str  # As written
    settings: Settings  # Defaults and own keys
    overrides: Mapping[str, Settings]  # What differs from its networks, by network
    where: Location  # Where it was written

    @property
    def networks(self) -> tuple[str, ...]:
        return tuple(self.settings["networks"][0])

    @property
    def title(self) -> str:
        """The title, for people."""
        if "title" in self.settings:
            return str(self.settings["title"][0])
        return f"{', '.join(self.networks)} on {self.settings['board'][0]}"


def read_draft(name: str, value: Value, defaults: Settings, known: Mapping[str, object]) -> Draft:
    """Check a variant; ``known``: the networks of the file. NeuralArtError: no board, no network, or a wrong key."""
    settings = {**defaults, **read_settings(value)}
    if "board" not in settings:
        raise value.error("names no board", "for example board: stm32n6570-dk")
    if "networks" not in settings:
        raise value.error("names no network", "add network: NAME; " + nearest("", tuple(known)))
    mine, place = settings["networks"]
    for network in mine:
        if network not in known:
            hint = nearest(network, tuple(known))
            raise NeuralArtError(f"{value.key}: no network '{network}'", where=str(place), hint=hint)
    overrides: dict[str, Settings] = {}
    written = value.mapping().get("overrides")
    for network, entry in written.mapping().items() if written is not None else ():
        if network not in mine:
            raise entry.error("this variant does not build such a network", nearest(network, mine))
        overrides[network] = networks.read_settings(entry)
    return Draft(name, settings, overrides, value.where)


def _resolve(draft: Draft, made: tuple[NetworkConfig, ...]) -> VariantConfig:
    return VariantConfig(
        name=draft.name,
        title=draft.title,
        board=draft.settings["board"][0],
        networks=made,
        where=draft.where,
        places={key: setting[1] for key, setting in draft.settings.items()},
        **{"machine": "", **values_of(draft.settings)},
    )
