"""``network_ecblobs.h``: the programs of the NPU's epoch controller as C arrays.

Up to 2.1 an array is called ``_ec_blob_<number>``, later ``_ec_blob_<network>_<number>``. Where a pool is relative or
the application provides buffers, the program is wrapped (magic, table of relocations, program) or has its table beside
it, and is copied to RAM, where the listed words are moved.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from neuralart.errors import NeuralArtError
from neuralart.files import of_file
from neuralart.text.c_source import Lines, blanked, decode
from neuralart.vendor.network_c.initializers import integer, literal
from neuralart.vendor.network_c.types import Problem

BLOB_MAGIC = 0xCA057A7A
# Magic of a wrapper (2.0 and 2.1, 2.2, 3.0 and later) -> byte of its head that tells where the program begins.
WRAPPERS = {0xECBF0020: 8, 0xECBF0030: 16, 0xECBF0050: 16}
# From 3.0 on sizes are rounded up to cache lines of 64 bytes.
_PADDING = 8
_TABLE_AT = 4
_LONGEST_ID = 64
# No cast in a macro in front of another array.
_ARRAY = re.compile(
    r"uint(8|16|32|64)_t\s(?!\*)[^;={}]{0,300}?\b(_ec_blob_\w+)\s*\[\s*(\w*)\s*\]([^;={}]{0,300})(=\s*\{|;)"
)
# Longer ones first.
_PARTS = ("_reloc_table_ptr", "_reloc_table", "_binary", "_reloc", "_ptr")
_NUMBER = re.compile(r"_ec_blob_(?:(\w*)_)?(\d{1,9})")
_DECRYPT = re.compile(
    r"#[ \t]*define[ \t]+LL_ATON_EC_MustDecryptBlob_\w*?(_ec_blob_\w+?)[ \t]*(?:\([^)\n]*\))?[ \t]+"
    r"\(?(true|false|[01])\b"
)
_INDEX = re.compile(r"#[ \t]*define[ \t]+(_ec_blob_\w+)_RELOC_IDX[ \t]+\(?(\d{1,9})\b")
_SYMBOL = re.compile(r"#[ \t]*define[ \t]+(_ec_blob_\w+)_BASE_SYMBOL[ \t]+([^\n]*?)[ \t]*(?://[^\n]*)?$", re.M)
_ADDRESS = re.compile(r"#[ \t]*define[ \t]+(_ec_blob_\w+)_address\b[ \t]*([^\n]*?)[ \t]*(?://[^\n]*)?$", re.M)
_INIT = re.compile(r"LL_ATON_EC_(?:Network|Inference)_Init_(\w+)\s*\(")
_WORD = re.compile(r"0[xX][0-9a-fA-F]+|\d+")


@dataclass(frozen=True)
class BlobRelocation:
    """Words of a blob that move with a pool or with a buffer of the application."""

    id: str  # fname of the pool, or ``_user_io_input_0`` and the like
    index: int | None  # Its number in the table; None if not given
    symbol: str  # C expression of the new base; empty if not given
    patches: int | None  # How many words; None where the table is not in the file
    words: tuple[int, ...] = field(default=(), repr=False)  # Which ones, behind the program's head


Binary = bytes  # In the class below, ``bytes`` is a member


@dataclass(frozen=True)
class EpochBlob:
    """A program."""

    symbol: str  # Of its array
    network: str  # Name in the symbol; empty up to 2.1
    number: int  # Behind it
    bytes: int  # Of the array
    words: int  # The same in 64-bit words
    form: str  # ``plain``, ``wrapped`` (with its relocations in front) or ``unknown`` (neither of both magics)
    copy_words: int  # 64-bit words of its copy in RAM; 0 if it is used where it stands
    relocations: tuple[BlobRelocation, ...]  # By id
    encrypted: bool | None  # What its macro says; None without macro
    address: str  # What ``<symbol>_address`` stands for; empty without macro
    program: Binary = field(default=b"", repr=False)  # Head and instructions, as the file has them


@dataclass(frozen=True)
class BlobHeader:
    where: str  # Its name in messages
    name: str  # Name of the network, from its functions or arrays; empty if nothing tells
    blobs: tuple[EpochBlob, ...]  # By number
    problems: tuple[Problem, ...]  # What could not be understood

    @property
    def bytes(self) -> int:
        """What all of them need in flash."""
        return sum(blob.bytes for blob in self.blobs)


@dataclass(frozen=True)
class _Array:
    symbol: str
    bits: int
    declared: int | None
    values: tuple[str, ...] | None
    offset: int
    closed: bool

    @property
    def bytes(self) -> int:
        # A compiler fills an array with zeros up to the size that is declared.
        return max(len(self.values or ()), self.declared or 0) * self.bits // 8


def _arrays(text: str) -> Iterator[_Array]:
    at = 0
    while (match := _ARRAY.search(text, at)) is not None:
        declared = integer(match[3]) if match[3] else None
        values, closed, at = None, True, match.end()
        if match[5] != ";":
            end = text.find("}", match.end())
            closed = end >= 0
            body = text[match.end() : end if closed else len(text)]
            body = blanked(body, directives=True) if "/" in body or "#" in body else body
            # The brace of something else, if a statement ends before it.
            stop = body.find(";")
            values = tuple(_WORD.findall(body[:stop] if stop >= 0 else body))
            closed &= stop < 0
            at = match.end() + (stop if stop >= 0 else len(body))
        yield _Array(match[2], int(match[1]), declared, values, match.start(), closed)


def _split(symbol: str) -> tuple[str, str]:
    """The blob an array belongs to, and which part of it this is."""
    return next(((symbol.removesuffix(part), part) for part in _PARTS if symbol.endswith(part)), (symbol, ""))


def _data(array: _Array) -> bytes | None:
    """Contents of an array; None if a value does not fit."""
    numbers = [literal(value) for value in array.values or ()]
    top = 1 << array.bits
    if any(number is None or number >= top for number in numbers):
        return None
    return b"".join((number or 0).to_bytes(array.bits // 8, "little") for number in numbers)


def _wrapped(data: bytes) -> tuple[bytes, dict[str, tuple[int, ...]]]:
    """The program, and the words to move by id; ValueError if the table leads out of the array."""
    blob, table = _word(data, WRAPPERS[_word(data, 0)]), _word(data, _TABLE_AT)
    if _word(data, blob) != BLOB_MAGIC:
        raise ValueError(f"no program begins at byte {blob}, where its head says")
    count = _word(data, table)
    if table + 4 + 12 * count > blob:
        raise ValueError(f"{count} relocations do not fit in front of the program at byte {blob}")
    return data[blob:], _patches(data[table:])


def _word(data: bytes, at: int) -> int:
    if not 0 <= at <= len(data) - 4:
        raise ValueError(f"its table of relocations leads to byte {at} of {len(data)}")
    return int(struct.unpack_from("<I", data, at)[0])


def _patches(table: bytes) -> dict[str, tuple[int, ...]]:
    """Which words move with which id: a row has the offsets of its name and its list, and the list's length."""
    found = {}
    for row in range(4, 4 + 12 * _word(table, 0), 12):
        start = _word(table, row)
        end = table.find(b"\0", start, start + _LONGEST_ID)
        name = table[start : max(end, start)].decode("ascii", "replace")
        if not name.isidentifier():
            raise ValueError(f"the id of a relocation at byte {start} of its table is no name")
        count, at = _word(table, row + 4), _word(table, row + 8)
        if at + 4 * count > len(table):
            raise ValueError(f"{count} relocations of {name} do not fit in its table")
        found[name] = struct.unpack_from(f"<{count}I", table, at)
    return found


def moved(blob: EpochBlob, bases: dict[str, int], where: str) -> list[int]:
    """The words of a program, moved to where its pools and buffers are: base addresses by id.

    ``where``: the header's name. Raises NeuralArtError: the array is no program, or a base is missing.
    """
    if blob.form == "unknown" or len(blob.program) < 8:
        raise NeuralArtError(f"array {blob.symbol} is no program of the epoch controller", where=where)
    size = len(blob.program) // 4
    words = list(struct.unpack_from(f"<{size}I", blob.program))[: 2 + int.from_bytes(blob.program[4:8], "little")]
    for relocation in blob.relocations:
        if relocation.words and relocation.id not in bases:
            raise NeuralArtError(f"blob {blob.symbol} wants an address for {relocation.id}", where=where)
        for place in relocation.words:
            if place + 2 >= len(words):
                what = f"blob {blob.symbol} has no word {place}, which moves with {relocation.id}"
                raise NeuralArtError(what, where=where)
            words[place + 2] = words[place + 2] + bases[relocation.id] & 0xFFFFFFFF
    return words


class _Macros:
    """What ``#define`` says about blobs."""

    def __init__(self, text: str) -> None:
        self.encrypted = {match[1]: match[2] in ("true", "1") for match in _DECRYPT.finditer(text)}
        self.index = {match[1]: int(match[2]) for match in _INDEX.finditer(text)}
        self.symbol = {match[1]: match[2] for match in _SYMBOL.finditer(text)}
        self.address = {match[1]: match[2] for match in _ADDRESS.finditer(text)}

    def relocations(self, blob: str, patches: dict[str, tuple[int, ...]]) -> tuple[BlobRelocation, ...]:
        # _ec_blob_n_1_xSPI2 belongs to _ec_blob_n_1, _ec_blob_n_12_xSPI2 does not.
        mine = f"{blob}_"
        ids = {name.removeprefix(mine): name for name in (*self.index, *self.symbol) if name.startswith(mine)}
        found = [
            BlobRelocation(id_, self.index.get(name), self.symbol.get(name, ""), *_counted(patches.get(id_)))
            for id_, name in ids.items()
        ]
        found += [BlobRelocation(id_, None, "", *_counted(words)) for id_, words in patches.items() if id_ not in ids]
        return tuple(sorted(found, key=lambda relocation: (relocation.index is None, relocation.index, relocation.id)))


def _counted(words: tuple[int, ...] | None) -> tuple[int | None, tuple[int, ...]]:
    return (None, ()) if words is None else (len(words), words)


def _program(parts: dict[str, _Array]) -> tuple[_Array, _Array | None]:
    """The array in flash, the one in RAM: from 3.0 on ``X``, ``X_ptr``; before, ``X_reloc`` or ``X_binary``, ``X``."""
    bare = parts.get("")
    flashed = (parts[part] for part in ("", "_binary", "_reloc") if part in parts)
    stored = next((array for array in flashed if array.values is not None), None)
    array = stored or bare or next(iter(parts.values()))
    return array, parts.get("_ptr") or (bare if bare is not array else None)


def _blob(
    base: str, parts: dict[str, _Array], macros: _Macros, where: str, lines: Lines, problems: list[Problem]
) -> EpochBlob:
    array, copy = _program(parts)
    place = f"{where}:{lines.of(array.offset)}"
    for part in parts.values():
        count = len(part.values) if part.values is not None else None
        spot = f"{where}:{lines.of(part.offset)}"
        if not part.closed:
            problems.append(Problem(spot, f"array {part.symbol} has no end", "cut-off"))
        elif count is not None and part.declared is not None and not 0 <= part.declared - count < _PADDING:
            problems.append(Problem(spot, f"array {part.symbol}[{part.declared}] has {count} values", "array-size"))
    head = _data(replace(array, values=(array.values or ())[:8])) or b""
    magic = int.from_bytes(head[:4], "little") if len(head) >= 4 else 0
    form = "wrapped" if magic in WRAPPERS else "plain" if magic == BLOB_MAGIC else "unknown"
    patches: dict[str, tuple[int, ...]] = {}
    data = _data(array)
    program = data or b""
    if data is not None:
        try:
            if form == "wrapped":
                program, patches = _wrapped(data)
            elif "_reloc_table" in parts:
                patches = _patches(_data(parts["_reloc_table"]) or b"")
        except ValueError as reason:
            problems.append(Problem(place, f"blob {base}: {reason}"))
    if array.values and data is None:
        problems.append(Problem(place, f"array {array.symbol} has a value of more than {array.bits} bits"))
    name = _NUMBER.fullmatch(base)
    return EpochBlob(
        symbol=base,
        network=(name[1] or "") if name else "",
        number=int(name[2]) if name else 0,
        bytes=array.bytes,
        words=-(-array.bytes // 8),
        form=form,
        copy_words=-(-copy.bytes // 8) if copy is not None else 0,
        relocations=macros.relocations(base, patches),
        encrypted=macros.encrypted.get(base),
        address=macros.address.get(base, ""),
        program=program,
    )


def parse(text: str, where: str) -> BlobHeader:
    """Read the text of a header, with LF line ends; NeuralArtError if there are neither blobs nor their functions."""
    init = _INIT.search(text)
    groups: dict[str, dict[str, _Array]] = {}
    for array in _arrays(text):
        base, part = _split(array.symbol)
        groups.setdefault(base, {})[part] = array
    if not groups and init is None:
        hint = "is the file complete?"
        raise NeuralArtError("no array _ec_blob_...: no header with epoch-controller blobs", where=where, hint=hint)
    macros, lines = _Macros(text), Lines(text)
    problems: list[Problem] = []
    blobs = [_blob(base, parts, macros, where, lines, problems) for base, parts in groups.items()]
    names = [init[1]] if init else [blob.network for blob in blobs if blob.network]
    blobs.sort(key=lambda blob: (blob.number, blob.symbol))
    return BlobHeader(where, names[0] if names else "", tuple(blobs), tuple(problems))


read = of_file(lambda data, file: parse(decode(data), file))
