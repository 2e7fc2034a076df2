"""A strict JSON reader that knows where each value stands, and says what is wrong in words.

Memory-pool files are strict JSON (RFC 8259); profile files may also hold ``//`` comments and strings continued with a
backslash at the end of the line. Only the standard library, recursion bounded.
"""

from __future__ import annotations

from neuralart.errors import NeuralArtError
from neuralart.network.jsonreader import MAX_DEPTH, QUOTES, Node, Reader

__all__ = ["MAX_DEPTH", "Node", "parse", "parse_tolerant"]


def _decode(data: bytes, file: str, *, ascii_only: bool) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise NeuralArtError("UTF-16 text", where=f"{file}:1:1", hint="save it as UTF-8 without BOM")
    if data.startswith(b"\xef\xbb\xbf"):
        raise NeuralArtError(
            "the file starts with a byte-order mark (BOM)", where=f"{file}:1:1", hint="save it as UTF-8 without BOM"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = Reader(before, file, relaxed=False).place(len(before))
        raise NeuralArtError(
            f"byte 0x{data[error.start]:02x} is not UTF-8", where=f"{file}:{line}:{column}", hint="save it as UTF-8"
        ) from error
    if ascii_only:
        for at, char in enumerate(text):
            if char > "\x7f" and char not in QUOTES:
                reader = Reader(text, file, relaxed=False)
                reader.fail(f"character U+{ord(char):04X}: this format is ASCII only", "replace it", at=at)
    return text


def parse(data: bytes, file: str, *, relaxed: bool = False, ascii_only: bool = False) -> Node:
    """Read JSON.

    Args:
        data: The file's bytes.
        file: Its name for messages.
        relaxed: ``//`` comments outside texts and texts continued by a backslash before the line end are allowed.
        ascii_only: Other characters are errors.

    Returns:
        The document.

    Raises:
        NeuralArtError: It is not such a document; ``where`` is ``file:line:column``.
    """
    return Reader(_decode(data, file, ascii_only=ascii_only), file, relaxed=relaxed).document()


def parse_tolerant(data: bytes, file: str, *, relaxed: bool = False) -> tuple[Node, tuple[str, ...]]:
    """Read JSON as people write it: comments of both kinds, trailing commas, a byte-order mark.

    Args:
        data: The file's bytes.
        file: Its name for messages.
        relaxed: As of :func:`parse`: what the format allows is not noted.

    Returns:
        The document, and one note ``line:column: what`` for each sort of thing that the format does not allow.

    Raises:
        NeuralArtError: As :func:`parse`.
    """
    marked = data.startswith(b"\xef\xbb\xbf")
    reader = Reader(_decode(data[3:] if marked else data, file, ascii_only=False), file, relaxed=relaxed, tolerant=True)
    document = reader.document()
    marks = ("1:1: a byte-order mark, which the compiler's own reader refuses",) if marked else ()
    return document, (*marks, *reader.notes)
