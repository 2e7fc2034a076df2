"""Random one-operator graphs: plain numbers, quotients, reductions, products of matrices, changes of type."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.cases.operator_draws import (
    FUSED,
    Case,
    Draw,
    broadcast_shapes,
    f32,
    scale,
    small_shape,
    values,
    zero_point,
)
from tflite_writer import ModelWriter

Shape = tuple[int, ...]
Vectors = list[list[np.ndarray]]


def _numbers(rng: np.random.Generator, shape: Shape, dtype: str, low: float = -3, high: float = 3) -> Vectors:
    """One input for each vector: all sizes, small whole numbers, and a narrow range."""
    if dtype in ("int8", "uint8", "int16"):
        return values(rng, shape, dtype)
    sign = rng.choice([-1.0, 1.0], shape)
    drawn = [sign * 10 ** rng.uniform(low, high, shape), rng.integers(-9, 10, shape), rng.normal(0, 2, shape)]
    return [[np.asarray(value).astype(dtype)] for value in drawn]


def _pairs(first: Vectors, second: Vectors) -> Vectors:
    return [[*a, *b] for a, b in zip(first, second, strict=True)]


def _not_zero(vectors: Vectors, zero: int = 0) -> Vectors:
    other = zero + 1 if zero < 127 else zero - 1
    return [[np.where(value == zero, other, value).astype(value.dtype)] for (value,) in vectors]


def plain(kind: str, dtypes: tuple[str, ...], *, fused: bool = False, divides: bool = False) -> Draw:
    """Two inputs, the second one constant now and then."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = broadcast_shapes(rng)
        if kind == "PRELU":
            first = out
        number, dtype = len(writer.operators), str(rng.choice(dtypes))
        a, b = _numbers(rng, first, dtype), _numbers(rng, second, dtype)
        b = _not_zero(b) if divides else b
        constant = rng.random() < 0.3
        x = writer.tensor(f"x{number}", first, dtype)
        z = writer.tensor(f"z{number}", second, dtype, data=b[0][0] if constant else None)
        y = writer.tensor(f"y{number}", out, dtype)
        options = {"fused_activation_function": str(rng.choice(FUSED))} if fused else {}
        writer.op(kind, [x, z], [y], **options)
        text = f"{dtype} {first} {second} {options}"
        return Case([x], [y], a, text) if constant else Case([x, z], [y], _pairs(a, b), text)

    return draw


def quotient(kind: str) -> Draw:
    """DIV and FLOOR_DIV of int8. Where the factor is small, LiteRT shifts by more bits than there are."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = broadcast_shapes(rng)
        number = len(writer.operators)
        s1, s2, z2 = scale(rng), scale(rng), zero_point(rng)
        s_out = f32(s1 / s2 / 2 ** rng.uniform(6.1, 8))
        x = writer.tensor(f"x{number}", first, "int8", s1, zero_point(rng))
        z = writer.tensor(f"z{number}", second, "int8", s2, z2)
        y = writer.tensor(f"y{number}", out, "int8", s_out, zero_point(rng))
        options = {"fused_activation_function": str(rng.choice(FUSED))} if kind == "DIV" else {}
        writer.op(kind, [x, z], [y], **options)
        below = _not_zero(values(rng, second), z2 if kind == "DIV" else 0)
        return Case([x, z], [y], _pairs(values(rng, first), below), f"{first} {second} {s1} {s2} {s_out} {options}")

    return draw


def function(
    kind: str, *, low: float = -3, high: float = 1.5, positive: bool = False, ulps: int = 0, off: float = 0.0
) -> Draw:
    """A function of float32."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shape, number = small_shape(rng), len(writer.operators)
        x, y = writer.tensor(f"x{number}", shape, "float32"), writer.tensor(f"y{number}", shape, "float32")
        options: dict[str, Any] = {"alpha": f32(rng.choice([0.01, 0.2, -0.5, 1.5]))} if kind == "LEAKY_RELU" else {}
        options |= {"approximate": bool(rng.random() < 0.5)} if kind == "GELU" else {}
        writer.op(kind, [x], [y], **options)
        vectors = _numbers(rng, shape, "float32", low, high)
        if positive:
            vectors = [[np.abs(value) + np.float32(1e-3)] for (value,) in vectors]
        return Case([x], [y], vectors, f"{shape} {options}", ulps, off)

    return draw


def rows(kind: str, ulps: int, off: float = 0.0) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shape, number = (*small_shape(rng)[:3], int(rng.choice([1, 2, 10, 100]))), len(writer.operators)
        x, y = writer.tensor(f"x{number}", shape, "float32"), writer.tensor(f"y{number}", shape, "float32")
        writer.op(kind, [x], [y], **({"beta": f32(rng.choice([1.0, 1.0, 0.25, 3.7]))} if kind == "SOFTMAX" else {}))
        return Case([x], [y], _numbers(rng, shape, "float32", -3, 1), f"{shape}", ulps, off)

    return draw


def power(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Also negative ones to whole exponents, which LiteRT refuses of no float32."""
    first, second, out = broadcast_shapes(rng)
    number = len(writer.operators)
    x, z, y = (writer.tensor(f"{n}{number}", s, "float32") for n, s in (("x", first), ("z", second), ("y", out)))
    writer.op("POW", [x, z], [y])
    bases = [np.abs(v[0]) for v in _numbers(rng, first, "float32", -2, 2)]
    bases[2] = rng.integers(-5, 6, first).astype(np.float32)
    exponents = [*(rng.normal(0, 3, second) for _ in range(2)), rng.integers(0, 6, second)]
    vectors = [[a, np.asarray(b).astype(np.float32)] for a, b in zip(bases, exponents, strict=True)]
    return Case([x, z], [y], vectors, f"{first} {second}", 1)


def compare(kind: str) -> Draw:
    """Of all types; int8 of any two scales."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = broadcast_shapes(rng)
        number, dtype = len(writer.operators), str(rng.choice(["int8", "int32", "int64", "float32"]))
        scales = [(min(scale(rng), 0.9), zero_point(rng)) if dtype == "int8" else () for _ in range(2)]
        scales = [scales[0]] * 2 if rng.random() < 0.5 else scales
        x = writer.tensor(f"x{number}", first, dtype, *scales[0])
        z = writer.tensor(f"z{number}", second, dtype, *scales[1])
        y = writer.tensor(f"y{number}", out, "bool")
        writer.op(kind, [x, z], [y])
        a, b = _numbers(rng, first, dtype, -1, 0), _numbers(rng, second, dtype, -1, 0)
        return Case([x, z], [y], _pairs(a, b), f"{dtype} {first} {second} {scales}")

    return draw


def logical(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = broadcast_shapes(rng)
        number, single = len(writer.operators), kind == "LOGICAL_NOT"
        shapes = [out] if single else [first, second]
        ends = [writer.tensor(f"x{number}_{n}", shape, "bool") for n, shape in enumerate(shapes)]
        y = writer.tensor(f"y{number}", out, "bool")
        writer.op(kind, ends, [y])
        return Case(ends, [y], [[rng.random(shape) < 0.5 for shape in shapes] for _ in range(3)], f"{shapes}")

    return draw


def select(kind: str) -> Draw:
    """SELECT_V2 broadcasts all three; SELECT takes whole rows by a condition of one dimension."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        first, second, out = (shape[-5:] for shape in broadcast_shapes(rng))
        number, dtype = len(writer.operators), str(rng.choice(["int8", "int32", "float32"]))
        condition = tuple(size if rng.random() < 0.6 else 1 for size in out)
        if kind == "SELECT":
            first = second = out
            condition = out if rng.random() < 0.5 else out[:1]
        else:
            out = np.broadcast_shapes(condition, first, second)
        ends = (scale(rng), zero_point(rng)) if dtype == "int8" else ()
        c = writer.tensor(f"c{number}", condition, "bool")
        x, z, y = (writer.tensor(f"{n}{number}", s, dtype, *ends) for n, s in (("x", first), ("z", second), ("y", out)))
        writer.op(kind, [c, x, z], [y])
        given = _pairs(_numbers(rng, first, dtype), _numbers(rng, second, dtype))
        vectors = [[rng.random(condition) < 0.5, *pair] for pair in given]
        return Case([c, x, z], [y], vectors, f"{dtype} {condition} {first} {second}")

    return draw


def root(kind: str) -> Draw:
    """SQRT and RSQRT of int8; LiteRT refuses to compute those of negative values."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        number, s_in, z_in = len(writer.operators), f32(10 ** rng.uniform(-3, 0.3)), zero_point(rng)
        largest = (255 * s_in) ** 0.5 if kind == "SQRT" else s_in**-0.5
        s_out = f32(largest / 255 * rng.choice([1.0, 0.5, 0.25, 2 ** rng.uniform(-2, 2)]))
        x = writer.tensor(f"x{number}", (2, 128), "int8", s_in, z_in)
        y = writer.tensor(f"y{number}", (2, 128), "int8", s_out, zero_point(rng))
        writer.op(kind, [x], [y])
        every = np.arange(-128, 128).astype(np.int8).reshape(2, 128)
        vectors = [[np.maximum(value, np.int8(z_in))] for value in (every, *(v[0] for v in values(rng, (2, 128))[1:]))]
        return Case([x], [y], vectors, f"{s_in} {z_in} -> {s_out}")

    return draw


def reduction(kind: str, *dtypes: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        dtype = str(rng.choice(dtypes))
        rank, number = int(rng.integers(2, 7)), len(writer.operators)
        shape = tuple(int(d) for d in rng.integers(1, 5 if rank > 3 else 8, rank))
        most = 1 if kind == "REDUCE_PROD" else max(1, rank - 1)
        axes = [int(a) for a in rng.choice(rank, int(rng.integers(1, most + 1)), replace=False)]
        keep = bool(rng.random() < 0.5)
        out = tuple(1 if i in axes else d for i, d in enumerate(shape) if keep or i not in axes)
        count = int(np.prod([shape[a] for a in axes], dtype=np.int64))
        first: tuple[Any, ...] = ()
        second: tuple[Any, ...] = ()
        if dtype == "int8":
            first = second = (scale(rng), zero_point(rng))
            if kind == "SUM":
                second = (f32(first[0] * count**0.5 * 2 ** rng.uniform(-1, 2)), zero_point(rng))
            elif kind == "REDUCE_PROD":
                typical = (first[0] * 12) ** count / 40 * 2 ** rng.uniform(-2, 2)
                second = (f32(min(max(typical, 1e-20), 1e20)), zero_point(rng))
        x = writer.tensor(f"x{number}", shape, dtype, *first)
        given = [a - rank if rng.random() < 0.5 else a for a in axes]
        a = writer.tensor(f"a{number}", (len(axes),), "int32", data=np.array(given, np.int32))
        y = writer.tensor(f"y{number}", out, dtype, *second)
        writer.op(kind, [x, a], [y], keep_dims=keep)
        # Products of floats of all sizes would leave float32.
        high = 0.3 if kind == "REDUCE_PROD" else 3
        vectors = _numbers(rng, shape, dtype, -0.3 if kind == "REDUCE_PROD" and dtype == "float32" else -3, high)
        if (kind, dtype) == ("REDUCE_PROD", "int8"):  # beyond 32 bits LiteRT is undefined
            zero = first[1]
            vectors = [
                [np.clip(value, max(-128, zero - 20), min(127, zero + 20)).astype(np.int8)] for (value,) in vectors
            ]
        return Case([x], [y], vectors, f"{dtype} {shape} over {axes}, keep {keep}, {first} -> {second}")

    return draw


def batch_matmul(*dtypes: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        number, dtype = len(writer.operators), str(rng.choice(dtypes))
        rows, depth, columns = (int(d) for d in rng.integers(1, 12, 3))
        batches = tuple(int(d) for d in rng.integers(1, 4, int(rng.integers(0, 4))))
        sides = [tuple(d if rng.random() < 0.7 else 1 for d in batches) for _ in range(2)]
        if rng.random() < 0.3:
            sides[int(rng.integers(0, 2))] = ()
        adj_x, adj_y = (bool(rng.random() < 0.5) for _ in range(2))
        first = (*sides[0], *((depth, rows) if adj_x else (rows, depth)))
        second = (*sides[1], *((columns, depth) if adj_y else (depth, columns)))
        out = (*(int(d) for d in np.broadcast_shapes(*sides)), rows, columns)
        ends: list[tuple[Any, ...]] = [(), (), ()]
        if dtype == "int8":
            s1, s2 = scale(rng), scale(rng)
            spread = s1 * s2 * 6000 * depth**0.5 / 60 * float(rng.choice([1.0, 1.0, 0.1, 3.0]))
            ends = [(s, zero_point(rng)) for s in (s1, s2, f32(spread))]
        a, b = _numbers(rng, first, dtype, -2, 1), _numbers(rng, second, dtype, -2, 1)
        constant = rng.random() < 0.3
        x = writer.tensor(f"x{number}", first, dtype, *ends[0])
        w = (*ends[1], b[0][0]) if constant and ends[1] else ends[1]
        z = writer.tensor(f"z{number}", second, dtype, *w)
        y = writer.tensor(f"y{number}", out, dtype, *ends[2])
        writer.op("BATCH_MATMUL", [x, z], [y], adj_x=adj_x, adj_y=adj_y)
        text = f"{dtype} {first} {second} {adj_x} {adj_y} {ends}"
        return Case([x], [y], a, text) if len(w) > 2 else Case([x, z], [y], _pairs(a, b), text)

    return draw


def cast(rng: np.random.Generator, writer: ModelWriter, *, wide: bool = False) -> Case:
    shape, number = small_shape(rng), len(writer.operators)
    source, target = (
        str(d) for d in rng.choice(["int8", "uint8", "int32", "int64", "float32", *["bool"] * (not wide)], 2)
    )
    if wide:
        source, target = ("int16", target) if rng.random() < 0.5 else (source, "int16")
    x, y = writer.tensor(f"x{number}", shape, source), writer.tensor(f"y{number}", shape, target)
    writer.op("CAST", [x], [y])
    vectors = _numbers(rng, shape, source, -2, 8)
    if source == "float32":
        vectors[1] = [
            rng.choice([127.9, 255.9, -128.9, 3e9, -3e9, 1e20, -1e20, -0.5, *[32767.9, -32768.9] * wide], shape).astype(
                np.float32
            )
        ]
    return Case([x], [y], vectors, f"{source} -> {target} {shape}")


def gather_nd(rng: np.random.Generator, writer: ModelWriter) -> Case:
    number, dtype = len(writer.operators), str(rng.choice(["int8", "int32", "float32"]))
    shape = tuple(int(d) for d in rng.integers(1, 6, int(rng.integers(1, 5))))
    depth = int(rng.integers(1, len(shape) + 1))
    outer = tuple(int(d) for d in rng.integers(1, 5, int(rng.integers(0, 3))))
    indices = [rng.integers(0, shape[:depth], (*outer, depth)).astype(np.int32) for _ in range(3)]
    constant = rng.random() < 0.5
    quantized = (scale(rng), zero_point(rng)) if dtype == "int8" else ()
    x = writer.tensor(f"x{number}", shape, dtype, *quantized)
    i = writer.tensor(f"i{number}", (*outer, depth), "int32", data=indices[0] if constant else None)
    y = writer.tensor(f"y{number}", (*outer, *shape[depth:]), dtype, *quantized)
    writer.op("GATHER_ND", [x, i], [y])
    vectors, text = _numbers(rng, shape, dtype), f"{dtype} {shape} {outer} of {depth}"
    if constant:
        return Case([x], [y], vectors, text)
    return Case([x, i], [y], _pairs(vectors, [[index] for index in indices]), text)


def arg_max(kind: str) -> Draw:
    """Other types than int8 to int32."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        shape, number = small_shape(rng), len(writer.operators)
        dtype, wide = str(rng.choice(["int8", "int32", "float32"])), str(rng.choice(["int32", "int64"]))
        axis = int(rng.integers(0, len(shape)))
        quantized = (scale(rng), zero_point(rng)) if dtype == "int8" else ()
        x = writer.tensor(f"x{number}", shape, dtype, *quantized)
        a = writer.tensor(f"a{number}", (), str(rng.choice(["int32", "int64"])), data=np.array(axis))
        y = writer.tensor(f"y{number}", (*shape[:axis], *shape[axis + 1 :]), wide)
        writer.op(kind, [x, a], [y], output_type=wide)
        return Case([x], [y], _numbers(rng, shape, dtype), f"{dtype} to {wide} {shape} along {axis}")

    return draw


def variable(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """What was given the last time, or its sum with what came before; read before and after it is assigned."""
    shape, number, dtype = small_shape(rng), len(writer.operators), str(rng.choice(["int8", "int32", "float32"]))
    ends = (scale(rng), zero_point(rng)) if dtype == "int8" else ()
    if not writer.operators:
        writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
    name, first = f"v{number}", int(rng.integers(-128, 128)) if dtype == "int8" else 0
    x, old, new, y = (writer.tensor(f"{name}{letter}", shape, dtype, *ends) for letter in "xony")
    handle = writer.tensor(name, (), "resource")
    writer.op("VAR_HANDLE", [], [handle], container="", shared_name=name)
    writer.op("READ_VARIABLE", [handle], [old])
    early = bool(rng.random() < 0.5)
    if early:
        writer.op("ASSIGN_VARIABLE", [handle, x], [])
    writer.op("MAXIMUM", [x, old], [y])
    if not early:
        writer.op("ASSIGN_VARIABLE", [handle, y], [])
    writer.op("READ_VARIABLE", [handle], [new])
    once = writer.once()
    inner = once.tensor(name, (), "resource")
    value = once.tensor(f"{name}c", shape, dtype, *ends, data=np.full(shape, first))
    once.op("VAR_HANDLE", [], [inner], container="", shared_name=name)
    once.op("ASSIGN_VARIABLE", [inner, value], [])
    return Case([x], [y, new], _numbers(rng, shape, dtype), f"{dtype} {shape} {first} early {early}")


_PLAIN = ("float32", "int32")
_EACH = (*_PLAIN, "int8")

OPERATORS: dict[str, Draw] = {
    **{f"{kind} numbers": plain(kind, _PLAIN, fused=True) for kind in ("ADD", "SUB", "MUL")},
    **{f"{kind} numbers": plain(kind, _PLAIN) for kind in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")},
    "DIV numbers": plain("DIV", _PLAIN, fused=True, divides=True),
    "FLOOR_DIV numbers": plain("FLOOR_DIV", _PLAIN, divides=True),
    "PRELU numbers": plain("PRELU", ("float32",)),
    "DIV int8": quotient("DIV"),
    "FLOOR_DIV int8": quotient("FLOOR_DIV"),
    **{f"{kind} float32": function(kind, low=-3, high=6) for kind in ("ABS", "NEG", "SQUARE", "FLOOR", "HARD_SWISH")},
    **{f"{kind} float32": function(kind) for kind in ("RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "LEAKY_RELU")},
    **{f"{kind} float32": function(kind, low=-30, high=30, positive=True) for kind in ("SQRT", "RSQRT")},
    "EXP float32": function("EXP", ulps=1),
    "LOG float32": function("LOG", low=-3, high=30, positive=True, ulps=1),
    "TANH float32": function("TANH", ulps=3),
    "LOGISTIC float32": function("LOGISTIC", ulps=2),
    "SOFTMAX float32": rows("SOFTMAX", 4),
    "LOG_SOFTMAX float32": rows("LOG_SOFTMAX", 2, 1e-6),
    "L2_NORMALIZATION float32": rows("L2_NORMALIZATION", 0),
    **{f"{kind} float32": function(kind, low=-3, high=6) for kind in ("CEIL", "ROUND", "SIGN")},
    **{f"{kind} float32": function(kind, low=-3, high=4, ulps=1) for kind in ("SIN", "COS")},
    "ELU float32": function("ELU", ulps=1),
    "GELU float32": function("GELU", high=1, ulps=2, off=1e-6),
    "POW float32": power,
    "FLOOR_MOD numbers": plain("FLOOR_MOD", _PLAIN, divides=True),
    **{kind: compare(kind) for kind in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")},
    **{kind: logical(kind) for kind in ("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR")},
    **{kind: select(kind) for kind in ("SELECT", "SELECT_V2")},
    "SQRT int8": root("SQRT"),
    "RSQRT int8": root("RSQRT"),
    "MEAN float32": reduction("MEAN", "float32"),
    "SUM": reduction("SUM", *_PLAIN),
    **{kind: reduction(kind, *_EACH) for kind in ("REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD")},
    "BATCH_MATMUL": batch_matmul("int8", "int8", "float32"),
    "CAST": cast,
    "GATHER_ND": gather_nd,
    "ARG_MAX types": arg_max("ARG_MAX"),
    "ARG_MIN types": arg_max("ARG_MIN"),
    "READ_VARIABLE": variable,
    "ASSIGN_VARIABLE": variable,
}
"""What is compared; the first word is the operator's kind."""
UNSIGNED: dict[str, Draw] = {
    **{f"{kind} unsigned": reduction(kind, "int8") for kind in ("SUM", "REDUCE_MAX", "REDUCE_MIN")},
    "DIV unsigned": quotient("DIV"),
}
"""What LiteRT has for uint8. It reads the bytes of an int8 SUM as uint8 ones: only a uint8 graph is right."""
