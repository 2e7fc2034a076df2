"""From the bytes of a user's YAML file to a tree of nodes, or to one line that says why not."""

from __future__ import annotations

import re
from typing import Any

from neuralart.errors import NeuralArtError

MAX_BYTES = 1 << 20
MAX_DEPTH = 100
# What YAML allows outside of escapes, less NEL and the line separators, which editors do not count as lines.
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029\ufeff]")
_BRACKETS = re.compile(r"[\[\]{}]")
_COMPACT = re.compile(rf"^[ \-?:]{{{2 * MAX_DEPTH},}}", re.MULTILINE)


def compose(data: bytes, display: str) -> Any:
    """Make a tree of PyYAML nodes. Raises NeuralArtError: not UTF-8, not YAML, empty, several documents, or nested
    beyond reason.
    """
    import yaml

    text = _decode(data, display)
    _check_depth(text, display)
    # libyaml is about ten times as fast; the pure loader reads the same files.
    loader_class: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = loader_class(text)
        try:
            node = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise _syntax_error(error, text, display) from error
    if node is None:
        raise NeuralArtError("the file is empty", where=display)
    return node


def _decode(data: bytes, display: str) -> str:
    if len(data) > MAX_BYTES:
        raise NeuralArtError(f"{len(data)} bytes, at most {MAX_BYTES} are read", where=display, hint="is it the file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NeuralArtError(
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            where=f"{display}:{_line(data[: error.start].decode('latin-1'))}",
            hint="save the file as UTF-8",
        ) from error
    found = _UNPRINTABLE.search(text)
    if found:
        raise NeuralArtError(
            f"character U+{ord(found.group()):04X} is not allowed in YAML",
            where=f"{display}:{_line(text[: found.start()])}",
        )
    return text


def _line(before: str) -> int:
    return before.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1


def _check_depth(text: str, display: str) -> None:
    # libyaml's binding recurses on the C stack: such a file would end the process instead of raising.
    found = _COMPACT.search(text)
    deep = found.start() if found else None
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        depth = depth + 1 if bracket.group() in "[{" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            deep = bracket.start()
            break
    if deep is not None:
        raise NeuralArtError(f"nested deeper than {MAX_DEPTH} levels", where=f"{display}:{_line(text[:deep])}")


def _syntax_error(error: Any, text: str, display: str) -> NeuralArtError:
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 1
    lines = text.splitlines() or [""]
    shown = lines[min(line, len(lines)) - 1]
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        return NeuralArtError(
            "a tab indents this line, YAML allows spaces only", where=f"{display}:{line}", hint="replace it by spaces"
        )
    said = str(getattr(error, "problem", None) or error)
    if getattr(error, "context", None):
        said += f", {error.context}"
        if context_mark is not None and context_mark.line + 1 != line:
            said += f" that starts in line {context_mark.line + 1}"
    return NeuralArtError(f"not valid YAML: {said}", where=f"{display}:{line}")
