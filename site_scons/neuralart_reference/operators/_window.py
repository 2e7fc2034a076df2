"""Geometry that convolutions and pooling share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from neuralart_reference import quantize
from neuralart_reference.context import Lowering, describe
from neuralart_reference.model.graph import Operator, Tensor

_LARGEST_EXTENT = 1 << 30


@dataclass(frozen=True)
class Window:
    """A window sliding over height and width."""

    output: tuple[int, int]  # height and width of the output
    stride: tuple[int, int]  # down and right
    dilation: tuple[int, int]  # down and right; 1 where the window has one tap
    pad: tuple[int, int]  # padding above and left of the input


def window(ctx: Lowering, op: Operator, source: Tensor, kernel: tuple[int, int]) -> Window:
    """The geometry of a window over N, H, W, C: padding, strides and dilations as the options ask for. Raises
    NeuralArtError when the input is not four-dimensional, an option is out of range, or no window fits.
    """
    if len(source.shape) != 4:
        ctx.refuse(op, f"{describe(source)} has {len(source.shape)} dimensions, expected 4 (N, H, W, C)")
    explicit: Any = op.options.get("pads") if op.options.get("padding") == "EXPLICIT" else None
    padding = "VALID" if explicit else padding_kind(ctx, op)
    strides = down_and_right(ctx, op, "stride_h", "stride_w")
    dilations = down_and_right(ctx, op, "dilation_h_factor", "dilation_w_factor")
    outputs, pads, steps = [], [], []
    for size, taps, stride, dilation in zip(source.shape[1:3], kernel, strides, dilations, strict=True):
        step = dilation if taps > 1 else 1
        extent = (taps - 1) * step + 1
        if taps < 1 or extent > _LARGEST_EXTENT:
            ctx.refuse(op, f"a window of {taps} taps with dilation {dilation} is not supported")
        length = quantize.output_size(size, taps, stride, step, padding)
        if length < 1 and not explicit:
            ctx.refuse(op, f"a window of {extent} does not fit into {size} of {describe(source)} with VALID padding")
        outputs.append(length)
        pads.append(quantize.padding_before(size, length, taps, stride, step))
        steps.append(step)
    if explicit:  # Of an ONNX model, whose sizes are checked already
        pads, outputs = list(explicit), list(ctx.output(op).shape[1:3])
    return Window(
        output=(outputs[0], outputs[1]), stride=strides, dilation=(steps[0], steps[1]), pad=(pads[0], pads[1])
    )


def members(name: str, sides: Sequence[int]) -> dict[str, int]:
    """Height and width as members of a parameter structure, with a name in front."""
    return {f"{name}_height": sides[0], f"{name}_width": sides[1]}


def padding_kind(ctx: Lowering, op: Operator) -> quantize.Padding:
    """The option ``padding``; NeuralArtError when it is neither ``SAME`` nor ``VALID``."""
    padding: Any = op.options.get("padding")
    if padding not in ("SAME", "VALID"):
        ctx.refuse(op, f"padding {padding} is not supported", "supported: SAME, VALID")
    found: quantize.Padding = padding
    return found


def down_and_right(ctx: Lowering, op: Operator, down: str, right: str) -> tuple[int, int]:
    """Two options that must be positive; NeuralArtError when one is not."""
    pair = (int(op.options.get(down, 1)), int(op.options.get(right, 1)))
    for name, value in zip((down, right), pair, strict=True):
        if value < 1:
            ctx.refuse(op, f"{name} is {value}, expected at least 1")
    return pair
