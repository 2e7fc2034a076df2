"""Lines of a report or of captured console output, and the tables that every target has."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from neuralart.vendor.report.types import Layer, SectionSizes, Totals

# Progress bars share the line with what follows; the graphical front end stamps each line.
_PROGRESS = re.compile(r"PASS:\s{0,8}\d{1,3}%\|[^|\n]{0,200}\|\s{0,4}\d+/\d+ \[[^\]\n]{0,80}\]\s*")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{1,6} \[[A-Z]{1,10}\] \w{1,40}:\d{1,6} - ?")
_RULER = re.compile(r"-{3,}(?: +-{2,})*")
_BREAK = re.compile(r"\r\n|\n|\r")


# Command lines are longer; no line of a table is.
LONGEST = 2000


@dataclass(frozen=True)
class ReportLine:
    """A line."""

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
    """Lines that say something.

    Returns:
        The lines, blank ones left in; and whether a console had added anything.
    """
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


def spans(ruler: str) -> list[tuple[int, int]]:
    """Columns of a table from its ruler: ``--- -----`` has (0, 3) and (4, 9)."""
    return [match.span() for match in re.finditer(r"-+", ruler)]


def whole(text: str) -> int | None:
    """``1,234`` or None."""
    return int(text.replace(",", "")) if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3}){1,6}|[0-9]{1,20}", text) else None


_TOTAL = re.compile(r"(\w+)=([\d,]+|--)(?:/([\d,]+|--))?")
_SIZES = re.compile(r"(\S.*?)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)")
_TARGET = re.compile(r'Requested memory size by section - "([^"]*)" target')
_SHAPE = re.compile(r"\[[^\[\]]{0,200}\]")
_AXIS = re.compile(r"(\w{1,12}):(\d{1,12})")
_PAIR = re.compile(r"(\S.{0,40}?)\s+:\s+(\S.*)")


def read_layers(lines: list[ReportLine], notes: list[str]) -> tuple[Layer, ...]:
    """The layer table, from its header ``m_id layer (...)`` on; empty if there is none."""
    at = next((i for i, line in enumerate(lines) if re.match(r"\s*m_id\s+layer \(", line.text)), 0)
    if not at or not lines[at - 1].is_ruler:
        return ()
    columns: list[tuple[int, int | None]] = [*spans(lines[at - 1].text)]
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
            before = layers.pop()
            layers.append(_connected(before, cells["connected to"]))
    return tuple(layers)


def _connected(layer: Layer, source: str) -> Layer:
    return replace(layer, inputs=(*layer.inputs, source))


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
    at = next((i for i, line in enumerate(lines) if _TARGET.search(line.text)), None)
    if at is None:
        return "", ()
    target = _TARGET.search(lines[at].text)
    assert target is not None
    rows = []
    for line in lines[at + 1 :]:
        bare = line.bare
        if bare.startswith(("*", "Summary - ")) or line.is_end:
            break
        found = _SIZES.fullmatch(bare)
        sizes = [whole(text) for text in found.groups()[1:]] if found else [None]
        if found and None not in sizes:
            module = found.group(1).rstrip("*").strip()
            rows.append(SectionSizes(module, *(size for size in sizes if size is not None)))
        elif bare and not line.is_ruler and not bare.startswith("module"):
            notes.append(f"line {line.number}: '{bare[:60]}' was not understood in the table of sections")
        if rows and rows[-1].module == "TOTAL":
            break
    return target.group(1), tuple(rows)


def read_flash_and_ram(lines: list[ReportLine]) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """``Summary - "..." target``: (runtime, total) bytes of flash, and of RAM."""
    at = next((i for i, line in enumerate(lines) if re.match(r'\s*Summary - ".*" target', line.text)), None)
    if at is None:
        return None, None
    figures: dict[str, list[int]] = {}
    for line in lines[at + 1 : at + 40]:
        for label in ("RT total", "TOTAL"):
            if line.bare.startswith(label):
                words = line.bare.removeprefix(label).split()
                figures.setdefault(label, [])
                figures[label] += [number for word in words if (number := whole(word)) is not None]
    runtime, total = figures.get("RT total", []), figures.get("TOTAL", [])
    if len(runtime) < 2 or len(total) < 2:
        return None, None
    return (runtime[0], total[0]), (runtime[1], total[1])


def read_summary(lines: list[ReportLine]) -> tuple[str, tuple[tuple[str, str], ...]]:
    """``Exec/report summary (generate)``: the command and its ``name : text`` lines."""
    heading = re.compile(r"Exec/report summary \((\w+)\)")
    for i, line in enumerate(lines):
        found = heading.search(line.text)
        if found:
            pairs = []
            rulers = 0
            for other in lines[i + 1 :]:
                rulers += other.is_ruler
                pair = _PAIR.fullmatch(other.bare)
                if pair:
                    pairs.append((pair.group(1), pair.group(2)))
                elif rulers >= 3 or not (other.is_ruler or not other.bare):
                    break
            return found.group(1).lower(), tuple(pairs)
    return "", ()


def read_files(lines: list[ReportLine]) -> tuple[str, ...]:
    """``Generated files (5)``."""
    for i, line in enumerate(lines):
        found = re.fullmatch(r"Generated files \((\d{1,4})\)", line.bare)
        if found:
            rest = [other.bare for other in lines[i + 1 :] if not other.is_ruler and other.bare]
            return tuple(rest[: int(found.group(1))])
    return ()
