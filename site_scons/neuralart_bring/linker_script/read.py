"""Reads a GNU linker script: MEMORY, SECTIONS, assignments, INCLUDE; everything else is stepped over."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable
from pathlib import Path

from neuralart.files import is_file, read_bytes
from neuralart_bring.linker_script.expression import Expression, Script, Tree
from neuralart_bring.linker_script.types import Assignment, LinkerScript, OutputSection, Region, worked_out

_WRAPPERS = ("KEEP", "SORT", "SORT_NONE", "SORT_BY_NAME", "SORT_BY_ALIGNMENT", "SORT_BY_INIT_PRIORITY")
FUNCTIONS = (
    "ALIGN", "ABSOLUTE", "ADDR", "ALIGNOF", "ASSERT", "BYTE", "SHORT", "LONG", "QUAD", "SQUAD", "FILL", "DEFINED",
    "LENGTH", "LOADADDR", "LOG2CEIL", "MAX", "MIN", "NEXT", "ORIGIN", "PROVIDE", "PROVIDE_HIDDEN", "HIDDEN", "SIZEOF",
    "CREATE_OBJECT_SYMBOLS", "CONSTRUCTORS", "SUBALIGN", "BLOCK", "EXCLUDE_FILE", "SIZEOF_HEADERS", "ASCIZ",
)  # fmt: skip
_ORIGIN, _LENGTH = ("ORIGIN", "org", "o"), ("LENGTH", "len", "l")
_ASSIGNING = ("=", "+=", "-=", "*=", "/=", "<<=", ">>=", "&=", "|=")
_PROVIDING = ("PROVIDE", "PROVIDE_HIDDEN")
_DEEPEST_INCLUDE = 10


def taken(script: Script, at: int, end: int) -> tuple[list[str], int]:
    """What begins at a word of a body: ``*(.a .b*)``, ``KEEP(*(.c))``, ``file.o(SORT(.d.*))``. Returns names of input
    sections, possibly with wildcards, and the index behind it.
    """
    if at + 1 >= end or not script.is_sign(at + 1, "("):
        return [], at + 1
    word, close = script.words[at].text, script.closing(at + 1)
    found: list[str] = []
    if word in _WRAPPERS:
        inner = at + 2
        while inner < close:
            names, inner = taken(script, inner, close)
            found += names
    elif word not in FUNCTIONS and _takes_objects(word) and not _is_member(script, at):
        found = _names(script, at + 2, close)
    return found, close + 1


def _takes_objects(files: str) -> bool:
    """Does a pattern of file names take objects of the application? (``libc.a`` does not.)"""
    return any(fnmatch.fnmatchcase(name, files) for name in ("main.o", "Src/main.o"))


def _is_member(script: Script, at: int) -> bool:
    """Is this the second half of ``archive.a:file.o``? (``:file.o`` is a file in no archive.)"""
    words = script.words
    colon = script.is_sign(at - 1, ":") and words[at - 1].stop == words[at].start
    return colon and not script.is_sign(at - 2, "{") and words[at - 2].stop == words[at - 1].start


def _names(script: Script, at: int, end: int) -> list[str]:
    """Names within the brackets behind a file's name."""
    found: list[str] = []
    while at < end:
        if at + 1 < end and script.is_sign(at + 1, "("):
            close = script.closing(at + 1)
            if script.words[at].text != "EXCLUDE_FILE":
                found += _names(script, at + 2, close)
            at = close + 1
            continue
        if not script.is_sign(at, ","):
            found.append(script.words[at].text)
        at += 1
    return found


class Parser:
    """Reads a script, and what it includes: ``include`` gives the content of such a file; None: it is not there."""

    def __init__(self, script: Script, include: Callable[[str], bytes | None]) -> None:
        self.s = script
        self.opened = include
        self.depth = 0
        self.regions: dict[str, Region] = {}
        self.assignments: list[Assignment] = []
        self.sections: list[OutputSection] = []
        self.includes: list[str] = []
        self.aliases: dict[str, str] = {}
        self.places_sections = False

    def script(self) -> LinkerScript:
        name = self.s.name
        self.commands(0, len(self.s.words))
        memories, unknown, symbols = worked_out(self.assignments, self.regions, self.aliases)
        includes = tuple(dict.fromkeys(self.includes))
        return LinkerScript(name, memories, tuple(self.sections), symbols, unknown, includes, self.places_sections)

    # Commands --------------------------------------------------------------------------------------------------------

    def commands(self, at: int, end: int) -> None:
        words = self.s.words
        while at < end:
            if self.s.is_sign(at + 1, "{"):
                close = self.s.closing(at + 1)
                if words[at].text == "MEMORY":
                    self.memory_command(at + 2, close)
                elif words[at].text == "SECTIONS":
                    self.places_sections = True
                    self.sections_command(at + 2, close)
                at = close + 1
            elif words[at].text == "INCLUDE" and at + 1 < end:
                self.included(words[at + 1].text, at, self.commands)
                at += 2
            else:
                at = self.statement(at, end)

    def included(self, name: str, at: int, read_words: Callable[[int, int], object]) -> None:
        """Read another file in the place of ``INCLUDE name``."""
        data = self.opened(name)
        if data is None:
            self.includes.append(name)
            return
        if self.depth == _DEEPEST_INCLUDE:
            raise self.s.error(f"INCLUDE {name}: more than {_DEEPEST_INCLUDE} files within each other", at)
        outer, self.depth = self.s, self.depth + 1
        self.s = Script(name, data)
        read_words(0, len(self.s.words))
        self.s, self.depth = outer, self.depth - 1

    def memory_command(self, at: int, end: int) -> None:
        words = self.s.words
        while at < end:
            name = words[at].text
            if name == "INCLUDE" and at + 1 < end:
                self.included(words[at + 1].text, at, self.memory_command)
                at += 2
                continue
            first, attributes = at, ""
            at += 1
            if self.s.is_sign(at, "("):
                close = self.s.closing(at)
                attributes = "".join(word.text for word in words[at + 1 : close])
                at = close + 1
            if not self.s.is_sign(at, ":"):
                shown = " ".join(self.s.text[words[first].start :][:40].split())
                raise self.s.error(f"not a line of MEMORY: '{shown}'", first)
            at, origin = self.number(at + 1, end, _ORIGIN, name)
            at, length = self.number(at + self.s.is_sign(at, ","), end, _LENGTH, name)
            at += self.s.is_sign(at, ",")
            where = self.s.where(words[first].start)
            # ld warns of a second declaration and takes its numbers.
            self.regions[name] = Region(attributes, origin, length, where)

    def number(self, at: int, end: int, keys: tuple[str, ...], memory: str) -> tuple[int, tuple[Tree, str]]:
        """``ORIGIN = expression``: the word behind it, the expression and its text."""
        words = self.s.words
        if at + 2 > end or words[at].text not in keys or not self.s.is_sign(at + 1, "="):
            raise self.s.error(f"not a line of MEMORY: {memory} has no '{keys[0]} ='", min(at, end))
        start, stop = words[at + 1].stop, words[end].start if end < len(words) else len(self.s.text)
        try:
            tree, behind = Expression(self.s.text, start, stop).parse()
            after = self.s.index_at(behind, at + 2)
            if words[after - 1].stop > behind:
                raise ValueError(f"'{words[after - 1].text}'")
        except ValueError as error:
            raise self.s.error(f"{keys[0]} of {memory}: not understood: {error}", at) from error
        return after, (tree, self.s.text[start:behind].strip())

    def statement(self, at: int, end: int, *, inner: bool = False) -> int:
        """An assignment or a command; returns the index behind it."""
        words = self.s.words
        if words[at].text == "REGION_ALIAS" and self.s.is_sign(at + 1, "(") and self.s.is_sign(at + 3, ","):
            alias, region = words[at + 2].text, words[at + 4].text if at + 4 < end else ""
            self.aliases[alias] = self.aliases.get(region, region)
        if words[at].text in (*_PROVIDING, "HIDDEN") and self.s.is_sign(at + 1, "("):
            close = self.s.closing(at + 1)
            self.assignment(at + 2, close, provided=words[at].text in _PROVIDING, inner=inner)
            return close + 1
        if at + 1 < end and words[at + 1].text in _ASSIGNING and not words[at + 1].quoted:
            stop = at + 2
            while stop < end and not self.s.is_sign(stop, ";"):
                stop += 1
            self.assignment(at, stop, provided=False, inner=inner)
            return stop + 1
        if self.s.is_sign(at + 1, "("):
            return self.s.closing(at + 1) + 1
        return at + 1

    def assignment(self, at: int, end: int, *, provided: bool, inner: bool) -> None:
        words = self.s.words
        if at + 1 >= end or words[at + 1].text not in _ASSIGNING or words[at].text == ".":
            return
        stop = words[end].start if end < len(words) else len(self.s.text)
        tree: Tree | None = None
        try:
            tree, behind = Expression(self.s.text, words[at + 1].stop, stop).parse()
            if self.s.text[behind:stop].strip():
                tree = None
        except ValueError:
            pass  # what is not read here has no value before the link
        where = self.s.where(words[at].start)
        self.assignments.append(Assignment(words[at].text, words[at + 1].text, tree, provided, inner, where))

    # SECTIONS --------------------------------------------------------------------------------------------------------

    def sections_command(self, at: int, end: int) -> None:
        words = self.s.words
        while at < end:
            if words[at].text == "INCLUDE" and at + 1 < end:
                self.included(words[at + 1].text, at, self.sections_command)
                at += 2
                continue
            colon = self.header(at, end)
            if colon is None:
                at = self.statement(at, end)
                continue
            body = colon
            while body < end and not self.s.is_sign(body, "{"):
                body += 1
            if body == end:
                raise self.s.error(f"output section {words[at].text} has no body", at)
            close = self.s.closing(body)
            memory, after = self.region(close + 1, end)
            memory = self.aliases.get(memory, memory)
            if words[at].text == "OVERLAY":
                self.overlay(body + 1, close, memory)
            else:
                self.section(at, body + 1, close, memory)
            at = after

    def section(self, at: int, first: int, close: int, memory: str) -> None:
        """One output section, with the assignments in its body."""
        name, where = self.s.words[at].text, self.s.where(self.s.words[at].start)
        self.sections.append(OutputSection(name, tuple(self.body(first, close)), memory, where))

    def overlay(self, at: int, end: int, memory: str) -> None:
        """Output sections that share a memory: ``OVERLAY : { .a { ... } .b { ... } } >RAM``."""
        while at < end:
            close = self.s.closing(at + 1) if self.s.is_sign(at + 1, "{") else at
            if close > at:
                self.section(at, at + 2, close, memory)
            at = close + 1

    def header(self, at: int, end: int) -> int | None:
        """Index of the colon if an output section starts here: ``name [address] [(type)] :``."""
        if self.s.words[at].text in FUNCTIONS and self.s.is_sign(at + 1, "("):
            return None
        for index in range(at + 1, end):
            if self.s.is_sign(index, ":"):
                return index
            if any(self.s.is_sign(index, sign) for sign in (";", "=", "{", "}")):
                return None
        return None

    def region(self, at: int, end: int) -> tuple[str, int]:
        """``[>region] [AT>region] [:phdr] [=fill]`` behind a body."""
        memory, words = "", self.s.words
        while at < end:
            if self.s.is_sign(at, ">") and at + 1 < end:
                memory = words[at + 1].text
                at += 2
            elif words[at].text == "AT" and self.s.is_sign(at + 1, ">"):
                at += 3
            elif self.s.is_sign(at, ":") or self.s.is_sign(at, "="):
                at += 2
            elif self.s.is_sign(at, ","):
                at += 1
            else:
                break
        return memory, at

    def body(self, at: int, end: int) -> list[str]:
        """Names of the input sections that a body takes; its assignments are kept."""
        found: list[str] = []
        words = self.s.words

        def inside(first: int, stop: int) -> None:
            found.extend(self.body(first, stop))

        while at < end:
            if words[at].text == "INCLUDE" and at + 1 < end:
                self.included(words[at + 1].text, at, inside)
                at += 2
            elif words[at].text in _PROVIDING or (at + 1 < end and words[at + 1].text in _ASSIGNING):
                at = self.statement(at, end, inner=True)
            else:
                names, at = taken(self.s, at, end)
                found += names
        return found


def read(path: Path, display: str = "") -> LinkerScript:
    """Read a linker script, and what it includes from its folder; NeuralArtError: it cannot be read, or is none."""

    def beside(name: str) -> bytes | None:
        found = path.parent / name
        return read_bytes(found) if is_file(found) else None

    return parse(read_bytes(path), display or str(path), beside)


def parse(data: bytes, name: str, include: Callable[[str], bytes | None] = lambda _name: None) -> LinkerScript:
    """As :func:`read`, of bytes; ``include`` gives the content of an included file, None: it is not there."""
    return Parser(Script(name, data), include).script()
