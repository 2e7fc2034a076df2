"""What an ONNX file holds, as the steps of its reading work with it."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from neuralart.errors import NeuralArtError

Array = npt.NDArray[Any]
_NAMES = 3  # tensors that are named of each kind of problem


class Problem(Exception):
    """Why one operator cannot be compiled, in a few words."""


class Scale(NamedTuple):
    """How stored integers mean real values: scales (exactly float32), zero points, the dimension of several scales.

    Unsigned bytes are given as signed ones, 128 less.
    """

    scales: tuple[float, ...]
    points: tuple[int, ...]
    axis: int = 0

    def real(self, stored: Array) -> Array:
        """The float32 that DequantizeLinear makes of stored values."""
        shape = (
            [-1 if axis == self.axis else 1 for axis in range(stored.ndim)]
            if len(self.scales) > 1
            else [1] * stored.ndim
        )
        points, scales = np.array(self.points).reshape(shape), np.array(self.scales, np.float32).reshape(shape)
        return np.asarray((stored.astype(np.int64) - points).astype(np.float32) * scales)

    def stored(self, real: Array) -> Array:
        """The int8 that QuantizeLinear makes of real values: halves to even, saturated. For one scale."""
        with np.errstate(all="ignore"):
            steps = np.rint(np.nan_to_num(real.astype(np.float32) / np.float32(self.scales[0]), nan=-1e9))
        return np.asarray(np.clip(steps + self.points[0], -128, 127).astype(np.int8))


@dataclass
class Node:
    """An operator of the standard's own domain: its inputs and outputs by the names of values, empty where absent."""

    kind: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Any] = field(default_factory=dict)
    # What a Conv, Gemm or MatMul has each output channel multiplied with, and added to it then
    affine: tuple[Array, Array] | None = None

    def input(self, position: int) -> str:
        """The name of an input; empty when it is absent."""
        return self.inputs[position] if position < len(self.inputs) else ""

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute."""
        return self.attributes.get(name, default)


@dataclass
class Graph:
    """A graph of plain operators with known shapes."""

    path: str  # As messages name it
    opset: int
    inputs: list[str]
    outputs: list[str]
    nodes: list[Node] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # Of all values but constants
    dtypes: dict[str, str] = field(default_factory=dict)  # Likewise, numpy's names
    constants: dict[str, Array] = field(default_factory=dict)
    # What QuantizeLinear and DequantizeLinear said: scales of values, stored constants, names of one value
    scales: dict[str, Scale] = field(default_factory=dict)
    stored: dict[str, tuple[Array, Scale]] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    # What cannot be compiled: (operator, why) -> outputs of such operators, and all values behind them
    problems: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    spoiled: set[str] = field(default_factory=set)

    def problem(self, node: Node, why: str) -> None:
        """Note an operator that cannot be compiled."""
        self.problems.setdefault((node.kind, why), []).append(next((name for name in node.outputs if name), ""))
        self.spoiled.update(node.outputs)

    def skipped(self, node: Node, known: Container[str]) -> bool:
        """Leave out a node of an unknown kind, which is noted, or one that reads what is spoiled."""
        spoiled = not self.spoiled.isdisjoint(filter(None, node.inputs))
        if node.kind not in known:
            self.problem(node, "not supported")
        elif spoiled:
            self.spoiled.update(node.outputs)
        return spoiled or node.kind not in known

    def check(self) -> None:
        """Raise one NeuralArtError with all that was noted, the most frequent first."""
        rows = sorted(self.problems.items(), key=lambda item: (-len(item[1]), item[0]))
        said = [f"{len(names)} {kind} ({why}): {_listed(names)}" for (kind, why), names in rows]
        if said:
            total = sum(map(len, self.problems.values()))
            counted = "1 operator is" if total == 1 else f"{total} operators are"
            raise NeuralArtError(f"{counted} not supported: {said[0]}", where=self.path, hint="; ".join(said[1:]))


def _listed(names: Iterable[str]) -> str:
    all_names = [f"'{name}'" for name in names]
    return ", ".join(all_names[:_NAMES]) + (", ..." if len(all_names) > _NAMES else "")
