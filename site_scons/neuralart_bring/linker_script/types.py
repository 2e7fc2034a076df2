"""What a GNU linker script says: memories, which sections go where, symbols; and its numbers, in the order of GNU ld.
The assignments are gone through once before the memories are known, then MEMORY is worked out, then the assignments
once more. So MEMORY may use a symbol that is assigned behind it, and gets the last of its values.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from neuralart.errors import NeuralArtError, nearest
from neuralart_bring.linker_script.expression import Scope, Tree, value_of

_LARGEST = 1 << 32
# What ORIGIN() and LENGTH() are before a memory is worked out.
_UNSET = {"ORIGIN": 0, "LENGTH": (1 << 64) - 1}
_STACKS = ("_estack", "__StackTop", "__stack")


class Assignment(NamedTuple):
    """``name = tree;`` with its sign; ``inner``: in the body of an output section, where it is relative to it."""

    name: str
    sign: str
    tree: Tree | None
    provided: bool
    inner: bool
    where: str


class Region(NamedTuple):
    """An entry of MEMORY, each expression with its text."""

    attributes: str
    origin: tuple[Tree, str]
    length: tuple[Tree, str]
    where: str


def worked_out(
    assignments: Sequence[Assignment], regions: Mapping[str, Region], aliases: Mapping[str, str]
) -> tuple[tuple[Memory, ...], tuple[NeuralArtError, ...], tuple[ScriptSymbol, ...]]:
    """Memories, those that are not known before the link (as errors to raise), and symbols."""
    known: dict[tuple[str, str], int] = {}

    def of_memory(function: str, name: str) -> int | None:
        name = aliases.get(name, name)
        return known.get((function, name), _UNSET[function]) if name in regions else None

    scope = Scope(memory=of_memory)
    _assign(assignments, scope, placed=False)
    memories: list[Memory] = []
    unknown: list[NeuralArtError] = []
    for name, region in regions.items():
        numbers: list[int] = []
        for key, (tree, written) in (("ORIGIN", region.origin), ("LENGTH", region.length)):
            value = value_of(tree, scope)
            if value is not None:
                known[key, name] = value
            if value is not None and value <= _LARGEST:
                numbers.append(value)
            else:
                what = f"{key} of {name} is '{written[:40]}': no number of 32 bits that is known before the link"
                unknown.append(NeuralArtError(what, where=region.where))
        if len(numbers) == 2:
            memories.append(Memory(name, region.attributes, numbers[0], numbers[1], region.where))
    return tuple(memories), tuple(unknown), _assign(assignments, scope, placed=True)


def _assign(assignments: Sequence[Assignment], scope: Scope, *, placed: bool) -> tuple[ScriptSymbol, ...]:
    """Go through the assignments once; placed: memories are known, and what is relative to a section is not."""
    scope.defined.clear()
    symbols: list[ScriptSymbol] = []
    plain = {each.name for each in assignments if not each.provided}
    for each in assignments:
        if each.provided and each.name in plain:
            continue
        tree = each.tree
        if tree is not None and each.sign != "=":
            tree = (each.sign[:-1], ("name", each.name), tree)
        value = None if tree is None or (placed and each.inner) else value_of(tree, scope)
        scope.symbols[each.name] = value
        if not each.provided:
            scope.defined.add(each.name)
        if value is not None and value <= _LARGEST:
            symbols.append(ScriptSymbol(each.name, value, each.where))
    return tuple(symbols)


@dataclass(frozen=True)
class Memory:
    """A line of MEMORY."""

    name: str  # Such as ``AXIRAM``
    attributes: str  # Such as ``xrw``; empty if none are given
    origin: int  # Address
    length: int  # Bytes
    where: str = ""  # ``file:line``

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.origin + self.length

    @property
    def writable(self) -> bool:
        """May variables be placed there, by the attributes?"""
        plain, _, inverted = self.attributes.lower().partition("!")
        return not self.attributes or ("w" in plain and "w" not in inverted)


@dataclass(frozen=True)
class OutputSection:
    """A line of SECTIONS."""

    name: str  # Such as ``.bss``
    # Names of input sections it takes from objects of the application, possibly with wildcards
    patterns: tuple[str, ...]
    memory: str  # Name behind ``>``; empty if none
    where: str  # ``file:line``


@dataclass(frozen=True)
class ScriptSymbol:
    """A symbol that is given a value: name, value, ``file:line``."""

    name: str
    value: int
    where: str


@dataclass(frozen=True)
class LinkerScript:
    name: str  # For messages
    # In the order of the script; one that is declared twice has the last numbers, as in GNU ld
    memories: tuple[Memory, ...] = ()
    # In the order of the script: the first that takes an input section gets it
    sections: tuple[OutputSection, ...] = ()
    # Assignments with values that are known before the link, in the order of the script
    symbols: tuple[ScriptSymbol, ...] = ()
    # Memories without known numbers: why, as the error to raise where they are needed
    unknown: tuple[NeuralArtError, ...] = ()
    includes: tuple[str, ...] = ()  # Files it includes that could not be read
    places_sections: bool = False  # It has a SECTIONS part

    def complete(self) -> Self:
        """The same, if all of its memories are known; NeuralArtError where one is not, or there is none."""
        for error in self.unknown:
            raise error
        if not self.memories:
            raise NeuralArtError("no MEMORY in this linker script", where=self.name, hint="is it the application's?")
        return self

    def value(self, *names: str) -> int | None:
        """The last value of the first of these symbols that has one."""
        values = {symbol.name: symbol.value for symbol in self.symbols}
        return next((values[name] for name in names if name in values), None)

    def takes(self, section: str) -> bool:
        """Whether the script says where an input section goes; an included file that was not read may say it."""
        patterns = (pattern for each in self.sections for pattern in each.patterns)
        return bool(self.includes) or any(fnmatch.fnmatchcase(section, pattern) for pattern in patterns)

    def memory(self, name: str) -> Memory:
        """A memory by name. Raises NeuralArtError: there is none."""
        known = {memory.name: memory for memory in self.memories}
        if name not in known:
            raise NeuralArtError(f"no memory '{name}' in MEMORY", where=self.name, hint=nearest(name, tuple(known)))
        return known[name]

    def place(self, section: str) -> Memory:
        """The memory of an input section. NeuralArtError: the script does not say, drops it, or it is not writable."""
        taking = next((s for s in self.sections if any(fnmatch.fnmatchcase(section, p) for p in s.patterns)), None)
        if taking is None:
            stem = section.rpartition("_")[0] or section
            known = sorted({p for s in self.sections for p in s.patterns if p.startswith(stem)})
            listed = f"it knows {', '.join(known)}" if known else f"it knows no {stem}..."
            missed = f"; {', '.join(self.includes)} is included and was not read" if self.includes else ""
            what = f"no output section takes '{section}': the linker would place it anywhere; {listed}{missed}"
            hint = f"add *({section}) to a section of the right memory, or let the network use a pool that has one"
            raise NeuralArtError(what, where=self.name, hint=hint)
        if taking.name == "/DISCARD/":
            raise NeuralArtError(f"'{section}' is thrown away by /DISCARD/", where=taking.where)
        if not taking.memory:
            what = f"output section {taking.name} takes '{section}' and does not say which memory (>NAME) it goes to"
            raise NeuralArtError(what, where=taking.where)
        memory = self.memory(taking.memory)
        if not memory.writable:
            what = f"'{section}' would go to {memory.name} ({memory.attributes}), which is not for variables"
            raise NeuralArtError(what, where=taking.where)
        return memory

    def stack(self) -> tuple[Memory, int] | None:
        """The memory whose end (or inside) the initial stack pointer is, and the stack's declared size."""
        top = self.value(*_STACKS)
        if top is None:
            return None
        size = self.value("_Min_Stack_Size", "__STACK_SIZE") or 0
        return next(((memory, size) for memory in self.memories if memory.origin < top <= memory.end), None)
