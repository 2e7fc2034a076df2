"""The cycle counter of the core's trace unit (DWT, Armv8-M ARM D1.2): a virtual board counts instructions there."""

from __future__ import annotations

from collections.abc import Callable

from neuralart.emulator.devices import PAGE, RegisterFile

DWT = 0xE0001000
_CTRL, _COUNT, _ENABLE = 0x0, 0x4, 1
# The emulator tells no more than that so many instructions are done. Fewer would take longer.
STEP = 1000


class InstructionCounter(RegisterFile):
    """Counts in steps once the firmware has turned it on; the emulator is slower from then on."""

    def __init__(self, stop: Callable[[], None]) -> None:
        """``stop``: called when it is turned on; the core is to stop then, and to go on in steps."""
        super().__init__("DWT", DWT, PAGE, changed=lambda offset: stop())

    @property
    def step(self) -> int:
        """How many instructions the core may execute at once; 0: any number."""
        return STEP if self.get(_CTRL) & _ENABLE else 0

    def done(self, instructions: int) -> None:
        """The core has executed so many."""
        self._values[_COUNT] = self.get(_COUNT) + instructions & 0xFFFFFFFF
