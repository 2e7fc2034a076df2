"""The NPU as a device of a board: words at offsets, its interrupt controller, work when the core waits.

Nothing runs when a unit is enabled, for others may be enabled after it. The whole dataflow runs
when RUNNING of an engine is read, when the core waits, and when a program polls.
"""

from __future__ import annotations

from collections.abc import Callable

from neuralart_virtual.npu import registers
from neuralart_virtual.npu.controller import execute, fetch
from neuralart_virtual.npu.dataflow import Dataflow, EpochWork, Settings
from neuralart_virtual.npu.errors import NpuError
from neuralart_virtual.npu.memory import NpuMemory
from neuralart_virtual.npu.modes import check
from neuralart_virtual.npu.state import NpuState, UnitState

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


_IRQ, _LABEL = 0x3C, 0x1C
_CONTROLLER_IRQ = 0xC
_FRAMES_DONE = 1 << 3


class NpuDevice:
    """The NPU of a board. It has the form of the virtual board's devices."""

    narrow = False

    def __init__(
        self,
        memory: NpuMemory,
        settings: Settings | None = None,
        *,
        base: int = registers.BASE_SECURE,
        finished: Callable[[str, EpochWork], None] = lambda label, work: None,
        instead: Callable[[str, NpuState], None] | None = None,
    ) -> None:
        """``finished`` is told the label of each epoch that ran, and what it did; ``instead``: takes the registers of
        each epoch, and nothing runs.
        """
        self.name, self.base, self.size = "NPU", base, registers.SIZE
        self.memory, self.settings = memory, settings or Settings()
        self.state = NpuState()
        self.interrupts = Interrupts(self.state.unit("INTCTRL"))
        self._finished, self._instead = finished, instead
        self._pending = False  # Engines were enabled, and nothing has run since
        self._program = False  # The epoch controller was started, and has not run yet
        self.label = ""
        self._epochs = 0

    # ---- accesses ----

    def _at(self, offset: int) -> tuple[UnitState, int]:
        unit = self.state.by_ip.get(offset // registers.STRIDE)
        at = offset % registers.STRIDE
        if unit is None:
            raise NpuError(f"no unit at offset 0x{offset:05x} of the NPU")
        if at % 4:
            raise NpuError(f"offset 0x{at:03x} is no word", unit=unit.name)
        return unit, at

    def read(self, offset: int) -> int:
        """The word at a byte offset. NpuError: no unit is there, or what runs now cannot."""
        unit, at = self._at(offset)
        if unit.kind == "INTCTRL":
            return self.interrupts.read(at)
        if unit.kind == "STRENG" and at == 0:
            return self._engine(unit)
        if unit.kind == "EPOCHCTRL" and at == 0:
            self.advance()
        return unit.read(at)

    def _engine(self, unit: UnitState) -> int:
        word = unit.read(0)
        if word & registers.EN and self._pending:
            self._run()
            word = unit.read(0)
        return word | (registers.RUNNING if word & registers.EN and self._pending else 0)

    def write(self, offset: int, value: int) -> None:
        """Write the word at a byte offset. NpuError: no unit is there."""
        unit, at = self._at(offset)
        if unit.kind == "INTCTRL":
            self.interrupts.write(at, value)
        elif self.takes_commands(offset):
            unit.words[at] = unit.word(at) & ~value
        else:
            unit.write(at, value)
            if at == 0 and unit.enabled:
                self._pending |= unit.kind == "STRENG"
                self._program |= unit.kind == "EPOCHCTRL"

    def stored(self, offset: int) -> int:
        """The word at a byte offset, without the effects of a read."""
        unit, at = self._at(offset)
        return unit.read(at)

    def takes_commands(self, offset: int) -> bool:
        """Ones that are written there clear what reads back."""
        unit, at = self._at(offset)
        if unit.kind == "INTCTRL":
            return at in (0xC, 0x10)
        return (unit.kind, at) in (("STRENG", _IRQ), ("EPOCHCTRL", _CONTROLLER_IRQ))

    # ---- work ----

    @property
    def pending(self) -> bool:
        """Something was enabled that has not run yet."""
        return self._pending or self._program

    def interrupt(self, line: int = 0) -> bool:
        """A line to the core is high: IRQ 53 + line of the STM32N6."""
        return self.interrupts.active(line)

    def advance(self) -> bool:
        """The core waits or polls: do what is to be done. Returns False if there was nothing."""
        if self._program:
            self._program = False
            self._run_program()
            return True
        if self._pending:
            self._run()
            return True
        return False

    def begin_epoch(self, label: str) -> None:
        """What runs from now on has this label."""
        self.label = label
        self.state.unit("EPOCHCTRL").words[_LABEL] = int(label)

    def _run_program(self) -> None:
        controller = self.state.unit("EPOCHCTRL")
        check(controller, self.settings.assumptions)
        try:
            execute(fetch(self.memory, controller.get("ADDR")), self)
        except NpuError as error:
            raise error.at(epoch=self.label) from None
        controller.words[_CONTROLLER_IRQ] = controller.word(_CONTROLLER_IRQ) | 1
        self.interrupts.raise_event(EPOCHS_DONE)

    def _run(self) -> None:
        """Run the dataflow of all enabled units. Its output engines have finished then."""
        self._pending = False
        label = self.label or str(self._epochs)
        if self._instead is not None:
            return self._instead(label, self.state)
        flow = Dataflow(self.state, self.memory, label, self.settings)
        work = flow.run()
        self._epochs += 1
        for index, engine in flow.engines.items():
            if engine.writes and engine.unit.get("EVENT", "EN_OFLOW_FRM"):
                engine.unit.words[_IRQ] = engine.unit.word(_IRQ) | _FRAMES_DONE
                self.interrupts.raise_event(ENGINE_DONE + index)
        self._finished(label, work)
