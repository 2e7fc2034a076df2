"""Units of the virtual NPU against a second formulation in plain integers: drawn settings, drawn data."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.state import NpuState
from neuralart_virtual.npu.units.activation import ActivationUnit
from neuralart_virtual.npu.units.arithmetic import Arithmetic, EntryCounters
from neuralart_virtual.npu.units.convolution import FEATURES, KERNELS, SUMS, Convolution
from neuralart_virtual.npu.units.pooling import Pooling
from neuralart_virtual.npu.units.rounding import EVEN, TIES, UP, Ties, low_bytes, output, shift_right
from support.npu import npu_build as build
from support.npu import npu_plain as plain

DRAWS = range(40)


class Given:
    """Inputs of a unit: a stream for each port."""

    def __init__(self, **streams: np.ndarray[Any, Any]) -> None:
        self.streams = {{"f": FEATURES, "k": KERNELS, "s": SUMS}[name]: data for name, data in streams.items()}
        self.at = dict.fromkeys(self.streams, 0)
        self.products = 0

    def take(self, port: int, count: int) -> np.ndarray[Any, Any]:
        start = self.at[port]
        self.at[port] += count
        found = self.streams[port][start : start + count]
        assert len(found) == count, "the unit took more than it has to"
        return found

    def spend(self, outputs: int, products: int) -> None:
        self.products += products


# ---- rounding ----


@pytest.mark.parametrize("ties", [*TIES, None])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_shifts_round_as_exact_fractions_do(ties: str | None, kind: Any) -> None:
    rng = random.Random(f"{ties}")
    for shift in range(0, 21):
        values = [0, 1, -1, 2, -2, 3, -3, 5, -5, 7, -7]
        values += [side * ((n << shift) + d) for n in (0, 1, 2, 3) for d in (0, (1 << shift) // 2) for side in (1, -1)]
        values += [rng.randrange(-(1 << 28), 1 << 28) for _ in range(40)]
        found = shift_right(np.array(values, kind), shift, ties)
        assert [int(v) for v in found] == [plain.rounded(v, shift, ties) for v in values]


def test_a_shift_below_zero_goes_left() -> None:
    assert shift_right(np.array([3, -3], np.int64), -2, UP).tolist() == [12, -12]


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="no tie rule 'down'; there are: away, up, even"):
        shift_right(np.array([1], np.int64), 1, "down")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_bytes_and_saturation(size: int) -> None:
    rng = random.Random(size)
    values = [rng.randrange(-(1 << 30), 1 << 30) for _ in range(200)] + [0, -1, 127, 128, -128, -129, 32767, 32768]
    data = np.array(values, np.int64)
    assert low_bytes(data, size).tolist() == [plain.signed(v, size) for v in values]
    assert low_bytes(data, size, signed=False).tolist() == [plain.unsigned(v, size) for v in values]
    for saturate in (False, True):
        for relu in (False, True):
            found = output(data, size, saturate=saturate, relu=relu).tolist()
            assert found == [plain.stored(v, size, saturate, relu) for v in values]


def test_each_stage_has_its_rule() -> None:
    ties = Ties(UP, {"average": EVEN})
    assert (ties.of("convolution"), ties.of("average")) == (UP, EVEN)


# ---- convolution ----


def _draw_convolution(rng: random.Random) -> dict[str, Any]:
    height, width, depth = rng.randint(1, 6), rng.randint(1, 6), rng.choice((1, 2, 3, 5))
    top, left = rng.randrange(height), rng.randrange(width)
    bottom, right = rng.randrange(top, height), rng.randrange(left, width)
    pads = [rng.randint(0, 3) for _ in range(4)]
    return {
        **{"height": height, "width": width, "depth": depth, "crop": (top, bottom, left, right), "pads": pads},
        "kernel_height": rng.randint(1, min(3, bottom - top + 1 + pads[0] + pads[1])),
        "kernel_width": rng.randint(1, min(3, right - left + 1 + pads[2] + pads[3])),
        **{"count": rng.randint(1, 4), "strides": (rng.randint(1, 3), rng.randint(1, 3))},
        **{"shift": rng.randint(0, 6), "ties": rng.choice(TIES), "size": rng.choice((2, 3)), "saturate": True},
        **{"relu": rng.random() < 0.3, "zero": rng.choice((0, 0, -128, 77)), "fill": rng.choice((0, 0, -9))},
        "sum_shift": rng.randint(0, 4),
    }


def _convolution(state: NpuState, given: dict[str, Any], **ctrl: int) -> Convolution:
    depth, pads = given["depth"], given["pads"]
    near = [min(pad, 2) for pad in pads]
    top, bottom, left, right = given["crop"]
    unit = build.convolution(
        state,
        KFORMAT={
            **{"WIDTH": given["kernel_width"], "HEIGHT": given["kernel_height"]},
            **{"BTCDEPTH": depth, "NR": given["count"]},
        },
        SAMPLE={
            **{"TPAD": near[0], "BPAD": near[1], "LPAD": near[2], "RPAD": near[3]},
            **{"VSTRD": given["strides"][0], "HSTRD": given["strides"][1]},
        },
        ZFRAME={
            **{"TOP": pads[0] - near[0], "BOTTOM": pads[1] - near[1]},
            **{"LEFT": (pads[2] - near[2]) * depth, "RIGHT": (pads[3] - near[3]) * depth},
        },
        FFORMAT={"WIDTH": given["width"] * depth, "HEIGHT": given["height"]},
        FHCROP={"LEFT": left * depth, "RIGHT": right * depth + depth - 1},
        FVCROP={"TOP": top, "BOTTOM": bottom},
        DFORMAT={
            **{"OUTSHIFT": given["shift"], "ORNDMODE": 1 | given["relu"] << 1, "OBYTES": given["size"]},
            "INSHIFT": given["sum_shift"],
        },
        FSUB={"FSUB": given["zero"]},
        ZFBIAS={"ZFBIAS": given["fill"]},
        CTRL=ctrl,
    )
    return Convolution(unit, Ties(given["ties"]))


@pytest.mark.parametrize("seed", DRAWS)
def test_convolution(seed: int) -> None:
    rng = random.Random(seed)
    given = _draw_convolution(rng)
    elements = given["height"] * given["width"] * given["depth"]
    taps = given["kernel_height"] * given["kernel_width"] * given["depth"] * given["count"]
    wide, without_sign = rng.random() < 0.3, rng.random() < 0.4
    low, high = (0, 256) if without_sign and not wide else (-256, 256) if wide else (-128, 128)
    features = [rng.randrange(low, high) for _ in range(elements)]
    # Some kernels have many zeros, or are zero off the diagonal: each has a way of its own.
    kernels = [rng.randrange(-128, 128) * (rng.random() < rng.choice((0.2, 1.0))) for _ in range(taps)]
    state = NpuState()
    partial = None
    streams = {"f": np.array(features, np.int16 if wide else np.uint8 if without_sign else np.int8)}
    streams["k"] = np.array(kernels, np.int8)
    outputs = len(plain.convolution(features, kernels, given, None))
    if rng.random() < 0.4:
        partial = [rng.randrange(-(1 << 20), 1 << 20) for _ in range(outputs)]
        streams["s"] = np.array(partial, np.int32)
    ctrl = {"NOSUM": int(partial is None), "NO1SUM": 0, "FUNSIGNED": int(without_sign and not wide)}
    unit = _convolution(state, given, **ctrl, SIMD=2 if wide else 1)
    if wide:
        unit._unit.set("DFORMAT", FBYTES=2)
        unit = Convolution(unit._unit, Ties(given["ties"]))
    inputs = Given(**streams)
    found = unit.run(0, inputs)
    assert found.tolist() == plain.convolution(features, kernels, given, partial)
    assert inputs.products == outputs * taps // given["count"]


@pytest.mark.parametrize("size", [1, 2])
def test_sums_without_sign_are_clipped_without_sign(size: int) -> None:
    """Features and kernels without sign: a copy with a border keeps 128 to 255."""
    features, kernels = list(range(0, 256)), [1, 200]
    unit = build.convolution(NpuState(), CTRL={"FUNSIGNED": 1, "KUNSIGNED": 1}, KFORMAT={"NR": 2})
    unit.set("DFORMAT", OBYTES=size)
    unit.set("FFORMAT", WIDTH=16, HEIGHT=16)
    unit.set("FHCROP", RIGHT=15)
    unit.set("FVCROP", BOTTOM=15)
    inputs = Given(f=np.array(features, np.uint8), k=np.array(kernels, np.uint8))
    found = low_bytes(Convolution(unit, Ties()).run(0, inputs), size, signed=False).tolist()
    assert found == [min(f * k, 256**size - 1) for f in features for k in kernels]


@pytest.mark.parametrize("seed", range(12))
def test_depthwise_as_dense_kernels(seed: int) -> None:
    """Zero off the diagonal: the fast way, with the same sums; and one tap beside it, which is none."""
    rng = random.Random(seed)
    given = {**_draw_convolution(rng), "depth": 4, "count": 4}
    given["crop"] = (0, given["height"] - 1, 0, given["width"] - 1)
    given["pads"] = [1, 1, 1, 1]
    features = [rng.randrange(-128, 128) for _ in range(given["height"] * given["width"] * 4)]
    per = given["kernel_height"] * given["kernel_width"]
    kernels = [rng.randrange(-128, 128) if c == k else 0 for k in range(4) for _ in range(per) for c in range(4)]
    if seed % 3 == 0:
        kernels[1] = 5
    unit = _convolution(NpuState(), given)
    inputs = Given(f=np.array(features, np.int8), k=np.array(kernels, np.int8))
    assert unit.run(0, inputs).tolist() == plain.convolution(features, kernels, given, None)


def test_sums_that_single_precision_does_not_hold() -> None:
    """2**24 + 1 and more: exact all the same, up to the width of the result."""
    given = {**_draw_convolution(random.Random(1)), "height": 1, "width": 1, "depth": 255, "crop": (0, 0, 0, 0)}
    given |= {"pads": [0] * 4, "kernel_height": 1, "kernel_width": 1, "count": 1, "strides": (1, 1), "zero": 0}
    given |= {"shift": 0, "size": 3, "relu": False, "fill": 0, "ties": UP}
    features = [32767] * 254 + [1]
    kernels = [1] * 254 + [127]
    unit = _convolution(NpuState(), given, SIMD=2)
    unit._unit.set("DFORMAT", FBYTES=2)
    unit = Convolution(unit._unit, Ties(UP))
    found = unit.run(0, Given(f=np.array(features, np.int16), k=np.array(kernels, np.int8)))
    assert found.tolist() == [254 * 32767 + 127] == plain.convolution(features, kernels, given, None)


def _small(depth: int, count: int, **more: Any) -> dict[str, Any]:
    given = {**_draw_convolution(random.Random(3)), "height": 2, "width": 2, "depth": depth, "count": count}
    given |= {"crop": (0, 1, 0, 1), "pads": [0] * 4, "kernel_height": 1, "kernel_width": 1, "strides": (1, 1)}
    return given | {"zero": 0, "fill": 0, "shift": 0, "size": 2, "relu": False, "ties": UP, "sum_shift": 0} | more


def test_kernels_that_two_accelerators_share() -> None:
    """KFILT: all kernels of the stream arrive, each unit takes its own."""
    given = _small(2, 2)
    features, kernels = list(range(8)), list(range(1, 13))
    unit = _convolution(NpuState(), given)
    unit._unit.set("KFILT", TOT=6, FIRST=2, LAST=3)
    unit = Convolution(unit._unit, Ties(UP))
    inputs = Given(f=np.array(features, np.int8), k=np.array(kernels, np.int8))
    assert unit.run(0, inputs).tolist() == plain.convolution(features, kernels[4:8], given, None)
    assert inputs.at[KERNELS] == 12


def test_features_that_stay() -> None:
    """FSTAT: a frame of features serves FSTATCNT frames, each with other kernels."""
    given = _small(2, 1)
    features, kernels = list(range(16)), [1, 2, 3, 4, 5, 6, 7, 8]
    unit = _convolution(NpuState(), given, FSTAT=1)
    unit._unit.set("SAMPLE", FSTATCNT=2)
    unit = Convolution(unit._unit, Ties(UP))
    inputs = Given(f=np.array(features, np.int8), k=np.array(kernels, np.int8))
    for n in range(4):
        frame = features[8 * (n // 2) : 8 * (n // 2) + 8]
        expected = plain.convolution(frame, kernels[2 * n : 2 * n + 2], given, None)
        assert unit.run(n, inputs).tolist() == expected
    assert inputs.at[FEATURES] == 16


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6, 7])
@pytest.mark.parametrize("flat", [True, False])
def test_deep_mode(depth: int, flat: bool) -> None:
    """Three channels ride in a word of 24 bits; kernels in groups of 8, channel by channel, in whole words."""
    rng = random.Random(depth)
    count = 11
    given = _small(depth, count)
    features = [rng.randrange(-128, 128) for _ in range(4 * depth)]
    kernels = [[rng.randrange(-128, 128) for _ in range(depth)] for _ in range(count)]
    stream = [kernels[k][c] for start in (0, 8) for c in range(depth) for k in range(start, min(start + 8, count))]
    rows = [features] if flat else [features[i : i + depth] for i in range(0, len(features), depth)]
    unit = _convolution(NpuState(), given, DEEPMODE=1)
    unit._unit.set("DFORMAT", FBYTES=3 if flat else 1)
    unit = Convolution(unit._unit, Ties(UP))
    inputs = Given(f=_words(rows, 3), k=_words([stream], 3))
    expected = plain.convolution(features, [v for kernel in kernels for v in kernel], given, None)
    assert unit.run(0, inputs).tolist() == expected
    assert inputs.at == {port: len(data) for port, data in inputs.streams.items()}


def _words(rows: list[list[int]], size: int) -> np.ndarray[Any, Any]:
    """Bytes of rows as little-endian words; each row begins with a new word."""
    words = []
    for row in rows:
        padded = row + [0] * (-len(row) % size)
        words += [sum((padded[i + j] & 255) << 8 * j for j in range(size)) for i in range(0, len(padded), size)]
    return np.array(words, np.int32)


def test_two_channels_in_a_word() -> None:
    """DSS2: the same as one channel after the other."""
    given = _small(4, 2)
    features, kernels = list(range(-8, 8)), list(range(8))
    inputs = Given(f=_words([features], 2), k=np.array(kernels, np.int8))
    found = _convolution(NpuState(), given, DSS2MODE=1).run(0, inputs)
    assert found.tolist() == plain.convolution(features, kernels, given, None)


@pytest.mark.parametrize(
    ("ctrl", "afilt", "taken"),
    [
        # Which frames of partial sums are added: all; all but the first one, which does not come; those of a filter.
        ({"NO1SUM": 0}, {}, [0, 1, 2, 3, 4, 5]),
        ({"NO1SUM": 1}, {}, [None, 0, 1, 2, 3, 4]),
        ({"NO1SUM": 0, "GEN1SUM": 1}, {}, [None, 0, 1, 2, 3, 4]),
        ({"NO1SUM": 1, "AFILTMODE": 3}, {"TOT": 3, "FIRST": 1, "LAST": 1}, [None, 1, None, None, 4, None]),
        ({"NO1SUM": 0, "GEN1SUM": 1, "AFILTMODE": 3}, {"TOT": 2, "FIRST": 1, "LAST": 1}, [None, 0, None, 2, None, 4]),
    ],
)
def test_partial_sums(ctrl: dict[str, int], afilt: dict[str, int], taken: list[int | None]) -> None:
    given = _small(1, 1, sum_shift=2)
    unit = _convolution(NpuState(), given, NOSUM=0, **ctrl)
    unit._unit.set("AFILT", **afilt)
    unit = Convolution(unit._unit, Ties(UP))
    sums = [100 * frame + place for frame in range(6) for place in range(4)]
    inputs = Given(f=np.arange(24, dtype=np.int8), k=np.ones(6, np.int8), s=np.array(sums, np.int16))
    for n, frame in enumerate(taken):
        part = [0] * 4 if frame is None else sums[4 * frame : 4 * frame + 4]
        expected = plain.convolution(list(range(4 * n, 4 * n + 4)), [1], given, part)
        assert unit.run(n, inputs).tolist() == expected


# ---- arithmetic ----


def _counted(rng: random.Random, nested: bool) -> tuple[dict[str, dict[str, int]], list[int | None], list[int]]:
    """Registers of drawn counters, and the same as limits and steps: INCCNT, RSTCNT1 to 3."""
    if nested:
        depth, pixels, groups = rng.randint(1, 5), rng.randint(1, 6), rng.randint(1, 4)
        limits: list[int | None] = [0, depth - 1, depth * pixels - 1, depth * pixels * groups - 1]
        steps = [1, -(depth - 1), 1, -(depth * groups - 1)]
    else:
        limits = [rng.randint(0, 4)] + [rng.choice((None, rng.randint(0, 17))) for _ in range(3)]
        steps = [rng.randint(-3, 5) for _ in range(4)]
    numbers = {f"RSTCNT{i}": {"RSTCNT": limits[i] or 0} for i in (1, 2, 3)}
    registers = {
        "CTRL": {f"CNT{i}": int(limits[i] is not None) for i in (1, 2, 3)},
        **{"INCCNT": {"INCVAL": limits[0] or 0}, "INCOFFSET": {"VAL": steps[0]}},
        **{"ADDROFFSET": {f"OFFSET{i}": steps[i] for i in (1, 2, 3)}, "COEFFADDR": {"ADDR": rng.randrange(512)}},
        **numbers,
    }
    return registers, limits, steps


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("nested", [True, False])
def test_counters_of_entries(seed: int, nested: bool) -> None:
    """Any position, in any order of frames, and the short cut for rows."""
    rng = random.Random(seed)
    registers, limits, steps = _counted(rng, nested)
    state = NpuState()
    counters = EntryCounters(build.arithmetic(state, **registers))
    simulated = plain.Counters(registers["COEFFADDR"]["ADDR"], limits, steps)
    expected = []
    for _ in range(400):
        expected.append(simulated.entry)
        simulated.advance()
    assert [counters.entry(p) for p in range(400)] == expected
    at = 0
    while at < 300:
        count = rng.randint(1, 60)
        assert counters.entries(at, count).tolist() == expected[at : at + count]
        row = counters.row(at, count)
        if row is not None:
            assert row.tolist() * (count // len(row)) == expected[at : at + count]
        at += count


def test_rows_of_channels_take_the_short_cut() -> None:
    """The usual case is not walked element by element."""
    limits = {"RSTCNT1": {"RSTCNT": 3}, "RSTCNT2": {"RSTCNT": 23}, "RSTCNT3": {"RSTCNT": 47}}
    more = {"INCOFFSET": {"VAL": 1}, "ADDROFFSET": {"OFFSET1": -3, "OFFSET2": 1, "OFFSET3": -7}}
    unit = build.arithmetic(NpuState(), CTRL={"CNT1": 1, "CNT2": 1, "CNT3": 1}, **limits, **more)
    counters = EntryCounters(unit)
    assert [None if r is None else r.tolist() for r in (counters.row(0, 24), counters.row(24, 24))] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
    ]
    assert counters.row(12, 24) is None and counters.row(1, 8) is None


@pytest.mark.parametrize("seed", DRAWS)
def test_affine(seed: int) -> None:
    """Two frames of drawn settings: scalars and vectors, one and two inputs, 16 and 32 bits of a constant."""
    rng = random.Random(seed)
    vector, dual, combined = (rng.random() < 0.5 for _ in range(3))
    registers, limits, steps = _counted(rng, rng.random() < 0.7)
    out, relu, saturate, rounds = rng.choice((1, 2)), rng.random() < 0.2, rng.random() < 0.7, rng.random() < 0.8
    shifts = {
        "AX": rng.choice((0, 0, 3)),
        "BY": rng.choice((0, 2)),
        "C": rng.choice((0, 0, 4)),
        "RES": rng.randint(0, 20),
    }
    size, ties = rng.choice((1, 2)), rng.choice(TIES)
    clip = sorted(rng.randrange(-300, 300) for _ in range(2)) if rng.random() < 0.3 else None
    ctrl = {
        **registers["CTRL"],
        **{"COEFFA": vector, "COEFFB": vector, "COEFFC": vector, "DUALIN": dual, "COMBINEBC": combined},
        **{"OBYTES": out, "SAT": saturate, "ROUND": rounds, "ORNDMODE": 1 | relu << 1, "CLIPOUT": clip is not None},
    }
    state = NpuState()
    scalars = {name: rng.randrange(-32768, 32768) for name in "ABC"}
    fields = {**registers, "CTRL": {k: int(v) for k, v in ctrl.items()}, "SHIFT": shifts}
    fields |= {"COEFFAC": {"A": scalars["A"], "C": scalars["C"]}, "COEFFB": {"B": scalars["B"]}}
    fields |= {"INSHIFTER": {"FBYTESX": size, "FBYTESY": size}}
    if clip is not None:
        fields["CLIPRANGE"] = {"CLIPMIN": clip[0], "CLIPMAX": clip[1]}
    unit = build.arithmetic(state, **fields)
    memory = [[rng.randrange(-32768, 32768) for _ in range(512)] for _ in range(3)]
    for entry, (a, b, c) in enumerate(zip(*memory, strict=True)):
        unit.coefficients[2 * entry] = (a & 0xFFFF) | (b & 0xFFFF) << 16
        unit.coefficients[2 * entry + 1] = c & 0xFFFF
    counters = plain.Counters(registers["COEFFADDR"]["ADDR"], limits, steps)
    tested = Arithmetic(unit, Ties(ties))
    top = 1 << (8 * size - 1)
    for _ in range(2):
        count = rng.randint(1, 50)
        x, y = ([rng.randrange(-top, top) for _ in range(count)] for _ in range(2))
        kind = np.int8 if size == 1 else np.int16
        found = tested.run(np.array(x, kind), np.array(y, kind) if dual else None)
        expected = []
        for first, second in zip(x, y, strict=True):
            a, b, c = (m[counters.entry] for m in memory) if vector else (scalars[n] for n in "ABC")
            if vector:
                counters.advance()
            if combined:
                b, c = 0, plain.signed((b & 0xFFFF) << 16 | c & 0xFFFF, 4)
            value = plain.affine(first, second if dual else 0, a, b, c, shifts)
            value = plain.rounded(value, shifts["RES"], ties if rounds else None)
            if clip is not None:
                value = min(max(max(value, 0) if relu else value, clip[0]), clip[1])
            expected.append(plain.stored(value, out, saturate, relu))
        assert found.tolist() == expected


@pytest.mark.parametrize(
    ("operation", "function"), [(7, lambda x, y: x * y), (1, min), (2, max)], ids=["product", "minimum", "maximum"]
)
def test_two_inputs(operation: int, function: Any) -> None:
    unit = build.arithmetic(NpuState(), CTRL={"OP": operation, "DUALIN": 1, "OBYTES": 2}, SHIFT={"RES": 1})
    rng = random.Random(operation)
    x, y = ([rng.randrange(-128, 128) for _ in range(99)] for _ in range(2))
    found = Arithmetic(unit, Ties()).run(np.array(x, np.int8), np.array(y, np.int8))
    assert found.tolist() == [plain.rounded(function(a, b), 1, "away") for a, b in zip(x, y, strict=True)]


def test_input_shifters() -> None:
    """x / 4 rounded and clipped to a byte, y * 2 as it is."""
    shifter = {"FBYTESX": 2, "FSHIFTX": 18, "FROUNDX": 1, "FSATX": 1, "FRNDMODEX": 1, "FOBYTESX": 1}
    shifter |= {"FBYTESY": 2, "FSHIFTY": 15}
    fields = {"CTRL": {"DUALIN": 1, "OBYTES": 2}, "COEFFB": {"B": 1}, "INSHIFTER": shifter}
    unit = build.arithmetic(NpuState(), **fields)
    x, y = [-1000, -6, -2, 2, 3, 600], [1, -1, 5, 7, -9, 0]
    found = Arithmetic(unit, Ties()).run(np.array(x, np.int16), np.array(y, np.int16))
    narrowed = [plain.stored(plain.rounded(v, 2, "away"), 1, True) for v in x]
    assert found.tolist() == [a + 2 * b for a, b in zip(narrowed, y, strict=True)]


# ---- activation ----


@pytest.mark.parametrize("seed", range(20))
def test_function_by_segments(seed: int) -> None:
    rng = random.Random(seed)
    width, out, rounds = rng.randint(1, 5), rng.choice((1, 2)), rng.random() < 0.8
    given = {"normal": rng.randint(0, 8), "width": width, "b": rng.randint(0, 8), "c": rng.randint(0, 12)}
    shift, zero, ties = rng.randint(0, 20), rng.choice((0, 5, -128)), rng.choice(TIES)
    fields = {
        "CTRL": {"TYPE": 3, "FBYTES": 1, "ROUND": int(rounds), "SAT": 1, "OBYTES": out, "ORNDMODE": 1},
        "FUNC": {"OUTSHIFT": shift, "CSHIFT": given["c"], "BSHIFT": given["b"], "BWIDTH": width},
        **{"ACTIVPARAM": {"FUNC": given["normal"]}, "FSUB": {"FSUB": zero}},
    }
    unit = build.setup(NpuState(), "ACTIV", **fields)
    outer = [rng.randrange(4) << 6 | rng.randrange(40) for _ in range(32)]
    inner = [tuple(rng.randrange(-32768, 32768) for _ in range(3)) for _ in range(128)]
    unit.coefficients[:32] = outer
    for i, (a, b, c) in enumerate(inner):
        unit.coefficients[32 + 2 * i] = (a & 0xFFFF) | (b & 0xFFFF) << 16
        unit.coefficients[33 + 2 * i] = c & 0xFFFF
    x = list(range(-128, 128))
    found = ActivationUnit(unit, Ties(ties)).run(np.array(x, np.int8))
    expected = [plain.activation(v - zero, outer, [t for t in inner if len(t) == 3], given) for v in x]  # type: ignore[misc]
    rule = ties if rounds else None
    assert found.tolist() == [plain.stored(plain.rounded(v, shift, rule), out, True) for v in expected]


# ---- pooling ----


def _pool(rng: random.Random, kind: int) -> tuple[dict[str, dict[str, int]], dict[str, Any]]:
    height, width, depth = rng.randint(2, 7), rng.randint(2, 7), rng.randint(1, 4)
    window = (rng.randint(1, 3), rng.randint(1, 3))
    strides, pads = (rng.randint(1, 3), rng.randint(1, 3)), [rng.randint(0, window[i // 2] - 1) for i in range(4)]
    out = [
        max((size + pads[2 * i] + pads[2 * i + 1] - window[i]) // strides[i] + 1, 0)
        for i, size in enumerate((height, width))
    ]
    fields = {
        "CTRL": {"TYPE": kind, "FBYTES": 1, "CROPEN": 0, "ROUND": 1, "SAT": 1, "OUTSHIFT": 9},
        "RNDCTRL": {"OBYTES": 1, "ORNDMODE": 1},
        "PDIMS": {
            **{"WINX": window[1], "WINY": window[0], "STRDX": strides[1], "STRDY": strides[0], "BSIZE": depth},
            **{"TPAD": pads[0], "BPAD": pads[1], "LPAD": pads[2], "RPAD": pads[3]},
        },
        **{"FDIMS": {"FEATX": width * depth, "FEATY": height}, "OUTDIMS": {"FEATX": out[1], "FEATY": out[0]}},
        "MULVAL": {"MULVAL": 113},
    }
    shape = (height, width, depth)
    return fields, {"shape": shape, "window": window, "strides": strides, "pads": tuple(pads), "out": tuple(out)}


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("kind", [0, 1, 2], ids=["maximum", "minimum", "average"])
def test_windows(seed: int, kind: int) -> None:
    rng = random.Random(seed)
    fields, given = _pool(rng, kind)
    if 0 in given["out"]:
        pytest.skip("no window fits")
    frame = [rng.randrange(-128, 128) for _ in range(np.prod(given["shape"]))]
    found = Pooling(build.setup(NpuState(), "POOL", **fields), Ties()).run(np.array(frame, np.int8))
    reduce: Any = (max, min, lambda inside: plain.stored(plain.rounded(sum(inside) * 113, 9, "away"), 1, True))[kind]
    assert found.tolist() == plain.windows(frame, **given, reduce=reduce, fill=0 if kind == 2 else None)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("kind", [8, 9, 10])
def test_whole_frames(kind: int, ties: str) -> None:
    rng = random.Random(kind)
    fields, given = _pool(rng, kind)
    height, width, depth = given["shape"]
    fields["CTRL"] |= {"CROPEN": 1, "OUTSHIFT": 3}
    fields |= {"XCROP": {"LCROP": depth, "RCROP": width * depth - 1}, "YCROP": {"TCROP": 1, "BCROP": height - 1}}
    fields["MULVAL"] = {"MULVAL": 4}
    frame = [rng.randrange(-128, 128) for _ in range(height * width * depth)]
    found = Pooling(build.setup(NpuState(), "POOL", **fields), Ties(ties)).run(np.array(frame, np.int8))
    kept = [
        [frame[(y * width + x) * depth + c] for y in range(1, height) for x in range(1, width)] for c in range(depth)
    ]
    average = [plain.stored(plain.rounded(sum(values) * 4, 3, ties), 1, True) for values in kept]
    assert found.tolist() == {8: [max(v) for v in kept], 9: [min(v) for v in kept], 10: average}[kind]


@pytest.mark.parametrize("width", [6, 7])
def test_an_outer_table_that_is_too_large(width: int) -> None:
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, build.RAM, 16)
    build.engine(state, 1, build.RAM + 0x8000, 16, write=True)
    unit = build.setup(state, "ACTIV", CTRL={"TYPE": 3, "FBYTES": 1, "OBYTES": 1}, FUNC={"BWIDTH": width})
    state.link(("ACTIV", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ACTIV", 0), 1, 0))
    assert unit.enabled
    with pytest.raises(NpuError, match=rf"ACTIV0 FUNC \(0x00c\) BWIDTH = {width}: the outer table has 32 entries"):
        build.run(state, memory)
