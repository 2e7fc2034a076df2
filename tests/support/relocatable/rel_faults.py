"""Structural faults of relocatable models, by name: each a change of one sound image."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

from support.relocatable.rel_images import (
    COPY,
    FULL,
    IN_PARAMS,
    MIXED,
    OURS,
    P1,
    PARAM,
    RAM,
    RESET,
    ROM,
    Built,
    Pool,
    Recipe,
    build,
)

Change = Callable[[], Built]


def put(name: str, value: int, recipe: Recipe = FULL) -> Change:
    """One word replaced."""
    return lambda: build(recipe).put(name, value)


def add(name: str, value: int, recipe: Recipe = FULL) -> Change:
    """One word moved."""
    return lambda: build(recipe).add(name, value)


def made(**changes: object) -> Change:
    """An image that was assembled so."""
    return lambda: build(replace(FULL, **changes))


def _truncated(size: int) -> Change:
    def change() -> Built:
        built = build(FULL)
        del built.data[size:]
        return built

    return change


def _appended(data: bytes, recipe: Recipe = FULL) -> Change:
    def change() -> Built:
        built = build(recipe)
        built.data += data
        return built

    return change


def _damaged_params() -> Built:
    built = build(FULL)
    built.data[-100] ^= 1
    return built


def _same_entries(first: int, second: int) -> Change:
    def change() -> Built:
        built = build(FULL)
        return built.put(f"entry{second}", built.word(f"entry{first}"))

    return change


def _moved_params() -> Built:
    built = build(FULL)
    at = built.word("params_offset")
    built.data[at:at] = bytes(4)
    return built.put("params_offset", at + 4)


def _text(name: str, data: bytes) -> Change:
    """The bytes of a text replaced, found through its pointer."""

    def change() -> Built:
        built = build(FULL)
        at = built.word(name) - ROM
        built.data[at : at + len(data)] = data
        return built

    return change


def _listed(place: int, extra: int = 0) -> Change:
    """The first relocation names another place."""
    return lambda: build(FULL).put("rel0", place + extra)


def _in_word(name: str) -> Change:
    """The first relocation names a word by its name."""

    def change() -> Built:
        built = build(FULL)
        ro_size = built.word("data_data") - ROM
        return built.put("rel0", RAM + built.at[name] - ro_size)

    return change


def _elf_bin() -> Built:
    built = build(FULL)
    del built.data[built.word("rel_start") - ROM :]
    return built.put("rel_end", built.word("rel_start")).put("params_offset", 0)


def _ec(offset: int, value: int) -> Change:
    """A word of the first wrapped blob replaced."""

    def change() -> Built:
        built = build(FULL)
        at = bytes(built.data).index(struct.pack("<I", 0xECBF0050)) + offset
        struct.pack_into("<I", built.data, at, value)
        return built

    return change


def _pools(*pools: Pool) -> Change:
    return made(pools=pools)


def _padded(word: int) -> Callable[[], Built]:
    """Another word where the list had its last one."""

    def make() -> Built:
        built = build(FULL).add("rel_end", -4)
        end = built.word("rel_end") & 0x0FFFFFFF
        built.data[end : end + 4] = word.to_bytes(4, "little")
        return built

    return make


FAULTS: dict[str, Change] = {
    "cut in the header": _truncated(90),
    "cut in the data": _truncated(0x380),
    "cut in the relocation list": _truncated(0x410),
    "params offset behind the end": put("params_offset", 0x10000),
    "params inside the list": put("params_offset", 0x428),
    "params not aligned": _moved_params,
    "cut in the params": lambda: Built(build(FULL).data[:-8], b""),
    "params damaged": _damaged_params,
    "bytes behind the params": _appended(bytes(12)),
    "no context": put("rt_ctx", ROM),
    "context outside": put("rt_ctx", RAM + 0x1000),
    "context unaligned": add("rt_ctx", 2),
    "context over the table": add("rt_ctx", 0x34),
    "data_start": put("data_start", RAM + 8),
    "data_end in another segment": put("data_end", ROM + 0xDC),
    "data_data too low": put("data_data", ROM + 8),
    "data_data behind the file": put("data_data", ROM + 0x100000),
    "bss_start over data": add("bss_start", -8),
    "bss_end below": put("bss_end", RAM + 0xF0),
    "GOT over data": add("got_start", -8),
    "GOT reversed": put("got_end", RAM + 0xD0),
    "reserved GOT word": put("got5", 4),
    "GOT word in no segment": put("got0", 0x50000004),
    "GOT word behind RAM": put("got0", RAM + 5249),
    "GOT word behind FLASH": put("got3", ROM + 0x311),
    "GOT word behind the params": put("got1", 0x80000061),
    "GOT word behind the external pool": put("got2", P1 + 41),
    "GOT word without an external pool": made(pools=(PARAM,)),
    "list unaligned": add("rel_start", 2),
    "list reversed": put("rel_end", ROM + 0x404),
    "list inside data": add("rel_start", -0x20),
    "an elf.bin": _elf_bin,
    "empty list": lambda: build(FULL).put("rel_end", build(FULL).word("rel_start")),
    "place in code": _listed(ROM + 0x100),
    "place in no segment": _listed(0x60000000),
    "place in bss": _listed(RAM + 0x100),
    "place unaligned": _listed(RAM + 2),
    "place in the GOT": _in_word("got0"),
    "place twice": _listed(RAM + 4),
    "place is a number of the context": _in_word("context.acts_sz"),
    "place is a number of the table": _in_word("pool1.size"),
    "relocated word in no segment": put("pointer0", 0x1234),
    "relocated word behind its segment": put("pointer1", ROM + 0x312),
    "context pointer not listed": put("rel3", RAM + 0x10),
    "entry in RAM": put("entry2", RAM + 0x11),
    "entry without Thumb bit": add("entry3", -1),
    "entry in the header": put("entry4", ROM + 0x41),
    "entry behind the code": put("entry5", ROM + 0x313),
    "API major": put("flags", 0x70785D22),
    "API minor": put("flags", 0x81785D22),
    "reserved flag": put("flags", 0x80F85D22),
    "toolchain": put("flags", 0x807C5D22),
    "float ABI": put("flags", 0x80783D22),
    "no FPU": put("flags", 0x80784D22),
    "CPUID": put("flags", 0x80785123),
    "state set": put("context.state", 3),
    "callbacks set": put("context.cbs", 0x34000100),
    "instance set": put("context.instance", 4),
    "interface nowhere": put("context.interface", RAM + 0x1000),
    "interface of another name": put("interface.name", ROM + 0x2EE),
    "name in the params": put("context.c_name", 0x80000010),
    "name without end": _text("context.c_name", b"\x01"),
    "version with a rest": add("context.rt_version", 1),
    "header of another version": put("context.rt_version", 0x01010100),
    "structure sizes": put("context.sizes", 0x3840),
    "structure size 0": put("context.sizes", 0x38),
    "external size": put("context.ext_ram_sz", 4096),
    "too many pools": _pools(
        *(replace(RESET, name=f"P{n}", dst=0x34200000 + n * 0x100000, size=64) for n in range(10)), MIXED
    ),
    "table without end": lambda: build(FULL).put("params_start", RAM + 0xF0),
    "table unaligned": add("params_start", 2),
    "pool without a type": put("pool3.flags", 0x00020200),
    "pool of unknown type": put("pool3.flags", 0x04020200),
    "pool of unknown data": put("pool3.flags", 0x03040200),
    "pool attributes": put("pool3.flags", 0x03020300),
    "pool that cannot be": put("pool3.flags", 0x03010100),
    "pool id": put("pool3.flags", 0x03020201),
    "relocated pool id": put("pool2.flags", 0x01010501),
    "pool read only": put("pool3.flags", 0x03020100),
    "pool without bytes": put("pool3.size", 0),
    "pool without destination": put("pool3.dst", 0),
    "pool destination unaligned": add("pool3.dst", 2),
    "pool leaves the address space": put("pool3.dst", 0xFFFFFF00),
    "pool onto flash": _pools(MIXED, PARAM, replace(COPY, flags=0x02010100, dst=0x70100000)),
    "pool in the other alias": put("pool3.dst", 0x242E0000),
    "relocated pool with destination": put("pool2.dst", 0x70000000),
    "two pools of one kind": _pools(MIXED, PARAM, replace(PARAM, name="xSPI3")),
    "pools over each other": put("pool3.dst", 0x342FA000),
    "pool data unaligned": add("pool1.foff", 4),
    "pool data outside": put("pool2.foff", 0x48),
    "pool data twice": put("pool1.foff", 32),
    "pool data in the blobs": lambda: build(IN_PARAMS).put("pool1.foff", 0x60),
    "params pool behind the blobs": lambda: build(replace(IN_PARAMS, pools=(COPY, PARAM))).put("pool1.foff", 24),
    "blob offset": _ec(16, 0x44),
    "blob magic": _ec(56, 1),
    "blob length": _ec(60, 0x1000),
    "blob patches": _ec(48, 99),
    "blob table": _ec(24, 7),
    "4 GB of activations": put("context.acts_sz", 0xFFFFFFFF),
    "no activations": put("context.acts_sz", 0),
    "1 GB of constants": put("context.params_sz", 1 << 30),
    "more params than pools": put("pool2.size", 64),
    "params of no pool in a split model": put("pool0.size", 8, Recipe(split=True)),
    "release that nobody knows": put("context.rt_version_extra", 999),
    "rest of a version of ours": put("context.rt_version_extra", 7, OURS),
    "two tables are one": _same_entries(6, 7),
    "a table is a setter": _same_entries(2, 8),
    "inference is a getter": _same_entries(1, 3),
    "bytes behind a split model": _appended(b"12345678", Recipe(split=True)),
    "lost relocation": lambda: build(FULL).add("rel_end", -4),
    "padding": _padded(0x1234),
}
