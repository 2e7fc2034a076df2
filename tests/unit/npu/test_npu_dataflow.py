"""Streams, switch and dataflow of the virtual NPU: what arrives where, in which order, and what never ends."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.state import NpuState
from neuralart_virtual.npu.units.streams import StreamEngine
from support.npu import npu_build as build
from support.npu import npu_plain as plain

RAM = build.RAM


def copy(state: NpuState, source: int = 0, target: int = 1) -> None:
    """A link from one engine to another one."""
    state.link(("STRENG", target, 0), (("STRENG", source), 1, 0))


@pytest.mark.parametrize("seed", range(60))
def test_rasters(seed: int) -> None:
    """Drawn frames through two engines: each byte moves from where the first one reads to where the second writes."""
    rng = random.Random(seed)
    state, memory = NpuState(), build.memory()
    before = bytes(memory.view(RAM, 1 << 16))
    size, frames = rng.choice((1, 2, 3)), rng.randint(1, 5)
    count = rng.choice((1, 6, 12, 24))
    moved: list[list[list[int]]] = []
    for index in (0, 1):
        shape = rng.choice([(h, w, count // h // w) for h in (1, 2, 3, 6) for w in (1, 2, 4) if count % (h * w) == 0])
        height, width, depth = shape
        gap = rng.choice((0, 0, 1, 5))
        pixel = depth * size + gap
        line = width * pixel + rng.choice((0, 0, 3)) * (gap + 1)
        loop = rng.choice((0, 0, 2))
        span = height * line + pixel
        step, turn = span + rng.randint(0, 9), 2 * span + 40
        if index == 0 and rng.random() < 0.3:
            step = -step
        address = RAM + 0x4000 + 0x8000 * index
        unit = build.engine(state, index, address, count, size=size, frames=frames, write=index == 1, step=step)
        unit.set("CTRL", RAW=0)
        unit.set("FSIZE", WIDTH=width, HEIGHT=height)
        unit.set("DEPTH", SIZE=depth, OFFSET=pixel)
        unit.set("STRD", LOFF=line)
        build.word(unit, FRAME_RPT=loop, FRPTOFF=turn)
        starts = [plain.frame_start(address, n, step, loop, turn) for n in range(frames)]
        moved.append([cell for n, s in enumerate(starts) for cell in plain.walk(s, n, size, shape, pixel, line)])
        engine = StreamEngine(unit, memory)
        first, last = engine.reach()
        assert first == min(min(c) for c in moved[-1]) and last >= max(max(c) for c in moved[-1]) + 1
    copy(state)
    work = build.run(state, memory)
    expected = bytearray(before)
    for source, target in zip(*moved, strict=True):
        for a, b in zip(source, target, strict=True):
            expected[b - RAM] = before[a - RAM]
    assert bytes(memory.view(RAM, 1 << 16)) == bytes(expected)
    assert work.read_bytes == work.written_bytes == frames * count * size
    assert [(w.engine, w.size, w.elements) for w in work.written] == [(1, size, frames * count)]


def test_a_continuous_engine_goes_on_where_it_was() -> None:
    """RAW with CONT: FOFFSET counts for nothing; the consumer cuts the stream by its own need."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 10, frames=3, step=4000, CONT=1)
    build.engine(state, 1, RAM + 0x8000, 6, frames=5, write=True)
    copy(state)
    expected = plain_bytes(memory, RAM, 30)
    build.run(state, memory)
    assert plain_bytes(memory, RAM + 0x8000, 30) == expected


def plain_bytes(memory: build.NpuMemory, address: int, count: int) -> list[int]:
    return build.plain(memory, address, count, "<u1")


@pytest.mark.parametrize(("extends", "kind"), [(1, "<i1"), (0, "<u1")])
def test_elements_of_a_byte_for_a_consumer_of_two(extends: int, kind: str) -> None:
    """LSBMODE delivers the value in the low byte, extended by its sign if SIGNEXT says so."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 300, LSBMODE=1, SIGNEXT=extends)
    build.engine(state, 1, RAM + 0x8000, 300, size=2, write=True)
    build.arithmetic(state, CTRL={"OBYTES": 2}, INSHIFTER={"FBYTESX": 2}, COEFFAC={"A": 3})
    state.link(("ARITH", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ARITH", 0), 1, 0))
    build.run(state, memory)
    assert build.plain(memory, RAM + 0x8000, 300, "<i2") == [3 * v for v in build.plain(memory, RAM, 300, kind)]


def test_one_source_feeds_many() -> None:
    """It is produced once, and kept for the slower reader."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 8, frames=6)
    build.engine(state, 1, RAM + 0x8000, 4, frames=12, write=True)
    build.engine(state, 2, RAM + 0x9000, 24, frames=2, write=True)
    copy(state, 0, 1)
    copy(state, 0, 2)
    work = build.run(state, memory)
    expected = plain_bytes(memory, RAM, 48)
    assert plain_bytes(memory, RAM + 0x8000, 48) == plain_bytes(memory, RAM + 0x9000, 48) == expected
    assert work.read_bytes == 48


@pytest.mark.parametrize(
    ("contexts", "frames"),
    [
        # (enabled, frames) of two contexts -> which frames arrive.
        (((0, 2), (1, 1)), [2, 5, 8, 11]),
        (((1, 1), (0, 3)), [0, 4, 8]),
        (((1, 2), (0, 1)), [0, 1, 3, 4, 6, 7, 9, 10]),
    ],
)
def test_contexts_drop_frames(contexts: tuple[tuple[int, int], ...], frames: list[int]) -> None:
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 5, frames=12)
    build.engine(state, 1, RAM + 0x8000, 5, frames=len(frames), write=True)
    state.link(("STRENG", 1, 0), *((("STRENG", 0), enabled, count) for enabled, count in contexts))
    build.run(state, memory)
    data = plain_bytes(memory, RAM, 60)
    assert plain_bytes(memory, RAM + 0x8000, 5 * len(frames)) == [v for f in frames for v in data[5 * f : 5 * f + 5]]


def test_contexts_take_turns() -> None:
    """Two frames of one source, then one of another."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 4, frames=4)
    build.engine(state, 2, RAM + 0x1000, 4, frames=2)
    build.engine(state, 1, RAM + 0x8000, 4, frames=6, write=True)
    state.link(("STRENG", 1, 0), (("STRENG", 0), 1, 2), (("STRENG", 2), 1, 1))
    build.run(state, memory)
    a, b = plain_bytes(memory, RAM, 16), plain_bytes(memory, RAM + 0x1000, 8)
    assert plain_bytes(memory, RAM + 0x8000, 24) == a[:8] + b[:4] + a[8:] + b[4:]


def _through_memory(state: NpuState, *, trigger: bool) -> None:
    """Sums of three frames, each added to what was written before: port 2 reads what engine 1 wrote."""
    build.engine(state, 0, RAM, 6, frames=3, step=0)
    build.engine(state, 3, build.FLASH, 1, frames=3)
    back = build.engine(state, 2, RAM + 0x8000, 6, size=2, frames=3, step=0, LSBMODE=1, SIGNEXT=1)
    build.engine(state, 1, RAM + 0x8000, 6, size=2, frames=3, step=0, write=True)
    fields = {"CTRL": {"NOSUM": 0, "NO1SUM": 1, "AFILTMODE": 3}, "AFILT": {"TOT": 3, "FIRST": 1, "LAST": 2}}
    build.convolution(state, FFORMAT={"WIDTH": 3, "HEIGHT": 2}, **fields)
    if trigger:
        back.set("EVENT", FRMTRG_EN=1, FRMTRG_SRC=1)
    for port, source in enumerate((0, 3, 2)):
        state.link(("CONVACC", 0, port), (("STRENG", source), 1, 0))
    state.link(("STRENG", 1, 0), (("CONVACC", 0), 1, 0))


@pytest.mark.parametrize("trigger", [True, False])
def test_partial_sums_through_memory(trigger: bool) -> None:
    """Frame n is fetched when n frames are written: by the trigger, or since it is the same buffer."""
    state, memory = NpuState(), build.memory()
    memory.view(build.FLASH, 3)[:] = (2, 3, 5)
    _through_memory(state, trigger=trigger)
    features = build.plain(memory, RAM, 6)
    build.run(state, memory)
    assert build.plain(memory, RAM + 0x8000, 6, "<i2") == [10 * v for v in features]


def test_sums_that_an_accelerator_feeds_to_itself() -> None:
    """The first sum is made; every later frame takes the one before."""
    state, memory = NpuState(), build.memory()
    memory.view(build.FLASH, 4)[:] = (1, 2, 3, 4)
    build.engine(state, 0, RAM, 5, frames=4, step=0)
    build.engine(state, 3, build.FLASH, 1, frames=4)
    build.engine(state, 1, RAM + 0x8000, 5, size=2, write=True)
    build.convolution(state, CTRL={"NOSUM": 0, "GEN1SUM": 1}, FFORMAT={"WIDTH": 5})
    for port, source in enumerate((("STRENG", 0), ("STRENG", 3), ("CONVACC", 0))):
        state.link(("CONVACC", 0, port), (source, 1, 0))
    state.link(("STRENG", 1, 0), (("CONVACC", 0), 0, 3), (("CONVACC", 0), 1, 1))
    features = build.plain(memory, RAM, 5)
    work = build.run(state, memory)
    assert build.plain(memory, RAM + 0x8000, 5, "<i2") == [10 * v for v in features]
    assert work.products == 4 * 5 and work.units == ("STRENG0", "STRENG1", "STRENG3", "CONVACC0")


def test_the_position_of_coefficients_goes_on_across_frames() -> None:
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 3, frames=4)
    build.engine(state, 1, RAM + 0x8000, 12, write=True)
    unit = build.arithmetic(state, CTRL={"COEFFA": 1, "CNT1": 1}, RSTCNT1={"RSTCNT": 4})
    unit.set("INCOFFSET", VAL=1)
    unit.set("ADDROFFSET", OFFSET1=-4)
    unit.coefficients[0:10:2] = range(1, 6)
    memory.view(RAM, 12)[:] = 1
    state.link(("ARITH", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ARITH", 0), 1, 0))
    build.run(state, memory)
    assert build.plain(memory, RAM + 0x8000, 12) == [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2]


# ---- what never ends, and what leaves memory: one line each ----


def _reader_and_writer(state: NpuState, count: int = 8, frames: int = 1) -> None:
    build.engine(state, 0, RAM, count, frames=frames)
    build.engine(state, 1, RAM + 0x8000, count, frames=frames, write=True)
    copy(state)


def _leaves(state: NpuState) -> None:
    _reader_and_writer(state)
    build.word(state.unit("STRENG", 0), ADDR=RAM + (1 << 16) - 3)


def _nowhere(state: NpuState) -> None:
    _reader_and_writer(state)
    build.word(state.unit("STRENG", 1), ADDR=0x20000000)


def _later_frame(state: NpuState) -> None:
    _reader_and_writer(state, frames=3)
    build.word(state.unit("STRENG", 0), FOFFSET=1 << 20)


def _behind_limit(state: NpuState) -> None:
    _reader_and_writer(state)
    state.unit("STRENG", 1).set("LIMITEN", ADDRLIMIT=1)
    build.word(state.unit("STRENG", 1), LIMITADDR=RAM + 0x8006)


def _too_few_frames(state: NpuState) -> None:
    _reader_and_writer(state)
    build.word(state.unit("STRENG", 1), LIMIT=2)


def _no_link(state: NpuState) -> None:
    _reader_and_writer(state)
    state.unit("STRSWITCH").reset()


def _not_enabled(state: NpuState) -> None:
    _reader_and_writer(state)
    state.unit("STRENG", 0).set("CTRL", EN=0)


def _no_kernels(state: NpuState) -> None:
    _reader_and_writer(state)
    build.convolution(state)
    state.link(("CONVACC", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("CONVACC", 0), 1, 0))


def _circle(state: NpuState) -> None:
    _reader_and_writer(state)
    build.arithmetic(state, 0)
    build.arithmetic(state, 1)
    state.link(("ARITH", 0, 0), (("ARITH", 1), 1, 0))
    state.link(("ARITH", 1, 0), (("ARITH", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ARITH", 0), 1, 0))


def _waits_for_itself(state: NpuState) -> None:
    """Frame 1 may be fetched when engine 1 has written one, which needs all frames."""
    build.engine(state, 0, RAM, 4, frames=2).set("EVENT", FRMTRG_EN=1, FRMTRG_SRC=1)
    build.engine(state, 1, RAM + 0x8000, 8, write=True)
    copy(state)


def _waits_for_too_much(state: NpuState) -> None:
    _reader_and_writer(state, frames=2)
    build.engine(state, 2, RAM + 0x9000, 8, write=True)
    build.engine(state, 3, RAM, 8)
    copy(state, 3, 2)
    state.unit("STRENG", 0).set("EVENT", FRMTRG_EN=1, FRMTRG_SRC=2)
    build.word(state.unit("STRENG", 2), LIMIT=0)


def _waits_for_a_reader(state: NpuState) -> None:
    _reader_and_writer(state)
    state.unit("STRENG", 0).set("EVENT", FRMTRG_EN=1, FRMTRG_SRC=5)


def _endless(state: NpuState) -> None:
    _reader_and_writer(state)
    for index in (0, 1):
        build.word(state.unit("STRENG", index), LIMIT=0xFFFFFFFF, FOFFSET=0)


def _huge_frame(state: NpuState) -> None:
    """A pool of the largest size that registers can say, fed byte by byte."""
    build.engine(state, 0, RAM, 1, frames=0x7FFFFFFF, step=0)
    build.engine(state, 1, RAM + 0x8000, 1, write=True)
    fields = {"PDIMS": {"BSIZE": 1, "WINX": 1, "WINY": 1, "STRDX": 1, "STRDY": 1}, "CTRL": {"FBYTES": 1}}
    build.setup(state, "POOL", FDIMS={"FEATX": 4095, "FEATY": 4095}, OUTDIMS={"FEATX": 1, "FEATY": 1}, **fields)
    state.link(("POOL", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("POOL", 0), 1, 0))


def _empty_frame(state: NpuState) -> None:
    _reader_and_writer(state)
    build.word(state.unit("STRENG", 0), FSIZE=0)


def _no_source(state: NpuState) -> None:
    _reader_and_writer(state)
    state.unit("STRSWITCH").words[0x0C] |= 31 << 1


def _reads_and_writes(state: NpuState) -> None:
    _reader_and_writer(state)
    build.engine(state, 2, RAM + 0x9000, 8, write=True)
    copy(state, 1, 2)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_leaves, "epoch 7: STRENG0: frame 0: 8 bytes at 0x3400fffd leave RAM by 5 bytes"),
        (_nowhere, "epoch 7: STRENG1: frame 0: 8 bytes at 0x20000000: no memory is there"),
        (_later_frame, "epoch 7: STRENG0: frame 1: 8 bytes at 0x34100000: no memory is there"),
        (
            _behind_limit,
            "epoch 7: STRENG1 LIMITADDR (0x038) = 0x34008006: a frame ends at 0x34008007, behind the address limit",
        ),
        (_too_few_frames, "epoch 7: STRENG0: frame 1 is wanted, LIMIT is 1 frames"),
        (_no_link, "epoch 7: STRENG1: nothing feeds this output engine: it never finishes"),
        (_not_enabled, "epoch 7: STRENG1: its input 0 is fed by STRENG0, which is not enabled"),
        (_no_kernels, "epoch 7: CONVACC0: nothing feeds its input 1: it never finishes"),
        (_circle, "epoch 7: ARITH0: it waits for its own next frame (ARITH0 <- ARITH1): deadlock"),
        (_waits_for_itself, "epoch 7: STRENG1: it waits for a frame that it has to write itself: deadlock"),
        (_waits_for_too_much, "epoch 7: STRENG0: frame 1 waits for a frame of STRENG2 that never comes"),
        (_waits_for_a_reader, "epoch 7: STRENG0 EVENT (0x028) FRMTRG_SRC = 5: no output engine: it never triggers"),
        (_endless, "epoch 7: STRENG1: the epoch does not end: its frames are too many or too large"),
        (_huge_frame, "epoch 7: STRENG0: the epoch does not end: its frames are too many or too large"),
        (_empty_frame, "epoch 7: STRENG0: a frame has no elements"),
        (_no_source, "epoch 7: STRSWITCH DSTSTRENG10 (0x00c) LINK0 = 31: no such source"),
        (_reads_and_writes, "epoch 7: STRENG1: a stream begins at this engine, which is set to write"),
    ],
    ids=lambda value: value.__name__.strip("_") if callable(value) else "",
)
def test_what_cannot_finish_is_an_error(spoil: Callable[[NpuState], None], said: str) -> None:
    state, memory = NpuState(), build.memory()
    spoil(state)
    with pytest.raises(NpuError) as caught:
        build.run(state, memory)
    assert str(caught.value) == said


def test_an_error_has_its_parts() -> None:
    state, memory = NpuState(), build.memory()
    _waits_for_a_reader(state)
    with pytest.raises(NpuError) as caught:
        build.run(state, memory)
    error = caught.value
    assert (error.epoch, error.unit, error.register, error.offset) == ("7", "STRENG0", "EVENT", 0x28)
    assert (error.field, error.value) == ("FRMTRG_SRC", 5)
    there = error.at(epoch="9", file="network.c")
    assert str(there).startswith("network.c: epoch 7: STRENG0 EVENT (0x028)")


def test_a_stream_is_not_changed_by_later_writes() -> None:
    """What was read is a copy, also where the output goes over the input."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 16, frames=4)
    build.engine(state, 1, RAM + 8, 64, write=True)
    copy(state)
    before = plain_bytes(memory, RAM, 64)
    build.run(state, memory)
    assert plain_bytes(memory, RAM + 8, 64) == before


def test_memory_refuses_what_is_no_region() -> None:
    memory = build.memory()
    with pytest.raises(NpuError, match="region B at 0x34000010 overlaps RAM"):
        memory.add("B", RAM + 16, np.zeros(4, np.uint8))
    with pytest.raises(NpuError, match="region C is no array of bytes"):
        memory.add("C", 0, np.zeros(4, np.int16))  # type: ignore[arg-type]
