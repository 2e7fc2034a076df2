"""The operations of a patch list on one file. Pure: text in, text and the pieces that changed out."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.text.c_source import CSource, Edit
from neuralart_bring.patching import edit_sites
from neuralart_bring.patching.edit_sites import Markers, Span
from neuralart_bring.patching.patchlist import BLOCK, MACRO, FilePatch, Operation

_OURS = re.compile(r"^/\* neuralart patch ([0-9a-f]{16}): .*\*/[ \t]*$", re.MULTILINE)
_SENTENCE = "generated, changes below are refused without --force"


@dataclass(frozen=True)
class PatchedPiece:
    """What an operation changes: characters as in the file, line ends too."""

    original: str
    patched: str


@dataclass(frozen=True)
class Applied:
    data: bytes
    pieces: Mapping[str, PatchedPiece]  # by the operation's key
    sections: tuple[tuple[str, str], ...]  # names of sections that were written, with lines of the patch list
    skipped: tuple[Operation, ...]  # optional operations the file has no place for


def block_text(body: str) -> str:
    """A block and its line that tells of edits by hand: the hash of the body with LF, the same with any line ends."""
    return f"/* neuralart patch {_hash(body)}: {_SENTENCE} */\n{body}"


def _hash(body: str) -> str:
    return hashlib.sha256(body.encode("latin-1")).hexdigest()[:16]


def _lf(text: str) -> str:
    return text.replace("\r\n", "\n")


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


def _spans(source: CSource, what: FilePatch, markers: Markers) -> list[Span]:
    """The block's place if the file has one by the list: macros and attributes within it do not count."""
    if not any(operation.kind == BLOCK for operation in what.operations):
        return []
    block = edit_sites.find_block(source, markers)
    return [(block.start, block.stop)]


def _locate(source: CSource, operation: Operation, markers: Markers, outside: list[Span]) -> Span | None:
    if operation.kind == BLOCK:
        return outside[0]
    if operation.kind == MACRO:
        find = edit_sites.find_macro if operation.optional else edit_sites.require_macro
        definition = find(source, operation.name, outside)
        if definition is not None and definition.value[0] == definition.value[1]:
            raise NeuralArtError(f"#define {operation.name} has no value", where=source.where(definition.start))
        return definition.value if definition is not None else None
    attribute = edit_sites.require_attribute(source, operation.name, outside)
    return attribute.start, attribute.stop


def apply(
    source: CSource,
    what: FilePatch,
    markers: Markers,
    render: Callable[[Operation, Callable[[str], bool]], str],
    *,
    force: bool = False,
    before: Mapping[str, PatchedPiece] | None = None,
) -> Applied:
    """Do the operations. NeuralArtError: a place is missing or not unique, or a block was changed by hand.

    ``render`` gives the text of an operation; its second argument tells whether the file defines a macro (outside the
    block). ``force`` overwrites a block that was changed by hand. ``before``: pieces of an earlier patch of this very
    file, by which what was there before stays known.
    """
    outside = _spans(source, what, markers)
    defined = {each.name for each in edit_sites.definitions(source, outside)}
    edits, pieces, skipped = [], {}, []
    sections: list[tuple[str, str]] = []
    for operation in what.operations:
        place = _locate(source, operation, markers, outside)
        if place is None:
            skipped.append(operation)
            continue
        new = render(operation, defined.__contains__)
        old = source.text[slice(*place)]
        earlier = (before or {}).get(operation.key)
        if operation.kind == BLOCK:
            _check_block(source, old, earlier, force)
            if {markers.start, markers.stop}.intersection(new.split("\n")):
                raise NeuralArtError("the text for a block holds a marker line", where=operation.where)
            sections += [(each.name, operation.where) for each in edit_sites.attributes(CSource.of_text("", new))]
            new = block_text(new).replace("\n", edit_sites.find_block(source, markers).eol)
        elif operation.kind != MACRO:
            sections.append((new, operation.where))
        pieces[operation.key] = PatchedPiece(_original(old, earlier), new)
        if new != old:
            edits.append(Edit(*place, new))
    return Applied(source.edited(edits), pieces, tuple(sections), tuple(skipped))


def _original(old: str, earlier: PatchedPiece | None) -> str:
    """What was there before any patch: the text unless it is a patch's own."""
    ours = earlier is not None and (old == earlier.patched or is_ours(_lf(old)))
    return earlier.original if earlier is not None and ours else old


def _check_block(source: CSource, old: str, earlier: PatchedPiece | None, force: bool) -> None:
    why = edited_by_hand(_lf(old))
    if not why and earlier is not None and not is_ours(_lf(old)) and old != earlier.original:
        why = "the line that a patch wrote first is gone"
    if why and not force:
        hint = "move the changes out of the block, or say --force to overwrite them"
        raise NeuralArtError(f"the generated block was changed by hand: {why}", where=source.name, hint=hint)


def undo(
    source: CSource, what: FilePatch, markers: Markers, pieces: Mapping[str, PatchedPiece], *, force: bool
) -> bytes:
    """Put back what was before the first patch; other changes stay. NeuralArtError: a place is gone, or no patch's."""
    outside = _spans(source, what, markers)
    edits = []
    for operation in what.operations:
        piece = pieces.get(operation.key)
        if piece is None:
            continue
        place = _locate(source, operation, markers, outside)
        if place is None:
            raise NeuralArtError(f"no #define {operation.name} any more", where=source.name)
        old = _lf(source.text[slice(*place)])
        if old == _lf(piece.original):
            continue
        if old != _lf(piece.patched) and not force:
            said, where = f"'{operation.key}' was changed by hand since the patch", source.where(place[0])
            raise NeuralArtError(said, where=where, hint="say --force to put back what was there before the patch")
        edits.append(Edit(*place, piece.original))
    return source.edited(edits)


def pieces_to_json(pieces: Mapping[str, PatchedPiece]) -> dict[str, dict[str, str]]:
    """For a record."""
    return {key: asdict(piece) for key, piece in sorted(pieces.items())}


def pieces_from_json(data: Any) -> dict[str, PatchedPiece]:
    """Read the pieces of a record; ValueError: it is not a record."""
    if not isinstance(data, dict):
        raise ValueError("not a mapping")
    made = {}
    for key, value in data.items():
        texts = (value.get("original"), value.get("patched")) if isinstance(value, dict) else (None, None)
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"'{key}'")
        made[key] = PatchedPiece(str(texts[0]), str(texts[1]))
    return made
