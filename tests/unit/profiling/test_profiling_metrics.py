"""Metrics of a validation, by the vendor's definitions."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart_virtual.validation.figures import compare_outputs

VALUES = st.floats(-1e3, 1e3, allow_nan=False)


def test_each_figure_of_a_small_example_by_hand() -> None:
    found = compare_outputs([[1.0, 2.0], [3.0, 4.0]], [[1.0, 1.0], [5.0, 4.0]], classifier=True)
    # Errors: 0, 1, -2, 0.
    assert found.acc == 0.0
    assert found.rmse == pytest.approx(math.sqrt(5 / 4))
    assert found.mae == pytest.approx(3 / 4)
    assert found.mean == pytest.approx(-1 / 4)
    assert found.std == pytest.approx(math.sqrt((5 - 4 / 16) / 3))
    assert found.l2r == pytest.approx(math.sqrt(5) / math.sqrt(1 + 1 + 25 + 16))
    assert found.nse == pytest.approx(1 - (5 / 4) / (5 / 3))
    assert found.cos == pytest.approx((1 + 2 + 15 + 16) / (math.sqrt(30) * math.sqrt(43)))


def test_the_first_of_equal_scores_is_the_class() -> None:
    assert compare_outputs([[1.0, 1.0], [0.0, 2.0]], [[2.0, 2.0], [2.0, 0.0]], classifier=True).acc == 0.5


@given(st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=5))
def test_equal_outputs_have_no_error(rows: list[list[float]]) -> None:
    found = compare_outputs(rows, rows, classifier=True)
    assert (found.acc, found.rmse, found.mae, found.l2r, found.mean, found.std, found.nse) == (1.0, 0, 0, 0, 0, 0, 1)


@given(st.lists(VALUES, min_size=2, max_size=6), st.floats(-10, 10), st.integers(1, 4))
def test_an_offset_is_the_mean_and_no_deviation(row: list[float], offset: float, samples: int) -> None:
    found = compare_outputs([row] * samples, [[value - offset for value in row]] * samples)
    assert found.mean == pytest.approx(offset, abs=1e-9) and found.std == pytest.approx(0, abs=1e-6)
    assert found.rmse == pytest.approx(abs(offset), abs=1e-9) and found.acc is None


@pytest.mark.parametrize(
    ("reference", "predicted"), [([], []), ([[]], [[]]), ([[1.0]], [[1.0, 2.0]]), ([[1.0]], []), ([[1.0]], [[1.0]] * 2)]
)
def test_what_cannot_be_compared_is_refused(reference: list[list[float]], predicted: list[list[float]]) -> None:
    with pytest.raises(NeuralArtError):
        compare_outputs(reference, predicted)


def _rows(path: Path) -> list[list[float]]:
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return [[float(cell) for cell in line.split(",")] for line in lines]


@pytest.mark.real
def test_figures_of_a_published_validation() -> None:
    place = os.environ.get("NEURALART_REAL_DATA")
    found = sorted(Path(place).rglob("Conv2d_1x1/network_val_m_outputs_1.csv")) if place else []
    if not found:
        pytest.skip("no network_val_m_outputs_1.csv in NEURALART_REAL_DATA")
    folder = found[0].parent
    report = (folder / "network_validate_report.txt").read_text("utf-8", "replace")
    said = re.search(r"c_outputs_1:.*scale=([0-9.e-]+) zp=(-?\d+)", report)
    assert said is not None
    scale, zero = float(said[1]), int(said[2])
    real = [
        [[scale * (value - zero) for value in row] for row in _rows(folder / f"network_val_{which}_outputs_1.csv")]
        for which in ("m", "c")
    ]
    told = json.loads((folder / "network_c_info.json").read_text())["validation"]["val_metrics"][0]
    ours = compare_outputs(real[0], real[1])
    for key in ("rmse", "mae", "l2r", "mean", "std", "nse", "cos"):
        assert getattr(ours, key) == pytest.approx(told[key], rel=2e-5), key
