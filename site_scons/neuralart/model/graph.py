"""What a quantized model is, whichever file format it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

DTYPE_BYTES: Mapping[str, int] = {
    "int8": 1,
    "uint8": 1,
    "bool": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (stored - zero_point).

    Attributes:
        scales: One value, or one per slice of ``axis``. Each is exactly a float32.
        zero_points: As many as scales.
        axis: The quantized dimension when there are several scales.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int = 0

    @property
    def per_channel(self) -> bool:
        """More than one scale."""
        return len(self.scales) > 1

    @property
    def scale(self) -> float:
        """The scale of a per-tensor quantization."""
        return self.scales[0]

    @property
    def zero_point(self) -> int:
        """The zero point of a per-tensor quantization."""
        return self.zero_points[0]


@dataclass(frozen=True)
class Tensor:
    """A tensor of the model.

    Attributes:
        index: Its number in the model.
        name: Its name in the model (any text).
        shape: Dimensions in the model's order (TFLite: N, H, W, C); empty for a scalar.
        dtype: A key of :data:`DTYPE_BYTES`, or another TFLite type name in lower case.
        quantization: None when the tensor is not quantized.
        data: The constant's bytes, little endian, row major; None for an activation.
        signature: The shape with -1 for dynamic dimensions, where the model gives one.
    """

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None = None
    data: bytes | None = field(default=None, repr=False)
    signature: tuple[int, ...] | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return self.elements * DTYPE_BYTES[self.dtype]


@dataclass(frozen=True)
class Operator:
    """One operator of the model.

    Attributes:
        index: Its position in execution order.
        kind: Upper-case TFLite name, for example ``CONV_2D``; a custom operator is ``CUSTOM:<code>``.
        inputs: Tensor numbers; -1 for an optional input that is absent.
        outputs: Tensor numbers.
        options: Built-in options by their schema names in lower case (``stride_h``, ``padding`` = ``SAME`` |
            ``VALID``, ``fused_activation_function`` = ``NONE`` | ``RELU`` | ...), schema defaults filled in.
        version: Operator version.
    """

    index: int
    kind: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1


@dataclass(frozen=True)
class Model:
    """A model with one graph.

    Attributes:
        path: The file as the user named it (for messages).
        stem: File name without its last extension.
        tensors: All tensors, at their index.
        operators: In execution order.
        inputs: Tensor numbers.
        outputs: Tensor numbers.
    """

    path: str
    stem: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
