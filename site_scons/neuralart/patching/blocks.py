"""The block between two marker lines."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import CSource, Line


@dataclass(frozen=True)
class Markers:
    """The lines that stand round a block, less their line ends."""

    start: str
    stop: str


@dataclass(frozen=True)
class Block:
    """What is strictly between the marker lines.

    Attributes:
        start: Offset of the first character behind the START line.
        stop: Offset of the first character of the STOP line.
        eol: Line end to write: that of the START line.
        first: Number of its first line.
    """

    start: int
    stop: int
    eol: str
    first: int


def _places(source: CSource, marker: str) -> list[Line]:
    """Lines that are this marker, as a comment of its own (not within a comment or a string)."""
    comments = {start for start, _ in source.comments}
    found = []
    for line in source.lines:
        text = source.text[line.start : line.stop]
        if text == marker and line.start + len(text) - len(text.lstrip()) in comments:
            found.append(line)
    return found


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
    if at is None:
        return NeuralArtError(
            f"the marker line '{_quoted(marker)}' is missing, and no line looks like it",
            where=source.name,
            hint="is it the file?",
        )
    text = source.text[at.start : at.stop]
    shown = text.replace("\t", "\\t").encode("ascii", "backslashreplace").decode()
    return NeuralArtError(
        f"the marker line '{_quoted(marker)}' is missing; line {at.number} looks like it: '{_quoted(shown)}' "
        f"({_difference(text, marker)})",
        where=source.name,
        hint=f"make line {at.number} exactly the marker",
    )


def _quoted(text: str) -> str:
    """Blanks at the ends are what such errors are about: messages fold blanks, so they are drawn."""
    body = text.strip(" ")
    return "␣" * (len(text) - len(text.lstrip(" "))) + body + "␣" * (len(text) - len(text.rstrip(" ")))


def find(source: CSource, markers: Markers) -> Block:
    """The block.

    Raises:
        NeuralArtError: A marker is missing or stands there several times, or STOP stands before START.
    """
    starts, stops = _places(source, markers.start), _places(source, markers.stop)
    for marker, found in ((markers.start, starts), (markers.stop, stops)):
        if len(found) > 1:
            listed = ", ".join(str(line.number) for line in found)
            raise NeuralArtError(
                f"the marker line '{_quoted(marker)}' stands there {len(found)} times, in lines {listed}",
                where=source.name,
                hint="one block per file: remove the others",
            )
    if not starts:
        raise _missing(source, markers.start, markers.stop)
    if not stops:
        error = _missing(source, markers.stop, markers.start)
        raise NeuralArtError(
            f"the block that starts in line {starts[0].number} has no end: {error.what}",
            where=source.name,
            hint=error.hint,
        )
    if stops[0].start < starts[0].start:
        raise NeuralArtError(
            f"the block ends in line {stops[0].number} before it starts in line {starts[0].number}", where=source.name
        )
    start = starts[0]
    return Block(start.end, stops[0].start, source.eol(start), start.number + 1)


def content(source: CSource, block: Block) -> str:
    """What is in it, with LF line ends."""
    return source.text[block.start : block.stop].replace("\r\n", "\n")
