"""What a validation found: accuracy and times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Accuracy:
    """A line of the accuracy table."""

    output: str  # For example ``X-cross #1``
    # Name (``rmse``, ``cos``...) and value, in the order of the columns; None where it is ``n.a.``
    figures: tuple[tuple[str, float | None], ...]
    tensor: str = ""  # The last column as written


@dataclass(frozen=True)
class NodeTime:
    """A line of the table of times."""

    c_id: int  # Number of the node
    m_id: str  # Number of the model's layer, or ``-``
    type: str  # ``epoch``, ``epoch (EC)``, ``Conv2D (0x103)``...
    duration_ms: float  # Milliseconds
    percent: float  # Of the whole
    cycles: tuple[int, ...]  # CPU cycles before, while and after the hardware worked; one figure on a CPU
    name: str  # ``EpochBlock_2``, ``EpochBlock_2 -> 6`` or a layer


@dataclass(frozen=True)
class Validation:
    """Results of ``validate``."""

    accuracy: tuple[Accuracy, ...] = ()  # The evaluation table
    samples: int | None = None  # How many were run; None if not told
    duration_ms: float | None = None  # Of one inference, on average; None if not measured
    duration_spread: tuple[float, ...] = ()  # Least, most and standard deviation of it, ms
    cycles: tuple[int, ...] = ()  # CPU cycles of one inference
    inferences_per_second: float | None = None  # None if not told
    nodes: tuple[NodeTime, ...] = ()  # Times per epoch, blob or layer
    device: str = ""  # Description of the board
    attributes: str = ""  # Its clocks and caches as written
    runtime: str = ""  # Runtime library of the firmware that ran
    # Parts of the time in per cent, by name (``HW``, ``SW``, ``SW ctrl``), from 4.0 on
    shares: tuple[tuple[str, float], ...] = ()
