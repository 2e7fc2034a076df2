"""Instructions of software epochs, estimated without running them: a line for each kernel, fitted on measured epochs.
``benchmarks/cost_model.py`` writes the lines and their error. They are of the kernels of this project on one core;
nothing is known here of the NPU, and instructions are no cycles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.files import read_bytes
from neuralart.vendor.c_info.types import InfoBuffer, InfoNode

FILE = Path(__file__).with_name("kernel_costs.json")
# Other software epochs are of the vendor's library, which was not measured.
_OWN = "na_"
# No network has more of anything; a damaged file may, and such a number is none that can be multiplied by a factor.
_MOST = 1 << 63


def terms_of(node: InfoNode, buffers: Mapping[int, InfoBuffer]) -> tuple[str, tuple[int, int, int]] | None:
    """Kernel of an epoch and what its line multiplies: multiply-accumulate operations, output elements, 1. ``buffers``:
    by id. None: the epoch is not a single kernel of this project.
    """
    if node.kind != "SW" or len(node.functions) != 1 or not node.functions[0].startswith(_OWN):
        return None
    written = (buffers[each] for each in node.outputs if each in buffers)
    return node.functions[0], (node.macc, sum(each.size * 8 // (each.bits or 8) for each in written), 1)


@dataclass(frozen=True)
class CostModel:
    """Lines of kernels, and how far they are off for a model that they were not fitted on."""

    core: str  # Instruction set that was measured, and how the kernels were compiled
    models: tuple[str, ...]  # Networks that it was fitted on
    error: float  # Largest error of a network's sum when it was left out, as a share of the measured one
    epoch_error: float  # The same of single epochs: nine of ten are not further off
    kernels: Mapping[str, tuple[float, float, float]]  # Factors of the terms

    def record(self) -> dict[str, Any]:
        """What programs need to know of it (docs/reference/profile.md has the schema)."""
        return {"core": self.core, "models": list(self.models), "error": self.error, "epoch_error": self.epoch_error}


@cache
def cost_model() -> CostModel:
    """The model of the package."""
    data: dict[str, Any] = jsontext.loads(read_bytes(FILE))
    kernels = {kernel: (row[0], row[1], row[2]) for kernel, row in data["kernels"].items()}
    return CostModel(data["core"], tuple(data["models"]), data["error"], data["epoch_error"], kernels)


def instructions_of(node: InfoNode, buffers: Mapping[int, InfoBuffer]) -> int | None:
    """Estimate of an epoch; None where its kernel was not measured, or never checked on a model left out."""
    found = terms_of(node, buffers)
    factors = None if found is None else cost_model().kernels.get(found[0])
    if found is None or factors is None or max(found[1]) > _MOST:
        return None
    return round(sum(factor * term for factor, term in zip(factors, found[1], strict=True)))
