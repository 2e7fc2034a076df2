"""Makes the model: tensors, operators, and in which order the dimensions of each value are stored. ONNX puts channels
in front of rows and columns, the kernels want them last. Each value remembers how it is stored and is moved only where
an operator needs another order. A Transpose of the model mostly changes what is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuralart_reference.model.graph import Operator, Quantization, Tensor
from neuralart_reference.onnx.load import Array, Node, OnnxGraph, Scale, Unfit

Order = tuple[int, ...]
GRID = np.arange(-128, 128, dtype=np.int8)
_KINDS_OF_BOOL = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")


def channels_last(rank: int) -> Order:
    """The order that kernels want: batch, rows, columns, channels."""
    return (0, *range(2, rank), 1) if rank > 2 else tuple(range(rank))


def plain_dtype(dtype: str) -> str:
    """The type in which numbers of a type are computed where they have no scale."""
    return dtype if dtype == "bool" else "float32" if dtype.startswith("float") else "int32"


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
        self._plain: dict[tuple[int, int], int] = {}

    def attempt(self, lower: Callable[[Builder, Node], None], node: Node) -> str:
        """Lower a node; empty, or why that does not work: then nothing of it is left."""
        kept = len(self.tensors), len(self.operators), dict(self.values), dict(self._arranged), dict(self._plain)
        try:
            lower(self, replace(node, inputs=[*node.inputs]))
        except (Unfit, ArithmeticError, LookupError, TypeError, ValueError) as error:  # Or attributes make no sense
            del self.tensors[kept[0] :], self.operators[kept[1] :]
            self.values, self._arranged, self._plain = kept[2:]
            return str(error) or type(error).__name__
        return ""

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
        found, scale = self.tensors[tensor], self.graph.scales.get(name)
        if found.dtype == "int8":
            tensor = self.rescaled(name, tensor, scale or self.scale_of(tensor))
        elif found.dtype == "float32" and scale is not None:
            tensor = self.emit("QUANTIZE", [tensor], self.tensor(name, found.shape, scale))
        self.values[name] = Held(tensor, order)

    def value(self, name: str) -> Held:
        """A computed value, which lies in a tensor. Unfit: it does not."""
        if name not in self.values or self.values[name].results is not None:
            raise Unfit(f"'{name}' is not quantized")
        return self.values[name]

    def arranged(self, name: str, order: Order | None = None) -> int:
        """The tensor of a value with its dimensions in an order, by default that of ONNX."""
        return self._placed(name, self.value(name), order)

    def _placed(self, name: str, value: Held, order: Order | None) -> int:
        """Dimensions that an order has more are of size 1, in front, as broadcasting wants them."""
        rank = len(value.order)
        order = order or tuple(range(rank))
        key = (value.tensor, value.order, order)
        if key not in self._arranged:
            elements = self.ramp(value.tensor).transpose([value.order.index(axis) for axis in range(rank)])
            elements = elements.reshape((1,) * (len(order) - rank) + elements.shape).transpose(order)
            self._arranged[key] = self.moved(value.tensor, elements, f"{name}_ordered")
        return self._arranged[key]

    def real(self, name: str) -> Array | None:
        """A constant as plain numbers; None if it is none."""
        stored, scale = self.graph.stored.get(name, (None, None))
        return self.graph.constants.get(name) if stored is None or scale is None else scale.real(stored)

    def plain(self, name: str, order: Order | None = None) -> int:
        """The tensor of a value, constant or not, as plain numbers. Unfit: there is no such value."""
        if (constant := self.real(name)) is not None:
            order, dtype = order or tuple(range(constant.ndim)), plain_dtype(constant.dtype.name)
            full = constant.reshape((1,) * (len(order) - constant.ndim) + constant.shape)
            return self.constant(full.transpose(order), dtype, name=name)
        if name not in self.values:
            raise Unfit(f"'{name}' is not computed")
        held = self.values[name]
        if (held.tensor, id(held.results)) not in self._plain:
            self._plain[held.tensor, id(held.results)] = self._in_numbers(name, held)
        return self._placed(name, replace(held, tensor=self._plain[held.tensor, id(held.results)]), order)

    def _in_numbers(self, name: str, held: Held) -> int:
        """What bytes mean: of a function of them, one of 256 results is taken."""
        found = self.tensors[held.tensor]
        if held.results is not None:
            source = [held.tensor, self.constant(held.results.ravel(), "float32", name=f"{name}_results")]
            return self.emit("TABLE", source, self.tensor(f"{name}_float", found.shape, None, "float32"))
        dtype = plain_dtype(found.dtype)
        if dtype == found.dtype:
            return held.tensor
        kind = "CAST" if found.quantization is None else "DEQUANTIZE"
        dtype = dtype if kind == "CAST" else "float32"
        return self.emit(kind, [held.tensor], self.tensor(f"{name}_{dtype}", found.shape, None, dtype))

    def plain_target(self, name: str, order: Order) -> int:
        """The tensor of plain numbers that an operator writes for a value."""
        shape = [self.graph.shapes[name][axis] for axis in order]
        return self.tensor(name, shape, None, plain_dtype(self.graph.dtype(name)))

    def apply(self, kind: str, sources: Sequence[int], dtype: str = "", **options: Any) -> int:
        """The result of an operator over values that broadcast, by default of the type of the first one."""
        given = [self.tensors[source] for source in sources]
        if kind in ("ADD", "SUB", "MUL", "DIV"):
            options["fused_activation_function"] = "NONE"
        shape = np.broadcast_shapes(*(each.shape for each in given))
        dtype = "bool" if kind in _KINDS_OF_BOOL else dtype or given[0].dtype
        return self.emit(kind, sources, self.tensor(f"{given[0].name}_{kind.lower()}", shape, None, dtype), **options)

    def like(self, tensor: int, name: str, shape: Iterable[int]) -> int:
        """A new tensor of the type and scale of another."""
        found = self.tensors[tensor]
        made = self.tensor(name, shape, None, found.dtype)
        self.tensors[made] = replace(self.tensors[made], quantization=found.quantization)
        return made

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
        return self.emit(
            "MOVE",
            [tensor],
            self.like(tensor, name, elements.shape),
            sizes=tuple(sizes),
            steps=tuple(steps),
            start=start,
        )

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


def order_of(builder: Builder, node: Node, name: str = "") -> Order:
    """The order for a node over several values: that of the first that is not stored as it is."""
    rank = len(builder.graph.shape(name or node.outputs[0]))
    orders = [builder.values[each].order for each in node.inputs if each in builder.values]
    plain = tuple(range(rank))
    return next((order for order in orders if len(order) == rank and order != plain), plain)
