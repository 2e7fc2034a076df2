"""What a board is, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Enable:
    """What makes a memory bank answer.

    Attributes:
        clock_bit: Bit of the memory clock-enable register (RCC_MEMENR); None: always clocked.
        ramcfg_offset: Offset of the bank's RAMCFG control register whose shutdown bit must be cleared; None: none.
    """

    clock_bit: int | None = None
    ramcfg_offset: int | None = None


@dataclass(frozen=True)
class MemoryRegion:
    """A memory of the board.

    Attributes:
        name: For example ``AXISRAM5``.
        pool_name: Its name in the vendor's pool files, for example ``npuRAM5``; empty if none.
        base: Address in the security state the firmware runs in (see :attr:`Board.security`).
        alias: The same memory in the other security state; None if it has one address only.
        size: Bytes.
        kind: ``ram``, ``flash``, ``psram``, ``rom``.
        owner: Who usually works in it: ``cpu``, ``npu``, ``cpu+npu``, ``periph``.
        enable: What turns it on (it may be on after reset all the same); None if nothing gates it.
        on_at_reset: The bank answers straight after reset (and what the boot chain did).
        note: For readers.
        risaf: Number of the firewall that guards it (STM32N6); None: none.
        sector: Bytes that are erased together, of a flash that :attr:`Board.flash` does not describe; None: unknown.
        mpu_normal: Device memory in the core's address map (Armv7-M): start-up gives it an MPU region that makes it
            Normal memory. Its base must be a multiple of its size, a power of two.
    """

    name: str
    base: int
    size: int
    kind: str
    pool_name: str = ""
    alias: int | None = None
    owner: str = "cpu"
    enable: Enable | None = None
    on_at_reset: bool = True
    note: str = ""
    risaf: int | None = None
    sector: int | None = None
    mpu_normal: bool = False

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.base + self.size

    def contains(self, address: int) -> bool:
        """Either alias."""
        return self.base <= address < self.end or (
            self.alias is not None and self.alias <= address < self.alias + self.size
        )


@dataclass(frozen=True)
class Boot:
    """How the boot chain brings an image to where it runs (load and run).

    Attributes:
        slot: Flash slot that holds the image behind its header, for example ``application``.
        copy_to: Address that the first byte of the slot is copied to.
        copy_size: Bytes that the first-stage boot loader copies, exactly, whatever the image's size.
        header: Bytes between the start of the slot and the vector table (room for the signed header).
    """

    slot: str
    copy_to: int
    copy_size: int
    header: int


@dataclass(frozen=True)
class LoadSlots:
    """Where relocatable models are loaded from, and the memory that a loader may give them.

    Attributes:
        table: Flash address of the load table (which models, in which mode).
        model: Flash address of the model.
        params: Flash address of the constants of a split model.
        ext_ram: Name of the memory for relative read/write pools; empty: the board has none.
    """

    table: int
    model: int
    params: int
    ext_ram: str = ""


@dataclass(frozen=True)
class FlashWindow:
    """A memory that answers only while its controller is in memory-mapped mode.

    Attributes:
        region: Name of the memory, for example ``xSPI2``.
        control: Address of the controller's control register.
        mask: Bits of it that decide.
        value: The memory is mapped when ``control & mask == value``.
        clock_register: Register that clocks the controller; without it the control register does not answer.
        clock_bit: Bit in it.
        mapped_by_boot: The boot chain leaves it mapped.
    """

    region: str
    control: int
    mask: int
    value: int
    clock_register: int
    clock_bit: int
    mapped_by_boot: bool = True


@dataclass(frozen=True)
class Console:
    """The serial port that carries text and the host link.

    Attributes:
        driver: C source in firmware/boards/drivers, without suffix: ``uart_stm32``, ``uart_cmsdk``.
        base: Address of the peripheral.
        clock_register: Register that clocks it; None if always clocked.
        clock_bit: Bit in it.
    """

    driver: str
    base: int
    clock_register: int | None = None
    clock_bit: int | None = None


@dataclass(frozen=True)
class Registers:
    """Registers that the generated memory start-up code writes (all None on boards without such gates).

    Attributes:
        memory_clock: RCC_MEMENR.
        memory_sleep_clock: RCC_MEMLPENR.
        ramcfg: Base of RAMCFG.
        ramcfg_clock: Register that clocks RAMCFG (RCC_AHB2ENR).
        ramcfg_clock_bit: Bit in it.
        shutdown_bit: SRAMSD in a RAMCFG control register.
        source: Where the numbers come from.
        npu_cache: Base of the NPU cache controller (CACHEAXI).
        rimc_npu: RIFSC_RIMC_ATTR register of the NPU as a bus master.
        rimc_npu_value: Its value for CID1, secure and privileged.
        npu_cache_clock: Register that clocks the NPU cache controller (RCC_AHB5ENR); None: always clocked.
        npu_cache_clock_bit: Bit in it.
        rimc_clock: Register that clocks RIFSC (RCC_AHB3ENR); None: always clocked.
        rimc_clock_bit: Bit in it.
    """

    memory_clock: int | None = None
    memory_sleep_clock: int | None = None
    ramcfg: int | None = None
    ramcfg_clock: int | None = None
    ramcfg_clock_bit: int | None = None
    shutdown_bit: int | None = None
    source: str = ""
    npu_cache: int | None = None
    rimc_npu: int | None = None
    rimc_npu_value: int | None = None
    npu_cache_clock: int | None = None
    npu_cache_clock_bit: int | None = None
    rimc_clock: int | None = None
    rimc_clock_bit: int | None = None


@dataclass(frozen=True)
class Machine:
    """Where an image executes.

    Attributes:
        kind: ``silicon``, ``unicorn`` or ``qemu``.
        model: QEMU's machine name, or Unicorn's CPU model.
        cpu_flags: GCC flags of an image for it.
        cpuid: What the CPUID register answers there.
        isa: For listings, for example ``Armv8-M mainline baseline``.
        note: Honest limits in a few words.
        mve: Images for it may use the M-profile Vector Extension: the core has it, and the flags let gcc use it.
    """

    kind: str
    cpu_flags: tuple[str, ...]
    model: str = ""
    cpuid: int | None = None
    isa: str = ""
    note: str = ""
    mve: bool = False


@dataclass(frozen=True)
class Section:
    """Where a part of the firmware goes.

    Attributes:
        region: Name of the memory region it begins in; it may run on into a region that follows without a gap.
        offset: Bytes from its base.
        size: Bytes.
    """

    region: str
    offset: int
    size: int


@dataclass(frozen=True)
class Board:
    """A board.

    Attributes:
        name: For example ``stm32n6570-dk``.
        title: For people.
        target: ``--target`` of the compiler: ``stm32n6``, ``stm32h7``, ``mps3-an547``.
        device: Silicon, for example ``STM32N657xx``.
        cpu: ``cortex-m55``.
        security: ``secure`` or ``none``: the state that :attr:`MemoryRegion.base` belongs to.
        memory: All banks.
        registers: What turns banks on.
        console: Serial port.
        machines: By kind; the first is the default of ``run-``.
        code: Where the firmware's code and constants are when it runs (vectors first).
        data: Where its variables and stack are.
        mpool: Stock pool file (path), empty if the board has none.
        profile: Stock profile file (path), empty if the board has none.
        memory_pools: Stock memory-pool file (path) of the compile flow without an NPU; empty if the board has none.
        flash: The external NOR: ``part``, ``base``, ``size``, ``sector`` and ``page`` (bytes), ``loader``; or empty.
        slots: Flash slots by name (``fsbl``, ``application``, ``weights``): address; advice, the mpool wins.
        switches: Boot switches, in words, by mode.
        boot: How an image gets from flash to where it runs; None: it is loaded in place.
        windows: Memories behind a controller that must be in memory-mapped mode.
        relocatable: Where relocatable models are; None: nobody said.
        firmware: Folder of its own C and linker scripts in the reference application for its kind of board; empty: of
            its name.
        external_ram: First address and the one behind the last at which the chip maps external RAM, fitted or not;
            None: nobody said.
        narrow_display: The second line of a greeting needs two lines of its display.
        note: Honest limits.
        where: The file it came from.
        files: All files that made it what it is: the families and boards it is based on, its own file last.
        places: ``file:line`` of keys that decide addresses: ``code``, ``data``, ``flash``, ``boot``, ``slots.NAME``,
            ``relocatable.NAME``; files of this package as ``neuralart:boards/data/...``, the same on every machine.
    """

    name: str
    title: str
    target: str
    device: str
    cpu: str
    security: str
    memory: tuple[MemoryRegion, ...]
    registers: Registers
    machines: Mapping[str, Machine]
    console: Console | None = None
    code: Section | None = None
    data: Section | None = None
    mpool: str = ""
    profile: str = ""
    memory_pools: str = ""
    flash: Mapping[str, str | int] = field(default_factory=dict)
    slots: Mapping[str, int] = field(default_factory=dict)
    switches: Mapping[str, str] = field(default_factory=dict)
    boot: Boot | None = None
    windows: tuple[FlashWindow, ...] = ()
    relocatable: LoadSlots | None = None
    firmware: str = ""
    external_ram: tuple[int, int] | None = None
    narrow_display: bool = False
    note: str = ""
    where: str = ""
    files: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def place(self, key: str) -> str:
        """Where a key was written; the board itself if nobody wrote it."""
        return self.places.get(key, f"board {self.name}")

    def in_external_ram(self, address: int) -> bool:
        """The chip maps external RAM there, whether the board has any or not."""
        return self.external_ram is not None and self.external_ram[0] <= address < self.external_ram[1]

    def region(self, name: str) -> MemoryRegion:
        """A memory by name.

        Raises:
            KeyError: The board has no such memory.
        """
        for region in self.memory:
            if region.name == name:
                return region
        raise KeyError(name)

    def region_at(self, address: int) -> MemoryRegion | None:
        """The memory at an address, through either alias."""
        for region in self.memory:
            if region.contains(address):
                return region
        return None
