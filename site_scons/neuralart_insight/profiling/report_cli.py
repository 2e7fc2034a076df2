"""``neuralart report``: one HTML page with pictures of what a build made, and its section ``profile``:
what takes the time of each epoch, and how near it is to the NPU's limits.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from neuralart import outputs, project_folder
from neuralart.text.console import say
from neuralart_insight.profiling.estimate import EpochEstimate, NetworkEstimate, from_c_info, traffic_of
from neuralart_insight.profiling.join import ProfiledNetwork
from neuralart_insight.profiling.measured_report import measured_record, measured_summary
from neuralart_insight.profiling.totals import in_words, ratio, summary, to_record
from neuralart_insight.report.page import figures
from neuralart_insight.report.page.gather import ReportNetwork
from neuralart_insight.report.page.network_graph import why_cpu
from neuralart_insight.report.page.parts import Jump, Note, PageSection, PageTable, Part, Picture, cut

if TYPE_CHECKING:
    from neuralart_insight.report.page.document import More
    from neuralart_insight.report.page.gather import PageFacts

_HELP = (
    "The time line shows the epochs of one inference; colors tell what sets the length of an epoch in the compiler's "
    "estimate. The roofline shows operations per byte against operations per NPU cycle; dashed: the best rate of any "
    "epoch, and what the width of each pool allows (an epoch may use several at once)."
)
_COLORS = ("#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#b8860b", "#7b3fa0", "#5f7f30", "#a05050")
_CPU, _OF_CPU, _OTHER = "CPU", "#d55e00", "#999999"
_SPEEDS = ("peak", "average")
Profiled = tuple[ReportNetwork, NetworkEstimate, ProfiledNetwork | None]


class _Box(NamedTuple):
    """An epoch on the time line."""

    name: str
    start: float  # Milliseconds
    end: float
    bound: str
    expected: tuple[EpochEstimate, ...]
    core: float  # NPU cycles that the hardware works

    def about(self, colors: Mapping[str, str]) -> dict[str, Any]:
        operators = dict.fromkeys(name for epoch in self.expected for name in epoch.operators)
        said = {"name": f"{self.name} {', '.join(operators)}", "bound": self.bound}
        return {**said, "ms": f"{self.end - self.start:.4f}", "color": colors.get(self.bound, _OTHER)}


def _boxes(estimate: NetworkEstimate, measured: ProfiledNetwork | None, npu_hz: float) -> dict[str, list[_Box]]:
    """Rows of the time line."""
    told: list[tuple[str, str, float, str, tuple[EpochEstimate, ...], int]] = []
    for epoch in estimate.epochs:
        cycles = epoch.max_cycles or 0
        told.append(("estimate", f"epoch {epoch.id}", 1e3 * cycles / npu_hz, epoch.type, (epoch,), cycles))
    if measured is not None:
        for each in measured.epochs:
            one, took = each.measured, measured.milliseconds(each.measured) or 0.0
            core = one.npu.core if one.npu is not None else 0
            told.append(("measured", one.name, took, one.kind, each.expected, core))
    rows: dict[str, list[_Box]] = {}
    for row, name, took, kind, expected, core in told:
        boxes = rows.setdefault(row, [])
        longest = max(expected, key=lambda epoch: epoch.max_cycles or 0, default=None)
        bound = _CPU if kind == "SW" else longest.bound if longest is not None else "unknown"
        start = boxes[-1].end if boxes else 0.0
        boxes.append(_Box(name, start, start + took, bound, expected, core))
    return {row: boxes for row, boxes in rows.items() if boxes[-1].end}


def _time_line(key: str, title: str, rows: Mapping[str, Sequence[_Box]], colors: Mapping[str, str]) -> Picture:
    found = []
    for at, boxes in enumerate(reversed(list(rows.values()))):
        for box in boxes:
            found.append({**box.about(colors), "left": box.start, "right": box.end, "bottom": at, "top": at + 0.8})
    end = max(boxes[-1].end for boxes in rows.values())
    figure = figures.new(70 + 50 * len(rows), (0, end), (0, len(rows)), zoom="x", x_axis_label="ms")
    figure.xaxis.formatter.use_scientific = False
    figure.yaxis.ticker = [at + 0.4 for at in range(len(rows))]
    figure.yaxis.major_label_overrides = {at + 0.4: name for at, name in enumerate(reversed(list(rows)))}
    figures.boxes(figure, found, [("", "name"), ("bound", "bound"), ("ms", "ms")], line_color=None)
    return Picture(key, title, figure, len(found))


def _roofline(
    key: str, title: str, boxes: Sequence[_Box], widths: Sequence[float], colors: Mapping[str, str]
) -> list[Picture]:
    points, best = [], 0.0
    for box in boxes:
        work, compute = (sum(getattr(e, what) or 0 for e in box.expected) for what in ("operations", "compute_cycles"))
        moved = sum(access.bytes for access in traffic_of(box.expected).values())
        best = max(best, ratio(work, compute) or 0.0)
        if work and moved and box.core:
            points.append({**box.about(colors), "x": work / moved, "y": work / box.core})
    if not points:
        return []
    low, high = min(point["x"] for point in points) / 2, max(point["x"] for point in points) * 2
    bottom, top = min(point["y"] for point in points) / 2, max(best, *(point["y"] for point in points))
    axes = {"x_axis_label": "operations per byte", "y_axis_label": "operations per NPU cycle"}
    figure = figures.new(340, (low, high), (bottom, 2 * top), x_axis_type="log", y_axis_type="log", **axes)
    roofs = [((low, high), (top, top))]
    roofs += [((low, top / width), (low * width, top)) for width in widths if low * width < top]
    xs, ys = zip(*roofs, strict=True)
    figure.multi_line(xs=list(xs), ys=list(ys), line_color=figures.INK, line_dash="dashed")
    style = {"size": 8, "fill_color": "color", "line_color": None, "fill_alpha": 0.8, "name": "counted"}
    dots = figure.scatter(x="x", y="y", source=figures.columns(points), **style)
    figures.hover(figure, dots, [("", "name"), ("bound", "bound"), ("operations per byte", "x"), ("per cycle", "y")])
    return [Picture(key, title, figure, len(points))]


def _of_network(number: int, profiled: Profiled, npu_hz: float, most: int) -> list[Part]:
    network, estimate, measured = profiled
    rows, name = _boxes(estimate, measured, npu_hz), f"Network {network.facts.name}"
    why = why_cpu(network)
    on_cpu = [epoch for epoch in estimate.epochs if epoch.type in ("SW", "HYBRID") and why]
    reasons = [(f"{one.id}", one.type, ", ".join(one.operators), why.get(one.id, "unknown")) for one in on_cpu]
    of_cpu = PageTable(("Epoch", "Type", "Operators", "Why"), tuple(reasons), (), f"{len(reasons)} epochs need the CPU")
    if not rows:
        return [Note(f"{name}: unknown. Nothing tells how long an epoch takes.", "unknown"), *[of_cpu] * bool(reasons)]
    said = [*summary(estimate, npu_hz), *(measured_summary(measured) if measured is not None else ())]
    source, boxes = list(rows.items())[-1]
    times: dict[str, list[_Box]] = {}
    for box in boxes:
        times.setdefault(box.bound, []).append(box)
    took = {bound: sum(box.end - box.start for box in found) for bound, found in times.items()}
    order = sorted(times, key=lambda bound: -took[bound])
    hues = (bound for bound in order if bound not in (_CPU, "unknown", "nothing"))
    colors = {**dict(zip(hues, _COLORS, strict=False)), _CPU: _OF_CPU}
    key = f"profile-{number}"
    table = []
    for bound in order:
        longest = max(times[bound], key=lambda box: box.end - box.start)
        jump = Jump(bound, key, longest.start, longest.end, colors.get(bound, _OTHER))
        share = f"{100 * took[bound] / boxes[-1].end:.1f}"
        table.append((jump, f"{len(times[bound]):,}", f"{took[bound]:.3f}", share, longest.name))
    shown = {row: cut(each, most)[0] for row, each in rows.items()}
    known = network.info.pools if network.info is not None else ()
    widths = sorted({pool.byte_width / pool.freq_ratio for pool in known if pool.byte_width and pool.freq_ratio})
    whole = to_record(estimate, npu_hz) if measured is None else measured_record(measured)
    speeds = []
    for pool, one in whole["totals"]["pools"].items():
        shown_speeds = (in_words(one[f"{k}_bytes_per_second"]) for k in _SPEEDS)
        speeds.append((pool, f"{one['read']:,}", f"{one['written']:,}", *shown_speeds))
    return [
        Note("\n".join([f"{name} (times: {source})", *said]), "text"),
        _time_line(key, f"{name}: time line. {cut(boxes, most)[1]}".rstrip(". "), shown, colors),
        PageTable((f"Bound ({source})", "Epochs", "ms", "%", "Longest"), tuple(table), (1, 2, 3)),
        PageTable(("Pool", "Bytes read", "Bytes written", "Peak", "Average"), tuple(speeds), (1, 2, 3, 4)),
        *_roofline(f"{key}-roofline", f"{name}: roofline ({source})", boxes, widths, colors),
        *[of_cpu] * bool(reasons),
    ]


def _section(profiled: Sequence[Profiled], npu_hz: float, most: int) -> PageSection:
    """The section; ``most``: boxes in a row of a time line."""
    found = [part for number, each in enumerate(profiled) for part in _of_network(number, each, npu_hz, most)]
    return PageSection("profile", "Profile", (Note(_HELP), *found))


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    add = parser.add_argument
    add("what", metavar="VARIANT", help="a variant of the project file that is built, or a folder with its index.json")
    mine = outputs.says(b'content="neuralart report"')
    outputs.add(parser, "-o", "--output", required=True, mine=mine, help="the page to write")
    project_folder.add_options(parser)
    add("--title", default="", metavar="TEXT", help="a line below the heading (default: the variant's title)")
    text = "what a board measured, as -d of 'neuralart profile' takes it: the profile shows it beside the estimate"
    add("--measured", default="", metavar="DESC", help=text)
    add("--board-file", action="append", default=[], type=Path, metavar="FILE", help="board file of your own")


def _profile(facts: PageFacts, desc: str) -> More:
    """The section of the profile. NeuralArtError: what was measured is of another build."""
    from neuralart_insight.profiling import cli

    told = [(each, each.info) for each in facts.networks if each.info is not None]
    # Times in the file itself may be damaged, which must not break a build: they are shown if they are asked for.
    estimates = [replace(from_c_info(info), name=each.facts.name, executions=()) for each, info in told]
    pairs, npu_hz = cli.with_measured(desc, estimates, {k: mhz * 1_000_000 for k, mhz in facts.board.clocks.items()})
    profiled = [(each, *pair) for (each, _), pair in zip(told, pairs, strict=True)]
    return lambda most: [_section(profiled, npu_hz, most)] if profiled else []


def run(args: argparse.Namespace) -> int:
    """Write the page. NeuralArtError: nothing is built, a file is damaged, or the plotting library is missing."""
    from neuralart import config
    from neuralart.files import is_file, write_text
    from neuralart_insight.report.page.document import html
    from neuralart_insight.report.page.gather import gather

    folder, extra, title = Path(args.what), list(args.board_file), args.title
    if not is_file(folder / "index.json"):
        file: Path = args.file
        project = config.read(file, file.as_posix())
        variant = project.variant(args.what)
        folder = (args.build or file.parent / "build") / variant.name
        extra += [file.parent / path for path in project.config.boards]
        title = title or variant.title
    facts = gather(folder, extra, title)
    text = html(facts, _profile(facts, args.measured))
    write_text(args.output, text)
    say(f"{args.output.as_posix()}: {len(text.encode('utf-8')):,} bytes")
    return 0
