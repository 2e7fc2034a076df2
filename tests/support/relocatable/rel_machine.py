"""Installs a relocatable model into an emulated core and calls it: a second loader, in Python, for tests of images."""

from __future__ import annotations

import struct

import unicorn
from unicorn import arm_const as arm

from neuralart.relocatable.format.types import OFFSET, Image

STOP = 0x08000000
STACK, STACK_SIZE = 0x20000000, 0x10000
PAGE = 0x10000
EPOCH_ITEM, LAST = 32, 0x80
GARBAGE = b"\xa5"


class Machine:
    """A Cortex-M33 with memory where the test puts it; everything else is dead."""

    def __init__(self) -> None:
        self.uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M33)
        self.uc.mem_map(STOP, 0x1000)
        self.memory(STACK, STACK_SIZE)

    def memory(self, address: int, size: int, data: bytes = b"", *, writable: bool = True) -> None:
        start, end = address // PAGE * PAGE, -(-(address + size) // PAGE) * PAGE
        self.uc.mem_map(start, end - start)
        self.uc.mem_write(start, GARBAGE * (end - start))
        self.uc.mem_write(address, data)
        if not writable:
            self.uc.mem_protect(start, end - start, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)

    def words(self, address: int, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}I", self.uc.mem_read(address, 4 * count))

    def store(self, address: int, value: int) -> None:
        self.uc.mem_write(address, struct.pack("<I", value))

    def call(self, function: int, r9: int, *arguments: int) -> int:
        for register, value in zip((arm.UC_ARM_REG_R0, arm.UC_ARM_REG_R1, arm.UC_ARM_REG_R2), arguments, strict=False):
            self.uc.reg_write(register, value)
        self.uc.reg_write(arm.UC_ARM_REG_R9, r9)
        self.uc.reg_write(arm.UC_ARM_REG_SP, STACK + STACK_SIZE)
        self.uc.reg_write(arm.UC_ARM_REG_LR, STOP | 1)
        self.uc.emu_start(function | 1, STOP)
        assert self.uc.reg_read(arm.UC_ARM_REG_R9) == r9, "r9 is lost"
        assert self.uc.reg_read(arm.UC_ARM_REG_SP) == STACK + STACK_SIZE, "the stack is out of balance"
        return self.uc.reg_read(arm.UC_ARM_REG_R0)


class Model:
    """An installed model.

    Args:
        machine: Where.
        image: What; its file is put into read-only memory.
        file: Address of the file.
        ram: Address of the execution RAM.
        external: Address of the relative read/write pool.
        params: Address of split params; 0: they are in the file.
        copy: Code into the execution RAM, too; the file is then wiped.
    """

    def __init__(
        self,
        machine: Machine,
        image: Image,
        *,
        file: int,
        ram: int,
        external: int = 0,
        params: int = 0,
        copy: bool = False,
    ) -> None:
        self.machine, header = machine, image.header
        machine.memory(file, len(image.data), image.data, writable=False)
        # Not a byte more than the image asks for would be better; pages are what the core can protect.
        machine.memory(ram, image.copy_size if copy else image.xip_size)
        if params:
            machine.memory(params, len(image.params), image.params, writable=False)
        base = params or file + header["params_offset"]
        rom = ram if copy else file
        self.data = ram + image.ro_size if copy else ram
        segments = {0: 0, 2: rom, 4: self.data}
        for pool in image.pools:
            contents = image.params[pool.foff : pool.foff + pool.size]
            if pool.type == 1 and pool.id == 0:
                segments[8] = base + pool.foff
            elif pool.type == 1:
                segments[9] = external
                machine.memory(external, pool.size, contents if pool.data == 3 else b"")
            else:
                machine.memory(pool.dst, pool.size, contents if pool.type == 2 else b"")
        if copy:
            machine.uc.mem_write(ram, image.data[: image.ro_size])
        got_end = header["got_end"] & OFFSET
        machine.uc.mem_write(self.data, image.data[image.ro_size : image.ro_size + got_end])
        bss = range(header["bss_start"] & OFFSET, header["bss_end"] & OFFSET)
        machine.uc.mem_write(self.data + bss.start, bytes(len(bss)))

        def real(word: int) -> int:
            return segments[word >> 28] + (word & OFFSET)

        places = range(header["got_start"], header["got_end"], 4)
        for place in (*places, *image.relocations):
            at = real(place)
            machine.store(at, real(machine.words(at, 1)[0]))
        if copy and params:
            machine.uc.mem_protect(file // PAGE * PAGE, PAGE, unicorn.UC_PROT_NONE)
        self.entries = {name: real(word) for name, word in header.items() if word >> 28 == 2 and word & 1}

    def enter(self, name: str, *arguments: int) -> int:
        return self.machine.call(self.entries[name], self.data, *arguments)

    def buffer(self, table: str) -> tuple[int, int]:
        """Address and size of the first buffer of a table."""
        row = self.enter(table)
        _name, base, start, end = self.machine.words(row, 4)
        return base + start, end - start

    def run(self, pixels: bytes) -> bytes:
        """An inference."""
        address, size = self.buffer("get_input_buffers_info")
        assert len(pixels) == size
        self.machine.uc.mem_write(address, pixels)
        assert self.enter("ec_network_init") & 0xFF == 1
        assert self.enter("ec_inference_init") & 0xFF == 1
        item, size = self.enter("get_epoch_items"), EPOCH_ITEM
        while True:
            start, end, wait, flags = self.machine.words(item, 4)
            if flags & LAST:
                break
            assert wait == 0
            for function in filter(None, (start, end)):
                self.machine.call(function, self.data, item)
            item += size
        address, size = self.buffer("get_output_buffers_info")
        return bytes(self.machine.uc.mem_read(address, size))
