"""The reference compiler's intermediate form: a list of kernel calls over tensors and constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from neuralart_reference.model.graph import Tensor


@dataclass(frozen=True)
class TensorArg:
    """The address of a tensor, cast to ``const <ctype> *`` (or ``<ctype> *`` when it is written)."""

    tensor: int  # number of the tensor (constants are tensors too when an operator reads them as data)
    ctype: str  # C element type, ``int8_t`` etc.
    written: bool = False  # the kernel writes it
    offset: int = 0  # bytes to add


@dataclass(frozen=True)
class ConstArg:
    """The address of constant bytes that the compiler puts into an initializer (weights, multipliers, tables)."""

    data: bytes = field(repr=False)  # little-endian bytes
    ctype: str  # C element type
    label: str  # its name in the parameter listing, for example ``conv1_w`` or ``conv1_multiplier``
    align: int = 16  # alignment in bytes
    # The model tensor it holds unchanged, if any: its shape and quantization go into the buffer table
    tensor: int | None = None


@dataclass(frozen=True)
class StructArg:
    """A ``static const <ctype>`` parameter structure, passed by address. It holds no data of the weights."""

    ctype: str  # the C structure type of the kernel's header
    fields: tuple[tuple[str, str], ...]  # (member, C expression) in the order of the structure


@dataclass(frozen=True)
class Null:
    """A null pointer (an absent bias)."""


Arg = TensorArg | ConstArg | StructArg | Null


@dataclass(frozen=True)
class Call:
    """One kernel call; it becomes one software epoch."""

    operator: int  # index of the model's operator; -1 for a conversion that the compiler added at the border
    kind: str  # the operator's kind, for comments and reports
    kernel: str  # C function
    args: tuple[Arg, ...]  # its arguments in order
    reads: tuple[int, ...]  # activations it reads (tensor numbers)
    writes: tuple[int, ...]  # activations it writes
    macc: int = 0  # multiply-accumulate operations (the vendor report's column)
    scratch: int = 0  # bytes of working memory that it needs while it runs; passed as the last argument when > 0


@dataclass
class Program:
    """The lowered network."""

    tensors: list[Tensor]  # all tensors; conversions at the border append to the model's
    calls: list[Call]  # in execution order
    inputs: tuple[int, ...]  # tensor numbers as the application sees them (after border conversions)
    outputs: tuple[int, ...]  # likewise
    # Tensors that keep their value from one inference to the next -> each byte of their first value
    states: Mapping[int, int] = field(default_factory=dict, kw_only=True)
    # Tensor -> tensor whose memory it lies in (RESHAPE and the like); chains are allowed
    aliases: dict[int, int] = field(default_factory=dict)
    # Tensor -> byte of that memory where it begins, where it is not the first one
    offsets: dict[int, int] = field(default_factory=dict)
    # An output may lie over an input while it is computed, as far as its kernel allows
    overlap: bool = False
    stripes: tuple[str, ...] = ()  # which layers are computed in stripes of rows, in words

    def copy(self) -> Program:
        """A program of its own, of the same tensors and calls."""
        return replace(self, calls=list(self.calls), aliases=dict(self.aliases), offsets=dict(self.offsets))

    def root(self, tensor: int) -> int:
        """The tensor that owns the memory."""
        while tensor in self.aliases:
            tensor = self.aliases[tensor]
        return tensor

    @property
    def border(self) -> set[int]:
        """The owners of the memory of inputs and outputs."""
        return {self.root(tensor) for tensor in (*self.inputs, *self.outputs)}

    def offset(self, tensor: int) -> int:
        """Where a tensor begins in the memory of its owner, in bytes."""
        total = 0
        while tensor in self.aliases:
            total += self.offsets.get(tensor, 0)
            tensor = self.aliases[tensor]
        return total
