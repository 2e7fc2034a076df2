"""The key ``relocatable`` of a variant in variants.yaml."""

from __future__ import annotations

from typing import Any

from neuralart.config.types import LOAD_MODES, RelocatableConfig
from neuralart.text.values import Value

_FLAGS = ("split", "secure", "debug_info", "clear")
KEYS = (*_FLAGS, "layout", "modes", "also_on", "exec_ram")
LAYOUTS = ("aligned", "vendor")
# The firmware aligns what it keeps for a model to this, and a model has at least a context and a vector of pools.
_LEAST_EXEC_RAM = 4 << 10
_MOST_EXEC_RAM = 16 << 20


def relocatable(value: Value) -> RelocatableConfig | None:
    """``true``, ``false``, or a mapping of what differs from the defaults.

    Raises:
        NeuralArtError: A key or a value is wrong.
    """
    if not value.is_mapping:
        return RelocatableConfig() if value.boolean() else None
    fields = value.fields(KEYS)
    made: dict[str, Any] = {name: fields[name].boolean() for name in _FLAGS if name in fields}
    if "layout" in fields:
        made["layout"] = fields["layout"].choice(LAYOUTS, empty=True)
    if "modes" in fields:
        made["modes"] = _modes(fields["modes"])
    if "also_on" in fields:
        made["also_on"] = _boards(fields["also_on"])
    if "exec_ram" in fields:
        made["exec_ram"] = fields["exec_ram"].integer(_LEAST_EXEC_RAM, _MOST_EXEC_RAM)
    return RelocatableConfig(**made)


def _modes(value: Value) -> tuple[str, ...]:
    found: list[str] = []
    for item in value.items():
        mode = item.choice(LOAD_MODES)
        if mode in found:
            raise item.error(f"'{mode}' is named twice")
        found.append(mode)
    if not found:
        raise value.error("is empty", f"one or more of {', '.join(LOAD_MODES)}")
    return tuple(found)


def _boards(value: Value) -> tuple[str, ...]:
    found: list[str] = []
    for item in value.items():
        name = item.text()
        if name in found:
            raise item.error(f"'{name}' is named twice")
        found.append(name)
    return tuple(found)
