"""Makes the model: tensors, operators, and in which order the dimensions of each value are stored. ONNX puts channels
in front of rows and columns, the kernels want them last. Each value remembers how it is stored and is moved only where
an operator needs another order. A Transpose of the model mostly changes what is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuralart_reference.model.graph import Operator, Quantization, Tensor
from neuralart_reference.onnx.load import Array, OnnxGraph, Scale, Unfit

Order = tuple[int, ...]
GRID = np.arange(-128, 128, dtype=np.int8)


def channels_last(rank: int) -> Order:
    """The order that kernels want: batch, rows, columns, channels."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


@dataclass(frozen=True)
class Held:
    """A value that is computed."""

    tensor: int
    order: Order  # The dimension of it that is stored first, second, ...
    results: Array | None = None  # Not None: it is a function of that tensor, the float32 result for each of GRID


class Builder:
    """Collects tensors and operators."""

    def __init__(self, graph: OnnxGraph) -> None:
        self.graph = graph
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.values: dict[str, Held] = {}
        self._arranged: dict[tuple[int, Order, Order], int] = {}

    def free(self, name: str) -> str:
        """A name like this one, which no value of the model has."""
        graph = self.graph
        taken = {*graph.shapes, *graph.stored, *self.values, *(each for node in graph.nodes for each in node.outputs)}
        while name in taken:
            name += "'"
        return name

    def tensor(
        self, name: str, shape: Iterable[int], scale: Scale | None, dtype: str = "int8", data: Array | None = None
    ) -> int:
        """A new tensor, stored as ``shape`` says; of uint8 the zero point is 128 more than the scale's."""
        shift = 128 if dtype == "uint8" else 0
        found = scale and Quantization(scale.scales, tuple(point + shift for point in scale.points), scale.axis)
        raw = None if data is None else data.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
        self.tensors.append(Tensor(len(self.tensors), name, tuple(map(int, shape)), dtype, found, raw))
        return len(self.tensors) - 1

    def constant(self, data: Any, dtype: str = "int32", scale: Scale | None = None, name: str = "") -> int:
        """A constant tensor."""
        return self.tensor(name, np.shape(data), scale, dtype, np.asarray(data))

    def emit(self, kind: str, inputs: Sequence[int], output: int, **options: Any) -> int:
        """Add an operator; its output."""
        self.operators.append(Operator(len(self.operators), kind, tuple(inputs), (output,), options))
        return output

    def scale_of(self, tensor: int) -> Scale:
        """The scale of an int8 tensor. Unfit: it is computed in float."""
        found = self.tensors[tensor].quantization
        if found is None or self.tensors[tensor].dtype != "int8":
            raise Unfit(f"in {self.tensors[tensor].dtype}: '{self.tensors[tensor].name}' is not quantized")
        return Scale(found.scales, found.zero_points, found.axis)

    def wanted(self, name: str) -> Scale:
        """The scale of a value. Unfit: it is computed in float."""
        if name not in self.graph.scales:
            raise Unfit("its result has no QuantizeLinear")
        return self.graph.scales[name]

    def target(self, name: str, order: Order, scale: Scale | None = None) -> int:
        """The tensor that an operator writes for a value; ``scale``: the one that its kernel insists on."""
        return self.tensor(name, [self.graph.shapes[name][axis] for axis in order], scale or self.wanted(name))

    def define(self, name: str, tensor: int, order: Order) -> None:
        """Let a value be what a tensor has, brought to the value's own scale if it has another."""
        if self.tensors[tensor].dtype == "int8":
            tensor = self.rescaled(name, tensor, self.graph.scales.get(name) or self.scale_of(tensor))
        self.values[name] = Held(tensor, order)

    def value(self, name: str) -> Held:
        """A computed value, which lies in a tensor. Unfit: it does not."""
        if name not in self.values or self.values[name].results is not None:
            raise Unfit(f"'{name}' is not quantized")
        return self.values[name]

    def in_float(self, name: str) -> None:
        """Let a value that is a function of a stored one be computed in float: one of 256 results is taken."""
        tensor, order, results = (held := self.values[name]).tensor, held.order, held.results
        if results is None:
            return
        shape = self.tensors[tensor].shape
        stored = self.emit("CAST", [tensor], self.tensor(f"{name}_stored", shape, None, "int32"))
        from_zero = self.tensor(f"{name}_number", shape, None, "int32")
        number = self.emit("ADD", [stored, self.constant([128])], from_zero, fused_activation_function="NONE")
        table = self.constant(results.ravel(), "float32", name=f"{name}_results")
        made = self.tensor(f"{name}_float", shape, None, "float32")
        self.values[name] = Held(self.emit("GATHER", [table, number], made, axis=0, batch_dims=0), order)

    def arranged(self, name: str, order: Order | None = None) -> int:
        """The tensor of a value with its dimensions in an order, by default that of ONNX."""
        value, order = self.value(name), order or tuple(range(len(self.graph.shapes[name])))
        key = (value.tensor, value.order, order)
        if key not in self._arranged:
            steps = [value.order.index(axis) for axis in order]
            self._arranged[key] = self.moved(value.tensor, self.ramp(value.tensor).transpose(steps), f"{name}_ordered")
        return self._arranged[key]

    def ramp(self, tensor: int) -> Array:
        """The number of each element of a tensor, in its shape."""
        return np.arange(self.tensors[tensor].elements).reshape(self.tensors[tensor].shape)

    def moved(self, tensor: int, elements: Array, name: str) -> int:
        """A tensor of these elements of another, in the shape of ``elements``. Unfit: no grid has them."""
        found, flat = self.tensors[tensor], elements.ravel()
        if found.shape == elements.shape and (flat == np.arange(found.elements)).all():
            return tensor
        start, sizes, steps = int(flat[0]), list[int](), list[int]()
        while flat.size > 1:
            gaps = np.diff(flat)
            breaks = np.flatnonzero(gaps != gaps[0])
            run = int(breaks[0]) + 1 if breaks.size else flat.size
            if flat.size % run or (np.diff(flat.reshape(-1, run)) != gaps[0]).any():
                raise Unfit("its elements do not lie at regular distances")
            sizes, steps, flat = [run, *sizes], [int(gaps[0]), *steps], flat[::run]
        target = self.tensor(name, elements.shape, None, found.dtype)
        self.tensors[target] = replace(self.tensors[target], quantization=found.quantization)
        return self.emit("MOVE", [tensor], target, sizes=tuple(sizes), steps=tuple(steps), start=start)

    def rescaled(self, name: str, tensor: int, scale: Scale) -> int:
        """A tensor with another scale."""
        return self.table(name, tensor, scale.stored(self.scale_of(tensor).real(GRID)), scale)

    def table(self, name: str, source: int, results: Array, scale: Scale) -> int:
        """The tensor of what a table makes of another; without the table where it changes nothing."""
        found = self.tensors[source]
        if scale == self.scale_of(source) and (results == GRID).all():
            return source
        if found.data is not None:
            stored = np.frombuffer(found.data, np.int8).astype(np.int64).reshape(found.shape)
            return self.constant(results[stored + 128], "int8", scale, name)
        return self.emit("TABLE", [source, self.constant(results, "int8")], self.tensor(name, found.shape, scale))
