"""The section ``lifetimes``: which tensor is where in a pool, from which epoch to which."""

from __future__ import annotations

from collections.abc import Sequence

from neuralart.vendor.c_info.types import CPU, CInfo, InfoBuffer, InfoPool
from neuralart_insight.report.page import figures
from neuralart_insight.report.page.gather import PageFacts, ReportNetwork
from neuralart_insight.report.page.parts import Note, PageSection, Part, Picture, count_of, cut

KEY, TITLE = "lifetimes", "Activations and their lifetimes"
_HELP = (
    "From left to right: the epochs of one inference. From bottom to top: offsets in the pool. Each box is a tensor; "
    "boxes above each other exist at the same time, and boxes beside each other share memory."
)
_COLORS = ("#0072b2", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#b8860b")
_IO = "#888888"


def activations(info: CInfo, pool: InfoPool) -> list[InfoBuffer]:
    """Tensors of a pool that are no parameters, by address and time."""
    found = [buffer for buffer in info.buffers if buffer.pool == pool.id and not buffer.constant and buffer.size]
    return sorted(found, key=lambda buffer: (buffer.offset, buffer.first, buffer.id))


def peak(buffers: Sequence[InfoBuffer]) -> tuple[int, int]:
    """Most bytes that are needed at once (tensors that lie in another one count once), and the first such epoch."""
    best = (0, 0)
    for epoch in sorted({buffer.first for buffer in buffers}):
        live = sorted((b.offset, b.offset + b.size) for b in buffers if b.first <= epoch <= b.last)
        total = at = 0
        for low, high in live:
            total += max(0, high - max(low, at))
            at = max(at, high)
        if total > best[0]:
            best = (total, epoch)
    return best


def _picture(key: str, title: str, info: CInfo, buffers: Sequence[InfoBuffer], steps: int, size: int) -> Picture:
    ports = {*info.graph.inputs, *info.graph.outputs} if info.graph is not None else set()
    step = "layer" if info.flow == CPU else "epoch"
    rows = [
        {
            "left": buffer.first,
            "right": buffer.last + 1,
            "bottom": buffer.offset,
            "top": buffer.offset + buffer.size,
            "color": _IO if buffer.id in ports else _COLORS[buffer.id % len(_COLORS)],
            "name": buffer.name,
            "offset": f"0x{buffer.offset:x} – 0x{buffer.offset + buffer.size:x}",
            "size": count_of(buffer.size, "byte"),
            "time": f"{buffer.first} to {buffer.last}",
        }
        for buffer in buffers
    ]
    figure = figures.new(360, (0, steps), (0, max(size, 1)), x_axis_label=f"{step}s", y_axis_label="offset in the pool")
    figures.axis_of_bytes(figure.yaxis, addresses=False)
    tips = [("", "name"), ("offset", "offset"), ("size", "size"), (f"{step}s", "time")]
    figures.boxes(figure, rows, tips, fill_alpha=0.75, line_color="color")
    return Picture(key, title, figure, len(rows))


def _of_network(number: int, network: ReportNetwork, most: int) -> list[Part]:
    info, name = network.info, network.facts.name
    if info is None:
        return [Note(f"Network {name}: unknown. {network.missing}", "unknown")]
    parts: list[Part] = []
    steps = 1 + max((buffer.last for buffer in info.buffers if not buffer.constant), default=0)
    for pool in info.pools:
        buffers = activations(info, pool)
        if not buffers:
            continue
        title = f"Network {name}, pool {pool.name}"
        if steps == 1 and len(network.facts.epochs) > 1:
            parts.append(Note(f"{title}: the compiler does not tell when its tensors are needed.", "unknown"))
            continue
        needed, epoch = peak(buffers)
        size = max(pool.used, *(buffer.offset + buffer.size for buffer in buffers))
        shown, left = cut(buffers, most)
        parts.append(_picture(f"{KEY}-{number}-{pool.id}", title, info, shown, steps, size))
        step = "layer" if info.flow == CPU else "epoch"
        said = f"{count_of(len(buffers), 'tensor')} in {count_of(size, 'byte')}. "
        said += f"Most bytes are needed in {step} {epoch}: {needed:,}. Gray: inputs and outputs. {left}"
        parts.append(Note(said.rstrip()))
    if not parts:
        what = "the compiler does not list its tensors (--all-buffers-info lets ST's compiler do so)"
        parts.append(Note(f"Network {name}: unknown, {what}.", "unknown"))
    return parts


def section(facts: PageFacts, most: int) -> PageSection:
    """The section; ``most``: rows or boxes of a picture."""
    found = [part for number, network in enumerate(facts.networks) for part in _of_network(number, network, most)]
    return PageSection(KEY, TITLE, (Note(_HELP), *found))
