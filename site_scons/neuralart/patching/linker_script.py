"""What an application's linker script says: memories, which sections go where, the stack.

A small reader of GNU ld scripts (MEMORY, SECTIONS, assignments); what it does not need it steps over.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.patching.linker_tokens import Script, evaluate

_WRAPPERS = ("KEEP", "SORT", "SORT_NONE", "SORT_BY_NAME", "SORT_BY_ALIGNMENT", "SORT_BY_INIT_PRIORITY")
_FUNCTIONS = (
    "ALIGN", "ABSOLUTE", "ADDR", "ALIGNOF", "ASSERT", "BYTE", "SHORT", "LONG", "QUAD", "SQUAD", "FILL", "DEFINED",
    "LENGTH", "LOADADDR", "LOG2CEIL", "MAX", "MIN", "NEXT", "ORIGIN", "PROVIDE", "PROVIDE_HIDDEN", "HIDDEN", "SIZEOF",
    "CREATE_OBJECT_SYMBOLS", "CONSTRUCTORS", "SUBALIGN", "BLOCK", "EXCLUDE_FILE", "SIZEOF_HEADERS", "ASCIZ",
)  # fmt: skip
_MEMORY = re.compile(
    r"([\w.$]+)\s*(?:\(([^)]*)\))?\s*:\s*(?:ORIGIN|org|o)\s*=\s*([^,]+),\s*(?:LENGTH|len|l)\s*=\s*"
    r"(.+?)(?=\s+[\w.$]+\s*(?:\([^)]*\)\s*)?:|$)",
    re.DOTALL,
)  # an expression may hold blanks; the next "NAME (attributes) :" ends it


@dataclass(frozen=True)
class Memory:
    """A line of MEMORY.

    Attributes:
        name: Such as ``AXIRAM``.
        attributes: Such as ``xrw``; empty if none are given.
        origin: Address.
        length: Bytes.
    """

    name: str
    attributes: str
    origin: int
    length: int

    @property
    def writable(self) -> bool:
        """May variables be placed there, by the attributes?"""
        plain, _, inverted = self.attributes.lower().partition("!")
        return not self.attributes or ("w" in plain and "w" not in inverted)


@dataclass(frozen=True)
class OutputSection:
    """A line of SECTIONS.

    Attributes:
        name: Such as ``.bss``.
        patterns: Names of input sections it takes from objects of the application, possibly with wildcards.
        memory: Name behind ``>``; empty if none.
        where: ``file:line``.
    """

    name: str
    patterns: tuple[str, ...]
    memory: str
    where: str


@dataclass(frozen=True)
class LinkerScript:
    """The script.

    Attributes:
        name: For messages.
        memories: In the order of the script.
        sections: In the order of the script: the first that takes an input section gets it.
        symbols: Assignments with values that are known before the link.
        includes: Files it includes, which are not read.
    """

    name: str
    memories: tuple[Memory, ...]
    sections: tuple[OutputSection, ...]
    symbols: Mapping[str, int]
    includes: tuple[str, ...] = ()

    def memory(self, name: str) -> Memory:
        """A memory by name.

        Raises:
            NeuralArtError: There is none.
        """
        for memory in self.memories:
            if memory.name == name:
                return memory
        raise NeuralArtError(
            f"no memory '{name}' in MEMORY", where=self.name, hint=nearest(name, tuple(m.name for m in self.memories))
        )

    def place(self, section: str) -> Memory:
        """The memory in which an input section ends up.

        Raises:
            NeuralArtError: The script does not say, throws it away, or it is a memory that cannot be written.
        """
        taking = next((s for s in self.sections if any(fnmatch.fnmatchcase(section, p) for p in s.patterns)), None)
        if taking is None:
            stem = section.rpartition("_")[0] or section
            known = sorted({p for s in self.sections for p in s.patterns if p.startswith(stem)})
            listed = f"it knows {', '.join(known)}" if known else f"it knows no {stem}..."
            missed = f"; {', '.join(self.includes)} is included and was not read" if self.includes else ""
            raise NeuralArtError(
                f"no output section takes '{section}': the linker would place it anywhere; {listed}{missed}",
                where=self.name,
                hint=f"add *({section}) to a section of the right memory, or let the network use a pool that has one",
            )
        if taking.name == "/DISCARD/":
            raise NeuralArtError(f"'{section}' is thrown away by /DISCARD/", where=taking.where)
        if not taking.memory:
            raise NeuralArtError(
                f"output section {taking.name} takes '{section}' and does not say which memory (>NAME) it goes to",
                where=taking.where,
            )
        memory = self.memory(taking.memory)
        if not memory.writable:
            raise NeuralArtError(
                f"'{section}' would go to {memory.name} ({memory.attributes}), which is not for variables",
                where=taking.where,
            )
        return memory

    def stack(self) -> tuple[Memory, int] | None:
        """The memory whose end (or inside) the initial stack pointer is, and the stack's declared size."""
        top = self.symbols.get("_estack", self.symbols.get("__StackTop", self.symbols.get("__stack")))
        if top is None:
            return None
        for memory in self.memories:
            if memory.origin < top <= memory.origin + memory.length:
                return memory, self.symbols.get("_Min_Stack_Size", self.symbols.get("__STACK_SIZE", 0))
        return None


def read(path: Path, display: str = "") -> LinkerScript:
    """Read a linker script.

    Raises:
        NeuralArtError: It cannot be read, or is none.
    """
    return parse(read_bytes(path), display or str(path))


def parse(data: bytes, name: str) -> LinkerScript:
    """As :func:`read`, of bytes."""
    return _Parser(Script(name, data)).script()


def _takes_objects(files: str) -> bool:
    """Does a pattern of file names take objects of the application? (``libc.a`` does not.)"""
    return any(fnmatch.fnmatchcase(name, files) for name in ("main.o", "Src/main.o"))


class _Parser:
    def __init__(self, script: Script) -> None:
        self.s = script
        self.memories: list[Memory] = []
        self.sections: list[OutputSection] = []
        self.symbols: dict[str, int | None] = {}
        self.includes: list[str] = []
        self.aliases: dict[str, str] = {}

    def script(self) -> LinkerScript:
        at, words = 0, self.s.words
        while at < len(words):
            if self.s.is_sign(at + 1, "{"):
                end = self.s.closing(at + 1)
                if words[at].text == "MEMORY":
                    self.memory_command(at + 2, end)
                elif words[at].text == "SECTIONS":
                    self.sections_command(at + 2, end)
                at = end + 1
            else:
                at = self.statement(at, len(words))
        if not self.memories:
            raise NeuralArtError("no MEMORY in this linker script", where=self.s.name, hint="is it the application's?")
        known = {key: value for key, value in self.symbols.items() if value is not None}
        return LinkerScript(
            self.s.name, tuple(self.memories), tuple(self.sections), known, tuple(dict.fromkeys(self.includes))
        )

    def memory_command(self, first: int, end: int) -> None:
        text = self.s.raw(first, end)
        at = 0
        while at < len(text):
            match = _MEMORY.match(text, at)
            if match is None:
                if text[at:].startswith("INCLUDE "):
                    self.includes.append(text[at:].split()[1])
                    at += len(" ".join(text[at:].split()[:2])) + 1
                    continue
                raise self.s.error(f"not a line of MEMORY: '{text[at : at + 40]}'", first)
            values = []
            for key, expression in (("ORIGIN", match.group(3)), ("LENGTH", match.group(4))):
                try:
                    value = evaluate(expression, self.symbols, self.of_memory)
                except ValueError as error:
                    raise self.s.error(f"{key} of {match.group(1)}: not understood: {error}", first) from error
                if value is None or not 0 <= value <= 1 << 32:
                    raise self.s.error(
                        f"{key} of {match.group(1)} is '{expression.strip()}': no number of 32 bits", first
                    )
                values.append(value)
            if any(memory.name == match.group(1) for memory in self.memories):
                raise self.s.error(f"memory {match.group(1)} stands twice in MEMORY", first)
            attributes = (match.group(2) or "").replace(" ", "")
            self.memories.append(Memory(match.group(1), attributes, values[0], values[1]))
            at = match.end()
            while at < len(text) and text[at] == " ":
                at += 1

    def of_memory(self, function: str, name: str) -> int | None:
        for memory in self.memories:
            if memory.name == name.strip():
                return {"ORIGIN": memory.origin, "LENGTH": memory.length}.get(function)
        return None

    def statement(self, at: int, end: int) -> int:
        """An assignment or a command; returns the index behind it."""
        words = self.s.words
        if words[at].text == "INCLUDE" and at + 1 < end:
            self.includes.append(words[at + 1].text)
            return at + 2
        if words[at].text == "REGION_ALIAS" and self.s.is_sign(at + 1, "(") and self.s.is_sign(at + 3, ","):
            self.aliases[words[at + 2].text] = words[at + 4].text
        if words[at].text in ("PROVIDE", "PROVIDE_HIDDEN") and self.s.is_sign(at + 1, "("):
            close = self.s.closing(at + 1)
            if self.s.is_sign(at + 3, "="):
                self.assign(words[at + 2].text, at + 4, close)
            return close + 1
        if at + 1 < end and self.s.is_sign(at + 1, "="):
            stop = at + 2
            while stop < end and not self.s.is_sign(stop, ";"):
                stop += 1
            self.assign(words[at].text, at + 2, stop)
            return stop + 1
        if self.s.is_sign(at + 1, "("):
            return self.s.closing(at + 1) + 1
        return at + 1

    def assign(self, name: str, first: int, stop: int) -> None:
        try:
            self.symbols[name] = evaluate(self.s.raw(first, stop), self.symbols, self.of_memory)
        except ValueError:
            self.symbols[name] = None

    def sections_command(self, at: int, end: int) -> None:
        words = self.s.words
        while at < end:
            colon = None if words[at].text == "INCLUDE" else self.header(at, end)
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
            patterns = tuple(self.patterns(body + 1, close))
            memory = self.aliases.get(memory, memory)
            self.sections.append(OutputSection(words[at].text, patterns, memory, self.s.where(words[at].start)))
            at = after

    def header(self, at: int, end: int) -> int | None:
        """Index of the colon if an output section starts here: ``name [address] [(type)] :``."""
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

    def patterns(self, at: int, end: int) -> list[str]:
        """Names of input sections in a body: ``*(.a .b*)``, ``KEEP(*(.c))``, ``file.o(SORT(.d.*))``."""
        found: list[str] = []
        words = self.s.words
        while at < end:
            if not self.s.is_sign(at + 1, "(") or at + 1 >= end:
                at += 1
                continue
            close = self.s.closing(at + 1)
            if words[at].text in _WRAPPERS:
                found += self.patterns(at + 2, close)
            elif words[at].text not in _FUNCTIONS and _takes_objects(words[at].text) and not self.member(at):
                found += self.names(at + 2, close)
            at = close + 1
        return found

    def member(self, at: int) -> bool:
        """Is this the second half of ``archive.a:file.o``? (``:file.o`` is a file in no archive.)"""
        words = self.s.words
        colon = self.s.is_sign(at - 1, ":") and words[at - 1].stop == words[at].start
        return colon and not self.s.is_sign(at - 2, "{") and words[at - 2].stop == words[at - 1].start

    def names(self, at: int, end: int) -> list[str]:
        """Names within the brackets behind a file's name."""
        found: list[str] = []
        while at < end:
            if self.s.is_sign(at + 1, "(") and at + 1 < end:
                close = self.s.closing(at + 1)
                if self.s.words[at].text != "EXCLUDE_FILE":
                    found += self.names(at + 2, close)
                at = close + 1
                continue
            if not self.s.is_sign(at, ","):
                found.append(self.s.words[at].text)
            at += 1
        return found
