"""Writes programs of the epoch controller: registers by names in, words out."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from neuralart_virtual.npu import registers
from neuralart_virtual.npu.state import NpuState

MAGIC = 0xCA057A7A


def ip_of(kind: str, index: int = 0) -> int:
    """The number of a unit."""
    return registers.KINDS[kind].first_ip + index


@dataclass
class Program:
    """Instructions one after the other."""

    words: list[int] = field(default_factory=list)

    def label(self, number: int) -> None:
        self.words.append(number << 5 | 0x1D)

    def write(self, ip: int, offset: int, value: int, high: int = 31, low: int = 0) -> None:
        """A field write with its value in the next word."""
        self.words += [ip << 26 | offset // 4 << 16 | high << 10 | low << 5, value & 0xFFFFFFFF]

    def write_short(self, ip: int, offset: int, value: int, width: int, low: int) -> None:
        """A field write in one word."""
        self.words.append(ip << 26 | offset // 4 << 21 | value << 13 | (width - 1) << 10 | low << 5 | 1)

    def write_many(self, ip: int, offset: int, values: list[int], *, same: bool = False) -> None:
        """Words to consecutive registers, or all to one."""
        self.words += [ip << 26 | offset // 4 << 16 | len(values) << 5 | (2 if same else 3), *values]

    def poll(self, ip: int, offset: int, value: int, high: int, low: int) -> None:
        self.words += [ip << 26 | offset // 4 << 16 | high << 10 | low << 5 | 4, 0, value]

    def end(self) -> None:
        self.words.append(0x0C)

    def whole(self) -> list[int]:
        """With the head."""
        return [MAGIC, len(self.words), *self.words]

    def data(self) -> bytes:
        """As bytes, a multiple of 8."""
        words = self.whole()
        words += [0] * (len(words) % 2)
        return struct.pack(f"<{len(words)}I", *words)

    def epoch(self, number: int, state: NpuState) -> None:
        """What brings an NPU to a state, runs it, and leaves it as it was: one epoch."""
        self.label(number)
        outputs = []
        for ip, unit in state.by_ip.items():
            if not unit.words and not unit.coefficients.any():
                continue
            self.write_short(ip, 0, 1, 1, 30)  # CONFCLR
            self._coefficients(ip, unit.kind, [int(v) for v in unit.coefficients])
            for offset, value in sorted(unit.words.items()):
                if offset:
                    self.write(ip, offset, value)
            self.write(ip, 0, unit.word(0) & ~1)
            if unit.kind == "STRENG" and unit.get("CTRL", "DIR") and unit.enabled:
                outputs.append(ip)
        for ip, unit in state.by_ip.items():
            if unit.enabled:
                self.write_short(ip, 0, 1, 1, 0)
        for ip in outputs:
            self.poll(ip, 0, 0, 31, 31)
        for ip, unit in state.by_ip.items():
            if unit.words:
                self.write_short(ip, 0, 1, 1, 30)

    def _coefficients(self, ip: int, kind: str, values: list[int]) -> None:
        if kind == "ARITH" and any(values):
            # The first 384 entries with the window moved to the start, the rest without.
            self.write_short(ip, 0x2C, 1, 1, 0)
            self.write_many(ip, 0x400, values[:768])
            self.write_short(ip, 0x2C, 0, 1, 0)
            self.write_many(ip, 0xC00, values[768:])
        elif kind == "ACTIV" and any(values):
            self.write_many(ip, 0x400, values[:32])
            self.write_many(ip, 0x800, values[32:])
