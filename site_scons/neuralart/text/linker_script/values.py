"""Numbers of a linker script, worked out in the order of GNU ld.

The assignments are gone through once before the memories are known, then MEMORY is worked out, then the assignments
once more. So MEMORY may use a symbol that is assigned behind it, and gets the last of its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.text.linker_script.expression import Scope, Tree, value_of
from neuralart.text.linker_script.types import Memory, Symbol

_LARGEST = 1 << 32
# What ORIGIN() and LENGTH() are before a memory is worked out.
_UNSET = {"ORIGIN": 0, "LENGTH": (1 << 64) - 1}


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
) -> tuple[tuple[Memory, ...], tuple[NeuralArtError, ...], tuple[Symbol, ...]]:
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


def _assign(assignments: Sequence[Assignment], scope: Scope, *, placed: bool) -> tuple[Symbol, ...]:
    """Go through the assignments once; placed: memories are known, and what is relative to a section is not."""
    scope.defined.clear()
    symbols: list[Symbol] = []
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
            symbols.append(Symbol(each.name, value, each.where))
    return tuple(symbols)
