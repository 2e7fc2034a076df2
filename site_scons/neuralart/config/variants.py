"""Variants of variants.yaml: each checked by itself, then joined with its networks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from neuralart.config import networks
from neuralart.config.keys import Settings
from neuralart.config.types import NetworkConfig, VariantConfig
from neuralart.config.variant_keys import read_settings, values_of
from neuralart.errors import NeuralArtError, nearest
from neuralart.text.values import Location, Value

VERBS = ("run-", "flash-", "boot-", "load-", "report-", "export-", "verify-")
# flash-application-NAME and flash-model-NAME write a part of NAME.
FLASH_PARTS = ("application-", "model-")
# Folders of the build directory that do not belong to one variant.
RESERVED = ("app_config", "firmware", "initializers", "networks", "patched", "relocatable")


@dataclass(frozen=True)
class Draft:
    """A variant, checked but not yet joined with its networks."""

    name: str  # As written
    settings: Settings  # Defaults and own keys
    overrides: Mapping[str, Settings]  # What differs from its networks, by network
    where: Location  # Where it was written

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
    """Check one variant; ``defaults`` hold for all variants, ``known`` are the networks of the file. NeuralArtError: a
    wrong key or value, no board, no network, or a network that is not in the file.
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
    overrides: dict[str, Settings] = {}
    written = value.mapping().get("overrides")
    for network, entry in written.mapping().items() if written is not None else ():
        if network not in mine:
            raise entry.error("this variant does not build such a network", nearest(network, mine))
        overrides[network] = networks.read_settings(entry)
    return Draft(name, settings, overrides, value.where)


def resolve(draft: Draft, made: tuple[NetworkConfig, ...]) -> VariantConfig:
    """The variant with its networks."""
    return VariantConfig(
        name=draft.name,
        title=draft.title,
        board=draft.settings["board"][0],
        networks=made,
        where=draft.where,
        places={key: setting[1] for key, setting in draft.settings.items()},
        **{"machine": "", **values_of(draft.settings)},
    )
