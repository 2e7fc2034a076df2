"""Reads the origin of a generated file: its first comments, and the guard on the runtime's version."""

from __future__ import annotations

import re
from pathlib import PureWindowsPath

from neuralart.quick import dataclass, field, lazy_regex
from neuralart.vendor.network_c.initializers import literal

_HEAD = 1 << 16
_OPTION = lazy_regex(r"^[ \t]*\*?[ \t]*--([\w-]+)(?:[ \t]*=[ \t]*(.*?))?[ \t]*$", re.M)
_ORIGIN = lazy_regex(r"^[ \t]*\*?[ \t]*((?:GIT|BUILD)_\w+)[ \t]+(.*?)[ \t]*$", re.M)
_PLAIN = lazy_regex(r"^[ \t]*\*?[ \t]*([A-Za-z][\w-]*)[ \t]*=[ \t]*(.*?)[ \t]*$", re.M)
_EXPORTED = lazy_regex(r"(.+)_OE_(\d+(?:_\d+)*)(?:_Q)?(?:\.onnx|\.json)?")
_VERSION = lazy_regex(r"LL_ATON_VERSION_(MAJOR|MINOR|MICRO|DEV)(?:_NUM)?\s*\)?\s*!=\s*\(?\s*(\d+)")
_FIRST = "LL_ATON_VERSION_MAJOR"
_PARTS = ("MAJOR", "MINOR", "MICRO", "DEV")
_CODE = lazy_regex(r"^[ \t]*#", re.M)
_COMPLAINT = lazy_regex(r"^[ \t]*#[ \t]*(error|warning)\b", re.M)
_END = lazy_regex(r"^[ \t]*#[ \t]*endif\b", re.M)


@dataclass(frozen=True)
class Banner:
    """The first comment of a file."""

    # ``GIT_SHA``, ``GIT_BRANCH``, ``GIT_DESCRIPTION``, on some systems ``BUILD_DIR``, ``BUILD_DATE``...
    origin: dict[str, str] = field(default_factory=dict)
    # Command-line options of the compiler without their dashes, and without the quotes of their values
    options: dict[str, str] = field(default_factory=dict)
    expanded: dict[str, str] = field(default_factory=dict)  # What its automatic options became

    @property
    def branch(self) -> str:
        """GIT_BRANCH; empty if there is none."""
        return self.origin.get("GIT_BRANCH", "")

    @property
    def model(self) -> str:
        """Name of the user's model without folder and extension; empty if the options do not have it."""
        return model_name(self.options)[0]

    @property
    def front_end(self) -> str:
        """Version that the front end wrote behind the model's name, for example ``3_3_1``; may be empty."""
        return model_name(self.options)[1]


def _value(text: str | None) -> str:
    """Without its quotes; an option without value is switched on."""
    return "true" if text is None else text.removeprefix('"').removesuffix('"')


def banner(text: str) -> Banner:
    """Read the first comments of a file: those before its first preprocessor line, or further on."""
    code = _CODE.search(text, 0, _HEAD)
    return (_banner(text[: code.start()]) if code else None) or _banner(text[:_HEAD]) or Banner()


def _first_ones(pattern: re.Pattern[str], head: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for match in pattern.finditer(head):
        found.setdefault(match[1], _value(match[2]))
    return found


def _banner(head: str) -> Banner | None:
    origin, options = _first_ones(_ORIGIN, head), _first_ones(_OPTION, head)
    expanded = {match[1]: _value(match[2]) for match in _PLAIN.finditer(head)}
    return Banner(origin, options, expanded) if origin or options else None


def model_name(options: dict[str, str]) -> tuple[str, str]:
    """Name of the model and version of the front end, from the options that name the exported model (any paths)."""
    for key in ("onnx-input", "json-quant-file"):
        name = PureWindowsPath(options.get(key, "")).name
        exported = _EXPORTED.fullmatch(name)
        if exported is not None:
            return exported[1], exported[2]
        if name:
            return name.removesuffix(".onnx").removesuffix(".json").removesuffix("_Q"), ""
    return "", ""


def guard(text: str) -> tuple[tuple[int, int, int, int] | None, str]:
    """Read the runtime's version that a file requires, and what happens with another: ``error`` or ``warning``."""
    at = text.find(_FIRST)
    while at >= 0:
        found: dict[str, int] = {}
        end = at
        # The four tests stand together, in whatever order.
        for match in _VERSION.finditer(text, max(0, at - 1000), at + 2000):
            number = literal(match[2].lstrip("0") or "0")
            if number is not None:
                found.setdefault(match[1], number)
                end = match.end()
        if len(found) == len(_PARTS):
            stop = _END.search(text, end)
            complaint = _COMPLAINT.search(text, end, stop.start() if stop else end + 500)
            return (found["MAJOR"], found["MINOR"], found["MICRO"], found["DEV"]), complaint[1] if complaint else ""
        at = text.find(_FIRST, at + 1)
    return None, ""
