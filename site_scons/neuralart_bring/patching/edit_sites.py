"""Places in a C source that are patched: the block between two marker lines, macros, names of sections."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError, nearest
from neuralart.text.c_source import CSource, Line

_DEFINE = re.compile(r"^[ \t]*\#[ \t]*define[ \t]+([A-Za-z_]\w*)(\(?)([^\n]*)", re.MULTILINE)
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20})[uUlL]*")
# In ``__attribute__((section("...")))``.
_SECTION = re.compile(r'(?<![\w"])(?:__section__|section)\s*\(\s*"([^"\\\n]*)"\s*\)')

Span = tuple[int, int]  # offsets [start, stop) of characters


@dataclass(frozen=True)
class Markers:
    """The lines that stand round a block, less their line ends."""

    start: str
    stop: str


@dataclass(frozen=True)
class MarkedBlock:
    """What is strictly between the marker lines."""

    start: int  # offset of the first character behind the START line
    stop: int  # offset of the first character of the STOP line
    eol: str  # line end to write: that of the START line
    first: int  # number of its first line


def _marker_lines(source: CSource, marker: str) -> list[Line]:
    """Lines that are this marker, as a comment of its own (not within a comment or a string)."""
    comments = {start for start, _ in source.comments}
    indent = len(marker) - len(marker.lstrip())
    found = (line for line in source.lines if source.text[line.start : line.stop] == marker)
    return [line for line in found if line.start + indent in comments]


def _difference(text: str, marker: str) -> str:
    if text.strip() != marker.strip():
        return "another text"
    said = []
    if text[: len(text) - len(text.lstrip())] != marker[: len(marker) - len(marker.lstrip())]:
        said.append("another indentation")
    if text.rstrip() != text:
        said.append("blanks at its end")
    return " and ".join(said) or "within a comment or a string"


def _missing(source: CSource, marker: str, other: str) -> NeuralArtError:
    """The error that shows the line that was meant most probably."""
    best, at = 0.6, None
    for line in source.lines:
        text = source.text[line.start : line.stop]
        if len(text) < 3 * len(marker) and text != other:
            ratio = difflib.SequenceMatcher(None, text.strip().lower(), marker.strip().lower()).ratio()
            if ratio > best:
                best, at = ratio, line
    what = f"the marker line '{_quoted(marker)}' is missing"
    if at is None:
        return NeuralArtError(f"{what}, and no line looks like it", where=source.name, hint="is it the file?")
    text = source.text[at.start : at.stop]
    shown = text.replace("\t", "\\t").encode("ascii", "backslashreplace").decode()
    what += f"; line {at.number} looks like it: '{_quoted(shown)}' ({_difference(text, marker)})"
    return NeuralArtError(what, where=source.name, hint=f"make line {at.number} exactly the marker")


def _quoted(text: str) -> str:
    """Blanks at the ends are what such errors are about: messages fold blanks, so they are drawn."""
    body = text.strip(" ")
    return "␣" * (len(text) - len(text.lstrip(" "))) + body + "␣" * (len(text) - len(text.rstrip(" ")))


def find_block(source: CSource, markers: Markers) -> MarkedBlock:
    """The block; NeuralArtError: a marker is missing or stands there several times, or STOP stands before START."""
    starts, stops = _marker_lines(source, markers.start), _marker_lines(source, markers.stop)
    for marker, found in ((markers.start, starts), (markers.stop, stops)):
        if len(found) > 1:
            listed = ", ".join(str(line.number) for line in found)
            what = f"the marker line '{_quoted(marker)}' stands there {len(found)} times, in lines {listed}"
            raise NeuralArtError(what, where=source.name, hint="one block per file: remove the others")
    if not starts:
        raise _missing(source, markers.start, markers.stop)
    start = starts[0]
    if not stops:
        error = _missing(source, markers.stop, markers.start)
        what = f"the block that starts in line {start.number} has no end: {error.what}"
        raise NeuralArtError(what, where=source.name, hint=error.hint)
    if stops[0].start < start.start:
        what = f"the block ends in line {stops[0].number} before it starts in line {start.number}"
        raise NeuralArtError(what, where=source.name)
    return MarkedBlock(start.end, stops[0].start, source.eol(start), start.number + 1)


def content(source: CSource, block: MarkedBlock) -> str:
    """What is in it, with LF line ends."""
    return source.text[block.start : block.stop].replace("\r\n", "\n")


@dataclass(frozen=True)
class Definition:
    name: str
    start: int  # offset of the directive
    value: Span  # its replacement list, without comments and blanks round it
    function_like: bool  # it has parameters


def _seen(pattern: re.Pattern[str], source: CSource, outside: Sequence[Span]) -> list[re.Match[str]]:
    """What the compiler may see and does not stand in some places, in the order of the file."""
    found = (match for match in pattern.finditer(source.code) if source.alive(match.start()))
    return [match for match in found if not any(start <= match.start() < stop for start, stop in outside)]


def definitions(source: CSource, outside: Sequence[Span] = ()) -> list[Definition]:
    """All that the compiler may see but for some places, in the order of the file."""
    found = []
    for match in _seen(_DEFINE, source, outside):
        rest = match.group(3)
        body = rest.strip()
        start = match.start(3) + (len(rest) - len(rest.lstrip()) if body else 0)
        found.append(Definition(match.group(1), match.start(), (start, start + len(body)), bool(match.group(2))))
    return found


def find_macro(source: CSource, name: str, outside: Sequence[Span] = ()) -> Definition | None:
    """The one definition of a macro; None if there is none; NeuralArtError: there are several, or it has parameters."""
    found = [each for each in definitions(source, outside) if each.name == name]
    if len(found) > 1:
        listed = ", ".join(str(source.line_of(each.start)) for each in found)
        what = f"{name} is defined {len(found)} times, in lines {listed}: which one counts?"
        hint = "keep one definition (what stands under #if 0 or in comments does not count)"
        raise NeuralArtError(what, where=source.name, hint=hint)
    if found and found[0].function_like:
        what = f"{name} has parameters, a plain macro is to be patched"
        raise NeuralArtError(what, where=source.where(found[0].start))
    return found[0] if found else None


def require_macro(source: CSource, name: str, outside: Sequence[Span] = ()) -> Definition:
    """The one definition of a macro; NeuralArtError: there is none, or several, or it has parameters."""
    found = find_macro(source, name, outside)
    if found is None:
        known = tuple(sorted({each.name for each in definitions(source, outside)}))
        hint = nearest(name, known).partition("? known")[0]
        hint = f"{hint}?" if hint.startswith("did") else ""
        raise NeuralArtError(f"no #define {name} found", where=source.name, hint=hint)
    return found


def value_text(source: CSource, definition: Definition) -> str:
    """The replacement list in one line, comments as blanks."""
    return " ".join(source.code[slice(*definition.value)].split())


def integer(source: CSource, definition: Definition) -> int:
    """The value of a macro that is a plain number, possibly in parentheses; NeuralArtError: it is something else."""
    text = value_text(source, definition).replace(" ", "")
    while text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    match = _INTEGER.fullmatch(text)
    octal = match is not None and len(match.group(1)) > 1 and match.group(1).isdigit() and text.startswith("0")
    if match is None or octal:
        what = f"{definition.name} is '{value_text(source, definition)}', a plain decimal or hexadecimal number is read"
        raise NeuralArtError(what, where=source.where(definition.start))
    return int(match.group(1), 0)


@dataclass(frozen=True)
class Attribute:
    """The name of a section in a source: ``source.text[start:stop] == name``."""

    name: str
    start: int
    stop: int


def attributes(source: CSource, outside: Sequence[Span] = ()) -> list[Attribute]:
    """All that the compiler may see but for some places, in the order of the file."""
    return [Attribute(match.group(1), *match.span(1)) for match in _seen(_SECTION, source, outside)]


def require_attribute(source: CSource, family: str, outside: Sequence[Span] = ()) -> Attribute:
    """The one attribute whose section is called ``family`` or ``family_...``; NeuralArtError: none, or several."""
    every = attributes(source, outside)
    found = [each for each in every if each.name == family or each.name.startswith(f"{family}_")]
    if not found:
        listed = ", ".join(dict.fromkeys(each.name for each in every)) or "none"
        hint = f"sections that are named there: {listed}"
        raise NeuralArtError(f"no variable has a section attribute {family}...", where=source.name, hint=hint)
    if len(found) > 1:
        lines = ", ".join(str(source.line_of(each.start)) for each in found)
        what = f"{len(found)} section attributes {family}..., in lines {lines}: which one counts?"
        hint = "keep one (what stands under #if 0 or in comments does not count)"
        raise NeuralArtError(what, where=source.name, hint=hint)
    return found[0]
