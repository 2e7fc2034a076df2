"""CONV_2D."""

from __future__ import annotations

from neuralart.compilers.reference.context import Lowering
from neuralart.compilers.reference.operators import operator
from neuralart.compilers.reference.operators._convolution import convolution
from neuralart.model.graph import Operator


@operator(
    "CONV_2D",
    limits="int8; constant symmetric weights, per tensor or per channel; int32 bias or none; SAME and VALID padding, "
    "strides, dilation, groups; fused RELU, RELU6, RELU_N1_TO_1",
)
def conv_2d(ctx: Lowering, op: Operator) -> None:
    """Lower a convolution."""
    convolution(ctx, op, "na_conv2d_s8", depthwise=False)
