"""The keys of ``budgets:`` of a network: limits that turn what a compile decided silently into errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from neuralart.config.keys import Key, Settings, members, section
from neuralart.text.values import Location, Value

_POOL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)


@dataclass(frozen=True)
class Budgets:
    """Limits of one network; None and empty: no limit."""

    max_sw_epochs: int | None = None  # Epochs that the CPU computes, alone or together with the NPU
    forbidden_pools: tuple[str, ...] = ()  # Pools, by fname or report name, of which nothing may be used
    max_weights: int | None = None  # Bytes of constants, all pools together
    max_activations: int | None = None  # Bytes of activations, all pools together
    max_cycles: int | None = None  # NPU cycles of one inference as the compiler estimates them
    min_offload: int | None = None  # Per cent of the epochs that the NPU computes alone
    # Where each limit was written
    places: Mapping[str, Location] = field(default_factory=dict, compare=False, repr=False)

    def __bool__(self) -> bool:
        """There is a limit."""
        return self != Budgets()

    def said(self, key: str) -> str:
        """The place of a limit for a message; its name where no file said it."""
        place = self.places.get(key)
        return str(place) if place is not None and place.file else f"budgets.{key}"


def _pools(value: Value) -> tuple[str, ...]:
    names = tuple(item.matching(_POOL, "the name of a pool, like hyperRAM or xSPI1") for item in value.items())
    for index, item in enumerate(value.items()):
        if names[index] in names[:index]:
            raise item.error(f"'{names[index]}' is named twice")
    return names


def _count(value: Value) -> int:
    return value.integer()


def _cycles(value: Value) -> int:
    return value.integer(0, 10**15)


def _percent(value: Value) -> int:
    return value.integer(0, 100)


KEYS: tuple[Key, ...] = (
    Key("max_sw_epochs", _count, "epochs that the CPU computes, alone or together with the NPU"),
    Key(
        "forbidden_pools",
        _pools,
        "pools, by fname or report name (`xSPI1` or `hyperRAM`), of which nothing may be used",
    ),
    Key("max_weights", _count, "bytes of constants in all pools together; a virtual pool counts with its parts"),
    Key("max_activations", _count, "bytes of activations, likewise"),
    Key(
        "max_cycles",
        _cycles,
        "NPU cycles of one inference as the compiler estimates them. Software epochs count 0 there",
    ),
    Key("min_offload", _percent, "per cent of the epochs that the NPU computes alone; shared ones do not count"),
)


def read_settings(value: Value) -> Settings:
    """Read ``budgets:``, keyed like ``budgets.max_weights``: an override may change one limit and keep the rest."""
    return section("budgets", value, KEYS)


def resolve(merged: Settings) -> Budgets | None:
    """The limits among merged settings of a network; None where there is no limit."""
    mine = members(merged, "budgets")
    values = {key: setting[0] for key, setting in mine.items()}
    return Budgets(**values, places={key: setting[1] for key, setting in mine.items()}) or None
