"""How far outputs are from a reference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError

# Keeps a quotient finite where the divisor is zero.
EPSILON = 2.220446049250313e-16


@dataclass(frozen=True)
class OutputMetrics:
    """How far predicted outputs are from reference outputs over all samples, as the vendor's ``validate`` defines it.

    Outputs are real numbers: an int8 output is dequantized by its scale and zero point first. The divisors are those of
    the vendor, found out from eight published runs: the standard deviation has n - 1 below the line, L2r divides by the
    norm of the prediction, and NSE compares with the variance of the reference (n - 1).
    """

    acc: float | None  # Share of samples with the same class, 0 to 1; None: no classifier
    rmse: float  # Root of the mean squared error
    mae: float  # Mean absolute error
    l2r: float  # Norm of the error over the norm of the prediction
    mean: float  # Mean of the error (reference minus prediction)
    std: float  # Its standard deviation, n - 1
    nse: float  # Nash-Sutcliffe efficiency: 1 is perfect
    cos: float  # Cosine similarity: 1 is the same direction


def compare_outputs(
    reference: Sequence[Sequence[float]], predicted: Sequence[Sequence[float]], classifier: bool = False
) -> OutputMetrics:
    """Compare one output, a row for each sample (scores of a classifier). NeuralArtError: the shapes differ."""
    if not reference or not all(reference):
        raise NeuralArtError("there is nothing to compare: no samples, or no values", hint="give at least one sample")
    if [len(row) for row in reference] != [len(row) for row in predicted]:
        what = f"{len(reference)} reference samples of {len(reference[0])} values, "
        what += f"{len(predicted)} predicted ones of {len(predicted[0]) if predicted else 0}"
        raise NeuralArtError(what, hint="both must be the same output of the same samples")
    right = [value for row in reference for value in row]
    found = [value for row in predicted for value in row]
    errors = [one - other for one, other in zip(right, found, strict=True)]
    squares = math.fsum(error * error for error in errors)
    count = len(errors)
    norm_right = math.sqrt(math.fsum(value * value for value in right))
    norm_found = math.sqrt(math.fsum(value * value for value in found))
    product = math.fsum(one * other for one, other in zip(right, found, strict=True))
    mean_square = squares / count
    same = sum(best_class(one) == best_class(other) for one, other in zip(reference, predicted, strict=True))
    return OutputMetrics(
        acc=same / len(reference) if classifier else None,
        rmse=math.sqrt(mean_square),
        mae=math.fsum(map(abs, errors)) / count,
        l2r=math.sqrt(squares) / (norm_found + EPSILON),
        mean=math.fsum(errors) / count,
        std=math.sqrt(_variance(errors)),
        nse=1.0 - mean_square / (_variance(right) + EPSILON),
        cos=product / (norm_right * norm_found + EPSILON),
    )


def _variance(values: Sequence[float]) -> float:
    """With n - 1; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def best_class(values: Sequence[float]) -> int:
    """The first of the largest, as argmax has it."""
    return max(range(len(values)), key=lambda index: (values[index], -index))
