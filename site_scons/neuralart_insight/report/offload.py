"""How much of a network the NPU computes, and why the rest is left to the CPU.

**Offload** is one figure: the share, in per cent, of the epochs that need no CPU (pure hardware, started one by one or
by the epoch controller) among all epochs that compute something. Hybrid epochs count as not offloaded; the parameters
before the first epoch and the return behind the last compute nothing and do not count. Shares of operations or of
multiply-accumulates would not say it: the compiler counts 0 operations for a software epoch and 0 MACC for every one.

The reasons are conclusions from the types of an epoch's tensors, since the compiler gives none:

``not quantized``
    It works on floating point.
``type``
    It converts between types, or works on whole numbers of a width that the NPU does not compute with (8 and 16 bits).
``unsupported operator``
    Its tensors are right for the NPU: the operator, or its parameters, are not.
``unknown``
    The types are not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.vendor.c_info.types import CPU, CInfo, InfoBuffer, InfoNode
from neuralart.vendor.network_c.types import EpochBlock
from neuralart_insight.vendor.q_json import QFile
from neuralart_insight.vendor.report.types import Report, ReportEpoch

NOT_QUANTIZED, TYPE, OPERATOR, UNKNOWN = "not quantized", "type", "unsupported operator", "unknown"
CONVERSIONS = frozenset({"QuantizeLinear", "DequantizeLinear", "Quantize", "Dequantize", "Cast", "Conversion"})
WIDEST = 16
_HARDWARE = ("HW", "EC")
# How reports mark an operator on floating point from 4.0 on: ``Sub(float)``.
_FLOATING = "(float)"


@dataclass(frozen=True)
class CpuEpoch:
    """An epoch that needs the CPU."""

    number: int | None  # Number of the epoch; None for a layer of a CPU target, and where the file does not say it
    kind: str  # ``SW`` or ``HYBRID``
    operators: tuple[str, ...]  # What it computes
    nodes: tuple[str, ...] = ()  # The compiler's own names of its operators; empty if the file has none
    layers: tuple[str, ...] = ()  # Layers of the model it comes from; empty if none is known
    inserted: bool = False  # The front end inserted it: no layer of the model asked for it
    reason: str = UNKNOWN  # One of the reasons above
    types: str = ""  # Types of its tensors, for example ``FLOAT -> S8``; empty if not known


@dataclass(frozen=True)
class Offload:
    """The figures."""

    hardware: int  # Epochs that need no CPU
    hybrid: int  # Epochs that need both
    software: int  # Epochs that only need the CPU
    rows: tuple[CpuEpoch, ...]  # The latter two, in order

    @property
    def total(self) -> int:
        """Epochs that compute something."""
        return self.hardware + self.hybrid + self.software

    @property
    def percent(self) -> float | None:
        """Offload in per cent with one decimal; None for a network without epochs."""
        return round(100 * self.hardware / self.total, 1) if self.total else None


def _format(buffer: InfoBuffer) -> str:
    return buffer.format.removeprefix("STAI_FORMAT_")


def _types(node: InfoNode, buffers: Mapping[int, InfoBuffer]) -> tuple[list[InfoBuffer], str]:
    """Its tensors but for constants and scratch memory (both read and written), and how to show their types."""
    both = {*node.inputs} & {*node.outputs}
    own = {number: buffer for number, buffer in buffers.items() if number not in both and not buffer.constant}
    taken, given = ([own[number] for number in side if number in own] for side in (node.inputs, node.outputs))
    shown = " -> ".join(" ".join(dict.fromkeys(_format(buffer) for buffer in side)) for side in (taken, given) if side)
    return [*taken, *given], shown


def _reason(operators: Sequence[str], tensors: Sequence[InfoBuffer]) -> str:
    if operators and all(operator.removesuffix(_FLOATING) in CONVERSIONS for operator in operators):
        return TYPE
    if any(operator.endswith(_FLOATING) for operator in operators):
        return NOT_QUANTIZED
    if not tensors or not all(buffer.format for buffer in tensors):
        return UNKNOWN
    if any(_format(buffer).startswith("FLOAT") for buffer in tensors):
        return NOT_QUANTIZED
    return TYPE if any(buffer.bits > WIDEST for buffer in tensors) else OPERATOR


def _layers(node: InfoNode, names: QFile | None) -> tuple[tuple[str, ...], bool]:
    """Layers of the model, and whether it is known that there is none."""
    if names is None:
        return (), False
    found = [names.layers_of(operator.name) for operator in node.operators]
    layers = tuple(dict.fromkeys(layer for each in found for layer in each or ()))
    return layers, bool(found) and not layers and all(each is not None for each in found)


def from_c_info(info: CInfo, names: QFile | None = None, warnings: Iterable[str] = ()) -> Offload:
    """What ``c_info.json`` tells (of a CPU target: nothing is offloaded), with the layer of each node by ``names``.
    ``warnings`` are lines ``WARNING: <layer> is not quantized`` of the console.
    """
    buffers = {buffer.id: buffer for buffer in info.buffers}
    floating = {warning.removeprefix("WARNING:").strip().split(" is not quantized")[0] for warning in warnings}
    counts = {"HW": 0, "EC": 0, "SW": 0, "HYBRID": 0}
    rows = []
    nodes = info.graph.nodes if info.graph and info.flow == CPU else info.epochs
    for node in nodes:
        kind = "SW" if info.flow == CPU else node.kind
        if kind not in counts:
            continue
        counts[kind] += 1
        if kind in _HARDWARE:
            continue
        operators = tuple(dict.fromkeys(operator.type for operator in node.operators if operator.type))
        if not operators and node.type:
            operators = (node.type,)
        layers: tuple[str, ...] = (node.name,)
        inserted = False
        if info.flow != CPU:
            layers, inserted = _layers(node, names)
        tensors, types = _types(node, buffers)
        reason = _reason(operators, tensors)
        known = {*layers, *(operator.name for operator in node.operators)}
        if reason == UNKNOWN and known & set(floating):
            reason = NOT_QUANTIZED
        nodes_of = tuple(operator.name for operator in node.operators if operator.name)
        rows.append(CpuEpoch(node.number, kind, operators, nodes_of, layers, inserted, reason, types))
    return Offload(counts["HW"] + counts["EC"], counts["HYBRID"], counts["SW"], tuple(rows))


def from_epochs(epochs: Iterable[ReportEpoch | EpochBlock]) -> Offload:
    """What a report or network.c tells: operators, but neither layers nor types. Blocks of the epoch controller cover
    several epochs, as many as their numbers can tell: some may be left out, which makes the share a little high. Blocks
    with the same number are parts of one epoch.
    """
    kinds: dict[object, str] = {}
    operators: dict[object, tuple[str, ...]] = {}
    for place, epoch in enumerate(epochs):
        if epoch.kind not in (*_HARDWARE, "SW", "HYBRID"):
            continue
        # Without debug information network.c has no numbers: then every block is one epoch.
        numbers: Iterable[object] = (("block", place),)
        if epoch.number is not None:
            numbers = range(epoch.number, max(epoch.number, epoch.last or 0) + 1)
        for number in numbers:
            before = kinds.get(number, epoch.kind)
            mixed = (before in _HARDWARE) != (epoch.kind in _HARDWARE)
            kinds[number] = "HYBRID" if mixed or "HYBRID" in (before, epoch.kind) else epoch.kind
            operators[number] = tuple(dict.fromkeys((*operators.get(number, ()), *epoch.operators)))
    rows = []
    for number, kind in kinds.items():
        if kind not in _HARDWARE:
            known, reason = number if isinstance(number, int) else None, _reason(operators[number], ())
            rows.append(CpuEpoch(known, kind, operators[number], reason=reason))
    values = list(kinds.values())
    hardware = sum(values.count(kind) for kind in _HARDWARE)
    return Offload(hardware, values.count("HYBRID"), values.count("SW"), tuple(rows))


def from_report(report: Report) -> Offload:
    """What a report tells: its own counts where it has them, which are exact, and its list of epochs."""
    listed = from_epochs(report.epochs)
    counts = report.counts
    if counts is None:
        return listed
    hybrid = listed.hybrid if counts.hybrid is None else counts.hybrid
    return Offload(max(counts.total - hybrid - counts.software, 0), hybrid, counts.software, listed.rows)


def as_data(offload: Offload) -> dict[str, Any]:
    """For JSON."""
    rows = [
        {key: list(value) if isinstance(value, tuple) else value for key, value in vars(row).items()}
        for row in offload.rows
    ]
    counts = {"hardware": offload.hardware, "hybrid": offload.hybrid, "software": offload.software}
    return {"percent": offload.percent, "epochs": offload.total, **counts, "cpu_epochs": rows}
