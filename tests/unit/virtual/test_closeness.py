"""How close outputs must come to the golden vectors: bounds in text, metrics at their borders."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Network, Port
from neuralart_virtual.emulator import Difference
from neuralart_virtual.emulator.vectors import (
    DTYPES,
    Closeness,
    Vectors,
    VectorTensor,
    compare,
    cosine,
    parse,
    root_mean_square,
)

# ---- the text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("exact", Closeness()),
        ("max_lsb=1", Closeness(max_lsb=1)),
        ("max_lsb=0", Closeness(max_lsb=0)),
        ("max_lsb=2.0", Closeness(max_lsb=2)),
        ("cos=1", Closeness(cos=1.0)),
        ("cos=0.999, rmse=1e-3", Closeness(cos=0.999, rmse=0.001)),
        ("rmse=0,cos=0,max_lsb=255", Closeness(255, 0.0, 0.0)),
    ],
)
def test_bounds(text: str, wanted: Closeness) -> None:
    assert parse(text) == wanted
    assert parse(text).exact == (text == "exact")


WRONG = ["", "Exact", "exact,cos=1", "cos", "cos=", "=1", "cos=1.0001", "cos=-0.1", "cos=nan", "rmse=inf", "rmse=-1"]
WRONG += ["max_lsb=0.5", "max_lsb=-1", "max_lsb=nan", "max_lsb=inf", "max_lsb=1e31", "mse=1", "cos=1,", "cos=1;rmse=1"]
WRONG += ["cos=0.9,cos=0.8", "rmse=1e31", "rmse=0x10", "max_lsb=one"]


@pytest.mark.parametrize("text", WRONG)
def test_no_bounds(text: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        parse(text)
    said = str(caught.value)
    assert said.startswith("--check: ")
    assert "\n" not in said


def test_a_misspelled_metric_is_guessed() -> None:
    with pytest.raises(NeuralArtError, match="did you mean 'max_lsb'"):
        parse("max_lbs=1")


BOUNDS = st.builds(
    Closeness, st.none() | st.integers(0, 1 << 31), st.none() | st.floats(0, 1), st.none() | st.floats(0, 1e30)
)


@given(BOUNDS)
def test_bounds_reach_the_command_line_in_full(wanted: Closeness) -> None:
    """As a build writes them: repr of each number."""
    said = [(name, getattr(wanted, name)) for name in ("max_lsb", "cos", "rmse")]
    text = ",".join(f"{name}={value!r}" for name, value in said if value is not None)
    assert parse(text or "exact") == wanted


def test_what_is_shown() -> None:
    assert str(parse("exact")) == "bit-exact"
    assert str(parse("cos=0.9999999,max_lsb=1234567")) == "within max_lsb 1234567, cos 0.9999999"
    assert str(parse("rmse=1e-3,cos=1")) == "within cos 1, rmse 0.001"


# ---- the metrics

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
TENSORS = st.lists(NUMBERS, min_size=1, max_size=40)


@given(TENSORS)
def test_equal_tensors_are_as_close_as_can_be(values: list[float]) -> None:
    assert cosine(values, values) == 1.0
    assert root_mean_square(values, values) == 0.0


@given(TENSORS, st.sampled_from([0.5, 2.0, 1024.0]))
def test_the_cosine_does_not_see_the_length(values: list[float], factor: float) -> None:
    scaled = [value * factor for value in values]
    if all(value / factor == old for value, old in zip(scaled, values, strict=True)):
        assert cosine(values, scaled) == pytest.approx(1.0)
        assert cosine(values, [-value for value in scaled]) == pytest.approx(-1.0 if any(values) else 1.0)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=40))
def test_the_cosine_is_one_of_a_real_angle(pairs: list[tuple[float, float]]) -> None:
    one, other = (list(side) for side in zip(*pairs, strict=True))
    assert -1.0 - 1e-9 <= cosine(one, other) <= 1.0
    assert cosine(one, other) == pytest.approx(cosine(other, one))
    assert root_mean_square(one, other) == root_mean_square(other, one) >= 0


def test_known_values() -> None:
    assert cosine([1, 0], [0, 1]) == 0.0
    assert cosine([3, 4], [4, 3]) == pytest.approx(0.96)
    assert cosine([0, 0], [0, 0]) == 1.0
    assert cosine([0, 0], [0, 1]) == cosine([0, 1], [0, 0]) == 0.0
    assert root_mean_square([1, 2, 3, 4], [1, 2, 3, 2]) == 1.0
    assert root_mean_square([], []) == 0.0
    assert cosine([], []) == 1.0


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1e200, 1.7e308])
def test_numbers_whose_squares_are_none(size: float) -> None:
    assert cosine([size, size], [size, size]) == 1.0
    assert cosine([size, 0.0], [0.0, size]) == 0.0
    assert root_mean_square([size], [-size]) == 2 * size


# ---- tensors


def _vectors(dtype: str, golden: list[Any], count: int = 1) -> Vectors:
    size = struct.calcsize("<" + DTYPES[dtype])
    tensor = VectorTensor("scores", dtype, (1, len(golden)), len(golden) * size)
    data = struct.pack(f"<{len(golden)}{DTYPES[dtype]}", *golden)
    return Vectors("vectors", (), (tensor,), (b"",) * count, (data,) * count)


def _network(dtype: str, count: int, scale: float = 0.0, zero_point: int = 0) -> Network:
    return _network_of((Port("scores", "SRAM", 0, count, (1, count), dtype, scale, zero_point),))


def _network_of(outputs: tuple[Port, ...]) -> Network:
    return Network("net", "neuralart", (0, 1, 0, 0), "0" * 16, "", (), (), outputs, (), 0)


def close(dtype: str, golden: list[Any], got: list[Any], check: str, scale: float = 0.0, zero_point: int = 0) -> str:
    """What is wrong; empty: nothing."""
    data = struct.pack(f"<{len(got)}{DTYPES[dtype]}", *got)
    try:
        compare(_vectors(dtype, golden), 0, data, _network(dtype, len(golden), scale, zero_point), parse(check))
    except Difference as difference:
        return str(difference)
    return ""


def test_max_lsb_at_its_border() -> None:
    assert not close("int8", [1, -128, 5], [3, -126, 3], "max_lsb=2")
    said = close("int8", [1, -128, 5], [3, -125, 3], "max_lsb=2")
    assert said == "net: vector 0, output 'scores': differs by 3, allowed max_lsb 2"
    assert not close("int8", [127], [127], "max_lsb=0")
    assert close("int8", [127], [-128], "max_lsb=254")
    assert not close("int8", [127], [-128], "max_lsb=255")
    assert close("uint8", [255], [0], "max_lsb=254"), "it is not taken modulo 256"
    assert not close("int32", [1 << 30], [-(1 << 30)], f"max_lsb={1 << 31}")
    assert not close("bool", [True, False], [False, False], "max_lsb=1")
    assert close("bool", [True, False], [False, False], "max_lsb=0")


def test_cos_at_its_border() -> None:
    exactly = cosine([3.0, 4.0], [4.0, 3.0])
    assert not close("int8", [3, 4], [4, 3], f"cos={exactly!r}")
    said = close("int8", [3, 4], [4, 3], f"cos={math.nextafter(exactly, 1)!r}")
    assert "cos 0.96, allowed 0.9600000000000001 at least" in said
    assert not close("int8", [1, 2, 3], [1, 2, 3], "cos=1")
    assert not close("int8", [1, 2, 3], [2, 4, 6], "cos=0.999999")


def test_rmse_at_its_border() -> None:
    assert not close("int8", [0, 0, 0, 0], [2, 0, 0, 0], "rmse=1")
    assert "rmse 1.0, allowed 0.9999999" in close("int8", [0, 0, 0, 0], [2, 0, 0, 0], "rmse=0.9999999")
    assert not close("int8", [5], [5], "rmse=0")


def test_scale_and_zero_point_count_for_real_numbers_only() -> None:
    """The same integers are another angle and another distance."""
    assert close("int8", [10, 10], [12, 10], "rmse=1.4")
    assert not close("int8", [10, 10], [12, 10], "rmse=1.4", scale=0.5)
    assert close("int8", [10, 10], [12, 10], "rmse=1.4", scale=2.0)
    # (10, 0) and (0, 10) from zero point 0 are orthogonal; from zero point 20 they are nearly the same.
    assert close("int8", [10, 0], [0, 10], "cos=0.5")
    assert not close("int8", [10, 0], [0, 10], "cos=0.5", scale=0.1, zero_point=20)
    assert not close("int8", [10], [12], "max_lsb=2", scale=100.0)
    # All at the zero point: a vector of zeros.
    assert not close("int8", [7, 7], [7, 7], "cos=1", scale=0.1, zero_point=7)
    assert "cos 0.0" in close("int8", [7, 7], [8, 7], "cos=0.1", scale=0.1, zero_point=7)


def test_floats() -> None:
    assert not close("float32", [0.25, -1.5], [0.25, -1.25], "rmse=0.18,cos=0.99")
    assert close("float32", [0.25, -1.5], [0.25, -1.25], "rmse=0.17")
    assert not close("float16", [1.0, 2.0], [1.0, 2.0], "cos=1,rmse=0")
    assert not close("float64", [1e300, 1e300], [1e300, 1e300], "cos=1,rmse=0")
    assert "rmse" in close("float64", [1e300], [-1e300], "rmse=1e30")


@pytest.mark.parametrize("check", ["max_lsb=255", "cos=0", "rmse=1e30"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_never_close(bad: float, check: str) -> None:
    assert "values that are no numbers" in close("float32", [1.0, 2.0], [1.0, bad], check)
    assert "values that are no numbers" in close("float32", [1.0, bad], [1.0, bad], check)


def test_max_lsb_of_floats_is_a_mistake_of_the_project_file() -> None:
    with pytest.raises(NeuralArtError, match=r"output 'scores' is float32: max_lsb counts steps of integers \(cos or"):
        close("float32", [1.0], [1.0], "max_lsb=1")


def test_too_few_bytes() -> None:
    assert "vector 0: 2 bytes of outputs, expected 3" in close("int8", [1, 2, 3], [1, 2], "cos=0")


def test_every_output_keeps_the_bounds_alone() -> None:
    first = VectorTensor("first", "int8", (2,), 2)
    second = VectorTensor("second", "float32", (1,), 4)
    data = struct.pack("<2bf", 100, 100, 1.0)
    vectors = Vectors("vectors", (), (first, second), (b"", b""), (data, data))
    ports = tuple(Port(each.name, "SRAM", 0, each.bytes, each.shape, each.dtype, 0.0, 0) for each in (first, second))
    network = _network_of(ports)
    compare(vectors, 1, struct.pack("<2bf", 100, 101, 1.0), network, parse("rmse=0.8"))
    with pytest.raises(Difference, match=r"vector 1, output 'second': rmse 1\.0"):
        compare(vectors, 1, struct.pack("<2bf", 100, 101, 2.0), network, parse("rmse=0.8"))


@given(st.lists(st.tuples(st.integers(-128, 127), st.integers(-128, 127)), min_size=1, max_size=30))
def test_max_lsb_is_the_largest_step(pairs: list[tuple[int, int]]) -> None:
    golden, got = (list(side) for side in zip(*pairs, strict=True))
    worst = max(abs(a - b) for a, b in pairs)
    assert not close("int8", golden, got, f"max_lsb={worst}")
    if worst:
        assert f"differs by {worst}," in close("int8", golden, got, f"max_lsb={worst - 1}")


# ---- the command line


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--check", "cos=2"], "--check: '2' is no value of cos"),
        (["--check", "close"], "--check: 'close' is no bound"),
        (["--check", "exact", "--check", "exact"], "1 --network and 2 --check (give one each, or no --check)"),
    ],
)
def test_a_wrong_check_on_the_command_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], said: str
) -> None:
    fixed = ["--board", "stm32n6570-dk", "--elf", "x.elf", "--network", "network.json", "--vectors", str(tmp_path)]
    code = cli.main(["run", *fixed, *words])
    err = capsys.readouterr().err
    assert code == 1
    assert said in err
    assert err.count("\n") == 1
