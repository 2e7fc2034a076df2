"""Placement: nothing alive overlaps, everything lies in its pool, and shortage is told in numbers."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuralart.compilers.request import BorderOptions
from neuralart.errors import NeuralArtError
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.vendor import mpool
from neuralart_reference.ir import Call, ConstArg, Program, TensorArg
from neuralart_reference.lower import lower
from neuralart_reference.model.tflite import read
from neuralart_reference.planning.arenas import for_activations, for_constants, usable
from neuralart_reference.planning.lifetimes import Block, blocks, live_bytes, user_allocated
from neuralart_reference.planning.placement import heights, place_best, place_blocks, strategies
from neuralart_reference.planning.planner import plan
from neuralart_reference.planning.sharing import share
from support.servers.messages import flat
from support.servers.programs import FLASH, N6_LIKE, RAM, SLOW, chain, constants_program, pool_file, tensor

KB = 1024
ROOT = Path(__file__).parents[3]
MODELS = ROOT / "models"
BOARD_POOLS = ROOT / "site_scons" / "neuralart" / "boards" / "data" / "pools"
OUTER = {**SLOW, "latency": "HIGH"}


def check(program: Program, placed, pools, *, keep_inputs=False) -> None:
    """Everything that must hold of any placement, counted anew."""
    spans = []
    ends = len(program.calls)
    for root, address in placed.tensors.items():
        used = [
            epoch
            for epoch, call in enumerate(program.calls)
            if root in {program.root(number) for number in (*call.reads, *call.writes)}
        ]
        is_input = root in {program.root(number) for number in program.inputs}
        is_output = root in {program.root(number) for number in program.outputs}
        first = -1 if is_input else min(used)
        last = ends if is_output or (is_input and keep_inputs) else max(used, default=-1)
        size = program.tensors[root].bytes
        align = 32 if is_input or is_output else 16
        assert address % align == 0
        spans.append((first, last, address, address + size))
    for epoch, address in placed.scratch.items():
        assert address % 16 == 0
        spans.append((epoch, epoch, address, address + program.calls[epoch].scratch))
    for item in placed.constants:
        address = placed.constant_address[item.key]
        assert address % item.align == 0
        spans.append((-1, ends, address, address + len(item.data)))
        for offset, byte in enumerate(item.data):
            pool = next(p for p in pools.enabled if p.address <= address + offset < p.end)
            assert placed.images[pool.fname][address + offset - pool.address] == byte
    joined = []
    for pool in sorted(pools.enabled, key=lambda pool: pool.address):
        if joined and joined[-1][1] == pool.address:
            joined[-1][1] = pool.end
        else:
            joined.append([pool.address, pool.end])
    for number, (first, last, low, high) in enumerate(spans):
        assert any(start <= low and high <= end for start, end in joined)
        for other_first, other_last, other_low, other_high in spans[:number]:
            if first <= other_last and other_first <= last:
                assert high <= other_low or other_high <= low


@st.composite
def programs(draw):
    """Any sequence of calls over tensors of any size, with aliases, constants and working memory."""
    count = draw(st.integers(2, 12))
    tensors = [tensor(0, "t0", (draw(st.integers(1, 4000)),))]
    calls, aliases, alive = [], {}, [0]
    for number in range(1, count):
        size = draw(st.integers(1, 4000))
        source = draw(st.sampled_from(alive))
        if draw(st.integers(0, 4)) == 0:
            tensors.append(tensor(number, f"t{number}", tensors[source].shape))
            aliases[number] = source
        else:
            tensors.append(tensor(number, f"t{number}", (size,)))
            reads = tuple(draw(st.lists(st.sampled_from(alive), min_size=1, max_size=3)))
            args = tuple(
                ConstArg(
                    bytes([k + 1]) * draw(st.integers(0, 300)), "int8_t", f"c{k}", draw(st.sampled_from([1, 4, 16, 64]))
                )
                for k in range(draw(st.integers(0, 2)))
            )
            calls.append(
                Call(len(calls), "OP", "f", args, reads, (number,), scratch=draw(st.sampled_from([0, 0, 1, 500])))
            )
        alive.append(number)
    outputs = tuple(dict.fromkeys(draw(st.lists(st.sampled_from(alive), min_size=1, max_size=3))))
    return Program(tensors, calls, (0,), outputs, aliases)


POOLS = (
    ("SLOWRAM", 0x20000000, 8000, SLOW),
    ("FAST1", 0x30000000, 4096, RAM),
    ("FAST2", 0x30001000, 4096, RAM),
    ("FLASH", 0x70000000, 600, FLASH),
)


@pytest.mark.long
@settings(max_examples=300)
@given(programs(), st.booleans(), st.booleans(), st.integers(0, 3))
def test_any_placement_is_sound(program, virtual, keep_inputs, drop):
    pools = pool_file(*POOLS[: len(POOLS) - drop])
    try:
        placed = plan(program, pools, virtual=virtual, keep_inputs=keep_inputs)
    except NeuralArtError as error:
        assert "do not fit" in error.what
        flat(str(error))
        return
    check(program, placed, pools, keep_inputs=keep_inputs)
    assert placed == plan(program, pools, virtual=virtual, keep_inputs=keep_inputs)
    total = sum(pool.activations for pool in placed.pools if not pool.parts)
    assert total >= max(live_bytes(blocks(program, keep_inputs=keep_inputs), len(program.calls)))
    assert placed.lower_bound <= total
    for pool in placed.pools:
        assert pool.weights + pool.activations <= pool.size
        assert pool.used <= pool.size


def test_the_fastest_pool_first_whatever_the_order_of_the_file():
    placed = plan(chain(1000, 2000, 1000), pool_file(*POOLS))
    assert {hex(address)[:4] for address in placed.tensors.values()} == {"0x30"}
    assert [pool.fname for pool in placed.pools] == ["FAST1", "FAST2", "SLOWRAM", "FLASH"]


def test_memory_is_reused():
    placed = plan(chain(512, 512, 512, 512, 512), pool_file(("RAM", 0x1000, 1024, RAM)))
    assert placed.lower_bound == 1024
    assert placed.pools[0].activations == 1024
    assert placed.tensors[0] == placed.tensors[2] == placed.tensors[4]


def test_an_input_lives_until_its_last_reader_only_unless_kept():
    program = chain(512, 512, 512)
    pools = pool_file(("RAM", 0x1000, 1024, RAM))
    assert plan(program, pools).tensors[2] == plan(program, pools).tensors[0]
    with pytest.raises(NeuralArtError, match="1536 bytes are live in epoch 1"):
        plan(program, pools, keep_inputs=True)
    assert plan(program, pool_file(("RAM", 0x1000, 1536, RAM)), keep_inputs=True).pools[0].activations == 1536


def test_an_output_of_an_early_epoch_survives():
    program = chain(256, 256, 256, 256)
    early = Program(program.tensors, program.calls, program.inputs, (1, 3))
    placed = plan(early, pool_file(("RAM", 0x1000, 768, RAM)))
    assert len({placed.tensors[1], placed.tensors[2], placed.tensors[3]}) == 3


def test_aliases_share():
    program = chain(64, 128, 64)
    program.tensors.append(tensor(3, "flat", (128,)))
    program.aliases[3] = 1
    placed = plan(program, pool_file(*N6_LIKE))
    assert set(placed.tensors) == {0, 1, 2}


def test_working_memory_beside_what_lives():
    placed = plan(chain(100, 100, 100, scratch={1: 300}), pool_file(("RAM", 0x1000, 640, RAM)))
    low = placed.scratch[1]
    for number in (1, 2):
        at = placed.tensors[number]
        assert at + 100 <= low or low + 300 <= at


def test_virtual_pools_let_a_tensor_lie_across():
    program = chain(300 * KB, 600 * KB, 10)
    pools = pool_file(*N6_LIKE, ("AXISRAM5", 0x342E0000, 448 * KB, RAM))
    with pytest.raises(NeuralArtError) as caught:
        plan(program, pools)
    assert "no gap takes 't1' with 614400 bytes" in caught.value.what
    assert "--enable-virtual-mem-pools would make it fit" in caught.value.hint
    placed = plan(program, pools, virtual=True)
    check(program, placed, pools)
    row = placed.pools[-1]
    assert (row.fname, row.parts) == ("AXISRAM3_AXISRAM4_AXISRAM5", ("AXISRAM3", "AXISRAM4", "AXISRAM5"))
    assert row.activations == sum(pool.activations for pool in placed.pools[:-1]) == 900 * KB
    assert placed.pool_of(placed.tensors[1], 600 * KB).fname == row.fname
    assert placed.pool_of(placed.tensors[2], 10).parts == ()


def test_only_alike_pools_are_joined():
    cases = (
        (("A", 0, 64, RAM), ("B", 64, 64, SLOW)),
        (("A", 0, 64, RAM), ("B", 65, 63, RAM)),
        (("A", 0, 64, RAM), ("B", 64, 64, {**RAM, "cacheable": "CACHEABLE_ON"})),
        (("A", 0, 64, RAM), ("B", 64, 64, {**RAM, "byteWidth": 4})),
    )
    for pools in cases:
        arenas = for_activations(pool_file(*pools).enabled, virtual=True)
        assert [arena.fname for arena in arenas] == ["A", "B"]
    alike = (("B", 64, 64, {**RAM, "read_power": 3}), ("A", 0, 64, RAM))
    assert [arena.fname for arena in for_activations(pool_file(*alike).enabled, virtual=True)] == ["A_B"]


def test_order_of_pools_for_constants():
    plain = {**FLASH, "constants_preferred": "false"}
    pools = pool_file(
        ("RAM1", 0, 64, RAM),
        ("SLOW1", 0x100, 64, SLOW),
        ("HYPER", 0x200, 64, {**SLOW, "latency": "HIGH", "constants_preferred": "true"}),
        ("ROM", 0x300, 64, plain),
        ("NOR", 0x400, 64, FLASH),
    )
    order = [arena.fname for arena in for_constants(pools.enabled, virtual=False)]
    assert order == ["NOR", "ROM", "HYPER", "SLOW1", "RAM1"]
    order = [arena.fname for arena in for_constants(pools.enabled, virtual=False, fastest_spill=True)]
    assert order == ["NOR", "ROM", "HYPER", "RAM1", "SLOW1"]


def test_constants_spill_and_come_first_in_their_pool():
    program = constants_program(100, 100, 100)
    pools = pool_file(("RAM", 0x1000, 256, RAM), ("NOR", 0x7000, 220, FLASH))
    placed = plan(program, pools)
    check(program, placed, pools)
    assert placed.constant_address["const", 0] == 0x7000
    assert placed.constant_address["const", 1] == 0x7000 + 112
    assert placed.constant_address["const", 2] == 0x1000
    assert {name: len(image) for name, image in placed.images.items()} == {"RAM": 100, "NOR": 212}
    assert min(placed.tensors.values()) == 0x1000 + 128
    assert {pool.fname: pool.weights for pool in placed.pools} == {"RAM": 100, "NOR": 212}


def test_one_ram_for_everything():
    program = constants_program(100, 50)
    pools = pool_file(("RAM", 0x1000, 320, RAM))
    placed = plan(program, pools)
    check(program, placed, pools)
    assert list(placed.images) == ["RAM"]


def test_constants_across_joined_pools():
    program = constants_program(100, 100)
    pools = pool_file(("A", 0x1000, 128, RAM), ("B", 0x1080, 256, RAM))
    placed = plan(program, pools, virtual=True)
    check(program, placed, pools)
    assert {name: len(image) for name, image in placed.images.items()} == {"A": 128, "B": 84}
    assert placed.pools[-1].parts == ("A", "B")
    assert placed.pools[-1].weights == 0


def test_a_spill_that_blocks_activations_goes_elsewhere():
    """Constants would go to the slow RAM, but only there the activations find room."""
    program = constants_program(200)
    program.tensors[0] = tensor(0, "in", (1, 600))
    pools = pool_file(("FAST", 0x1000, 256, RAM), ("BIG", 0x2000, 640, SLOW))
    placed = plan(program, pools)
    check(program, placed, pools)
    assert list(placed.images) == ["FAST"]


def test_shared_weights_are_one_constant_and_equal_bytes_are_two():
    data = tensor(3, "w", (16,), data=bytes(16))
    shared = ConstArg(bytes(16), "int8_t", "w", 16, 3)
    own = ConstArg(bytes(16), "int8_t", "table")
    tensors = [tensor(0, "a", (8,)), tensor(1, "b", (8,)), tensor(2, "c", (8,)), data]
    calls = [Call(0, "X", "f", (shared, own), (0,), (1,)), Call(1, "X", "f", (shared, own), (1,), (2,))]
    placed = plan(Program(tensors, calls, (0,), (2,)), pool_file(*N6_LIKE))
    assert [item.label for item in placed.constants] == ["w", "table", "table"]
    assert placed.constants[0].epoch == 1
    assert len(placed.images["xSPI2"]) == 48


def test_a_constant_tensor_that_a_kernel_reads_as_data():
    tensors = [tensor(0, "a", (8,)), tensor(1, "k", (4,), data=b"\x01\x02\x03\x04"), tensor(2, "c", (8,))]
    args = (TensorArg(0, "int8_t"), TensorArg(1, "int8_t"), TensorArg(2, "int8_t", written=True))
    placed = plan(Program(tensors, [Call(0, "ADD", "f", args, (0,), (2,))], (0,), (2,)), pool_file(*N6_LIKE))
    assert placed.images["xSPI2"] == b"\x01\x02\x03\x04"
    assert set(placed.tensors) == {0, 2}


def test_values_of_weights_decide_nothing():
    def program(byte):
        calls = [Call(0, "X", "f", (ConstArg(bytes([byte]) * 40, "int8_t", "w"),) * 2, (0,), (1,))]
        return Program([tensor(0, "a", (8,)), tensor(1, "b", (8,))], calls, (0,), (1,))

    one, two = plan(program(0), pool_file(*N6_LIKE)), plan(program(9), pool_file(*N6_LIKE))
    assert (one.tensors, one.constant_address, one.pools) == (two.tensors, two.constant_address, two.pools)


# ---- buffers of the application


def test_user_buffers_are_not_placed():
    program = chain(64, 64, 64)
    owned = user_allocated(program, inputs=False, outputs=False)
    assert owned == {0: ("input", 0), 2: ("output", 0)}
    assert set(plan(program, pool_file(*N6_LIKE), user_owned=tuple(owned)).tensors) == {1}
    assert user_allocated(program, inputs=True, outputs=False) == {2: ("output", 0)}
    assert user_allocated(program, inputs=True, outputs=True) == {}


@pytest.mark.parametrize(("inputs", "outputs"), [(False, True), (True, False), (False, False)])
def test_an_output_that_is_the_input_cannot_be_the_users(inputs, outputs):
    program = Program([tensor(0, "in", (8,)), tensor(1, "out", (8,))], [], (0,), (1,), {1: 0})
    assert user_allocated(program, inputs=True, outputs=True) == {}
    with pytest.raises(NeuralArtError, match="output 0 'out' is the same memory as input 0 'in'"):
        user_allocated(program, inputs=inputs, outputs=outputs)


def test_a_network_without_a_call():
    program = Program([tensor(0, "in", (8,)), tensor(1, "out", (8,))], [], (0,), (1,), {1: 0})
    placed = plan(program, pool_file(*N6_LIKE))
    assert placed.tensors == {0: 0x34200000}
    assert placed.lower_bound == 32


# ---- shortage


def test_shortage_of_activations_in_numbers():
    with pytest.raises(NeuralArtError) as caught:
        plan(chain(1000, 3000, 2000), pool_file(("RAM", 0x1000, 4096, RAM), ("NOR", 0x70000, 64, FLASH)))
    text = flat(str(caught.value))
    assert "activations do not fit: 5016 bytes are live in epoch 1 (RELU)" in text
    assert "'t1' 3000 (epochs 0 to 1), 't2' 2016 (epochs 1 to end)" in text
    assert "writable pools have 4096 bytes for them (RAM 4096)" in text
    assert "at least 920 bytes more" in text
    assert caught.value.where == "test.mpool"


def test_shortage_counts_what_constants_took():
    program = constants_program(200)
    program.tensors[0] = tensor(0, "in", (1, 400))
    with pytest.raises(NeuralArtError, match=re.escape("writable pools have 312 bytes for them (RAM 312)")):
        plan(program, pool_file(("RAM", 0x1000, 512, RAM)))


def test_shortage_of_constants_in_numbers():
    with pytest.raises(NeuralArtError) as caught:
        plan(constants_program(100, 300), pool_file(("RAM", 0x1000, 256, RAM), ("NOR", 0x70000, 128, FLASH)))
    text = str(caught.value)
    assert "constants do not fit: 400 bytes in all, 'c1' with 300 bytes found no place" in text
    assert "NOR 128, RAM 256" in text
    assert caught.value.where == "test.mpool"


def test_no_usable_pool():
    with pytest.raises(NeuralArtError, match=re.escape("none of the enabled pools is ACC_WRITE (NOR ACC_READ)")):
        plan(chain(8, 8), pool_file(("NOR", 0x70000, 128, FLASH)))


def test_the_pool_of_the_epoch_controller_is_passed_over():
    pools = pool_file(*N6_LIKE)
    saved = replace(pools, pools=(*pools.pools, replace(pools.pools[0], fname="params", mode="USEMODE_RELATIVE")))
    assert [pool.fname for pool in usable(saved)] == ["AXISRAM3", "AXISRAM4", "xSPI2"]
    raw = replace(saved, pools=tuple(replace(pool, fformat="FORMAT_HEX") for pool in saved.pools))
    assert len(usable(raw)) == 3, "a network that is linked may have empty pools of any format"


def relative_file(*changed: dict) -> PoolFile:
    """A chip's memory, then relative RAM and relative flash; each with changes by position."""
    pools = [
        MemoryPool("AXISRAM3", "npuRAM3", 0x34200000, 1024, throughput="HIGH", where="p.mpool:3:1"),
        MemoryPool("xSPI1", "hyperRAM", 0x90000000, 1024, mode="USEMODE_RELATIVE", where="p.mpool:5:1"),
        MemoryPool("xSPI2", "octoFlash", 0x71000000, 1024, "ACC_READ", mode="USEMODE_RELATIVE", where="p.mpool:7:1"),
    ]
    return PoolFile("p.mpool", "atonbuf", tuple(replace(p, **c) for p, c in zip_longest(pools, changed, fillvalue={})))


def test_relative_pools_are_placed_in_as_others():
    placed = plan(constants_program(100, 300), relative_file({"size": 0}))
    assert [(p.fname, p.address, p.weights, p.pool.relative) for p in placed.pools] == [
        ("xSPI1", 0x90000000, 0, True),
        ("xSPI2", 0x71000000, placed.pools[1].used, True),
    ]
    assert placed.pools[0].activations and placed.pools[1].weights >= 400


def test_nothing_lies_across_the_border_of_a_relative_pool():
    file = relative_file({"address": 0x90000400, "throughput": "MID"})
    assert [arena.fname for arena in for_activations(usable(file), virtual=True)] == ["AXISRAM3", "xSPI1"]
    fixed = replace(file, pools=tuple(replace(pool, mode="USEMODE_ABSOLUTE") for pool in file.pools))
    assert [arena.fname for arena in for_activations(usable(fixed), virtual=True)] == ["xSPI1_AXISRAM3"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            [{}, {"address": 0x34300000}],
            "p.mpool:5:1: pool xSPI1 is USEMODE_RELATIVE and lies at 0x34300000: only external memory, from "
            "0x60000000, can move (USEMODE_ABSOLUTE for memories inside the chip)",
        ),
        (
            [{}, {"address": 0xFFFFFF00}],
            "p.mpool:5:1: pool xSPI1 ends at 0x100000300, behind the 32-bit address space "
            "(its offset is the place it has by default; are the magnitudes of offset and size right?)",
        ),
        (
            [{"address": 0x80000000, "mode": "USEMODE_RELATIVE"}],
            "p.mpool:5:1: AXISRAM3 and xSPI1 are both relative read/write pools: a loader moves one of each kind "
            "(disable one of them with size 0)",
        ),
        (
            [{}, {"rights": "ACC_READ"}],
            "p.mpool:7:1: xSPI1 and xSPI2 are both relative read-only pools: a loader moves one of each kind "
            "(disable one of them with size 0)",
        ),
        (
            [{}, {"address": 0x71000100}],
            "p.mpool:5:1: pools xSPI2 [0x71000000, 0x71000400) and xSPI1 [0x71000100, 0x71000500) overlap by 768 "
            "bytes; xSPI1 is USEMODE_RELATIVE, its offset is the place it has by default "
            "(give it another offset, or disable it with size 0)",
        ),
        (
            [{"address": 0x900003F0}],
            "p.mpool:5:1: pools xSPI1 [0x90000000, 0x90000400) and AXISRAM3 [0x900003f0, 0x900007f0) overlap by "
            "16 bytes; xSPI1 is USEMODE_RELATIVE, its offset is the place it has by default "
            "(give it another offset, or disable it with size 0)",
        ),
        (
            [{}, {"fformat": "FORMAT_C"}],
            "p.mpool:5:1: fformat of pool xSPI1 is FORMAT_C: a relocatable model takes raw initializers only "
            "(set its fformat to FORMAT_RAW)",
        ),
    ],
)
def test_relative_pools_that_no_loader_takes(changed, said):
    with pytest.raises(NeuralArtError) as caught:
        plan(constants_program(100), relative_file(*changed))
    assert flat(str(caught.value)) == said


def test_initializers_are_raw_files():
    def of(form: str) -> PoolFile:
        pools = pool_file(*N6_LIKE)
        return replace(pools, pools=tuple(replace(pool, fformat=form) for pool in pools.pools))

    for form in ("FORMAT_HEX", "FORMAT_HEX16", "FORMAT_IHEX", "FORMAT_C"):
        images = plan(constants_program(8), of(form)).images
        assert images["xSPI2"] and images == plan(constants_program(8), of("FORMAT_RAW")).images


def test_a_chain_fits_when_its_neighbors_do():
    """Decreasing size alone fails here: what remains after the first two is in two pieces."""
    program = chain(32, 96, 64, 64, 96, 32)
    pools = pool_file(("RAM", 0x1000, 160, RAM))
    items = blocks(program)
    first = strategies(items, len(program.calls))[0]
    assert place_blocks(first, for_activations(pools.enabled, virtual=False), {})[1] is not None
    placed = plan(program, pools)
    check(program, placed, pools)
    assert placed.lower_bound == placed.pools[0].activations == 160


@given(st.lists(st.integers(1, 64).map(lambda k: 32 * k), min_size=2, max_size=12))
def test_every_chain_needs_no_more_than_its_neighbors(sizes):
    bound = max(map(sum, itertools.pairwise(sizes)))
    pools = pool_file(("RAM", 0x1000, bound, RAM))
    check(chain(*sizes), plan(chain(*sizes), pools), pools)
    if bound > max(sizes):
        with pytest.raises(NeuralArtError, match="at least 32 bytes more"):
            plan(chain(*sizes), pool_file(("RAM", 0x1000, bound - 32, RAM)))


# ---- how near to the bound


def _random_blocks(seed: int, count: int) -> list[Block]:
    """Neighbors overlap; every third block lives longer."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        last = number + (1 if rng.random() < 0.7 else rng.randint(1, 12))
        made.append(Block(("tensor", number), f"t{number}", rng.randint(4, 125) * 16, 16, number, min(count, last)))
    return made


@pytest.mark.parametrize("seed", range(25))
def test_random_networks_are_near_the_lower_bound(seed: int) -> None:
    items = _random_blocks(seed, 30)
    (arena,) = for_activations(pool_file(("RAM", 0x1000, 1 << 20, RAM)).enabled, virtual=False)
    addresses, failed = place_best(items, 30, [arena], {})
    assert failed is None
    top = max(addresses[item.key] + item.size for item in items) - arena.address
    assert top <= 1.10 * max(live_bytes(items, 30))
    assert addresses == place_best(items, 30, [arena], {})[0]


def test_first_fit_alone_would_not_be_near() -> None:
    (arena,) = for_activations(pool_file(("RAM", 0x1000, 1 << 20, RAM)).enabled, virtual=False)
    worst = 0.0
    for seed in range(25):
        items = _random_blocks(seed, 30)
        addresses, _ = place_blocks(strategies(items, 30)[0], [arena], {})
        top = max(addresses[item.key] + item.size for item in items) - arena.address
        worst = max(worst, top / max(live_bytes(items, 30)))
    assert worst > 1.15


def test_the_slow_pool_is_used_as_little_as_possible() -> None:
    """First fit by size would fill the fast pool in a way that leaves more for the slow one."""
    pools = pool_file(("FAST", 0x1000, 2048, RAM), ("SLOW", 0x10000, 1 << 16, SLOW))
    arenas = for_activations(pools.enabled, virtual=False)
    used = naive = 0
    for seed in range(10):
        items = _random_blocks(seed, 20)
        used += heights(items, place_best(items, 20, arenas, {})[0], arenas, {})[0]
        naive += heights(items, place_blocks(strategies(items, 20)[0], arenas, {})[0], arenas, {})[0]
    assert used < naive


@pytest.mark.parametrize("path", sorted(MODELS.rglob("*.tflite")), ids=lambda path: path.stem)
@pytest.mark.parametrize("board", ["stm32n6570-dk", "mps3-an547"])
def test_own_models_are_near_the_lower_bound(path: Path, board: str) -> None:
    pools = mpool.read(BOARD_POOLS / f"{board}.mpool")
    placed = plan(share(lower(read(path), BorderOptions()), inputs_writable=True), pools)
    assert sum(pool.activations for pool in placed.pools if not pool.parts) <= 1.10 * placed.lower_bound


def test_banks_of_different_speed_are_joined_before_memory_outside_the_chip_is_used() -> None:
    """What is larger than the fast banks lies across the slower one beside them: AXISRAM2 to AXISRAM6, 2.75 MiB."""
    pools = mpool.read(BOARD_POOLS / "stm32n6570-dk.mpool")

    def used(placed) -> dict[str, int]:
        return {pool.fname: pool.activations for pool in placed.pools if pool.activations and not pool.parts}

    program = chain(1900 * KB, 300 * KB, 8 * KB)
    assert "xSPI1" in used(plan(program, pools))
    placed = plan(program, pools, virtual=True)
    check(program, placed, pools)
    assert set(used(placed)) == {f"AXISRAM{number}" for number in (2, 3, 4, 5)}
    assert placed.pools[-1].parts == ("AXISRAM2", "AXISRAM3", "AXISRAM4", "AXISRAM5", "AXISRAM6")
    # What fits the fast banks stays there, and what fits neither is outside as before.
    assert set(used(plan(chain(1000 * KB, 300 * KB, 8), pools, virtual=True))) <= {f"AXISRAM{n}" for n in (3, 4, 5, 6)}
    assert "xSPI1" in used(plan(chain(3000 * KB, 8), pools, virtual=True))
    internal = replace(pools, pools=tuple(replace(p, size=0) if p.fname == "xSPI1" else p for p in pools.pools))
    check(program, plan(program, internal, virtual=True), internal)


def test_banks_with_constants_are_not_joined_anew() -> None:
    """Constants that spilled into a bank keep their place; nothing is laid over them."""
    pools = pool_file(("FAST", 0x1000, 1024, RAM), ("MIDDLE", 0x1400, 1024, SLOW), ("OUTER", 0x10000, 8192, OUTER))
    program = constants_program(200)
    program.tensors[0] = tensor(0, "in", (1, 1500))
    check(program, plan(program, pools, virtual=True), pools)
    without = chain(1500, 16)
    placed = plan(without, pools, virtual=True)
    check(without, placed, pools)
    assert placed.tensors[0] == 0x1000
