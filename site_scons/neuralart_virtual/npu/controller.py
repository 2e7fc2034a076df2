"""The epoch controller: the words of its programs, and how it runs one from memory, epoch by epoch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory

MAGIC = 0xCA057A7A
WRITE, WRITE_SHORT, WRITE_SAME, WRITE_FOLLOWING, POLL, END, LABEL = 0, 1, 2, 3, 4, 0x0C, 0x1D


class FieldWrite(NamedTuple):
    """Set bits of a register."""

    at: int  # Number of the instruction's word in the program
    ip: int  # Of the unit
    offset: int  # Byte offset of the register
    value: int
    high: int  # Number of the highest bit that is written
    low: int


class Poll(NamedTuple):
    """Wait until bits of a register have a value."""

    at: int
    ip: int
    offset: int
    value: int
    high: int
    low: int


class Label(NamedTuple):
    """The number of the epoch that follows."""

    at: int
    number: int


Instruction = FieldWrite | Poll | Label


def _stop(at: int, reason: str) -> NpuError:
    return NpuError(f"word {at} of the program: {reason}", unit="EPOCHCTRL")


def decode(words: Sequence[int]) -> Iterator[Instruction]:
    """The instructions up to the end of a program. NpuError: it is cut off, or none of ours."""
    if len(words) < 2 or words[0] != MAGIC:
        first = f"0x{words[0]:08x}" if words else "nothing"
        raise _stop(0, f"a program begins with 0x{MAGIC:08x}, not {first}")
    end = 2 + words[1]
    if end > len(words):
        raise _stop(1, f"{words[1]} words follow by its head, {len(words) - 2} do")
    at = 2
    while at < end:
        word, start = words[at], at
        op, ip, register = word & 0x1F, word >> 26, word >> 16 & 0x3FF
        high, low = word >> 10 & 0x1F, word >> 5 & 0x1F
        count = word >> 5 & 0x7FF
        size = {WRITE: 2, WRITE_SAME: 1 + count, WRITE_FOLLOWING: 1 + count, POLL: 3}.get(op, 1)
        if at + size > end:
            raise _stop(at, f"an instruction of {size} words ends behind the program")
        operands = words[at + 1 : at + size]
        at += size
        if op == WRITE:
            yield FieldWrite(start, ip, 4 * register, operands[0], *_bits(start, high, low))
        elif op == WRITE_SHORT:
            width = (word >> 10 & 7) + 1
            value, offset = word >> 13 & 0xFF, 4 * (word >> 21 & 0x1F)
            yield FieldWrite(start, ip, offset, value, *_bits(start, min(low + width - 1, 31), low))
        elif op in (WRITE_SAME, WRITE_FOLLOWING):
            for number, value in enumerate(operands):
                step = 4 * number if op == WRITE_FOLLOWING else 0
                yield FieldWrite(start, ip, 4 * register + step, value, 31, 0)
        elif op == POLL:
            # The first operand is unknown; it may be a limit of time.
            yield Poll(start, ip, 4 * register, operands[1], *_bits(start, high, low))
        elif op == LABEL:
            yield Label(start, word >> 5)
        elif op == END:
            return
        else:
            raise _stop(start, f"operation 0x{op:02x} is unknown (0x{word:08x})")
    raise _stop(end, "the program has no end")


def _bits(at: int, high: int, low: int) -> tuple[int, int]:
    if high < low:
        raise _stop(at, f"bits {high} down to {low} of a register")
    return high, low


class EpochHost(Protocol):
    """The device that the controller is a part of."""

    memory: NpuMemory

    def read(self, offset: int) -> int:
        """A word of the NPU."""

    def write(self, offset: int, value: int) -> None:
        """Write a word of the NPU."""

    def stored(self, offset: int) -> int:
        """A word of the NPU, without the effects of a read."""

    def begin_epoch(self, label: str) -> None:
        """What is run from now on has this label."""

    def takes_commands(self, offset: int) -> bool:
        """A write of ones does something there, and what reads back is something else."""


def fetch(memory: NpuMemory, address: int) -> list[int]:
    """The words of a program in memory. NpuError: there is none, or it leaves its memory."""
    if address % 8:
        reason = f"a program begins at a multiple of 8 bytes, not at 0x{address:08x}"
        raise NpuError(reason, unit="EPOCHCTRL")
    try:
        head = memory.words(address, 2)
        if head[0] != MAGIC:
            reason = f"no program at 0x{address:08x}: 0x{head[0]:08x} stands there"
            raise NpuError(reason, unit="EPOCHCTRL")
        return memory.words(address, 2 + head[1])
    except NpuError as error:
        raise NpuError(f"its program: {error.reason}", unit="EPOCHCTRL") from None


def execute(words: list[int], host: EpochHost) -> None:
    """Run a program to its end. NpuError: an unknown operation, or a poll that never ends."""
    for step in decode(words):
        if isinstance(step, Label):
            host.begin_epoch(str(step.number))
            continue
        address = step.ip << 12 | step.offset
        mask = ((1 << (step.high - step.low + 1)) - 1) << step.low
        if isinstance(step, FieldWrite):
            whole = mask == 0xFFFFFFFF or host.takes_commands(address)
            kept = 0 if whole else host.stored(address) & ~mask
            host.write(address, kept | step.value << step.low & mask)
            continue
        # Reading runs what is enabled: nothing changes from one look to the next.
        seen = (host.read(address) & mask) >> step.low
        if seen != step.value & mask >> step.low:
            reason = (
                f"word {step.at} of the program waits for {step.value} in bits {step.high} to"
                f" {step.low} at 0x{address:05x}, where {seen} stays"
            )
            raise NpuError(reason, unit="EPOCHCTRL")
