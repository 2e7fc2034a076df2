"""The figures of a validation: a record for programs, lines for people, and what is below its bound."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from neuralart.config.types import NetworkConfig
from neuralart.emulator.vectors import number
from neuralart.inspect.tables import plural, table
from neuralart.profiling.totals import OutputMetrics
from neuralart.validation.labels import ClassifierFigures
from neuralart.validation.layers import LayerFigures, first_difference, layer_lines

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
    """What does not reach ``min_cos`` and ``min_accuracy``, a line each.

    Accuracy is that of the labels; without labels it is how often the reference has the same class.
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
    said = [
        f"{found.variant}: {found.network}, {plural(found.samples, 'sample')} on {found.machine}",
        f"  inputs     {found.inputs}",
        f"  reference  {found.reference or 'none'}",
    ]
    rows = []
    for name, metrics in found.outputs.items():
        acc = "-" if metrics.acc is None else f"{metrics.acc:.2%}"
        rows.append([name, acc, *(f"{getattr(metrics, head):.9f}" for head in HEADS[2:])])
    said += table(HEADS, rows) if rows else []
    said += layer_lines(found.layers) if found.layers is not None else []
    return said + (_classifier_lines(found, found.classifier) if found.classifier is not None else [])
