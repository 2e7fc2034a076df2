"""The keys of a network that change its model while it is read: where it ends, sizes that it leaves open."""

from __future__ import annotations

from neuralart.config.keys import WORDS, Key, distinct
from neuralart.text.values import Value

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
    Key(
        "cut",
        _cut,
        "`{outputs: [NAME, ...]}`: names of the tensors where the model ends. They become its outputs, and what only "
        "others need goes ([operators.md](operators.md#a-model-that-ends-earlier))",
        "the whole model",
        form={"outputs": WORDS},
        option="--cut",
        shared=False,
    ),
    Key(
        "input_shapes",
        _input_shapes,
        "`{NAME: [1, 3, 48, 320]}`: the shapes of inputs whose sizes a model leaves open "
        "([operators.md](operators.md#open-sizes))",
        "a batch that is open is 1, other open sizes are refused",
        option="--input-shape",
        shared=False,
    ),
)
