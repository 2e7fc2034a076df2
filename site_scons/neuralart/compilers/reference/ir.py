"""The reference compiler's intermediate form: a list of kernel calls over tensors and constants."""

from __future__ import annotations

from dataclasses import dataclass, field

from neuralart.model.graph import Tensor


@dataclass(frozen=True)
class TensorArg:
    """The address of a tensor, cast to ``const <ctype> *`` (or ``<ctype> *`` when it is written).

    Attributes:
        tensor: Number of the tensor (constants are tensors too when an operator reads them as data).
        ctype: C element type, ``int8_t`` etc.
        written: The kernel writes it.
        offset: Bytes to add.
    """

    tensor: int
    ctype: str
    written: bool = False
    offset: int = 0


@dataclass(frozen=True)
class ConstArg:
    """The address of constant bytes that the compiler puts into an initializer (weights, multipliers, tables).

    Attributes:
        data: Little-endian bytes.
        ctype: C element type.
        label: Its name in the parameter listing, for example ``conv1_w`` or ``conv1_multiplier``.
        align: Alignment in bytes.
        tensor: The model tensor it holds unchanged, if any: its shape and quantization go into the buffer table.
    """

    data: bytes = field(repr=False)
    ctype: str
    label: str
    align: int = 16
    tensor: int | None = None


@dataclass(frozen=True)
class StructArg:
    """A ``static const <ctype>`` parameter structure, passed by address. It holds no data of the weights.

    Attributes:
        ctype: The C structure type of the kernel's header.
        fields: (member, C expression) in the order of the structure.
    """

    ctype: str
    fields: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Null:
    """A null pointer (an absent bias)."""


Arg = TensorArg | ConstArg | StructArg | Null


@dataclass(frozen=True)
class Call:
    """One kernel call; it becomes one software epoch.

    Attributes:
        operator: Index of the model's operator; -1 for a conversion that the compiler added at the border.
        kind: The operator's kind, for comments and reports.
        kernel: C function.
        args: Its arguments in order.
        reads: Activations it reads (tensor numbers).
        writes: Activations it writes.
        macc: Multiply-accumulate operations (the vendor report's column).
        scratch: Bytes of working memory that it needs while it runs; passed as the last argument when > 0.
    """

    operator: int
    kind: str
    kernel: str
    args: tuple[Arg, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    macc: int = 0
    scratch: int = 0


@dataclass
class Program:
    """The lowered network.

    Attributes:
        tensors: All tensors; conversions at the border append to the model's.
        calls: In execution order.
        inputs: Tensor numbers as the application sees them (after border conversions).
        outputs: Likewise.
        aliases: tensor -> tensor whose memory it lies in (RESHAPE and the like); chains are allowed.
        offsets: tensor -> byte of that memory where it begins, where it is not the first one.
    """

    tensors: list[Tensor]
    calls: list[Call]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    aliases: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)

    def root(self, tensor: int) -> int:
        """The tensor that owns the memory."""
        while tensor in self.aliases:
            tensor = self.aliases[tensor]
        return tensor

    def offset(self, tensor: int) -> int:
        """Where a tensor begins in the memory of its owner, in bytes."""
        total = 0
        while tensor in self.aliases:
            total += self.offsets.get(tensor, 0)
            tensor = self.aliases[tensor]
        return total


@dataclass(frozen=True)
class BorderOptions:
    """What the command line says of the network's inputs and outputs.

    Each tuple is empty (keep the model's own), has one entry (for all), or one per input/output in the model's order.

    Attributes:
        input_dtypes: ``float32``, ``int8`` or ``uint8``.
        output_dtypes: Likewise.
        inputs_ch_position: ``chlast`` or ``chfirst``.
        outputs_ch_position: Likewise.
    """

    input_dtypes: tuple[str, ...] = ()
    output_dtypes: tuple[str, ...] = ()
    inputs_ch_position: tuple[str, ...] = ()
    outputs_ch_position: tuple[str, ...] = ()
