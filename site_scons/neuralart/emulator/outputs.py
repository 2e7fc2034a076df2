"""What came out of a network, in lines for people: the best classes, or which numbers a tensor holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from neuralart.emulator.vectors import real_values, stored
from neuralart.network.facts import Network, Port

BEST = 5
FIRST = 8
"""So many classes, and so many elements, are shown."""


def _number(value: float) -> str:
    return f"{value:.4g}"


def _classes(values: Sequence[float], labels: Sequence[str]) -> str:
    best = sorted(range(len(values)), key=lambda index: (-values[index], index))[:BEST]
    return ", ".join(f"{labels[index]} {_number(values[index])}" for index in best)


def _range(values: Sequence[float]) -> str:
    finite = [value for value in values if math.isfinite(value)]
    parts = []
    if finite:
        mean = math.fsum(finite) / len(finite)
        parts.append(f"min {_number(min(finite))}, max {_number(max(finite))}, mean {_number(mean)}")
    if len(finite) < len(values):
        parts.append(f"{len(values) - len(finite)} of {len(values)} are no numbers")
    more = ", ..." if len(values) > FIRST else ""
    return "; ".join([*parts, "first " + ", ".join(map(_number, values[:FIRST])) + more])


def _line(port: Port, values: Sequence[float], labels: Sequence[str]) -> str:
    classes = len(labels) == len(values) and all(map(math.isfinite, values))
    shown = _classes(values, labels) if classes else _range(values)
    return f"output '{port.name}' {port.dtype}[{','.join(map(str, port.shape))}]: {shown}"


def described(network: Network, data: bytes, labels: Sequence[str] = ()) -> list[str]:
    """A line for each output of an inference (``data``: all of them, concatenated); quantized ones as real values.

    An output with as many elements as there are names of classes shows the best of them.
    """
    lines, at = [], 0
    for port in network.outputs:
        values = real_values(stored(port.dtype, data[at : at + port.bytes]), port)
        lines.append(_line(port, values, labels))
        at += port.bytes
    # Names may be meant for others than the outputs of a network: a detector's boxes have classes, too.
    port = network.outputs[0]
    scores = math.prod(port.shape)
    if labels and len(network.outputs) == 1 and port.shape[-1:] == (scores,) and scores != len(labels):
        lines[0] += f" ({len(labels)} names of classes, but {scores} scores: names not used)"
    return lines
