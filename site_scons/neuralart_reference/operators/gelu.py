"""GELU."""

from __future__ import annotations

import math

from neuralart_reference.context import Lowering
from neuralart_reference.model.graph import Operator
from neuralart_reference.operators import operator
from neuralart_reference.operators._plain import FUNCTION
from neuralart_reference.quantize import float32, single
from neuralart_reference.tables import nearest, sampled, table

_SQRT_2_PI = float32(math.sqrt(2 / math.pi))
_MINUS_SQRT_HALF = float32(-math.sqrt(0.5))
_CUBIC = float32(0.044715)

_erfc = nearest(math.erfc)
_tanh = nearest(math.tanh)


def _multiply(product: float, *factors: float) -> float:
    """From left to right, each product rounded."""
    for factor in factors:
        product = single(product * factor)
    return product


def _gelu(x: float) -> float:
    return _multiply(0.5, x, _erfc(_multiply(x, _MINUS_SQRT_HALF)))


def _approximate_gelu(x: float) -> float:
    inner = single(x + _multiply(_CUBIC, x, x, x))
    return _multiply(0.5, x, float32(1.0 + _tanh(_multiply(_SQRT_2_PI, inner))))


@operator("GELU", limits="int8, by table; exact or approximate", plain=FUNCTION)
def gelu(ctx: Lowering, op: Operator) -> None:
    """Lower x times the standard normal distribution's share below x."""
    source, target = ctx.ends(op)
    function = _approximate_gelu if op.options.get("approximate", False) else _gelu
    table(ctx, op, source, target, sampled(source, target, function))
