"""What operators with two inputs share."""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.compilers.reference.context import Lowering, Operand
from neuralart.compilers.reference.ir import StructArg
from neuralart.compilers.reference.operators._broadcast import RANK, Broadcast, broadcast
from neuralart.model.graph import Operator

BROADCAST_LIMITS = f"int8, one input may be constant; broadcasting with at most {RANK} dimensions that cannot be joined"


@dataclass(frozen=True)
class Binary:
    """The tensors of an operator with two inputs.

    Attributes:
        first: First input.
        second: Second input.
        target: Output.
        walk: How the inputs fill the output.
    """

    first: Operand
    second: Operand
    target: Operand
    walk: Broadcast


def binary(ctx: Lowering, op: Operator) -> Binary:
    """Check the tensors.

    Raises:
        NeuralArtError: Types, quantization or shapes are not supported.
    """
    first = ctx.operand(op, ctx.input(op, 0))
    second = ctx.operand(op, ctx.input(op, 1))
    target = ctx.operand(op, ctx.output(op))
    try:
        walk = broadcast(first.shape, second.shape)
    except ValueError as error:
        ctx.refuse(op, str(error))
    ctx.expect_shape(op, target.tensor, walk.output)
    if len(walk.shape) > RANK:
        ctx.refuse(op, f"broadcasting over {len(walk.shape)} dimensions is not supported", f"at most {RANK}")
    return Binary(first, second, target, walk)


def emit_binary(ctx: Lowering, op: Operator, sides: Binary, kernel: str, parameters: StructArg) -> None:
    """Emit the call. Operations counted as multiply-accumulate: output elements."""
    args = (
        ctx.read(op, sides.first.tensor, "input1"),
        ctx.read(op, sides.second.tensor, "input2"),
        ctx.write(sides.target.tensor),
        parameters,
    )
    ctx.emit(op, kernel, args, macc=sides.target.tensor.elements)
