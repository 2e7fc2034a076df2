"""Operators with a state in float32: SVDF, LSTM and simple recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart_reference.context import Lowering, describe, float_literal, same_type, struct
from neuralart_reference.ir import Arg, Null
from neuralart_reference.model.graph import Operator, Tensor
from neuralart_reference.operators._plain import bounds
from neuralart_reference.operators._recurrent import (
    CELL,
    CELL_STATE,
    FORGET,
    INPUT,
    OUTPUT,
    OUTPUT_STATE,
    PROJECTION,
    PROJECTION_BIAS,
    States,
)

_FUNCTIONS = {"NONE": 0, "RELU": 1, "TANH": 2}


def svdf_sizes(ctx: Lowering, op: Operator) -> dict[str, int]:
    """The sizes of a singular value decomposition filter; NeuralArtError when they do not fit each other."""
    source, weights, time = (ctx.input(op, position) for position in range(3))
    rank = int(op.options.get("rank", 0))
    if len(source.shape) != 2 or len(weights.shape) != 2 or len(time.shape) != 2:
        ctx.refuse(op, f"{describe(source)}, {describe(weights)} or {describe(time)} has not 2 dimensions")
    (batches, inputs), filters, memory = source.shape, weights.shape[0], time.shape[1]
    if rank < 1 or filters % rank:
        ctx.refuse(op, f"{filters} filters of rank {rank} are no whole number of units")
    units = filters // rank
    ctx.expect_shape(op, ctx.output(op), (batches, units))
    return {"batches": batches, "inputs": inputs, "units": units, "rank": rank, "memory": memory}


def svdf_f32(ctx: Lowering, op: Operator) -> None:
    """Lower a singular value decomposition filter. Multiply-accumulate operations: filters x (inputs + memory) for each
    batch.
    """
    source, target, parts = ctx.input(op), ctx.output(op), States(ctx, op)
    same_type(source, target)
    sizes = svdf_sizes(ctx, op)
    batches, inputs, units, rank, memory = sizes.values()
    filters = units * rank
    args = (
        ctx.read(op, source),
        _constant(ctx, op, parts, 1, "weights", (filters, inputs)),
        _constant(ctx, op, parts, 2, "time_weights", (filters, memory)),
        _constant(ctx, op, parts, 3, "bias", (units,)) if ctx.optional(op, 3) else Null(),
        parts.state(4, "float32", batches * filters * memory),
        ctx.write(target),
        struct("na_svdf_f32_t", **sizes, **bounds(ctx, op)),
    )
    ctx.emit(op, "na_svdf_f32", args, macc=batches * filters * (inputs + memory))


def _constant(ctx: Lowering, op: Operator, parts: States, position: int, role: str, shape: Sequence[int]) -> Arg:
    return ctx.data(op, parts.constant(position, role, "float32", shape), "float", role, ctx.input(op, position))


def _sequence(ctx: Lowering, op: Operator, source: Tensor, target: Tensor) -> tuple[int, dict[str, int]]:
    """Outputs, and the members that say how a sequence lies in memory; an operator without one does a single step."""
    same_type(source, target)
    rank = 3 if op.kind.startswith("UNIDIRECTIONAL") else 2
    if len(source.shape) != rank or len(target.shape) != rank:
        ctx.refuse(op, f"{describe(source)} and {describe(target)} have not {rank} dimensions")
    *leading, inputs = source.shape
    ctx.expect_shape(op, target, (*leading, target.shape[-1]))
    time_major = bool(op.options.get("time_major", False))
    steps, batches = (1, leading[0]) if rank == 2 else leading if time_major else reversed(leading)
    step = {"batch_step": 1 if time_major else steps, "time_step": batches if time_major else 1}
    return target.shape[-1], {"batches": batches, "steps": steps, "inputs": inputs, **step}


def rnn_f32(ctx: Lowering, op: Operator) -> None:
    """Lower a layer whose output is a part of its next input. Multiply-accumulate operations: those of both matrices,
    for each batch and time.
    """
    source, target, parts = ctx.input(op), ctx.output(op), States(ctx, op)
    units, sequence = _sequence(ctx, op, source, target)
    activation = str(op.options.get("fused_activation_function", "NONE"))
    if activation not in _FUNCTIONS:
        ctx.refuse(op, f"fused activation {activation} is not supported", f"supported: {', '.join(_FUNCTIONS)}")
    args = (
        ctx.read(op, source),
        _constant(ctx, op, parts, 1, "weights", (units, sequence["inputs"])),
        _constant(ctx, op, parts, 2, "recurrent_weights", (units, units)),
        _constant(ctx, op, parts, 3, "bias", (units,)),
        parts.state(4, "float32", sequence["batches"] * units),
        ctx.write(target),
        struct("na_rnn_f32_t", **sequence, units=units, function=_FUNCTIONS[activation]),
    )
    parts.check_all_read()
    macc = sequence["batches"] * sequence["steps"] * units * (sequence["inputs"] + units)
    ctx.emit(op, "na_rnn_f32", args, macc=macc)


def lstm_f32(ctx: Lowering, op: Operator) -> None:
    """Lower a long short-term memory. Multiply-accumulate operations: those of all matrices."""
    source, target, parts = ctx.input(op), ctx.output(op), States(ctx, op)
    weights = ctx.input(op, FORGET.weights)
    if len(op.inputs) not in (20, 24) or len(weights.shape) != 2:
        ctx.refuse(op, f"{len(op.inputs)} inputs, weights {describe(weights)}, expected 20 or 24 and 2 dimensions")
    if (activation := op.options.get("fused_activation_function", "NONE")) != "TANH":
        ctx.refuse(op, f"fused activation {activation} is not supported", "supported: TANH")
    outputs, sequence = _sequence(ctx, op, source, target)
    cells, inputs, batches = weights.shape[0], sequence["inputs"], sequence["batches"]
    gates = (FORGET, CELL, OUTPUT) + (() if ctx.optional(op, INPUT.weights) is None else (INPUT,))

    def joined(role: str, positions: Sequence[int | None], shape: Sequence[int]) -> Arg:
        """The constants of all gates, one behind the other; zeros where a gate has none."""
        empty = bytes(4 * cells)
        rows = (empty if at is None else parts.constant(at, role, "float32", shape) for at in positions)
        return ctx.data(op, b"".join(rows), "float", role)

    projected = ctx.optional(op, PROJECTION) is not None
    if not projected and outputs != cells:
        ctx.refuse(op, f"{describe(target)} needs a projection: there are {cells} cells")
    peepholes, normed = (ctx.optional(op, at) is not None for at in (OUTPUT.peephole or 0, OUTPUT.norm))
    args = (
        ctx.read(op, source),
        joined("input_weights", [gate.weights for gate in gates], (cells, inputs)),
        joined("recurrent_weights", [gate.recurrent for gate in gates], (cells, outputs)),
        joined("bias", [gate.bias for gate in gates], (cells,)),
        joined("peephole", [gate.peephole for gate in gates], (cells,)) if peepholes else Null(),
        joined("norm", [gate.norm for gate in gates], (cells,)) if normed else Null(),
        _constant(ctx, op, parts, PROJECTION, "projection", (outputs, cells)) if projected else Null(),
        _constant(ctx, op, parts, PROJECTION_BIAS, "projection_bias", (outputs,))
        if projected and ctx.optional(op, PROJECTION_BIAS) is not None
        else Null(),
        parts.state(OUTPUT_STATE, "float32", batches * outputs),
        parts.state(CELL_STATE, "float32", batches * cells),
        ctx.write(target),
    )
    parts.check_all_read()
    clips = {}
    for name, member in (("cell_clip", "cell_clip"), ("proj_clip", "output_clip")):
        if (bound := float(op.options.get(name, 0.0))) < 0:
            ctx.refuse(op, f"{name} {bound:g} is negative")
        clips[member] = float_literal(bound)
    parameters = struct("na_lstm_f32_t", **sequence, cells=cells, outputs=outputs, gates=len(gates), **clips)
    macc = batches * sequence["steps"] * cells * (len(gates) * (inputs + outputs) + outputs * projected)
    ctx.emit(op, "na_lstm_f32", (*args, parameters), macc=macc, scratch=4 * cells * len(gates))
