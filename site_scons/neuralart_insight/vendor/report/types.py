"""What a report of ``generate``, ``analyze`` or ``validate`` says (ST Edge AI Core 2.0 to 4.x). Sizes of the memory
table are printed with three decimals of B, kB (1024) or MB; the others are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.vendor.releases import CoreVersion


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


@dataclass(frozen=True)
class Layer:
    """A line of the layer table."""

    m_id: int  # Number of the model's layer; lines that share one were made of the same layer
    name: str  # Long names are shortened with ``..`` in the middle by the tool
    type: str  # Kind of layer of the tool (CPU targets); may be empty
    original: str  # Operator of the model; empty for an input
    # Of each output the axes with their sizes: ``(("b", 1), ("h", 32), ("c", 3))``
    outputs: tuple[tuple[tuple[str, int], ...], ...] = ()
    parameters: int | None = None  # Their number; None if it has none
    size: int | None = None  # Bytes of the parameters; None if it has none
    macc: int | None = None  # Multiply-accumulate operations; None if none are told
    inputs: tuple[str, ...] = ()  # Names of the layers it takes, shortened in the same way


@dataclass(frozen=True)
class Totals:
    """The line below the layer table: of the model, and of the generated C (CPU targets). Bytes but for ``macc``."""

    macc: int | None = None
    weights: int | None = None
    activations: int | None = None
    io: int | None = None


@dataclass(frozen=True)
class PoolUsage:
    """A line of the memory table."""

    name: str  # Report name of the pool
    address: int  # Base
    end: int  # First address behind it
    used: int  # Bytes, as near as the printed figure tells
    weights: int  # The same of constants
    activations: int  # The same of activations
    uncertainty: int  # The true figure is at most so many bytes away from ``used``
    first: int | None = None  # First address used; None if nothing is
    last: int | None = None  # First address behind the used range, rounded up by the tool; None if nothing is used

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self.end - self.address


@dataclass(frozen=True)
class ReportEpoch:
    """A line of the list of epochs."""

    number: int  # Of the (first) epoch
    last: int  # Of the last one; equal but for a blob of the epoch controller. Not every number between is an epoch.
    kind: str  # ``HW``, ``EC``, ``SW`` or ``HYBRID``
    # What the software computes, for example ``Softmax`` or ``Sub(float)``; empty for hardware
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpochCounts:
    """The figures above the list of epochs."""

    total: int  # All
    software: int  # Pure software
    hybrid: int | None = None  # Both; None up to 2.x: they are in the total, and ``??`` in the list
    hardware: int | None = None  # Pure hardware; None up to 2.x
    blobs: int | None = None  # Blobs of the epoch controller; None up to 2.x


@dataclass(frozen=True)
class SectionSizes:
    """A line of the table of sections, in bytes."""

    module: str  # Object, library or sum, without the stars of its footnote
    text: int  # Code
    rodata: int  # Constants
    data: int  # Initialized data
    bss: int  # Zeroed data


@dataclass(frozen=True)
class Report:
    file: str  # Its name as shown to the user
    core: CoreVersion | None  # Version of ST Edge AI Core
    tool: str = ""  # The compiler, if it is another one that says its name, for example ours
    command: str = ""  # ``generate``, ``analyze``, ``validate``; empty if it is not told
    created: str = ""  # Date as written
    parameters: str = ""  # Command line without the tool's name
    model: str = ""  # Name of the model
    log: bool = False  # Captured console output in place of a report file
    # Lines of the summary of the run, name and text, in their order; on the NPU in console output only
    summary: tuple[tuple[str, str], ...] = ()
    layers: tuple[Layer, ...] = ()  # Of the model
    totals: Totals | None = None  # Of the model
    c_totals: Totals | None = None  # Of the generated C; None on the NPU
    target: str = ""  # As the table of sections names it; empty without one
    compiler: str = ""  # Version of the Neural-ART compiler; empty on a CPU
    compiler_arguments: str = ""  # Its command line
    pools: tuple[PoolUsage, ...] = ()  # The memory table
    counts: EpochCounts | None = None  # Figures about the epochs; None on a CPU
    epochs: tuple[ReportEpoch, ...] = ()  # Their list
    empty_blobs: int = 0  # Blobs in the list that no epoch is executed in
    sections: tuple[SectionSizes, ...] = ()  # Sizes of what was compiled; empty if no Arm compiler was found
    flash: tuple[int, int] | None = None  # Bytes of flash, of the runtime and in total; None without sections
    ram: tuple[int, int] | None = None  # The same of RAM
    files: tuple[str, ...] = ()  # Generated files as printed
    validation: Validation | None = None  # Results; None of another command
    elapsed: float | None = None  # Seconds; None if not printed
    warnings: tuple[str, ...] = ()  # Lines that warn
    errors: tuple[str, ...] = ()  # Lines that say what failed
    notes: tuple[str, ...] = ()  # Lines of a known block that were not understood

    @property
    def flow(self) -> str:
        """``npu`` or ``cpu``; empty if nothing tells."""
        if self.compiler or self.counts or self.pools or "--st-neural-art" in self.parameters:
            return "npu"
        if self.c_totals or self.sections:
            return "npu" if self.target.endswith("npu") else "cpu"
        series = dict(self.summary).get("target/series", "")
        return ("npu" if series.endswith("npu") else "cpu") if series else ""
