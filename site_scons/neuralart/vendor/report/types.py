"""What a report of ``generate``, ``analyze`` or ``validate`` says (ST Edge AI Core 2.0 to 4.x).

Sizes of the memory table are printed with three decimals of B, kB (1024) or MB; the others are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuralart.vendor.core_version import CoreVersion
from neuralart.vendor.report.results import Validation


@dataclass(frozen=True)
class Layer:
    """A line of the layer table.

    Attributes:
        m_id: Number of the model's layer; lines that share one were made of the same layer.
        name: Long names are shortened with ``..`` in the middle by the tool.
        type: Kind of layer of the tool (CPU targets); may be empty.
        original: Operator of the model; empty for an input.
        outputs: Of each output the axes with their sizes: ``(("b", 1), ("h", 32), ("c", 3))``.
        parameters: Their number; None if it has none.
        size: Bytes of the parameters; None if it has none.
        macc: Multiply-accumulate operations; None if none are told.
        inputs: Names of the layers it takes, shortened in the same way.
    """

    m_id: int
    name: str
    type: str
    original: str
    outputs: tuple[tuple[tuple[str, int], ...], ...] = ()
    parameters: int | None = None
    size: int | None = None
    macc: int | None = None
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Totals:
    """The line below the layer table: of the model, and of the generated C (CPU targets). Bytes but for ``macc``."""

    macc: int | None = None
    weights: int | None = None
    activations: int | None = None
    io: int | None = None


@dataclass(frozen=True)
class PoolUsage:
    """A line of the memory table.

    Attributes:
        name: Report name of the pool.
        address: Base.
        end: First address behind it.
        used: Bytes, as near as the printed figure tells.
        weights: The same of constants.
        activations: The same of activations.
        uncertainty: The true figure is at most so many bytes away from ``used``.
        first: First address used; None if nothing is.
        last: First address behind the used range, rounded up by the tool; None if nothing is used.
    """

    name: str
    address: int
    end: int
    used: int
    weights: int
    activations: int
    uncertainty: int
    first: int | None = None
    last: int | None = None

    @property
    def size(self) -> int:
        """Capacity in bytes."""
        return self.end - self.address


@dataclass(frozen=True)
class ReportEpoch:
    """A line of the list of epochs.

    Attributes:
        number: Of the (first) epoch.
        last: Of the last one; equal but for a blob of the epoch controller. Not every number between is an epoch.
        kind: ``HW``, ``EC``, ``SW`` or ``HYBRID``.
        operators: What the software computes, for example ``Softmax`` or ``Sub(float)``; empty for hardware.
    """

    number: int
    last: int
    kind: str
    operators: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpochCounts:
    """The figures above the list of epochs.

    Attributes:
        total: All.
        software: Pure software.
        hybrid: Both; None up to 2.x: they are in the total, and ``??`` in the list.
        hardware: Pure hardware; None up to 2.x.
        blobs: Blobs of the epoch controller; None up to 2.x.
    """

    total: int
    software: int
    hybrid: int | None = None
    hardware: int | None = None
    blobs: int | None = None


@dataclass(frozen=True)
class SectionSizes:
    """A line of the table of sections, in bytes.

    Attributes:
        module: Object, library or sum, without the stars of its footnote.
        text: Code.
        rodata: Constants.
        data: Initialized data.
        bss: Zeroed data.
    """

    module: str
    text: int
    rodata: int
    data: int
    bss: int


@dataclass(frozen=True)
class Report:
    """A report.

    Attributes:
        file: Its name as shown to the user.
        core: Version of ST Edge AI Core.
        command: ``generate``, ``analyze``, ``validate``; empty if it is not told.
        created: Date as written.
        parameters: Command line without the tool's name.
        model: Name of the model.
        log: Captured console output in place of a report file.
        summary: Lines of the summary of the run, name and text, in their order; on the NPU in console output only.
        layers: Of the model.
        totals: Of the model.
        c_totals: Of the generated C; None on the NPU.
        target: As the table of sections names it; empty without one.
        compiler: Version of the Neural-ART compiler; empty on a CPU.
        compiler_arguments: Its command line.
        pools: The memory table.
        counts: Figures about the epochs; None on a CPU.
        epochs: Their list.
        empty_blobs: Blobs in the list that no epoch is executed in.
        sections: Sizes of what was compiled; empty if no Arm compiler was found.
        flash: Bytes of flash, of the runtime and in total; None without sections.
        ram: The same of RAM.
        files: Generated files as printed.
        validation: Results; None of another command.
        elapsed: Seconds; None if not printed.
        warnings: Lines that warn.
        errors: Lines that say what failed.
        notes: Lines of a known block that were not understood.
    """

    file: str
    core: CoreVersion | None
    command: str = ""
    created: str = ""
    parameters: str = ""
    model: str = ""
    log: bool = False
    summary: tuple[tuple[str, str], ...] = ()
    layers: tuple[Layer, ...] = ()
    totals: Totals | None = None
    c_totals: Totals | None = None
    target: str = ""
    compiler: str = ""
    compiler_arguments: str = ""
    pools: tuple[PoolUsage, ...] = ()
    counts: EpochCounts | None = None
    epochs: tuple[ReportEpoch, ...] = ()
    empty_blobs: int = 0
    sections: tuple[SectionSizes, ...] = ()
    flash: tuple[int, int] | None = None
    ram: tuple[int, int] | None = None
    files: tuple[str, ...] = ()
    validation: Validation | None = None
    elapsed: float | None = None
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def flow(self) -> str:
        """``npu`` or ``cpu``; empty if nothing tells."""
        if self.compiler or self.counts or self.pools or "--st-neural-art" in self.parameters:
            return "npu"
        if self.c_totals or self.sections:
            return "npu" if self.target.endswith("npu") else "cpu"
        series = dict(self.summary).get("target/series", "")
        return ("npu" if series.endswith("npu") else "cpu") if series else ""
