"""The virtual NPU as a device: registers, programs of the epoch controller, interrupts, and every mode that stops."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from neuralart_virtual.npu import registers
from neuralart_virtual.npu.controller import FieldWrite, Label, Poll, decode, execute
from neuralart_virtual.npu.dataflow import Dataflow, Settings
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.modes import MODES, Assumptions, assumable
from neuralart_virtual.npu.state import NpuState
from support.npu import npu_build as build
from support.npu.npu_blob import Program, ip_of

RAM = build.RAM
CONFCLR, RUNNING = 1 << 30, 1 << 31


def at(kind: str, register: str, index: int = 0) -> int:
    """The offset of a register in the NPU."""
    return ip_of(kind, index) << 12 | registers.KINDS[kind].registers[register].offset


def device(memory: Any = None, assume: tuple[str, ...] = ()) -> NpuDevice:
    return NpuDevice(memory or build.memory(), Settings(assumptions=Assumptions.of(assume)))


# ---- facts ----


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        # TYPE, MINOR << 8, MAJOR << 12, features.
        *[("STRENG", 0x003E5001), ("CONVACC", 0x00065117), ("DECUN", 0x1A19), ("ARITH", 0x101A), ("ACTIV", 0x111B)],
        *[("POOL", 0x111C), ("BUSIF", 0x501D), ("INTCTRL", 0x0420111E), ("CLKCTRL", 0x121F), ("RECBUF", 0x3220)],
        *[("EPOCHCTRL", 0x0F041121), ("STRSWITCH", 0x291B1600)],
    ],
)
def test_versions_that_a_runtime_waits_for(kind: str, word: int) -> None:
    tested = device()
    offset = ip_of(kind) << 12 | 4
    tested.write(offset, 0)
    assert tested.read(offset) == word


def test_where_units_are() -> None:
    """ip numbers, and the destinations of the switch."""
    assert {kind.name: (kind.first_ip, kind.count) for kind in registers.KINDS.values()} == {
        **{"CLKCTRL": (0, 1), "INTCTRL": (1, 1), "BUSIF": (2, 2), "STRSWITCH": (4, 1), "STRENG": (5, 10)},
        **{"CONVACC": (0xF, 4), "DECUN": (0x13, 2), "ACTIV": (0x15, 2), "ARITH": (0x17, 4), "POOL": (0x1B, 2)},
        **{"RECBUF": (0x1D, 1), "EPOCHCTRL": (0x1E, 1)},
    }
    known = {0x08: ("STRENG", 0, 0), 0x2C: ("STRENG", 9, 0), 0x30: ("CONVACC", 0, 0), 0x5C: ("CONVACC", 3, 2)}
    known |= {0x60: ("DECUN", 0, 0), 0x70: ("ACTIV", 0, 0), 0x78: ("ARITH", 0, 0), 0x94: ("ARITH", 3, 1)}
    known |= {0x98: ("POOL", 0, 0), 0xA8: ("RECBUF", 0, 2)}
    assert {offset: registers.DESTINATIONS[offset] for offset in known} == known
    assert [registers.SOURCES[n] for n in (0, 9, 10, 15, 17, 21, 23)] == [
        *[("STRENG", 0), ("STRENG", 9), ("CONVACC", 0), ("DECUN", 1), ("ACTIV", 1), ("ARITH", 3), ("POOL", 1)]
    ]


def test_fields_do_not_overlap() -> None:
    for kind in registers.KINDS.values():
        assert len(kind.by_offset) == len(kind.registers)
        for register in kind.registers.values():
            bits = [bit for field in register.fields.values() for bit in range(field.low, field.low + field.width)]
            assert len(bits) == len(set(bits)) and all(bit < 32 for bit in bits), (kind.name, register.name)


def test_values_after_reset() -> None:
    tested = device()
    expected = {("STRENG", "POS"): 0x00080024, ("CONVACC", "DFORMAT"): 0x10B00808, ("INTCTRL", "INTORMSK0"): 0xFFFFFFFF}
    expected |= {("STRENG", "CTRL"): 0, ("CONVACC", "KFORMAT"): 0x01010303, ("CONVACC", "FFORMAT"): 0xFFFFFFFF}
    assert {key: tested.read(at(*key)) for key in expected} == expected


def test_clear_bits_read_back_zero() -> None:
    tested = device()
    offset = at("ARITH", "CTRL")
    tested.write(at("ARITH", "COEFFAC"), 77)
    tested.write(offset, 1 << 6 | 1 << 1)
    assert tested.read(offset) == 1 << 6
    assert tested.read(at("ARITH", "COEFFAC")) == 77
    tested.write(offset, CONFCLR)
    assert tested.read(offset) == 2 << 26  # OBYTES after reset is 2, and nothing else
    assert tested.read(at("ARITH", "COEFFAC")) == 0


def test_the_window_of_the_coefficients() -> None:
    """With TRANSLATEADDR entry 0 stands at 0x400, without it entry 128; 0x0c00 is entry 384 without."""
    tested = device()
    base = ip_of("ARITH") << 12
    tested.write(base | 0x2C, 1)
    tested.write(base | 0x400, 0xBBBBAAAA)
    tested.write(base | 0xFFC, 0xCC)
    tested.write(base | 0x2C, 0)
    tested.write(base | 0xC00, 0x12345678)
    memory = tested.state.unit("ARITH").coefficients
    assert {int(i): int(memory[i]) for i in np.flatnonzero(memory)} == {0: 0xBBBBAAAA, 767: 0xCC, 768: 0x12345678}
    assert tested.read(base | 0xC00) == 0x12345678 and tested.read(base | 0x400) == 0
    tested.write(base, CONFCLR)
    assert not memory.any()


def test_the_memories_of_an_activation() -> None:
    tested = device()
    base = ip_of("ACTIV", 1) << 12
    for offset, value in ((0x400, 5), (0x47C, 6), (0x800, 0x22221111), (0x804, 0x3333)):
        tested.write(base | offset, value)
        assert tested.read(base | offset) == value
    assert tested.state.unit("ACTIV", 1).coefficients[[0, 31, 32, 33]].tolist() == [5, 6, 0x22221111, 0x3333]


def test_clocks_are_kept_and_refuse_nothing() -> None:
    tested = device()
    for name, value in (("CTRL", 1), ("AGATES0", 0xFFFFFFFF), ("BGATES", 0)):
        tested.write(at("CLKCTRL", name), value)
        assert tested.read(at("CLKCTRL", name)) == value
    _reader_and_writer(tested)
    assert tested.read(at("STRENG", "CTRL", 1)) & RUNNING == 0


@pytest.mark.parametrize(
    ("offset", "said"),
    [(0x1F000, "NPU: no unit at offset 0x1f000 of the NPU"), (0x05002, "NPU: STRENG0: offset 0x002 is no word")],
)
def test_addresses_without_a_register(offset: int, said: str) -> None:
    for access in (lambda: device().read(offset), lambda: device().write(offset, 1)):
        with pytest.raises(NpuError) as caught:
            access()
        assert str(caught.value) == said


# ---- interrupts ----


def test_or_and_and_masks() -> None:
    tested = device()
    line, every = at("INTCTRL", "INTORMSK0"), at("INTCTRL", "INTANDMSK0")
    tested.write(line, 0x3FF)
    tested.write(at("INTCTRL", "INTSET"), 1 << 3)
    assert not tested.interrupt()
    tested.write(at("INTCTRL", "INTSET"), 1 << 28)
    assert tested.interrupt() and not tested.interrupt(1)
    assert [tested.read(at("INTCTRL", name)) for name in ("INTREG", "INTSET", "INTCLR")] == [1 << 28 | 8] * 3
    tested.write(at("INTCTRL", "INTCLR"), 1 << 28)
    assert not tested.interrupt() and tested.read(at("INTCTRL", "INTREG")) == 8
    tested.write(every, ~0b1001000 & 0xFFFFFFFF)
    assert not tested.interrupt(), "one of two wanted events"
    tested.write(at("INTCTRL", "INTSET"), 1 << 6)
    assert tested.interrupt(), "all wanted events"
    tested.write(every, 0xFFFFFFFF)
    assert not tested.interrupt(), "a mask of ones wants nothing"


def test_clearing_the_interrupt_controller() -> None:
    tested = device()
    tested.write(at("INTCTRL", "INTSET"), 5)
    tested.write(at("INTCTRL", "INTORMSK0"), 0)
    tested.write(at("INTCTRL", "CTRL"), 2)
    assert (tested.read(at("INTCTRL", "INTREG")), tested.read(at("INTCTRL", "INTORMSK0"))) == (0, 0)
    tested.write(at("INTCTRL", "CTRL"), CONFCLR)
    assert tested.read(at("INTCTRL", "CTRL")) == 0
    assert tested.read(at("INTCTRL", "INTORMSK0")) == 0xFFFFFFFF


# ---- running ----


def _copy(state: NpuState, count: int = 8) -> None:
    build.engine(state, 0, RAM, count)
    build.engine(state, 1, RAM + 0x8000, count, write=True)
    state.link(("STRENG", 1, 0), (("STRENG", 0), 1, 0))


def _reader_and_writer(tested: NpuDevice) -> None:
    """The same by register writes, in the order of a driver."""
    state = NpuState()
    _copy(state)
    for ip, unit in state.by_ip.items():
        for offset, value in unit.words.items():
            tested.write(ip << 12 | offset, value & ~1 if offset == 0 else value)
    for ip, unit in state.by_ip.items():
        if unit.enabled:
            tested.write(ip << 12, unit.word(0))


def test_polled() -> None:
    """Nothing runs when a unit is enabled; reading RUNNING runs everything."""
    tested = device()
    source = build.plain(tested.memory, RAM, 8)
    _reader_and_writer(tested)
    assert build.plain(tested.memory, RAM + 0x8000, 8) != source
    assert tested.read(at("STRENG", "CTRL", 1)) & RUNNING == 0
    assert build.plain(tested.memory, RAM + 0x8000, 8) == source
    assert tested.read(at("INTCTRL", "INTREG")) == 0, "no event without EN_OFLOW_FRM"
    assert not tested.advance()


def test_by_interrupt() -> None:
    """The core waits; the engine's event comes, its handler reads and clears what it saw."""
    tested = device()
    source = build.plain(tested.memory, RAM, 8)
    tested.write(at("INTCTRL", "INTORMSK0"), 0x3FF)
    tested.write(at("INTCTRL", "INTANDMSK0"), ~2 & 0xFFFFFFFF)
    tested.write(at("STRENG", "EVENT", 1), 1 << 19)
    _reader_and_writer(tested)
    assert not tested.interrupt()
    assert tested.advance()
    assert tested.interrupt() and build.plain(tested.memory, RAM + 0x8000, 8) == source
    done = at("STRENG", "IRQ", 1)
    assert tested.read(done) == 1 << 3
    tested.write(done, 1 << 3)
    tested.write(at("INTCTRL", "INTCLR"), tested.read(at("INTCTRL", "INTREG")))
    assert tested.read(done) == 0 and not tested.interrupt()


def test_a_program_by_interrupt() -> None:
    program = Program()
    state = NpuState()
    _copy(state)
    program.epoch(12, state)
    program.end()
    seen = []
    memory = build.memory()
    tested = NpuDevice(memory, finished=lambda label, work: seen.append((label, work.written_bytes)))
    data = program.data()
    memory.view(build.FLASH, len(data))[:] = np.frombuffer(data, np.uint8)
    source = build.plain(memory, RAM, 8)
    tested.write(at("INTCTRL", "INTORMSK0"), 0x3FF)
    for name, value in (("CTRL", 0), ("ADDR", build.FLASH), ("CTRL", 1)):
        tested.write(at("EPOCHCTRL", name), value)
    assert not tested.interrupt() and tested.advance()
    assert tested.interrupt() and tested.read(at("EPOCHCTRL", "IRQ")) == 1
    assert tested.read(at("INTCTRL", "INTREG")) == 1 << 28
    assert build.plain(memory, RAM + 0x8000, 8) == source and seen == [("12", 8)]
    assert tested.read(at("EPOCHCTRL", "LABEL")) == 12
    tested.write(at("EPOCHCTRL", "IRQ"), 1)
    assert tested.read(at("EPOCHCTRL", "IRQ")) == 0


# ---- programs ----


def test_every_instruction() -> None:
    program = Program()
    program.label(77)
    program.write(5, 0x10, 0xABCD, 15, 4)
    program.write_short(0x17, 0x14, 0x5A, 7, 3)
    program.write_many(6, 0x20, [1, 2, 3])
    program.write_many(7, 0x30, [9, 8], same=True)
    program.poll(8, 0, 1, 31, 31)
    program.end()
    assert list(decode(program.whole())) == [
        Label(2, 77),
        FieldWrite(3, 5, 0x10, 0xABCD, 15, 4),
        FieldWrite(5, 0x17, 0x14, 0x5A, 9, 3),
        *(FieldWrite(6, 6, 0x20 + 4 * i, i + 1, 31, 0) for i in range(3)),
        *(FieldWrite(10, 7, 0x30, value, 31, 0) for value in (9, 8)),
        Poll(13, 8, 0, 1, 31, 31),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "word 0 of the program: a program begins with 0xca057a7a, not nothing"),
        ([1, 2, 3], "word 0 of the program: a program begins with 0xca057a7a, not 0x00000001"),
        ([0xCA057A7A, 9, 12], "word 1 of the program: 9 words follow by its head, 1 do"),
        ([0xCA057A7A, 0], "word 2 of the program: the program has no end"),
        ([0xCA057A7A, 1, 0x7C00], "word 2 of the program: an instruction of 2 words ends behind the program"),
        ([0xCA057A7A, 1, 0xFFE3], "word 2 of the program: an instruction of 2048 words ends behind the program"),
        ([0xCA057A7A, 1, 5], "word 2 of the program: operation 0x05 is unknown (0x00000005)"),
        ([0xCA057A7A, 2, 5 << 10 | 9 << 5, 0], "word 2 of the program: bits 5 down to 9 of a register"),
    ],
)
def test_programs_that_are_none(words: list[int], said: str) -> None:
    with pytest.raises(NpuError) as caught:
        list(decode(words))
    assert str(caught.value) == f"NPU: EPOCHCTRL: {said}"


def _start(program: Program | bytes, address: int = build.FLASH) -> str:
    """What is said of a program that the epoch controller starts."""
    data = program if isinstance(program, bytes) else program.data()
    memory = build.memory()
    memory.view(build.FLASH, len(data))[:] = np.frombuffer(data, np.uint8)
    tested = device(memory)
    tested.write(at("EPOCHCTRL", "ADDR"), address)
    tested.write(at("EPOCHCTRL", "CTRL"), 1)
    with pytest.raises(NpuError) as caught:
        tested.advance()
    return str(caught.value)


def test_programs_that_do_not_finish() -> None:
    """A poll of what never changes, a program in no memory, one that leaves it."""
    program = Program()
    program.label(3)
    program.poll(ip_of("STRENG", 4), 0, 1, 31, 31)
    program.end()
    assert _start(program) == (
        "epoch 3: EPOCHCTRL: word 3 of the program waits for 1 in bits 31 to 31 at 0x09000, where 0 stays"
    )
    assert _start(program, 0x10000000) == ("NPU: EPOCHCTRL: its program: 8 bytes at 0x10000000: no memory is there")
    assert "a program begins at a multiple of 8 bytes, not at 0x70000004" in _start(program, build.FLASH + 4)
    long = (0xCA057A7A).to_bytes(4, "little") + (1 << 20).to_bytes(4, "little")
    assert "its program: 4194312 bytes at 0x70000000 leave FLASH by" in _start(long)
    assert "no program at 0x34000000: 0x150e0700 stands there" in _start(program, RAM)


def test_a_field_write_runs_nothing() -> None:
    """It changes what is stored: the look at it is no poll, though the engine is enabled."""
    tested = device()
    _reader_and_writer(tested)
    before = build.plain(tested.memory, RAM + 0x8000, 8)
    program = Program()
    program.write_short(ip_of("STRENG", 1), 0, 1, 1, 11)
    program.end()
    execute(program.whole(), tested)
    assert build.plain(tested.memory, RAM + 0x8000, 8) == before
    assert tested.advance()
    assert build.plain(tested.memory, RAM + 0x8000, 8) == build.plain(tested.memory, RAM, 8)


def test_field_writes_keep_the_other_bits() -> None:
    """But not where ones are commands: what is pending there is not cleared with it."""
    program = Program()
    program.write(5, 0x10, 0x1234, 31, 16)
    program.write_short(5, 0x10, 9, 4, 0)
    program.write_short(1, 0x10, 1, 1, 2)
    program.end()
    memory = build.memory()
    data = program.data()
    memory.view(build.FLASH, len(data))[:] = np.frombuffer(data, np.uint8)
    tested = device(memory)
    tested.write(at("INTCTRL", "INTSET"), 0b1111)
    tested.write(at("EPOCHCTRL", "ADDR"), build.FLASH)
    tested.write(at("EPOCHCTRL", "CTRL"), 1)
    tested.advance()
    assert tested.read(at("STRENG", "DEPTH")) == 0x12340009
    assert tested.read(at("INTCTRL", "INTREG")) == 0b1011 | 1 << 28


# ---- modes that stop ----


def _whole(state: NpuState) -> None:
    """An epoch with a unit of each kind in modes that run."""
    build.engine(state, 0, RAM, 16)
    build.engine(state, 1, RAM + 0x8000, 16, write=True)
    build.convolution(state)
    build.arithmetic(state)
    build.setup(state, "ACTIV", CTRL={"TYPE": 3, "ROUND": 1, "ORNDMODE": 1})
    build.setup(state, "POOL", CTRL={"TYPE": 0}, PDIMS={"BSIZE": 1}, FDIMS={"FEATX": 1, "FEATY": 1})
    state.link(("STRENG", 1, 0), (("STRENG", 0), 1, 0))


# Each mode of the specification's list: unit, register, field, value, and what must stand with it.
STOPS: list[tuple[str, str, str, int, dict[str, dict[str, int]]]] = [
    *[("STRENG", "CTRL", name, 1, {}) for name in ("NOINC", "ISTART", "SUBSAMPLE", "DESCR", "ROUND", "BEFORCE")],
    *[("STRENG", "CTRL", "SERDES", 1, {}), ("STRENG", "STOPTAG", "EN", 1, {}), ("STRENG", "EXTSYNC", "EN", 1, {})],
    *[("STRENG", "STRD", "FGAP", 3, {}), ("STRENG", "STRD", "BGAP", 1, {}), ("STRENG", "ENCR_MSB", "EN", 1, {})],
    *[("STRENG", "CTRL", "SIZE0", 4, {}), ("STRENG", "CTRL", "SIZE0", 0, {"CTRL": {"SIZE1": 8}})],
    *[("STRENG", "CTRL", "SIZE1", 4, {}), ("STRENG", "CTRL", "SIZE2", 2, {"CTRL": {"SIZE1": 8}})],
    ("STRENG", "CTRL", "SIZE1", 0, {"CTRL": {"SIZE2": 8}}),
    *[("STRENG", "POS", name, value, {}) for name, value in (("POS0", 1), ("POS1", 2), ("POS2", 0), ("WSWAP", 1))],
    *[("STRENG", "POS", "HSWAP", 1, {}), ("STRENG", "POS", "BSWAP", 1, {}), ("STRENG", "LIMITEN", "FRAMELIMIT", 0, {})],
    *[("CONVACC", "CTRL", "KT1", 1, {}), ("CONVACC", "CTRL", "FC", 1, {}), ("CONVACC", "ITER", "NUMBER", 1, {})],
    *[("CONVACC", "CTRL", "SIMD", value, {}) for value in (0, 3)],
    *[("CONVACC", "CTRL", "AFILTMODE", value, {}) for value in (1, 2)],
    *[("CONVACC", "CTRL", "KSETEN", value, {}) for value in (1, 2)],
    *[("CONVACC", "CTRL", "KUNSIGNED", 1, {}), ("CONVACC", "DFORMAT", "SAT", 0, {})],
    *[("CONVACC", "DFORMAT", "ORNDMODE", value, {}) for value in (0, 2)],
    *[("CONVACC", "DFORMAT", "FROUND", 1, {}), ("CONVACC", "DFORMAT", "FSAT", 1, {})],
    *[("CONVACC", "CTRL", "GEN1SUM", 1, {}), ("CONVACC", "CTRL", "DEEPMODE", 1, {"CTRL": {"FSTAT": 1}})],
    ("CONVACC", "CTRL", "DSS2MODE", 1, {"CTRL": {"FSTAT": 1}}),
    ("CONVACC", "CTRL", "DSS2MODE", 1, {"CTRL": {"DEEPMODE": 1}}),
    ("CONVACC", "KFORMAT", "WIDTH", 3, {"CTRL": {"DEEPMODE": 1}}),
    *[("ARITH", "CTRL", "OP", value, {}) for value in (3, 0x0B, 0x2F, 0x33, 0x37)],
    *[("ARITH", "CTRL", "ORNDMODE", 0, {}), ("ARITH", "INSHIFTER", "FRNDMODEX", 0, {"INSHIFTER": {"FROUNDX": 1}})],
    ("ARITH", "INSHIFTER", "FRNDMODEY", 2, {"INSHIFTER": {"FROUNDY": 1}}),
    *[("ACTIV", "CTRL", "TYPE", value, {}) for value in (0, 1, 2)],
    *[("ACTIV", "CTRL", "ORNDMODE", 0, {}), ("ACTIV", "CTRL", "FRNDMODE", 0, {"CTRL": {"FROUND": 1}})],
    *[("POOL", "CTRL", "TYPE", value, {}) for value in (1, 2, 3, 8, 9)],
    ("POOL", "RNDCTRL", "ORNDMODE", 0, {"CTRL": {"ROUND": 1}}),
    *[("DECUN", "CTRL", "EN", 1, {}), ("RECBUF", "CTRL", "EN", 1, {})],
]


@pytest.mark.parametrize(("kind", "register", "field", "value", "more"), STOPS)
def test_a_mode_that_stops(kind: str, register: str, field: str, value: int, more: dict[str, Any]) -> None:
    """One line: epoch, unit, register with its offset, field, value; what can be assumed is told."""
    state = NpuState()
    _whole(state)
    index = 1 if kind == "STRENG" else 0
    unit = state.unit(kind, index)
    for name, fields in {**more, register: {**more.get(register, {}), field: value}}.items():
        unit.set(name, **fields)
    with pytest.raises(NpuError) as caught:
        build.run(state, build.memory())
    text = str(caught.value)
    place = registers.KINDS[kind].registers[register].offset
    assert text.startswith(f"epoch 7: {unit.name} {register} (0x{place:03x}) {field} = {value}: "), text
    assert "\n" not in text
    name = f"{kind}.{field}={value}"
    assert (f"--assume {name}" in text) == (name in assumable())


def test_every_row_of_the_table_has_its_test() -> None:
    rows = {(mode.kind, mode.register, mode.field) for mode in MODES}
    tested = {(kind, register, field) for kind, register, field, _, _ in STOPS}
    also = {("CONVACC", "ITER", "PERIOD"), ("CONVACC", "KFORMAT", "HEIGHT"), ("POOL", "RNDCTRL", "FRNDMODE")}
    also |= {("EPOCHCTRL", "ENCR_MSB", "EN"), ("EPOCHCTRL", "CTRL", "SM")}
    assert rows == tested | also


@pytest.mark.parametrize(("register", "field"), [("ENCR_MSB", "EN"), ("CTRL", "SM")])
def test_modes_of_the_epoch_controller_that_stop(register: str, field: str) -> None:
    tested = device()
    tested.state.unit("EPOCHCTRL").set(register, **{field: 1})
    tested.write(at("EPOCHCTRL", "CTRL"), 1 | tested.state.unit("EPOCHCTRL").word(0))
    with pytest.raises(NpuError, match=rf"EPOCHCTRL {register} .* {field} = 1"):
        tested.advance()


def test_ticks_of_another_type_stop() -> None:
    state = NpuState()
    _whole(state)
    state.unit("STRSWITCH").words[0x0C] |= 1 << 23
    with pytest.raises(NpuError) as caught:
        build.run(state, build.memory())
    assert str(caught.value) == "epoch 7: STRSWITCH DSTSTRENG10 (0x00c) TICKTYPE = 1: ticks of another type are unknown"


def test_modes_that_must_not_stop() -> None:
    """What public programs use: raw outputs, shifts of unused inputs, mode 0 where nothing is rounded."""
    state = NpuState()
    _whole(state)
    state.unit("STRENG", 1).set("CTRL", RAW_OUT=1, NOBLK=1, SINGLE=1)
    state.unit("STRENG", 1).set("POS", GAPCYCLES=0)
    state.unit("ARITH").set("CTRL", ROUND=0, SAT=0, ORNDMODE=0, CLIPOUT=1)
    state.unit("ARITH").set("SHIFT", BY=31)
    state.unit("CONVACC").set("CTRL", KSETEN=3)
    state.unit("CONVACC").set("DFORMAT", RAW=1)
    state.unit("POOL").set("CTRL", DUALLINE=1)
    memory = build.memory()
    build.run(state, memory)
    assert build.plain(memory, RAM + 0x8000, 16) == build.plain(memory, RAM, 16)


def test_units_that_are_off_do_not_stop() -> None:
    state = NpuState()
    _whole(state)
    state.unit("ACTIV").set("CTRL", TYPE=1, EN=0)
    build.run(state, build.memory())


# ---- assumptions ----


def test_an_assumption_is_executed_and_named() -> None:
    """PARAM2, or PARAM, below the threshold; two words of the result say so."""
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 16)
    build.engine(state, 1, RAM + 0x8000, 16, write=True)
    fields = {"ACTIVPARAM": {"PARAM": 40}, "ACTIVPARAM2": {"PARAM2": -3}}
    build.setup(state, "ACTIV", CTRL={"TYPE": 2, "FBYTES": 1, "SAT": 1, "OBYTES": 1, "ORNDMODE": 1}, **fields)
    state.link(("ACTIV", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ACTIV", 0), 1, 0))
    allowed = Assumptions.of(["ACTIV.TYPE=2", "POOL.TYPE=1"])
    Dataflow(state, memory, "7", Settings(assumptions=allowed)).run()
    x = build.plain(memory, RAM, 16)
    assert build.plain(memory, RAM + 0x8000, 16) == [v if v > 40 else -3 for v in x]
    assert allowed.notes() == ["assumed ACTIV.TYPE=2: x above PARAM, else PARAM2, or PARAM where that is 0"]


def test_clip_by_assumption() -> None:
    state, memory = NpuState(), build.memory()
    build.engine(state, 0, RAM, 16)
    build.engine(state, 1, RAM + 0x8000, 16, write=True)
    unit = build.arithmetic(state, CTRL={"OP": 0x37}, COEFFAC={"A": -20 & 0xFFFF, "C": 50})
    state.link(("ARITH", 0, 0), (("STRENG", 0), 1, 0))
    state.link(("STRENG", 1, 0), (("ARITH", 0), 1, 0))
    assert unit.enabled
    build.run(state, memory, assume=("ARITH.OP=55",))
    assert build.plain(memory, RAM + 0x8000, 16) == [min(max(v, -20), 50) for v in build.plain(memory, RAM, 16)]


def test_what_is_no_assumption() -> None:
    with pytest.raises(NpuError, match=r"nothing to assume is called 'STRENG\.NOINC=1'"):
        Assumptions.of(["STRENG.NOINC=1"])


@pytest.mark.parametrize("seed", range(30))
def test_registers_at_random_never_hang(seed: int) -> None:
    """Whatever stands in the registers: an error of ours, or a run that ends."""
    rng = random.Random(seed)
    state = NpuState()
    _whole(state)
    for unit in state.by_ip.values():
        if unit.enabled or unit.kind == "STRSWITCH":
            for offset in list(unit.facts.by_offset or registers.DESTINATIONS):
                if rng.random() < 0.15:
                    unit.words[offset] = rng.getrandbits(32) if rng.random() < 0.5 else rng.getrandbits(6)
    try:
        build.run(state, build.memory())
    except NpuError as error:
        assert "\n" not in str(error)
