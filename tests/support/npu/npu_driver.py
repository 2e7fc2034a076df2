"""Drives the virtual NPU by register writes only, in the order in which a runtime writes them.

A network's epochs arrive as writes, polls and interrupts: what the device leaves in memory must be what the
epochs leave that are run from their description. Copies that a runtime does by engines (transposes) are
epochs here, too.
"""

from __future__ import annotations

import numpy as np

from neuralart.vendor.network_c.types import EC
from neuralart_virtual.network_c import ecblobs, epochs
from neuralart_virtual.npu import registers
from neuralart_virtual.npu.description import hardware
from neuralart_virtual.npu.device import NpuDevice
from neuralart_virtual.npu.run import VirtualNetwork
from neuralart_virtual.npu.software import dispatch
from neuralart_virtual.npu.software.tensors import Kernel, array
from neuralart_virtual.npu.state import NpuState, UnitState
from support.npu.npu_blob import ip_of
from support.npu.npu_build import setup, word

ALL = 0xFFFFFFFF
_ENGINES = 0x3FF
_FRAMES_DONE, _EVENT_ON = 1 << 3, 1 << 19
_PROGRAMS = 0xB0000000  # Where programs of the epoch controller stand


# Bits of BGATES in the order of the units.
_GATED = ("STRENG", "CONVACC", "DECUN", "ACTIV", "ARITH", "POOL", "RECBUF", "EPOCHCTRL")


def _gate_bits() -> dict[tuple[str, int], int]:
    """The bit of BGATES of each unit that has one."""
    keys = [key for kind in _GATED for key in NpuState().units if key[0] == kind]
    return {key: bit for bit, key in enumerate(keys)}


def _at(kind: str, register: str, index: int = 0) -> int:
    return ip_of(kind, index) << 12 | registers.place(kind, register)[0]


class RegisterDriver:
    """A runtime that polls engines, or waits for their interrupt."""

    def __init__(self, device: NpuDevice, *, interrupts: bool) -> None:
        """Switch the NPU on, as a runtime does at its start."""
        self.device, self._interrupts = device, interrupts
        self.epochs = self.copies = self.programs = 0
        self._gates = _gate_bits()
        write = device.write
        write(_at("CLKCTRL", "CTRL"), registers.CLR)
        write(_at("CLKCTRL", "CTRL"), 1)
        for register, value in (("AGATES0", ALL), ("AGATES1", ALL), ("BGATES", 0)):
            write(_at("CLKCTRL", register), value)
        for kind in registers.KINDS:
            assert device.read(ip_of(kind) << 12 | registers.VERSION), f"{kind} has no version"
        for index in (0, 1):
            write(_at("BUSIF", "CTRL", index), 1)
        write(_at("INTCTRL", "CTRL"), 1)
        for bit in (registers.CLR, registers.CONFCLR):
            write(_at("INTCTRL", "CTRL"), bit)
            assert not device.read(_at("INTCTRL", "CTRL")) & bit
        write(_at("INTCTRL", "INTORMSK0"), _ENGINES)
        write(_at("INTCTRL", "INTANDMSK0"), ALL)
        write(_at("INTCTRL", "CTRL"), 1)

    def epoch(self, state: NpuState) -> None:
        """Bring the units into a state, run them, and leave them as they were."""
        write = self.device.write
        units = [(ip, unit) for ip, unit in state.by_ip.items() if unit.enabled and unit.kind != "STRSWITCH"]
        outputs = [unit.index for _, unit in units if unit.kind == "STRENG" and unit.get("CTRL", "DIR")]
        if self._interrupts:
            write(_at("INTCTRL", "INTANDMSK0"), ALL & ~sum(1 << i for i in outputs))
        for ip, unit in units:
            bit = self._gates.get((unit.kind, unit.index))
            if bit is not None:
                gates = self.device.read(_at("CLKCTRL", "BGATES"))
                write(_at("CLKCTRL", "BGATES"), gates | 1 << bit)
            self._unit(ip, unit, wakes=self._interrupts and unit.index in outputs)
        switch = state.unit("STRSWITCH")
        for value in (registers.CLR, registers.CONFCLR, 1):
            write(_at("STRSWITCH", "CTRL"), value)
        destinations = [offset for offset in switch.words if offset in registers.DESTINATIONS]
        for offset in destinations:
            write(ip_of("STRSWITCH") << 12 | offset, switch.words[offset])
        for ip, unit in units:
            write(ip << 12, unit.word(0))
        self._wait(outputs)
        for offset in destinations:
            write(ip_of("STRSWITCH") << 12 | offset, 0)
        for ip, _ in units:
            for bit in (registers.CLR, registers.CONFCLR):
                write(ip << 12, bit)
                assert not self.device.read(ip << 12) & bit
        write(_at("CLKCTRL", "BGATES"), 0)
        write(_at("INTCTRL", "INTANDMSK0"), ALL)
        self.epochs += 1

    def _unit(self, ip: int, unit: UnitState, *, wakes: bool) -> None:
        write = self.device.write
        write(ip << 12, unit.word(0) & ~1)
        for offset, value in unit.words.items():
            if offset:
                write(ip << 12 | offset, value)
        if unit.kind == "STRENG" and wakes:
            event = _at("STRENG", "EVENT", unit.index)
            write(event, unit.get("EVENT") | _EVENT_ON)
        words = [int(w) for w in unit.coefficients]
        if unit.kind == "ARITH" and any(words):
            # The first 384 entries with the window moved to the start, the rest without.
            kept = self.device.read(ip << 12 | 0x2C)
            for moved, first, last, base in ((1, 0, 768, 0x400), (0, 768, 1024, 0xC00)):
                write(ip << 12 | 0x2C, moved)
                for place, value in enumerate(words[first:last]):
                    write(ip << 12 | base + 4 * place, value)
            write(ip << 12 | 0x2C, kept)
        if unit.kind == "ACTIV" and any(words):
            for place, value in enumerate(words):
                write(ip << 12 | (0x400 + 4 * place if place < 32 else 0x800 + 4 * (place - 32)), value)

    def _wait(self, outputs: list[int]) -> None:
        device = self.device
        if not self._interrupts:
            assert not any(device.read(_at("STRENG", "CTRL", i)) & registers.RUNNING for i in outputs)
            return
        assert not device.interrupt(), "an interrupt before anything ran"
        assert device.advance() and device.interrupt()
        seen = device.read(_at("INTCTRL", "INTREG"))
        assert seen == sum(1 << i for i in outputs)
        for index in outputs:
            assert device.read(_at("STRENG", "IRQ", index)) == _FRAMES_DONE
            device.write(_at("STRENG", "IRQ", index), _FRAMES_DONE)
        device.write(_at("INTCTRL", "INTCLR"), seen)
        assert not device.interrupt()

    def program(self, words: list[int]) -> None:
        """Have the epoch controller run a program; always by its interrupt."""
        device = self.device
        data = np.array(words, "<u4").view(np.uint8)
        address = _PROGRAMS + (self.programs << 20)
        device.memory.add(f"program {self.programs}", address, data)
        self.programs += 1
        write = device.write
        write(_at("INTCTRL", "INTANDMSK0"), ALL & ~_ENGINES)
        write(_at("CLKCTRL", "BGATES"), 1 << self._gates["EPOCHCTRL", 0])
        for register, value in (("CTRL", 0), ("ADDR", address), ("CTRL", 1)):
            write(_at("EPOCHCTRL", register), value)
        assert not device.interrupt()
        assert device.advance() and device.interrupt()
        seen, done = device.read(_at("INTCTRL", "INTREG")), device.read(_at("EPOCHCTRL", "IRQ"))
        assert (seen, done) == (1 << 28, 1)
        write(_at("EPOCHCTRL", "IRQ"), done)
        write(_at("INTCTRL", "INTCLR"), seen)
        for bit in (registers.CLR, registers.CONFCLR):
            write(_at("EPOCHCTRL", "CTRL"), bit)
        write(_at("CLKCTRL", "BGATES"), 0)
        assert not device.interrupt()


def run(network: VirtualNetwork, *, interrupts: bool) -> RegisterDriver:
    """One inference of a network by register writes. Software kernels run as they do elsewhere."""
    driver = RegisterDriver(NpuDevice(network.memory, network.settings), interrupts=interrupts)
    description, reader = network._description, network._reader
    for block in network.network.blocks:
        if block.kind == EC:
            blob = network._blobs[block.blob]
            driver.program(ecblobs.moved(blob, network.ids, network.network.ecblobs))
        for name in dict.fromkeys(name for name in (block.start, block.end) if name):
            function = description.function(name)
            state = None if block.kind == EC else hardware.epoch(function, reader)
            if state is not None:
                driver.epoch(state)
            moves = [call for call in function.calls if call.function == "LL_ATON_LIB_DMA_Transpose"]
            for call in moves:
                driver.epoch(_transpose(Kernel(reader, function, call, [])))
                driver.copies += 1
            if not moves:
                dispatch.run(function, reader)
    return driver


def _transpose(kernel: Kernel) -> NpuState:
    """An epoch in which one engine reads in the order of the output, and another one writes in a row."""
    order = array(kernel, kernel.argument(5))
    starts, widths, shapes, strides = [], [], [], []
    for place in (0, 2):
        structure = kernel.structure(place)
        base = kernel.reader.address(structure, "addr_base")
        starts.append(base + kernel.reader.number(structure, "offset_start"))
        widths.append(kernel.reader.number(structure, "nbits", 8) // 8)
        shapes.append(array(kernel, structure.members["shape"]))
        pointers = kernel.function.arrays[epochs.name(kernel.argument(place + 1))]
        strides.append(array(kernel, pointers.items[0]))
    element, shape = widths[0], shapes[1]
    steps = [strides[0][axis] for axis in order]
    state = NpuState()
    for index, writes, base, by_axis in ((0, 0, starts[0], steps), (1, 1, starts[1], strides[1])):
        # The batch, of which there is one, falls away.
        frames, height, width = shape[-3:]
        lanes = {"SIZE0": 8, "SIZE1": 8 * (element > 1), "SIZE2": 0}
        unit = setup(state, "STRENG", index, CTRL={"SINGLE": 1, "DIR": writes, **lanes})
        word(unit, ADDR=base, FOFFSET=by_axis[-3], LIMIT=frames)
        unit.set("FSIZE", WIDTH=width, HEIGHT=height)
        # Elements of four bytes are two of two bytes.
        unit.set("DEPTH", SIZE=max(element // 2, 1), OFFSET=by_axis[-1])
        unit.set("STRD", LOFF=by_axis[-2])
        unit.set("LIMITEN", FRAMELIMIT=1, DOFF_MSB=by_axis[-1] >> 16)
        unit.set("CID_CACHE", LOFF_MSB=by_axis[-2] >> 16)
    state.link(("STRENG", 1, 0), (("STRENG", 0), 1, 0))
    return state
