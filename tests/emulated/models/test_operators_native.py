"""Every operator against LiteRT's reference kernels: random models through the whole compiler, run natively."""

from __future__ import annotations

import itertools
import os
import zlib
from pathlib import Path

import numpy as np
import pytest

import oracle
import vectors as golden
from neuralart.compilers.request import BorderOptions
from neuralart_reference.operators import registry
from support.cases import cases_numbers, cases_recurrent, cases_wide
from support.cases.operator_cases import OPERATORS, VECTORS, Case, Draw
from support.host_c import native
from support.host_c.native import compiled
from tflite_writer import ModelWriter

ROOT = Path(__file__).parents[3]
DIGITS = ROOT / "models" / "digits"
SEED = 20
ALL = OPERATORS | cases_wide.OPERATORS
LONG = bool(os.environ.get("NEURALART_TORTURE"))
NO_REFERENCE = ("CEIL", "ELU", "ROUND")  # LiteRT has no reference kernels of these
# Models, and operators side by side in each: 300 configurations per operator. A model is what costs.
MODELS, BRANCHES = 3, 100
FEW = 1, 30  # of what was compared in the long run, all of it, and is one table

pytestmark = [
    pytest.mark.hostcc,
    pytest.mark.long,
    pytest.mark.skipif(bool(native.unavailable()), reason=native.unavailable()),
]


def drawn(draw: Draw, *key: int, branches: int) -> tuple[ModelWriter, list[Case], bytes]:
    rng = np.random.default_rng([SEED, *key])
    writer = ModelWriter()
    cases = [draw(rng, writer) for _ in range(branches)]
    return writer, cases, writer.finish([i for c in cases for i in c.inputs], [o for c in cases for o in c.outputs])


def near(expected: np.ndarray, actual: np.ndarray, ulps: int, off: float) -> bool:
    """Of float32 values of one sign: at most so many steps apart, or such a part of 1 or of the largest one."""
    if expected.shape != actual.shape or expected.dtype != np.float32:
        return False
    if off and (np.abs(expected - actual) <= off * max(1.0, float(np.abs(expected).max()))).all():
        return True
    if not ulps:
        return False
    apart = np.abs(expected.view(np.int32).astype(np.int64) - actual.view(np.int32).astype(np.int64))
    return bool((apart <= ulps).all())


def differences(cases: list[Case], want: list[list[np.ndarray]], got: list[list[np.ndarray]], model: int) -> list[str]:
    owners = [case for case in cases for _ in case.outputs]
    found = []
    for vector in range(len(want)):
        for case, expected, actual in zip(owners, want[vector], got[vector], strict=True):
            if expected.tobytes() != actual.tobytes() and not near(expected, actual, case.ulps, case.off):
                wrong = np.flatnonzero(expected.ravel() != actual.ravel())
                at = int(wrong[0]) if len(wrong) else -1  # only the sign of a zero
                found.append(
                    f"model {model} vector {vector}: {case.text}: {len(wrong)} of {expected.size} differ, first [{at}] "
                    f"expected {expected.ravel()[at]} got {actual.ravel()[at]}"
                )
    return found


@pytest.mark.torture
@pytest.mark.parametrize("operator", ALL)
def test_bytes_are_those_of_litert(operator: str, tmp_path: Path) -> None:
    key = zlib.crc32(operator.encode())
    few = cases_numbers.OPERATORS | cases_recurrent.OPERATORS | cases_wide.OPERATORS
    count, branches = (MODELS, BRANCHES) if LONG or operator not in few else FEW
    models = [drawn(ALL[operator], key, number, branches=branches) for number in range(count)]
    folders = [compiled(tmp_path, f"case{number}", model) for number, (_, _, model) in enumerate(models)]
    networks = native.build(folders, tmp_path)
    found: list[str] = []
    varied = 0
    for number, ((_, cases, model), network) in enumerate(zip(models, networks, strict=True)):
        inferences = min(len(case.vectors) for case in cases)  # one after the other: states are carried on
        inputs = [[value for case in cases for value in case.vectors[v]] for v in range(inferences)]
        want = oracle.run(model, inputs, reference=operator.split()[0] not in NO_REFERENCE)
        varied += sum(len(np.unique(values)) > 1 for values in zip(*want, strict=True))
        found += differences(cases, want, network.run(inputs), number)
    assert not found, "\n".join(found[:5])
    # Constant outputs compare equal too easily: many must not be.
    assert varied > count * branches * 0.3, varied


def test_kernels_have_defined_behavior(tmp_path: Path) -> None:
    """Overflow, shifts and alignment, on buffers that are aligned as little as the interface allows."""
    # A variable comes with a second graph, which no model has beside other operators.
    alone = [name for name in OPERATORS if name.endswith("_VARIABLE")]
    models = {f"defined{name}": drawn(OPERATORS[name], n, branches=10) for n, name in enumerate(alone)}
    rest = [draw for name, draw in OPERATORS.items() if name not in alone]
    draws = itertools.cycle(rest)
    models |= {f"defined{n}": drawn(lambda *given: next(draws)(*given), n, branches=len(rest)) for n in range(10)}
    models["definedwide"] = drawn(cases_wide.in_turn, 16, branches=5 * len(cases_wide.OPERATORS))
    own = {"allocate_inputs": False, "allocate_outputs": False}
    folders = [compiled(tmp_path, name, model, described=True, **own) for name, (_, _, model) in models.items()]
    for network, (_, cases, _) in zip(native.build(folders, tmp_path, sanitize=True), models.values(), strict=True):
        network.run([[value for case in cases for value in case.vectors[v]] for v in range(VECTORS)])


def test_every_operator_is_compared() -> None:
    kinds = {name.split()[0] for name in OPERATORS}
    # The last ones are of ONNX models: test_onnx_native.py, test_onnx_float.py.
    # Custom ones: test_custom_native.py.
    of_onnx = {"ERF", "MOVE", "TABLE", "SEQUENCE_GRU", "SEQUENCE_LSTM", "SEQUENCE_RNN"}
    assert kinds | of_onnx == {kind for kind in registry() if not kind.startswith("CUSTOM:")}


def test_products_beyond_8_bits_saturate(tmp_path: Path) -> None:
    """Where LiteRT shifts by more bits than there are: 0 stays the zero point."""
    writer = ModelWriter()
    x, z = (writer.tensor(name, (3,), "int8", 1e30, 0) for name in "xz")
    y = writer.tensor("y", (3,), "int8", 1e-30, 7)
    writer.op("MUL", [x, z], [y])
    (network,) = native.build([compiled(tmp_path, "mul", writer.finish([x, z], [y]))], tmp_path, sanitize=True)
    ((values,),) = network.run([[np.array([1, 0, -128], np.int8), np.array([1, 5, 127], np.int8)]])
    assert values.tolist() == [127, 7, -128]


def without_bias(rng: np.random.Generator, writer: ModelWriter, *, bias: bool) -> Case:
    number, channels = len(writer.operators), int(rng.integers(1, 7))
    x = writer.tensor(f"x{number}", (1, 5, 4, 3), "int8", 0.02, 5)
    w = writer.tensor(f"w{number}", (channels, 2, 2, 3), "int8", 0.01, 0, rng.integers(-127, 128, (channels, 2, 2, 3)))
    inputs = [x, w]
    if bias:
        inputs.append(writer.tensor(f"b{number}", (channels,), "int32", 0.0002, 0, np.zeros(channels)))
    y = writer.tensor(f"y{number}", (1, 5, 4, channels), "int8", 0.05, -3)
    writer.op("CONV_2D", inputs, [y], padding="SAME")
    return Case([x], [y], [[rng.integers(-128, 128, (1, 5, 4, 3)).astype(np.int8)]])


def test_convolution_without_bias_adds_nothing(tmp_path: Path) -> None:
    """LiteRT asks for a bias, so the oracle gets one of zeros."""
    models, inputs = [], []
    for bias in (False, True):
        rng, writer = np.random.default_rng(SEED), ModelWriter()
        case = without_bias(rng, writer, bias=bias)
        inputs = case.vectors
        models.append(writer.finish(case.inputs, case.outputs))
    (network,) = native.build([compiled(tmp_path, "bare", models[0])], tmp_path)
    assert network.run(inputs)[0][0].tobytes() == oracle.run(models[1], inputs)[0][0].tobytes()


def small_network(inner: str) -> tuple[bytes, bytes]:
    """A model with two inputs in ``inner`` type, and the same with float32 ends made by QUANTIZE and DEQUANTIZE."""
    made = []
    for floats in (False, True):
        writer = ModelWriter()
        zero = 0 if inner == "int8" else 128
        ends = [
            writer.tensor("a", (1, 4, 4, 2), inner, 0.05, zero + 7),
            writer.tensor("b", (1, 4, 4, 2), inner, 0.03, zero - 20),
        ]
        inputs = [writer.tensor(f"f{n}", (1, 4, 4, 2), "float32") for n in range(2)] if floats else ends
        for source, target in zip(inputs, ends, strict=True):
            if floats:
                writer.op("QUANTIZE", [source], [target])
        if inner == "uint8":
            eights = [writer.tensor(f"e{n}", (1, 4, 4, 2), "int8", 0.04, n) for n in range(2)]
            for source, target in zip(ends, eights, strict=True):
                writer.op("QUANTIZE", [source], [target])
        else:
            eights = ends
        total = writer.tensor("sum", (1, 4, 4, 2), "int8", 0.06, -9)
        writer.op("ADD", eights, [total])
        last = writer.tensor("out", (1, 32), "int8", 0.06, -9)
        writer.op("RESHAPE", [total, writer.tensor("shape", (2,), "int32", data=np.array([1, 32]))], [last])
        if inner == "uint8":
            out = writer.tensor("out8", (1, 32), "uint8", 0.06, 119)
            writer.op("QUANTIZE", [last], [out])
            last = out
        if floats:
            out = writer.tensor("real", (1, 32), "float32")
            writer.op("DEQUANTIZE", [last], [out])
            last = out
        made.append(writer.finish(inputs, [last]))
    return made[0], made[1]


@pytest.mark.parametrize("inner", ["int8", "uint8"])
def test_border_types(inner: str, tmp_path: Path) -> None:
    """The application's types at the border change the representation, never the result."""
    plain, floats = small_network(inner)
    other = "uint8" if inner == "int8" else "int8"
    choices = {
        "same": BorderOptions(input_dtypes=(inner,)),
        "other": BorderOptions(input_dtypes=(other,), output_dtypes=(other,)),
        "real": BorderOptions(input_dtypes=("float32",), output_dtypes=("float32",)),
        "mixed": BorderOptions(input_dtypes=(inner, other), output_dtypes=("float32",), inputs_ch_position=("chlast",)),
    }
    folders = [compiled(tmp_path, name, plain, border=border) for name, border in choices.items()]
    folders += [
        compiled(tmp_path, f"own_{name}", plain, border=border, allocate_inputs=False, allocate_outputs=False)
        for name, border in choices.items()
    ]
    networks = dict(zip([*choices, *(f"own_{c}" for c in choices)], native.build(folders, tmp_path), strict=True))
    rng = np.random.default_rng(SEED)
    inputs = [[rng.integers(0, 256, (1, 4, 4, 2)).astype(np.uint8).view(inner) for _ in range(2)] for _ in range(4)]
    flipped = [[(value.view(np.uint8) ^ 0x80).view(other) for value in vector] for vector in inputs]
    want = oracle.run(plain, inputs)
    reals = [[rng.uniform(-9, 9, (1, 4, 4, 2)).astype(np.float32) for _ in range(2)] for _ in range(4)]
    want_reals = oracle.run(floats, reals)
    zero = 119 if inner == "uint8" else -9
    for prefix in ("", "own_"):
        assert networks[prefix + "same"].run(inputs)[3][0].tobytes() == want[3][0].tobytes()
        for vector in range(4):
            got = networks[prefix + "other"].run(flipped)[vector][0]
            assert got.dtype == other
            assert (got.view(np.uint8) ^ 0x80).tobytes() == want[vector][0].tobytes()
            got = networks[prefix + "real"].run(reals)[vector][0]
            assert got.tobytes() == want_reals[vector][0].tobytes()
            mixed = [[a, b] for (a, _), (_, b) in zip(inputs, flipped, strict=True)]
            got = networks[prefix + "mixed"].run(mixed)[vector][0]
            assert got.tobytes() == (np.float32(0.06) * (want[vector][0].astype(np.float32) - zero)).tobytes()


def test_digits_golden_vectors(tmp_path: Path) -> None:
    inputs, outputs, _ = golden.read(DIGITS / "vectors")
    (network,) = native.build([compiled(tmp_path, "digits", (DIGITS / "digits.tflite").read_bytes())], tmp_path)
    for _ in range(2):
        got = network.run(inputs)
        assert [[o.tobytes() for o in one] for one in got] == [[o.tobytes() for o in one] for one in outputs]


@pytest.mark.parametrize("depth", [511, 512, 1000, 4095])
def test_softmax_over_many_equal_values(depth: int, tmp_path: Path) -> None:
    """Beyond what LiteRT computes (it aborts): each probability is 1 / depth, rounded, and nothing is undefined."""
    writer = ModelWriter()
    x = writer.tensor("x", (1, depth), "int8", 0.1, 0)
    y = writer.tensor("y", (1, depth), "int8", 1 / 256, -128)
    writer.op("SOFTMAX", [x], [y], beta=1.0)
    folder = compiled(tmp_path, "many", writer.finish([x], [y]))
    (network,) = native.build([folder], tmp_path, sanitize=True)
    ((flat,),) = network.run([[np.full((1, depth), 7, np.int8)]])
    assert set(flat.ravel().tolist()) == {-127 if depth < 512 else -128}
    peak = np.full((1, depth), -128, np.int8)
    peak[0, 3] = 127
    ((peaked,),) = network.run([[peak]])
    assert peaked[0, 3] == 127 and set(np.delete(peaked, 3).tolist()) == {-128}
