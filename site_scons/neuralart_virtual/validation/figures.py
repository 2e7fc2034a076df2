"""The figures of a validation: how far outputs are from a reference, as records and lines; what is below its bound."""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from neuralart.config.types import NetworkConfig
from neuralart.errors import NeuralArtError
from neuralart.vendor.tables import plural, table
from neuralart_virtual.emulator.inputs.source import arrays, csv_rows
from neuralart_virtual.emulator.vectors import number
from neuralart_virtual.validation.layers import LayerFigures, first_difference, layer_lines

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


TOP = 5
"""Top-k is told up to this k."""


@dataclass(frozen=True)
class ClassifierFigures:
    """How well scores agree with labels."""

    accuracy: float  # Share of samples whose class has the best score, 0 to 1
    top: tuple[float, ...]  # At k - 1: share of samples whose class is among the k best
    confusion: tuple[tuple[int, ...], ...]  # Samples of each class (row) that were taken for each class (column)


def classify(labels: Sequence[int], scores: Sequence[Sequence[float]]) -> ClassifierFigures:
    """Compare the scores of each sample, of shape (samples, classes), with its label."""
    classes = len(scores[0])
    hits = [0] * min(TOP, classes)
    confusion = [[0] * classes for _ in range(classes)]
    for label, row in zip(labels, scores, strict=True):
        # Of equal scores the first comes first, as argmax has it.
        ranking = sorted(range(classes), key=lambda index: (-row[index], index))
        confusion[label][ranking[0]] += 1
        for k in range(ranking.index(label), len(hits)):
            hits[k] += 1
    top = tuple(hit / len(labels) for hit in hits)
    return ClassifierFigures(top[0], top, tuple(map(tuple, confusion)))


def _class(cells: Sequence[Any], classes: int, where: str) -> int:
    """A class number, from itself or from a one-hot row."""
    hint = f"a class number, 0 to {classes - 1}, or one-hot: {classes} numbers, 1 for the class and 0 for all others"
    wrong = NeuralArtError(f"'{','.join(map(str, cells))}' is no label", where=where, hint=hint)
    try:
        row = [float(cell) for cell in cells]
    except ValueError:
        raise wrong from None
    if len(row) == 1 and row[0] in range(classes):
        return int(row[0])
    if len(row) == 1 or sorted(row) != [0.0] * (classes - 1) + [1.0]:
        raise wrong
    return row.index(1.0)


def _rows(path: Path) -> list[tuple[str, list[Any]]]:
    """Place and numbers of each label."""
    if path.suffix.lower() not in (".npy", ".npz"):
        return [(f"{path}:{number}", list(cells)) for number, cells in csv_rows(path)]
    array, *more = arrays(path).values() or (None,)
    if more or array is None or array.dtype.kind not in "iufb" or not array.ndim or not array.size:
        raise NeuralArtError("holds no list of numbers", where=str(path), hint="one array of shape N, or N x classes")
    return [(f"{path}: label {number}", row) for number, row in enumerate(array.reshape(len(array), -1).tolist())]


def read_labels(path: Path, classes: int, samples: int) -> tuple[int, ...]:
    """The class of each sample, from a CSV file or an .npy file with class numbers or one-hot rows. NeuralArtError: it
    cannot be read, has another number of labels than there are samples, or holds no such class.
    """
    found = tuple(_class(row, classes, where) for where, row in _rows(path))
    if len(found) != samples:
        hint = "one label for each sample, in the same order"
        raise NeuralArtError(f"{len(found)} labels, but {samples} samples", where=str(path), hint=hint)
    return found


HEADS = ("output", "acc", "rmse", "mae", "l2r", "mean", "std", "nse", "cos")
_WIDEST = 20
"""Classes of the largest matrix that is printed."""
_MISTAKES = 10


@dataclass(frozen=True)
class ValidationFigures:
    """What was measured."""

    variant: str  # Its name
    network: str  # Its name in the configuration
    machine: str  # Kind of the machine, and what that is and is not
    samples: int  # How many
    inputs: str  # Where they come from
    reference: str  # What the outputs were compared with; empty: with nothing
    outputs: dict[str, OutputMetrics]  # By name; empty without a reference
    labels: str = ""  # Where the labels come from
    classifier: ClassifierFigures | None = None  # With labels
    classes: tuple[str, ...] = ()  # Names of the classes, if they are known
    layers: tuple[LayerFigures, ...] | None = None  # What the epochs wrote, in their order; None: not asked for


def below(found: ValidationFigures, config: NetworkConfig) -> list[str]:
    """What does not reach ``min_cos`` and ``min_accuracy``, a line each. Accuracy is that of the labels; without labels
    it is how often the reference has the same class.
    """
    shares = {f"output '{name}'": metrics.acc for name, metrics in found.outputs.items()}
    if found.classifier is not None:
        shares = {found.labels: found.classifier.accuracy}
    # Equal outputs may have a cosine a little under 1 by rounding, and have none if they are all zeros.
    cosines = {f"output '{name}'": metrics.cos if metrics.rmse else 1.0 for name, metrics in found.outputs.items()}
    return [
        f"{what}: {word} {value!r} is below {number(least)} ({config.said(key)}: {key})"
        for word, key, least, values in (
            ("cos", "min_cos", config.min_cos, cosines),
            ("accuracy", "min_accuracy", config.min_accuracy, shares),
        )
        for what, value in values.items()
        if least is not None and value is not None and value < least
    ]


def to_record(found: ValidationFigures, failures: Sequence[str]) -> dict[str, Any]:
    """For programs (docs/reference/validate.md has the schema)."""
    first = first_difference(found.layers or ())
    more = {"first_difference": first.name if first is not None else None, "below": list(failures)}
    return {"kind": "neuralart-validation", "schema": 1, **asdict(found), **more}


def _classifier_lines(found: ValidationFigures, figures: ClassifierFigures) -> list[str]:
    tops = ", ".join(f"top-{k} {share:.2%}" for k, share in enumerate(figures.top, 1))
    lines = [f"  labels     {found.labels}: {tops}"]
    names = found.classes or tuple(map(str, range(len(figures.confusion))))
    if len(names) <= _WIDEST:
        lines.append("  confusion  a row for each class of the labels, a column for each class that was computed")
        body = [[name, *row] for name, row in zip(names, figures.confusion, strict=True)]
        return lines + table(("", *names), body, "    ")
    cells = ((-count, row, at) for row, counts in enumerate(figures.confusion) for at, count in enumerate(counts))
    worst = heapq.nsmallest(_MISTAKES, (cell for cell in cells if cell[0] and cell[1] != cell[2]))
    return lines + [f"  mistake    {names[row]} taken for {names[at]}: {plural(-n, 'time')}" for n, row, at in worst]


def lines(found: ValidationFigures) -> list[str]:
    """For people."""
    head = f"{found.variant}: {found.network}, {plural(found.samples, 'sample')} on {found.machine}"
    said = [head, f"  inputs     {found.inputs}", f"  reference  {found.reference or 'none'}"]
    rows = []
    for name, metrics in found.outputs.items():
        acc = "-" if metrics.acc is None else f"{metrics.acc:.2%}"
        rows.append([name, acc, *(f"{getattr(metrics, head):.9f}" for head in HEADS[2:])])
    said += table(HEADS, rows) if rows else []
    said += layer_lines(found.layers) if found.layers is not None else []
    return said + (_classifier_lines(found, found.classifier) if found.classifier is not None else [])
