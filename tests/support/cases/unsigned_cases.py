"""The random int8 graphs once more, as uint8: the same real numbers, 128 added to every stored value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from support.cases import cases_numbers, cases_recurrent
from support.cases.operator_draws import Case, Draw, f32, values, zero_point
from tflite_writer import ModelWriter

_OFFSET = 128


class UnsignedWriter(ModelWriter):
    """Writes uint8 where it is told int8; the zero points of constants of one scale are moved at will.

    Attributes:
        rng: Draws zero points of weights, and of what had a scale per channel the one that stays.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.rng = rng

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | Sequence[float] | np.ndarray | None = None,
        zero_point: int | Sequence[int] | np.ndarray = 0,
        data: Any = None,
        axis: int = 0,
        signature: Sequence[int] | None = None,
        **flags: bool,
    ) -> int:
        """As the base; of several scales, as of biases, the first one counts."""
        if dtype != "int8":
            if scale is not None and np.size(scale) > 1:
                scale = float(np.ravel(scale)[0])
            return super().tensor(name, shape, dtype, scale, zero_point, data, axis, signature, **flags)
        if scale is not None and np.size(scale) > 1:
            scale, zero_point = float(np.ravel(scale)[0]), 0
        point = int(np.ravel(zero_point)[0]) + _OFFSET
        if name.startswith("w") and self.rng.random() < 0.6:
            point = int(self.rng.choice([0, 255, 127, 129, self.rng.integers(0, 256)]))
        values = None if data is None else np.asarray(data, np.int64) + _OFFSET
        return super().tensor(name, shape, "uint8", scale, point, values, axis, signature, **flags)


def unsigned(draw: Draw, rng: np.random.Generator, writer: UnsignedWriter) -> Case:
    """A drawn case as uint8: its graph by the writer, its vectors with the sign bit turned over."""
    case = draw(rng, writer)
    case.vectors = [
        [(value.view(np.uint8) ^ 0x80) if value.dtype == np.int8 else value for value in vector]
        for vector in case.vectors
    ]
    return case


def convolution_ties(kind: str) -> Draw:
    """The sums are the biases, so large that the two roundings of input scale x weight scale give different bytes."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        units, number = 32, len(writer.operators)
        s_in, s_w = f32(10 ** rng.uniform(-3, 0)), f32(10 ** rng.uniform(-3, 0))
        s_out = f32(s_in * s_w * 2 ** rng.uniform(20, 24))
        product, z_in, z_out = s_in * s_w, zero_point(rng), zero_point(rng)
        # Between the two accumulators that are a half with either factor.
        halves = rng.integers(-128, 128, units) - z_out + 0.5
        bias = np.round(halves * s_out * (1 / product + 1 / f32(product)) / 2).astype(np.int64)
        shape = (1, 1, 1, units) if kind.startswith("DEPTHWISE") else (units, 1, 1, 1)
        x = writer.tensor(f"x{number}", (1, 1, 1, 1), "int8", s_in, z_in)
        w = writer.tensor(f"w{number}", shape, "int8", s_w, 0, rng.integers(-1, 2, shape))
        b = writer.tensor(f"b{number}", (units,), "int32", product, 0, bias)
        y = writer.tensor(f"y{number}", (1, 1, 1, units), "int8", s_out, z_out)
        writer.op(kind, [x, w, b], [y])
        vectors = [[np.full((1, 1, 1, 1), z_in, np.int8)], *values(rng, (1, 1, 1, 1))[1:]]
        return Case([x], [y], vectors, f"{kind} {s_in} {s_w} {s_out}")

    return draw


EXTRA: dict[str, Draw] = {
    **{f"{kind} ties": convolution_ties(kind) for kind in ("CONV_2D", "DEPTHWISE_CONV_2D")},
    **cases_numbers.UNSIGNED,
}
"""What shows only in uint8."""
SIGNED_ONLY = (
    *("QUANTIZE integer", "QUANTIZE float32", "DEQUANTIZE"),  # they draw their types themselves
    *("ABS", "ELU", "EXP", "LOG", "SQUARED_DIFFERENCE"),  # LiteRT has no such kernel for uint8
    *cases_numbers.OPERATORS,
    *cases_recurrent.OPERATORS,  # nor in integers other than int8
)
"""What is not drawn as uint8."""
