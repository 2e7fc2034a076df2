"""Recurrent layers of ONNX models in float32: whole sequences, time first, whose state is a result."""

from __future__ import annotations

from neuralart_reference.context import Lowering, float_literal, struct
from neuralart_reference.ir import Arg, Null
from neuralart_reference.model.graph import Operator

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
