"""firmware/runtime/memory on this machine: order, caches and every error, on registers and memories that tell tales."""

from __future__ import annotations

import ctypes
import os
import random
import subprocess
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart import toolchain
from neuralart.boards.types import Board
from neuralart.config.types import ToolchainConfig
from neuralart.memory.layout.strategies import Layout
from neuralart.network.facts import Network
from neuralart.resources import firmware_dir
from support.npu.npu_memory_host import (
    CONTROL,
    DCCIMVAC,
    DESCRIPTOR,
    NOR_CLOCK,
    NPU_CACHE,
    NPU_CACHE_CLOCK,
    REGISTERS,
    RIMC,
    RIMC_CLOCK,
    STAGING,
    STAMP,
    WEIGHTS,
    Host,
    Maker,
    board,
    descriptor,
    entry,
    initializer,
    layout,
    region,
)
from support.projects import smallboard as small

RUN = 0x3400_1028  # not at the start of a line
DATA = bytes((n * 73 + 5) & 0xFF for n in range(0x155))
BOARD = board()
COPY = layout(initializer("A", "boot-copy", RUN, STAGING))
WINDOW, MISSING, DAMAGED, ABI, ENTRY, LARGE, CRC, BANK, HOOK, CACHE, MPU = range(1, 12)


def net(*pools, **changes) -> Network:
    return small.network(*(pools or (pool_a(),)), **changes)


def pool_a(**changes):
    return small.pool("A", RUN - 0x1000_0000, 0x200, **{"weights": len(DATA), **changes})


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("npu-memory"))


_hosts: dict[tuple[Board, Layout, tuple[Network, ...]], Host] = {}


@pytest.fixture
def started(maker: Maker):
    """A host of some tables, powered up; the same tables are compiled once."""

    def go(plan: Layout = COPY, *networks: Network, on: Board = BOARD, **more) -> Host:
        key = (plan, networks, repr(on))
        host = _hosts.get(key) if not more else None
        if host is None:
            host = maker.make(on, plan, networks or (net(),), **more)
            if not more:
                _hosts[key] = host
        host.power_up(on)
        return host

    return go


def flashed(host: Host, *entries: bytes) -> None:
    """The raw file of pool A and a descriptor that knows it."""
    host.put(STAGING, DATA)
    host.put(DESCRIPTOR, descriptor(*(entries or (entry("A", STAGING, DATA),))))


# ---- what goes well


@pytest.mark.parametrize("data", [b"", b"123456789", DATA, random.Random(1).randbytes(4099)])
@pytest.mark.hostcc
def test_crc_is_that_of_zlib(started, data: bytes) -> None:
    assert started().c.npu_memory_crc32(data, len(data)) == zlib.crc32(data)


@pytest.mark.hostcc
def test_weights_are_copied_and_everybody_sees_them(started) -> None:
    host = started()
    flashed(host)
    assert host.init() == 0
    # Not what the core believes: what is behind its cache.
    assert host.memory(RUN, len(DATA)) == DATA
    assert host.memory(RUN + len(DATA), 8) == b"\xa5" * 8
    assert host.memory(RUN - 8, 8) == b"\xa5" * 8
    assert host.wrong() == []


@pytest.mark.hostcc
def test_order_of_register_writes(started) -> None:
    host = started()
    flashed(host)
    assert host.init() == 0
    assert host.writes() == [
        (0x5000_0010, 1 << 7 | 1 << 0),  # memory clocks: BANK1 was on, BANK2 joins
        (0x5000_0020, 1 << 0),  # also in sleep
        (0x5000_0030, 1 << 12),  # RAMCFG answers
        (0x5100_0100, 1),  # BANK2 leaves shutdown, the register's other bits stay
        (RIMC_CLOCK, 1 << 9),
        (RIMC, 0x310),  # the NPU as a master
    ]
    kinds = host.events()
    first_memory = next(n for n, (kind, _, _) in enumerate(kinds) if kind in "mMa")
    last_step = max(n for n, (kind, at, _) in enumerate(kinds) if (kind, at) == ("w", RIMC))
    window = next(n for n, (kind, at, _) in enumerate(kinds) if (kind, at) == ("r", CONTROL))
    clock = next(n for n, (kind, at, _) in enumerate(kinds) if (kind, at) == ("r", NOR_CLOCK))
    first_write = next(n for n, (kind, _, _) in enumerate(kinds) if kind == "w")
    assert clock < window < first_write
    assert last_step < first_memory
    assert ("b", 0, 0) in kinds[last_step:first_memory]
    # The probe comes before the descriptor is read.
    words = [n for n, (kind, _, _) in enumerate(kinds) if kind == "M"]
    assert max(words) < next(n for n, (kind, at, _) in enumerate(kinds) if (kind, at) == ("a", DESCRIPTOR))


@pytest.mark.hostcc
def test_banks_that_nothing_touches_are_left_alone(started) -> None:
    host = started()
    flashed(host)
    assert host.init() == 0
    assert host.value(0x5000_0010) & (1 << 1) == 0
    assert host.value(0x5100_0180) == 1 << 20 | 1  # BANK3 is still shut down
    third = range(0x3400_2000, 0x3400_3000)
    assert [e for e in host.events() if e[1] in third or e[2] in third] == []


@pytest.mark.hostcc
def test_every_register_write_is_read_back(started) -> None:
    """The clock runs before the next access is made."""
    host = started()
    flashed(host)
    host.init()
    events = [e for e in host.events() if e[1] != DCCIMVAC]
    for number, (kind, at, _) in enumerate(events):
        if kind == "w":
            assert events[number + 1][:2] == ("r", at)


@pytest.mark.hostcc
def test_lines_of_the_copy_are_cleaned_before_it_is_checked(started) -> None:
    host = started()
    flashed(host)
    assert host.init() == 0
    events = host.events()
    copied = next(n for n, e in enumerate(events) if e == ("a", RUN, len(DATA)))
    checked = max(n for n, e in enumerate(events) if e == ("a", RUN, len(DATA)))
    between = [value for kind, at, value in events[copied:checked] if (kind, at) == ("w", DCCIMVAC)]
    assert between == list(range(RUN & ~31, RUN + len(DATA), 32))
    inner = [kind for kind, _, _ in events[copied + 1 : checked]]
    assert inner[0] != "w" and "b" in inner[: inner.index("w")] and inner[-1] == "b"


@pytest.mark.hostcc
@pytest.mark.parametrize("size", [1, 24, 25, 32, 56, 57])
def test_lines_cover_the_range_and_no_more(started, size: int) -> None:
    host = started()
    flashed(host, entry("A", STAGING, DATA[:size]))
    assert host.init() == 0
    probe = [RUN & ~31] * 5
    assert host.cleaned() == [*probe, *range(RUN & ~31, RUN + size, 32)]
    assert host.memory(RUN, size) == DATA[:size]


@pytest.mark.hostcc
@pytest.mark.parametrize(
    ("address", "size", "lines"),
    [
        (0x1000, 0, []),
        (0x101F, 1, [0x1000]),
        (0x101F, 2, [0x1000, 0x1020]),
        (0xFFFF_FFE0, 32, [0xFFFF_FFE0]),
        (0xFFFF_FFC1, 0x3F, [0xFFFF_FFC0, 0xFFFF_FFE0]),
        (0, 33, [0, 32]),
    ],
)
def test_maintenance_at_the_edges(started, address: int, size: int, lines: list[int]) -> None:
    host = started()
    host.c.npu_memory_clean_invalidate(ctypes.c_uint32(address), size)
    assert host.cleaned() == lines


@pytest.mark.hostcc
def test_a_second_start_finds_everything_on(started) -> None:
    """A warm start: banks and windows are as the first one left them."""
    host = started()
    flashed(host)
    assert host.init() == 0
    assert host.init() == 0
    assert host.memory(RUN, len(DATA)) == DATA


@pytest.mark.hostcc
def test_the_probe_puts_back_what_was_there(started) -> None:
    here = bytes(range(1, 65))
    host = started(layout(), net(pool_a(weights=0)))
    for at, value in ((0x5000_0010, 0xFFF), (0x5000_0030, 1 << 12), (0x5100_0100, 0)):
        host.set(at, value)
    host.put(RUN & ~31, here)
    host.put(RUN + 4, b"mine", view=1)  # a neighbor that is still in the cache
    assert host.init() == 0
    assert host.memory(RUN & ~31, 64) == here[:12] + b"mine" + here[16:]


@pytest.mark.hostcc
def test_weights_in_flash_stay_there(started) -> None:
    network = net(small.pool("F", WEIGHTS, 0x200, weights=len(DATA)), pool_a(weights=0))
    host = started(layout(initializer("F", "flash", WEIGHTS, WEIGHTS, capacity=0x200)), network)
    host.put(WEIGHTS, DATA)
    host.put(DESCRIPTOR, descriptor(entry("F", WEIGHTS, DATA)))
    assert host.init() == 0
    assert not [e for e in host.events() if e[0] == "M" and e[1] >= 0x7000_0000]
    assert not [line for line in host.cleaned() if line >= 0x7000_0000]
    host.put(WEIGHTS + 100, b"\0\0")
    error = host.init()
    assert error == CRC << 8 | 1
    assert host.about(error)[1:] == ("F", "net")


@pytest.mark.hostcc
def test_linked_weights_need_no_descriptor(started) -> None:
    raws = [("net", "A", DATA)]
    host = started(layout(initializer("A", "link", RUN), descriptor=None), raws=raws)
    host.set(CONTROL, 0)  # not even flash
    assert host.init() == 0
    assert host.memory(RUN, len(DATA)) == DATA
    assert not [e for e in host.events() if e[1] >= 0x7000_0000 and e[1] < 0x8000_0000]
    host.power_up(BOARD)
    host.c.fake_stuck(RUN + 7, 0x10)
    assert host.init() == CRC << 8 | 1


@pytest.mark.hostcc
def test_linked_weights_that_have_grown(started) -> None:
    raws = [("net", "A", DATA)]
    small_pool = net(pool_a(weights=len(DATA) - 1))
    plan = layout(initializer("A", "link", RUN, capacity=len(DATA) - 1), descriptor=None)
    assert started(plan, small_pool, raws=raws).init() == LARGE << 8 | 1


@pytest.mark.hostcc
def test_a_debugger_loads_a_pool_while_the_core_waits(started) -> None:
    """Lines that the core had written before must not come out of the cache on top of it."""
    host = started(layout(initializer("A", "external-loader", RUN)))
    host.put(DESCRIPTOR, descriptor(entry("A", 0, DATA)))
    calls = []

    def load() -> None:
        # The bank answers by now, and what the core had in its cache is out of it.
        calls.append(host.memory(RUN + 40, 5))
        host.put(RUN, DATA, view=2)

    host.on_load(load)
    host.put(RUN + 40, b"dirty", view=1)
    assert host.init() == 0
    assert calls == [b"dirty"]
    assert host.memory(RUN, len(DATA)) == DATA
    kinds = [kind for kind, _, _ in host.events()]
    assert kinds.count("L") == 1


@pytest.mark.hostcc
def test_a_pool_that_is_not_loaded(started) -> None:
    host = started(layout(initializer("A", "external-loader", RUN)))
    host.put(DESCRIPTOR, descriptor(entry("A", 0, DATA)))
    error = host.init()
    assert error == CRC << 8 | 1
    assert host.about(error) == ("wrong CRC: the data is not what was flashed or loaded", "A", "net")


@pytest.mark.hostcc
def test_two_networks_with_a_pool_of_the_same_name(started) -> None:
    one = small.network(small.pool("A", 0x3400_1000, 64, weights=64), name="one")
    two = replace(small.network(small.pool("A", 0x3400_2000, 64, weights=64), name="two"), abi_stamp="fedcba9876543210")
    plan = layout(
        initializer("A", "boot-copy", 0x3400_1000, STAGING, network="one"),
        initializer("A", "boot-copy", 0x3400_2000, STAGING + 0x100, network="two"),
    )
    host = started(plan, one, two)
    host.put(STAGING, DATA[:64])
    host.put(STAGING + 0x100, DATA[100:164])
    first = entry("A", STAGING, DATA[:64])
    second = entry("A", STAGING + 0x100, DATA[100:164], network=1, stamp="fedcba9876543210")
    host.put(DESCRIPTOR, descriptor(first, second))
    assert host.init() == 0
    assert (host.memory(0x3400_1000, 64), host.memory(0x3400_2000, 64)) == (DATA[:64], DATA[100:164])
    # The data of the second network is stale: nothing at all is copied.
    host.power_up(BOARD)
    host.put(DESCRIPTOR, descriptor(first, entry("A", STAGING + 0x100, DATA[100:164], network=1)))
    error = host.init()
    assert error == ABI << 8 | 2
    assert host.about(error)[1:] == ("A", "two")
    assert host.stamps(error) == ("fedcba9876543210", STAMP)
    assert host.memory(0x3400_1000, 64) == b"\xa5" * 64


# ---- every error


@pytest.mark.hostcc
@pytest.mark.parametrize("sabotage", [(CONTROL, 0x3000_0000), (CONTROL, 0x1000_0001), (CONTROL, 0)])
def test_flash_that_is_not_mapped(started, sabotage: tuple[int, int]) -> None:
    host = started()
    flashed(host)
    host.set(*sabotage)
    error = host.init()
    assert error == WINDOW << 8 | 1
    assert host.about(error) == ("not memory mapped", "NOR", "")
    # It is noticed without a write, and without an access that would fault.
    assert {kind for kind, _, _ in host.events()} == {"r"}
    assert host.wrong() == []


@pytest.mark.hostcc
def test_flash_whose_controller_has_no_clock(started) -> None:
    host = started()
    flashed(host)
    host.set(NOR_CLOCK, 0xFFFF_FFFF ^ 1 << 12)
    assert host.init() == WINDOW << 8 | 1
    assert host.events() == [("r", NOR_CLOCK, 0)]


@pytest.mark.hostcc
def test_flash_that_nothing_needs_may_be_unmapped(started) -> None:
    host = started(layout(), net(pool_a(weights=0)))
    host.set(CONTROL, 0)
    assert host.init() == 0


@pytest.mark.hostcc
@pytest.mark.parametrize("there", [b"", bytes(64), b"NAIL" + bytes(60), b"\xff" * 64])
def test_no_descriptor(started, there: bytes) -> None:
    host = started()
    host.put(STAGING, DATA)
    host.put(DESCRIPTOR, there)
    error = host.init()
    assert error == MISSING << 8 | 1
    assert host.about(error) == ("there is no identity descriptor in flash", "descriptor", "")


GOOD = descriptor(entry("A", STAGING, DATA), entry("B", STAGING, b"x"))


@pytest.mark.hostcc
@pytest.mark.parametrize(
    "there",
    [
        pytest.param(GOOD[:4] + b"\x02" + GOOD[5:], id="version"),
        pytest.param(descriptor(entry("A", STAGING, DATA), total=0), id="no bytes"),
        pytest.param(descriptor(entry("A", STAGING, DATA), total=0xFFFF_FFF0), id="too many bytes"),
        pytest.param(descriptor(entry("A", STAGING, DATA), total=79), id="half an entry"),
        pytest.param(descriptor(*[entry("A", STAGING, DATA)] * 86), id="larger than its place"),
        pytest.param(GOOD[:6] + b"\x01" + GOOD[7:], id="entries"),
        pytest.param(GOOD[:6] + b"\xff\xff" + (32 + 48 * 65535).to_bytes(4, "little") + GOOD[12:], id="huge"),
        pytest.param(GOOD[:60], id="cut off"),
        *(
            pytest.param(GOOD[:n] + bytes([GOOD[n] ^ 4]) + GOOD[n + 1 :], id=f"bit in byte {n}")
            for n in range(4, 128, 7)
        ),
    ],
)
def test_damaged_descriptor(started, there: bytes) -> None:
    host = started()
    host.put(STAGING, DATA)
    host.put(DESCRIPTOR, (there + b"\xff" * 128)[: 0x1000 if len(there) < 0x1000 else len(there)])
    error = host.init()
    assert error == DAMAGED << 8 | 1
    assert host.about(error) == ("the identity descriptor in flash is damaged", "descriptor", "")
    assert host.wrong() == []
    assert host.memory(RUN, 16) == b"\xa5" * 16


@pytest.mark.hostcc
def test_data_of_another_build(started) -> None:
    host = started()
    flashed(host, entry("A", STAGING, DATA, stamp="fedcba9876543210"))
    error = host.init()
    assert error == ABI << 8 | 1
    text, pool, network = host.about(error)
    assert text.startswith("ABI mismatch") and (pool, network) == ("A", "net")
    assert host.stamps(error) == (STAMP, "fedcba9876543210")
    assert host.memory(RUN, 16) == b"\xa5" * 16


@pytest.mark.hostcc
def test_data_of_another_build_that_has_other_pools(started) -> None:
    host = started()
    flashed(host, entry("Z", STAGING, DATA, stamp="fedcba9876543210"))
    error = host.init()
    assert error == ABI << 8 | 1
    assert host.stamps(error)[1] == "fedcba9876543210"


@pytest.mark.hostcc
@pytest.mark.parametrize(
    "row",
    [
        entry("B", STAGING, DATA),
        entry("a", STAGING, DATA),
        entry("AA", STAGING, DATA),
        entry("", STAGING, DATA),
        entry("A", STAGING + 4, DATA),
        entry("A", 0, DATA),
        entry("A", STAGING, DATA, network=1),
        entry("A", STAGING, b""),
    ],
)
def test_descriptor_without_the_initializer(started, row: bytes) -> None:
    host = started()
    flashed(host, row)
    error = host.init()
    assert error == ENTRY << 8 | 1
    assert host.about(error) == ("the identity descriptor has no entry for it", "A", "net")
    assert host.stamps(error) == ("", "")


@pytest.mark.hostcc
def test_firewall_that_keeps_its_setting(started) -> None:
    """Locked by an earlier stage: the NPU would read nothing, and nobody would say why."""
    host = started()
    host.lock(RIMC)
    error = host.init()
    assert error >> 8 == HOOK
    assert host.about(error)[:2] == ("the hook of the application refused", "RIF")


@pytest.mark.hostcc
def test_descriptor_without_any_entry(started) -> None:
    host = started()
    host.put(DESCRIPTOR, descriptor())
    assert host.init() == ENTRY << 8 | 1


@pytest.mark.hostcc
@pytest.mark.parametrize("name", ["P" * 23, "xSPI2", "p"])
def test_names_of_pools_to_the_last_character(started, name: str) -> None:
    plan = layout(initializer(name, "boot-copy", RUN, STAGING))
    host = started(plan, net(replace(pool_a(), fname=name)))
    flashed(host, entry(name, STAGING, DATA))
    assert host.init() == 0
    flashed(host, entry(name[:-1] + "Q", STAGING, DATA))
    assert host.init() == ENTRY << 8 | 1


@pytest.mark.hostcc
def test_data_larger_than_its_pool(started) -> None:
    plan = layout(initializer("A", "boot-copy", RUN, STAGING, capacity=len(DATA)))
    host = started(plan)
    flashed(host)
    assert host.init() == 0
    host.power_up(BOARD)
    flashed(host, entry("A", STAGING, DATA + b"\0"))
    error = host.init()
    assert error == LARGE << 8 | 1
    assert host.about(error)[:2] == ("the data is larger than its pool", "A")
    assert host.memory(RUN, 16) == b"\xa5" * 16


@pytest.mark.hostcc
def test_staged_data_that_was_never_flashed(started) -> None:
    host = started()
    host.put(DESCRIPTOR, descriptor(entry("A", STAGING, DATA)))
    error = host.init()
    assert error == CRC << 8 | 1
    assert host.about(error)[1:] == ("A", "net")


@pytest.mark.hostcc
def test_a_bit_that_flips_behind_the_cache_is_noticed(started) -> None:
    """The core sees the right bytes as long as it asks its own cache."""
    host = started()
    flashed(host)
    host.c.fake_stuck(RUN + 0x100, 0x80)
    assert host.init() == CRC << 8 | 1


@pytest.mark.hostcc
@pytest.mark.parametrize(
    "registers",
    [
        # The board's file names a wrong register or bit, so that the bank stays off; an access reads zeros then.
        pytest.param({"memory_clock": 0x5000_0014}, id="no clock"),
        pytest.param({"shutdown_bit": 21}, id="shut down"),
    ],
)
def test_dead_bank(maker: Maker, registers: dict[str, int]) -> None:
    wrong = board(registers=replace(REGISTERS, **registers))
    host = maker.make(wrong, COPY, [net()])
    host.power_up(BOARD)
    flashed(host)
    error = host.init()
    assert error == BANK << 8 | 1
    assert host.about(error) == ("the memory does not answer", "BANK2", "")


@pytest.mark.hostcc
def test_the_bank_that_is_dead_is_named(started) -> None:
    network = net(small.pool("P", 0x3400_0000, 16), pool_a())
    host = started(COPY, network)
    flashed(host)
    host.c.fake_gate(0x3400_1000, 0x3400_2000, 0x5900_0000, 1, 1)  # nothing will ever open it
    assert host.about(host.init())[1] == "BANK2"


@pytest.mark.hostcc
def test_hook_of_the_application(maker: Maker) -> None:
    hook = """
#include "npu_memory.h"
int hook_says, hook_calls;
int npu_memory_rif_hook(const npu_memory_registers_t *registers) {
  hook_calls += registers->rimc == 0x54000c14u;
  return hook_says;
}
"""
    host = maker.make(BOARD, COPY, [net()], extra=[("hook.c", hook)])
    host.power_up(BOARD)
    flashed(host)
    assert host.init() == 0
    assert ctypes.c_int.in_dll(host.c, "hook_calls").value == 1
    assert RIMC not in [at for at, _ in host.writes()]
    host.power_up(BOARD)
    ctypes.c_int.in_dll(host.c, "hook_says").value = -5
    error = host.init()
    assert error == HOOK << 8 | 1
    assert host.about(error) == ("the hook of the application refused", "RIF", "")
    assert not [e for e in host.events() if e[0] in "mMa"]


# ---- the NPU's cache


CACHED = layout(initializer("A", "boot-copy", RUN, STAGING, cacheable=True))


@pytest.mark.hostcc
@pytest.mark.parametrize("busy", [0, 1 << 4])
def test_npu_cache_of_a_cacheable_pool(started, busy: int) -> None:
    host = started(CACHED)
    flashed(host)
    host.set(NPU_CACHE_CLOCK, 1 << 30)
    host.set(NPU_CACHE, 1)
    host.set(NPU_CACHE + 4, busy)  # the end of an earlier command still shows
    host.set(NPU_CACHE + 0x100, 0x8000_0004)
    assert host.init() == 0
    npu = RUN - 0x1000_0000  # as the NPU addresses it
    assert [w for w in host.writes() if w[0] >> 12 == NPU_CACHE >> 12] == [
        (NPU_CACHE + 0x0C, 1 << 1 | 1 << 4),
        (NPU_CACHE + 0x104, npu & ~63),
        (NPU_CACHE + 0x108, npu + len(DATA) - 1 & ~63),
        (NPU_CACHE + 0x100, 0x8000_0006),
        (NPU_CACHE + 0x100, 0x8000_0007),
        (NPU_CACHE + 0x0C, 1 << 4),
    ]
    events = host.events()
    start = next(n for n, e in enumerate(events) if e[:2] == ("w", NPU_CACHE + 0x104))
    lines = [n for n, e in enumerate(events) if e[:2] == ("w", DCCIMVAC)]
    checked = max(n for n, e in enumerate(events) if e == ("a", RUN, len(DATA)))
    assert max(lines) < start < checked


@pytest.mark.hostcc
@pytest.mark.parametrize(("clock", "enable"), [(0, 1), (1 << 30, 0)])
def test_npu_cache_that_is_off_is_left_alone(started, clock: int, enable: int) -> None:
    host = started(CACHED)
    flashed(host)
    host.set(NPU_CACHE_CLOCK, clock)
    host.set(NPU_CACHE, enable)
    assert host.init() == 0
    assert [w for w in host.writes() if w[0] >> 12 == NPU_CACHE >> 12] == []
    assert host.wrong() == []


@pytest.mark.hostcc
def test_npu_cache_of_a_pool_that_is_not_cacheable(started) -> None:
    host = started()
    flashed(host)
    host.set(NPU_CACHE_CLOCK, 1 << 30)
    host.set(NPU_CACHE, 1)
    assert host.init() == 0
    assert [w for w in host.writes() if w[0] >> 12 == NPU_CACHE >> 12] == []


@pytest.mark.hostcc
@pytest.mark.parametrize(("busy", "obeys"), [(1 << 0, 1), (1 << 3, 1), (0, 0)])
def test_npu_cache_that_does_not_finish(started, busy: int, obeys: int) -> None:
    host = started(CACHED)
    flashed(host)
    host.set(NPU_CACHE_CLOCK, 1 << 30)
    host.set(NPU_CACHE, 1)
    host.set(NPU_CACHE + 4, busy)
    host.c.fake_npu_cache(NPU_CACHE, obeys)
    error = host.init()
    assert error == CACHE << 8 | 1
    assert host.about(error) == ("the NPU cache does not finish its command", "A", "net")


RAM_BOARD = board(memory=(*small.MEMORY[:3], region("BANK2", pool_name="npuCACHE"), *small.MEMORY[4:]))


@pytest.mark.hostcc
def test_pool_in_the_ram_of_the_npu_cache(started) -> None:
    host = started(COPY, net(), on=RAM_BOARD)
    flashed(host)
    host.set(NPU_CACHE_CLOCK, 1 << 30)
    host.set(NPU_CACHE, 0x11)
    assert host.init() == 0
    writes = host.writes()
    assert writes.index((NPU_CACHE, 0x10)) > writes.index((0x5100_0100, 1))
    assert host.memory(RUN, len(DATA)) == DATA
    host.power_up(RAM_BOARD)
    host.set(NPU_CACHE_CLOCK, 1 << 30)
    host.set(NPU_CACHE, 1)
    host.set(NPU_CACHE + 4, 8)
    error = host.init()
    assert error == CACHE << 8 | 0xFF
    assert host.about(error) == ("the NPU cache does not finish its command", "", "")


# ---- the MPU of Armv7-M


MPU_TYPE, MPU_CTRL = 0xE000_ED90, 0xE000_ED94
NORMAL = 1 << 28 | 3 << 24 | 1 << 19 | 1 << 17 | 1 << 16  # not executable, full access, write-back, allocate
MPU_BOARD = board(cpu="cortex-m7", memory=(*small.MEMORY[:3], region("BANK2", mpu_normal=True), *small.MEMORY[4:]))


@pytest.fixture
def mpu(started):
    host = started(COPY, net(), on=MPU_BOARD)
    flashed(host)
    host.set(MPU_TYPE, 8 << 8)
    return host


@pytest.mark.hostcc
def test_external_ram_becomes_normal_memory(mpu: Host) -> None:
    assert mpu.init() == 0
    assert mpu.c.fake_mpu_base(7) == 0x3400_1000
    assert mpu.c.fake_mpu_attributes(7) == NORMAL | 11 << 1 | 1  # 2^12 bytes
    assert [mpu.c.fake_mpu_attributes(n) for n in range(7)] == [0] * 7
    assert mpu.value(MPU_CTRL) == 5  # on, with the default map behind it
    events = mpu.events()
    on = next(n for n, e in enumerate(events) if e[:2] == ("w", MPU_CTRL))
    assert on < next(n for n, e in enumerate(events) if e[0] in "mMa")


@pytest.mark.hostcc
def test_mpu_that_the_application_uses(mpu: Host) -> None:
    mpu.c.fake_mpu(7, 0x2000_0000, NORMAL | 9 << 1 | 1)
    mpu.c.fake_mpu(0, 0, 1 << 28 | 0x8700 | 31 << 1 | 1)  # nothing may be touched that no other region allows
    mpu.set(MPU_CTRL, 1)
    assert mpu.init() == 0
    assert mpu.c.fake_mpu_base(7) == 0x2000_0000
    assert (mpu.c.fake_mpu_base(6), mpu.c.fake_mpu_attributes(6)) == (0x3400_1000, NORMAL | 11 << 1 | 1)
    assert mpu.value(MPU_CTRL) == 1


@pytest.mark.hostcc
def test_the_application_has_a_region_for_this_memory(mpu: Host) -> None:
    mpu.c.fake_mpu(3, 0x3400_1000, 1 << 24 | 11 << 1 | 1)
    mpu.set(MPU_CTRL, 5)
    assert mpu.init() == 0
    assert [mpu.c.fake_mpu_attributes(n) for n in (7, 6)] == [0, 0]


@pytest.mark.hostcc
def test_no_region_of_the_mpu_is_free(mpu: Host) -> None:
    for number in range(8):
        mpu.c.fake_mpu(number, 0x3400_1000, NORMAL | 10 << 1 | 1)  # the half of it is not it
    error = mpu.init()
    assert error == MPU << 8 | 1
    assert mpu.about(error) == ("no region of the MPU is free", "BANK2", "")
    mpu.set(MPU_TYPE, 0)
    assert mpu.init() == MPU << 8 | 1


# ---- errors as text


@pytest.mark.hostcc
@pytest.mark.parametrize("error", [-1, -17, 1, 255, 12 << 8 | 1, 0x7FFF_FFFF])
def test_numbers_that_are_no_errors(started, error: int) -> None:
    host = started()
    assert host.about(error) == ("unknown error", "", "")
    assert host.stamps(error) == ("", "")


@pytest.mark.hostcc
def test_rows_out_of_range_and_no_call_yet(maker: Maker) -> None:
    host = maker.make(BOARD, COPY, [net()])
    for _ in range(2):
        for code in (WINDOW, ABI, ENTRY, LARGE, CRC, BANK, CACHE, MPU):
            for row in (0, 9, 255):
                assert host.about(code << 8 | row)[1:] == ("", "")
        assert host.about(0)[0] == "no error"
        host.power_up(BOARD)
        host.init()


# ---- for the target


def _cross_gcc() -> list[str]:
    found = toolchain.find(ToolchainConfig(), os.environ)
    return [str(Path(found.folder) / f"{found.prefix}gcc"), *found.libc_flags]


CORES = {
    "cortex-m33": ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard"),
    "cortex-m55": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
    "cortex-m7": ("-mcpu=cortex-m7", "-mfpu=fpv5-d16", "-mfloat-abi=hard"),
}
STRICT = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wmissing-prototypes", "-Werror")


@pytest.mark.arm
@pytest.mark.parametrize("core", CORES)
def test_it_compiles_for(tmp_path: Path, core: str) -> None:
    runtime = firmware_dir() / "runtime"
    sources = sorted((runtime / "memory").glob("*.c"))
    assert len(sources) >= 8
    command = [*_cross_gcc(), *CORES[core], "-mthumb", *STRICT, "-ffreestanding", f"-I{runtime / 'include'}", "-c"]
    done = subprocess.run([*command, *map(str, sources)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # The hooks can be overridden, and nothing but memcpy and its like is asked of a C library.
    nm = _cross_gcc()[0][:-3] + "nm"
    objects = sorted(tmp_path.glob("*.o"))
    listing = subprocess.run([nm, "-A", *map(str, objects)], capture_output=True, text=True, check=True).stdout
    kinds = {line.split()[-1]: line.split()[-2] for line in listing.splitlines() if line.split()[-2] != "U"}
    assert (kinds["npu_memory_rif_hook"], kinds["npu_memory_external_loader"]) == ("W", "W")
    unknown = {line.split()[-1] for line in listing.splitlines() if line.split()[-2] == "U"} - set(kinds)
    assert unknown <= {"memcpy", "memmove", "memset", "memcmp"}
