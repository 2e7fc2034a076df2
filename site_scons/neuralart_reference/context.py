"""What an operator's lowering works with: checked tensors in, kernel calls out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from struct import calcsize, unpack
from typing import NoReturn

from neuralart.errors import NeuralArtError
from neuralart_reference import quantize
from neuralart_reference.ir import Arg, Call, ConstArg, StructArg, TensorArg
from neuralart_reference.model.graph import Model, Operator, Quantization, Tensor

C_TYPES = {"int8": "int8_t", "uint8": "uint8_t", "int16": "int16_t"}
C_TYPES |= {"int32": "int32_t", "int64": "int64_t", "float32": "float", "bool": "uint8_t"}
_ADDRESSED = C_TYPES | {"uint32": "uint32_t", "uint64": "uint64_t"}  # Of these only a few operators compute
WIDE = ("int8", "int16")
"""Types of activations of an operator that has kernels for int16, too."""
BYTES_T = "na_bytes_t"
INTEGERS = {"int32": "i", "int64": "q"}
"""Types of shapes, axes and indices -> their letter in :mod:`struct`."""


def integers(data: bytes, dtype: str) -> tuple[int, ...]:
    """The values of a constant of a type in :data:`INTEGERS`."""
    letter = INTEGERS[dtype]
    return unpack(f"<{len(data) // calcsize(letter)}{letter}", data)


def describe(tensor: Tensor) -> str:
    """Name, type and shape for a message: ``'conv/BiasAdd' int8[1, 8, 8, 4]``."""
    return f"'{tensor.name}' {tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


class Unsupported(NeuralArtError):
    """Why an operator cannot be done, and what to do or what is supported; who has asked for it adds the place."""

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what, hint=hint)


class Misfit(Unsupported):
    """A tensor has another shape than follows from the inputs of its operator."""

    def __init__(self, tensor: Tensor, shape: Sequence[int]) -> None:
        gives = ", ".join(map(str, shape))
        super().__init__(f"{describe(tensor)} does not fit its inputs, which give [{gives}]")
        self.tensor = tensor
        self.shape = tuple(shape)


def same_type(*tensors: Tensor) -> None:
    """Check that all tensors are of one type; Unsupported when they are not."""
    for other in tensors[1:]:
        if other.dtype != tensors[0].dtype:
            raise Unsupported(f"{describe(tensors[0])} and {describe(other)} have different types")


@dataclass(frozen=True)
class Operand:
    """An 8-bit or 16-bit tensor with one scale."""

    tensor: Tensor
    scale: float
    zero_point: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.tensor.shape

    @property
    def dtype(self) -> str:
        """The tensor's element type."""
        return self.tensor.dtype


class Lowering:
    """Collects the kernel calls of a network."""

    def __init__(self, model: Model, said: Model | None = None) -> None:
        """Take a model, and the same one as the user wrote it (``said``) where messages must speak of another."""
        self.model = model
        self.tensors: list[Tensor] = list(model.tensors)  # and those that conversions add
        self.said: Sequence[Tensor] = model.tensors if said is None else said.tensors
        self.calls: list[Call] = []
        self.aliases: dict[int, int] = {}  # as those of the program
        self.states: dict[int, int] = {}  # likewise, beside those of the model
        self.border: set[int] = {*model.inputs, *model.outputs}  # inputs and outputs as the application sees them
        self._memory_at_border: set[int] = set()

    # ---- refusing

    def refuse(self, op: Operator, what: str, hint: str = "") -> NoReturn:
        """Refuse the model because of this operator; NeuralArtError, always."""
        # In the user's words: with the types and names that the tensors have in the model.
        for index in {*op.inputs, *op.outputs}:
            if 0 <= index < len(self.said) and self.said[index] != self.tensors[index]:
                what = what.replace(describe(self.tensors[index]), describe(self.said[index]))
        raise NeuralArtError(what, where=f"{self.model.path}: operator {op.index} ({op.kind})", hint=hint)

    # ---- tensors in

    def optional(self, op: Operator, position: int) -> Tensor | None:
        """An input that may be absent."""
        if position >= len(op.inputs) or op.inputs[position] < 0:
            return None
        return self.tensors[op.inputs[position]]

    def input(self, op: Operator, position: int = 0) -> Tensor:
        """An input; NeuralArtError when it is absent."""
        tensor = self.optional(op, position)
        if tensor is None:
            self.refuse(op, f"input {position} is absent")
        return tensor

    def output(self, op: Operator) -> Tensor:
        """The only output; NeuralArtError when there are more, or none."""
        if len(op.outputs) != 1:
            self.refuse(op, f"{len(op.outputs)} outputs, expected 1")
        return self.tensors[op.outputs[0]]

    def operand(self, op: Operator, tensor: Tensor, dtypes: Sequence[str] = ("int8",)) -> Operand:
        """A tensor to compute on; NeuralArtError for another type, no scale, several, or senseless values."""
        if tensor.dtype not in dtypes:
            hint = f"supported: {' and '.join(dtypes)}"
            if tensor.dtype == "uint8":  # with a scale it would have been turned into int8
                self.quantization(op, tensor)
            if tensor.dtype in ("int16", "uint16", "uint8"):
                hint += " and uint8" if "16" in tensor.dtype and "uint8" not in dtypes else ""
                self.refuse(op, f"{tensor.dtype} activations are not supported: {describe(tensor)}", hint)
            self.refuse(op, f"element type {tensor.dtype} is not supported: {describe(tensor)}", hint)
        quantization = self.quantization(op, tensor)
        if quantization.per_channel:
            self.refuse(
                op, f"{describe(tensor)} has {len(quantization.scales)} scales", "activations have one scale per tensor"
            )
        if tensor.dtype == "int16" and quantization.zero_point:
            self.refuse(op, f"zero point {quantization.zero_point} of {describe(tensor)}", "int16 has zero point 0")
        low, high = quantize.RANGES[tensor.dtype]
        if not low <= quantization.zero_point <= high:
            self.refuse(op, f"zero point {quantization.zero_point} of {describe(tensor)} is outside {low} to {high}")
        return Operand(tensor, quantization.scale, quantization.zero_point)

    def scaled(self, op: Operator, tensor: Tensor) -> Operand:
        """A tensor of any type with one scale and any zero point; NeuralArtError when it has none, or several."""
        quantization = self.quantization(op, tensor)
        if quantization.per_channel:
            self.refuse(op, f"{describe(tensor)} has {len(quantization.scales)} scales", "one is supported")
        return Operand(tensor, quantization.scale, quantization.zero_point)

    def ends(self, op: Operator, dtypes: Sequence[str] = ("int8",)) -> tuple[Operand, Operand]:
        """The first input and the only output, both of one of the types; NeuralArtError as :meth:`operand`."""
        source = self.operand(op, self.input(op), dtypes)
        return source, self.operand(op, self.output(op), (source.dtype,))

    def quantization(self, op: Operator, tensor: Tensor) -> Quantization:
        """The quantization that a tensor must have; NeuralArtError when a scale is not a positive number."""
        quantization = tensor.quantization
        if quantization is None or not quantization.scales:
            self.refuse(op, f"{describe(tensor)} has no scale", "only quantized models are supported")
        if len(quantization.zero_points) != len(quantization.scales):
            counts = f"{len(quantization.scales)} scales and {len(quantization.zero_points)} zero points"
            self.refuse(op, f"{describe(tensor)} has {counts}")
        for scale in quantization.scales:
            if not (math.isfinite(scale) and scale > 0):
                self.refuse(op, f"scale {scale!r} of {describe(tensor)} is not a positive number")
        return quantization

    def constant(self, op: Operator, tensor: Tensor, role: str, dtypes: Sequence[str]) -> bytes:
        """The bytes of a tensor that must be constant and of one of some types; NeuralArtError when it is not."""
        if tensor.dtype not in dtypes:
            hint = f"supported: {' and '.join(dtypes)}"
            self.refuse(op, f"{role} of type {tensor.dtype} are not supported: {describe(tensor)}", hint)
        if tensor.data is None:
            self.refuse(op, f"{role} must be constant: {describe(tensor)} is computed while the network runs")
        return tensor.data

    def int32_values(self, op: Operator, position: int, role: str) -> tuple[int, ...]:
        """The values of an input that must be constant int32; NeuralArtError when it is not."""
        return integers(self.constant(op, self.input(op, position), role, ("int32",)), "int32")

    def said_zero_point(self, operand: Operand) -> int:
        """The zero point as the model has it, for messages."""
        index = operand.tensor.index
        turned = index < len(self.said) and (self.said[index].dtype, operand.dtype) == ("uint8", "int8")
        return operand.zero_point + 128 if turned else operand.zero_point

    def same_quantization(self, op: Operator, source: Operand, target: Operand) -> None:
        """Check that an operator that only selects values need not rescale them; NeuralArtError if it must."""
        if (source.scale, source.zero_point) != (target.scale, target.zero_point):
            self.refuse(
                op,
                f"input scale {source.scale:g} zero point {self.said_zero_point(source)} and output scale "
                f"{target.scale:g} zero point {self.said_zero_point(target)} differ",
                "both must be equal",
            )

    def expect_shape(self, op: Operator, tensor: Tensor, shape: Sequence[int]) -> None:
        """Check the shape of an output against what follows from the inputs; Misfit when they differ."""
        if tensor.shape != tuple(shape):
            raise Misfit(tensor, shape)

    def activation(self, op: Operator) -> str:
        """The fused activation; NeuralArtError when it is not supported."""
        name = str(op.options.get("fused_activation_function", "NONE"))
        if name not in quantize.ACTIVATIONS:
            known = ", ".join(a for a in quantize.ACTIVATIONS if a != "RELU_0_TO_1")
            self.refuse(op, f"fused activation {name} is not supported", f"supported: {known}")
        return name

    def activation_range(self, op: Operator, activation: str, target: Operand) -> tuple[int, int]:
        """Smallest and largest stored output value; NeuralArtError when the output scale is too small for that."""
        try:
            return quantize.activation_range(activation, target.scale, target.zero_point, target.dtype)
        except ValueError as error:
            self.refuse(op, str(error))

    def activation_members(self, op: Operator, activation: str, target: Operand) -> dict[str, int]:
        """The same as members of a parameter structure."""
        low, high = self.activation_range(op, activation, target)
        return {"activation_min": low, "activation_max": high}

    def fixed_point(self, op: Operator, factor: float, largest_shift: int = 30) -> quantize.FixedPoint:
        """A real factor as multiplier and shift; NeuralArtError when it is out of range."""
        try:
            return quantize.quantize_multiplier(factor, largest_shift)
        except ValueError as error:
            self.refuse(op, str(error), "look at the scales of its inputs and output")

    def scale_factor(self, op: Operator, factor: float, *, values: int) -> quantize.FixedPoint:
        """A factor of either sign as multiplier and shift; NeuralArtError when it is too large. ``values`` is the
        magnitude of the largest integer that is multiplied. Shifted to the left it must fit 32 bits, where the
        reference is undefined.
        """
        fixed = self.fixed_point(op, abs(factor))
        if values << max(0, fixed.shift) > quantize.INT32_MAX:
            limit = 1 << (quantize.INT32_MAX // values).bit_length() - 1
            self.refuse(op, f"the scale factor {factor:g} is too large", f"less than {limit} between inputs and output")
        return quantize.FixedPoint(-fixed.multiplier if factor < 0 else fixed.multiplier, fixed.shift)

    # ---- calls out

    def read(self, op: Operator, tensor: Tensor, role: str = "input") -> Arg:
        """The address of a tensor that a kernel reads, constant or not."""
        if tensor.data is not None:
            return self.data(op, tensor.data, _ADDRESSED[tensor.dtype], role, tensor)
        return TensorArg(tensor.index, _ADDRESSED[tensor.dtype])

    def write(self, tensor: Tensor) -> TensorArg:
        """The address of a tensor that a kernel writes."""
        return TensorArg(tensor.index, _ADDRESSED[tensor.dtype], written=True)

    def state(self, name: str, dtype: str, shape: tuple[int, ...]) -> Tensor:
        """A tensor of its own that keeps its value from one inference to the next, and is zero at first."""
        made = Tensor(len(self.tensors), name, shape, dtype, variable=True)
        self.tensors.append(made)
        self.states[made.index] = 0
        return made

    def data(self, op: Operator, data: bytes, ctype: str, role: str, tensor: Tensor | None = None) -> ConstArg:
        """The address of constant little-endian bytes. The role (``weights``, ``bias``, ``multiplier``, ...) is a part
        of the label. The tensor is that of the model whose bytes they are, unchanged.
        """
        label = f"{op.kind.lower()}_{op.index}_{role}"
        return ConstArg(data, ctype, label, tensor=None if tensor is None else tensor.index)

    def emit(self, op: Operator, kernel: str, args: Sequence[Arg], *, macc: int = 0, scratch: int = 0) -> None:
        """Add a kernel call; what it reads and writes follows from its arguments."""
        activations = [arg for arg in args if isinstance(arg, TensorArg)]
        self.calls.append(
            Call(
                operator=op.index,
                kind=op.kind,
                kernel=kernel,
                args=tuple(args),
                reads=tuple(dict.fromkeys(arg.tensor for arg in activations if not arg.written)),
                writes=tuple(dict.fromkeys(arg.tensor for arg in activations if arg.written)),
                macc=macc,
                scratch=scratch,
            )
        )

    def alias(self, op: Operator, source: Tensor, target: Tensor) -> None:
        """Let the target be the source's memory, seen with another shape. Two buffers that the application may provide
        separately never share memory: then the bytes are copied.
        """
        root = source.index
        while root in self.aliases:
            root = self.aliases[root]
        shared = root in self._memory_at_border or root in self.border
        if target.index in self.border:
            if shared:
                args = (
                    TensorArg(source.index, "uint8_t"),
                    TensorArg(target.index, "uint8_t", written=True),
                    StructArg(BYTES_T, (("count", str(source.bytes)),)),
                )
                self.emit(op, "na_copy_8", args)
                return
            self._memory_at_border.add(root)
        self.aliases[target.index] = source.index


def struct(ctype: str, **fields: int | str) -> StructArg:
    """A parameter structure from C expressions or integers, in the order of the C structure."""
    return StructArg(ctype, tuple((name, str(value)) for name, value in fields.items()))


def float_literal(value: float) -> str:
    """A float32 as an exact C literal."""
    return f"{quantize.float32(value).hex()}f"
