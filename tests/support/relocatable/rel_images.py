"""Assembles images of relocatable models, word by word from the format's description.

Nothing here is taken from the package: what it reads must not be what it wrote itself.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

ROM, RAM, P0, P1 = 0x20000000, 0x40000000, 0x80000000, 0x90000000
SECURE_GCC_M55 = 0x80785D22


@dataclass(frozen=True)
class Pool:
    """Row of the table; ``raw`` are its initial contents, which count only for PARAM and MIXED."""

    name: str
    flags: int
    size: int
    dst: int = 0
    raw: bytes = b""


PARAM = Pool("xSPI2", 0x01010500, 93, raw=bytes(range(93)))
MIXED = Pool("xSPI1", 0x01030601, 40, raw=b"\x11" * 40)
EXTERNAL = Pool("xSPI1", 0x01020601, 4096)
COPY = Pool("AXISRAM6", 0x02030200, 24, dst=0x34350000, raw=b"\x22" * 24)
RESET = Pool("AXISRAM5", 0x03020200, 352800, dst=0x342E0000)


def ec_binary(words: int = 12, ids: tuple[tuple[str, tuple[int, ...]], ...] = (("xSPI2", (0, 2)),)) -> bytes:
    """A relocatable program: magic, table at 24, blob behind it."""
    rows, tail = [], b""
    head = 4 + 12 * len(ids)
    for name, patches in ids:
        text = name.encode() + b"\0"
        text += bytes(-len(text) % 4)
        rows.append((head + len(tail), len(patches), head + len(tail) + len(text)))
        tail += text + struct.pack(f"<{len(patches)}I", *patches)
    table = struct.pack("<I", len(ids)) + b"".join(struct.pack("<3I", *row) for row in rows) + tail
    table += bytes(-len(table) % 8)
    blob = struct.pack("<2I", 0xCA057A7A, words) + b"\x5a" * (4 * (words - 2) + 8)
    head_words = struct.pack("<6I", 0xECBF0050, 24, 0, 0, 24 + len(table), 0)
    return head_words + table + blob


def static_blob(words: int = 6) -> bytes:
    """A program that is used where it stands."""
    return struct.pack("<2I", 0xCA057A7A, words) + b"\x6b" * (4 * words - 8)


@dataclass(frozen=True)
class Recipe:
    """What to assemble."""

    words: int = 26
    context_words: int = 17
    version: tuple[int, int, int, int] = (1, 1, 3, 262)
    description: str = "atonn-v1.1.3-262-g7cc65410 (RELOC.GCC)"
    flags: int = SECURE_GCC_M55
    name: str = "digits"
    pools: tuple[Pool, ...] = (PARAM, RESET)
    split: bool = False
    blobs: tuple[bytes, ...] = ()
    front: bytes = b""
    got: tuple[int, ...] = (RAM + 8, P0 + 16)
    pointers: tuple[int, ...] = (P0 + 8, ROM + 0x101)
    bss: int = 200
    rom_align: int = 8
    params_align: int = 8
    # Words at the start of the data, from addresses of texts; whether a loader relocates them
    tables: Callable[[dict[str, int]], Sequence[tuple[int, bool]]] = lambda where: ()
    texts: tuple[str, ...] = ()  # For the tables
    getters: tuple[tuple[int, int], ...] = ()  # Entry -> word of the GOT that it returns, as gcc compiles that


@dataclass
class Built:
    """Bytes, and where things went: file offsets of words, virtual addresses of parts."""

    data: bytearray
    params: bytes
    at: dict[str, int] = field(default_factory=dict)

    def word(self, name: str) -> int:
        return struct.unpack_from("<I", self.data, self.at[name])[0]

    def put(self, name: str, value: int) -> Built:
        struct.pack_into("<I", self.data, self.at[name], value & 0xFFFFFFFF)
        return self

    def add(self, name: str, value: int) -> Built:
        return self.put(name, self.word(name) + value)


HEAD = (
    *("magic", "flags", "data_start", "data_end", "data_data", "bss_start", "bss_end", "got_start", "got_end"),
    *("rel_start", "rel_end", "params_start", "params_offset"),
)
FIELDS = ("name", "flags", "foff", "dst", "size")
CONTEXT = (
    *("state", "file_addr", "ram_addr", "rom_addr", "cbs", "c_name", "acts_sz", "params_sz", "ext_ram_sz"),
    *("rt_version_desc", "rt_version", "rt_version_extra", "params_bin_sz", "params_bin_crc32", "sizes"),
)


def _pad(data: bytearray, to: int, with_: int = 0) -> None:
    data += bytes([with_]) * (-len(data) % to)


def _rom(recipe: Recipe) -> tuple[bytearray, dict[str, int]]:
    """Header (still empty), code, blobs, texts; addresses of texts and entries."""
    rom, where = bytearray(4 * recipe.words), {}
    for number in range(recipe.words - 14):
        where[f"entry{number}"] = ROM + len(rom) + 1
        rom += b"\x70\x47"
    rom += b"\x70\x47" * 128
    for number, _ in recipe.getters:
        _pad(rom, 4)
        where[f"entry{number}"] = ROM + len(rom) + 1
        rom += bytes.fromhex("014b59f803007047") + bytes(4)
    for blob in recipe.blobs:
        _pad(rom, 8, 0xFF)
        rom += blob
    for text in (recipe.name, recipe.description, *(pool.name for pool in recipe.pools), *recipe.texts):
        where[text] = ROM + len(rom)
        rom += text.encode() + b"\0"
    _pad(rom, recipe.rom_align, 0xFF)
    return rom, where


def _raw(recipe: Recipe) -> tuple[bytes, list[int]]:
    raw, offsets = bytearray(), []
    for pool in recipe.pools:
        has_data = pool.flags >> 16 & 0xFF in (1, 3)
        moved = len(recipe.front) if has_data and pool.flags != PARAM.flags else 0
        offsets.append(len(raw) + moved if has_data else 0)
        if has_data:
            raw += pool.raw.ljust(pool.size, b"\0")
            _pad(raw, 8)
    return bytes(raw), offsets


def build(recipe: Recipe = Recipe()) -> Built:
    """The image, and the params of a split one."""
    rom, where = _rom(recipe)
    raw, offsets = _raw(recipe)
    at = {name: 4 * index for index, name in enumerate(HEAD)}
    at |= {f"entry{number}": 4 * (13 + number) for number in range(recipe.words - 14)} | {
        "rt_ctx": 4 * recipe.words - 4
    }
    data, listed = bytearray(), []

    def put(name: str, value: int, listed_too: bool = False) -> None:
        at[name] = len(rom) + len(data)
        if listed_too:
            listed.append(RAM + len(data))
        data.extend(struct.pack("<I", value))

    for value, relocated in recipe.tables(where):
        put("table", value, relocated)
    for number, pointer in enumerate(recipe.pointers):
        put(f"pointer{number}", pointer, True)
    interface = RAM + len(data)
    put("interface.name", where[recipe.name], True)
    data.extend(bytes(40))
    context = RAM + len(data)
    external = next((pool.size for pool in recipe.pools if pool.flags >> 24 == 1 and pool.flags & 0xFF == 1), 0)
    major, minor, micro, extra = recipe.version
    item = 0x30 if recipe.flags >> 21 & 1 else 0x14
    values = {
        "c_name": where[recipe.name],
        "acts_sz": sum(pool.size for pool in recipe.pools if pool.flags >> 16 & 0xFF == 2),
        "params_sz": sum(pool.size for pool in recipe.pools if pool.flags >> 16 & 0xFF == 1),
        "ext_ram_sz": external,
        "rt_version_desc": where[recipe.description],
        "rt_version": major << 24 | minor << 16 | micro << 8,
        "rt_version_extra": extra,
        "params_bin_sz": len(raw),
        "params_bin_crc32": zlib.crc32(raw),
        "sizes": 0x38 | item << 8,
    }
    for name in CONTEXT[: recipe.context_words - 2]:
        put(f"context.{name}", values.get(name, 0), name in ("c_name", "rt_version_desc"))
    put("context.instance", 0)
    put("context.interface", interface, True)
    table = RAM + len(data)
    for number, (pool, foff) in enumerate(zip(recipe.pools, offsets, strict=True)):
        for key, value in zip(FIELDS, (where[pool.name], pool.flags, foff, pool.dst, pool.size), strict=True):
            put(f"pool{number}.{key}", value, key == "name")
    at["pools.end"] = len(rom) + len(data)
    data.extend(bytes(20))
    data_end = RAM + len(data)
    got = RAM + len(data)
    for number, value in enumerate((*recipe.got, 0, 0, 0)):
        put(f"got{number}", value)
    got_end = RAM + len(data)
    for number, index in recipe.getters:
        struct.pack_into("<I", rom, where[f"entry{number}"] - ROM - 1 + 8, got - RAM + 4 * index)
    out = rom + data
    _pad(out, 8)
    rel_start = len(out)
    for number, place in enumerate(listed):
        at[f"rel{number}"] = len(out)
        out += struct.pack("<I", place)
    rel_end = len(out)
    _pad(out, recipe.params_align)
    blob = recipe.front + raw
    params_offset = 0 if recipe.split or not blob else len(out)
    head = (0x4E49424E, recipe.flags, RAM, data_end, ROM + len(rom), got_end, got_end + recipe.bss, got, got_end)
    head += (ROM + rel_start, ROM + rel_end, table, params_offset)
    head += (*(where[f"entry{number}"] for number in range(recipe.words - 14)), context)
    out[: 4 * recipe.words] = struct.pack(f"<{recipe.words}I", *head)
    if params_offset:
        out += blob
    return Built(out, blob, at)


CORE_21 = Recipe(words=24, context_words=16, version=(1, 1, 0, 31), description="atonn-v1.1.0-31-g27f5d5bc (RELOC.GCC)")
CORE_22 = Recipe(words=24, version=(1, 1, 1, 14), description="atonn-v1.1.1-14-ge619e860 (RELOC.GCC)")
CORE_30 = Recipe(version=(1, 1, 3, 8), description="atonn-v1.1.3-8-g80369096 (RELOC.GCC)")
CORE_40 = Recipe()
OURS = Recipe(
    version=(0, 1, 0, 0), description="neuralart-reference (RELOC.GCC)", rom_align=64, params_align=64, bss=4096
)
FULL = Recipe(
    pools=(MIXED, COPY, PARAM, RESET),
    blobs=(ec_binary(), static_blob(), ec_binary(20, (("_user_io_input_0", (1,)), ("xSPI1", (3, 4, 5))))),
    got=(RAM + 8, P0 + 16, P1 + 40, ROM + 0x81),
    bss=5000,
)
IN_PARAMS = Recipe(
    pools=(PARAM, COPY, RESET), front=ec_binary() + static_blob(), pointers=(P0 + 8, P0 + 200, ROM + 0x101)
)
# Every shape that is assembled in tests, by name.
SHAPES = {
    "2.1": CORE_21,
    "2.2": CORE_22,
    "3.0": CORE_30,
    "4.0": CORE_40,
    "ours": OURS,
    "full": FULL,
    "in-params": IN_PARAMS,
    "2.2-full": Recipe(
        words=24,
        version=(1, 1, 1, 14),
        description="atonn-v1.1.1-14-ge619e860 (RELOC.GCC)",
        pools=FULL.pools,
        blobs=FULL.blobs,
        got=FULL.got,
    ),
    "split": Recipe(split=True),
    "external": Recipe(pools=(EXTERNAL, PARAM), got=(P1 + 4096, P0)),
    "no-dbg-info": Recipe(flags=0x80585D22),
    "non-secure": Recipe(flags=0x80685D22, pools=(PARAM,)),
    "clang": Recipe(flags=0x80695D22, pools=(PARAM,), description="atonn-v1.1.3-262 (RELOC.CLANG)"),
}
