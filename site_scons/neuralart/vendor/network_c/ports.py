"""Inputs and outputs of a network, from their rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuralart.vendor.network_c.initializers import array_text, integer, integers, members, reals
from neuralart.vendor.network_c.types import Pool, Port, Problem, Quant, Row

_LAST_NAME = re.compile(r"([A-Za-z_]\w*)[\s)]*$")
_POSITIONS = {"First": "first", "Last": "last", "Mixed": "mixed", "UNDEFINED": "undefined", "Undefined": "undefined"}


def pool_of(row: Row, pools: Sequence[Pool], name: str) -> Pool | None:
    """The pool a row lies in; None if the application provides its memory, or no pool fits.

    A virtual pool has the base of its first part: the part is meant if the row fits in it.

    Args:
        row: The row.
        pools: All pools.
        name: Suffix of the network's symbols.
    """
    if row.user_allocated:
        return None
    if row.symbol:
        return next((pool for pool in pools if row.symbol == f"_mem_pool_{pool.fname}_{name}"), None)
    fits = [p for p in pools if not p.of_user and p.address <= row.base and row.base + row.end <= p.address + p.size]
    return min(fits, key=lambda pool: (row.base - pool.address, pool.virtual, pool.size), default=None)


def _dtype(named: dict[str, str]) -> tuple[str, int]:
    name = named.get("type", "").removeprefix("DataType_").lower()
    bits = integer(named.get("nbits", "")) or 0
    return (f"float{bits or 32}" if name == "float" else name), bits


class _Arrays:
    """Arrays that rows refer to by name."""

    def __init__(self, text: str, row: Row, where: str, problems: list[Problem]) -> None:
        self._text, self._row, self._where, self._problems = text, row, where, problems
        self.members = members(row.body)

    def _find(self, member: str) -> str | None:
        value = self.members.get(member, "NULL")
        if "{" in value:
            return value.partition("{")[2].partition("}")[0]
        # The name comes last: a cast may stand in front of it.
        name = _LAST_NAME.search(value)
        if (name[1] if name else value.strip("() ")) in ("NULL", "0", ""):
            return None
        found = array_text(self._text, name[1], self._row.offset) if name else None
        if found is None:
            self._fail(f"{member} of {self._row.name} is '{value[:60]}', which is not in the file")
        return found

    def _fail(self, what: str) -> None:
        self._problems.append(Problem(self._where, what, "port"))

    def integers(self, member: str) -> tuple[int, ...]:
        """Whole numbers; empty if there are none."""
        found = self._find(member)
        values = integers(found) if found is not None else ()
        if values is None:
            self._fail(f"{member} of {self._row.name} is no list of whole numbers")
        return values or ()

    def reals(self, member: str) -> tuple[float, ...]:
        """Numbers; empty if there are none."""
        found = self._find(member)
        values = reals(found) if found is not None else ()
        if values is None:
            self._fail(f"{member} of {self._row.name} is no list of numbers")
        return values or ()


def port(text: str, row: Row, pools: Sequence[Pool], name: str, where: str) -> tuple[Port, list[Problem]]:
    """Everything about an input or output.

    Args:
        text: The file.
        row: Its row.
        pools: All pools.
        name: Suffix of the network's symbols.
        where: ``file:line`` of the row.
    """
    problems: list[Problem] = []
    arrays = _Arrays(text, row, where, problems)
    pool = pool_of(row, pools, name)
    base = pool.address if pool is not None and row.symbol else row.base
    scales, zeros = arrays.reals("scale"), arrays.integers("offset")
    dtype, bits = _dtype(arrays.members)
    position = arrays.members.get("chpos", "").removeprefix("CHPos_")
    return (
        Port(
            row=row,
            address=0 if row.user_allocated else base + row.start,
            pool=pool.fname if pool is not None else "",
            shape=arrays.integers("shape"),
            mem_shape=arrays.integers("mem_shape"),
            channel_position=_POSITIONS.get(position, "undefined"),
            dtype=dtype,
            bits=bits,
            quant=Quant(scales, zeros) if scales else None,
        ),
        problems,
    )
