"""Reader of the reports of ``generate``, ``analyze`` and ``validate``, and of captured console output of them.

They are made for people, so the reader looks for blocks by their headings, takes what is there, and notes lines of a
known block that it does not understand in place of guessing. Exact sizes are in ``c_info.json``.
"""

from __future__ import annotations

import re
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.vendor.core_version import parse_core
from neuralart.vendor.report.lines import Line, lines_of, without_long
from neuralart.vendor.report.npu import count_empty, read_counts, read_epochs, read_pools
from neuralart.vendor.report.tables import (
    read_files,
    read_flash_and_ram,
    read_layers,
    read_sections,
    read_summary,
    read_totals,
)
from neuralart.vendor.report.types import Report
from neuralart.vendor.report.validation import read_validation

COMMANDS = ("generate", "analyze", "validate", "supported-ops")
_VERSION = re.compile(r"ST Edge AI Core (v\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[\w.]+)?(?: [0-9a-f]{7,40})?)")
_ERROR = re.compile(
    r"(?:E\d{3}\(\w{1,60}\)|CLI ERROR|LOAD ERROR|NOT IMPLEMENTED|INTERRUPT|TOOLS? ERROR|INTERNAL ERROR):\s*\S.*"
)
_ELAPSED = re.compile(r"elapsed time \((\w{1,20})\): ([\d.]{1,20})s")
_RAN = re.compile(
    r"(?:^|[\s/\\])stedgeai(?:\.exe)?\s{1,8}(generate|analyze|validate)\s|Error: (generate|analyze|validate) error:"
)


def _labeled(lines: list[Line], label: str) -> str:
    """Text behind ``label   :`` or ``label: ``."""
    pattern = re.compile(rf"{re.escape(label)}\s*:\s*(\S.*)")
    return next((found.group(1).strip() for line in lines if (found := pattern.match(line.bare))), "")


def _command(lines: list[Line], parameters: str, summary: str) -> str:
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


def _model(lines: list[Line]) -> str:
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
