"""What stands in the registers and coefficient memories of one NPU."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from neuralart_virtual.npu import registers
from neuralart_virtual.npu.errors import NpuError

ARITH_ENTRIES = 512
_MASK = 0xFFFFFFFF


class UnitState:
    """The words of one unit. A write keeps all bits but CLR, which reads back as 0."""

    def __init__(self, kind: str, index: int) -> None:
        self.kind, self.index = kind, index
        self.facts = registers.KINDS[kind]
        self.name = f"{kind}{index}" if self.facts.count > 1 else kind
        self.label = ""  # Of the epoch that runs, for messages
        self.words: dict[int, int] = {}
        # ARITH: two words per entry. ACTIV: ROM0 in the first 32 words, ROM1 behind.
        size = {"ARITH": 2 * ARITH_ENTRIES, "ACTIV": 32 + 256}.get(kind, 0)
        self.coefficients = np.zeros(size, np.uint32)

    def reset(self) -> None:
        """What CONFCLR does: every register has its value after reset, coefficients are 0."""
        self.words.clear()
        self.coefficients[:] = 0

    def word(self, offset: int) -> int:
        """The word at an offset; its value after reset if nothing was written."""
        if offset in self.words:
            return self.words[offset]
        register = self.facts.by_offset.get(offset)
        return register.reset if register is not None else 0

    def get(self, register: str, field: str = "", *, signed: bool = False) -> int:
        """The value of a field; of the whole register without one."""
        offset, bits = registers.place(self.kind, register, field)
        return registers.get(self.word(offset), bits, signed=signed)

    def set(self, register: str, **fields: int) -> None:
        """Set fields of a register; the others keep their values."""
        for field, value in fields.items():
            offset, bits = registers.place(self.kind, register, field)
            self.words[offset] = registers.put(self.word(offset), bits, value)

    def write(self, offset: int, value: int) -> None:
        """A word from outside. CLR empties what the model does not keep; CONFCLR resets the unit."""
        value &= _MASK
        slot = self._slot(offset)
        if slot is not None:
            self.coefficients[slot] = value
        elif offset == 0:
            if value & registers.CONFCLR:
                self.reset()
            else:
                self.words[0] = value & ~(registers.CLR | registers.RUNNING)
        elif offset != registers.VERSION:
            self.words[offset] = value

    def read(self, offset: int) -> int:
        """The word at an offset."""
        if offset == registers.VERSION:
            return self.facts.version
        slot = self._slot(offset)
        return int(self.coefficients[slot]) if slot is not None else self.word(offset)

    def _slot(self, offset: int) -> int | None:
        """The word of the coefficient memory behind an offset; None if it is a register.

        ARITH shows 384 of its 512 entries at a time: the first ones with TRANSLATEADDR.EN, else the
        last ones.
        """
        if self.kind == "ARITH":
            first, count = registers.ARITH_WINDOW
            if first <= offset < first + 4 * count:
                return (offset - (first if self.get("TRANSLATEADDR", "EN") else 0)) // 4
        if self.kind == "ACTIV":
            for begin, (first, count) in ((0, registers.ACTIV_ROM0), (32, registers.ACTIV_ROM1)):
                if first <= offset < first + 4 * count:
                    return begin + (offset - first) // 4
        return None

    @property
    def enabled(self) -> bool:
        """EN of CTRL."""
        return bool(self.word(0) & registers.EN)

    def refuse(self, register: str, field: str, reason: str, *, hint: str = "") -> NoReturn:
        """Stop: the value of a field cannot be executed. Raises NpuError."""
        offset, _ = registers.place(self.kind, register, field)
        place: Any = {"register": register, "offset": offset, "field": field, "value": self.get(register, field)}
        raise NpuError(reason, epoch=self.label, unit=self.name, hint=hint, **place)

    def fail(self, reason: str) -> NoReturn:
        """Stop: something is wrong with the unit as a whole. Raises NpuError."""
        raise NpuError(reason, epoch=self.label, unit=self.name)


class NpuState:
    """All units of one NPU."""

    def __init__(self) -> None:
        self.by_ip = {ip: UnitState(kind, index) for ip, (kind, index) in registers.UNITS.items()}
        self.units = {(unit.kind, unit.index): unit for unit in self.by_ip.values()}

    def unit(self, kind: str, index: int = 0) -> UnitState:
        """One unit."""
        return self.units[kind, index]

    def link(self, destination: tuple[str, int, int], *contexts: tuple[tuple[str, int], int, int]) -> None:
        """Set one destination of the stream switch: (source, enabled, frames) of one or two contexts."""
        word = 0
        for number, (source, enabled, frames) in enumerate(contexts):
            values = {"EN": enabled, "LINK": registers.LINKS[source], "FNR": frames}
            for name, value in values.items():
                field = registers.DESTINATION.fields[f"{name}{number}"]
                word = registers.put(word, field, value)
        self.unit("STRSWITCH").words[registers.DESTINATION_AT[destination]] = word
