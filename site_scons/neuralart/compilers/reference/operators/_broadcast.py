"""Broadcasting of two inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

RANK = 6
"""NA_BROADCAST_RANK of the kernels."""


@dataclass(frozen=True)
class Broadcast:
    """How two inputs are walked to fill an output."""

    output: tuple[int, ...]  # the output's shape
    # The same with neighboring dimensions joined where both inputs allow it; innermost last, never empty
    shape: tuple[int, ...]
    stride1: tuple[int, ...]  # distance of neighbors in the first input per dimension of ``shape``, 0 where it repeats
    stride2: tuple[int, ...]  # likewise for the second

    def expression(self) -> str:
        """The ``na_broadcast_t`` as a C initializer, filled up with leading dimensions of 1."""
        fill = RANK - len(self.shape)
        rows = (
            ("shape", (1,) * fill + self.shape),
            ("stride1", (0,) * fill + self.stride1),
            ("stride2", (0,) * fill + self.stride2),
        )
        return "{" + ", ".join(f".{name} = {{{', '.join(map(str, row))}}}" for name, row in rows) + "}"


def broadcast(first: Sequence[int], second: Sequence[int]) -> Broadcast:
    """Broadcast two shapes as numpy does: aligned at the last dimension, 1 stretches.

    Raises ValueError when the shapes do not fit together.
    """
    pairs = list(zip_longest(reversed(first), reversed(second), fillvalue=1))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise ValueError(f"shapes {list(first)} and {list(second)} do not broadcast")
    output = tuple(max(pair) for pair in reversed(pairs))
    joined: list[list[int]] = []  # innermost first: size, first varies, second varies
    for a, b in pairs:
        if a == b == 1:
            continue
        varies = [int(a > 1), int(b > 1)]
        if joined and joined[-1][1:] == varies:
            joined[-1][0] *= max(a, b)
        else:
            joined.append([max(a, b), *varies])
    joined = joined or [[1, 1, 1]]

    def strides(column: int) -> tuple[int, ...]:
        steps = [prod(row[0] for row in joined[:i] if row[column]) * row[column] for i, row in enumerate(joined)]
        return tuple(reversed(steps))

    return Broadcast(output, tuple(row[0] for row in reversed(joined)), strides(1), strides(2))
