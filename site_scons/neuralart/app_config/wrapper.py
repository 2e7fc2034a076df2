"""The post-processing wrapper of an application: which symbols it knows and which macros its sources read.

``app_postprocess.h`` defines the ``POSTPROCESS_...`` symbols of N6 applications (those of the STM32H747 stand in the
generated header itself); ``app_postprocess*.c`` choose by ``#if POSTPROCESS_TYPE == ...`` and read ``AI_...`` macros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from neuralart.text.c_source import NAME, LogicalLine, logical_lines

_SYMBOL = re.compile(r"POSTPROCESS_[A-Z][A-Z0-9_]*", re.ASCII)
_NUMBER = re.compile(r"\(?\s*([0-9]+)\s*\)?", re.ASCII)
# Names with this beginning that are of the wrapper's own making.
_NOT_SYMBOLS = ("POSTPROCESS_TYPE", "POSTPROCESS_WRAPPER")


@dataclass(frozen=True)
class Read:
    """A macro that a source of the wrapper reads."""

    name: str  # ``AI_OD_YOLOV8_PP_NB_CLASSES``
    where: str  # ``file:line``
    only: frozenset[str] | None  # symbols under which this is compiled; None: under any
    never: frozenset[str]  # symbols under which it is not
    optional: bool  # stands under another condition too (``#ifdef``), so it may be left out

    def under(self, symbol: str) -> bool:
        """Whether it is compiled for a symbol."""
        return (self.only is None or symbol in self.only) and symbol not in self.never


@dataclass(frozen=True)
class Wrapper:
    """What was found."""

    header: str = ""  # ``app_postprocess.h`` as shown to the user; empty where there is none
    sources: tuple[str, ...] = ()  # ``app_postprocess*.c``, likewise
    symbols: Mapping[str, str] = field(default_factory=dict)  # symbols that the header defines -> ``file:line``
    numbers: Mapping[str, int] = field(default_factory=dict)  # their numbers, where they are numbers
    # symbols that sources compare ``POSTPROCESS_TYPE`` with -> ``file:line`` of the first place
    tested: Mapping[str, str] = field(default_factory=dict)
    reads: tuple[Read, ...] = ()  # what the sources read
    defines: frozenset[str] = frozenset()  # names that the wrapper's own files define
    words: frozenset[str] = frozenset()  # all names in the wrapper's files

    def reads_under(self, symbol: str) -> list[Read]:
        """What is read when this symbol is chosen; everything that stands under no symbol, for an empty one."""
        return [read for read in self.reads if read.under(symbol)]


@dataclass
class _Frame:
    """An open ``#if``: what holds inside of its present branch."""

    only: frozenset[str] | None
    never: frozenset[str]
    optional: bool
    taken: frozenset[str]  # symbols of the branches before


def parse(header: tuple[str, str] | None, sources: Sequence[tuple[str, str]]) -> Wrapper:
    """Read the wrapper's files.

    Args:
        header: Shown name and text of ``app_postprocess.h``, if there is one.
        sources: Shown names and texts of ``app_postprocess*.c``.
    """
    symbols: dict[str, str] = {}
    numbers: dict[str, int] = {}
    tested: dict[str, str] = {}
    reads: list[Read] = []
    defines: set[str] = set()
    words: set[str] = set()
    for shown, text in ([header] if header else []) + list(sources):
        made = list(logical_lines(text))
        words.update(name for line in made for name in NAME.findall(line.text))
        defines.update(name for line in made if (name := _defined(line)))
        if header and shown == header[0]:
            for line in made:
                name = _defined(line)
                if _SYMBOL.fullmatch(name) and not name.startswith(_NOT_SYMBOLS):
                    symbols.setdefault(name, f"{shown}:{line.number}")
                    value = _NUMBER.fullmatch(line.text.removeprefix(name).strip())
                    if value:
                        numbers.setdefault(name, int(value.group(1)))
        else:
            _read_source(shown, made, tested, reads)
    return Wrapper(
        header=header[0] if header else "",
        sources=tuple(shown for shown, _ in sources),
        symbols=symbols,
        numbers=numbers,
        tested=tested,
        reads=tuple(reads),
        defines=frozenset(defines),
        words=frozenset(words),
    )


def _defined(line: LogicalLine) -> str:
    found = NAME.match(line.text) if line.directive == "define" else None
    return found.group() if found else ""


def _compared(condition: str) -> frozenset[str] | None:
    """Symbols of ``POSTPROCESS_TYPE == A || POSTPROCESS_TYPE == B``; None for any other condition."""
    if "POSTPROCESS_TYPE" not in condition:
        return None
    plain = condition.replace("(", " ").replace(")", " ")
    parts = [part.split() for part in plain.split("||")]
    if all(len(part) == 3 and part[0] == "POSTPROCESS_TYPE" and part[1] == "==" for part in parts):
        return frozenset(part[2] for part in parts)
    return None


def _open(line: LogicalLine, taken: frozenset[str]) -> _Frame:
    symbols = _compared(line.text) if line.directive in ("if", "elif") else None
    if symbols is not None:
        return _Frame(symbols, taken, False, taken | symbols)
    return _Frame(None, taken, line.directive != "else", taken)


def _read_source(shown: str, made: Sequence[LogicalLine], tested: dict[str, str], reads: list[Read]) -> None:
    stack: list[_Frame] = []
    for line in made:
        where = f"{shown}:{line.number}"
        if line.directive in ("if", "elif"):
            for name in sorted(_compared(line.text) or ()):
                tested.setdefault(name, where)
        if line.directive in ("if", "ifdef", "ifndef"):
            stack.append(_open(line, frozenset()))
        elif line.directive in ("elif", "else") and stack:
            before = stack.pop()
            frame = _open(line, before.taken)
            frame.optional = frame.optional or (before.optional and not before.taken)
            stack.append(frame)
        elif line.directive == "endif" and stack:
            stack.pop()
        elif line.directive in ("", "define"):
            text = line.text.removeprefix(_defined(line))
            for name in dict.fromkeys(NAME.findall(text)):
                if name.startswith("AI_"):
                    reads.append(_as_read(name, where, stack))


def _as_read(name: str, where: str, stack: Sequence[_Frame]) -> Read:
    only: frozenset[str] | None = None
    for frame in stack:
        if frame.only is not None:
            only = frame.only if only is None else only & frame.only
    never = frozenset(symbol for frame in stack for symbol in frame.never)
    return Read(name, where, only, never, any(frame.optional for frame in stack))
