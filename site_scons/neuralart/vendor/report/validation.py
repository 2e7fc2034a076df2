"""What ``validate`` adds to a report: accuracy, times, the board."""

from __future__ import annotations

import re

from neuralart.vendor.report.lines import Line, whole
from neuralart.vendor.report.results import Accuracy, NodeTime, Validation

_NODE = re.compile(
    r"(\d{1,9})\s+(\S+)\s+(\S.*?)\s{2,}([\d.]{1,20})\s+([\d.]{1,20})\s*%(?:\s+[\d.]{1,20}\s*%)?"
    r"(?:\s+\[\s*([\d, ]*?)\s*\])?(?:\s+(\S.*))?"
)
_NUMBER = re.compile(r"[+-]?(?:\d{1,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,4})?|inf|nan)")
_SHARE = re.compile(r"([A-Za-z][\w ]{0,20}): ([\d.]{1,12})%")


def _figure(text: str) -> float | None:
    return float(text) if _NUMBER.fullmatch(text) else None


def _cycles(text: str) -> tuple[int, ...]:
    """``8,398  105,738    2,599``."""
    return tuple(number for word in text.split() if (number := whole(word.strip(","))) is not None)


def read_accuracy(lines: list[Line], notes: list[str]) -> tuple[Accuracy, ...]:
    """The table below ``Evaluation report (summary)``; its columns differ between versions and are read from it."""
    at = next((i for i, line in enumerate(lines) if line.bare.startswith("Evaluation report (summary)")), None)
    if at is None:
        return ()
    rows: list[Accuracy] = []
    columns: list[str] = []
    rulers = 0
    for line in lines[at + 1 :]:
        if line.is_ruler:
            rulers += 1
            if rulers == 3:
                break
            continue
        if not line.bare:
            continue
        cells = re.split(r"\s{2,}", line.bare)
        if not columns:
            columns = line.bare.split()[1:-1]
            continue
        if len(cells) < len(columns) + 2:
            notes.append(f"line {line.number}: '{line.bare[:60]}' was not understood in the accuracy table")
            continue
        cells = [*cells[: len(columns) + 1], "  ".join(cells[len(columns) + 1 :])]
        figures = tuple(zip(columns, (_figure(cell) for cell in cells[1:-1]), strict=True))
        rows.append(Accuracy(cells[0], figures, cells[-1]))
    return tuple(rows)


def read_nodes(lines: list[Line], notes: list[str]) -> tuple[NodeTime, ...]:
    """The table below ``Inference time per node``."""
    at = next((i for i, line in enumerate(lines) if line.bare.startswith("Inference time per node")), None)
    if at is None:
        return ()
    nodes = []
    for line in lines[at + 1 :]:
        bare = line.bare
        if bare.startswith("total"):
            break
        found = _NODE.fullmatch(bare)
        if found:
            c_id, m_id, kind, duration, percent, cycles, name = found.groups()
            time, share = _figure(duration), _figure(percent)
            if time is not None and share is not None:
                nodes.append(NodeTime(int(c_id), m_id, kind, time, share, _cycles(cycles or ""), (name or "").strip()))
                continue
        if bare and bare[0].isdigit():
            notes.append(f"line {line.number}: '{bare[:60]}' was not understood in the table of times")
        elif not bare and nodes:
            break
    return tuple(nodes)


def _after(lines: list[Line], label: str) -> str:
    """Text behind ``label :``; empty if there is no such line."""
    pattern = re.compile(rf"{re.escape(label)}\s*:\s*(\S.*)")
    return next((found.group(1).strip() for line in lines if (found := pattern.match(line.bare))), "")


def read_validation(lines: list[Line], notes: list[str]) -> Validation | None:
    """All results; None if there are none."""
    accuracy = read_accuracy(lines, notes)
    nodes = read_nodes(lines, notes)
    device = _after(lines, "device.desc")
    if not (accuracy or nodes or device):
        return None
    duration = re.match(r"([\d.]{1,20}) ms by sample(?: \(([\d./]{1,80})\))?", _after(lines, "duration"))
    spread = tuple(_figure(text) for text in duration.group(2).split("/")) if duration and duration.group(2) else ()
    rate = next((found for line in lines if (found := re.search(r"([\d.]{1,20}) inf/s", line.text))), None)
    shares = next((line.bare for line in lines if re.match(r"HW: [\d.]+%", line.bare)), "")
    return Validation(
        accuracy=accuracy,
        samples=whole(_after(lines, "nb sample(s)")),
        duration_ms=_figure(duration.group(1)) if duration else None,
        duration_spread=tuple(figure for figure in spread if figure is not None),
        cycles=_cycles(_after(lines, "CPU cycles").strip("[]")),
        inferences_per_second=_figure(rate.group(1)) if rate else None,
        nodes=nodes,
        device=device,
        attributes=_after(lines, "device.attrs"),
        runtime=_after(lines, "runtime lib"),
        shares=tuple((name, figure) for name, text in _SHARE.findall(shares) if (figure := _figure(text)) is not None),
    )
