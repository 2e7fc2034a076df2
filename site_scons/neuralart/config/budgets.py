"""Limits of a network: what the keys below ``budgets`` mean."""

from __future__ import annotations

from neuralart.config.keys import Key, Settings, distinct, members, real, section, whole
from neuralart.config.types import Budgets
from neuralart.lazy_regex import lazy_regex
from neuralart.text.values import Value

POOL = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

BUDGET_KEYS: tuple[Key, ...] = (
    Key("max_sw_epochs", Value.integer, "epochs that the CPU computes, alone or together with the NPU"),
    Key(
        "forbidden_pools",
        lambda value: distinct(value, lambda item: item.matching(POOL, "the name of a pool, like hyperRAM or xSPI1")),
        "pools, by fname or report name (`xSPI1` or `hyperRAM`), of which nothing may be used",
    ),
    Key("max_weights", Value.integer, "bytes of constants in all pools together; a virtual pool counts with its parts"),
    Key("max_activations", Value.integer, "bytes of activations in all pools together"),
    Key(
        "max_cycles",
        whole(0, 10**15),
        "NPU cycles of one inference as the compiler estimates them. Software epochs count 0 there",
    ),
    Key("min_offload", whole(0, 100), "per cent of the epochs that the NPU computes alone; shared ones do not count"),
    Key(
        "min_inferences_per_second",
        real(0.0, 1e9),
        "as measured, else as the compiler estimates them. This and what follows is checked by `profile-<variant>` and "
        "`neuralart profile --check`",
    ),
    Key(
        "max_sw_share",
        real(0.0, 100.0),
        "per cent of the measured time, else of the epochs, that the CPU computes alone or together with the NPU",
    ),
    Key(
        "max_bytes",
        lambda value: tuple(sorted((pool, entry.integer(0, 10**15)) for pool, entry in value.mapping().items())),
        "by report name of a pool (`{octoFlash: 4M}`): bytes of one inference over it, read and written",
    ),
    Key(
        "max_instructions",
        whole(0, 10**15),
        "instructions of the epochs of one inference, counted on the variant's virtual machine. They are no cycles",
    ),
    Key("baseline", Value.text, "a `profile.json`: estimated cycles, measured time and traffic must not be above it"),
    Key("tolerance", real(0.0, 1000.0), "per cent that they may be above it nevertheless; default 0"),
)


def read_budgets(value: Value) -> Settings:
    """Read ``budgets:``, keyed like ``budgets.max_weights``: an override may change one limit and keep the rest."""
    return section("budgets", value, BUDGET_KEYS)


def resolve_budgets(merged: Settings) -> Budgets | None:
    """The limits among merged settings of a network; None where there is no limit."""
    mine = members(merged, "budgets")
    values = {key: setting[0] for key, setting in mine.items()}
    return Budgets(**values, places={key: setting[1] for key, setting in mine.items()}) or None
