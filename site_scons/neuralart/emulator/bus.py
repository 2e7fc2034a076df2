"""The peripherals of a virtual board: which of them answer now, and register accesses on their way to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from neuralart.emulator.devices import PAGE, Device
from neuralart.errors import NeuralArtError


@dataclass(frozen=True)
class _Place:
    device: Device
    missing: Callable[[], str]


def _always() -> str:
    return ""


class Bus:
    """Maps the devices that answer; an access to one that does not is an access to nothing."""

    def __init__(
        self,
        uc: Any,
        halt: Callable[[str], None],
        near: Callable[[], str],
        changed: Callable[[], None],
    ) -> None:
        """No device yet. ``near`` tells where the core is; ``changed`` is called after every write to a register."""
        self._uc = uc
        self._halt = halt
        self._near = near
        self._changed = changed
        self._places: dict[int, _Place] = {}
        self._mapped: set[int] = set()

    def add(self, device: Device, missing: Callable[[], str] = _always) -> None:
        """Take a device, with what tells why it does not answer (empty: it does). NeuralArtError: its page is taken."""
        for base in range(device.base, device.base + device.size, PAGE):
            for other in self._places.values():
                if other.device.base <= base < other.device.base + other.device.size:
                    raise NeuralArtError(
                        f"machine unicorn models one peripheral per 4 KiB: {other.device.name} and {device.name} "
                        f"are both at 0x{base:08x}"
                    )
        self._places[device.base] = _Place(device, missing)

    def refresh(self) -> None:
        """Map what answers now, take away what does not."""
        for base, place in self._places.items():
            device = place.device
            size = (device.size + PAGE - 1) // PAGE * PAGE
            answers = not place.missing()
            if answers and base not in self._mapped:
                self._uc.mmio_map(base, size, self._on_read, device, self._on_write, device)
                self._mapped.add(base)
            elif not answers and base in self._mapped:
                self._uc.mem_unmap(base, size)
                self._mapped.discard(base)

    def why_dead(self, address: int) -> str:
        """Why the device at an address does not answer; empty if none is there."""
        for place in self._places.values():
            if place.device.base <= address < place.device.base + place.device.size:
                return place.missing()
        return ""

    def _on_read(self, uc: Any, offset: int, size: int, device: Device) -> int:
        if offset >= device.size:
            self._halt(f"read at 0x{device.base + offset:08x}{self._near()}: nothing is modeled there")
            return 0
        # Registers are words; a narrower read takes its bytes.
        value = device.read(offset & ~3) >> 8 * (offset & 3)
        return value & ((1 << 8 * size) - 1)

    def _on_write(self, uc: Any, offset: int, size: int, value: int, device: Device) -> None:
        if offset >= device.size or (size != 4 and not device.narrow) or offset & (size - 1):
            self._halt(
                f"write of {size} bytes at 0x{device.base + offset:08x}{self._near()}: no such register is modeled"
            )
            return
        if size < 4:
            shift = 8 * (offset & 3)
            mask = ((1 << 8 * size) - 1) << shift
            value = device.read(offset & ~3) & ~mask | value << shift & mask
        device.write(offset & ~3, value)
        self._changed()
