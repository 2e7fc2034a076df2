"""What a quantized model is, whichever file format it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

_TYPES = {
    1: "int8 uint8 bool",
    2: "int16 uint16 float16",
    4: "int32 uint32 float32 resource",
    8: "int64 uint64 float64",
}
DTYPE_BYTES: Mapping[str, int] = {name: size for size, names in _TYPES.items() for name in names.split()}


@dataclass(frozen=True)
class Quantization:
    """Affine quantization: real = scale * (stored - zero_point)."""

    scales: tuple[float, ...]  # One value, or one per slice of ``axis``. Each is exactly a float32.
    zero_points: tuple[int, ...]  # As many as scales
    axis: int = 0  # The quantized dimension when there are several scales

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
    """A tensor of the model."""

    index: int  # Its number in the model
    name: str  # Its name in the model (any text)
    shape: tuple[int, ...]  # Dimensions in the model's order (TFLite: N, H, W, C); empty for a scalar
    dtype: str  # A key of :data:`DTYPE_BYTES`, or another TFLite type name in lower case; empty: nothing uses it
    quantization: Quantization | None = None  # None when the tensor is not quantized
    # The constant's bytes, little endian, row major; None for an activation
    data: bytes | None = field(default=None, repr=False)
    signature: tuple[int, ...] | None = None  # The shape with -1 for dynamic dimensions, where the model gives one
    variable: bool = False  # It keeps its value from one inference to the next

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
    """One operator of the model."""

    index: int  # Its position in execution order
    kind: str  # Upper-case TFLite name, for example ``CONV_2D``; a custom operator is ``CUSTOM:<code>``
    inputs: tuple[int, ...]  # Tensor numbers; -1 for an optional input that is absent
    outputs: tuple[int, ...]  # Tensor numbers
    # Built-in options by their schema names in lower case (``stride_h``, ``padding`` = ``SAME`` | ``VALID``,
    # ``fused_activation_function`` = ``NONE`` | ``RELU`` | ...), schema defaults filled in
    options: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1  # Operator version
    intermediates: tuple[int, ...] = ()  # Tensors that only say how values inside of the operator are quantized


@dataclass(frozen=True)
class Model:
    """A model with one graph."""

    path: str  # The file as the user named it (for messages)
    stem: str  # File name without its last extension
    tensors: tuple[Tensor, ...]  # All tensors, at their index
    operators: tuple[Operator, ...]  # In execution order
    inputs: tuple[int, ...]  # Tensor numbers
    outputs: tuple[int, ...]  # Tensor numbers
    # Tensors that keep their value from one inference to the next -> each byte of their first value
    states: Mapping[int, int] = field(default_factory=dict)
    channels_first: bool = (
        False  # Inputs and outputs have channels in front of rows and columns, unless asked otherwise
    )
