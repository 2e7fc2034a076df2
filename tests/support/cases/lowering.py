"""Models made by hand, and their lowering, for unit tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError
from neuralart_reference.ir import Call, Program, StructArg
from neuralart_reference.lower import lower
from neuralart_reference.model.graph import Model, Operator, Quantization, Tensor

OPTIONS = {
    "padding": "SAME",
    "stride_h": 1,
    "stride_w": 1,
    "dilation_h_factor": 1,
    "dilation_w_factor": 1,
    "fused_activation_function": "NONE",
    "filter_height": 2,
    "filter_width": 2,
    "weights_format": "DEFAULT",
    "beta": 1.0,
}


class Graph:
    """A model in the making."""

    def __init__(self) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str = "int8",
        scale: float | Sequence[float] | None = 0.5,
        zero: int | Sequence[int] = 0,
        data: bytes | None = None,
        axis: int = 0,
    ) -> int:
        quantization = None
        if scale is not None and dtype in ("int8", "uint8", "int16"):
            scales = (scale,) if isinstance(scale, float) else tuple(scale)
            zeros = (zero,) * len(scales) if isinstance(zero, int) else tuple(zero)
            quantization = Quantization(scales, zeros, axis)
        self.tensors.append(Tensor(len(self.tensors), name, tuple(shape), dtype, quantization, data))
        return len(self.tensors) - 1

    def op(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], **options: Any) -> None:
        made = Operator(len(self.operators), kind, tuple(inputs), tuple(outputs), {**OPTIONS, **options})
        self.operators.append(made)

    def model(self, inputs: Sequence[int], outputs: Sequence[int]) -> Model:
        return Model("m.tflite", "m", tuple(self.tensors), tuple(self.operators), tuple(inputs), tuple(outputs))


def lowered(graph: Graph, inputs: Sequence[int], outputs: Sequence[int], **border: tuple[str, ...]) -> Program:
    return lower(graph.model(inputs, outputs), BorderOptions(**border))


def parameters(call: Call) -> dict[str, str]:
    (found,) = [arg for arg in call.args if isinstance(arg, StructArg)]
    assert call.args[-1] is found
    return dict(found.fields)


def one(kind: str, *, options: dict[str, Any] | None = None, **tensors: tuple[Any, ...]) -> Callable[[Graph], None]:
    """An operator on the tensors given: all but the last are inputs."""

    def make(graph: Graph) -> None:
        numbers = [graph.tensor(name, *described) for name, described in tensors.items()]
        graph.op(kind, numbers[:-1], numbers[-1:], **options or {})

    return make


def refusal(make: Callable[[Graph], None]) -> str:
    """The message that refuses a model of one operator; its inputs are what no operator fills.

    Raises:
        AssertionError: It is not refused, or not in one line.
    """
    graph = Graph()
    make(graph)
    outputs = [i for op in graph.operators for i in op.outputs]
    inputs = [t.index for t in graph.tensors if t.index not in outputs and t.data is None]
    try:
        lowered(graph, inputs, outputs)
    except NeuralArtError as error:
        assert "\n" not in str(error)
        return str(error)
    raise AssertionError("the model is not refused")
