"""What is said of a model that cannot be compiled: what it is as a whole, or all of its operators at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from neuralart.errors import NeuralArtError
from neuralart_reference.model.graph import Model

_NAMES, _ROWS = 3, 8  # Tensors of each kind of problem, and kinds of problems, that are named
_COMPILED = {
    "CUSTOM:ethos-u": "by Vela for an Arm Ethos-U NPU",
    "CUSTOM:edgetpu-custom-op": "by edgetpu_compiler for a Google Edge TPU",
}


class ModelRefusal(NeuralArtError):
    """Operators of a model cannot be compiled; ``kinds``: how many of each kind."""

    def __init__(self, what: str, kinds: Mapping[str, int], where: str, hint: str) -> None:
        super().__init__(what, where=where, hint=hint)
        self.kinds = kinds


def refusal(problems: Mapping[tuple[str, str], Sequence[str]], where: str, proposal: str = "") -> ModelRefusal:
    """The error for operators that cannot be compiled, the most frequent first. ``problems``: names in quotes of their
    outputs for each kind and reason; ``proposal``: what could be done about all of them.
    """
    rows = sorted(problems.items(), key=lambda item: (-len(item[1]), item[0]))
    kinds = Counter(kind for (kind, _), names in rows for _ in names)
    said = [f"{len(n)} {kind} ({why}): {', '.join(n[:_NAMES])}{', ...' * (len(n) > _NAMES)}" for (kind, why), n in rows]
    more = [proposal, *said[1:_ROWS], f"and {len(said) - _ROWS} more kinds" if len(said) > _ROWS else ""]
    what = f"operators that are not supported: {kinds.total()}, namely {said[0]}"
    return ModelRefusal(what, kinds, where, "; ".join(filter(None, more)))


def check_compiled(model: Model) -> None:
    """Raise a NeuralArtError if another compiler has compiled the model already."""
    for op in model.operators:
        if op.kind in _COMPILED:
            what = f"the model is compiled already, {_COMPILED[op.kind]}"
            raise NeuralArtError(what, where=model.path, hint="compile the model that it was made from")
