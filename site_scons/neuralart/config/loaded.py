"""The key ``relocatable`` of a variant in variants.yaml."""

from __future__ import annotations

from neuralart.config.keys import Key, names, read_settings
from neuralart.config.types import LOAD_MODES, RelocatableConfig
from neuralart.text.values import Value

LAYOUTS = ("aligned", "vendor")
# The firmware aligns what it keeps for a model to this, and a model has at least a context and a vector of pools.
_LEAST_EXEC_RAM = 4 << 10
_MOST_EXEC_RAM = 16 << 20


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


_DOC = "relocatable-build.md"
KEYS: tuple[Key, ...] = (
    Key(
        "split",
        Value.boolean,
        "`true`: the constants in a file and a flash slot of their own, `network_rel_params.bin`",
    ),
    Key("secure", Value.boolean, "`false`: for firmware in the non-secure state"),
    Key(
        "debug_info",
        Value.boolean,
        "`false`: epochs carry no numbers; the firmware is compiled alike",
    ),
    Key(
        "layout",
        lambda value: value.choice(LAYOUTS, empty=True),
        f"`aligned` or `vendor`, see [{_DOC}]({_DOC}#layouts)",
        "`aligned`",
    ),
    Key(
        "modes",
        _modes,
        "what `load-<variant>` tries, of `xip` (code stays in flash) and `copy` (code is copied into RAM); the first "
        "is what `run-`, `flash-` and `boot-` use",
        "`[xip, copy]`",
    ),
    Key("clear", Value.boolean, "`true`: the loader fills activation pools with zeros"),
    Key(
        "also_on",
        _boards,
        "further boards: `load-<variant>` runs the same file there, with a firmware of their own",
        "none",
    ),
    Key(
        "exec_ram",
        lambda value: value.integer(_LEAST_EXEC_RAM, _MOST_EXEC_RAM),
        "bytes that the firmware keeps for code and data of the model, `4K` to `16M`",
        "`256K`",
    ),
)


def relocatable(value: Value) -> RelocatableConfig | None:
    """``true``, ``false``, or a mapping of what differs from the defaults."""
    if not value.is_mapping:
        return RelocatableConfig() if value.boolean() else None
    read = read_settings(value, KEYS, names(KEYS))
    return RelocatableConfig(**{name: setting[0] for name, setting in read.items()})
