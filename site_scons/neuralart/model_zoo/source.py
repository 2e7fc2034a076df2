"""A configuration that remembers which of its keys were used."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.model_zoo.tree import Entry

UNKNOWN = "not a key of the model zoo that is known"


class Source:
    """A configuration while it is converted.

    Attributes:
        top: The file.
        notes: What the user should look at, in the order it was found.
    """

    def __init__(self, top: Entry) -> None:
        self.top = top
        self.notes: list[str] = []
        self._used: set[str] = set()
        self._dropped: dict[str, str] = {}

    def take(self, *paths: str) -> Entry | None:
        """The first value that is there; it counts as used."""
        for path in paths:
            entry = self.top.find(path)
            if entry is not None:
                self._used.add(entry.path)
                return entry
        return None

    def drop(self, entry: Entry, reason: str) -> None:
        """Leave a value out, for a reason of its own."""
        self._dropped.setdefault(entry.path, reason)

    def note(self, text: str) -> None:
        """Tell the user something."""
        if text not in self.notes:
            self.notes.append(text)

    def rest(self, reasons: Mapping[str, str]) -> list[tuple[Entry, str]]:
        """What was not used, as few and as large pieces as possible, each with its reason."""
        found: list[tuple[Entry, str]] = []
        for entry in self.top.children().values():
            self._collect(entry, reasons, "", found)
        return found

    def _below(self, path: str, names: Mapping[str, str] | set[str]) -> bool:
        return any(name.startswith(f"{path}.") for name in names)

    def _collect(self, entry: Entry, reasons: Mapping[str, str], above: str, found: list[tuple[Entry, str]]) -> None:
        path = entry.path
        if path in self._used or entry.is_empty:
            return
        reason = self._dropped.get(path) or reasons.get(path, above)
        split = self._below(path, self._used) or self._below(path, self._dropped)
        if not split and reason and not any(self._differs(leaf, reasons, reason) for leaf in entry.leaves()):
            found.append((entry, reason))
        elif entry.is_mapping and (split or reason or self._below(path, reasons)):
            for child in entry.children().values():
                self._collect(child, reasons, reason, found)
        else:
            found.append((entry, reason or UNKNOWN))

    def _differs(self, leaf: Entry, reasons: Mapping[str, str], reason: str) -> bool:
        """Whether something inside of a dropped section has a reason of its own."""
        path = leaf.path
        while path:
            if path in reasons:
                return reasons[path] != reason and not leaf.is_empty
            path = path.rpartition(".")[0]
        return False
