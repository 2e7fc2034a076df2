"""A hydra configuration as a tree that knows its lines and what was used; references are resolved on demand.

The model zoo reads its files with OmegaConf: ``${a.b}`` is the value of another key, ``${name:...}`` asks a resolver
(``now``, ``oc.env``), ``???`` is a value that must still be given. Fractions, tuples and Python's spelling of true and
false occur as text. Nothing is evaluated unless the value is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.text.yaml_values import compose

_TAG = "tag:yaml.org,2002:"
_INNERMOST = re.compile(r"(?<!\\)\$\{([^${}]*)\}")
_RESOLVER = re.compile(r"([A-Za-z_][\w.]*):(.*)", re.DOTALL)
_REFERENCE = re.compile(r"(\.*)([A-Za-z_][\w-]*(?:\.[\w-]+)*)")
_MOST_STEPS = 100
_MOST_DEPTH = 60
_MOST_VALUES = 20_000
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_FRACTION = re.compile(rf"({_NUMBER})\s*/\s*({_NUMBER})")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
UNKNOWN = "not a key of the model zoo that is known"
_CONTROL = re.compile("[\x00-\x1f\x7f]")


class ZooEntry:
    """One value: its line is that of the key where there is one, its path is dotted, from the top (empty there)."""

    __slots__ = ("_children", "_node", "_top", "file", "line", "path")

    def __init__(self, node: Any, file: str, line: int, path: str = "", top: ZooEntry | None = None) -> None:
        self._node = node
        self.file = file
        self.line = line
        self.path = path
        self._top = top if top is not None else self
        self._children: dict[str, ZooEntry] | None = None

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    def error(self, what: str, hint: str = "") -> NeuralArtError:
        """An error at this place that names the key."""
        return NeuralArtError(f"{self.path}: {what}" if self.path else what, where=self.where, hint=hint)

    @property
    def is_mapping(self) -> bool:
        return bool(self._node.id == "mapping")

    @property
    def is_list(self) -> bool:
        return bool(self._node.id == "sequence")

    @property
    def is_empty(self) -> bool:
        """Nothing was written, or null, or Python's ``None``, or hydra's ``???``."""
        if self.is_mapping or self.is_list:
            return not self._node.value
        return self._node.tag == f"{_TAG}null" or str(self._node.value) in ("", "None", "???")

    def children(self) -> dict[str, ZooEntry]:
        """Keys and values in the file's order; the later of equal keys wins (PyYAML). NeuralArtError: not a mapping."""
        if self._children is None:
            if self.is_empty:
                return {}
            if not self.is_mapping:
                raise self.error("must be a mapping of keys and values")
            self._children = {}
            for key, node in self._node.value:
                line = key.start_mark.line + 1
                if key.id != "scalar" or key.tag == f"{_TAG}merge":
                    what, hint = "a key must be a plain word", "merge keys (<<) are not read"
                    raise NeuralArtError(what, where=f"{self.file}:{line}", hint=hint)
                name = str(key.value)
                path = f"{self.path}.{name}" if self.path else name
                self._children[name] = ZooEntry(node, self.file, line, path, self._top)
        return self._children

    def find(self, path: str) -> ZooEntry | None:
        """The value under a dotted path; None where it is not there or empty."""
        entry: ZooEntry | None = self
        for name in path.split("."):
            if entry is None or not entry.is_mapping:
                return None
            entry = entry.children().get(name)
        return None if entry is None or entry.is_empty else entry

    # Values -----------------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """One line of text, references resolved. NeuralArtError: not a scalar, or a reference leads nowhere."""
        return self._resolved(frozenset())

    def _resolved(self, seen: frozenset[str]) -> str:
        if self.is_mapping or self.is_list:
            raise self.error("must be a single value")
        if self.path in seen:
            raise self.error("refers to itself")
        text = str(self._node.value)
        for _ in range(_MOST_STEPS):
            found = _INNERMOST.search(text)
            if found is None:
                break
            text = text[: found.start()] + self._reference(found.group(1), seen | {self.path}) + text[found.end() :]
        else:
            raise self.error(f"more than {_MOST_STEPS} references")
        if _CONTROL.search(text):
            raise self.error("must be one line of text")
        return text.replace("\\${", "${").strip()

    def _reference(self, inside: str, seen: frozenset[str]) -> str:
        asked = _RESOLVER.fullmatch(inside.strip())
        if asked is not None:
            return self._resolver(asked.group(1), asked.group(2))
        found = _REFERENCE.fullmatch(inside.strip())
        if found is None:
            raise self.error(f"${{{inside}}} is no reference that is understood", "write the value out")
        dots, name = found.groups()
        # One dot is the mapping that this value stands in, each further one the mapping around it.
        base = self.path.split(".")[: -len(dots)] if dots else []
        path = ".".join([*base, name])
        entry = self._top.find(path)
        if entry is None:
            raise self.error(f"${{{inside}}} refers to {path}, which is not there", "write the value out")
        return entry._resolved(seen)

    def _resolver(self, name: str, argument: str) -> str:
        if name == "oc.env":
            variable, comma, default = argument.partition(",")
            if comma and default.strip() not in ("null", ""):
                return default.strip().strip("'\"")
            raise self.error(f"its value comes from the environment variable {variable.strip()}", "write the value out")
        raise self.error(f"${{{name}:...}} depends on when and where it runs", "write the value out")

    def number(self) -> float:
        """A decimal number or a fraction of two (``1/127.5``); NeuralArtError: neither."""
        text = self.text()
        if len(text) <= 80:
            if re.fullmatch(_NUMBER, text):
                return float(text)
            parts = _FRACTION.fullmatch(text)
            if parts and float(parts.group(2)):
                return float(parts.group(1)) / float(parts.group(2))
        raise self.error(f"'{text}' is not a number", "decimal, or a fraction such as 1/127.5")

    def integer(self) -> int:
        """A whole number; ``16.0`` is one; NeuralArtError: not such a number."""
        number = self.number()
        if not abs(number) < 1e15 or number != int(number):
            raise self.error(f"{self.text()} is not a whole number")
        return int(number)

    def boolean(self) -> bool:
        """True or false, as YAML 1.1 and Python spell it; NeuralArtError: neither."""
        text = self.text().lower()
        if text not in _TRUE + _FALSE:
            raise self.error(f"'{self.text()}' is neither true nor false")
        return text in _TRUE

    def items(self) -> list[ZooEntry]:
        """Members of a list; a single value is a list of one; NeuralArtError: a mapping."""
        if self.is_list:
            return [
                ZooEntry(node, self.file, node.start_mark.line + 1, f"{self.path}[{at}]", self._top)
                for at, node in enumerate(self._node.value)
            ]
        if self.is_mapping:
            raise self.error("must be a list")
        found = _INNERMOST.fullmatch(str(self._node.value))
        other = self._top.find(found.group(1)) if found else None
        return other.items() if other is not None and other is not self and other.is_list else [self]

    def numbers(self) -> list[float]:
        """A list of numbers, or a tuple as text, however they are nested; NeuralArtError: something else is there."""
        if not self.is_list and not self.is_mapping:
            try:
                return [float(part) for part in re.sub(r"[()\[\],]", " ", self.text()).split()]
            except ValueError:
                raise self.error(f"'{self.text()}' is not a list of numbers") from None
        return [number for item in self.items() for number in (item.numbers() if item.is_list else [item.number()])]

    def leaves(self) -> Iterator[ZooEntry]:
        """The entry itself if it is a value or a list, else what is in it."""
        if self.is_mapping and self._node.value:
            for child in self.children().values():
                yield from child.leaves()
        else:
            yield self


def _check_size(top: Any, shown: str) -> None:
    """Aliases can make a small file endless: an anchor may hold itself, or many of another."""
    todo = [(top, 1)]
    seen = 0
    while todo:
        node, depth = todo.pop()
        seen += 1
        if depth > _MOST_DEPTH or seen > _MOST_VALUES:
            what = f"nested deeper than {_MOST_DEPTH} levels" if depth > _MOST_DEPTH else "too many values"
            where = f"{shown}:{node.start_mark.line + 1}"
            raise NeuralArtError(what, where=where, hint="do aliases refer in a circle?")
        if node.id == "mapping":
            todo += [(value, depth + 1) for _, value in node.value]
        elif node.id == "sequence":
            todo += [(value, depth + 1) for value in node.value]


def read(path: Path, display: str = "") -> ZooEntry:
    """Read a configuration; NeuralArtError: it cannot be read, is no YAML, or its top is not a mapping."""
    shown = display or str(path)
    node = compose(read_bytes(path, display=display), shown)
    _check_size(node, shown)
    top = ZooEntry(node, shown, 1)
    if not top.is_mapping:
        raise top.error("the file must be a mapping of keys and values (key: value)")
    return top


class ZooConfig:
    """A configuration while it is converted: it remembers which of its keys were used."""

    def __init__(self, top: ZooEntry) -> None:
        self.top = top
        self.notes: list[str] = []  # what the user should look at, in the order it was found
        self._used: set[str] = set()
        self._dropped: dict[str, str] = {}

    def first(self, *paths: str) -> ZooEntry | None:
        return next((entry for path in paths if (entry := self.top.find(path)) is not None), None)

    def take(self, *paths: str) -> ZooEntry | None:
        """The first value that is there; it counts as used."""
        entry = self.first(*paths)
        if entry is not None:
            self._used.add(entry.path)
        return entry

    def taken(self, key: str, read: Callable[[ZooEntry], object], *paths: str) -> dict[str, object]:
        """The first value that is there as a setting ``key``; none if there is none."""
        entry = self.take(*paths)
        return {} if entry is None else {key: read(entry)}

    def drop(self, entry: ZooEntry, reason: str) -> None:
        """Leave a value out, for a reason of its own."""
        self._dropped.setdefault(entry.path, reason)

    def note(self, text: str) -> None:
        """Tell the user something."""
        if text not in self.notes:
            self.notes.append(text)

    def rest(self, reasons: Mapping[str, str]) -> list[tuple[ZooEntry, str]]:
        """What was not used, as few and as large pieces as possible, each with its reason."""
        entries = self.top.children().values()
        return [piece for entry in entries for piece in self._left(entry, reasons, "")]

    def _left(self, entry: ZooEntry, reasons: Mapping[str, str], above: str) -> Iterator[tuple[ZooEntry, str]]:
        path = entry.path
        if path in self._used or entry.is_empty:
            return
        reason = self._dropped.get(path) or reasons.get(path, above)
        split = _below(path, self._used) or _below(path, self._dropped)
        if not split and reason and not any(_differs(leaf, reasons, reason) for leaf in entry.leaves()):
            yield entry, reason
        elif entry.is_mapping and (split or reason or _below(path, reasons)):
            for child in entry.children().values():
                yield from self._left(child, reasons, reason)
        else:
            yield entry, reason or UNKNOWN


def _below(path: str, names: Mapping[str, str] | set[str]) -> bool:
    return any(name.startswith(f"{path}.") for name in names)


def _differs(leaf: ZooEntry, reasons: Mapping[str, str], reason: str) -> bool:
    """Whether something inside of a dropped section has a reason of its own."""
    path = leaf.path
    while path:
        if path in reasons:
            return reasons[path] != reason and not leaf.is_empty
        path = path.rpartition(".")[0]
    return False
