"""The keys of a variant in variants.yaml."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from neuralart.config import networks, patch
from neuralart.config.application import application
from neuralart.config.loaded import relocatable
from neuralart.config.types import KERNELS, NetworkConfig, Reserved, ToolchainConfig, VariantConfig
from neuralart.errors import NeuralArtError, nearest
from neuralart.text.values import Location, Value

VERBS = ("run-", "flash-", "boot-", "load-", "report-", "export-", "verify-")
# flash-application-NAME and flash-model-NAME write a part of NAME.
FLASH_PARTS = ("application-", "model-")
# Folders of the build directory that do not belong to one variant.
RESERVED = ("app_config", "firmware", "initializers", "networks", "patched", "relocatable")
MACHINES = ("silicon", "unicorn", "qemu")
LIBCS = ("auto", "picolibc", "newlib", "newlib-nano")
DEAD_BANKS = ("fault", "zeros")
OPTIMIZATIONS = ("-O0", "-O1", "-O2", "-O3", "-Os", "-Og", "-Oz")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_VERSION = re.compile(r"[0-9]+(?:\.[0-9]+)*", re.ASCII)
_DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:=.*)?", re.ASCII)
_SLOT = re.compile(r"[a-z][a-z0-9_-]*", re.ASCII)
_TOOLCHAIN_KEYS = ("prefix", "libc", "version")

Settings = Mapping[str, tuple[Any, Location]]


def _toolchain(value: Value) -> Settings:
    """Keyed like ``toolchain.libc``, so that a variant may change one and keep the rest of its defaults."""
    fields = value.fields(_TOOLCHAIN_KEYS)
    read: dict[str, tuple[Any, Location]] = {}
    for name, entry in fields.items():
        if name == "prefix":
            text = entry.text(empty=True)
        elif name == "libc":
            text = entry.choice(LIBCS)
        else:
            text = entry.matching(_VERSION, "a version of gcc, like 12 or 12.2", empty=True)
        read[f"toolchain.{name}"] = (text, entry.where)
    return read


def _slots(value: Value) -> Settings:
    """Keyed like ``slots.descriptor``, so that a variant may move one and keep the rest of its defaults."""
    read: dict[str, tuple[Any, Location]] = {}
    for name, entry in value.mapping().items():
        if not _SLOT.fullmatch(name):
            raise entry.error("the name of a slot must be small letters, digits, '_' and '-'")
        read[f"slots.{name}"] = (entry.integer(), entry.where)
    return read


def _reserved(value: Value) -> tuple[Reserved, ...]:
    made: dict[str, Reserved] = {}
    for item in value.items():
        fields = item.fields(("name", "address", "size"))
        for key in ("name", "address", "size"):
            if key not in fields:
                raise item.error(f"'{key}' is missing", "a reserved range is {name: ..., address: 0x..., size: ...}")
        name = fields["name"].matching(NAME, "letters, digits, '.', '_' and '-'")
        if name in made:
            raise fields["name"].error(f"'{name}' is reserved already, in line {made[name].where.line}")
        address = fields["address"].integer()
        size = fields["size"].integer(1, 1 << 32)
        if address + size > 1 << 32:
            raise fields["size"].error(f"{address:#010x} + {size:#x} bytes runs over the end of the address space")
        made[name] = Reserved(name, address, size, item.where)
    return tuple(made.values())


def _dead_bank(value: Value) -> str:
    return value.choice(DEAD_BANKS)


def _network_names(value: Value) -> tuple[str, ...]:
    names: list[str] = []
    for item in value.items():
        name = item.text()
        if name in names:
            raise item.error(f"'{name}' is named twice")
        names.append(name)
    if not names:
        raise value.error("is empty", "name at least one network")
    return tuple(names)


def _optimization(value: Value) -> str:
    text = value.text()
    if text == "-Ofast":
        raise value.error(
            "-Ofast changes the results of floating-point arithmetic", "allowed: " + ", ".join(OPTIMIZATIONS)
        )
    return value.choice(OPTIMIZATIONS)


def _kernels(value: Value) -> str:
    return value.choice(KERNELS)


def _defines(value: Value) -> tuple[str, ...]:
    return tuple(item.matching(_DEFINE, "NAME or NAME=value") for item in value.items())


def _machine(value: Value) -> str:
    return value.choice(MACHINES, empty=True)


_READERS: dict[str, Callable[[Value], Any]] = {
    "title": Value.text,
    "board": Value.text,
    "machine": _machine,
    "network": Value.text,
    "networks": _network_names,
    "optimization": _optimization,
    "kernels": _kernels,
    "defines": _defines,
    "reserved": _reserved,
    "dead_bank": _dead_bank,
    "allow_reference_on_hardware": Value.boolean,
    "relocatable": relocatable,
    "application": application,
}
KEYS = (*_READERS, "overrides", "toolchain", "slots", "patch")
# What a variant has as it was read.
_PLAIN_KEYS = (
    "machine",
    "optimization",
    "kernels",
    "defines",
    "reserved",
    "dead_bank",
    "allow_reference_on_hardware",
    "relocatable",
    "application",
)
# One title for all variants, or one override for all of them, says nothing.
SHARED_KEYS = tuple(key for key in KEYS if key not in ("title", "overrides"))


def read_settings(value: Value, known: tuple[str, ...] = KEYS) -> Settings:
    """Read a variant's keys, all but the overrides.

    Returns:
        For each key that is there its value and its place; ``network:`` comes out as ``networks``, the keys of
        ``toolchain`` as ``toolchain.prefix`` and so on, those of ``slots`` and ``patch`` likewise.

    Raises:
        NeuralArtError: An unknown key or a wrong value.
    """
    fields = value.fields(known)
    if "network" in fields and "networks" in fields:
        raise fields["network"].error("'network' and 'networks' cannot both be there", "keep one of them")
    settings: dict[str, tuple[Any, Location]] = {}
    for name, entry in fields.items():
        if name == "toolchain":
            settings.update(_toolchain(entry))
        elif name == "slots":
            settings.update(_slots(entry))
        elif name == "patch":
            settings.update(patch.read_settings(entry))
        elif name == "network":
            settings["networks"] = ((entry.text(),), entry.where)
        elif name != "overrides":
            settings[name] = (_READERS[name](entry), entry.where)
    return settings


@dataclass(frozen=True)
class Draft:
    """A variant, checked but not yet joined with its networks.

    Attributes:
        name: As written.
        settings: Defaults and own keys.
        overrides: What differs from its networks, by network.
        where: Where it was written.
    """

    name: str
    settings: Settings
    overrides: Mapping[str, networks.Settings]
    where: Location

    @property
    def networks(self) -> tuple[str, ...]:
        """Names of its networks."""
        return tuple(self.settings["networks"][0])

    @property
    def title(self) -> str:
        """For people."""
        if "title" in self.settings:
            return str(self.settings["title"][0])
        return f"{', '.join(self.networks)} on {self.settings['board'][0]}"


def read_draft(name: str, value: Value, defaults: Settings, known: Mapping[str, object]) -> Draft:
    """Check one variant.

    Args:
        name: Its name.
        value: What is written under its name.
        defaults: What holds for all variants.
        known: The networks of the file.

    Raises:
        NeuralArtError: A wrong key or value, no board, no network, or a network that is not in the file.
    """
    settings = {**defaults, **read_settings(value)}
    if "board" not in settings:
        raise value.error("names no board", "for example board: stm32n6570-dk")
    if "networks" not in settings:
        raise value.error("names no network", "add network: NAME; " + nearest("", tuple(known)))
    mine, place = settings["networks"]
    for network in mine:
        if network not in known:
            raise NeuralArtError(
                f"{value.key}: no network '{network}'", where=str(place), hint=nearest(network, tuple(known))
            )
    overrides: dict[str, networks.Settings] = {}
    written = value.mapping().get("overrides")
    for network, entry in written.mapping().items() if written is not None else ():
        if network not in mine:
            raise entry.error("this variant does not build such a network", nearest(network, mine))
        overrides[network] = networks.read_settings(entry)
    return Draft(name, settings, overrides, value.where)


def resolve(draft: Draft, made: tuple[NetworkConfig, ...]) -> VariantConfig:
    """The variant with its networks."""
    values: dict[str, Any] = {key: setting[0] for key, setting in draft.settings.items() if key in _PLAIN_KEYS}
    toolchain = {
        key.removeprefix("toolchain."): setting[0]
        for key, setting in draft.settings.items()
        if key.startswith("toolchain.")
    }
    slots = tuple(
        (key.removeprefix("slots."), setting[0]) for key, setting in draft.settings.items() if key.startswith("slots.")
    )
    return VariantConfig(
        name=draft.name,
        title=draft.title,
        board=draft.settings["board"][0],
        networks=made,
        toolchain=ToolchainConfig(**toolchain),
        slots=slots,
        patch=patch.resolve(draft.settings),
        where=draft.where,
        places={key: setting[1] for key, setting in draft.settings.items()},
        **{"machine": "", **values},
    )
