"""Random one-operator graphs with a state, several inferences each: SVDF and LSTM in integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from support.cases.operator_draws import (
    Case,
    Draw,
    bias_values,
    f32,
    output_scale,
    scale,
    values,
    weight_values,
    zero_point,
)
from tflite_writer import ModelWriter

INFERENCES = 8


def _inputs(rng: np.random.Generator, shape: tuple[int, ...]) -> list[list[np.ndarray]]:
    """Whole range, extremes only and narrow bands, again and again."""
    return [vector for _ in range(INFERENCES) for vector in values(rng, shape)][:INFERENCES]


def svdf(rng: np.random.Generator, writer: ModelWriter) -> Case:
    batch, inputs, units = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 20)), int(rng.integers(1, 8))
    rank, memory, n = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 4, 7, 10])), len(writer.operators)
    filters = units * rank
    s_x, s_w, s_t = scale(rng), scale(rng, -4, -0.5), scale(rng, -6, -3)
    # States spread over 16 bits, or leave them now and then.
    s_state = f32(s_x * s_w * 6000 * inputs**0.5 / 8000 * 2 ** rng.uniform(-3, 3))
    spread = 8000 * 15000 * (memory * rank) ** 0.5
    s_y, z_y = output_scale(rng, s_state * s_t * spread), -128 if rng.random() < 0.5 else zero_point(rng)
    x = writer.tensor(f"x{n}", (batch, inputs), "int8", s_x, zero_point(rng))
    w = writer.tensor(f"w{n}", (filters, inputs), "int8", s_w, 0, weight_values(rng, (filters, inputs)))
    time = rng.integers(-32768, 32768, (filters, memory))
    t = writer.tensor(f"t{n}", (filters, memory), "int16", s_t, 0, time)
    b = -1
    if rng.random() < 0.7:
        b = writer.tensor(f"b{n}", (units,), "int32", f32(s_state * s_t), 0, bias_values(rng, units, spread))
    state = writer.tensor(f"s{n}", (batch, memory * filters), "int16", s_state, 0, variable=True)
    y = writer.tensor(f"y{n}", (batch, units), "int8", s_y, z_y)
    writer.op("SVDF", [x, w, t, b, state], [y], rank=rank, fused_activation_function="RELU")
    text = f"{batch}x{inputs} units {units} rank {rank} memory {memory} bias {b >= 0} {z_y}"
    return Case([x], [y], _inputs(rng, (batch, inputs)), text)


def lstm(*kinds: str) -> Draw:
    """An LSTM with some of: peephole, projection, norm, cifg."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        batch, steps, inputs = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 6)), int(rng.integers(1, 16))
        cells, n, time_major = int(rng.integers(1, 14)), len(writer.operators), bool(rng.random() < 0.5)
        outputs = int(rng.integers(1, 10)) if "projection" in kinds and "peephole" not in kinds else cells
        s_x, s_last = scale(rng), f32(2 ** rng.uniform(-8, -6))
        s_hidden = s_last if "projection" not in kinds else f32(2 ** rng.uniform(-8, -6))
        exponent = int(rng.choice([-15, -14, -13, -12, -11, -11, -10, -9]))
        sums = [f32(2 ** rng.uniform(-13, -9)) for _ in range(4)] if "norm" in kinds else [2.0**-12] * 4

        def tensor(role: str, shape: Sequence[int], dtype: str, size: float, data: np.ndarray | None) -> int:
            return writer.tensor(f"{role}{n}", shape, dtype, f32(size), 0, data)

        given = [-1] * 24
        for gate in range(1 if "cifg" in kinds else 0, 4):  # input, forget, cell, output
            wanted = sums[gate] * 2 ** rng.uniform(-2, 1.5)
            for at, width, outer in ((1, inputs, s_x), (5, outputs, s_last)):
                data = weight_values(rng, (cells, width))
                given[at + gate] = tensor(f"w{at + gate}_", (cells, width), "int8", wanted / width**0.5 / outer, data)
            bias = bias_values(rng, cells, 3000) if "norm" not in kinds else rng.integers(-(2**19), 2**19, cells)
            given[12 + gate] = tensor(f"b{gate}_", (cells,), "int32", s_x * wanted, bias)
            if "peephole" in kinds and gate != 2:
                data = rng.integers(-32768, 32768, cells)
                at, size = 9 + gate - (gate == 3), sums[gate] / 2.0**exponent / 30000 * 2 ** rng.uniform(-2, 1)
                given[at] = tensor(f"p{gate}_", (cells,), "int16", size, data)
            if "norm" in kinds:
                data = rng.integers(-1500, 1500, cells)
                given[20 + gate] = tensor(f"n{gate}_", (cells,), "int16", 2 ** rng.uniform(-11, -8), data)
        if "projection" in kinds:
            size = s_last / s_hidden / 100 / cells**0.5 * 2 ** rng.uniform(-1, 1)
            given[16] = tensor("j", (outputs, cells), "int8", size, weight_values(rng, (outputs, cells)))
            if rng.random() < 0.6:
                given[17] = tensor("k", (outputs,), "int32", size * s_hidden, bias_values(rng, outputs, 6000))
        z_last = zero_point(rng)
        given[18] = writer.tensor(f"h{n}", (batch, outputs), "int8", s_last, z_last, variable=True)
        given[19] = writer.tensor(f"c{n}", (batch, cells), "int16", 2.0**exponent, 0, variable=True)
        leading = (steps, batch) if time_major else (batch, steps)
        x = given[0] = writer.tensor(f"x{n}", (*leading, inputs), "int8", s_x, zero_point(rng))
        y = writer.tensor(f"y{n}", (*leading, outputs), "int8", s_last, z_last)
        # LiteRT looks at no zero point but that of the last, which counts with and without a projection.
        inner = [writer.tensor(f"i{gate}_{n}", (), "int16", sums[gate], 900 * gate - 7) for gate in range(4)]
        z_hidden = z_last if "projection" not in kinds and cells % 2 else zero_point(rng)
        inner.append(writer.tensor(f"i4_{n}", (), "int8", s_hidden, z_hidden))
        clips = {
            "cell_clip": float(rng.choice([0, 0, 2.0**exponent * 9000])),
            "proj_clip": float(rng.choice([0, 0, f32(s_last * 60)])),
        }
        writer.op(
            "UNIDIRECTIONAL_SEQUENCE_LSTM",
            given if "norm" in kinds or rng.random() < 0.5 else given[:20],
            [y],
            intermediates=inner,
            time_major=time_major,
            fused_activation_function="TANH",
            **clips,
        )
        text = f"{kinds} {steps}x{batch}x{inputs} cells {cells} outputs {outputs} 2^{exponent} {time_major} {clips}"
        return Case([x], [y], _inputs(rng, (*leading, inputs)), text)

    return draw


def any_lstm(rng: np.random.Generator, writer: ModelWriter) -> Case:
    """Any of the 16 forms, the plain one most often."""
    return lstm(*(kind for kind in ("cifg", "peephole", "projection", "norm") if rng.random() < 0.35))(rng, writer)


def _floats(rng: np.random.Generator, shape: tuple[int, ...]) -> list[list[np.ndarray]]:
    return [[rng.normal(0, 2, shape).astype(np.float32)] for _ in range(INFERENCES)]


class _Reals:
    """Tensors of float32."""

    def __init__(self, rng: np.random.Generator, writer: ModelWriter) -> None:
        self.rng, self.writer, self.number = rng, writer, len(writer.operators)

    def constant(self, role: str, *shape: int) -> int:
        data = self.rng.normal(0, shape[-1] ** -0.5, shape).astype(np.float32)
        return self.writer.tensor(f"{role}{self.number}", shape, "float32", data=data)

    def tensor(self, role: str, *shape: int, state: bool = False) -> int:
        return self.writer.tensor(f"{role}{self.number}", shape, "float32", variable=state)


def svdf_f32(rng: np.random.Generator, writer: ModelWriter) -> Case:
    batch, inputs, units = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 20)), int(rng.integers(1, 8))
    rank, memory, build = int(rng.choice([1, 1, 2, 3])), int(rng.choice([1, 2, 4, 7, 10])), _Reals(rng, writer)
    filters, fused = units * rank, str(rng.choice(["NONE", "RELU", "RELU6"]))
    x, y = build.tensor("x", batch, inputs), build.tensor("y", batch, units)
    given = [x, build.constant("w", filters, inputs), build.constant("t", filters, memory)]
    given += [build.constant("b", units) if rng.random() < 0.7 else -1]
    given += [build.tensor("s", batch, memory * filters, state=True)]
    writer.op("SVDF", given, [y], rank=rank, fused_activation_function=fused)
    text = f"{batch}x{inputs} units {units} rank {rank} memory {memory} {fused}"
    return Case([x], [y], _floats(rng, (batch, inputs)), text, off=1e-6)


def _sizes(rng: np.random.Generator, kind: str) -> tuple[int, tuple[int, ...], int, bool]:
    """Batch, dimensions of the input but for the last, inputs, and whether time is the first one."""
    batch, steps, inputs = int(rng.choice([1, 1, 2, 3])), int(rng.integers(1, 6)), int(rng.integers(1, 16))
    time_major = bool(rng.random() < 0.5) and kind.startswith("UNI")
    if not kind.startswith("UNI"):
        return batch, (batch,), inputs, False
    return batch, (steps, batch) if time_major else (batch, steps), inputs, time_major


def rnn_f32(kind: str) -> Draw:
    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        (batch, leading, inputs, time_major), build = _sizes(rng, kind), _Reals(rng, writer)
        units, fused = int(rng.integers(1, 12)), str(rng.choice(["NONE", "RELU", "TANH"]))
        x, y = build.tensor("x", *leading, inputs), build.tensor("y", *leading, units)
        given = [x, build.constant("w", units, inputs), build.constant("r", units, units), build.constant("b", units)]
        options = {"time_major": time_major} if kind.startswith("UNI") else {}
        state = build.tensor("s", batch, units, state=True)
        writer.op(kind, [*given, state], [y], fused_activation_function=fused, **options)
        return Case([x], [y], _floats(rng, (*leading, inputs)), f"{leading} {inputs} {units} {fused}", off=1e-6)

    return draw


def lstm_f32(kind: str) -> Draw:
    """Any of the 16 forms."""

    def draw(rng: np.random.Generator, writer: ModelWriter) -> Case:
        kinds = [form for form in ("cifg", "peephole", "projection", "norm") if rng.random() < 0.35]
        (batch, leading, inputs, time_major), build = _sizes(rng, kind), _Reals(rng, writer)
        cells = int(rng.integers(1, 14))
        outputs = int(rng.integers(1, 10)) if "projection" in kinds else cells
        given = [-1] * 24
        for gate in range(1 if "cifg" in kinds else 0, 4):  # input, forget, cell, output
            given[1 + gate] = build.constant(f"w{gate}_", cells, inputs)
            given[5 + gate] = build.constant(f"r{gate}_", cells, outputs)
            given[12 + gate] = build.constant(f"b{gate}_", cells)
            if "peephole" in kinds and gate != 2:
                given[9 + gate - (gate == 3)] = build.constant(f"p{gate}_", cells)
            if "norm" in kinds:
                given[20 + gate] = build.constant(f"n{gate}_", cells)
        if "projection" in kinds:
            given[16] = build.constant("j", outputs, cells)
            given[17] = build.constant("k", outputs) if rng.random() < 0.6 else -1
        given[18], given[19] = (build.tensor(n, batch, s, state=True) for n, s in (("h", outputs), ("c", cells)))
        x, y = build.tensor("x", *leading, inputs), build.tensor("y", *leading, outputs)
        given[0] = x
        options: dict[str, float | bool] = {
            "cell_clip": f32(rng.choice([0, 0, 0.3])),
            "proj_clip": f32(rng.choice([0, 0.2])),
        }
        options |= {"time_major": time_major} if kind.startswith("UNI") else {}
        ends = given if "norm" in kinds or rng.random() < 0.5 else given[:20]
        writer.op(kind, ends, [y], fused_activation_function="TANH", **options)
        text = f"{kinds} {leading} {inputs} cells {cells} outputs {outputs} {options}"
        # A gate of few cells normalizes differences of its sums that are nothing but their last digits.
        return Case([x], [y], _floats(rng, (*leading, inputs)), text, off=1e-4 if "norm" in kinds else 2e-6)

    return draw


OPERATORS: dict[str, Draw] = {
    "SVDF": svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": any_lstm,
    "SVDF float32": svdf_f32,
    **{f"{kind} float32": rnn_f32(kind) for kind in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN")},
    **{f"{kind} float32": lstm_f32(kind) for kind in ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")},
}
