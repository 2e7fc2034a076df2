"""A YAML value that knows where it was written and how to refuse what it must not be.

Values are read from the text of the scalars, not from what YAML 1.1 makes of them: ``version: 12.10`` is refused as a
number instead of silently becoming 12.1, ``on`` is not silently True, and ``010`` is not silently 8.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart.config.types import Location
from neuralart.config.yamltext import compose
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes

_TAG = "tag:yaml.org,2002:"
_NOT_TEXT = {
    "null": "empty",
    "bool": "a true/false value in YAML",
    "int": "a number in YAML",
    "float": "a number in YAML",
    "timestamp": "a date in YAML",
}
_NUMBER = re.compile(r"(?:0x[0-9a-fA-F]+(?:_[0-9a-fA-F]+)*|(?:0|[1-9][0-9]*(?:_[0-9]+)*)([KMG]?))")
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")  # through escapes: "\0" would reach file names
_FACTOR = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Value:
    """One value of a YAML file.

    Attributes:
        file: Name of the file in messages.
        line: From 1; of the key where there is one.
        key: Dotted path from the top, for messages; empty at the top.
    """

    __slots__ = ("_entries", "_node", "file", "key", "line")

    def __init__(self, node: Any, file: str, line: int, key: str = "", entries: dict[str, Value] | None = None) -> None:
        self._node = node
        self.file = file
        self.line = line
        self.key = key
        self._entries = entries

    @property
    def where(self) -> Location:
        """Where it was written."""
        return Location(self.file, self.line)

    def error(self, what: str, hint: str = "") -> NeuralArtError:
        """An error at this place that names the key."""
        return NeuralArtError(f"{self.key}: {what}" if self.key else what, where=str(self.where), hint=hint)

    # What kind of thing it is ------------------------------------------------------------------------------------

    @property
    def is_mapping(self) -> bool:
        """Keys and values."""
        return self._entries is not None or self._node.id == "mapping"

    @property
    def is_list(self) -> bool:
        """A list."""
        return self._entries is None and bool(self._node.id == "sequence")

    def _described(self) -> str:
        if self.is_mapping:
            return "a mapping of keys and values"
        if self.is_list:
            return "a list"
        if self._scalar_tag() == "null":
            return "empty"
        return f"'{self._node.value}'"

    def _scalar_tag(self) -> str:
        return str(self._node.tag).removeprefix(_TAG)

    def _check_tag(self, *allowed: str) -> None:
        tag = str(self._node.tag)
        if tag not in {_TAG + name for name in allowed}:
            raise self.error(f"the tag {tag.replace(_TAG, '!!')} means nothing here", "leave it out")

    # Collections -------------------------------------------------------------------------------------------------

    def mapping(self) -> dict[str, Value]:
        """Keys and values, in the order of the file.

        Raises:
            NeuralArtError: Not a mapping, a key twice, a key that is no plain word, or a merge key.
        """
        if self._entries is None:
            self._entries = self._read_mapping()
        return self._entries

    def _read_mapping(self) -> dict[str, Value]:
        if self._node.id != "mapping":
            raise self.error(f"must be a mapping of keys and values, this is {self._described()}")
        self._check_tag("map")
        entries: dict[str, Value] = {}
        for key_node, node in self._node.value:
            line = key_node.start_mark.line + 1
            name = str(key_node.value) if key_node.id == "scalar" else ""
            here = Value(node, self.file, line, f"{self.key}.{name}" if self.key else name)
            if key_node.id != "scalar" or not name or key_node.tag == _TAG + "null":
                raise Value(node, self.file, line, self.key).error("a key must be a plain word")
            if key_node.tag == _TAG + "merge":
                raise Value(node, self.file, line, self.key).error(
                    "merge keys (<<) are not read",
                    "write the keys out; anchors and aliases are read",
                )
            if name in entries:
                raise here.error(f"is written twice, first in line {entries[name].line}")
            entries[name] = here
        return entries

    def fields(self, known: Sequence[str]) -> dict[str, Value]:
        """Keys and values; only known keys.

        Raises:
            NeuralArtError: As :meth:`mapping`, or an unknown key.
        """
        entries = self.mapping()
        for name, value in entries.items():
            if name not in known:
                inside = f" in {self.key}" if self.key else ""
                raise NeuralArtError(
                    f"unknown key '{name}'{inside}", where=str(value.where), hint=nearest(name, tuple(known))
                )
        return entries

    def items(self) -> list[Value]:
        """Members of a list.

        Raises:
            NeuralArtError: Not a list.
        """
        if not self.is_list:
            raise self.error(f"must be a list, like [a, b], this is {self._described()}")
        self._check_tag("seq")
        return [
            Value(node, self.file, node.start_mark.line + 1, f"{self.key}[{index}]")
            for index, node in enumerate(self._node.value)
        ]

    def texts(self) -> tuple[str, ...]:
        """A list of texts.

        Raises:
            NeuralArtError: Not a list, or not all of them are text.
        """
        return tuple(item.text() for item in self.items())

    # Scalars -----------------------------------------------------------------------------------------------------

    def _scalar(self, wanted: str) -> str:
        if self.is_mapping or self.is_list:
            raise self.error(f"must be {wanted}, this is {self._described()}")
        return str(self._node.value)

    def text(self, *, empty: bool = False) -> str:
        """One line of text.

        Args:
            empty: ``""`` is allowed.

        Raises:
            NeuralArtError: Not text, or YAML takes it for something else, or several lines.
        """
        text = self._scalar("text")
        tag = self._scalar_tag()
        if tag == "null":
            raise self.error("is empty", "give it a value, or leave the key out")
        if tag in _NOT_TEXT:
            raise self.error(f"{text} is {_NOT_TEXT[tag]}, this must be text", f'quote it: "{text}"')
        # Plain "=" has a tag of its own in YAML 1.1, and no other use.
        self._check_tag("str", "value")
        if "\n" in text or "\r" in text:
            raise self.error("must be one line of text")
        if _CONTROL.search(text):
            raise self.error("has a control character in it")
        if not text.strip() and not (empty and not text):
            raise self.error("is empty", "give it a value, or leave the key out")
        return text

    def choice(self, allowed: Sequence[str], *, empty: bool = False) -> str:
        """One of some words.

        Raises:
            NeuralArtError: None of them; names the nearest.
        """
        text = self.text(empty=empty)
        if text not in allowed and not (empty and not text):
            raise self.error(f"'{text}' is not allowed", nearest(text, tuple(allowed)))
        return text

    def matching(self, pattern: re.Pattern[str], wanted: str, *, empty: bool = False) -> str:
        """Text of some form.

        Args:
            pattern: The form.
            wanted: The form in words.
            empty: ``""`` is allowed.

        Raises:
            NeuralArtError: Another form.
        """
        text = self.text(empty=empty)
        if text and not pattern.fullmatch(text):
            raise self.error(f"'{text}' is not {wanted}")
        return text

    def boolean(self) -> bool:
        """True or false, spelled so.

        Raises:
            NeuralArtError: Anything else, also YAML 1.1's yes, no, on, off.
        """
        text = self._scalar("true or false")
        if self._scalar_tag() != "bool" or text not in ("true", "false"):
            raise self.error(f"must be true or false, this is {self._described()}")
        return text == "true"

    def integer(self, low: int = 0, high: int = 0xFFFFFFFF) -> int:
        """A whole number, decimal or ``0x…``; also a size such as ``448K`` or ``1M`` (x 1024).

        Raises:
            NeuralArtError: Not a number, or out of range.
        """
        text = self._scalar("a number")
        found = _NUMBER.fullmatch(text)
        if not found or len(text) > 20:
            raise self.error(
                f"must be a number, this is {self._described()}", "decimal, 0x34200000, or a size such as 448K, 1M"
            )
        suffix = found.group(1) or ""
        number = int(text.removesuffix(suffix).replace("_", ""), 0) * _FACTOR[suffix]
        if not low <= number <= high:
            limits = f"{low:#x} to {high:#x}" if high > 0xFFFF else f"{low} to {high}"
            raise self.error(f"{text} is out of range, allowed: {limits}")
        return number


def read(path: Path, display: str = "") -> Value:
    """Read a YAML file whose top is a mapping.

    Args:
        path: The file.
        display: Its name in messages; the path unless given.

    Raises:
        NeuralArtError: It cannot be read, or is not such a file.
    """
    shown = display or str(path)
    try:
        data = read_bytes(path)
    except NeuralArtError as error:
        raise NeuralArtError(error.what, where=shown) from error
    top = Value(compose(data, shown), shown, 1)
    if not top.is_mapping:
        raise top.error("the file must be a mapping of keys and values (key: value)")
    return top


def check_schema(top: Value, schema: int) -> None:
    """The file says which version of its format it is.

    Raises:
        NeuralArtError: It does not, or it is another version.
    """
    value = top.mapping().get("schema")
    if value is None:
        raise top.error("'schema' is missing", f"begin the file with 'schema: {schema}'")
    found = value.integer()
    if found != schema:
        raise value.error(f"{found} is not a version this program reads", f"it reads schema: {schema}")
