"""Values of YAML files, read from the text of the scalars, not as YAML 1.1 reads them: ``version: 12.10`` is refused as
a number instead of becoming 12.1, ``on`` is not True, ``010`` is not 8.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.quick import lazy_regex
from neuralart.text.values import Location, Value

MAX_BYTES = 1 << 20
MAX_DEPTH = 100
# What YAML allows outside of escapes, less NEL and the line separators, which editors do not count as lines.
_UNPRINTABLE = lazy_regex("[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u2028\u2029\ufeff]")
_BRACKETS = lazy_regex(r"[\[\]{}]")
_COMPACT = lazy_regex(rf"(?m)^[ \-?:]{{{2 * MAX_DEPTH},}}")
_TAG = "tag:yaml.org,2002:"
_NOT_TEXT = {
    **{"null": "empty", "bool": "a true/false value in YAML", "timestamp": "a date in YAML"},
    **dict.fromkeys(("int", "float"), "a number in YAML"),
}
_NUMBER = lazy_regex(r"(?:0x[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|(?:0|[1-9][0-9]*(?:_[0-9]+)*)([KMG]?))")
_REAL = lazy_regex(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER, _LONGEST_REAL = 20, 40
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def compose(data: bytes, display: str) -> Any:
    """Read PyYAML nodes. NeuralArtError: no UTF-8, no YAML, empty, several documents, or nested too deeply."""
    import yaml

    text = _text_of(data, display)
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


def _text_of(data: bytes, display: str) -> str:
    if len(data) > MAX_BYTES:
        raise NeuralArtError(f"{len(data)} bytes, at most {MAX_BYTES} are read", where=display, hint="is it the file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{display}:{_line_of(data[: error.start].decode('latin-1'))}"
        what = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise NeuralArtError(what, where=where, hint="save the file as UTF-8") from error
    found = _UNPRINTABLE.search(text)
    if found:
        what = f"character U+{ord(found.group()):04X} is not allowed in YAML"
        raise NeuralArtError(what, where=f"{display}:{_line_of(text[: found.start()])}")
    return text


def _line_of(before: str) -> int:
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
        raise NeuralArtError(f"nested deeper than {MAX_DEPTH} levels", where=f"{display}:{_line_of(text[:deep])}")


def _syntax_error(error: Any, text: str, display: str) -> NeuralArtError:
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    line = mark.line + 1 if mark is not None else 1
    lines = text.splitlines() or [""]
    shown = lines[min(line, len(lines)) - 1]
    if "\t" in shown[: len(shown) - len(shown.lstrip())]:
        what = "a tab indents this line, YAML allows spaces only"
        return NeuralArtError(what, where=f"{display}:{line}", hint="replace it by spaces")
    said = str(getattr(error, "problem", None) or error)
    if getattr(error, "context", None):
        said += f", {error.context}"
        if context_mark is not None and context_mark.line + 1 != line:
            said += f" that starts in line {context_mark.line + 1}"
    hint = "put a text that has ': ' in it in quotes" if "mapping values" in said else ""
    return NeuralArtError(f"not valid YAML: {said}", where=f"{display}:{line}", hint=hint)


class YamlValue(Value):
    """A value of a YAML file; ``line``: from 1, that of the key if there is one."""

    __slots__ = ("_entries", "_node", "file", "key", "line")

    file: str  # Name of the file in messages
    key: str  # Dotted path from the top, for messages; empty at the top

    def __init__(self, node: Any, file: str, line: int, key: str = "") -> None:
        self._node = node
        self.file, self.key, self.line = file, key, line
        self._entries: dict[str, Self] | None = None

    def with_members(self, members: dict[str, Self]) -> Self:
        """A mapping at this place with other members."""
        made = type(self)(self._node, self.file, self.line, self.key)
        made._entries = members
        return made

    @property
    def where(self) -> Location:
        return Location(self.file, self.line)

    @property
    def kind(self) -> str:
        return {"mapping": "mapping", "sequence": "list"}.get(self._node.id, "scalar")

    @property
    def described(self) -> str:
        if self.is_mapping:
            return "a mapping of keys and values"
        if self.is_list:
            return "a list"
        return "empty" if self._scalar_tag() == "null" else f"'{self._node.value}'"

    def wrong(self, wanted: str, hint: str = "") -> NeuralArtError:
        return self.error(f"must be {wanted}, this is {self.described}", hint)

    def _scalar_tag(self) -> str:
        return str(self._node.tag).removeprefix(_TAG)

    def _check_tag(self, *allowed: str) -> None:
        tag = str(self._node.tag)
        if tag not in {_TAG + name for name in allowed}:
            raise self.error(f"the tag {tag.replace(_TAG, '!!')} means nothing here", "leave it out")

    def mapping(self) -> dict[str, Self]:
        """Keys and values in order; NeuralArtError: no mapping, a key twice, no plain word or a merge key."""
        if self._entries is None:
            self._entries = self._read_mapping()
        return self._entries

    def _read_mapping(self) -> dict[str, Self]:
        if not self.is_mapping:
            raise self.wrong("a mapping of keys and values")
        self._check_tag("map")
        entries: dict[str, Self] = {}
        made = type(self)
        for key_node, node in self._node.value:
            line = key_node.start_mark.line + 1
            name = str(key_node.value) if key_node.id == "scalar" else ""
            here = made(node, self.file, line, f"{self.key}.{name}" if self.key else name)
            if key_node.id != "scalar" or not name or key_node.tag == _TAG + "null":
                raise made(node, self.file, line, self.key).error("a key must be a plain word")
            if key_node.tag == _TAG + "merge":
                hint = "write the keys out; anchors and aliases are read"
                raise made(node, self.file, line, self.key).error("merge keys (<<) are not read", hint)
            if name in entries:
                raise here.error(f"is written twice, first in line {entries[name].line}")
            entries[name] = here
        return entries

    def items(self) -> list[Self]:
        if not self.is_list:
            raise self.wrong("a list, like [a, b]")
        self._check_tag("seq")
        return [
            type(self)(node, self.file, node.start_mark.line + 1, f"{self.key}[{index}]")
            for index, node in enumerate(self._node.value)
        ]

    def _scalar(self, wanted: str) -> str:
        if self.kind != "scalar":
            raise self.wrong(wanted)
        return str(self._node.value)

    def string(self) -> str:
        """The text. Raises NeuralArtError: not text, or YAML takes it for something else."""
        text = self._scalar("text")
        tag = self._scalar_tag()
        if tag == "null":
            raise self.error("is empty", "give it a value, or leave the key out")
        if tag in _NOT_TEXT:
            raise self.error(f"{text} is {_NOT_TEXT[tag]}, this must be text", f'quote it: "{text}"')
        # Plain "=" has a tag of its own in YAML 1.1, and no other use.
        self._check_tag("str", "value")
        return text

    def _truth(self) -> bool:
        text = self._scalar("true or false")
        if self._scalar_tag() != "bool" or text not in ("true", "false"):
            raise self.wrong("true or false")
        return text == "true"

    def _whole(self) -> tuple[int, str]:
        """Decimal or ``0x…``; also a size such as ``448K`` or ``1M`` (x 1024)."""
        text = self._scalar("a number")
        found = _NUMBER.fullmatch(text)
        if not found or len(text) > _LONGEST_NUMBER:
            raise self.wrong("a number", "decimal, 0x34200000, or a size such as 448K, 1M")
        suffix = found.group(1) or ""
        return int(text.removesuffix(suffix).replace("_", ""), 0) * _FACTOR[suffix], text

    def _decimal(self) -> tuple[float, str]:
        """Read from what is written: YAML 1.1 takes ``1e-3`` for text and ``1_0.5`` for 10.5."""
        text = self._scalar("a number")
        if not _REAL.fullmatch(text) or len(text) > _LONGEST_REAL:
            raise self.wrong("a number", "decimal, for example 0.4 or 1e-3")
        return float(text), text


def parse(data: bytes, display: str) -> YamlValue:
    """Read the content of a YAML file. Raises NeuralArtError: it is no YAML, empty, or several documents."""
    return YamlValue(compose(data, display), display, 1)


def read(path: Path, display: str = "") -> YamlValue:
    """Read a YAML file that is a mapping; ``display``: its name in messages. NeuralArtError: unreadable, or none."""
    shown = display or str(path)
    top = parse(read_bytes(path, "is this the right folder?", display), shown)
    if not top.is_mapping:
        raise top.error("the file must be a mapping of keys and values (key: value)")
    return top


def check_schema(top: Value, schema: int) -> None:
    """Check the version of the file's format. NeuralArtError: it is missing, or another one."""
    value = top.mapping().get("schema")
    if value is None:
        raise top.error("'schema' is missing", f"begin the file with 'schema: {schema}'")
    found = value.integer()
    if found != schema:
        raise value.error(f"{found} is not a version this program reads", f"it reads schema: {schema}")
