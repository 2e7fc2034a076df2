"""The keys of a network in variants.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from neuralart.config import app_config, budgets
from neuralart.config.types import COMPILERS, STRATEGIES, NetworkConfig
from neuralart.text.values import Location, Value

DATA_TYPES = ("float32", "int8", "uint8", "int32")
PAIRS = ("profiling",)
# Bounds of `check:`, and the largest of each.
LARGEST = {"max_lsb": 1 << 31, "cos": 1, "rmse": 1e30}
METRICS = tuple(LARGEST)
# Compilers that take something.
_PINNED = ("stedgeai", "recorded")
# A version or its beginning; a star ends it.
_N = "[0-9]{1,4}"
PIN = re.compile(rf"{_N}(?:\.(?:\*|{_N}(?:\.(?:\*|{_N}(?:-(?:\*|[0-9A-Za-z]+))?))?))?", re.ASCII)
PIN_FORM = 'a version of ST Edge AI Core, like "4.0.*" or "4.0.1"'
CHANNEL_POSITIONS = ("chfirst", "chlast")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
POOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)

Settings = Mapping[str, tuple[Any, Location]]


def _data_types(value: Value) -> str:
    """One type, or one for each input, separated by commas."""
    text = value.text(empty=True)
    for part in text.split(",") if text else ():
        if part not in DATA_TYPES:
            raise value.error(
                f"'{part}' is not a data type", f"known: {', '.join(DATA_TYPES)}; one, or one per tensor: uint8,int8"
            )
    return text


def _positions(value: Value) -> str:
    return value.choice(CHANNEL_POSITIONS, empty=True)


def _compiler(value: Value) -> Settings:
    """``stedgeai``, ``{stedgeai: "4.0.*"}``, ``{recorded: FOLDER}``.

    Keyed with what goes with it, so that an override replaces all of it.
    """
    version = recording = ""
    if value.is_mapping:
        fields = value.fields(_PINNED)
        if len(fields) != 1:
            raise value.error("names no compiler, or several", '{stedgeai: "4.0.*"} or {recorded: FOLDER}')
        name, entry = next(iter(fields.items()))
        if name == "recorded":
            recording = entry.text()
        else:
            version = entry.matching(PIN, PIN_FORM)
    else:
        name = value.choice(COMPILERS)
        if name == "recorded":
            raise value.error("names no recording", "compiler: {recorded: FOLDER}, as `neuralart record` made it")
    made = {"compiler": name, "compiler_version": version, "recording": recording}
    return {key: (text, value.where) for key, text in made.items()}


def _path(value: Value) -> str:
    return value.text()


def _path_or_none(value: Value) -> str:
    return value.text(empty=True)


def _profile(value: Value) -> Settings:
    """A profile, or ``{base: a profile, add: [options], remove: [options]}``."""
    if not value.is_mapping:
        return {"profile": (_profile_name(value), value.where)}
    fields = value.fields(("base", "add", "remove"))
    made: dict[str, tuple[Any, Location]] = {}
    if "base" in fields:
        made["profile"] = (_profile_name(fields["base"]), fields["base"].where)
    for key in ("add", "remove"):
        if key in fields:
            made[f"profile_{key}"] = (fields[key].texts(), fields[key].where)
    return made


def _check(value: Value) -> tuple[tuple[str, float], ...]:
    """``exact``, or bounds such as ``{max_lsb: 1, cos: 0.999}``."""
    if not value.is_mapping:
        value.choice(("exact",))
        return ()
    fields = value.fields(METRICS)
    if not fields:
        raise value.error("names no bound", "exact, or max_lsb, cos, rmse")
    bounds: dict[str, float] = {}
    for name, entry in fields.items():
        top = LARGEST[name]
        bounds[name] = entry.integer(0, int(top)) if name == "max_lsb" else entry.real(0.0, top)
    return tuple(sorted(bounds.items()))


def _pair(value: Value) -> str:
    return value.choice(PAIRS, empty=True)


def _profile_name(value: Value) -> str:
    """``file.json``, ``profile@file.json``, or ``profile@`` for a profile of the board's own file."""
    text = value.text(empty=True)
    if text.startswith("@"):
        raise value.error(f"'{text}' names no profile before the @", "profile@file.json, profile@ or file.json")
    return text


def _pool_names(value: Value) -> tuple[str, ...]:
    names = tuple(item.matching(POOL, "the fname of a pool, like xSPI2") for item in value.items())
    for index, item in enumerate(value.items()):
        if names[index] in names[:index]:
            raise item.error(f"'{names[index]}' is named twice")
    return names


_READERS: dict[str, Callable[[Value], Any]] = {
    "model": _path,
    "mpool": _path_or_none,
    "input_data_type": _data_types,
    "output_data_type": _data_types,
    "inputs_ch_position": _positions,
    "outputs_ch_position": _positions,
    "allocate_inputs": Value.boolean,
    "allocate_outputs": Value.boolean,
    "options": Value.texts,
    "initializers": _pool_names,
    "vectors": _path_or_none,
    "check": _check,
    "pair": _pair,
    "extra_options": Value.texts,
    "failures": _path_or_none,
}
# Keys that decide several settings.
_GROUPS: dict[str, Callable[[Value], Settings]] = {"compiler": _compiler, "profile": _profile}
_OF_GROUPS = ("compiler", "compiler_version", "recording", "profile", "profile_add", "profile_remove")
KEYS = (*_READERS, *_GROUPS, "budgets", "strategies", "app_config")
# A model belongs to one network: as a default for all of them it could only be a mistake.
SHARED_KEYS = tuple(key for key in KEYS if key != "model")


def read_settings(value: Value, known: tuple[str, ...] = KEYS) -> Settings:
    """Read some of a network's keys.

    Returns:
        For each key that is there its value and its place; the keys of ``strategies`` as ``strategies.xSPI2``, those of
        ``app_config`` likewise.

    Raises:
        NeuralArtError: An unknown key or a wrong value.
    """
    settings: dict[str, tuple[Any, Location]] = {}
    for name, entry in value.fields(known).items():
        if name == "strategies":
            settings.update(_strategies(entry))
        elif name == "app_config":
            settings.update(app_config.read_settings(entry))
        elif name == "budgets":
            settings.update(budgets.read_settings(entry))
        elif name in _GROUPS:
            settings.update(_GROUPS[name](entry))
        else:
            settings[name] = (_READERS[name](entry), entry.where)
    return settings


def _strategies(value: Value) -> Settings:
    """Keyed like ``strategies.AXISRAM5``, so that an override may change one pool and keep the rest."""
    read: dict[str, tuple[Any, Location]] = {}
    for pool, entry in value.mapping().items():
        if not POOL.fullmatch(pool):
            raise entry.error("the key must be the fname of a pool, like xSPI2")
        read[f"strategies.{pool}"] = (entry.choice(STRATEGIES, empty=True), entry.where)
    return read


def resolve(name: str, where: Location, *layers: Settings) -> NetworkConfig:
    """A network from its layers; later ones win.

    Raises:
        NeuralArtError: Keys of ``app_config`` do not go together.
    """
    merged = {key: setting for layer in layers for key, setting in layer.items()}
    values: dict[str, Any] = {key: setting[0] for key, setting in merged.items() if key in (*_READERS, *_OF_GROUPS)}
    values["strategies"] = tuple(
        (key.removeprefix("strategies."), setting[0])
        for key, setting in merged.items()
        if key.startswith("strategies.") and setting[0]
    )
    values["app_config"] = app_config.resolve(merged)
    values["budgets"] = budgets.resolve(merged) or None
    return NetworkConfig(name=name, where=where, places={key: s[1] for key, s in merged.items()}, **values)
