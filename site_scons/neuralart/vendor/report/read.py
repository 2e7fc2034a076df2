"""Reader of the reports of ``generate``, ``analyze`` and ``validate``, and of captured console output of them.

They are made for people, so the reader looks for blocks by their headings, takes what is there, and notes lines of a
known block that it does not understand in place of guessing. Exact sizes are in ``c_info.json``.
"""

from __future__ import annotations

import re
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.vendor.releases import parse_core
from neuralart.vendor.report.npu import count_empty, read_counts, read_epochs, read_pools
from neuralart.vendor.report.tables import (
    ReportLine,
    lines_of,
    read_files,
    read_flash_and_ram,
    read_layers,
    read_sections,
    read_summary,
    read_totals,
    whole,
    without_long,
)
from neuralart.vendor.report.types import Accuracy, NodeTime, Report, Validation

# What ``validate`` adds to a report: accuracy, times, the board -----------------------------------------------------

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


def read_accuracy(lines: list[ReportLine], notes: list[str]) -> tuple[Accuracy, ...]:
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


def read_nodes(lines: list[ReportLine], notes: list[str]) -> tuple[NodeTime, ...]:
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


def _after(lines: list[ReportLine], label: str) -> str:
    """Text behind ``label :``; empty if there is no such line."""
    pattern = re.compile(rf"{re.escape(label)}\s*:\s*(\S.*)")
    return next((found.group(1).strip() for line in lines if (found := pattern.match(line.bare))), "")


def read_validation(lines: list[ReportLine], notes: list[str]) -> Validation | None:
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


# ---------------------------------------------------------------------------------------------------------------------

COMMANDS = ("generate", "analyze", "validate", "supported-ops")
_VERSION = re.compile(r"ST Edge AI Core (v\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[\w.]+)?(?: [0-9a-f]{7,40})?)")
_ERROR = re.compile(
    r"(?:E\d{3}\(\w{1,60}\)|CLI ERROR|LOAD ERROR|NOT IMPLEMENTED|INTERRUPT|TOOLS? ERROR|INTERNAL ERROR):\s*\S.*"
)
_ELAPSED = re.compile(r"elapsed time \((\w{1,20})\): ([\d.]{1,20})s")
_RAN = re.compile(
    r"(?:^|[\s/\\])stedgeai(?:\.exe)?\s{1,8}(generate|analyze|validate)\s|Error: (generate|analyze|validate) error:"
)


def _labeled(lines: list[ReportLine], label: str) -> str:
    """Text behind ``label   :`` or ``label: ``."""
    pattern = re.compile(rf"{re.escape(label)}\s*:\s*(\S.*)")
    return next((found.group(1).strip() for line in lines if (found := pattern.match(line.bare))), "")


def _command(lines: list[ReportLine], parameters: str, summary: str) -> str:
    first = parameters.split(None, 1)[0] if parameters else ""
    if first in COMMANDS:
        return first
    if summary:
        return summary
    for line in lines:
        found = _RAN.search(line.text)
        if found:
            return found.group(1) or found.group(2)
    ended = next((found.group(1).lower() for line in lines if (found := _ELAPSED.search(line.text))), "")
    return ended if ended in COMMANDS else ""


def _distinct(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def parse_report(data: bytes, file: str) -> Report:
    """Read the content of a report.

    Args:
        data: The file's bytes.
        file: Its name for messages.

    Raises:
        NeuralArtError: Nothing in it comes from ST Edge AI Core.
    """
    every, added = lines_of(data)
    lines = without_long(every)
    version = next((found for line in every if (found := _VERSION.search(line.text))), None)
    notes: list[str] = []
    parameters = _labeled(every, "Parameters")
    summary_command, summary = read_summary(lines)
    target, sections = read_sections(lines, notes)
    flash, ram = read_flash_and_ram(lines)
    totals, c_totals = read_totals(lines)
    elapsed = next((found for line in lines if (found := _ELAPSED.search(line.text))), None)
    created = _labeled(lines, "Created date")
    report = Report(
        file=file,
        core=parse_core(version.group(1)) if version else None,
        command=_command(every, parameters, summary_command),
        created=created,
        parameters=parameters,
        model=_model(lines) or dict(summary).get("model_name", ""),
        log=added or not created,
        summary=summary,
        layers=read_layers(lines, notes),
        totals=totals,
        c_totals=c_totals,
        target=target,
        compiler=_labeled(every, "Compiler version"),
        compiler_arguments=_labeled(every, "Compiler arguments"),
        pools=read_pools(lines, notes),
        counts=read_counts(lines),
        epochs=read_epochs(lines, notes),
        empty_blobs=count_empty(lines),
        sections=sections,
        flash=flash,
        ram=ram,
        files=read_files(lines),
        validation=read_validation(lines, notes),
        elapsed=_seconds(elapsed.group(2)) if elapsed else None,
        warnings=_distinct([line.bare for line in every if line.bare.startswith("WARNING:")]),
        errors=_distinct([line.bare for line in every if _ERROR.match(line.bare)]),
        notes=tuple(notes),
    )
    if version is None and not (report.pools or report.counts or report.epochs or report.sections or report.files):
        raise NeuralArtError(
            "not a report: no line 'ST Edge AI Core v...' and none of the blocks of one",
            where=f"{file}:1",
            hint="the file may be cut off at its beginning",
        )
    return report


def _model(lines: list[ReportLine]) -> str:
    return next(
        (line.bare.removeprefix("Model name - ") for line in lines if line.bare.startswith("Model name - ")), ""
    )


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read(path: Path, display: str = "") -> Report:
    """Read a report.

    Args:
        path: Where it is.
        display: Its name in messages; by default the path.

    Raises:
        NeuralArtError: It cannot be read, or as :func:`parse_report`.
    """
    return parse_report(read_bytes(path), display or str(path))
