"""Ends a graph at tensors: operators behind them go, and what only those needed."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from neuralart.errors import NeuralArtError, similar

# A tensor: its number, or its name in a graph without numbers. Inputs and outputs of operators in order of execution.
Id = TypeVar("Id", bound=Hashable)
Ends = Sequence[tuple[Sequence[Id], Sequence[Id]]]


def chosen(names: Sequence[str], made: Mapping[str, Sequence[Id]], where: str) -> list[Id]:
    """The tensors of some names, of those that operators compute (``made``); a comma may be a part of a name.
    NeuralArtError: no operator computes such a tensor, or several do.
    """
    found, rest = list[Id](), list(names)
    while rest:
        size = next((size for size in range(len(rest), 0, -1) if ",".join(rest[:size]) in made), 1)
        name = ",".join(rest[:size])
        if len(numbers := made.get(name, ())) != 1:
            what = f"cut: {len(numbers) or 'no'} tensors that operators compute are called '{name}'"
            raise NeuralArtError(what, where=where, hint=similar(name, {*made} - {name, ""}, 3, 0.4))
        found += numbers
        del rest[:size]
    return found


def needed(ends: Ends[Id], outputs: Sequence[Id]) -> tuple[list[int], set[Id]]:
    """Positions of the operators that some tensors need, and of those that only keep a state; all that these need."""
    tensors, kept = {*outputs}, list[int]()
    for position in range(len(ends) - 1, -1, -1):
        if not ends[position][1] or not tensors.isdisjoint(ends[position][1]):
            kept.append(position)
            tensors.update(ends[position][0])
    return kept[::-1], tensors


def frontier(ends: Ends[Id], outputs: Sequence[Id], refused: set[Id]) -> list[Id]:
    """Where a graph could end to be without operators of which ``refused`` are outputs: what is computed for them, and
    its own other outputs. Empty if less than half of the operators would be left, or there are more than 24.
    """
    bad, front, wanted = set(refused), list[Id](), {*outputs}
    for inputs, made in ends:
        if bad.isdisjoint((*inputs, *made)):
            front += made
        else:
            bad.update(made)
            wanted.update(inputs)
    found = [tensor for tensor in front if tensor in wanted]
    return found if len(found) <= 24 and 2 * len(needed(ends, found)[0]) >= len(ends) else []


def proposed(names: Sequence[str]) -> str:
    """What to write into variants.yaml to end a model at tensors of these names; empty if there are none."""
    shown = json.dumps(names, ensure_ascii=False)
    return f"end it in front of them: cut: {{outputs: {shown}}}, or --cut" if names else ""
