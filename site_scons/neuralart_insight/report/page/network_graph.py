"""The section ``network``: the graph in the order of execution, with shapes, quantization and what needs the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from neuralart.network.facts import NEURALART
from neuralart.vendor.c_info.ports import dtype_of
from neuralart.vendor.c_info.types import CPU, CInfo, InfoBuffer, InfoNode
from neuralart_insight.report.offload import UNKNOWN, CpuEpoch
from neuralart_insight.report.page import figures
from neuralart_insight.report.page.gather import PageFacts, ReportNetwork
from neuralart_insight.report.page.parts import Note, PageSection, Part, Picture, count_of, cut, shortened

INPUT, OUTPUT = "INPUT", "OUTPUT"


@dataclass(frozen=True)
class GraphRow:
    """An epoch or layer, or an input or output of the network."""

    kind: str  # ``HW``, ``EC``, ``SW``, ``HYBRID``, ``NONE``, INPUT or OUTPUT
    label: str  # Number of the epoch, or empty
    node: InfoNode | None  # None of an input or output
    reads: tuple[int, ...]  # Ids of buffers, without parameters
    writes: tuple[int, ...]


@dataclass(frozen=True)
class GraphEdge:
    """A tensor between two rows."""

    buffer: int
    start: int  # Row that writes it
    end: int  # Row that reads it
    lane: int  # 0: the next row; otherwise the lane that it runs in


def rows_of(info: CInfo) -> list[GraphRow]:
    """Inputs, what computes something, outputs."""
    graph = info.graph
    if graph is None:
        return []
    constant = {buffer.id for buffer in info.buffers if buffer.constant}
    nodes = graph.nodes if info.flow == CPU else info.epochs

    def plain(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(each for each in dict.fromkeys(ids) if each not in constant)

    rows = [GraphRow(INPUT, "", None, (), (each,)) for each in graph.inputs]
    for node in nodes:
        kind, number = "SW" if info.flow == CPU else node.kind, "" if node.number is None else str(node.number)
        rows.append(GraphRow(kind, number, node, plain(node.inputs), plain(node.outputs)))
    return rows + [GraphRow(OUTPUT, "", None, (each,), ()) for each in graph.outputs]


def _links(rows: Sequence[GraphRow]) -> list[tuple[int, int, int]]:
    """Buffer, writing row and reading row. What a row reads and writes at once is its own from there on."""
    writers: dict[int, list[int]] = {}
    links = []
    for number, row in enumerate(rows):
        links += [(buffer, writer, number) for buffer in row.reads for writer in writers.get(buffer, ())]
        for buffer in row.writes:
            writers[buffer] = [number] if buffer in row.reads else [*writers.get(buffer, ()), number]
    return links


def edges_of(rows: Sequence[GraphRow]) -> list[GraphEdge]:
    """Tensors between rows. Those that skip a row get the first lane that is free for all of their way."""
    links = _links(rows)
    ends: dict[tuple[int, int], int] = {}  # Of a tensor and its writer: one lane serves all readers
    for buffer, start, end in links:
        ends[buffer, start] = max(end, ends.get((buffer, start), 0))
    lanes: list[int] = []  # Row up to which each is taken
    lane_of: dict[tuple[int, int], int] = {}
    for (buffer, start), end in sorted(ends.items(), key=lambda item: (item[0][1], item[1], item[0])):
        if end == start + 1:
            continue
        lane = next((number for number, taken in enumerate(lanes) if taken <= start), len(lanes))
        lanes[lane : lane + 1] = [end]
        lane_of[buffer, start] = lane + 1
    return [
        GraphEdge(buffer, start, end, 0 if end == start + 1 else lane_of[buffer, start])
        for buffer, start, end in dict.fromkeys(links)
    ]


KEY, TITLE = "network", "Network"
COLORS = {
    "HW": "#009e73",
    "EC": "#0072b2",
    "HYBRID": "#b8860b",
    "SW": "#d55e00",
    "NONE": "#888888",
    INPUT: "#888888",
    OUTPUT: "#888888",
}
_WORDS = {"HW": "on the NPU", "EC": "epoch controller", "HYBRID": "NPU and CPU", "SW": "CPU (software)"}
_HELP = (
    "From top to bottom: the order of execution. A box is an epoch or a layer; its color tells what computes it. Lines "
    "are tensors; those on the left skip a row. Point at a box to see all of it."
)
_ROW = 22  # Pixels
# Columns of texts: where they begin, as a share of the width, and how many letters they have room for.
_COLUMNS = (
    *(("label", 0.03, 5), ("what", 0.07, 28), ("name", 0.26, 36), ("shape", 0.5, 18), ("types", 0.62, 40)),
    ("mark", 0.84, 28),
)
_LANE = 1.6  # Width of a lane, in per cent of the picture
_REFERENCE = "the reference compiler computes all on the CPU"


def quantization(buffer: InfoBuffer) -> str:
    """``scale 0.0039, zero point -128``, ``24 channels, 0.001 to 0.02``, or ``none``."""
    if not buffer.scales:
        return "none"
    if len(buffer.scales) > 1:
        return f"{len(buffer.scales)} channels, {min(buffer.scales):.4g} to {max(buffer.scales):.4g}"
    zero = buffer.zero_points[0] if buffer.zero_points else 0
    return f"scale {buffer.scales[0]:.4g}, zero point {zero}"


def shape(buffer: InfoBuffer) -> str:
    """``1×16×16×8``; ``?`` for a size that is not fixed."""
    return "×".join("?" if each is None else str(each) for each in buffer.shape) or "scalar"


def why_cpu(network: ReportNetwork) -> dict[int | None, str]:
    """Why an epoch needs the CPU, by its number."""
    if network.facts.runtime == NEURALART or network.info is None or network.info.flow == CPU:
        return {}
    rows: tuple[CpuEpoch, ...] = network.offload.rows if network.offload is not None else ()
    return {row.number: "reason unknown" if row.reason == UNKNOWN else row.reason for row in rows}


def _about(row: GraphRow, buffers: dict[int, InfoBuffer], why: dict[int | None, str]) -> dict[str, str]:
    """What a row of the picture says."""
    tensors = [buffers[each] for each in (row.writes or row.reads) if each in buffers]
    types = "; ".join(dict.fromkeys(dtype_of(each) or "unknown" for each in tensors))
    said = {
        **{"shape": "; ".join(map(shape, tensors)), "dtype": types},
        "quantization": (quantized := "; ".join(map(quantization, tensors))),
        **{"types": f"{types}, {quantized}" if types else "", "label": row.label},
        **{"tensors": ", ".join(each.name for each in tensors), "mark": _WORDS.get(row.kind, "")},
    }
    node = row.node
    if node is None:
        return {**said, "what": row.kind.lower(), "name": said["tensors"], "macc": "", "functions": ""}
    operators = ", ".join(dict.fromkeys(each.type for each in node.operators if each.type)) or node.type or node.name
    names = ", ".join(dict.fromkeys(each.name for each in node.operators if each.name)) or node.name
    if node.number in why:
        said["mark"] += f": {why[node.number]}"
    macc, functions = f"{node.macc:,}" if node.macc else "", ", ".join(node.functions)
    return {**said, "what": operators, "name": names, "macc": macc, "functions": functions}


def _lines(edges: list[GraphEdge], rows: int, left: float) -> tuple[list[list[float]], list[list[float]]]:
    """Points of the lines; row 0 is at the top."""
    xs: list[list[float]] = []
    ys: list[list[float]] = []
    for edge in edges:
        top, bottom = rows - edge.start - 0.5, rows - edge.end - 0.5
        if not edge.lane:
            xs.append([left + 1, left + 1])
            ys.append([top, bottom])
            continue
        x = left - edge.lane * _LANE
        xs.append([left, x, x, left])
        ys.append([top - 0.2, top - 0.5, bottom + 0.5, bottom + 0.2])
    return xs, ys


def _picture(key: str, network: ReportNetwork, rows: list[GraphRow]) -> Picture:
    assert network.info is not None
    buffers = {buffer.id: buffer for buffer in network.info.buffers}
    why, edges = why_cpu(network), edges_of(rows)
    left = 1 + _LANE * max((edge.lane for edge in edges), default=0)
    said = []
    for number, row in enumerate(rows):
        about, y = _about(row, buffers, why), len(rows) - number - 0.5
        shown = {}
        for column, _, most in _COLUMNS:
            shown[f"short_{column}"] = shortened(about[column], most)
        place = {"left": left, "right": left + 2, "bottom": y - 0.35, "top": y + 0.35, "y": y}
        said.append({**about, **shown, **place, "color": COLORS[row.kind]})
    figure = figures.new(_ROW * len(rows) + 10, (0, 100), (0, len(rows)), zoom="")
    figure.axis.visible = False
    xs, ys = _lines(edges, len(rows), left)
    figure.multi_line(xs=xs, ys=ys, line_color=figures.INK, line_width=1.5)
    tips = [("", "what"), ("name", "name"), ("computed", "mark"), ("output", "tensors"), ("shape", "shape")]
    tips += [("type", "dtype"), ("quantization", "quantization"), ("MACC", "macc"), ("functions", "functions")]
    source = figures.boxes(figure, said, tips, line_color=None)
    style = {"text_font_size": "12px", "text_baseline": "middle", "text_color": figures.INK}
    for column, share, _ in _COLUMNS:
        figure.text(x=left + (98 - left) * share, y="y", text=f"short_{column}", source=source, **style)
    return Picture(key, f"Network {network.facts.name}", figure, len(rows), scrolls=True)


def _of_network(number: int, network: ReportNetwork, most: int) -> list[Part]:
    name, info = network.facts.name, network.info
    if info is None or info.graph is None:
        why = network.missing or "The compiler's file has no graph."
        return [Note(f"Network {name}: unknown. {why}", "unknown")]
    rows = rows_of(info)
    shown, left = cut(rows, most)
    epochs = [row for row in rows if row.node is not None]
    macc = f", {network.facts.macc:,} multiply-accumulate operations" if network.facts.macc else ""
    said = [f"{count_of(len(epochs), 'layer' if info.flow == CPU else 'epoch')}{macc}."]
    cpu = sum(row.kind in ("SW", "HYBRID") for row in epochs)
    parts: list[Part] = []
    if network.facts.runtime == NEURALART:
        said.append(f"All run on the CPU: {_REFERENCE}.")
    elif info.flow == CPU:
        said.append("All run on the CPU: this target has no NPU.")
    elif cpu:
        percent = network.offload.percent if network.offload is not None else None
        share = "" if percent is None else f" {percent} % of the epochs need no CPU."
        parts.append(Note(f"Network {name}: {count_of(cpu, 'epoch')} of {len(epochs)} need the CPU.{share}", "warning"))
    else:
        said.append("No epoch needs the CPU.")
    parts.insert(0, Note(" ".join([f"Network {name}:", *said, *([left] if left else [])])))
    return [*parts, _picture(f"{KEY}-{number}", network, list(shown))]


def section(facts: PageFacts, most: int) -> PageSection:
    """The section; ``most``: rows or boxes of a picture."""
    found = [part for number, network in enumerate(facts.networks) for part in _of_network(number, network, most)]
    return PageSection(KEY, TITLE, (Note(_HELP), *found))
