"""Lines of a report or of captured console output, and the tables that every target has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from neuralart_insight.vendor.report.types import Accuracy, Layer, NodeTime, SectionSizes, Totals, Validation

# Progress bars share the line with what follows; the graphical front end stamps each line.
_PROGRESS = re.compile(r"PASS:\s{0,8}\d{1,3}%\|[^|\n]{0,200}\|\s{0,4}\d+/\d+ \[[^\]\n]{0,80}\]\s*")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{1,6} \[[A-Z]{1,10}\] \w{1,40}:\d{1,6} - ?")
_RULER = re.compile(r"-{3,}(?: +-{2,})*")
_BREAK = re.compile(r"\r\n|\n|\r")


# Command lines are longer; no line of a table is.
LONGEST = 2000


@dataclass(frozen=True)
class ReportLine:
    number: int  # In the file, from 1
    text: str  # Without its end and blanks behind; blanks in front are kept, tables need them

    @property
    def bare(self) -> str:
        """Without blanks around it."""
        return self.text.strip()

    @property
    def is_ruler(self) -> bool:
        """Dashes only."""
        return bool(_RULER.fullmatch(self.bare))

    @property
    def is_end(self) -> bool:
        """The line of equal signs behind a block."""
        bare = self.bare
        return len(bare) > 20 and not bare.strip("=")


def decode(data: bytes) -> str:
    """Text of a console or of an editor: UTF-8, UTF-16 with a mark in front, or else the Western code page."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def lines_of(data: bytes) -> tuple[list[ReportLine], bool]:
    """The lines, blank ones left in; and whether a console had added anything."""
    lines: list[ReportLine] = []
    added = False
    for number, raw in enumerate(_BREAK.split(decode(data)), start=1):
        text = _STAMP.sub("", raw, count=1) if raw[:4].isdigit() else raw
        if "PASS:" in text:
            text = _PROGRESS.sub("", text)
        added = added or text != raw
        lines.append(ReportLine(number, text.rstrip()))
    return lines, added


def without_long(lines: list[ReportLine]) -> list[ReportLine]:
    """The same with lines emptied that are too long to be in a table."""
    return [line if len(line.text) <= LONGEST else ReportLine(line.number, "") for line in lines]


def below(lines: list[ReportLine], heading: str) -> list[ReportLine]:
    """The lines behind the first one that begins with a pattern; none if there is no such line."""
    pattern = re.compile(heading)
    return next((lines[at + 1 :] for at, line in enumerate(lines) if pattern.match(line.bare)), [])


def after(lines: list[ReportLine], label: str) -> str:
    """Text behind ``label :``; empty if there is no such line."""
    pattern = re.compile(rf"{re.escape(label)}\s*:\s*(\S.*)")
    return next((found[1].strip() for line in lines if (found := pattern.match(line.bare))), "")


def not_understood(line: ReportLine, where: str) -> str:
    """A note about a line of a known block."""
    return f"line {line.number}: '{line.bare[:60]}' was not understood in the {where}"


def whole(text: str) -> int | None:
    """``1,234`` or None."""
    return int(text.replace(",", "")) if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20}", text) else None


_TOTAL = re.compile(r"(\w+)=([\d,]+|--)(?:/([\d,]+|--))?")
_SIZES = re.compile(r"(\S.*?)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)")
_TARGET = re.compile(r'Requested memory size by section - "([^"]*)" target')
_SHAPE = re.compile(r"\[[^\[\]]{0,200}\]")
_AXIS = re.compile(r"(\w{1,12}):(\d{1,12})")
_SUMMARY = re.compile(r"Exec/report summary \((\w+)\)")
_PAIR = re.compile(r"(\S.{0,40}?)\s+:\s+(\S.*)")


def read_layers(lines: list[ReportLine], notes: list[str]) -> tuple[Layer, ...]:
    """The layer table, from its header ``m_id layer (...)`` on; empty if there is none."""
    at = next((i for i, line in enumerate(lines) if re.match(r"\s*m_id\s+layer \(", line.text)), 0)
    if not at or not lines[at - 1].is_ruler:
        return ()
    # ``--- -----`` has the columns (0, 3) and (4, 9).
    columns: list[tuple[int, int | None]] = [match.span() for match in re.finditer(r"-+", lines[at - 1].text)]
    # A last column may be wider than its ruler.
    columns[-1] = (columns[-1][0], None)
    titles = [lines[at].text[start:end].strip().split(" (")[0] for start, end in columns]
    layers: list[Layer] = []
    m_id = 0
    for line in lines[at + 1 :]:
        if not line.bare or line.bare.startswith(("model:", "model/")):
            break
        if line.is_ruler or not line.bare.strip("-| "):
            continue
        cells = dict(zip(titles, (line.text[start:end].strip() for start, end in columns), strict=True))
        m_id = found if (found := whole(cells.get("m_id", ""))) is not None else m_id
        if cells.get("layer"):
            layers.append(_layer(m_id, cells, line, notes))
        elif layers and cells.get("connected to"):
            layers[-1] = replace(layers[-1], inputs=(*layers[-1].inputs, cells["connected to"]))
    return tuple(layers)


def _layer(m_id: int, cells: dict[str, str], line: ReportLine, notes: list[str]) -> Layer:
    name, _, kinds = cells["layer"].rpartition(" (")
    words = [word.strip() for word in kinds.removesuffix(")").split(",")]
    if not name:
        name, words = cells["layer"], [""]
    parameters, _, size = cells.get("param/size", "").partition("/")
    written = cells.get("oshape", "")
    shapes = [_AXIS.findall(shape) for shape in _SHAPE.findall(written)]
    if written and written != "".join(
        f"[{','.join(f'{axis}:{length}' for axis, length in shape)}]" for shape in shapes
    ):
        notes.append(f"line {line.number}: the shape {written[:60]} was not understood")
        shapes = []
    source = cells.get("connected to", "")
    return Layer(
        m_id=m_id,
        name=name,
        type=words[0] if len(words) > 1 else "",
        original=words[-1],
        outputs=tuple(tuple((axis, int(length)) for axis, length in shape) for shape in shapes),
        parameters=whole(parameters),
        size=whole(size),
        macc=whole(cells.get("macc", "")),
        inputs=(source,) if source else (),
    )


def read_totals(lines: list[ReportLine]) -> tuple[Totals | None, Totals | None]:
    """``model: macc=...`` and ``model/c-model: macc=A/B ...``: of the model, and of the generated C."""
    for line in lines:
        if not line.bare.startswith(("model: macc=", "model/c-model: macc=")):
            continue
        model: dict[str, int | None] = {}
        c_model: dict[str, int | None] = {}
        for key, first, second in _TOTAL.findall(line.bare):
            if key in ("macc", "weights", "activations", "io"):
                model[key] = whole(first)
                c_model[key] = whole(second)
        return Totals(**model), Totals(**c_model) if line.bare.startswith("model/") else None
    return None, None


def read_sections(lines: list[ReportLine], notes: list[str]) -> tuple[str, tuple[SectionSizes, ...]]:
    """``Requested memory size by section``: the target and a line per module, sums included."""
    found_at = ((at, found) for at, line in enumerate(lines) if (found := _TARGET.search(line.text)))
    at, target = next(found_at, (len(lines), None))
    rows = []
    for line in lines[at + 1 :]:
        bare = line.bare
        if bare.startswith(("*", "Summary - ")) or line.is_end:
            break
        found = _SIZES.fullmatch(bare)
        sizes = [size for text in found.groups()[1:] if (size := whole(text)) is not None] if found else []
        if found and len(sizes) == len(found.groups()) - 1:
            rows.append(SectionSizes(found[1].rstrip("*").strip(), *sizes))
        elif bare and not line.is_ruler and not bare.startswith("module"):
            notes.append(not_understood(line, "table of sections"))
        if rows and rows[-1].module == "TOTAL":
            break
    return target[1] if target else "", tuple(rows)


def read_flash_and_ram(lines: list[ReportLine]) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """``Summary - "..." target``: (runtime, total) bytes of flash, and of RAM."""
    figures: dict[str, list[int]] = {"RT total": [], "TOTAL": []}
    for line in below(lines, r'Summary - ".*" target')[:39]:
        for label in figures:
            if line.bare.startswith(label):
                words = line.bare.removeprefix(label).split()
                figures[label] += [number for word in words if (number := whole(word)) is not None]
    runtime, total = figures.values()
    if len(runtime) < 2 or len(total) < 2:
        return None, None
    return (runtime[0], total[0]), (runtime[1], total[1])


def read_summary(lines: list[ReportLine]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """``Exec/report summary (generate)``: the command and its ``name : text`` lines."""
    command, rulers = "", 0
    pairs = []
    for line in lines:
        found, pair = _SUMMARY.search(line.text), _PAIR.fullmatch(line.bare)
        if not command:
            command = found[1].lower() if found else ""
            continue
        rulers += line.is_ruler
        if pair:
            pairs.append((pair[1], pair[2]))
        elif rulers >= 3 or not (line.is_ruler or not line.bare):
            break
    return command, tuple(pairs)


def read_files(lines: list[ReportLine]) -> tuple[str, ...]:
    for i, line in enumerate(lines):
        if found := re.fullmatch(r"Generated files \((\d{1,4})\)", line.bare):
            rest = [other.bare for other in lines[i + 1 :] if not other.is_ruler and other.bare]
            return tuple(rest[: int(found[1])])
    return ()


# What ``validate`` adds: accuracy, times, the board -------------------------------------------------------------------

_NODE = re.compile(
    r"(\d{1,9})\s+(\S+)\s+(\S.*?)\s{2,}([\d.]{1,20})\s+([\d.]{1,20})\s*%(?:\s+[\d.]{1,20}\s*%)?"
    r"(?:\s+\[\s*([\d, ]*?)\s*\])?(?:\s+(\S.*))?"
)
_NUMBER = re.compile(r"[+-]?(?:(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,4})?|inf|nan)")
_SHARE = re.compile(r"([A-Za-z][\w ]{0,20}): ([\d.]{1,12})%")


def figure(text: str) -> float | None:
    """A number with a point; None for what is none."""
    return float(text) if _NUMBER.fullmatch(text) else None


def _cycles(text: str) -> tuple[int, ...]:
    """``8,398  105,738    2,599``."""
    return tuple(number for word in text.split() if (number := whole(word.strip(","))) is not None)


def read_accuracy(lines: list[ReportLine], notes: list[str]) -> tuple[Accuracy, ...]:
    """The table below ``Evaluation report (summary)``; its columns differ between versions and are read from it."""
    rows: list[Accuracy] = []
    columns: list[str] = []
    rulers = 0
    for line in below(lines, r"Evaluation report \(summary\)"):
        rulers += line.is_ruler
        if rulers == 3:
            break
        if line.is_ruler or not line.bare:
            continue
        cells = re.split(r"\s{2,}", line.bare)
        if not columns:
            columns = line.bare.split()[1:-1]
            continue
        if len(cells) < len(columns) + 2:
            notes.append(not_understood(line, "accuracy table"))
            continue
        cells = [*cells[: len(columns) + 1], "  ".join(cells[len(columns) + 1 :])]
        figures = tuple(zip(columns, (figure(cell) for cell in cells[1:-1]), strict=True))
        rows.append(Accuracy(cells[0], figures, cells[-1]))
    return tuple(rows)


def read_nodes(lines: list[ReportLine], notes: list[str]) -> tuple[NodeTime, ...]:
    """The table below ``Inference time per node``."""
    nodes = []
    for line in below(lines, "Inference time per node"):
        bare = line.bare
        if bare.startswith("total"):
            break
        found = _NODE.fullmatch(bare)
        if found:
            c_id, m_id, kind, duration, percent, cycles, name = found.groups()
            time, share = figure(duration), figure(percent)
            if time is not None and share is not None:
                nodes.append(NodeTime(int(c_id), m_id, kind, time, share, _cycles(cycles or ""), (name or "").strip()))
                continue
        if bare and bare[0].isdigit():
            notes.append(not_understood(line, "table of times"))
        elif not bare and nodes:
            break
    return tuple(nodes)


def read_validation(lines: list[ReportLine], notes: list[str]) -> Validation | None:
    """All results; None if there are none."""
    accuracy = read_accuracy(lines, notes)
    nodes = read_nodes(lines, notes)
    device = after(lines, "device.desc")
    if not (accuracy or nodes or device):
        return None
    duration = re.match(r"([\d.]{1,20}) ms by sample(?: \(([\d./]{1,80})\))?", after(lines, "duration"))
    spread = tuple(figure(text) for text in duration.group(2).split("/")) if duration and duration.group(2) else ()
    rate = next((found for line in lines if (found := re.search(r"([\d.]{1,20}) inf/s", line.text))), None)
    shares = next((line.bare for line in lines if re.match(r"HW: [\d.]+%", line.bare)), "")
    return Validation(
        accuracy=accuracy,
        samples=whole(after(lines, "nb sample(s)")),
        duration_ms=figure(duration.group(1)) if duration else None,
        duration_spread=tuple(each for each in spread if each is not None),
        cycles=_cycles(after(lines, "CPU cycles").strip("[]")),
        inferences_per_second=figure(rate.group(1)) if rate else None,
        nodes=nodes,
        device=device,
        attributes=after(lines, "device.attrs"),
        runtime=after(lines, "runtime lib"),
        shares=tuple((name, share) for name, text in _SHARE.findall(shares) if (share := figure(text)) is not None),
    )
