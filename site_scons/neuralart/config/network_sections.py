"""Keys of a network that are sections: limits (``budgets``), and changes of the model while it is read."""

from __future__ import annotations

from neuralart.config.keys import WORDS, Key, Settings, distinct, members, real, section, whole
from neuralart.config.types import Budgets
from neuralart.quick import lazy_regex
from neuralart.text.values import Value

POOL = lazy_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]*")

BUDGET_KEYS: tuple[Key, ...] = (
    Key("max_sw_epochs", Value.integer, "epochs that the CPU computes, alone or together with the NPU"),
    Key(
        "forbidden_pools",
        lambda value: distinct(value, lambda item: item.matching(POOL, "the name of a pool, like hyperRAM or xSPI1")),
    ).says("pools, by fname or report name (`xSPI1` or `hyperRAM`), of which nothing may be used"),
    Key("max_weights", Value.integer, "bytes of constants in all pools together; a virtual pool counts with its parts"),
    Key("max_activations", Value.integer, "bytes of activations in all pools together"),
    Key("max_cycles", whole(0, 10**15)).says(
        "NPU cycles of one inference as the compiler estimates them. Software epochs count 0 there"
    ),
    Key("min_offload", whole(0, 100), "per cent of the epochs that the NPU computes alone; shared ones do not count"),
    Key("min_inferences_per_second", real(0.0, 1e9)).says(
        "as measured, else as the compiler estimates them. This and what follows is checked by `profile-<variant>` and "
        "`neuralart profile --check`"
    ),
    Key("max_sw_share", real(0.0, 100.0)).says(
        "per cent of the measured time, else of the epochs, that the CPU computes alone or together with the NPU"
    ),
    Key(
        "max_bytes",
        lambda value: tuple(sorted((pool, entry.integer(0, 10**15)) for pool, entry in value.mapping().items())),
    ).says("by report name of a pool (`{octoFlash: 4M}`): bytes of one inference over it, read and written"),
    Key("max_instructions", whole(0, 10**15)).says(
        "instructions of the epochs of one inference, counted on the variant's virtual machine. They are no cycles"
    ),
    Key("baseline", Value.text, "a `profile.json`: estimated cycles, measured time and traffic must not be above it"),
    Key("tolerance", real(0.0, 1000.0), "per cent that they may be above it nevertheless; default 0"),
)


def read_budgets(value: Value) -> Settings:
    """Read ``budgets:`` as settings such as ``budgets.max_weights``, so that an override may change one limit."""
    return section("budgets", value, BUDGET_KEYS)


def resolve_budgets(merged: Settings) -> Budgets | None:
    """Make the limits from merged settings of a network; None if there are none."""
    mine = members(merged, "budgets")
    values = {key: setting[0] for key, setting in mine.items()}
    return Budgets(**values, places={key: setting[1] for key, setting in mine.items()}) or None


_LARGEST_SIZE = 1 << 24


def _cut(value: Value) -> tuple[str, ...]:
    """``{outputs: [NAME, ...]}``."""
    value.fields(("outputs",))
    return distinct(value.need("outputs", "{outputs: [NAME, ...]}"))


def _input_shapes(value: Value) -> tuple[str, ...]:
    """``{NAME: [1, 3, 48, 320]}``, as words ``NAME=1x3x48x320``."""
    words = []
    for name, entry in value.mapping().items():
        sizes = [str(each.integer(1, _LARGEST_SIZE)) for each in entry.items()]
        if not sizes:
            raise entry.error("has no sizes", "one for each dimension: [1, 3, 48, 320]")
        words.append(f"{name}={'x'.join(sizes)}")
    return tuple(words)


MODEL_KEYS = (
    Key("cut", _cut, form={"outputs": WORDS}, option="--cut", shared=False).says(
        "`{outputs: [NAME, ...]}`: names of the tensors where the model ends. They become its outputs, and what only "
        "others need goes ([operators.md](operators.md#a-model-that-ends-earlier))",
        "the whole model",
    ),
    Key("input_shapes", _input_shapes, option="--input-shape", shared=False).says(
        "`{NAME: [1, 3, 48, 320]}`: the shapes of inputs whose sizes a model leaves open "
        "([operators.md](operators.md#open-sizes))",
        "a batch that is open is 1, other open sizes are refused",
    ),
)
