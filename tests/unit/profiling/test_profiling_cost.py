"""Estimated instructions of software epochs: which epochs get one, and what is said of its error."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from neuralart.cli import main
from neuralart.resources import firmware_dir
from neuralart.vendor.c_info.types import InfoBuffer, InfoNode
from neuralart_insight.profiling.cost import cost_model, instructions_of, terms_of

REPO = Path(__file__).resolve().parents[3]
BUFFERS = {1: InfoBuffer(1, "y", 0, 0, 64, bits=8), 2: InfoBuffer(2, "z", 0, 0, 64, bits=32)}
DOCS = REPO / "docs" / "reference" / "profile.md"


def node(*functions: str, mapping: str = "NODE_SW", macc: int = 1000, outputs: tuple[int, ...] = (1,)) -> InfoNode:
    return InfoNode(7, "epoch_7", 7, mapping, macc=macc, outputs=outputs, functions=functions)


def test_terms():
    assert terms_of(node("na_conv2d_s8", outputs=(1, 2, 99)), BUFFERS) == ("na_conv2d_s8", (1000, 64 + 16, 1))


def test_an_epoch_of_a_known_kernel_has_an_estimate():
    product, output, call = cost_model().kernels["na_max_pool_s8"]
    assert product and call
    expected = round(1000 * product + 64 * output + call)
    assert instructions_of(node("na_max_pool_s8"), BUFFERS) == expected


@pytest.mark.parametrize(
    "other",
    [
        node("na_conv2d_s8", mapping="NODE_HW"),
        node("na_conv2d_s8", mapping="NODE_SW_HW"),
        node("na_conv2d_s8", mapping="NODE_EC"),
        node("na_conv2d_s8", mapping="NODE_NO_X"),
        node("LL_ATON_LIB_Softmax"),
        node("na_conv2d_s8", "na_table_s8"),
        node("na_mean_s8"),  # seen in one network only
        node(),
        node("na_conv2d_s8", macc=10**400),
    ],
)
def test_other_epochs_have_none(other):
    assert instructions_of(other, BUFFERS) is None


def test_the_file_is_of_kernels_that_exist_and_as_documented():
    model, code, docs = cost_model(), "", DOCS.read_text("utf-8")
    for path in sorted((firmware_dir() / "runtime").rglob("*.h")):
        code += path.read_text("utf-8")
    for kernel, factors in model.kernels.items():
        assert f"{kernel}(" in code
        assert min(factors) >= 0 < max(factors)
        (row,) = (line for line in docs.splitlines() if line.startswith(f"| `{kernel}` |"))
        assert tuple(map(float, row.strip(" |").split("|")[3:])) == factors
    assert 0 < model.error < 1 and 0 < model.epoch_error < 1
    assert f"{model.core}; no cycles" in docs
    assert f"by up to {100 * model.error:.0f} %, nine of ten epochs by up to {100 * model.epoch_error:.0f} %" in docs


def test_the_profile_of_a_compile_shows_it(tmp_path, capsys):
    """What is printed as an example in the documentation."""
    digits, pools = (
        REPO / "models/digits/digits.tflite",
        REPO / "site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool",
    )
    words = [
        "compile",
        "-m",
        str(digits),
        "--target",
        "stm32n6",
        "--mpool",
        str(pools),
        "-o",
        str(tmp_path),
        "-n",
        "digits",
    ]
    assert main(words) == 0
    capsys.readouterr()
    assert main(["profile", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    docs = DOCS.read_text("utf-8")
    for start in ("  instructions : ", "  their error  : "):
        (line,) = (line for line in shown.splitlines() if line.startswith(start))
        assert f"\n{line}\n" in docs
    assert main(["profile", str(tmp_path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    counted = [epoch["estimated_instructions"] for epoch in record["epochs"]]
    assert record["totals"]["estimated_instructions"] == sum(counted) == 622_637
    assert record["cost_model"]["models"] == ["detector", "digits", "heatmap", "mobilenet"]
    # Counted by --on virtual. The model was fitted on this network too, so it is no further off than the error says.
    assert abs(sum(counted) / 691_345 - 1) < record["cost_model"]["error"]


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(REPO / "benchmarks"))
    pytest.importorskip("numpy")
    import cost_model as script

    yield script
    sys.modules.pop("cost_model", None)


def test_the_fit_finds_what_made_the_samples(benchmark):
    def sample(macc: int, outputs: int, instructions: float):
        return benchmark.Sample("m", 0, "na_x", (macc, outputs, 1), round(instructions))

    sizes = [(1000, 10), (2000, 50), (30000, 70), (500, 500)]
    found = benchmark.line_of([sample(p, o, 3 * p + 90 * o + 200) for p, o in sizes])
    assert found == pytest.approx((3, 90, 200), rel=1e-3)
    # One size tells of one factor only.
    assert benchmark.line_of([sample(1000, 10, 5000)] * 2) == pytest.approx((5, 0, 0))
    # More outputs for fewer instructions: no factor becomes negative.
    assert min(benchmark.line_of([sample(1000, 9, 9000), sample(1000, 99, 8000), sample(1000, 500, 7000)])) >= 0


def test_a_model_left_out_is_estimated_by_the_others(benchmark):
    def sample(model: str, kernel: str, macc: int, instructions: int):
        return benchmark.Sample(model, 0, kernel, (macc, 0, 1), instructions)

    samples = [sample("a", "na_x", 1000, 2000), sample("b", "na_x", 1000, 4000), sample("b", "na_y", 10, 10)]
    found = benchmark.left_out(samples, "b")
    assert (found.epochs, found.known, found.error, found.epoch_errors) == (2, 1, -0.5, (-0.5,))
