"""The operations of a patch list on one file. Pure: text in, text and the pieces that changed out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.patching import blocks, defines
from neuralart.patching.blocks import Markers
from neuralart.patching.patchlist import BLOCK, MACRO, FilePatch, Operation
from neuralart.text.c_source import CSource, Edit

# Names of sections in ``__attribute__((section("...")))`` -----------------------------------------------------------

_SECTION = re.compile(r'(?<![\w"])(?:__section__|section)\s*\(\s*"([^"\\\n]*)"\s*\)')


@dataclass(frozen=True)
class Attribute:
    """The name of a section in a source: ``source.text[start:stop] == name``."""

    name: str
    start: int
    stop: int


def attributes(source: CSource, outside: Sequence[tuple[int, int]] = ()) -> list[Attribute]:
    """All that the compiler may see, in the order of the file."""
    return [
        Attribute(match.group(1), *match.span(1))
        for match in _SECTION.finditer(source.code)
        if source.alive(match.start()) and not any(start <= match.start() < stop for start, stop in outside)
    ]


def require(source: CSource, family: str, outside: Sequence[tuple[int, int]] = ()) -> Attribute:
    """The one attribute whose section is called ``family`` or ``family_...``.

    Raises:
        NeuralArtError: There is none, or several.
    """
    every = attributes(source, outside)
    found = [each for each in every if each.name == family or each.name.startswith(f"{family}_")]
    if not found:
        listed = ", ".join(dict.fromkeys(each.name for each in every)) or "none"
        raise NeuralArtError(
            f"no variable has a section attribute {family}...",
            where=source.name,
            hint=f"sections that are named there: {listed}",
        )
    if len(found) > 1:
        lines = ", ".join(str(source.line_of(each.start)) for each in found)
        raise NeuralArtError(
            f"{len(found)} section attributes {family}..., in lines {lines}: which one counts?",
            where=source.name,
            hint="keep one (what stands under #if 0 or in comments does not count)",
        )
    return found[0]


# ---------------------------------------------------------------------------------------------------------------------

_OURS = re.compile(r"^/\* neuralart patch ([0-9a-f]{16}): .*\*/[ \t]*$", re.MULTILINE)
_SENTENCE = "generated, changes below are refused without --force"


@dataclass(frozen=True)
class Piece:
    """What an operation changes: characters as in the file, line ends too."""

    original: str
    patched: str


@dataclass(frozen=True)
class Applied:
    """A file after its operations.

    Attributes:
        data: Bytes.
        pieces: By the operation's key.
        sections: Names of sections that were written, with lines of the patch list.
        skipped: Optional operations the file has no place for.
    """

    data: bytes
    pieces: Mapping[str, Piece]
    sections: tuple[tuple[str, str], ...]
    skipped: tuple[Operation, ...]


def block_text(body: str) -> str:
    """A block with the line that tells whether it was changed by hand.

    Args:
        body: Lines with LF; the line's number is their hash, so it is the same whatever line ends the file has.
    """
    return f"/* neuralart patch {_hash(body)}: {_SENTENCE} */\n{body}"


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode("latin-1")).hexdigest()[:16]


def is_ours(text: str) -> bool:
    """Was this block (LF) written by a patch, whatever happened to it since?"""
    return _OURS.search(text) is not None


def edited_by_hand(text: str) -> str:
    """Why a block (LF) is not what a patch left; empty if it is, or if no patch was there."""
    found = list(_OURS.finditer(text))
    if not found:
        return ""
    if len(found) > 1 or found[0].start():
        return "lines were put before the first line that a patch wrote"
    body = text[found[0].end() + 1 :]
    return "" if _hash(body) == found[0].group(1) else "its lines are not those that a patch wrote"


@dataclass(frozen=True)
class _Place:
    start: int
    stop: int

    def text(self, source: CSource) -> str:
        return source.text[self.start : self.stop]


def _spans(source: CSource, what: FilePatch, markers: Markers) -> list[tuple[int, int]]:
    """The block's place if the file has one by the list: macros and attributes within it do not count."""
    if not any(operation.kind == BLOCK for operation in what.operations):
        return []
    block = blocks.find(source, markers)
    return [(block.start, block.stop)]


def _locate(source: CSource, operation: Operation, markers: Markers, outside: list[tuple[int, int]]) -> _Place | None:
    if operation.kind == BLOCK:
        block = blocks.find(source, markers)
        return _Place(block.start, block.stop)
    if operation.kind == MACRO:
        find = defines.find if operation.optional else defines.require
        definition = find(source, operation.name, outside)
        if definition is None:
            return None
        if definition.value[0] == definition.value[1]:
            raise NeuralArtError(f"#define {operation.name} has no value", where=source.where(definition.start))
        return _Place(*definition.value)
    attribute = require(source, operation.name, outside)
    return _Place(attribute.start, attribute.stop)


def apply(
    source: CSource,
    what: FilePatch,
    markers: Markers,
    render: Callable[[Operation, Callable[[str], bool]], str],
    *,
    force: bool = False,
    before: Mapping[str, Piece] | None = None,
) -> Applied:
    """Do the operations.

    Args:
        source: The file.
        what: Its operations.
        markers: Of the list.
        render: Text of an operation; its second argument tells whether the file defines a macro (outside the block).
        force: Overwrite a block that was changed by hand.
        before: Pieces of an earlier patch of this very file, if it is known: what was there before stays known.

    Raises:
        NeuralArtError: A place is missing or not unique, or a block was changed by hand.
    """
    outside = _spans(source, what, markers)
    defined = {each.name for each in defines.definitions(source, outside)}
    edits, pieces, skipped = [], {}, []
    sections: list[tuple[str, str]] = []
    for operation in what.operations:
        place = _locate(source, operation, markers, outside)
        if place is None:
            skipped.append(operation)
            continue
        new = render(operation, defined.__contains__)
        old = place.text(source)
        earlier = (before or {}).get(operation.key)
        if operation.kind == BLOCK:
            _check_block(source, old, earlier, force)
            _check_body(new, markers, operation)
            sections += [(each.name, operation.where) for each in attributes(CSource.of_text("", new))]
            block = blocks.find(source, markers)
            new = block_text(new).replace("\n", block.eol)
        elif operation.kind != MACRO:
            sections.append((new, operation.where))
        pieces[operation.key] = Piece(_original(old, earlier), new)
        if new != old:
            edits.append(Edit(place.start, place.stop, new))
    return Applied(source.edited(edits), pieces, tuple(sections), tuple(skipped))


def _original(old: str, earlier: Piece | None) -> str:
    """What was there before any patch: the text unless it is a patch's own."""
    ours = earlier is not None and (old == earlier.patched or is_ours(old.replace("\r\n", "\n")))
    return earlier.original if earlier is not None and ours else old


def _check_block(source: CSource, old: str, earlier: Piece | None, force: bool) -> None:
    why = edited_by_hand(old.replace("\r\n", "\n"))
    if not why and earlier is not None and not is_ours(old.replace("\r\n", "\n")) and old != earlier.original:
        why = "the line that a patch wrote first is gone"
    if why and not force:
        raise NeuralArtError(
            f"the generated block was changed by hand: {why}",
            where=source.name,
            hint="move the changes out of the block, or say --force to overwrite them",
        )


def _check_body(body: str, markers: Markers, operation: Operation) -> None:
    for line in body.split("\n"):
        if line in (markers.start, markers.stop):
            raise NeuralArtError("the text for a block holds a marker line", where=operation.where)


def undo(source: CSource, what: FilePatch, markers: Markers, pieces: Mapping[str, Piece], *, force: bool) -> bytes:
    """Put back what was there before the first patch; whatever else was changed since stays.

    Raises:
        NeuralArtError: A place is gone, or holds what no patch wrote.
    """
    outside = _spans(source, what, markers)
    edits = []
    for operation in what.operations:
        piece = pieces.get(operation.key)
        if piece is None:
            continue
        place = _locate(source, operation, markers, outside)
        if place is None:
            raise NeuralArtError(f"no #define {operation.name} any more", where=source.name)
        old = place.text(source)
        if _same(old, piece.original):
            continue
        if not _same(old, piece.patched) and not force:
            raise NeuralArtError(
                f"'{operation.key}' was changed by hand since the patch",
                where=source.where(place.start),
                hint="say --force to put back what was there before the patch",
            )
        edits.append(Edit(place.start, place.stop, piece.original))
    return source.edited(edits)


def _same(one: str, other: str) -> bool:
    return one.replace("\r\n", "\n") == other.replace("\r\n", "\n")


def pieces_to_json(pieces: Mapping[str, Piece]) -> dict[str, dict[str, str]]:
    """For a record."""
    return {key: {"original": piece.original, "patched": piece.patched} for key, piece in sorted(pieces.items())}


def pieces_from_json(data: Any) -> dict[str, Piece]:
    """From a record.

    Raises:
        ValueError: It is none.
    """
    if not isinstance(data, dict):
        raise ValueError("not a mapping")
    made = {}
    for key, value in data.items():
        texts = (value.get("original"), value.get("patched")) if isinstance(value, dict) else (None, None)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"'{key}'")
        made[key] = Piece(str(texts[0]), str(texts[1]))
    return made
