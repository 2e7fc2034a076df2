"""Operators with a state: SVDF and UNIDIRECTIONAL_SEQUENCE_LSTM in integers throughout, and what is float32 only; whole
sequences of ONNX models, time first, whose state is a result.
"""

from __future__ import annotations

import math
import struct as binary
from collections.abc import Sequence
from itertools import count

from neuralart_reference.context import Lowering, Operand, describe, float_literal, struct
from neuralart_reference.ir import Arg, Null
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import Plain, operator
from neuralart_reference.operators._plain import as_stored
from neuralart_reference.operators._recurrent import (
    CELL,
    CELL_STATE,
    FORGET,
    INPUT,
    OUTPUT,
    OUTPUT_STATE,
    PROJECTION,
    PROJECTION_BIAS,
    Gate,
    States,
)
from neuralart_reference.operators._recurrent.in_float import lstm_f32, rnn_f32, svdf_f32, svdf_sizes
from neuralart_reference.quantize import single

_GATES = {"SEQUENCE_GRU": 3, "SEQUENCE_LSTM": 4, "SEQUENCE_RNN": 1}


def sequence(ctx: Lowering, op: Operator) -> None:
    """Lower a layer. Inputs: sequence, weights, recurrent weights, bias, first state and, of an LSTM, first cells and
    peephole weights; outputs: sequence, last state, last cells. Multiply-accumulate operations: those of all matrices.
    """
    steps, batches, inputs = ctx.input(op).shape
    result, states = ctx.tensors[op.outputs[0]], [ctx.tensors[index] for index in op.outputs[1:]]
    units, gates = result.shape[-1], _GATES[op.kind]
    ctx.expect_shape(op, result, (steps, batches, units))
    for state in states:
        ctx.expect_shape(op, state, (batches, units))

    def given(position: int) -> Arg:
        tensor = ctx.optional(op, position)
        return Null() if tensor is None else ctx.read(op, tensor, f"input{position}")

    sizes = {
        "batches": batches,
        "steps": steps,
        "inputs": inputs,
        "batch_step": 1,
        "time_step": -batches if op.options["reverse"] else batches,
    }
    scratch, first = 4 * gates * units, [given(4)]
    if op.kind == "SEQUENCE_LSTM":
        first = [given(6), given(4), given(5)]
        none = dict.fromkeys(("cell_clip", "output_clip"), float_literal(0.0))
        parameters = struct("na_lstm_f32_t", **sizes, cells=units, outputs=units, gates=gates, **none)
    elif op.kind == "SEQUENCE_GRU":
        parameters = struct("na_gru_f32_t", **sizes, units=units, after=int(op.options["after"]))
    else:
        parameters, scratch = struct("na_rnn_f32_t", **sizes, units=units, function=int(op.options["function"])), 0
    args = (*map(given, range(4)), *first, *map(ctx.write, states), ctx.write(result), parameters)
    macc = batches * steps * gates * units * (inputs + units)
    ctx.emit(op, f"na_{op.kind.lower()}_f32", args, macc=macc, scratch=scratch)


_INTERMEDIATES = 5
_LAYER_NORM_BITS = 12
_LEAST_VARIANCE = 10000  # times the scale of the coefficients


def _biases(bias: Sequence[int], weights: bytes, offset: int) -> bytes:
    """Biases, with what an offset of all values adds to each sum of products; sums wrap."""
    signed, columns = memoryview(weights).cast("b"), len(weights) // len(bias)
    sums = (b + offset * sum(signed[at : at + columns]) for b, at in zip(bias, count(0, columns), strict=False))
    return b"".join(binary.pack("<I", value & 0xFFFFFFFF) for value in sums)


@operator(
    "SVDF",
    limits="int8, as state; constant int8 input weights, int16 or int8 time weights and state, int32 bias or none; any "
    "rank; fused RELU, which is the smallest int8 value as in LiteRT; not uint8",
    plain=Plain(svdf_f32, ("float32",)),
)
def svdf(ctx: Lowering, op: Operator) -> None:
    """Lower a singular value decomposition filter.

    The profile takes RELU alone, and leaves it to the zero point of the output, -128. Multiply-accumulate operations:
    filters x (inputs + memory) for each batch.
    """
    as_stored(ctx, op)
    if len(op.inputs) != 5:
        ctx.refuse(op, f"it has {len(op.inputs)} inputs, not 5")
    (source, target), parts = ctx.ends(op), States(ctx, op)
    weights, time, sizes = ctx.input(op, 1), ctx.input(op, 2), svdf_sizes(ctx, op)
    batches, inputs, units, rank, memory = sizes.values()
    filters = units * rank
    if (activation := ctx.activation(op)) != "RELU":
        ctx.refuse(op, f"fused activation {activation} is not supported", "supported: RELU, as in LiteRT")
    narrow = ctx.input(op, 4).dtype == "int8"
    dtype = "int8" if narrow else "int16"
    state, bias = parts.state(4, dtype, batches * filters * memory), ctx.optional(op, 3)
    kept = ctx.scaled(op, ctx.input(op, 4)) if narrow else None
    inner = kept.scale if kept else parts.scale(4)
    before = ctx.fixed_point(op, single(single(source.scale * parts.scale(1)) / inner))
    after = ctx.fixed_point(op, single(single(inner * parts.scale(2)) / target.scale))
    parameters = struct(
        "na_svdf_t",
        **sizes,
        input_offset=-source.zero_point,
        **before.members("state_"),
        **after.members("output_"),
        output_offset=target.zero_point,
        **({"state_offset": kept.zero_point} if kept else {}),
    )
    args = (
        ctx.read(op, source.tensor),
        ctx.data(op, parts.constant(1, "weights", "int8", (filters, inputs)), "int8_t", "weights", weights),
        ctx.data(op, parts.constant(2, "time weights", dtype, (filters, memory)), f"{dtype}_t", "time_weights", time),
        ctx.data(op, parts.constant(3, "biases", "int32", (units,)), "int32_t", "bias", bias) if bias else Null(),
        state,
        ctx.write(target.tensor),
        parameters,
    )
    ctx.emit(op, "na_svdf_s8_s8" if narrow else "na_svdf_s8", args, macc=batches * filters * (inputs + memory))


@operator(
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
    limits="int8, as state; constant int8 weights, int16 cell with a scale from 2^-15 to 2^-9, int32 biases; either "
    "order of batch and time; coupled input and forget gate, peephole, projection, layer normalization, clips; "
    "not uint8",
    plain=Plain(lstm_f32, ("float32",)),
)
def lstm(ctx: Lowering, op: Operator) -> None:
    """Lower a long short-term memory over a sequence. Multiply-accumulate operations: those of all matrices, for each
    batch and time.
    """
    as_stored(ctx, op)
    (source, target), parts = ctx.ends(op), States(ctx, op)
    weights = ctx.input(op, FORGET.weights)
    if (len(source.shape), len(target.shape), len(weights.shape)) != (3, 3, 2):
        shown = ", ".join(map(describe, (source.tensor, target.tensor, weights)))
        ctx.refuse(op, f"{shown} have not 3, 3 and 2 dimensions")
    if len(op.inputs) not in (20, 24) or len(op.intermediates) != _INTERMEDIATES or min(op.intermediates) < 0:
        what = f"{len(op.inputs)} inputs and {len(op.intermediates)} intermediates, expected 20 or 24 and 5"
        ctx.refuse(op, what, "quantize the model to int8 with int16 cells, as TFLiteConverter does")
    if (activation := op.options.get("fused_activation_function", "NONE")) != "TANH":
        ctx.refuse(op, f"fused activation {activation} is not supported", "supported: TANH")
    (*leading, inputs), outputs, cells = source.shape, target.shape[-1], weights.shape[0]
    ctx.expect_shape(op, target.tensor, (*leading, outputs))
    time_major = bool(op.options.get("time_major", False))
    steps, batches = leading if time_major else reversed(leading)
    gates = (FORGET, CELL, OUTPUT) + (() if ctx.optional(op, INPUT.weights) is None else (INPUT,))
    output_state = parts.state(OUTPUT_STATE, "int8", batches * outputs)
    cell_state, last = parts.state(CELL_STATE, "int16", batches * cells), ctx.input(op, OUTPUT_STATE)
    tensors, rows = _gates(ctx, op, parts, gates, source, ctx.operand(op, last), cells)
    hidden = ctx.operand(op, ctx.tensors[op.intermediates[-1]])
    scale, projected = ctx.operand(op, last), ctx.optional(op, PROJECTION) is not None
    factor, projection = ctx.fixed_point(op, 0.0), tuple[Arg, ...]((Null(), Null()))
    if projected:
        data = parts.constant(PROJECTION, "weights", "int8", (outputs, cells))
        factor = ctx.fixed_point(op, single(single(parts.scale(PROJECTION) * hidden.scale) / scale.scale))
        bias = (0,) * outputs if ctx.optional(op, PROJECTION_BIAS) is None else parts.bias(PROJECTION_BIAS, outputs)
        projection = (
            ctx.data(op, data, "int8_t", "projection", ctx.input(op, PROJECTION)),
            ctx.data(op, _biases(bias, data, hidden.zero_point), "int32_t", "projection_bias"),
        )
    elif outputs != cells:
        ctx.refuse(op, f"{describe(target.tensor)} needs a projection: there are {cells} cells")
    parts.check_all_read()
    opened = ctx.fixed_point(op, single(2.0**-30 / hidden.scale))
    parameters = struct(
        "na_lstm_t",
        batches=batches,
        steps=steps,
        inputs=inputs,
        cells=cells,
        outputs=outputs,
        batch_step=1 if time_major else steps,
        time_step=batches if time_major else 1,
        gates=len(gates),
        cell_bits=15 + _cell_exponent(ctx, op, parts),
        cell_clip=_clip(ctx, op, "cell_clip", parts.scale(CELL_STATE), 32767),
        output_clip=_clip(ctx, op, "proj_clip", target.scale, 127),
        **opened.members("hidden_"),
        hidden_offset=-hidden.zero_point if projected else hidden.zero_point,
        **factor.members("output_"),
        output_offset=scale.zero_point,
        gate="{" + ", ".join(rows) + "}",
    )
    args = (ctx.read(op, source.tensor), *tensors, *projection, output_state, cell_state, ctx.write(target.tensor))
    macc = batches * steps * cells * (len(gates) * (inputs + outputs) + outputs * projected)
    ctx.emit(op, "na_lstm_s8", (*args, parameters), macc=macc, scratch=cells * (2 * len(gates) + projected))


def _gates(
    ctx: Lowering, op: Operator, parts: States, gates: Sequence[Gate], source: Operand, last: Operand, cells: int
) -> tuple[tuple[Arg, ...], list[str]]:
    """Constants of all gates one behind the other, and each gate's factors as a C initializer."""
    inputs, outputs = source.shape[-1], ctx.output(op).shape[-1]
    peepholes, normed = (ctx.optional(op, n) is not None for n in (OUTPUT.peephole or 0, OUTPUT.norm))
    if peepholes and outputs != cells:
        ctx.refuse(op, "a peephole and a projection to another size: LiteRT confuses the cells of batches")
    weights, recurrent, peephole, norm, biases, sums, old, rows = b"", b"", b"", b"", b"", b"", b"", list[str]()
    for gate in gates:
        # The profile computes these factors in float32, from the left.
        scale = 2.0**-_LAYER_NORM_BITS
        if normed:
            scale = ctx.quantization(op, ctx.tensors[op.intermediates[gate.intermediate]]).scale
        data = parts.constant(gate.weights, "weights", "int8", (cells, inputs))
        looped = parts.constant(gate.recurrent, "weights", "int8", (cells, outputs))
        bias = parts.bias(gate.bias, cells)
        factors = [
            ctx.fixed_point(op, single(single(parts.scale(position) * side.scale) / scale))
            for position, side in ((gate.weights, source), (gate.recurrent, last))
        ]
        weights, recurrent = weights + data, recurrent + looped
        sums += _biases((0,) * cells if normed else bias, data, -source.zero_point)
        old += _biases((0,) * cells, looped, -last.zero_point)
        if peepholes and gate.peephole:
            peephole += parts.constant(gate.peephole, "peephole weights", "int16", (cells,))
            cell = 2.0 ** _cell_exponent(ctx, op, parts)
            factors.append(ctx.fixed_point(op, single(cell * parts.scale(gate.peephole) / scale)))
        else:
            peephole += bytes(2 * cells)
            factors.append(ctx.fixed_point(op, 0.0))
        least = 1
        if normed:
            norm += parts.constant(gate.norm, "coefficients", "int16", (cells,))
            biases += _biases(bias, data, 0)
            factors.append(ctx.fixed_point(op, parts.scale(gate.norm) * 2.0**_LAYER_NORM_BITS))
            least = max(1, int(single(_LEAST_VARIANCE * parts.scale(gate.norm))))
        else:
            factors.append(ctx.fixed_point(op, 0.0))
        rows.append("{" + ", ".join(f"{each.multiplier}, {each.shift}" for each in factors) + f", {least}}}")
    args: tuple[Arg, ...] = (
        ctx.data(op, weights, "int8_t", "input_weights"),
        ctx.data(op, recurrent, "int8_t", "recurrent_weights"),
        ctx.data(op, sums + old, "int32_t", "bias"),
        ctx.data(op, peephole, "int16_t", "peephole") if peepholes else Null(),
        ctx.data(op, norm, "int16_t", "norm") if normed else Null(),
        ctx.data(op, biases, "int32_t", "norm_bias") if normed else Null(),
    )
    return args, rows


def _cell_exponent(ctx: Lowering, op: Operator, parts: States) -> int:
    """The scale of the cell as a power of two; NeuralArtError when it is none that tanh takes."""
    exact = math.log2(parts.scale(CELL_STATE))
    if abs(exact - round(exact)) >= 1e-3 or not -15 <= round(exact) <= -9:
        what = f"scale {parts.scale(CELL_STATE):g} of {describe(ctx.input(op, CELL_STATE))} is not supported"
        ctx.refuse(op, what, "supported: powers of two from 2**-15 to 2**-9")
    return round(exact)


def _clip(ctx: Lowering, op: Operator, name: str, scale: float, most: int) -> int:
    """A bound as a stored value, towards zero; NeuralArtError when it is negative."""
    bound = float(op.options.get(name, 0.0))
    if bound < 0:
        ctx.refuse(op, f"{name} {bound:g} is negative")
    return int(min(single(bound / scale), most))


@operator("SEQUENCE_GRU", "SEQUENCE_LSTM", "SEQUENCE_RNN", limits="float32; of ONNX models", floats=True)
def of_onnx(ctx: Lowering, op: Operator) -> None:
    """Lower a whole sequence."""
    sequence(ctx, op)


@operator("LSTM", limits="", plain=Plain(lstm_f32, ("float32",)))
@operator("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", limits="", plain=Plain(rnn_f32, ("float32",)))
def not_quantized(ctx: Lowering, op: Operator) -> None:
    """Refuse what LiteRT has in float32 only, and one step of an LSTM in integers."""
    ctx.refuse(op, f"{describe(ctx.input(op))} is not supported", "supported: float32")
