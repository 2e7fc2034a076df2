"""Tables of a report that every target has: layers, sections, files, the summary of the run."""

from __future__ import annotations

import re
from dataclasses import replace

from neuralart.vendor.report.lines import Line, spans, whole
from neuralart.vendor.report.types import Layer, SectionSizes, Totals

_TOTAL = re.compile(r"(\w+)=([\d,]+|--)(?:/([\d,]+|--))?")
_SIZES = re.compile(r"(\S.*?)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)\s+([\d,]+)")
_TARGET = re.compile(r'Requested memory size by section - "([^"]*)" target')
_SHAPE = re.compile(r"\[[^\[\]]{0,200}\]")
_AXIS = re.compile(r"(\w{1,12}):(\d{1,12})")
_PAIR = re.compile(r"(\S.{0,40}?)\s+:\s+(\S.*)")


def read_layers(lines: list[Line], notes: list[str]) -> tuple[Layer, ...]:
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


def _layer(m_id: int, cells: dict[str, str], line: Line, notes: list[str]) -> Layer:
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


def read_totals(lines: list[Line]) -> tuple[Totals | None, Totals | None]:
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


def read_sections(lines: list[Line], notes: list[str]) -> tuple[str, tuple[SectionSizes, ...]]:
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


def read_flash_and_ram(lines: list[Line]) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
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


def read_summary(lines: list[Line]) -> tuple[str, tuple[tuple[str, str], ...]]:
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


def read_files(lines: list[Line]) -> tuple[str, ...]:
    """``Generated files (5)``."""
    for i, line in enumerate(lines):
        found = re.fullmatch(r"Generated files \((\d{1,4})\)", line.bare)
        if found:
            rest = [other.bare for other in lines[i + 1 :] if not other.is_ruler and other.bare]
            return tuple(rest[: int(found.group(1))])
    return ()
