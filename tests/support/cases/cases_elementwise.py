"""Random one-operator graphs: arithmetic with broadcasting, activations, tables."""

from __future__ import annotations

import numpy as np

from support.cases.operator_draws import (
    FUSED,
    Case,
    Draw,
    broadcast_shapes,
    f32,
    ratio,
    scale,
    small_shape,
    values,
    zero_point,
)
from tflite_writer import ModelWriter

Shape = tuple[int, ...]


def _two_inputs(
    rng: np.random.Generator,
    writer: ModelWriter,
    kind: str,
    shapes: tuple[Shape, Shape, Shape],
    scales: tuple[float, float, float],
    zeros: tuple[int, int, int],
    fused: str | None,
) -> Case:
    """Sometimes with a constant, on either side."""
    first, second, out = shapes
    number = len(writer.operators)
    constant = rng.random() < 0.3
    data = rng.integers(-128, 128, second) if constant else None
    a = writer.tensor(f"a{number}", first, "int8", scales[0], zeros[0])
    b = writer.tensor(f"b{number}", second, "int8", scales[1], zeros[1], data)
    y = writer.tensor(f"y{number}", out, "int8", scales[2], zeros[2])
    options = {} if fused is None else {"fused_activation_function": fused}
    inputs = [b, a] if constant and rng.random() < 0.5 else [a, b]
    writer.op(kind, inputs, [y], **options)
    text = f"{first} and {'constant ' if constant else ''}{second}, scales {scales}, zero points {zeros}, {fused}"
    vectors = values(rng, first)
    if constant:
        return Case([a], [y], vectors, text)
    return Case([a, b], [y], [[*x, *z] for x, z in zip(vectors, values(rng, second), strict=True)], text)


def _zeros(rng: np.random.Generator) -> tuple[int, int, int]:
    return zero_point(rng), zero_point(rng), zero_point(rng)


def summation(kind: str) -> Draw:
    """ADD and SUB; scales up to five decades apart."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shapes = broadcast_shapes(rng)
        s1 = scale(rng, -4, 1)
        s2 = f32(s1 * rng.choice([1.0, 2 ** rng.uniform(-1, 1), 10 ** rng.uniform(-5, 5)]))
        s_out = f32(max(s1, s2) * ratio(rng, 3))
        return _two_inputs(rng, writer, kind, shapes, (s1, s2, s_out), _zeros(rng), str(rng.choice(FUSED)))

    return draw


def multiplication(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Factors from far below one to a thousand, where almost everything is clamped."""
    s1, s2 = scale(rng, -4, 1), scale(rng, -4, 1)
    s_out = f32(s1 * s2 * rng.choice([1.0, 2.0 ** int(rng.integers(-3, 12)), 2 ** rng.uniform(2, 10)]))
    if rng.random() < 0.15:
        s_out = f32(s1 * s2 * 10 ** rng.uniform(-3, 12))
    s_out = max(s_out, f32(1e-8))  # the bounds of fused activations fit 32 bits
    return _two_inputs(rng, writer, "MUL", broadcast_shapes(rng), (s1, s2, s_out), _zeros(rng), str(rng.choice(FUSED)))


def extremum(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        s, z = scale(rng), zero_point(rng)
        return _two_inputs(rng, writer, kind, broadcast_shapes(rng), (s, s, s), (z, z, z), None)

    return draw


def squared_difference(rng: np.random.Generator, writer: ModelWriter) -> Case:
    s1 = scale(rng, -3, 1)
    s2 = f32(s1 * rng.choice([1.0, 2 ** rng.uniform(-1, 1), 10 ** rng.uniform(-3, 3)]))
    s_out = f32(max(s1, s2) ** 2 * 2 ** rng.uniform(-3, 10))
    return _two_inputs(rng, writer, "SQUARED_DIFFERENCE", broadcast_shapes(rng), (s1, s2, s_out), _zeros(rng), None)


def prelu(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Slopes of either sign, mostly constant and one per channel."""
    _, _, shape = broadcast_shapes(rng)
    slopes = tuple(d if rng.random() < 0.6 else 1 for d in shape)
    kept = slopes[int(rng.integers(0, len(shape) + 1)) :] if rng.random() < 0.5 else slopes
    number = len(writer.operators)
    s_in, s_slope = scale(rng), f32(rng.choice([1 / 128, 1 / 1024, 10 ** rng.uniform(-4, 0)]))
    s_out = f32(s_in * ratio(rng, 2))
    constant = rng.random() < 0.7
    data = rng.integers(-128, 128, kept) if constant else None
    x = writer.tensor(f"x{number}", shape, "int8", s_in, zero_point(rng))
    a = writer.tensor(f"a{number}", kept, "int8", s_slope, zero_point(rng), data)
    y = writer.tensor(f"y{number}", shape, "int8", s_out, zero_point(rng))
    writer.op("PRELU", [x, a], [y])
    text = f"{shape}, {'constant ' if constant else ''}slopes {kept}, scales {s_in} {s_slope} {s_out}"
    vectors = values(rng, shape)
    if constant:
        return Case([x], [y], vectors, text)
    return Case([x, a], [y], [[*v, *w] for v, w in zip(vectors, values(rng, kept), strict=True)], text)


def subtraction_ties(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Every pair of values, with a second scale that makes some of them fall on a half once they are scaled."""
    number = len(writer.operators)
    second = _scale_of_ties(rng)
    every = np.arange(-128, 128).astype(np.int8)
    x = writer.tensor(f"x{number}", (256, 1), "int8", 1.0, zero_point(rng))
    c = writer.tensor(f"c{number}", (256,), "int8", second, zero_point(rng), every)
    y = writer.tensor(f"y{number}", (256, 256), "int8", float(rng.choice([0.5, 1.0, 2.0, 4.0])), zero_point(rng))
    writer.op("SUB", [x, c] if rng.random() < 0.7 else [c, x], [y])
    return Case([x], [y], [[every.reshape(256, 1)]] * 3, f"ties of scale {second}")


def _scale_of_ties(rng: np.random.Generator) -> float:
    """q / 2**21 so that an odd distance times it is half a step of the scaled value away from a whole one."""
    while True:
        distance = int(rng.choice([value for value in range(-129, 130, 2) if abs(value) > 1]))
        whole, half = int(rng.integers(1, abs(distance) + 1)), int(rng.choice([1, -1, 3, -3]))
        steps, rest = divmod(2**21 * whole + half, abs(distance))
        second = steps / 2**21
        if rest == 0 and steps % 2 and 2**-9 < second < 1 and f32(second) == second:
            return second


def function(
    kind: str, *, low: float = -3, high: float = 0.0, output: tuple[float, int] | None = None, decades: float = 1
) -> Draw:
    """A function of one value.

    Args:
        kind: The operator.
        low: Smallest input scale, as a power of ten.
        high: Largest one.
        output: Scale and zero point of the output where they are prescribed.
        decades: How far the output scale may be from the input scale.
    """

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        number = len(writer.operators)
        # Ties are rare: every value there is, as often as not.
        every = rng.random() < 0.5
        shape = (2, 128) if every else small_shape(rng)
        s_in, z_in = scale(rng, low, high), zero_point(rng)
        s_out, z_out = (f32(s_in * ratio(rng, decades)), zero_point(rng)) if output is None else output
        options = {}
        if kind == "LEAKY_RELU":
            options["alpha"] = f32(
                rng.choice([0.0, 0.01, 0.1, 0.2, 0.5, 1.0, -1.0, -0.5, -0.25, -1.5, rng.uniform(-1, 2)])
            )
        elif kind == "GELU":
            options["approximate"] = bool(rng.random() < 0.5)
        x = writer.tensor(f"x{number}", shape, "int8", s_in, z_in)
        y = writer.tensor(f"y{number}", shape, "int8", s_out, z_out)
        writer.op(kind, [x], [y], **options)
        text = f"{shape} {s_in} {z_in} -> {s_out} {z_out} {options}"
        vectors = values(rng, shape)
        if every:
            vectors[0] = [np.arange(-128, 128).astype(np.int8).reshape(shape)]
        return Case([x], [y], vectors, text)

    return draw


def curve(kind: str, high: float) -> Draw:
    """A function whose results are around one, whatever the input scale is.

    Args:
        kind: The operator.
        high: Largest input scale, as a power of ten.
    """

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        number = len(writer.operators)
        s_in, z_in = f32(10 ** rng.uniform(-3, high)), zero_point(rng)
        s_out = f32(rng.choice([1 / 128, 1 / 32, 10 ** rng.uniform(-3, -0.5)]))
        x = writer.tensor(f"x{number}", (2, 128), "int8", s_in, z_in)
        y = writer.tensor(f"y{number}", (2, 128), "int8", s_out, zero_point(rng))
        writer.op(kind, [x], [y])
        every = np.arange(-128, 128).astype(np.int8).reshape(2, 128)
        vectors = [[every], *values(rng, (2, 128))[1:]]
        return Case([x], [y], vectors, f"{s_in} {z_in} -> {s_out}")

    return draw


OPERATORS: dict[str, Draw] = {
    "ADD": summation("ADD"),
    "SUB": summation("SUB"),
    "SUB ties": subtraction_ties,
    "MUL": multiplication,
    "MAXIMUM": extremum("MAXIMUM"),
    "MINIMUM": extremum("MINIMUM"),
    "SQUARED_DIFFERENCE": squared_difference,
    "PRELU": prelu,
    "LOGISTIC": function("LOGISTIC", low=-4, high=1, output=(1 / 256, -128)),
    "TANH": function("TANH", low=-3, high=0.3, output=(1 / 128, 0)),
    "TANH curve": curve("TANH", -0.5),
    "HARD_SWISH": function("HARD_SWISH", low=-3, high=1),
    "LEAKY_RELU": function("LEAKY_RELU", decades=3),
    "ABS": function("ABS", decades=3),
    "EXP": curve("EXP", -1.3),
    "ELU": curve("ELU", -1.3),
    "LOG": curve("LOG", 1),
    "GELU": function("GELU"),
}
"""What is compared; the first word is the operator's kind."""
