"""Figures of merit from counts of cycles, operations and bytes. Every count of cycles has a clock domain.

The formulas are those of the vendor's profiler, found out from its published figures; where it mixes clocks or cuts
digits, the name says so. Clocks are in hertz. KB, MB and GB are powers of 1000, as everywhere in the vendor's tools.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError

GIGA = 1e9
#: Clock of the NPU that the compiler's estimates assume.
ASSUMED_NPU_HZ = 1_000_000_000


@dataclass(frozen=True)
class Phases:
    """Cycles of one clock in the three phases of an epoch, or of a network."""

    pre: int  # Up to the start of the hardware
    core: int  # While the hardware works
    post: int  # Behind it

    @property
    def total(self) -> int:
        """All three."""
        return self.pre + self.core + self.post


def ratio(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where a number is missing or the divisor is zero."""
    return part / whole if part is not None and whole else None


def gops(operations: float, cycles: float, clock: float) -> float | None:
    """Giga operations a second. The vendor's profiler prints it as "ops/cycle": the same at 1 GHz only."""
    return ratio(clock * operations / GIGA, cycles)


def whole_operations_per_cycle(operations: float, cycles: float) -> int | None:
    """Operations per cycle without its digits, as the vendor prints it for a whole network."""
    found = ratio(operations, cycles)
    return None if found is None else int(found)


def per_second(cycles: float, clock: float) -> float | None:
    """Inferences a second."""
    return ratio(clock, cycles)


def milliseconds(cycles: float, clock: float) -> float:
    """A number of cycles as a time."""
    return 1e3 * cycles / clock


def difference(core: int, max_cycles: int) -> tuple[int, float | None, float | None]:
    """Measured minus estimated NPU cycles, their share of the measured ones (the vendor's), and of the estimate."""
    cycles = core - max_cycles
    return cycles, ratio(cycles, core), ratio(cycles, max_cycles)


def burst_bytes(bursts: Sequence[int]) -> int:
    """Bytes of the bursts of length 1, 2, 4 and 8 over a bus that is 8 bytes wide."""
    return 8 * sum(length * count for length, count in zip((1, 2, 4, 8), bursts, strict=True))


def bandwidth(count: float, cycles: float, clock: float) -> float | None:
    """Bytes a second, of bytes moved in cycles of a clock in hertz.

    The vendor's peak takes NPU core cycles and the NPU clock, its average the CPU's total and clock.
    """
    return ratio(count * clock, cycles)


def in_words(bytes_per_second: float | None) -> str:
    """``2.40 GB/s``, ``133.60 MB/s``."""
    if bytes_per_second is None:
        return "-"
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("KB/s", 1e3)):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.2f} {unit}"
    return f"{bytes_per_second:.2f} B/s"


# Keeps a quotient finite where the divisor is zero.
EPSILON = 2.220446049250313e-16


@dataclass(frozen=True)
class OutputMetrics:
    """Figures of one output over all samples."""

    acc: float | None  # Share of samples with the same class, 0 to 1; None: no classifier
    rmse: float  # Root of the mean squared error
    mae: float  # Mean absolute error
    l2r: float  # Norm of the error over the norm of the prediction
    mean: float  # Mean of the error (reference minus prediction)
    std: float  # Its standard deviation, n - 1
    nse: float  # Nash-Sutcliffe efficiency: 1 is perfect
    cos: float  # Cosine similarity: 1 is the same direction


def _variance(values: Sequence[float]) -> float:
    """With n - 1; 0 for a single value."""
    if len(values) < 2:
        return 0.0
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _largest(values: Sequence[float]) -> int:
    """The first of the largest, as argmax has it."""
    return max(range(len(values)), key=lambda index: (values[index], -index))


def compare_outputs(
    reference: Sequence[Sequence[float]], predicted: Sequence[Sequence[float]], classifier: bool = False
) -> OutputMetrics:
    """Compare the values of one output, a row for each sample; a classifier's values are scores of classes.
    NeuralArtError: there are no values, or the shapes differ.
    """
    if not reference or not all(reference):
        raise NeuralArtError("there is nothing to compare: no samples, or no values", hint="give at least one sample")
    if [len(row) for row in reference] != [len(row) for row in predicted]:
        raise NeuralArtError(
            f"{len(reference)} reference samples of {len(reference[0])} values, {len(predicted)} predicted ones "
            f"of {len(predicted[0]) if predicted else 0}",
            hint="both must be the same output of the same samples",
        )
    right = [value for row in reference for value in row]
    found = [value for row in predicted for value in row]
    errors = [one - other for one, other in zip(right, found, strict=True)]
    squares = math.fsum(error * error for error in errors)
    count = len(errors)
    norm_right = math.sqrt(math.fsum(value * value for value in right))
    norm_found = math.sqrt(math.fsum(value * value for value in found))
    product = math.fsum(one * other for one, other in zip(right, found, strict=True))
    mean_square = squares / count
    same = sum(_largest(one) == _largest(other) for one, other in zip(reference, predicted, strict=True))
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
