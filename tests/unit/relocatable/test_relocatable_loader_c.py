"""The loader of relocatable models: what it writes where, the caches, and every error with its reason."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from neuralart.resources import firmware_dir
from support.relocatable.loader_host import (
    ASYNC,
    CLEAR,
    COPY,
    DBG_INFO,
    DEFAULT_FLAGS,
    FLASH,
    PARAM_0,
    PARAM_1,
    RAM,
    SECURE,
    XIP,
    Host,
    Model,
    compile_host,
    unavailable,
)

pytestmark = [pytest.mark.hostcc, pytest.mark.skipif(bool(unavailable()), reason=unavailable() or "-")]

NOR, SPLIT, EXEC, POOL, EXTERNAL = 0x7100_0000, 0x7180_0000, 0x3400_0000, 0x3430_0000, 0x9000_0000
LOW = 0x6000_0000
INVALID, MEMORY, NOT_SUPPORTED, ARG, HANDLE, PARAM_ADDR, PARAM_DESC = -1, -2, -3, -4, -5, -7, -8
WEIGHTS = ("xSPI2", 0x01010500, 0, 0, 0x100)  # RELOC.PARAM.0.RCACHED
WEIGHTS_UNCACHED = ("xSPI2", 0x01010100, 0, 0, 0x100)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_host(tmp_path_factory.mktemp("loader"))


@pytest.fixture
def host(program: Path):
    host = Host(program)
    for base in (NOR, SPLIT, EXEC, POOL, EXTERNAL, LOW):
        host.map(base)
    yield host
    host.close()


def model(host: Host, **changes: Any) -> Model:
    return Model(**{"sizes": host.sizes, "pools": [WEIGHTS], **changes})


def moved(value: int, rom: int, ram: int, params: int, external: int) -> int:
    bases = {0: 0, 2: rom, 4: ram, 8: params, 9: external}
    return value if value >> 28 == 0 else bases[value >> 28] + (value & 0x0FFFFFFF)


# ---- what goes well


@dataclass(frozen=True)
class Placement:
    file: int
    executive: int
    mode: int
    split: int = 0


@pytest.mark.parametrize("header_words", [26, 24])
@pytest.mark.parametrize(
    "place",
    [
        Placement(NOR, EXEC, XIP),
        Placement(NOR + 0x124, EXEC + 0x44, XIP, SPLIT),
        Placement(NOR + 0x124, EXEC + 0x44, COPY),
        Placement(NOR, EXEC, COPY, SPLIT + 0x10),
        Placement(NOR, EXEC, COPY | CLEAR),
    ],
    ids=str,
)
def test_memory_is_as_linked_there(host: Host, place: Placement, header_words: int) -> None:
    """Everything in executive RAM, from the file alone."""
    m = model(host, header_words=header_words, split=bool(place.split))
    image = m.build()
    host.put(place.file, image)
    if place.split:
        host.put(place.split, m.params)
    size = m.copy if place.mode & COPY else m.xip
    assert host.install(place.file, place.executive, size, place.mode, params=place.split) == (0, "no error")

    rom = place.executive if place.mode & COPY else place.file
    ram = place.executive + (-(-m.ro // 8) * 8 if place.mode & COPY else 0)
    params = place.split or place.file + m.params_at
    data = bytearray(image[m.ro : m.ro + m.stored])
    for at in [*(r - RAM for r in m.relocations), *range(m.got_at, m.got_at + 4 * len(m.got), 4)]:
        value = struct.unpack_from("<I", data, at)[0]
        struct.pack_into("<I", data, at, moved(value, rom, ram, params, 0))
    got = host.get(ram, m.rw)
    # Words 0 to 4 and 15 of the context are the loader's own.
    own = {*range(m.context, m.context + 20), *range(m.context + 60, m.context + 64)}
    assert [at for at in range(m.stored) if got[at] != data[at] and at not in own] == []
    assert got[m.bss_at : m.rw] == bytes(m.rw - m.bss_at)
    state = 3 if place.mode & XIP else 1
    assert struct.unpack_from("<4I", got, m.context) == (state, place.file, ram, rom)
    if place.mode & COPY:
        assert host.get(rom, m.ro) == image[: m.ro]
    # Not a byte beyond.
    assert host.get(place.executive + size, 64) == b"\xa5" * 64
    # Handle, interface, a clean state; the instance and the callbacks are bound.
    assert host.ask("instance") == f"{ram + m.context:x} {ram:x} 1 1 1 0"


@pytest.mark.parametrize("mode", [XIP, COPY])
def test_other_masters_and_the_fetch_see_what_was_written(host: Host, mode: int) -> None:
    """The image too: whoever brought it there did so through the data cache."""
    m = model(host)
    host.put(NOR, m.build(), cached=True)
    assert host.install(NOR, EXEC, 0x1000, mode)[0] == 0
    size = m.copy if mode == COPY else m.xip
    assert host.get(EXEC, size, "ram") == host.get(EXEC, size)
    code = EXEC if mode == COPY else NOR
    assert host.get(code, m.ro, "code") == host.get(code, m.ro) == m.build()[: m.ro]


def test_installing_again_at_the_same_place(host: Host) -> None:
    """The second model's code is fetched, not the first one's."""
    for seed in (1, 2):
        m = model(host, code=random.Random(seed).randbytes(512))
        host.put(NOR, m.build())
        assert host.install(NOR, EXEC, 0x1000, COPY)[0] == 0
        assert host.get(EXEC, m.ro, "code") == m.build()[: m.ro]


POOLS = [
    ("AXISRAM6", 0x02030200, 0x100, POOL + 0x1004, 0x33),  # COPY.MIXED.WRITE
    ("AXISRAM5", 0x03020600, 0, POOL, 0x101),  # RESET.ACTIV.WCACHED
    ("xSPI2", 0x01010500, 0x20, 0, 0x60),  # RELOC.PARAM.0.RCACHED
]


@pytest.mark.parametrize("mode", [XIP, XIP | CLEAR, COPY | CLEAR])
def test_absolute_pools(host: Host, mode: int) -> None:
    m = model(host, pools=POOLS, params=bytes(n * 7 & 0xFF for n in range(0x138)))
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000, mode)[0] == 0
    # Sizes are rounded up to 8, as the file is filled up.
    assert host.get(POOL + 0x1004, 0x38, "ram") == m.params[0x100:0x138]
    assert host.get(POOL + 0x1004 + 0x38, 8) == b"\xa5" * 8
    assert host.get(POOL, 0x108, "ram") == (bytes(0x108) if mode & CLEAR else b"\xa5" * 0x108)
    assert host.get(POOL + 0x108, 8) == b"\xa5" * 8
    # The params begin where the pool's data does.
    assert host.word((EXEC if mode & XIP else EXEC + m.ro) + 12) == NOR + m.params_at + 0x20 + 0x20
    # The NPU's cache hears of pools that it caches.
    assert host.npu_cache == ((POOL, POOL + 0x108) if mode & CLEAR else (0, 0))


@pytest.mark.parametrize(
    ("flags", "mode", "expected"),
    [
        (0x01030601, XIP, "params"),  # RELOC.MIXED.1.WCACHED
        (0x01020601, XIP, "untouched"),  # RELOC.ACTIV.1.WCACHED
        (0x01020601, COPY | CLEAR, "zeros"),
        (0x01030601, COPY | CLEAR, "params"),
    ],
)
def test_external_ram(host: Host, flags: int, mode: int, expected: str) -> None:
    pools = [("xSPI1", flags, 0x40, 0, 0x31), ("xSPI2", 0x01010500, 0, 0, 0x40)]
    m = model(host, pools=pools, pointers=[PARAM_1 + 8], ext_ram=0x31)
    host.put(NOR, m.build())
    place = EXTERNAL + 0x100
    assert host.install(NOR, EXEC, 0x1000, mode, ext=(place, 0x38))[0] == 0
    wanted = {"params": m.params[0x40:0x78], "untouched": b"\xa5" * 0x38, "zeros": bytes(0x38)}[expected]
    assert host.get(place, 0x38, "ram") == wanted
    assert host.get(place + 0x38, 8) == b"\xa5" * 8
    assert host.word(EXEC if mode & XIP else EXEC + m.ro) == place + 8


def test_a_place_named_twice_is_moved_once(host: Host) -> None:
    """Also where a real address looks like one that is still to be moved."""
    dtcm = 0x2000_0000
    host.map(dtcm)
    m = model(host, extra_relocations=[RAM, RAM])
    host.put(NOR, m.build())
    for place in (EXEC, dtcm):
        assert host.install(NOR, place, 0x1000)[0] == 0
        assert host.word(place) == place + 4


def test_absolute_words_in_code_move_with_a_copy(host: Host) -> None:
    m = model(host)
    m.build()
    m.extra_relocations = [FLASH + m.code_at]
    m.words = {m.code_at: RAM + 0x10}
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000, COPY)[0] == 0
    assert host.word(EXEC + m.code_at) == EXEC + m.ro + 0x10
    error, reason = host.install(NOR, EXEC, 0x1000, XIP)
    assert (error, "only mode COPY" in reason) == (INVALID, True)


def test_nine_pools_and_a_pool_without_bytes_in_use(host: Host) -> None:
    pools = [(f"AXISRAM{n}", 0x03020200, 0, POOL + 0x100 * n, 0x10) for n in range(8)]
    host.put(NOR, model(host, pools=[*pools, WEIGHTS]).build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0
    host.put(NOR, model(host, pools=[("empty", 0, 0, 0, 0), WEIGHTS]).build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0


# ---- what a file is


@pytest.mark.parametrize("header_words", [26, 24])
def test_info(host: Host, header_words: int) -> None:
    """Of any runtime's images: it says why they will not install."""
    m = model(host, header_words=header_words, version=0x01010300, extra=262, description="atonn", ext_ram=0x31)
    host.put(NOR, m.build())
    error, name, description, numbers = host.ask(f"info {NOR:x}").split("|")
    assert (error, name, description) == ("0", "toy", "atonn")
    assert [int(number, 16) for number in numbers.split(",")] == [
        *(DEFAULT_FLAGS, m.ro, m.params_at, 0x100, 0x400, 0x38),
        *(m.xip, m.copy, 0x01010300, 262),
    ]
    assert host.install(NOR, EXEC, 0x1000) == (INVALID, "made for another version of the runtime")


def test_log(host: Host) -> None:
    m = model(host, pools=POOLS[:1])
    host.put(NOR, m.build())
    host.put(SPLIT, model(host, split=True).build())
    assert host.ask(f"log {NOR:x}").split("|") == [
        "0",
        "relocatable model toy for neuralart-reference (RELOC.GCC) 0.1.0.0",
        "  flags 0x80485d22",
        f"  executive RAM: XIP {m.xip} bytes, COPY {m.copy}",
        f"  code {m.ro} bytes, params 256 from 0x{m.params_at:08x}, activations 1024, external RAM 0",
        "  pool AXISRAM6 0x02030200, data at 0x00000100, place 0x34301004, bytes 51",
        "",
    ]
    assert "params 256 in a file of their own, " in host.ask(f"log {SPLIT:x}")
    assert host.ask(f"log {POOL:x}") == ("-1|relocatable model: not a relocatable model: its first word is not NBIN|")


def test_pool_table(host: Host) -> None:
    host.put(NOR, model(host, pools=POOLS).build())
    rows = [host.ask(f"pool {NOR:x} {n}") for n in range(-1, 4)]
    assert (rows[0], rows[4]) == ("none", "none")
    for row, (name, *numbers) in zip(rows[1:4], POOLS, strict=True):
        at, *words = (int(word, 16) for word in row.split())
        assert words == numbers
        assert host.get(NOR + (at & 0x0FFFFFFF), len(name) + 1) == name.encode() + b"\0"
    assert host.ask(f"pool {POOL:x} 0") == "none"


# ---- calls


@pytest.mark.parametrize("header_words", [26, 24])
@pytest.mark.parametrize("mode", [XIP, COPY])
def test_calls_reach_the_model_with_its_data(host: Host, mode: int, header_words: int) -> None:
    m = model(host, header_words=header_words)
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000, mode)[0] == 0
    rom, ram = (EXEC, EXEC + m.ro) if mode == COPY else (NOR, EXEC)
    arguments = {"set_input": "2,1000,40", "set_output": "2,1000,40", "get_input": "2,0,0", "get_output": "2,0,0"}
    host.ask("result 3")
    names = ("network_init", "inference_init", "items", "inputs", "outputs", "internal", *arguments)
    for name in names:
        result = 1 if name.endswith("init") else 3
        expected = f"{rom + m.entry(name) + 1:x}({arguments.get(name, '0,0,0')})@{ram:x};"
        assert host.call(name, 2) == (result, expected), name
    assert host.call("epoch", rom + 0x201) == (0, f"{rom + 0x201:x}(2000,0,0)@{ram:x};")
    assert host.call("valid") == (1, "")
    assert host.call("file") == (NOR, "")
    host.ask("result 100")  # a bool is one byte
    assert host.call("network_init")[0] == 0


def test_callbacks(host: Host) -> None:
    host.put(NOR, model(host).build())
    assert host.call("callbacks")[0] == HANDLE
    assert host.install(NOR, EXEC, 0x1000)[0] == 0
    assert host.call("callbacks")[0] == 0
    assert host.ask("instance").split()[-2:] == ["0", "1"]
    assert host.call("no_callbacks")[0] == 0
    assert host.ask("instance").split()[-2:] == ["1", "0"]


def _nothing_is_called(host: Host) -> None:
    assert host.call("valid") == (0, "")
    assert host.call("file") == (0, "")
    for name in ("get_input", "get_output", "inputs", "outputs", "internal", "network_init", "inference_init", "items"):
        assert host.call(name) == (0, ""), name
    for name in ("set_input", "set_output"):
        assert host.call(name) == (4, ""), name  # LL_ATON_User_IO_WRONG_STATE
    assert host.call("callbacks")[0] == host.call("no_callbacks")[0] == HANDLE


def test_instance_without_a_model(host: Host) -> None:
    _nothing_is_called(host)
    assert host.call("valid_null") == (0, "")
    assert host.died("call epoch 71000001")


@pytest.mark.parametrize("damage", ["unaligned", "state", "mode", "rom", "not its own", "magic", "gone"])
def test_handle_that_is_none(host: Host, damage: str) -> None:
    m = model(host)
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0
    handle = EXEC + m.context
    if damage == "unaligned":
        host.call("handle", handle + 2)
    elif damage == "state":
        host.put(handle, bytes(4))
    elif damage == "mode":
        host.put(handle, struct.pack("<I", 1))
    elif damage == "rom":
        host.put(handle + 12, struct.pack("<I", NOR + 0x100))
    elif damage == "not its own":
        host.put(handle + 0x400, host.get(handle, 68))
        host.call("handle", handle + 0x400)
    elif damage == "magic":
        host.put(NOR, b"\xff" * 4)
    else:
        host.put(EXEC, bytes(m.rw))
    _nothing_is_called(host)


# ---- errors


MAPPED = (NOR, SPLIT, EXEC, POOL, EXTERNAL, LOW)


def refused(host: Host, image: bytes, error: int, reason: str, at: int = NOR, **words: Any) -> None:
    """An error, its reason, and not a byte written anywhere."""
    host.put(at, image)
    options = {"exec_ram": EXEC, "size": 0x1000, "mode": XIP, **words}
    before = [host.get(base, 0x10000) for base in MAPPED], host.ask("instance")
    found = host.install(at, options.pop("exec_ram"), options.pop("size"), options.pop("mode"), **options)
    assert found[0] == error, found
    assert reason in found[1], found
    assert ([host.get(base, 0x10000) for base in MAPPED], host.ask("instance")) == before


@pytest.mark.parametrize("which", range(4))
def test_null(host: Host, which: int) -> None:
    assert host.ask(f"null {which}") == f"{ARG}|an argument is NULL"


def test_something_else_than_an_image(host: Host) -> None:
    refused(host, b"\x7fELF" + bytes(200), INVALID, "an ELF file")
    refused(host, bytes(4) + b"TFL3" + bytes(200), INVALID, "a .tflite")
    refused(host, bytes(200), INVALID, "its first word is not NBIN")
    refused(host, model(host).build(), INVALID, "not at a multiple of 4", at=NOR + 2)


def test_elf_bin(host: Host) -> None:
    """Made on the way to the image, before the relocation list is known."""
    m = model(host)
    m.build()
    m.header = {9: FLASH + m.rel_at, 10: FLASH + m.rel_at, 12: 0}
    refused(host, m.build(), INVALID, "an .elf.bin")


HEADER = {
    "data_start": (2, RAM + 8, "a word of the header is not in its segment"),
    "data_end": (3, FLASH + 0x10, "not in its segment"),
    "data_data": (4, RAM + 0x200, "not in its segment"),
    "bss_start": (5, 0x10, "not in its segment"),
    "bss_end": (6, FLASH, "not in its segment"),
    "got_start": (7, PARAM_0, "not in its segment"),
    "got_end": (8, 0, "not in its segment"),
    "rel_start": (9, RAM, "not in its segment"),
    "rel_end": (10, RAM, "not in its segment"),
    "params_start": (11, FLASH, "not in its segment"),
    "rt_ctx": (25, FLASH, "not in its segment"),
    "blob_encryption": (23, 0xF0000001, "not in its segment"),
    "data_end behind bss": (3, RAM + 0x1000, "out of order"),
    "RO smaller than the header": (4, FLASH + 0x60, "out of order"),
    "RO not of words": (4, FLASH + 0x102, "out of order"),
    "bss_end before bss_start": (6, RAM + 8, "out of order"),
    "GOT backwards": (7, RAM + 0x0FFFFFF0, "out of order"),
    "GOT unaligned": (7, RAM + 2, "out of order"),
    "GOT in bss": (8, RAM + 0x200, "out of order"),
    "relocations inside data": (9, FLASH + 0x110, "out of order"),
    "relocations backwards": (10, FLASH + 0x20, "out of order"),
    "relocations unaligned": (10, FLASH + 0xFFFFFF2, "out of order"),
    "params inside the relocations": (12, 0x100, "out of order"),
    "params behind all memory": (12, 0xFFFFFFF0, "behind the last address"),
    "network_init": (13, FLASH + 0x200, "an entry point is not in the code"),
    "inference_init": (14, FLASH + 0x10001, "an entry point is not in the code"),
    "input_setter": (15, RAM + 0x101, "an entry point is not in the code"),
    "internal_buffers": (24, FLASH + 5, "an entry point is not in the code"),
    "rt_ctx outside": (25, RAM + 0x0FFFFFFC, "the runtime context"),
    "rt_ctx unaligned": (25, RAM + 0x12, "the runtime context"),
    "table unaligned": (11, RAM + 0x56, "not at a multiple of 4"),
    "table outside": (11, RAM + 0x0FFFFFF0, "has no end"),
}


@pytest.mark.parametrize("fault", HEADER)
def test_damaged_header(host: Host, fault: str) -> None:
    index, value, reason = HEADER[fault]
    refused(host, model(host, header={index: value}).build(), INVALID, reason)


def test_data_behind_the_begin_of_bss(host: Host) -> None:
    """By one word, which the padding in front of the relocations has room for."""
    m = model(host)
    m.build()
    assert m.stored % 8 == 4
    m.header = {3: RAM + m.stored + 4, 5: RAM + m.stored}
    refused(host, m.build(), INVALID, "out of order")
    m.header = {3: RAM + m.stored + 4}
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0


@pytest.mark.parametrize(
    ("word", "value"),
    [
        (5, 0),
        (5, RAM + 4),
        (5, FLASH + 0x0FFFFFFF),
        (9, PARAM_0),
        (16, 0),
        (16, FLASH + 8),
        (16, RAM + 2),
        (16, RAM + 0xFFFFFFC),
    ],
)
def test_damaged_context(host: Host, word: int, value: int) -> None:
    m = model(host)
    m.build()
    m.words = {m.ro + m.context + 4 * word: value}
    refused(host, m.build(), INVALID, "the runtime context")


def test_text_without_an_end(host: Host) -> None:
    m = model(host, code=b"\xff" * 512)
    m.build()
    m.words = {m.ro + m.context + 20: FLASH + m.code_at}
    refused(host, m.build(), INVALID, "the runtime context")


def test_ten_pools(host: Host) -> None:
    pools = [(f"AXISRAM{n}", 0x03020200, 0, POOL + 0x100 * n, 0x10) for n in range(9)]
    refused(host, model(host, pools=[*pools, WEIGHTS]).build(), INVALID, "more than 9 memory pools")


def test_pool_without_a_name(host: Host) -> None:
    m = model(host)
    m.build()
    m.words = {m.ro + m.pools_at: RAM}
    refused(host, m.build(), INVALID, "a memory pool has no name")


ENVIRONMENT = {
    "API 9.0": ({"flags": 0x90485D22}, {}, "another API"),
    "API 8.1": ({"flags": 0x81485D22}, {}, "another API"),
    "core": ({"flags": DEFAULT_FLAGS & ~0xFFF | 0xD21}, {}, "another core"),
    "this core": ({}, {"cpuid": 0x410FD213}, "another core"),
    "FPU off": ({}, {"cpacr": 0}, "the FPU, which is off"),
    "half an FPU": ({}, {"cpacr": 0x00300000}, "the FPU, which is off"),
    "secure": ({"flags": DEFAULT_FLAGS | SECURE}, {"secure": False}, "secure firmware"),
    "debug information": ({"flags": DEFAULT_FLAGS | DBG_INFO}, {}, "with LL_ATON_EB_DBG_INFO"),
    "polling": ({"flags": DEFAULT_FLAGS & ~ASYNC}, {}, "another LL_ATON_RT_MODE"),
    "vendor's runtime": ({"version": 0x01010300}, {}, "another version"),
    "micro": ({"version": 0x00010100}, {}, "another version"),
    "extra": ({"extra": 262}, {}, "another version"),
    "same number, another runtime": ({"description": "STAI-3.0.0"}, {}, "another runtime than neuralart-reference"),
    "structures": ({"sizes": 0x3038}, {}, "other structures"),
}


@pytest.mark.parametrize("case", ENVIRONMENT)
def test_made_for_something_else(host: Host, case: str) -> None:
    changes, core, reason = ENVIRONMENT[case]
    host.core(**core)
    refused(host, model(host, **changes).build(), INVALID, reason)


def test_what_the_core_may_be(host: Host) -> None:
    """Without an FPU in use it may be off; a non-secure model runs on secure firmware."""
    host.core(cpacr=0)
    host.put(NOR, model(host, flags=DEFAULT_FLAGS & ~(1 << 12)).build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0
    host.core()
    host.put(NOR, model(host, flags=DEFAULT_FLAGS | SECURE).build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0


@pytest.mark.parametrize("mode", [0, CLEAR, XIP | COPY, XIP | 8, COPY | 0x100])
def test_mode(host: Host, mode: int) -> None:
    refused(host, model(host).build(), NOT_SUPPORTED, "mode", mode=mode)


@pytest.mark.parametrize("mode", [XIP, COPY])
def test_executive_ram(host: Host, mode: int) -> None:
    m = model(host)
    image = m.build()
    need = m.xip if mode == XIP else m.copy
    refused(host, image, MEMORY, "NULL or not", exec_ram=0, mode=mode)
    refused(host, image, MEMORY, "multiple of 4", exec_ram=EXEC + 2, mode=mode)
    refused(host, image, MEMORY, "too small", size=need - 1, mode=mode)
    refused(host, image, MEMORY, "too small", exec_ram=0xFFFFFFF0, mode=mode)
    assert host.install(NOR, EXEC, need, mode)[0] == 0


def test_params_missing_or_unaligned(host: Host) -> None:
    refused(host, model(host, split=True).build(), PARAM_ADDR, "ext_param_addr is missing")
    refused(host, model(host).build(), PARAM_ADDR, "not at a multiple of 4", params=SPLIT + 2)


def test_cacheable_params_in_internal_memory(host: Host) -> None:
    """The first address is refused as well, and a pool that is not cacheable may be anywhere."""
    image = model(host, split=True).build()
    for params in (POOL, LOW):
        refused(host, image, PARAM_ADDR, "above 0x60000000", params=params)
    assert host.install(NOR, EXEC, 0x1000, params=LOW + 4)[0] == 0
    host.put(NOR, model(host, pools=[WEIGHTS_UNCACHED]).build())
    assert host.install(NOR, EXEC, 0x1000, params=POOL)[0] == 0
    # Combined in internal memory: the same.
    refused(host, model(host).build(), PARAM_ADDR, "above 0x60000000", at=POOL)
    host.put(POOL, model(host, pools=[WEIGHTS_UNCACHED]).build())
    assert host.install(POOL, EXEC, 0x1000)[0] == 0


EXTERNAL_POOL = ("xSPI1", 0x01020601, 0, 0, 0x31)


def test_external_ram_missing_small_or_internal(host: Host) -> None:
    image = model(host, pools=[EXTERNAL_POOL, WEIGHTS]).build()
    refused(host, image, MEMORY, "external RAM (ext_ram_addr) is NULL")
    refused(host, image, MEMORY, "multiple of 4", ext=(EXTERNAL + 1, 0x100))
    refused(host, image, MEMORY, "external RAM is too small", ext=(EXTERNAL, 0x37))
    refused(host, image, MEMORY, "external RAM is too small", ext=(0xFFFFFFF0, 0x38))
    for place in (POOL, LOW):
        refused(host, image, PARAM_ADDR, "it must be above 0x60000000", ext=(place, 0x38))
    assert host.install(NOR, EXEC, 0x1000, ext=(LOW + 4, 0x38))[0] == 0
    host.put(NOR, model(host, pools=[("xSPI1", 0x01020201, 0, 0, 0x31), WEIGHTS]).build())
    assert host.install(NOR, EXEC, 0x1000, ext=(POOL, 0x38))[0] == 0


DESCRIPTORS = {
    "written params": ([("a", 0x01010600, 0, 0, 8)], "written to"),
    "mixed params": ([("a", 0x01030500, 0, 0, 8)], "written to"),
    "activations in PARAM_0": ([("a", 0x01020100, 0, 0, 8)], "written to"),
    "id 2": ([("a", 0x01010502, 0, 0, 8)], "unknown id"),
    "two of id 0": ([WEIGHTS, WEIGHTS], "two relative pools"),
    "two of id 1": ([EXTERNAL_POOL, EXTERNAL_POOL], "two relative pools"),
    "params in PARAM_1": ([("a", 0x01010501, 0, 0, 8)], "params only"),
    "type 4": ([("a", 0x04020200, 0, POOL, 8)], "unknown type"),
    "unsupported": ([("a", 0xFF020200, 0, POOL, 8)], "unknown type"),
    "copy to nowhere": ([("a", 0x02010500, 0, 0, 8)], "without a place"),
    "reset nowhere": ([("a", 0x03020200, 0, 0, 8)], "without a place"),
    "copy without data": ([("a", 0x02020200, 0, POOL, 8)], "data of the wrong kind"),
    "reset with data": ([("a", 0x03030200, 0, POOL, 8)], "data of the wrong kind"),
    "reset of unknown data": ([("a", 0x03070200, 0, POOL, 8)], "data of the wrong kind"),
    "no size": ([("a", 0x03020200, 0, POOL, 0)], "no size"),
    "huge": ([("a", 0x03020200, 0, POOL, 0x10000001)], "256 MiB"),
    "wraps": ([("a", 0x03020200, 0, 0xFFFFFFF0, 0x100)], "without a place"),
    "data wraps": ([("a", 0x02010500, 0xF0000000, POOL, 8)], "behind the last address"),
}


@pytest.mark.parametrize("case", DESCRIPTORS)
def test_pool_that_no_loader_can_serve(host: Host, case: str) -> None:
    pools, reason = DESCRIPTORS[case]
    refused(host, model(host, pools=pools).build(), PARAM_DESC, reason, ext=(EXTERNAL, 0x100))


def test_overlaps(host: Host) -> None:
    image = model(host).build()
    refused(host, image, MEMORY, "overlap", exec_ram=NOR + 0x100)
    refused(host, image, MEMORY, "overlap", exec_ram=EXTERNAL, params=EXTERNAL + 0x10)
    external = model(host, pools=[EXTERNAL_POOL, WEIGHTS]).build()
    refused(host, external, MEMORY, "overlap", exec_ram=EXTERNAL + 0x20, ext=(EXTERNAL, 0x38))
    refused(host, external, MEMORY, "overlap", ext=(NOR + 0x10, 0x38))
    refused(host, external, MEMORY, "overlap", ext=(SPLIT + 0x80, 0x38), params=SPLIT)
    for flags in (0x02010500, 0x03020200):
        for place in (EXEC + 0x20, NOR + 0x10, SPLIT + 0x10, EXTERNAL + 0x30):
            pools = [("a", flags, 0, place, 8), EXTERNAL_POOL, WEIGHTS]
            refused(
                host, model(host, pools=pools).build(), MEMORY, "an absolute pool", ext=(EXTERNAL, 0x38), params=SPLIT
            )


@pytest.mark.parametrize("value", [FLASH + 0x10000, RAM + 0x10000, 0xA0000000, 0x30000000, PARAM_1, 0xF0000000])
def test_address_that_leaves_its_segment(host: Host, value: int) -> None:
    """In the GOT, and in the data. Without external RAM nothing is in PARAM_1."""
    refused(host, model(host, got=[RAM, value, 0]).build(), INVALID, "an address in the GOT leaves its segment")
    refused(host, model(host, pointers=[0, value]).build(), INVALID, "an address in the data leaves its segment")


def test_limits_of_the_segments(host: Host) -> None:
    """A pointer behind the last byte is one that C makes; one further is none."""
    m = model(host, pools=[EXTERNAL_POOL, WEIGHTS])
    m.build()
    for last in (FLASH + m.ro, RAM + m.rw, PARAM_1 + 0x38):
        host.put(NOR, replace(m, got=[last, 0, 0, 0, 0, 0]).build())
        assert host.install(NOR, EXEC, 0x1000, ext=(EXTERNAL, 0x38))[0] == 0
        image = replace(m, got=[last + 1, 0, 0, 0, 0, 0]).build()
        refused(host, image, INVALID, "leaves its segment", ext=(EXTERNAL, 0x38))


def test_relocation_that_is_not_in_the_data(host: Host) -> None:
    m = model(host)
    m.build()
    last = RAM + m.stored - 4
    for place in (last + 4, last + 2, RAM + 0x0FFFFFFC, PARAM_0, 0, 0xA0000000):
        refused(host, model(host, extra_relocations=[place]).build(), INVALID, "a word that is not in the data")
    for place in (FLASH, FLASH + 0x34, FLASH + m.ro, FLASH + m.code_at + 2):
        refused(host, model(host, extra_relocations=[place]).build(), INVALID, "addresses in the code", mode=COPY)
    host.put(NOR, model(host, extra_relocations=[last]).build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0


def test_a_failure_leaves_the_installed_model_alone(host: Host) -> None:
    m = model(host)
    host.put(NOR, m.build())
    assert host.install(NOR, EXEC, 0x1000)[0] == 0
    refused(host, bytes(200), INVALID, "NBIN", at=SPLIT)
    assert host.call("valid")[0] == 1


@pytest.mark.fuzz
def test_damaged_images(host: Host) -> None:
    """Whatever a word says: refused, or every address that was moved lies where it may."""
    count = int(os.environ.get("NEURALART_FUZZ", "2000"))
    draw = random.Random(5)
    accepted = 0
    interesting = (0, 1, 4, RAM, FLASH, PARAM_0, PARAM_1, 0xFFFFFFFF, 0xA0000000, RAM + 0xFFFFFFC, FLASH + 0xFFFFFFF)
    m = model(host, pools=[EXTERNAL_POOL, WEIGHTS])
    base = m.build()
    table = range(m.ro + m.pools_at, m.ro + m.got_at, 4)
    # Not the offset of the params and what pools say of absolute places: any may be right.
    words = [at for at in range(0, m.rel_at + 4 * len(m.relocations), 4) if at != 48 and at not in table]
    words = [at for at in words if not 104 <= at < m.ro]
    for number in range(count):
        image = bytearray(base)
        for at in draw.sample(words, draw.choice((1, 1, 2, 4))):
            old = struct.unpack_from("<I", image, at)[0]
            new = draw.choice((old ^ 1 << draw.randrange(32), draw.choice(interesting), old + draw.randrange(-64, 64)))
            struct.pack_into("<I", image, at, new & 0xFFFFFFFF)
        host.put(NOR, bytes(image))
        mode = draw.choice((XIP, COPY))
        if host.install(NOR, EXEC, 0x1000, mode, ext=(EXTERNAL, 0x38))[0] != 0:
            continue
        accepted += 1
        header = struct.unpack_from("<26I", image)
        ro, rw = header[4] & 0xFFFFFFF, header[6] & 0xFFFFFFF
        rom, ram = (EXEC, EXEC + -(-ro // 8) * 8) if mode == COPY else (NOR, EXEC)
        size = (header[10] - header[9]) // 4
        listed = struct.unpack_from(f"<{size}I", image.ljust(len(image) + 4 * size), header[9] & 0xFFFFFFF)
        places = [
            *range(header[7] & 0xFFFFFFF, header[8] & 0xFFFFFFF, 4),
            *(p & 0xFFFFFFF for p in listed if p >> 28 == 4),
        ]
        for at in places:
            value = struct.unpack_from("<I", image, ro + at)[0]
            kind, offset, where = value >> 28, value & 0xFFFFFFF, host.word(ram + at)
            if m.context <= at < m.context + 20 or at == m.context + 60:
                continue  # the loader's own words
            limit = {0: value, 2: ro, 4: rw, 8: 0xFFFFFFF, 9: 0x38}[kind]
            assert offset <= limit, (number, hex(at), hex(value))
            assert where == moved(value, rom, ram, NOR + header[12], EXTERNAL), (number, hex(at), hex(value))
    assert count // 20 < accepted < count


# ---- for the target


@pytest.mark.arm
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed")
@pytest.mark.parametrize(
    "defines", [(), ("-DLL_ATON_RT_RELOC",), ("-DLL_ATON_RT_RELOC", "-DLL_ATON_EB_DBG_INFO")], ids=len
)
@pytest.mark.parametrize(
    "core", [("cortex-m33", "fpv5-sp-d16"), ("cortex-m55", "auto"), ("cortex-m7", "fpv5-d16")], ids=lambda c: c[0]
)
def test_compiles_for(tmp_path: Path, core: tuple[str, str], defines: tuple[str, ...]) -> None:
    runtime = firmware_dir() / "runtime"
    command = ["arm-none-eabi-gcc", f"-mcpu={core[0]}", f"-mfpu={core[1]}", "-mfloat-abi=hard", "-mthumb", "-std=gnu11"]
    command += ["-O2", "-ffreestanding", "--specs=picolibc.specs", "-Wall", "-Wextra", "-Werror", *defines]
    command += ["-I", str(runtime / "include"), "-c", *map(str, sorted(runtime.glob("relocatable_*.c")))]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(list(tmp_path.glob("*.o"))) == 7
