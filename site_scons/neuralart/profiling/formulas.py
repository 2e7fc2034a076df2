"""Figures of merit from counts of cycles, operations and bytes. Every count of cycles has a clock domain.

The formulas are those of the vendor's profiler, found out from its published figures; where it mixes clocks or cuts
digits, the name says so. Clocks are in hertz. KB, MB and GB are powers of 1000, as everywhere in the vendor's tools.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
