"""What a validation found: accuracy and times."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Accuracy:
    """A line of the accuracy table.

    Attributes:
        output: For example ``X-cross #1``.
        figures: Name (``rmse``, ``cos``...) and value, in the order of the columns; None where it is ``n.a.``.
        tensor: The last column as written.
    """

    output: str
    figures: tuple[tuple[str, float | None], ...]
    tensor: str = ""


@dataclass(frozen=True)
class NodeTime:
    """A line of the table of times.

    Attributes:
        c_id: Number of the node.
        m_id: Number of the model's layer, or ``-``.
        type: ``epoch``, ``epoch (EC)``, ``Conv2D (0x103)``...
        duration_ms: Milliseconds.
        percent: Of the whole.
        cycles: CPU cycles before, while and after the hardware worked; one figure on a CPU.
        name: ``EpochBlock_2``, ``EpochBlock_2 -> 6`` or a layer.
    """

    c_id: int
    m_id: str
    type: str
    duration_ms: float
    percent: float
    cycles: tuple[int, ...]
    name: str


@dataclass(frozen=True)
class Validation:
    """Results of ``validate``.

    Attributes:
        accuracy: The evaluation table.
        samples: How many were run; None if not told.
        duration_ms: Of one inference, on average; None if not measured.
        duration_spread: Least, most and standard deviation of it, ms.
        cycles: CPU cycles of one inference.
        inferences_per_second: None if not told.
        nodes: Times per epoch, blob or layer.
        device: Description of the board.
        attributes: Its clocks and caches as written.
        runtime: Runtime library of the firmware that ran.
        shares: Parts of the time in per cent, by name (``HW``, ``SW``, ``SW ctrl``), from 4.0 on.
    """

    accuracy: tuple[Accuracy, ...] = ()
    samples: int | None = None
    duration_ms: float | None = None
    duration_spread: tuple[float, ...] = ()
    cycles: tuple[int, ...] = ()
    inferences_per_second: float | None = None
    nodes: tuple[NodeTime, ...] = ()
    device: str = ""
    attributes: str = ""
    runtime: str = ""
    shares: tuple[tuple[str, float], ...] = ()
