"""Reads network.c."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from neuralart.errors import NeuralArtError
from neuralart.files import of_file
from neuralart.network.facts import Port
from neuralart.quick import lazy_regex
from neuralart.text.c_source import Lines, blanked, decode
from neuralart.vendor.network_c import initializers
from neuralart.vendor.network_c import types as c
from neuralart.vendor.network_c.banner import banner, guard
from neuralart.vendor.network_c.blocks import blocks, getter_name
from neuralart.vendor.network_c.pools import pools
from neuralart.vendor.network_c.types import NetworkPort

Number = TypeVar("Number", int, float)
_LAST_NAME = lazy_regex(r"([A-Za-z_]\w*)[\s)]*$")
_POSITIONS = {"First": "first", "Last": "last", "Mixed": "mixed", "UNDEFINED": "undefined", "Undefined": "undefined"}


def pool_of(row: c.BufferRow, pools: Sequence[c.Pool], name: str) -> c.Pool | None:
    """The pool a row lies in; None if the application provides its memory, or no pool fits. A virtual pool has the base
    of its first part: the part is meant if the row fits in it. ``name`` is the suffix of the network's symbols.
    """
    if row.user_allocated:
        return None
    if row.symbol:
        return next((pool for pool in pools if row.symbol == f"_mem_pool_{pool.fname}_{name}"), None)
    fits = [p for p in pools if not p.of_user and p.address <= row.base and row.base + row.end <= p.address + p.size]
    return min(fits, key=lambda pool: (row.base - pool.address, pool.virtual, pool.size), default=None)


def _port(
    text: str, row: c.BufferRow, pools: Sequence[c.Pool], name: str, where: str, problems: list[c.Problem]
) -> c.NetworkPort:
    named = initializers.members(row.body)

    def array(member: str, read: Callable[[str], tuple[Number, ...] | None], what: str) -> tuple[Number, ...]:
        """The list that a member is, or refers to by name; empty if there is none."""
        value = named.get(member, "NULL")
        found: str | None = value.partition("{")[2].partition("}")[0]
        if "{" not in value:
            # The name comes last: a cast may stand in front of it.
            last = _LAST_NAME.search(value)
            if (last[1] if last else value.strip("() ")) in ("NULL", "0", ""):
                return ()
            found = initializers.array_text(text, last[1], row.offset) if last else None
        values = read(found) if found is not None else None
        if values is None:
            wrong = f"is no list of {what}" if found is not None else f"is '{value[:60]}', which is not in the file"
            problems.append(c.Problem(where, f"{member} of {row.name} {wrong}", "port"))
        return values or ()

    pool = pool_of(row, pools, name)
    base = pool.address if pool is not None and row.symbol else row.base
    scales = array("scale", initializers.reals, "numbers")
    zeros = array("offset", initializers.integers, "whole numbers")
    dtype = named.get("type", "").removeprefix("DataType_").lower()
    bits = initializers.integer(named.get("nbits", "")) or 0
    return c.NetworkPort(
        row=row,
        address=0 if row.user_allocated else base + row.start,
        pool=pool.fname if pool is not None else "",
        shape=array("shape", initializers.integers, "whole numbers"),
        mem_shape=array("mem_shape", initializers.integers, "whole numbers"),
        channel_position=_POSITIONS.get(named.get("chpos", "").removeprefix("CHPos_"), "undefined"),
        dtype=f"float{bits or 32}" if dtype == "float" else dtype,
        bits=bits,
        quant=c.Quant(scales, zeros) if scales else None,
    )


# The tables of buffers of network.c: inputs with the weights behind them, outputs, intermediate ones ----------------

_FALSE = (None, "", "0", "false")
TABLES = ("input", "output", "internal")
_GETTER = lazy_regex(r"_Buffers_Info_(\w+)\s*\(\s*(?:void)?\s*\)\s*\{")
_SYMBOL = lazy_regex(r"_mem_pool_\w+")
_ADDRESS = 1 << 32
# Members in the order in which every release writes them; other rows are read member by member.
_USUAL = lazy_regex(
    r'\s*\.name = (?P<name>"[^"\\\n]*"),\s*\.addr_base = (?P<addr_base>\{[^{}]*\}),\s*'
    r"\.offset_start = (?P<offset_start>\d+),\s*\.offset_end = (?P<offset_end>\d+),\s*\.offset_limit = \d+,\s*"
    r"\.is_user_allocated = (?P<is_user_allocated>\d),\s*\.is_param = (?P<is_param>\d),\s*\.epoch = (?P<epoch>\d+),"
)


def tables(text: str, name: str) -> Iterator[tuple[str, int, int]]:
    """The getters of a network, by the suffix of its functions: (table, start, end) in the text."""
    getters = ((table, match) for match in _GETTER.finditer(text) for table in TABLES)
    starts = [(t, m) for t, m in getters if text.endswith(f"LL_ATON_{t.capitalize()}", 0, m.start())]
    for number, (table, match) in enumerate(starts):
        end = starts[number + 1][1].start() if number + 1 < len(starts) else len(text)
        if match[1] == name:
            yield table, match.end(), end


class _Unreadable(Exception):
    """Why a row cannot be read."""


def _limited(digits: str) -> int:
    """A C literal of 32 bits."""
    # int() is exact for what is not octal; the rest goes the long way.
    value = int(digits) if digits.isascii() and digits.isdigit() and digits[0] != "0" and len(digits) < 11 else None
    value = initializers.literal(digits) if value is None else value
    if value is None or value >= _ADDRESS:
        raise _Unreadable(f"'{digits[:40]}' is no number of 32 bits")
    return value


def _number(text: str, what: str) -> int:
    if text.isascii() and text.isdigit():
        return _limited(text)
    value = initializers.integer(text)
    if value is None:
        digits = initializers.literals(text)
        if len(digits) == 1 and text.strip("() \t\nuUlL") == digits[0]:
            _limited(digits[0])
        elif re.fullmatch(r"\d+", text.strip("() ")):
            raise _Unreadable(f"'{text.strip('() ')[:40]}' is no number of 32 bits")
        raise _Unreadable(f"{what} is '{text[:40]}', no number")
    if value < 0:
        raise _Unreadable(f"{what} is {value}")
    return _limited(str(value))


def _base(text: str) -> tuple[str, int, int]:
    """Symbol, address and offset of an address expression."""
    text = text.strip().removeprefix("{").removesuffix("}")
    numbers = [_limited(digits) for digits in initializers.literals(text)]
    symbol = _SYMBOL.search(text)
    if symbol is not None:
        return symbol.group(), 0, sum(numbers)
    if not numbers and "NULL" not in text:
        raise _Unreadable(f"address '{text[:40]}' is neither a number nor a pool")
    return "", sum(numbers), 0


def _place(named: dict[str, str], name: str) -> tuple[str, int, int, int]:
    """Symbol, base, start and end of a row."""
    if "addr_base" in named:
        symbol, base, offset = _base(named["addr_base"])
        start = _number(named.get("offset_start", ""), "offset_start") + offset
        return symbol, base, start, _number(named.get("offset_end", ""), "offset_end") + offset
    if "addr_start" in named and "addr_end" in named:
        symbol, base, start = _base(named["addr_start"])
        other, last, end = _base(named["addr_end"])
        if other != symbol:
            raise _Unreadable(f"buffer {name} starts in {symbol or 'memory'} and ends in {other or 'memory'}")
        return symbol, base, start, end + last - base
    raise _Unreadable(f"buffer {name} has no addr_base")


def _row(table: str, body: str, named: dict[str, str], offset: int) -> c.BufferRow:
    name = named["name"]
    symbol, base, start, end = _place(named, name)
    if end < start:
        raise _Unreadable(f"buffer {name} ends at {end}, before its start {start}")
    return c.BufferRow(
        table=table,
        name=name[1:].removesuffix('"'),
        symbol=symbol,
        base=base,
        start=start,
        end=end,
        is_param=named.get("is_param") not in _FALSE,
        user_allocated=named.get("is_user_allocated") not in _FALSE or symbol.startswith(c.USER_BUFFER),
        epoch=initializers.integer(named["epoch"]) if "epoch" in named else None,
        body=body,
        offset=offset,
    )


def rows(text: str, name: str, where: str, lines: Lines) -> tuple[list[c.BufferRow], list[c.Problem]]:
    """Read all tables; ``name`` is the suffix of the network's functions."""
    found: list[c.BufferRow] = []
    problems: list[c.Problem] = []
    for table, start, end in tables(text, name):
        elements, broken = initializers.structs(blanked(text[start:end], directives=True))
        for offset, body in elements:
            usual = _USUAL.match(body)
            named = usual.groupdict() if usual is not None else initializers.members(body)
            # The last one has the name NULL.
            if not named.get("name", "").startswith('"'):
                continue
            try:
                found.append(_row(table, body, named, start + offset))
            except _Unreadable as reason:
                problems.append(c.Problem(f"{where}:{lines.of(start + offset)}", str(reason)))
        for offset in broken:
            what = f"the {table} table cannot be read from here on"
            problems.append(c.Problem(f"{where}:{lines.of(start + offset)}", what, "cut-table"))
    return found, problems


# ---------------------------------------------------------------------------------------------------------------------

_INCLUDE = lazy_regex(r'[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]*_ecblobs\.h)[>"]')
_GETTERS = lazy_regex(
    r"LL_ATON_(?:(?:Input|Output|Internal)_Buffers_Info|(?:Set|Get)_User_(?:Input|Output)_Buffer"
    r"|EC_(?:Network|Inference)_Init)_(\w+)\s*\("
)


def blob_header(text: str) -> str:
    """Name of the included header with the epoch controller's blobs; empty if there is none."""
    at = text.find("_ecblobs.h")
    while at >= 0:
        match = _INCLUDE.match(text, text.rfind("\n", 0, at) + 1)
        if match is not None:
            return match[1]
        at = text.find("_ecblobs.h", at + 1)
    return ""


def parse(text: str, where: str) -> c.GeneratedNetwork:
    """Read a network.c with LF line ends (``c_source.decode``). NeuralArtError: no function of a generated network."""
    name = getter_name(text)
    other = None if name else _GETTERS.search(text)
    name = other[1] if other else name
    if not name:
        what = "no function LL_ATON_EpochBlockItems_<name>: not a generated network"
        raise NeuralArtError(what, where=where, hint="is it network.c, and complete?")
    lines = Lines(text)
    runtime, complaint = guard(text)
    origin = banner(text)
    include = blob_header(text)
    found_pools, problems = pools(text, name, where, lines)
    found_blocks, wrong = blocks(text, where, lines)
    problems += wrong
    found_rows, wrong = rows(text, name, where, lines)
    problems += wrong

    def ports(table: str) -> tuple[c.NetworkPort, ...]:
        own = (row for row in found_rows if row.table == table and not row.is_param)
        return tuple(_port(text, row, found_pools, name, f"{where}:{lines.of(row.offset)}", problems) for row in own)

    inputs, outputs = ports("input"), ports("output")
    if not found_blocks and not any(problem.code == "cut-off" for problem in problems):
        problems.append(c.Problem(where, "no epoch table", "cut-off"))
    asked = include != "" or origin.options.get("enable-epoch-controller") == "true"
    controller = asked or any(block.kind == c.EC for block in found_blocks)
    beginning = (where, text, name, origin, runtime, complaint)
    tables = (tuple(found_blocks), tuple(found_pools), tuple(found_rows), inputs, outputs)
    return c.GeneratedNetwork(*beginning, controller, include, *tables, tuple(problems))


read = of_file(lambda data, file: parse(decode(data), file))


def port_of(port: NetworkPort) -> Port:
    """Make the port of a row: shape as in memory; the first scale and zero point of several."""
    return Port(
        name=port.row.name,
        pool=port.pool,
        address=port.address,
        bytes=port.row.bytes,
        shape=port.mem_shape or port.shape,
        dtype=port.dtype,
        scale=port.quant.scales[0] if port.quant and port.quant.scales else 0.0,
        zero_point=port.quant.zero_points[0] if port.quant and port.quant.zero_points else 0,
        channel_position=port.channel_position,
        user_allocated=port.row.user_allocated,
    )
