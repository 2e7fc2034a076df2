"""A virtual board whose core a debugger controls, and what GDB is told before it asks: its registers and memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from neuralart.boards.types import Board, Machine, MemoryRegion
from neuralart.errors import NeuralArtError
from neuralart_virtual.emulator.banks import READ_ONLY
from neuralart_virtual.emulator.coherency import Conditions
from neuralart_virtual.emulator.devices import PAGE, VTOR
from neuralart_virtual.emulator.image import Firmware, Load
from neuralart_virtual.emulator.unicorn_board import NPU_WORKS, WFI, UnicornBoard

if TYPE_CHECKING:
    from neuralart.flashing.nor import Nor
    from neuralart_virtual.emulator.gdb.server import GdbServer

# Address ranges of every M-profile core (Armv8-M ARM, system address map): peripherals, private peripheral bus.
DEVICES = ((0x40000000, 0x20000000), (0xE0000000, 0x100000))
_SMALLEST_SECTOR = 0x1000


@dataclass(frozen=True)
class CoreRegister:
    """A register of the core, as GDB numbers them: by their place in :data:`REGISTERS`."""

    name: str  # As GDB calls it
    bits: int  # Its size
    kind: str = ""  # GDB's type; empty: a number


# Feature (GDB manual, "ARM Features") and its registers.
FEATURES: Mapping[str, tuple[CoreRegister, ...]] = {
    "org.gnu.gdb.arm.m-profile": (
        *(CoreRegister(f"r{number}", 32) for number in range(13)),
        CoreRegister("sp", 32, "data_ptr"),
        CoreRegister("lr", 32, "code_ptr"),
        CoreRegister("pc", 32, "code_ptr"),
        CoreRegister("xpsr", 32),
    ),
    "org.gnu.gdb.arm.vfp": (
        *(CoreRegister(f"d{number}", 64, "ieee_double") for number in range(16)),
        CoreRegister("fpscr", 32),
    ),
    "org.gnu.gdb.arm.m-system": tuple(
        CoreRegister(name, 32) for name in ("msp", "psp", "primask", "basepri", "faultmask", "control")
    ),
}
REGISTERS = tuple(register for registers in FEATURES.values() for register in registers)


def target_xml() -> str:
    """The registers."""
    lines = ['<?xml version="1.0"?>', '<!DOCTYPE target SYSTEM "gdb-target.dtd">', '<target version="1.0">']
    lines.append("<architecture>arm</architecture>")
    for feature, registers in FEATURES.items():
        lines.append(f'<feature name="{feature}">')
        for register in registers:
            kind = f' type="{register.kind}"' if register.kind else ""
            lines.append(f'<reg name="{register.name}" bitsize="{register.bits}"{kind}/>')
        lines.append("</feature>")
    return "\n".join([*lines, "</target>", ""])


def sector_of(board: Board, region: MemoryRegion) -> int:
    """Bytes of a flash that are erased together."""
    own = int(board.flash["sector"]) if board.flash.get("base") == region.base and "sector" in board.flash else 0
    return region.sector or own or _SMALLEST_SECTOR


def _ranges(board: Board) -> Iterator[tuple[int, int, str, int]]:
    """(address, bytes, type, bytes of a sector or 0) of all that answers anywhere."""
    for region in board.memory:
        kind = region.kind if region.kind in ("flash", "rom") else "ram"
        sector = sector_of(board, region) if kind == "flash" else 0
        for base in dict.fromkeys((region.base, region.alias)):
            if base is not None:
                yield base, region.size, kind, sector
    # To GDB, registers are memory that can be written.
    yield from ((base, size, "ram", 0) for base, size in DEVICES)


def memory_map_xml(board: Board) -> str:
    """The memories, both aliases of each; GDB writes flash by other packets than RAM."""
    kind = 'PUBLIC "+//IDN gnu.org//DTD GDB Memory Map V1.0//EN" "http://sourceware.org/gdb/gdb-memory-map.dtd"'
    lines = ['<?xml version="1.0"?>', f"<!DOCTYPE memory-map {kind}>", "<memory-map>"]
    for base, size, kind, sector in sorted(_ranges(board)):
        memory = f'<memory type={quoteattr(kind)} start="0x{base:x}" length="0x{size:x}"'
        inside = f'><property name="blocksize">0x{sector:x}</property></memory>' if sector else "/>"
        lines.append(memory + inside)
    return "\n".join([*lines, "</memory-map>", ""])


# Seconds that the core runs before the debugger is polled.
SLICE = 0.05
# Signals as GDB counts them (include/gdb/signals.def).
INTERRUPTED, ILLEGAL, TRAP, SEGMENT = 2, 4, 5, 11
# GDB's numbers of points: in software, in hardware (here the same), on writes, reads, both.
BREAKS = (0, 1)
WATCHES = {2: "watch", 3: "rwatch", 4: "awatch"}
# More than any run executes. A number of instructions makes the emulator look for a stop behind each of them.
_MANY = 1 << 60
# The widest access of one instruction that the emulator shows at once, in bytes.
_WIDEST = 16
_THUMB = 1 << 24


@dataclass(frozen=True)
class Halt:
    """Why the core stands still."""

    signal: int  # As GDB counts them
    detail: str = ""  # ``watch:20000000;``
    reason: str = ""  # For the user, if something went wrong


class DebuggedBoard(UnicornBoard):
    """One power-up of a virtual board with a debugger."""

    def __init__(
        self,
        control: GdbServer,
        board: Board,
        machine: Machine,
        firmware: Firmware,
        loads: Sequence[Load],
        conditions: Conditions,
    ) -> None:
        """As :class:`UnicornBoard`; flashes hold what they held in the power-up before."""
        self._control = control
        self._nor = conditions.nor
        self._hooks: dict[tuple[int, int, int], list[int]] = {}
        self._hit: Halt | None = None
        self._pending: Halt | None = None
        self._undo: tuple[Any, int, bytes] | None = None
        self._passing = False
        super().__init__(board, machine, firmware, loads, conditions)
        if control.board is not None:
            self._banks.keep_flash(control.board._banks)
            self._reset(self._system.get(VTOR))
        prefix = "UC_ARM_REG_"
        self._ids = [getattr(self._unicorn.arm_const, prefix + register.name.upper()) for register in REGISTERS]

    # ---- running ----

    def read(self, seconds: float) -> bytes:
        """As the board's, whenever the debugger lets the core run."""
        while True:
            # What was sent before the core stopped comes first: it may be the end of the run.
            halt, self._pending = self._pending, None
            if halt is not None:
                self._control.report(halt)
            self._control.wait()
            if not self._control.attached:
                return super().read(min(seconds, SLICE))
            self._pending = self.go(step=self._control.stepping)
            sent = self._usart.take_sent()
            if sent:
                return sent
            if self._pending is None and self._starved:
                self._control.pause()

    def idle(self) -> bool:
        """As the board's; a debugger may change what the firmware waits for."""
        return not self._control.attached and super().idle()

    def go(self, *, step: bool) -> Halt | None:
        """Run for a short time, or one instruction. Returns why the core stopped; None: it did not."""
        # What stopped it may be repaired by now.
        self._stop, self._starved, self._hit, self._undo = "", False, None, None
        pc = self._pc()
        if step or any((kind, pc) == point[:2] for point in self._hooks for kind in BREAKS):
            sleeps = self._banks.peek(pc, 2) == WFI
            self._passing = True
            self._start(count=1)
            self._passing = False
            if sleeps:
                self._look_for_sleep()
        if not (step or self._stop or self._hit or self._starved):
            watching = any(kind in WATCHES for kind, _, _ in self._hooks)
            works = self._npu.pending
            self._start(0 if works else int(SLICE * 1e6), NPU_WORKS if works else _MANY if watching else 0)
            if not (self._stop or self._hit or self._starved):
                self._look_for_sleep()
                if works:
                    self._passing = True  # No breakpoint stops in a handler
                    self._take_interrupts()
                    self._passing = False
        return self._halted(step=step)

    def _halted(self, *, step: bool) -> Halt | None:
        if self._stop:
            traps = {"breakpoint": TRAP, "undefined": ILLEGAL}
            signal = next((traps[word] for word in traps if f": {word}" in self._stop), SEGMENT)
            return Halt(signal, reason=self._stop)
        if self._undo is not None:
            # GDB expects that a watchpoint of an Arm core stops it in front of the access.
            context, address, held = self._undo
            self._uc.context_restore(context)
            if held:
                self._uc.mem_write(address, held)
        return self._hit or (Halt(TRAP) if step else None)

    # ---- points ----

    def insert(self, kind: int, address: int, size: int) -> None:
        """Set a breakpoint or watchpoint."""
        unicorn, key = self._unicorn, (kind, address, size)
        if key in self._hooks:
            return
        if kind in BREAKS:
            hooks = [self._uc.hook_add(unicorn.UC_HOOK_CODE, self._on_break, begin=address, end=address)]
        else:
            wanted = {2: unicorn.UC_HOOK_MEM_WRITE, 3: unicorn.UC_HOOK_MEM_READ}
            which = wanted.get(kind, unicorn.UC_HOOK_MEM_WRITE | unicorn.UC_HOOK_MEM_READ)
            first = max(0, address - _WIDEST + 1)
            hooks = [self._uc.hook_add(which, self._on_watch, key, begin=first, end=address + size - 1)]
        self._hooks[key] = hooks
        # Code that was translated before does not look for it.
        self._uc.ctl_flush_tb()

    def remove(self, kind: int, address: int, size: int) -> None:
        """Remove one, if it is there."""
        for hook in self._hooks.pop((kind, address, size), []):
            self._uc.hook_del(hook)
        self._uc.ctl_flush_tb()

    def let_go(self) -> None:
        """Run on without a debugger, and without points; what stopped the core may be repaired by now."""
        for point in list(self._hooks):
            self.remove(*point)
        self._stop, self.asleep = "", False

    def _on_break(self, uc: Any, address: int, size: int, data: Any) -> None:
        if not self._passing:
            self._hit = self._hit or Halt(TRAP)
            uc.emu_stop()

    def _on_watch(self, uc: Any, access: int, address: int, size: int, value: int, point: tuple[int, int, int]) -> None:
        kind, first, length = point
        if self._hit is not None or address + size <= first or address >= first + length:
            return
        held = b""
        if access == self._unicorn.UC_MEM_WRITE and self._board.region_at(address) is not None:
            held = bytes(uc.mem_read(address, size))
        self._hit = Halt(TRAP, f"{WATCHES[kind]}:{max(first, address):x};")
        self._undo = uc.context_save(), address, held
        uc.emu_stop()

    # ---- registers and memories ----

    def register(self, number: int) -> bytes:
        """A register, little-endian."""
        value = int(self._uc.reg_read(self._ids[number]))
        if REGISTERS[number].name == "xpsr":
            # The Thumb bit: such a core has no other state, and the emulator keeps it elsewhere.
            value |= _THUMB
        return value.to_bytes(REGISTERS[number].bits // 8, "little")

    def set_register(self, number: int, value: bytes) -> None:
        """Write a register."""
        self._uc.reg_write(self._ids[number], int.from_bytes(value, "little"))

    def _access(self, address: int, size: int, data: bytes = b"") -> bytes:
        """Read (no ``data``) or write within one page; nothing where nothing answers."""
        stopped = self._stop
        try:
            self._banks.map_at(address)
            if data:
                self._uc.mem_write(address, data)
                return data
            return bytes(self._uc.mem_read(address, size))
        except self._unicorn.UcError:
            return b""
        finally:
            refused, self._stop = self._stop != stopped, stopped
            if refused:
                raise NeuralArtError(f"no such register at 0x{address:08x}")

    def look(self, address: int, size: int) -> bytes:
        """Bytes as the core would read them; fewer where nothing answers. NeuralArtError: no register is there."""
        out = bytearray()
        while len(out) < size:
            at = address + len(out)
            part = self._access(at, min(size - len(out), PAGE - at % PAGE))
            if not part:
                break
            out += part
        return bytes(out)

    def put(self, address: int, data: bytes) -> None:
        """Write RAM or registers. NeuralArtError: nothing answers there, or it is flash."""
        at = 0
        while at < len(data):
            here = address + at
            region = self._board.region_at(here)
            part = data[at : at + PAGE - here % PAGE]
            if (region is not None and region.kind in READ_ONLY) or not self._access(here, len(part), part):
                raise NeuralArtError(f"nothing can be written at 0x{here:08x}")
            at += len(part)
        self._settle(address, len(data))

    # ---- flash ----

    def _flash_at(self, address: int, size: int) -> MemoryRegion:
        region = self._board.region_at(address)
        if region is None or region.kind != "flash" or not region.contains(address + size - 1):
            raise NeuralArtError(f"no flash from 0x{address:08x} to 0x{address + size:08x}")
        return region

    def _nor_at(self, address: int) -> Nor | None:
        """The flash of a file, if this address is in it."""
        nor = self._nor
        return nor if nor is not None and 0 <= address - nor.chip.base < nor.chip.size else None

    def erase(self, address: int, size: int) -> None:
        """Erase whole sectors of a flash. NeuralArtError: no flash is there, or not whole sectors."""
        sector = sector_of(self._board, self._flash_at(address, size))
        if address % sector or size % sector:
            raise NeuralArtError(f"erase of {size} bytes at 0x{address:08x}, sectors have {sector} bytes")
        if (nor := self._nor_at(address)) is not None:
            nor.erase(address - nor.chip.base, size)
        self._banks.erase(address, size)
        self._settle(address, size)

    def program(self, address: int, data: bytes) -> None:
        """Program erased bytes of a flash. NeuralArtError: no flash is there, or a bit would have to become 1."""
        self._flash_at(address, len(data))
        held = self._banks.peek(address, len(data))
        if any(new & ~old for new, old in zip(data, held, strict=True)):
            raise NeuralArtError(f"flash at 0x{address:08x} is not erased")
        if (nor := self._nor_at(address)) is not None:
            nor.program(address - nor.chip.base, data)
        self._banks.load(Load("the debugger's", address, data))
        self._settle(address, len(data))

    def _settle(self, address: int, size: int) -> None:
        # A debugger writes memory, not the core's cache. What was written may be code.
        self._settled(address, size)
        self._uc.ctl_flush_tb()

    # ---- what GDB does not know ----

    def banks(self) -> str:
        """Each memory, and what it needs before it answers."""
        rows = []
        for region in self._board.memory:
            missing = self._power.missing(region)
            off = missing.removeprefix(region.name).lstrip(" ,")
            size = f"{region.size >> 10} KiB"
            rows.append(f"{region.name:<10} 0x{region.base:08x} {size:>10}  {'off: ' + off if missing else 'on'}\n")
        return "".join(rows)

    def flash(self) -> str:
        """Each flash, and the stretches of it that are not erased."""
        rows = []
        for region in self._board.memory:
            if region.kind != "flash":
                continue
            sector = sector_of(self._board, region)
            size = f"{region.size >> 10} KiB in sectors of {sector >> 10} KiB"
            rows.append(f"{region.name} 0x{region.base:08x}: {size}\n")
            written = self._banks.written(region, sector)
            rows += [f"  0x{start:08x}..0x{end:08x} is written\n" for start, end in written]
        return "".join(rows)
