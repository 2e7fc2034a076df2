"""The network's inputs and outputs as the command line wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuralart.compilers.reference.context import BYTES_T, C_TYPES, describe, float_literal, struct
from neuralart.compilers.reference.ir import BorderOptions, Call, TensorArg
from neuralart.errors import NeuralArtError, nearest
from neuralart.model.graph import Model, Quantization, Tensor

DTYPES = ("float32", "int8", "uint8", "int32")
POSITIONS = ("chfirst", "chlast")


def spread(model: Model, option: str, values: Sequence[str], allowed: Sequence[str], count: int) -> tuple[str, ...]:
    """One value per tensor, ``count`` in all: empty texts when none was given.

    Raises NeuralArtError when a value of the command line option is not ``allowed``, or their number is wrong.
    """
    for value in values:
        if value not in allowed:
            raise NeuralArtError(f"{option} {value!r} is unknown", where=model.path, hint=nearest(value, list(allowed)))
    if not values:
        return ("",) * count
    if len(values) == 1:
        return (values[0],) * count
    if len(values) != count:
        side = "inputs" if option.startswith("--input") else "outputs"
        raise NeuralArtError(
            f"{option} has {len(values)} values, the model has {count} {side}",
            where=model.path,
            hint=f"give one for all, or {count} separated by commas" if count > 1 else "give one",
        )
    return tuple(values)


def check_positions(model: Model, options: BorderOptions) -> None:
    """Check the channel positions. TFLite tensors are channels last, so only ``chlast`` needs nothing.

    Raises NeuralArtError when ``chfirst`` is asked for where it would need a transposition, or a value is wrong.
    """
    sides = (
        ("--inputs-ch-position", options.inputs_ch_position, model.inputs),
        ("--outputs-ch-position", options.outputs_ch_position, model.outputs),
    )
    for option, values, tensors in sides:
        positions = spread(model, option, values, POSITIONS, len(tensors))
        for index, position in zip(tensors, positions, strict=True):
            tensor = model.tensors[index]
            inner = tensor.shape[1:]
            if position == "chfirst" and len(inner) > 1 and inner[-1] != 1 and any(size != 1 for size in inner[:-1]):
                raise NeuralArtError(
                    f"{option} chfirst: {describe(tensor)} is channels last and would have to be transposed",
                    where=model.path,
                    hint="use chlast, or chfirst with one channel or a height and width of 1",
                )


def convert_input(model: Model, tensor: Tensor, dtype: str, index: int) -> tuple[Tensor, Call]:
    """The tensor of another type that the application fills, and the call that converts it to the model's.

    Raises NeuralArtError when there is no such conversion; ``index`` is the number of the new tensor.
    """
    outer = _outer(model, tensor, dtype, index, "--input-data-type")
    return outer, _conversion(outer, tensor)


def convert_output(model: Model, tensor: Tensor, dtype: str, index: int) -> tuple[Tensor, Call]:
    """Let the application receive another element type; see :func:`convert_input`."""
    outer = _outer(model, tensor, dtype, index, "--output-data-type")
    return outer, _conversion(tensor, outer)


def _outer(model: Model, tensor: Tensor, dtype: str, index: int, option: str) -> Tensor:
    quantization = tensor.quantization
    if tensor.dtype not in ("int8", "uint8") or quantization is None or len(quantization.scales) != 1:
        raise NeuralArtError(
            f"{option} {dtype}: {describe(tensor)} is not an int8 or uint8 tensor with one scale",
            where=model.path,
            hint=f"leave it at {tensor.dtype}",
        )
    if dtype == "int32":
        raise NeuralArtError(
            f"{option} int32: {describe(tensor)} is no int32 tensor",
            where=model.path,
            hint="int32 stays what it is; 8 bits become float32, int8 or uint8",
        )
    if dtype == "float32":
        quantization = None
    else:
        shift = 128 if dtype == "uint8" else -128
        quantization = Quantization(quantization.scales, (quantization.zero_point + shift,))
    # The application knows the tensor by the model's name, whatever its type.
    return replace(tensor, index=index, dtype=dtype, quantization=quantization, data=None)


def inner(tensor: Tensor) -> Tensor:
    """The model's own tensor behind a conversion, under a name of its own."""
    return replace(tensor, name=f"{tensor.name}_{tensor.dtype}")


def _conversion(source: Tensor, target: Tensor) -> Call:
    """Between float32 and 8 bits, or between int8 and uint8 of equal scale."""
    if source.dtype != "float32" and target.dtype != "float32":
        kind, kernel, ctypes = "QUANTIZE", "na_flip_sign_8", ("uint8_t", "uint8_t")
        parameters = struct(BYTES_T, count=source.elements)
    else:
        kind = "QUANTIZE" if source.dtype == "float32" else "DEQUANTIZE"
        names = {"float32": "f32", "int8": "s8", "uint8": "u8"}
        kernel = f"na_{kind.lower()}_{names[source.dtype]}_{names[target.dtype]}"
        ctypes = (C_TYPES[source.dtype], C_TYPES[target.dtype])
        quantization = source.quantization or target.quantization
        assert quantization is not None
        parameters = struct(
            "na_quantize_t",
            count=source.elements,
            scale=float_literal(quantization.scale),
            zero_point=quantization.zero_point,
        )
    return Call(
        operator=-1,
        kind=kind,
        kernel=kernel,
        args=(TensorArg(source.index, ctypes[0]), TensorArg(target.index, ctypes[1], written=True), parameters),
        reads=(source.index,),
        writes=(target.index,),
        macc=source.elements,
    )
