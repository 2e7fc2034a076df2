"""The interrupt controller of the NPU: 32 events, four lines to the core, two masks each."""

from __future__ import annotations

from neuralart_virtual.npu.state import UnitState

ENGINE_DONE, EPOCHS_DONE = 0, 28  # Bits: the first of ten engines; the epoch controller
_ALL = 0xFFFFFFFF


class Interrupts:
    """Events and masks. A bit that is set in a mask takes no part."""

    def __init__(self, unit: UnitState) -> None:
        self._unit = unit
        self._offsets = {name: reg.offset for name, reg in unit.facts.registers.items()}
        self.events = 0

    def read(self, offset: int) -> int:
        """The word of a register; INTSET and INTCLR read as INTREG."""
        if offset in (self._offsets[name] for name in ("INTREG", "INTSET", "INTCLR")):
            return self.events
        return self._unit.read(offset)

    def write(self, offset: int, value: int) -> None:
        """Write a register; ones set or clear events."""
        if offset == self._offsets["INTSET"]:
            self.events |= value & _ALL
        elif offset == self._offsets["INTCLR"]:
            self.events &= ~value
        elif offset != self._offsets["INTREG"]:
            # CLR empties what is pending; CONFCLR restores the masks, too.
            if offset == 0 and value & (1 << 1 | 1 << 30):
                self.events = 0
            self._unit.write(offset, value)

    def raise_event(self, bit: int) -> None:
        """An event came."""
        self.events |= 1 << bit

    def active(self, line: int = 0) -> bool:
        """The line to the core is high: an event of the OR mask, or all events of the AND mask."""
        some = self._unit.get(f"INTORMSK{line}")
        every = self._unit.get(f"INTANDMSK{line}")
        if self.events & ~some & _ALL:
            return True
        return every != _ALL and (self.events | every) == _ALL
