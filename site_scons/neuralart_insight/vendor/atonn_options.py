"""Reader of ``atonn_options.ini``: the options the Neural-ART compiler really worked with."""

from __future__ import annotations

import re
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.files import of_file

_OPTION = re.compile(r"([A-Za-z][\w-]{0,80})\s*=\s*(.*)")
_VERSION = re.compile(r"atonn[.-]v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-(\d{1,6}))?")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
Value = str | int | bool


@dataclass(frozen=True)
class AtonnOptions:
    file: str  # Its name as shown to the user
    tool: str  # Path of the compiler; empty if not told
    version: tuple[int, int, int, int] | None  # Major, minor, micro and development number; None if not told
    folder: str  # Where it was started; empty if not told
    options: dict[str, Value]  # In the file's order. File names stand without their extension.
    notes: tuple[str, ...] = ()  # Options that stand twice, of which the last one counts


def _value(text: str, where: str) -> Value:
    if text.startswith('"'):
        if len(text) < 2 or not text.endswith('"'):
            raise NeuralArtError("a text is not closed", where=where, hint="a closing quote is missing")
        return text[1:-1]
    if text in ("true", "false"):
        return text == "true"
    return int(text) if _NUMBER.fullmatch(text) else text


def parse_options(data: bytes, file: str) -> AtonnOptions:
    """The content of such a file; NeuralArtError with ``file:line`` if a line is neither a remark nor an option."""
    remarks: list[str] = []
    options: dict[str, Value] = {}
    notes: list[str] = []
    for number, raw in enumerate(re.split(r"\r\n|\n|\r", data.decode("utf-8-sig", "replace")), start=1):
        line, where = raw.strip(), f"{file}:{number}"
        if line.startswith("#"):
            remarks.append(line[1:].strip())
        elif line:
            found = _OPTION.fullmatch(line)
            if found is None:
                raise NeuralArtError(f"'{line[:60]}' is no option", where=where, hint="options are written name=value")
            if found[1] in options:
                notes.append(f"line {number}: '{found[1]}' stands here a second time")
            options[found[1]] = _value(found[2].strip(), where)
    if not options and not remarks:
        raise NeuralArtError("the file is empty", where=file)
    version = next((found for remark in remarks if (found := _VERSION.search(remark))), None)
    tool, folder = _after(remarks, "Tool:"), _after(remarks, "executed from dir")
    major, minor, micro, dev = (int(part or 0) for part in version.groups()) if version else (0, 0, 0, 0)
    release = (major, minor, micro, dev) if version else None
    return AtonnOptions(file=file, tool=tool, version=release, folder=folder, options=options, notes=tuple(notes))


read = of_file(parse_options)


def _after(remarks: list[str], label: str) -> str:
    return next((remark.removeprefix(label).strip() for remark in remarks if remark.startswith(label)), "")
