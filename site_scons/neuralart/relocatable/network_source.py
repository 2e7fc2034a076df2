"""What a generated network.c says about itself: origin, version guard, pools and buffers.

Read as text: the tables of buffers are looked at although a guard of the preprocessor may hide them from the compiler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.relocatable.source_text import closing, line_of, rows, without_comments

_VERSION = re.compile(r"LL_ATON_VERSION_(MAJOR|MINOR|MICRO|DEV)(?:_NUM)?\s*!=\s*\(?\s*(\d+)")
_ITEMS = re.compile(r"\bLL_ATON_EpochBlockItems_(\w+)\s*\(\s*void\s*\)")
_POOL = re.compile(r"/\*\s*global pool (\d+) is (\?|\d{1,9}(?:\.\d{1,9})?\s*[KMG]?B)\s*\*/")
_INDEX = re.compile(
    r"/\*\s*index=(\d+)\s+file postfix=(\S*)\s+name=(.*?)\s+offset=(0x[0-9a-fA-F]+)\s+(absolute_mode|relative_mode)\s"
    r"(.*?)\*/"
)
_TABLE = re.compile(r"\bLL_ATON_(Input|Output|Internal)_Buffers_Info_(\w+)\s*\(\s*void\s*\)\s*\{")
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)(?:[uUlL]*)\b")
_SYMBOL = re.compile(r"\b(_mem_pool_\w+)\b")
_UNIT = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
USER_BUFFER = "_mem_pool__user_io_"


@dataclass(frozen=True)
class SourcePool:
    """A pool as the comments of network.c describe it.

    Attributes:
        fname: File postfix.
        name: Report name.
        address: ``offset=`` of the comment.
        capacity: Bytes; 0: disabled.
        said: Bytes in use as the comment rounds them; 0 for ``?``.
        precision: How much ``said`` may be off, in bytes.
        writable: READ_WRITE.
        cacheable: Through the NPU cache.
        relative: Its base is a symbol.
        virtual: Made of others.
        where: ``file:line``.
    """

    fname: str
    name: str
    address: int
    capacity: int
    said: int
    precision: int
    writable: bool
    cacheable: bool
    relative: bool
    virtual: bool
    where: str

    def symbol(self, c_name: str) -> str:
        """What the C code calls the base of a relative pool."""
        return f"_mem_pool_{self.fname}_{c_name}"


@dataclass(frozen=True)
class SourceBuffer:
    """A row of a buffer table.

    Attributes:
        name: Of the tensor.
        symbol: Base, when the pool is relative; else empty.
        address: Base, when the pool is absolute; else 0.
        start: First byte, from the base.
        end: Behind the last byte, from the base.
        is_param: Constant.
        where: ``file:line``.
    """

    name: str
    symbol: str
    address: int
    start: int
    end: int
    is_param: bool
    where: str


@dataclass(frozen=True)
class NetworkSource:
    """A network.c.

    Attributes:
        path: The file.
        text: Its text.
        c_name: Suffix of its functions.
        description: GIT_DESCRIPTION of the compiler.
        version: ll_aton major, minor, micro, dev that its guard asks for.
        options: ``--name = value`` lines of the first comment, without dashes.
        pools: Enabled pools, highest base address first.
        buffers: Of all three tables, without those of the application.
    """

    path: Path
    text: str = field(repr=False)
    c_name: str
    description: str
    version: tuple[int, int, int, int]
    options: dict[str, str]
    pools: tuple[SourcePool, ...]
    buffers: tuple[SourceBuffer, ...]

    @property
    def epoch_controller(self) -> bool:
        """It has epoch-controller blobs."""
        return self.options.get("enable-epoch-controller") == "true"

    @property
    def version_text(self) -> str:
        """``1.1.3.262``."""
        return ".".join(map(str, self.version))


def _first_comment(text: str) -> str:
    code = re.search(r"^[ \t]*#", text, re.M)
    return text[: code.start()] if code else ""


def _banner(comment: str) -> dict[str, str]:
    """Keys of the first comment: GIT_* and command-line options."""
    found: dict[str, str] = {}
    for line in comment.splitlines():
        words = line.strip().lstrip("*").split()
        if len(words) < 2:
            continue
        key = words[0]
        if key.startswith("--") or key.startswith("GIT_") or words[1] == "=":
            found.setdefault(key.lstrip("-"), words[-1].strip('"'))
    return found


def _said(text: str) -> tuple[int, int]:
    if text == "?":
        return 0, 0
    number, unit = re.fullmatch(r"([\d.]+)\s*(\w+)", text).groups()  # type: ignore[union-attr]
    scale = _UNIT[unit]
    # Two digits behind the point, and decimal points in numbers of bytes do not occur.
    return int(float(number) * scale), 0 if scale == 1 else -(-scale // 200)


def _integer(digits: str, where: str) -> int:
    """A C literal that fits an address."""
    octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    try:
        value = int(digits, 8 if octal else 0) if len(digits) < 20 else -1
    except ValueError:
        value = -1
    if not 0 <= value < 1 << 32:
        raise NeuralArtError(f"'{digits[:40]}' is no number of 32 bits", where=where, hint="is the file damaged?")
    return value


def _pools(text: str, where: str) -> tuple[SourcePool, ...]:
    said = {int(match[1]): _said(match[2]) for match in _POOL.finditer(text)}
    pools: list[SourcePool] = []
    for match in _INDEX.finditer(text):
        index, fname, name, offset, mode, rest = match.groups()
        size = re.search(r"\bsize=(\d+)", rest)
        line = f"{where}:{line_of(text, match.start())}"
        if size is None:
            raise NeuralArtError(f"the comment of pool {fname} has no size=", where=line, hint="is the file complete?")
        address, capacity = _integer(offset, line), _integer(size[1], line)
        if not capacity:
            continue
        words = rest.split()
        used, precision = said.get(int(index), (0, 0))
        pools.append(
            SourcePool(
                fname,
                name,
                address,
                capacity,
                used,
                precision,
                "READ_WRITE" in words,
                "cacheable=ON" in words,
                mode == "relative_mode",
                "vpool" in words,
                line,
            )
        )
    if not pools:
        raise NeuralArtError(
            "no comment describes a memory pool", where=where, hint="is it a generated network.c, and complete?"
        )
    return tuple(sorted(pools, key=lambda pool: -pool.address))


def _number(text: str, what: str, where: str) -> int:
    match = _NUMBER.fullmatch(text.strip("() \t\n"))
    if match is None:
        raise NeuralArtError(f"{what} is '{text[:40]}', no number", where=where)
    return _integer(match[1], where)


def _base(text: str, where: str) -> tuple[str, int, int]:
    """Symbol, address and offset of an address expression."""
    numbers = [_integer(number, where) for number in _NUMBER.findall(text)]
    symbol = _SYMBOL.search(text)
    if symbol is not None:
        return symbol[1], 0, sum(numbers)
    if not numbers:
        raise NeuralArtError(f"address '{text[:40]}' is neither a number nor a pool", where=where)
    return "", sum(numbers), 0


def _buffer(members: dict[str, str], where: str) -> SourceBuffer | None:
    name = members.get("name", "")
    if not name.startswith('"'):
        return None  # the end of the table
    if "addr_base" in members:
        symbol, address, offset = _base(members["addr_base"], where)
        start = _number(members.get("offset_start", ""), "offset_start", where) + offset
        end = _number(members.get("offset_end", ""), "offset_end", where) + offset
    elif "addr_start" in members and "addr_end" in members:
        symbol, address, start = _base(members["addr_start"], where)
        other, last, end = _base(members["addr_end"], where)
        if other != symbol:
            raise NeuralArtError(f"buffer {name} starts in {symbol} and ends in {other}", where=where)
        end += last - address
    else:
        raise NeuralArtError(f"buffer {name} has no addr_base", where=where, hint="is the file complete?")
    if symbol.startswith(USER_BUFFER) or members.get("is_user_allocated", "0") == "1":
        return None
    if end < start:
        raise NeuralArtError(f"buffer {name} ends at {end}, before its start {start}", where=where)
    is_param = members.get("is_param", "0") not in ("0", "false")
    return SourceBuffer(name.strip('"'), symbol, address, start, end, is_param, where)


def _buffers(text: str, c_name: str, where: str) -> tuple[SourceBuffer, ...]:
    found: list[SourceBuffer] = []
    plain = without_comments(text)
    for match in _TABLE.finditer(plain):
        if match[2] != c_name:
            continue
        body = match.end() - 1
        stop = closing(plain, body)
        array = re.compile(r"\bbuff_info\s*\[\s*\d*\s*\]\s*=\s*\{").search(plain, body, max(stop, body))
        if array is None:
            continue
        end = closing(plain, array.end() - 1)
        for offset, members in rows(plain, array.end() - 1, end):
            buffer = _buffer(members, f"{where}:{line_of(plain, offset)}")
            if buffer is not None:
                found.append(buffer)
    return tuple(found)


def read(path: Path, display: str = "") -> NetworkSource:
    """Read a network.c.

    Args:
        path: The file.
        display: Its name in messages.

    Raises:
        NeuralArtError: It is no generated network, or damaged.
    """
    where = display or str(path)
    text = read_bytes(path).decode("utf-8", "replace")
    items = _ITEMS.search(text)
    if items is None:
        raise NeuralArtError(
            "no function LL_ATON_EpochBlockItems_<name>: not a generated network", where=where, hint="is it network.c?"
        )
    guard = {part: _integer(number, where) for part, number in reversed(_VERSION.findall(text))}
    if len(guard) != 4:
        raise NeuralArtError(
            "no guard on LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV: the runtime it is made for is unknown",
            where=where,
        )
    options = _banner(_first_comment(text))
    return NetworkSource(
        path=path,
        text=text,
        c_name=items[1],
        description=options.get("GIT_DESCRIPTION", ""),
        version=(guard["MAJOR"], guard["MINOR"], guard["MICRO"], guard["DEV"]),
        options=options,
        pools=_pools(text, where),
        buffers=_buffers(text, items[1], where),
    )
