"""Boards as data."""

from __future__ import annotations

from collections.abc import Mapping

from neuralart.quick import dataclass, field

Register = int
"""The address of a 32-bit register."""


@dataclass(frozen=True)
class Enable:
    """Registers and bits that turn a memory bank on."""

    clock_bit: int | None = None  # Bit of the memory clock-enable register (RCC_MEMENR); None: always clocked
    ramcfg_offset: int | None = None  # Offset of its RAMCFG control register (shutdown bit); None: none


@dataclass(frozen=True)
class MemoryRegion:
    name: str  # For example ``AXISRAM5``
    base: int  # Address in the security state the firmware runs in (see Board.security)
    size: int  # Bytes
    kind: str  # ``ram``, ``flash``, ``psram``, ``rom``
    pool_name: str = ""  # Its name in the vendor's pool files, for example ``npuRAM5``; empty if none
    alias: int | None = None  # The same memory in the other security state; None if it has one address only
    owner: str = "cpu"  # Who usually works in it: ``cpu``, ``npu``, ``cpu+npu``, ``periph``
    enable: Enable | None = None  # What turns it on (it may be on after reset all the same); None if nothing gates it
    on_at_reset: bool = True  # The bank answers straight after reset (and what the boot chain did)
    note: str = ""  # For readers
    risaf: int | None = None  # Number of the firewall that guards it (STM32N6); None: none
    sector: int | None = None  # Bytes erased together, of a flash other than Board.flash; None: unknown
    # Device memory in the core's address map (Armv7-M): start-up gives it an MPU region that makes it Normal memory.
    # Its base must be a multiple of its size, a power of two
    mpu_normal: bool = False

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.base + self.size

    def contains(self, address: int) -> bool:
        """Whether an address is in the memory, through either alias."""
        return self.base <= address < self.end or (
            self.alias is not None and self.alias <= address < self.alias + self.size
        )


@dataclass(frozen=True)
class Boot:
    """How the boot chain copies an image to where it runs (load and run)."""

    slot: str  # Flash slot that holds the image behind its header, for example ``application``
    copy_to: int  # Address that the first byte of the slot is copied to
    copy_size: int  # Bytes that the first-stage boot loader copies, exactly, whatever the image's size
    header: int  # Bytes between the start of the slot and the vector table (room for the signed header)
    header_version: str = ""  # Of the image header that the boot chain reads, ``2.3``; empty: it reads none
    in_place: bool = False  # Nothing is copied: the image is executed in its slot, of ``copy_size`` bytes at most


@dataclass(frozen=True)
class LoadSlots:
    """Flash slots of relocatable models, and the memory that a loader may give them."""

    table: int  # Flash address of the load table (which models, in which mode)
    model: int  # Flash address of the model
    params: int  # Flash address of the constants of a split model
    ext_ram: str = ""  # Name of the memory for relative read/write pools; empty: the board has none


@dataclass(frozen=True)
class FlashWindow:
    """A memory that answers only while its controller is in memory-mapped mode."""

    region: str  # Name of the memory, for example ``xSPI2``
    control: Register  # Address of the controller's control register
    mask: int  # Bits of it that decide
    value: int  # The memory is mapped when ``control & mask == value``
    clock_register: Register  # Register that clocks the controller; without it the control register does not answer
    clock_bit: int  # Bit in it
    mapped_by_boot: bool = True  # The boot chain leaves it mapped


@dataclass(frozen=True)
class Console:
    """The serial port that carries text and the host link."""

    driver: str  # C source in firmware/boards/drivers, without suffix: ``uart_stm32``, ``uart_cmsdk``
    base: Register  # Address of the peripheral
    clock_register: Register | None = None  # Register that clocks it; None if always clocked
    clock_bit: int | None = None  # Bit in it


@dataclass(frozen=True)
class Registers:
    """Registers that the start-up code of the memories writes; all None on boards without gated memories."""

    memory_clock: Register | None = None  # RCC_MEMENR
    memory_sleep_clock: Register | None = None  # RCC_MEMLPENR
    ramcfg: Register | None = None  # Base of RAMCFG
    ramcfg_clock: Register | None = None  # Register that clocks RAMCFG (RCC_AHB2ENR)
    ramcfg_clock_bit: int | None = None  # Bit in it
    shutdown_bit: int | None = None  # SRAMSD in a RAMCFG control register
    source: str = ""  # Where the numbers come from
    npu_cache: Register | None = None  # Base of the NPU cache controller (CACHEAXI)
    rimc_npu: Register | None = None  # RIFSC_RIMC_ATTR register of the NPU as a bus master
    rimc_npu_value: int | None = None  # Its value for CID1, secure and privileged
    npu_cache_clock: Register | None = None  # Register that clocks that (RCC_AHB5ENR); None: always clocked
    npu_cache_clock_bit: int | None = None  # Bit in it
    rimc_clock: Register | None = None  # Register that clocks RIFSC (RCC_AHB3ENR); None: always clocked
    rimc_clock_bit: int | None = None  # Bit in it


@dataclass(frozen=True)
class DebugAccess:
    """How debug probes reach the device."""

    device_id: int  # DEV_ID of DBGMCU_IDCODE, for example 0x486
    idcode: Register | None = None  # Address of that register; None: not given
    access_port: int = 0  # Number of the core's access port
    mode: str = "NORMAL"  # How STM32CubeProgrammer connects: ``NORMAL``, ``HOTPLUG``, ``UR`` or ``POWERDOWN``
    programmer: str = ""  # Versions of STM32CubeProgrammer that know the device; empty: any
    openocd: str = ""  # Configuration of OpenOCD (path); empty: it does not know the device
    pyocd: str = ""  # pyOCD's name of the device; empty: it does not know it


# Cores, architectures and extensions with which gcc uses the DSP extension.
_WITH_DSP = {
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "cortex-m35p",
    "cortex-m55",
    "cortex-m85",
    "armv7e-m",
    "dsp",
    "mve",
}


@dataclass(frozen=True)
class Machine:
    """A machine, real or virtual, that runs images."""

    kind: str  # ``silicon``, ``unicorn`` or ``qemu``
    cpu_flags: tuple[str, ...]  # GCC flags of an image for it
    model: str = ""  # QEMU's machine name, or Unicorn's CPU model
    cpuid: int | None = None  # What the CPUID register answers there
    isa: str = ""  # For listings, for example ``Armv8-M mainline baseline``
    note: str = ""  # Honest limits in a few words
    counter: int | None = None  # Address of the FPGA I/O block (QEMU's MPS2 and MPS3), which always counts
    counter_hz: int | None = None  # How fast it counts
    mve: bool = False  # Images may use the M-profile Vector Extension: the core has it, the flags let gcc use it

    @property
    def kernels(self) -> tuple[str, ...]:
        """Values of ``kernels:`` that run here; ``dsp`` if ``cpu_flags`` let gcc use that extension."""
        names = [flag.partition("=")[2] for flag in self.cpu_flags if flag.startswith(("-mcpu=", "-march="))]
        words = {word for name in names for word in name.split("+")}
        dsp = bool(words & _WITH_DSP) and "nodsp" not in words
        return ("c", *(("dsp",) if dsp else ()), *(("mve",) if self.mve else ()))


@dataclass(frozen=True)
class BoardSection:
    region: str  # Name of the memory region it begins in; it may run on into a region that follows without a gap
    offset: int  # Bytes from its base
    size: int  # Bytes


@dataclass(frozen=True)
class Board:
    name: str  # For example ``stm32n6570-dk``
    title: str  # For people
    target: str  # ``--target`` of the compiler: ``stm32n6``, ``stm32h7``, ``mps3-an547``
    device: str  # Silicon, for example ``STM32N657xx``
    cpu: str  # ``cortex-m55``
    security: str  # ``secure`` or ``none``: the state that MemoryRegion.base belongs to
    memory: tuple[MemoryRegion, ...]  # All banks
    registers: Registers  # What turns banks on
    machines: Mapping[str, Machine]  # By kind; the first is the default of ``run-``
    console: Console | None = None  # Serial port
    code: BoardSection | None = None  # Where the firmware's code and constants are when it runs (vectors first)
    data: BoardSection | None = None  # Where its variables and stack are
    mpool: str = ""  # Stock pool file (path), empty if the board has none
    profile: str = ""  # Stock profile file (path), empty if the board has none
    memory_pools: str = ""  # Stock memory-pool file (path) of the flow without an NPU; empty if the board has none
    flash: Mapping[str, str | int] = field(default_factory=dict)  # part, base, size, sector, page (bytes), loader
    slots: Mapping[str, int] = field(default_factory=dict)  # Flash addresses by name; advice, the mpool wins
    switches: Mapping[str, str] = field(default_factory=dict)  # Boot switches, in words, by mode
    debug: DebugAccess | None = None  # How debug probes reach the device; None: not given
    boot: Boot | None = None  # How an image gets from flash to where it runs; None: it is loaded in place
    windows: tuple[FlashWindow, ...] = ()  # Memories behind a controller that must be in memory-mapped mode
    relocatable: LoadSlots | None = None  # Where relocatable models are; None: not given
    firmware: str = ""  # Folder of its C and linker scripts in the reference application; empty: of its name
    external_ram: tuple[int, int] | None = None  # Where the chip maps external RAM, fitted or not: first, behind
    narrow_display: bool = False  # The second line of a greeting needs two lines of its display
    clocks: Mapping[str, int] = field(default_factory=dict)  # ``cpu_mhz``, ``npu_mhz``: the highest it is made for
    note: str = ""  # Honest limits
    where: str = ""  # The file it came from
    files: tuple[str, ...] = ()  # All that made it: the families and boards it is based on, its own file last
    # ``file:line`` of keys that decide addresses: ``code``, ``data``, ``flash``, ``boot``, ``slots.NAME``,
    # ``relocatable.NAME``; files of this package as ``neuralart:boards/data/...``, the same on every machine
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> str:
        """Where a key was written; the board's file for a default."""
        return self.places.get(key, f"board {self.name}")

    def in_external_ram(self, address: int) -> bool:
        """Whether the chip maps external RAM at an address, fitted or not."""
        return self.external_ram is not None and self.external_ram[0] <= address < self.external_ram[1]

    def region(self, name: str) -> MemoryRegion:
        """Find a memory by name. KeyError: there is none."""
        for region in self.memory:
            if region.name == name:
                return region
        raise KeyError(name)

    def region_at(self, address: int) -> MemoryRegion | None:
        """Find the memory at an address, through either alias."""
        for region in self.memory:
            if region.contains(address):
                return region
        return None
