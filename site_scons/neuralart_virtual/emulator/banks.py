"""What answers at an address of a virtual board: memories, with host memory behind them, and peripherals."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from neuralart.boards.types import Board, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator import MachineStop
from neuralart_virtual.emulator.devices import PAGE, Device
from neuralart_virtual.emulator.image import Load
from neuralart_virtual.emulator.power import Power

# Memory is given to the emulator in pieces, when it is first touched: a flash of 128 MiB costs nothing.
PIECE = 1 << 20
# Erased NOR reads ones; the contents of RAM after power-up are undefined, so nothing may rely on zeros.
READ_ONLY = {"flash": 0xFF, "rom": 0xFF}
UNDEFINED = 0xA5


def import_unicorn() -> Any:
    """The emulator of the CPU. NeuralArtError: it is not installed."""
    try:
        import unicorn
    except ImportError as error:
        hint = "pip install 'scons-neuralart[emulator]'"
        raise NeuralArtError(f"the virtual board needs Unicorn: {error}", hint=hint) from error
    return unicorn


class _Piece:
    """Host memory behind a piece of a bank."""

    def __init__(self, block: mmap.mmap, start: int, size: int, fill: int) -> None:
        self.memory = memoryview(block)[start : start + size]
        self.memory[:] = bytes([fill]) * size
        self._pin = (ctypes.c_char * size).from_buffer(block, start)
        self.address = ctypes.addressof(self._pin)
        self.size = size


def _blocks(board: Board) -> dict[str, tuple[mmap.mmap, int]]:
    """Host memory of each bank, and where the bank begins in it. RAM that adjoins is one block, since buffers of the
    NPU reach from one bank into the next. The host gives pages when they are touched.
    """
    blocks: dict[str, tuple[mmap.mmap, int]] = {}
    groups: list[list[MemoryRegion]] = []
    for region in sorted(board.memory, key=lambda each: each.base):
        last = groups[-1][-1] if groups else None
        if last is not None and last.end == region.base and last.kind == region.kind not in READ_ONLY:
            groups[-1].append(region)
        elif region.size:
            groups.append([region])
    for group in groups:
        block = mmap.mmap(-1, group[-1].end - group[0].base)
        blocks |= {region.name: (block, region.base - group[0].base) for region in group}
    return blocks


class Banks:
    """All memories of a board.

    Both aliases of a memory are mapped to the same host memory. A bank that does not answer is not mapped at all, so
    every access to it is seen; what it held is gone when it was shut down, and kept when only its clock was off.

    Silicon was seen to answer differently: reads of a bank that is off give zeros, writes vanish, nothing faults. With
    ``zeros`` the banks do that.
    """

    def __init__(
        self,
        uc: Any,
        board: Board,
        power: Power,
        *,
        zeros: bool = False,
        lost: Callable[[int, int], None] = lambda start, end: None,
    ) -> None:
        """Maps nothing. ``lost`` is told ranges whose contents are gone. NeuralArtError: a memory is no whole pages."""
        self._uc = uc
        self._board = board
        self._power = power
        self._zeros = zeros
        self._lost = lost
        self._dead: set[str] = set()
        self._blocks = _blocks(board)
        self._pieces: dict[tuple[str, int], _Piece] = {}
        self._mapped: dict[tuple[str, int], tuple[int, ...]] = {}
        for region in board.memory:
            odd = [n for n in (region.base, region.alias or 0, region.size) if n % PAGE]
            if odd:
                what = f"machine unicorn maps pages of 4 KiB: 0x{odd[0]:x} of {region.name} is no multiple of it"
                raise NeuralArtError(what, where=board.where or f"board {board.name}")

    def _locate(self, address: int) -> tuple[MemoryRegion, int] | None:
        region = self._board.region_at(address)
        if region is None:
            return None
        base = region.base if region.base <= address < region.end else region.alias or 0
        return region, address - base

    def _piece(self, region: MemoryRegion, offset: int) -> _Piece:
        key = (region.name, offset // PIECE)
        if key not in self._pieces:
            size = min(PIECE, region.size - key[1] * PIECE)
            block, start = self._blocks[region.name]
            fill = READ_ONLY.get(region.kind, UNDEFINED)
            self._pieces[key] = _Piece(block, start + key[1] * PIECE, size, fill)
        return self._pieces[key]

    def map_at(self, address: int) -> bool:
        """Make the emulator see the memory round an address; false if nothing answers there."""
        found = self._locate(address)
        if found is None or self._power.missing(found[0]):
            return False
        region, offset = found
        key = (region.name, offset // PIECE)
        if key in self._mapped:
            return True
        unicorn = import_unicorn()
        piece = self._piece(region, offset)
        rights = unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC
        if region.kind not in READ_ONLY:
            rights |= unicorn.UC_PROT_WRITE
        places = tuple(base + key[1] * PIECE for base in self._bases(region))
        for place in places:
            self._uc.mem_map_ptr(place, piece.size, rights, piece.address)
        self._mapped[key] = places
        return True

    def pretend(self, address: int) -> MemoryRegion | None:
        """The bank at an address, if it is off and the board lets such banks read as zeros: so it does now."""
        found = self._locate(address)
        if not self._zeros or found is None or not self._power.bank_off(found[0]):
            return None
        region = found[0]
        for base in self._bases(region):
            self._uc.mmio_map(base, region.size, lambda *_: 0, None, lambda *_: None, None)
        self._dead.add(region.name)
        return region

    @staticmethod
    def _bases(region: MemoryRegion) -> tuple[int, ...]:
        return tuple(dict.fromkeys(base for base in (region.base, region.alias) if base is not None))

    def apply_power(self) -> None:
        """Take away what does not answer any more, and the contents of what was shut down."""
        for region in self._board.memory:
            if region.name in self._dead and not self._power.missing(region):
                self._dead.discard(region.name)
                for base in self._bases(region):
                    self._uc.mem_unmap(base, region.size)
            if self._power.missing(region):
                for key in [key for key in self._mapped if key[0] == region.name]:
                    for place in self._mapped.pop(key):
                        self._uc.mem_unmap(place, self._pieces[key].size)
            if self._power.shut_down(region):
                gone = [key for key in self._pieces if key[0] == region.name]
                for key in gone:
                    del self._pieces[key]
                if gone:
                    self._lost(region.base, region.end)

    def load(self, load: Load) -> None:
        """Put bytes into memories that are on. NeuralArtError: no memory is there, or it is off."""
        address = load.address
        while address < load.end:
            found = self._locate(address)
            if found is None:
                what = f"{load.name} is loaded to 0x{load.address:08x}..0x{load.end:08x}"
                where = f"board {self._board.name}"
                raise NeuralArtError(f"{what}, but no memory is at 0x{address:08x}", where=where)
            region, offset = found
            # A flash has its contents whether or not its controller shows them.
            if region.kind not in READ_ONLY and self._power.missing(region):
                what = f"{load.name} is loaded to 0x{address:08x} in {region.name}, which is off after reset"
                hint = "load it to flash and let the firmware copy it"
                raise NeuralArtError(what, where=f"board {self._board.name}", hint=hint)
            piece, inside = self._piece(region, offset), offset % PIECE
            part = load.data[address - load.address :][: piece.size - inside]
            piece.memory[inside : inside + len(part)] = part
            address += len(part)

    def keep_flash(self, before: Banks) -> None:
        """Take over what the flashes of another power-up held: they keep it without power. Nothing is mapped yet."""
        flashes = {region.name for region in self._board.memory if region.kind in READ_ONLY}
        self._pieces.update({key: piece for key, piece in before._pieces.items() if key[0] in flashes})
        self._blocks.update({name: block for name, block in before._blocks.items() if name in flashes})

    def erase(self, address: int, size: int) -> None:
        """Erase a range within one flash. Pieces that were never written are erased already."""
        found = self._locate(address)
        for (name, number), piece in self._pieces.items():
            if found is None or name != found[0].name:
                continue
            start = found[1] - number * PIECE
            first, last = max(0, start), min(piece.size, start + size)
            if first < last:
                piece.memory[first:last] = bytes([READ_ONLY["flash"]]) * (last - first)

    def written(self, region: MemoryRegion, step: int) -> Iterator[tuple[int, int]]:
        """Yield first and last address + 1 of stretches of a flash that are not erased, in units of ``step`` bytes."""
        begin = end = 0
        for (name, number), piece in sorted(self._pieces.items()):
            for at in range(0, piece.size if name == region.name else 0, step):
                here = region.base + number * PIECE + at
                if bytes(piece.memory[at : at + step]).strip(b"\xff"):
                    if here != end:
                        if end:
                            yield begin, end
                        begin = here
                    end = here + step
        if end:
            yield begin, end

    def missing_for(self, load: Load) -> str:
        """What is missing before bytes can be put to their place; empty when they can."""
        for region in self._board.memory:
            if any(base < load.end and load.address < base + region.size for base in self._bases(region)):
                missing = self._power.missing(region)
                if missing:
                    return missing
        return ""

    def shared(self, address: int, count: int) -> memoryview:
        """The very bytes of memory, as another bus master finds them; of flash to read alone.

        MachineStop: no memory is there, one does not answer, or they do not lie in one piece.
        """
        first, at, end = self._locate(address), address, address + count
        while first is not None and at < end:
            found = self._locate(at)
            missing = "no memory is there" if found is None else self._power.missing(found[0])
            if found is not None and self._blocks[found[0].name][0] is not self._blocks[first[0].name][0]:
                missing = f"{first[0].name} ends there"
            if found is None or missing:
                raise MachineStop(f"{count} bytes at 0x{address:08x}: at 0x{at:08x}, {missing}")
            at += self._piece(*found).size - found[1] % PIECE
        if first is None:
            raise MachineStop(f"{count} bytes at 0x{address:08x}: no memory is there")
        block, start = self._blocks[first[0].name]
        whole = memoryview(block)[start + first[1] : start + first[1] + count]
        return whole.toreadonly() if first[0].kind in READ_ONLY else whole

    def where_is(self, near: int, data: bytes) -> int | None:
        """Where in the memory at an address bytes stand that were written; None: nowhere."""
        found = self._locate(near)
        if found is None or len(set(data)) < 2:
            return None
        for (name, number), piece in sorted(self._pieces.items()):
            at = bytes(piece.memory).find(data) if name == found[0].name else -1
            if at >= 0:
                return near - found[1] + number * PIECE + at
        return None

    def peek(self, address: int, count: int) -> bytes:
        """Bytes as a debugger would see them; fewer where the memories end or none is."""
        parts = []
        while count > 0:
            found = self._locate(address)
            if found is None:
                break
            piece, inside = self._piece(*found), found[1] % PIECE
            part = bytes(piece.memory[inside : inside + count])
            parts.append(part)
            address, count = address + len(part), count - len(part)
        return b"".join(parts)


def _page(device: Device) -> int:
    """Where what is mapped for it begins: pages are what can be mapped."""
    return device.base - device.base % PAGE


@dataclass
class Bus:
    """Maps the devices that answer; an access to one that does not is an access to nothing."""

    _uc: Any
    _halt: Callable[[str], None]
    _near: Callable[[], str]  # Where the core is
    _changed: Callable[[], None]  # Called after every write to a register
    _places: dict[int, tuple[Device, Callable[[], str]]] = field(default_factory=dict)  # And why one does not answer
    _mapped: set[int] = field(default_factory=set)

    def add(self, device: Device, missing: Callable[[], str] = lambda: "") -> None:
        """Take a device, with what tells why it does not answer (empty: it does). NeuralArtError: its page is taken."""
        for base in range(_page(device), device.base + device.size, PAGE):
            for other, _ in self._places.values():
                if _page(other) <= base < other.base + other.size:
                    both = f"{other.name} and {device.name} are both at 0x{base:08x}"
                    raise NeuralArtError(f"machine unicorn models one peripheral per 4 KiB: {both}")
        self._places[device.base] = device, missing

    def refresh(self) -> None:
        """Map what answers now, take away what does not."""
        for device, missing in self._places.values():
            base = _page(device)
            size = (device.base - base + device.size + PAGE - 1) // PAGE * PAGE
            answers = not missing()
            if answers and base not in self._mapped:
                self._uc.mmio_map(base, size, self._on_read, device, self._on_write, device)
                self._mapped.add(base)
            elif not answers and base in self._mapped:
                self._uc.mem_unmap(base, size)
                self._mapped.discard(base)

    def why_dead(self, address: int) -> str:
        """Why the device at an address does not answer; empty if none is there."""
        places = self._places.values()
        return next((why() for device, why in places if device.base <= address < device.base + device.size), "")

    def _on_read(self, uc: Any, offset: int, size: int, device: Device) -> int:
        offset -= device.base % PAGE
        if not 0 <= offset < device.size:
            self._halt(f"read at 0x{device.base + offset:08x}{self._near()}: nothing is modeled there")
            return 0
        # Registers are words; a narrower read takes its bytes.
        value = device.read(offset & ~3) >> 8 * (offset & 3)
        return value & ((1 << 8 * size) - 1)

    def _on_write(self, uc: Any, offset: int, size: int, value: int, device: Device) -> None:
        offset -= device.base % PAGE
        if not 0 <= offset < device.size or (size != 4 and not device.narrow) or offset & (size - 1):
            at = f"0x{device.base + offset:08x}{self._near()}"
            self._halt(f"write of {size} bytes at {at}: no such register is modeled")
            return
        if size < 4:
            shift = 8 * (offset & 3)
            mask = ((1 << 8 * size) - 1) << shift
            value = device.read(offset & ~3) & ~mask | value << shift & mask
        device.write(offset & ~3, value)
        self._changed()
