"""Does the virtual board notice that the core forgot to clean its cache? And the registers that it does that with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart import boards
from neuralart.network.facts import PoolUse
from neuralart_virtual.emulator.coherency import Coherency, Watched, watched_ranges
from neuralart_virtual.emulator.devices import NpuCache, SystemControl
from support.boards.firmware import facts

BASE, ALIAS = 0x342E0000, 0x242E0000
FILL = 0xA5


@pytest.fixture(scope="module")
def board():
    return boards.load("stm32n6570-dk")


class Memory:
    """A bank, and what the core does with it."""

    def __init__(self, board, *watched):
        self.bytes = bytearray([FILL]) * 0x1000
        self.coherency = Coherency(board, watched, self.peek, FILL)

    def peek(self, address, count):
        return bytes(self.bytes[address - BASE : address - BASE + count])

    def store(self, address, data):
        self.bytes[address - BASE : address - BASE + len(data)] = data

    def clean(self, address, size=1, name="DCCIMVAC"):
        for at in range(address // 32 * 32, address + size, 32):
            self.coherency.operation(name, at)


def dirty(memory):
    found = memory.coherency.dirty()
    return None if found is None else (found.start, found.end, found.bytes, found.invalidated)


@pytest.fixture
def memory(board):
    return Memory(board, Watched("weights", BASE + 0x10, BASE + 0x90))


def test_nothing_written_is_nothing_dirty(memory):
    assert dirty(memory) is None


def test_a_store_is_dirty_until_it_is_cleaned(memory):
    memory.store(BASE + 0x10, bytes(0x80))
    assert dirty(memory) == (BASE, BASE + 0xA0, 0x80, False)
    memory.clean(BASE + 0x10, 0x50)
    assert dirty(memory) == (BASE + 0x60, BASE + 0xA0, 0x30, False)
    memory.clean(BASE + 0x60, 0x30, "DCCMVAC")
    assert dirty(memory) is None


def test_a_store_behind_the_cleaning_is_dirty_again(memory):
    memory.store(BASE + 0x20, b"abc")
    memory.clean(BASE, 0xA0)
    memory.store(BASE + 0x21, b"x")
    assert dirty(memory) == (BASE + 0x20, BASE + 0x40, 32, False)


def test_the_alias_is_the_same_memory(memory):
    memory.store(BASE + 0x20, b"abc")
    memory.clean(ALIAS + 0x3F)
    assert dirty(memory) is None


@pytest.mark.parametrize("name", ["DCCSW", "DCCISW", "DCISW", "DCCMVAU", "ICIMVAU", "ICIALLU", "BPIALL"])
def test_other_operations_clean_nothing_by_address(memory, name):
    memory.store(BASE + 0x20, b"abc")
    memory.clean(BASE, 0xA0, name)
    assert dirty(memory) == (BASE + 0x20, BASE + 0x40, 32, False)


def test_invalidating_is_not_cleaning(memory):
    memory.store(BASE + 0x20, b"abc")
    memory.clean(BASE + 0x20, name="DCIMVAC")
    assert dirty(memory) == (BASE + 0x20, BASE + 0x40, 32, True)
    memory.clean(BASE + 0x20)
    memory.clean(BASE + 0x20, name="DCIMVAC")
    assert dirty(memory) is None


def test_neighbors_in_a_line_are_not_watched(memory):
    memory.store(BASE, b"before")
    memory.store(BASE + 0x90, b"behind")
    memory.store(BASE + 0x200, b"elsewhere")
    assert dirty(memory) is None


def test_what_somebody_else_wrote_is_in_memory(memory):
    memory.store(BASE + 0x10, bytes(0x80))
    memory.coherency.settle(BASE + 0x10, 0x80)
    assert dirty(memory) is None


def test_lost_contents_are_forgotten(memory):
    memory.store(BASE + 0x10, bytes(0x80))
    memory.clean(BASE, 0xA0)
    memory.store(BASE + 0x10, bytes([FILL]) * 0x80)
    assert dirty(memory) is not None
    memory.coherency.forget(BASE, BASE + 0x70000)
    assert dirty(memory) is None


def test_the_first_range_is_named(board):
    memory = Memory(board, Watched("one", BASE, BASE + 32), Watched("two", BASE + 64, BASE + 96))
    memory.store(BASE + 64, b"x")
    assert memory.coherency.dirty().watched.owner == "two"


events = st.lists(
    st.one_of(
        st.tuples(st.just("store"), st.integers(0, 0x11F), st.binary(min_size=1, max_size=40)),
        st.tuples(st.just("DCCMVAC"), st.integers(0, 0x11F), st.none()),
        st.tuples(st.just("DCCIMVAC"), st.integers(0, 0x11F), st.none()),
    ),
    max_size=30,
)


@given(events=events)
def test_it_behaves_as_memory_behind_a_cache(events):
    board = boards.load("stm32n6570-dk")
    memory = Memory(board, Watched("weights", BASE + 0x10, BASE + 0x90))
    behind = bytearray([FILL]) * 0x1000
    for what, at, data in events:
        if what == "store":
            memory.store(BASE + at, data)
        else:
            memory.coherency.operation(what, BASE + at)
            line = at // 32 * 32
            behind[line : line + 32] = memory.bytes[line : line + 32]
    assert (dirty(memory) is None) == (behind[0x10:0x90] == memory.bytes[0x10:0x90])


def test_which_pools_are_watched(board):
    network = facts(weights=("npuRAM5", ALIAS + 0x100))
    (one,) = watched_ranges(board, [network])
    assert one == Watched("pool npuRAM5 of network toy", BASE + 0x100, BASE + 0x110)

    def pools(*rows):
        made = tuple(PoolUse(name, name, address, 64, 16, weights, 0, "ACC_READ") for name, address, weights in rows)
        return watched_ranges(board, [replace(network, pools=made)])

    assert pools(("flash", 0x71000000, 16), ("none", 0x60000000, 16)) == ()
    assert [w.start for w in pools(("cpu", 0x34064000, 16))] == [0x34064000], "a pool is the NPU's, whoever else has it"
    assert pools(("activations", BASE, 0)) == ()
    assert [w.start for w in pools(("two", 0x34100000, 16), ("psram", 0x90000000, 16))] == [0x34100000, 0x90000000]


def test_system_control():
    seen, resets = [], []
    scs = SystemControl(0x410FD221, lambda name, operand: seen.append((name, operand)), lambda: resets.append(1))
    scs.write(0xD00, 0)
    scs.write(0xD08, 0x34000400)
    scs.write(0xF70, 0x342E0020)
    scs.write(0xF68, 0x342E0040)
    assert (scs.read(0xD00), scs.read(0xD08), scs.read(0xF70)) == (0x410FD221, 0x34000400, 0)
    assert seen == [("DCCIMVAC", 0x342E0020), ("DCCMVAC", 0x342E0040)]
    scs.write(0xD0C, 0x05FA0300)
    scs.write(0xD0C, 0x00000004)
    assert not resets
    scs.write(0xD0C, 0x05FA0004)
    assert resets == [1]


def test_npu_cache():
    seen = []
    cache = NpuCache(0x580DFC00, lambda *call: seen.append(call))
    assert (cache.base, cache.size) == (0x580DFC00, 0x400)
    cache.write(0x104, 0x342E0000)
    cache.write(0x108, 0x342E0FFF)
    cache.write(0x100, 3 << 1 | 1)
    assert seen == [("clean and invalidate", 0x342E0000, 0x342E0FFF)]
    assert cache.read(0x100) == 3 << 1
    assert cache.read(0x04) == 1 << 4
    cache.write(0x04, 0)
    assert cache.read(0x04) == 1 << 4
    cache.write(0x0C, 1 << 4)
    assert cache.read(0x04) == 0
    cache.write(0, 1 << 1 | 1)
    assert seen[1:] == [("invalidate all", 0, 0)]
    assert (cache.read(0), cache.read(0x04)) == (1, 1 << 1)
