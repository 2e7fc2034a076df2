"""Reader of the reports of ``generate``, ``analyze`` and ``validate``, and of captured console output of them. They are
made for people, so the reader looks for blocks by their headings, takes what is there, and notes lines of a known block
that it does not understand in place of guessing. Exact sizes are in ``c_info.json``.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import takewhile

from neuralart.errors import NeuralArtError
from neuralart.files import of_file
from neuralart.vendor.releases import parse_core
from neuralart_insight.vendor.report import tables
from neuralart_insight.vendor.report.tables import ReportLine, after, below, lines_of, read_validation, without_long
from neuralart_insight.vendor.report.types import EpochCounts, PoolUsage, Report, ReportEpoch

# Blocks that the Neural-ART compiler adds: memory, used ranges, epochs ------------------------------------------------

UNITS = {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3}
_AMOUNT = r"([\d.,]{1,24})\s*(B|kB|MB|GB)"
_RANGE = r"\[0x([0-9A-Fa-f]{1,16}) - 0x([0-9A-Fa-f]{1,16})\]:"
_POOL = re.compile(
    rf"(\S.*?)\s+{_RANGE}\s+{_AMOUNT}\s*/\s*{_AMOUNT}\s*\([^)]*\)"
    rf"(?:\s*--\s*weights:\s*{_AMOUNT}\s*\([^)]*\)\s*activations:\s*{_AMOUNT}.*)?"
)
_USED = re.compile(rf"(\S.*?)\s+{_RANGE}\s+(0x[0-9A-Fa-f]{{1,16}}.*)")
_PART = re.compile(r"0x([0-9A-Fa-f]{1,16})\s*-\s*0x([0-9A-Fa-f]{1,16})")
_OLD_TOTAL = re.compile(r"Total number of epochs:\s*(\d{1,9}) of which (\d{1,9}) implemented in software")
_NEW_TOTAL = re.compile(r"Total number of epochs\s+(\d{1,9})")
_NEW_COUNT = re.compile(r">> (pure software|hybrid|pure hardware)\b.*?\s(\d{1,9})(?:\s+\(implemented in (\d{1,9}) .*)?")
_OLD_EPOCH = re.compile(r"epoch (\d{1,9})\s+-?([A-Za-z/_]{2,12}|\?\?)-?(?:\s+\(\s*(.*?)\s*\))?")
_NEW_EPOCH = re.compile(r"\|\s*epochs?[_ ]\s*(\d{1,9})(?:\s*->\s*(\d{1,9}))?\s*\|\s*(\S+)\s*\|\s*(.*?)\s*\|")
_OTHER_TOOL = re.compile(r"(neuralart reference compiler)\b")
_EMPTY = re.compile(r"\|\s*<no executed epochs>\s*\|")
# Up to 2.x the list has no word for an epoch that needs both.
_KINDS = {"??": "HYBRID", "HW": "HW", "EC": "EC", "SW": "SW", "HYBRID": "HYBRID", "HW/SW": "HYBRID", "SW/HW": "HYBRID"}


def _block(lines: list[ReportLine], heading: str) -> list[ReportLine]:
    """Lines below a heading up to the line of equal signs."""
    return list(takewhile(lambda line: not line.is_end, below(lines, heading)))


def _bytes(number: str, unit: str) -> float | None:
    amount = tables.figure(number.replace(",", ""))
    return None if amount is None else amount * UNITS[unit]


def read_pools(lines: list[ReportLine], notes: list[str]) -> tuple[PoolUsage, ...]:
    """The memory table, with the used range of each pool."""
    pools: list[PoolUsage] = []
    for line in _block(lines, "Memory usage information"):
        found = _POOL.fullmatch(line.bare)
        read = [_bytes(found[at] or "0", found[at + 1] or "B") for at in (4, 8, 10)] if found else []
        amounts = [amount for amount in read if amount is not None]
        if found is None or len(amounts) < len(read):
            if "[0x" in line.bare:
                notes.append(tables.not_understood(line, "memory table"))
            continue
        name, low, high, _, unit, *_ = found.groups()
        # Three decimals are printed: half of the last one may be missing.
        uncertainty = math.ceil(UNITS[unit] / 2000) if unit != "B" else 0
        total, constants, activations = (round(amount) for amount in amounts)
        pools.append(PoolUsage(name, int(low, 16), int(high, 16), total, constants, activations, uncertainty))
    ranges = _ranges(lines, notes)
    return tuple(
        replace(pool, first=ranges[pool.name][0], last=ranges[pool.name][1]) if pool.name in ranges else pool
        for pool in pools
    )


def _ranges(lines: list[ReportLine], notes: list[str]) -> dict[str, tuple[int, int]]:
    """``Used memory ranges``: first and last address by the pool's name."""
    ranges: dict[str, tuple[int, int]] = {}
    for line in _block(lines, "Used memory ranges"):
        found = _USED.fullmatch(line.bare)
        parts = [(int(low, 16), int(high, 16)) for low, high in _PART.findall(found.group(4))] if found else []
        if found and parts:
            ranges[found.group(1)] = (min(low for low, _ in parts), max(high for _, high in parts))
        elif "[0x" in line.bare:
            notes.append(tables.not_understood(line, "used ranges"))
    return ranges


def read_counts(lines: list[ReportLine]) -> EpochCounts | None:
    """``Total number of epochs``, in the style of up to 2.x or of 3.0 and later."""
    for i, line in enumerate(lines):
        old = _OLD_TOTAL.match(line.bare)
        if old:
            return EpochCounts(int(old.group(1)), int(old.group(2)))
        new = _NEW_TOTAL.fullmatch(line.bare)
        if new:
            figures: dict[str, int] = {}
            blobs = None
            for other in lines[i + 1 : i + 6]:
                found = _NEW_COUNT.match(other.bare)
                if found:
                    figures[found.group(1)] = int(found.group(2))
                    blobs = int(found.group(3)) if found.group(3) else blobs
            software, hybrid = figures.get("pure software", 0), figures.get("hybrid")
            return EpochCounts(int(new.group(1)), software, hybrid, figures.get("pure hardware"), blobs)
    return None


def read_epochs(lines: list[ReportLine], notes: list[str]) -> tuple[ReportEpoch, ...]:
    """The list of epochs in both styles; the tail of console output may begin in the middle of it."""
    epochs = []
    for line in lines:
        bare = line.bare
        new = _NEW_EPOCH.fullmatch(bare) if bare.startswith("|") else None
        old = _OLD_EPOCH.fullmatch(bare) if bare.startswith("epoch ") else None
        if new:
            number, last, kind, operators = new.groups()
        elif old:
            number, last, kind, operators = old[1], None, old[2], old[3] or ""
        else:
            if re.match(r"\| epochs?[_ ] *\d|epoch \d", bare):
                notes.append(tables.not_understood(line, "list of epochs"))
            continue
        known = _KINDS.get(kind.upper())
        if known is None:
            notes.append(f"line {line.number}: '{kind}' is no kind of epoch that is known")
            continue
        names = tuple(name.strip() for name in operators.split(",") if name.strip())
        epochs.append(ReportEpoch(int(number), int(last or number), known, names))
    return tuple(epochs)


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


def _command(lines: list[ReportLine], parameters: str, summary: str) -> str:
    first = parameters.split(None, 1)[0] if parameters else ""
    ran = next((found[1] or found[2] for line in lines if (found := _RAN.search(line.text))), "")
    ended = next((found[1].lower() for line in lines if (found := _ELAPSED.search(line.text))), "")
    return (first if first in COMMANDS else "") or summary or ran or (ended if ended in COMMANDS else "")


def parse_report(data: bytes, file: str) -> Report:
    """Read the content of a report; NeuralArtError if nothing in it comes from ST Edge AI Core."""
    every, added = lines_of(data)
    lines = without_long(every)
    version = next((found for line in every if (found := _VERSION.search(line.text))), None)
    other = _OTHER_TOOL.match(every[0].bare) if every else None
    notes: list[str] = []
    parameters = after(every, "Parameters")
    summary_command, summary = tables.read_summary(lines)
    target, sections = tables.read_sections(lines, notes)
    flash, ram = tables.read_flash_and_ram(lines)
    totals, c_totals = tables.read_totals(lines)
    elapsed = next((found for line in lines if (found := _ELAPSED.search(line.text))), None)
    created = after(lines, "Created date")
    named = (line.bare.removeprefix("Model name - ") for line in lines if line.bare.startswith("Model name - "))
    report = Report(
        file=file,
        core=parse_core(version.group(1)) if version else None,
        tool=other.group(1) if other else "",
        command=_command(every, parameters, summary_command),
        created=created,
        parameters=parameters,
        model=next(named, "") or dict(summary).get("model_name", ""),
        log=added or not (created or other),
        summary=summary,
        layers=tables.read_layers(lines, notes),
        totals=totals,
        c_totals=c_totals,
        target=target,
        compiler=after(every, "Compiler version"),
        compiler_arguments=after(every, "Compiler arguments"),
        pools=read_pools(lines, notes),
        counts=read_counts(lines),
        epochs=read_epochs(lines, notes),
        empty_blobs=sum(_EMPTY.match(line.bare) is not None for line in lines),
        sections=sections,
        flash=flash,
        ram=ram,
        files=tables.read_files(lines),
        validation=read_validation(lines, notes),
        elapsed=tables.figure(elapsed[2]) if elapsed else None,
        warnings=tuple(dict.fromkeys(line.bare for line in every if line.bare.startswith("WARNING:"))),
        errors=tuple(dict.fromkeys(line.bare for line in every if _ERROR.match(line.bare))),
        notes=tuple(notes),
    )
    if version is None and not (report.pools or report.counts or report.epochs or report.sections or report.files):
        what = "not a report: no line 'ST Edge AI Core v...' and none of the blocks of one"
        raise NeuralArtError(what, where=f"{file}:1", hint="the file may be cut off at its beginning")
    return report


read = of_file(parse_report)
