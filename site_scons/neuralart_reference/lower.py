"""From a model to kernel calls, with inputs and outputs as the command line wants them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError, nearest
from neuralart_reference import folding, unsigned
from neuralart_reference.context import BYTES_T, C_TYPES, Lowering, Unsupported, describe, float_literal, struct
from neuralart_reference.float_weights import in_float32
from neuralart_reference.ir import Call, Program, TensorArg
from neuralart_reference.model.cut import frontier, proposed
from neuralart_reference.model.graph import DTYPE_BYTES, Model, Operator, Quantization, Tensor
from neuralart_reference.model.refusal import ModelRefusal, check_compiled, refusal
from neuralart_reference.model.tflite_operators import quoted
from neuralart_reference.open_shapes import resolved
from neuralart_reference.operators import lookup
from neuralart_reference.operators._plain import SUFFIXES
from neuralart_reference.pad_folding import fold_pads

DTYPES = ("float32", "int8", "uint8", "int32")
POSITIONS = ("chfirst", "chlast")
_LARGEST_TENSOR = (1 << 31) - 1
_FLOATS = ("float32", "float16", "float64")
_AS_IT_IS = BorderOptions()
_DESCRIBED = re.compile(r"(?: on|:)? ?'[^']*' \w+\[[\d, ]*\]")
_RECURRENT = re.compile("LSTM|RNN|SVDF")


def spread(model: Model, option: str, values: Sequence[str], allowed: Sequence[str], count: int) -> tuple[str, ...]:
    """One value per tensor, ``count`` in all: empty texts when none was given. Raises NeuralArtError when a value of
    the command line option is not ``allowed``, or their number is wrong.
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
        what = f"{option} has {len(values)} values, the model has {count} {side}"
        hint = f"give one for all, or {count} separated by commas" if count > 1 else "give one"
        raise NeuralArtError(what, where=model.path, hint=hint)
    return tuple(values)


def check_positions(model: Model, options: BorderOptions) -> None:
    """Check channel positions of a .tflite: they are last. NeuralArtError: ``chfirst`` that needs a transposition."""
    sides = (
        ("--inputs-ch-position", options.inputs_ch_position, model.inputs),
        ("--outputs-ch-position", options.outputs_ch_position, model.outputs),
    )
    for option, values, tensors in sides:
        positions = spread(model, option, values, POSITIONS, len(tensors))
        for index, position in zip(tensors, positions, strict=True):
            tensor = model.tensors[index]
            inner = tensor.shape[1:]
            if model.channels_first or position != "chfirst":
                continue
            if len(inner) > 1 and inner[-1] != 1 and any(size != 1 for size in inner[:-1]):
                what = f"{option} chfirst: {describe(tensor)} is channels last and would have to be transposed"
                hint = "use chlast, or chfirst with one channel or a height and width of 1"
                raise NeuralArtError(what, where=model.path, hint=hint)


def _outer(model: Model, tensor: Tensor, dtype: str, index: int, option: str) -> Tensor:
    """The tensor of another type, of a number of its own, that the application fills or receives instead."""
    quantization = tensor.quantization
    wide = tensor.dtype == "int16" and dtype == "float32"
    if not (tensor.dtype in ("int8", "uint8") or wide) or quantization is None or len(quantization.scales) != 1:
        what = f"{option} {dtype}: {describe(tensor)} is not an int8 or uint8 tensor with one scale"
        raise NeuralArtError(what, where=model.path, hint=f"leave it at {tensor.dtype}")
    if dtype == "int32":
        hint = "int32 stays what it is; 8 bits become float32, int8 or uint8"
        raise NeuralArtError(f"{option} int32: {describe(tensor)} is no int32 tensor", where=model.path, hint=hint)
    if dtype == "float32":
        quantization = None
    else:
        shift = 128 if dtype == "uint8" else -128
        quantization = Quantization(quantization.scales, (quantization.zero_point + shift,))
    # The application knows the tensor by the model's name, whatever its type.
    return replace(tensor, index=index, dtype=dtype, quantization=quantization, data=None)


def _conversion(source: Tensor, target: Tensor) -> Call:
    """Between float32 and 8 or 16 bits, or between int8 and uint8 of equal scale."""
    if source.dtype != "float32" and target.dtype != "float32":
        kind, kernel, ctypes = "QUANTIZE", "na_flip_sign_8", ("uint8_t", "uint8_t")
        parameters = struct(BYTES_T, count=source.elements)
    else:
        kind = "QUANTIZE" if source.dtype == "float32" else "DEQUANTIZE"
        kernel = f"na_{kind.lower()}_{SUFFIXES[source.dtype]}_{SUFFIXES[target.dtype]}"
        ctypes = (C_TYPES[source.dtype], C_TYPES[target.dtype])
        quantization = source.quantization or target.quantization
        assert quantization is not None
        scale = float_literal(quantization.scale)
        parameters = struct("na_quantize_t", count=source.elements, scale=scale, zero_point=quantization.zero_point)
    return Call(
        operator=-1,
        kind=kind,
        kernel=kernel,
        args=(TensorArg(source.index, ctypes[0]), TensorArg(target.index, ctypes[1], written=True), parameters),
        reads=(source.index,),
        writes=(target.index,),
        macc=source.elements,
    )


def _copy(ctx: Lowering, given: Tensor, path: str) -> tuple[Tensor, Call]:
    """A tensor of the application for a constant or an input that is an output, and the call that fills it in each
    inference.
    """
    kind = "INPUT" if given.data is None else "CONSTANT"
    if given.dtype not in C_TYPES:
        what = (
            f"output {describe(given)} is {'a constant' if given.data else 'an input'} of a type that is not supported"
        )
        raise NeuralArtError(what, where=path, hint=f"supported: {', '.join(C_TYPES)}")
    made = replace(given, index=len(ctx.tensors), data=None)
    ctx.tensors.append(made)
    if given.data is not None:
        ctx.tensors[given.index] = replace(given, name=f"{given.name}_constant")
    source, target = TensorArg(given.index, "uint8_t"), TensorArg(made.index, "uint8_t", written=True)
    args = (source, target, struct(BYTES_T, count=given.bytes))
    return made, Call(-1, kind, "na_copy_8", args, (given.index,), (made.index,))


def lower(model: Model, options: BorderOptions = _AS_IT_IS) -> Program:
    """Turn a model into kernel calls, one per operator that does something, and border conversions. Raises
    NeuralArtError when operators, a tensor or an option are not supported, or the graph makes no sense; all operators
    that are not supported are named at once.
    """
    check_compiled(model)
    model = resolved(model)
    check_positions(model, options)
    _check_border(model)
    refused: list[tuple[Operator, NeuralArtError]] = []
    ctx = Lowering(fold_pads(unsigned.signed(folding.fold(in_float32(model)))), model)
    inputs, before = _border(ctx, model, "input", model.inputs, options.input_dtypes)
    outputs, after = _border(ctx, model, "output", model.outputs, options.output_dtypes)
    ctx.border = {*inputs, *outputs}
    ctx.calls.extend(before)
    known = {*model.inputs, *model.states}
    for op in ctx.model.operators:
        try:
            _lower_operator(ctx, op, known)
        except NeuralArtError as error:
            refused.append((op, error))
        known.update(op.outputs)
    if refused:
        raise _refusal(ctx.model, model, refused)
    for index in model.outputs:
        if index not in known and ctx.tensors[index].data is None:
            what = f"output {describe(model.tensors[index])} is computed by no operator"
            raise NeuralArtError(what, where=model.path)
    ctx.calls.extend(after)
    states = {
        index: byte if ctx.tensors[index].dtype == model.tensors[index].dtype else byte ^ 0x80
        for index, byte in model.states.items()
    }
    return Program(ctx.tensors, ctx.calls, tuple(inputs), tuple(outputs), ctx.aliases, states=states | ctx.states)


def _refusal(folded: Model, model: Model, refused: Sequence[tuple[Operator, NeuralArtError]]) -> ModelRefusal:
    """The error for operators that are not supported. If some are unknown: with a cut in front of all, if there is one:
    each of the others is supported by itself.
    """
    (op, error), proposal = refused[0], ""
    if not all(lookup(op.kind) for op, _ in refused):
        ends, bad = [(op.inputs, op.outputs) for op in folded.operators], {i for op, _ in refused for i in op.outputs}
        named = Counter(model.tensors[index].name for op in model.operators for index in op.outputs)
        names = [model.tensors[index].name for index in frontier(ends, model.outputs, bad)]
        proposal = proposed(names) if all(named[name] == 1 for name in names) else ""
    if len(refused) == 1:
        return ModelRefusal(error.what, {op.kind: 1}, error.where, proposal or error.hint)
    problems = dict[tuple[str, str], list[str]]()
    for op, error in refused:
        why = _DESCRIBED.sub("", error.what.partition(": '")[0]).strip().removeprefix("operator is ")
        name = quoted(model.tensors[op.outputs[0]].name) if op.outputs else "one without an output"
        problems.setdefault((op.kind, why), []).append(name)
    return refusal(problems, model.path, proposal)


def _lower_operator(ctx: Lowering, op: Operator, known: set[int]) -> None:
    """Emit the calls of an operator; NeuralArtError when it is not supported."""
    entry, constant = lookup(op.kind), all(ctx.tensors[i].data is not None for i in op.inputs if i >= 0)
    if entry is None:
        if op.kind in folding.FOLDED and constant:
            what = f"constants of these types are not computed: {_signature(ctx, op)}"
            ctx.refuse(op, what, "leave it out of the model")
        what = "recurrent, and not supported" if _RECURRENT.search(op.kind) else "operator is not supported"
        ctx.refuse(op, f"{what}: {_signature(ctx, op)}", "neuralart operators lists those that are")
    _check_graph(ctx, op, known)
    if not entry.floats:
        _refuse_float(ctx, op)
    if constant and op.kind not in ("QUANTIZE", "DEQUANTIZE"):  # Their kernels take constants: some are outputs.
        ctx.refuse(op, f"all inputs are constants: {_signature(ctx, op)}", "fold them when the model is made")
    try:
        entry.lower(ctx, op)
    except Unsupported as error:
        ctx.refuse(op, error.what, error.hint)


def _border(
    ctx: Lowering, model: Model, side: str, indices: Sequence[int], types: Sequence[str]
) -> tuple[list[int], list[Call]]:
    """The inputs or outputs as the application sees them, and the calls that convert them."""
    option = f"--{side}-data-type"
    seen: list[int] = []
    calls: list[Call] = []
    for index, asked in zip(indices, spread(model, option, types, DTYPES, len(indices)), strict=True):
        # Not asked, the application keeps the model's type, whatever is computed on.
        dtype, tensor = asked or model.tensors[index].dtype, ctx.tensors[index]
        if tensor.data is not None or (side == "output" and index in model.inputs):
            tensor, call = _copy(ctx, tensor, model.path)
            calls.append(call)
            index = tensor.index
        if dtype == tensor.dtype:
            seen.append(index)
            continue
        outer = _outer(model, tensor, dtype, len(ctx.tensors), option)
        calls.append(_conversion(outer, tensor) if side == "input" else _conversion(tensor, outer))
        seen.append(outer.index)
        ctx.tensors.append(outer)
        # The model's own tensor behind it gets a name of its own.
        ctx.tensors[index] = replace(tensor, name=f"{tensor.name}_{tensor.dtype}")
    return seen, calls


def _check_border(model: Model) -> None:
    """Inputs and outputs must be different buffers that something fills."""
    for side, indices in (("inputs", model.inputs), ("outputs", model.outputs)):
        if not indices:
            raise NeuralArtError(f"the model has no {side}", where=model.path)
        for index in indices:
            tensor = model.tensors[index]
            if indices.count(index) > 1:
                raise NeuralArtError(f"{describe(tensor)} is listed twice among the {side}", where=model.path)
            if tensor.data is not None and side == "inputs":
                raise NeuralArtError(f"{describe(tensor)} among the {side} is a constant", where=model.path)
            if problem := _problem(tensor):
                raise NeuralArtError(f"{side[:-1]} {describe(tensor)} {problem}", where=model.path)


def _check_graph(ctx: Lowering, op: Operator, known: set[int]) -> None:
    """Every tensor has a size, is filled before it is read, and is filled once."""
    for index in (*op.inputs, *op.outputs):
        if index >= 0 and (problem := _problem(ctx.tensors[index])):
            ctx.refuse(op, f"{describe(ctx.tensors[index])} {problem}")
    for index in op.inputs:
        if index >= 0 and ctx.tensors[index].variable and not _RECURRENT.search(op.kind):
            what = f"{describe(ctx.tensors[index])} is a variable: it keeps its value from one inference to the next"
            ctx.refuse(op, what, "only recurrent operators change a variable tensor, convert the model without it")
        if index >= 0 and ctx.tensors[index].data is None and index not in known:
            ctx.refuse(op, f"{describe(ctx.tensors[index])} is read before any operator fills it")
    for index in op.outputs:
        if index in known or ctx.tensors[index].data is not None:
            ctx.refuse(op, f"{describe(ctx.tensors[index])} is filled twice")


def _problem(tensor: Tensor) -> str:
    """What makes a tensor unusable, whatever the operator."""
    if any(size <= 0 for size in tensor.shape):
        return "has no fixed size: dynamic shapes are not supported"
    if tensor.elements * DTYPE_BYTES.get(tensor.dtype, 1) > _LARGEST_TENSOR:
        return f"is larger than {_LARGEST_TENSOR} bytes"
    if tensor.data is not None and tensor.dtype in DTYPE_BYTES and len(tensor.data) != tensor.bytes:
        return f"holds {len(tensor.data)} bytes, its shape asks for {tensor.bytes}"
    return ""


def _refuse_float(ctx: Lowering, op: Operator) -> None:
    """Say of a part in floats that it is one, before anything about its operators."""
    for tensor in (ctx.tensors[index] for index in (*op.inputs, *op.outputs) if index >= 0):
        if tensor.dtype in _FLOATS:
            what = f"this part of the model is computed in {tensor.dtype} on {describe(tensor)}"
            ctx.refuse(op, what, "quantize it to int8 (full integer quantization)")


def _signature(ctx: Lowering, op: Operator) -> str:
    sides = [
        ", ".join(describe(ctx.tensors[i]) if i >= 0 else "absent" for i in indices) or "nothing"
        for indices in (op.inputs, op.outputs)
    ]
    return f"{sides[0]} -> {sides[1]}"
