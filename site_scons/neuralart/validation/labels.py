"""What the samples of a classifier really are, and how often it finds that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuralart.emulator.inputs import readers
from neuralart.errors import NeuralArtError

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
        return [(f"{path}:{number}", list(cells)) for number, cells in readers.csv_rows(path)]
    array, *more = readers.arrays(path).values() or (None,)
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
