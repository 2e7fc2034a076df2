"""Runs ``npu_memory_init`` here: the generated tables and the real code, on registers and memories of a test."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.boards.types import Board, FlashWindow, MemoryRegion
from neuralart.memory.layout.strategies import Initializer, Layout, Placement
from neuralart.memory.startup import startup
from neuralart.memory.startup.tables import link_object_c as link_source
from neuralart.network.facts import Network
from neuralart.resources import firmware_dir
from support.projects import smallboard as small

HERE = Path(__file__).parent
FLAGS = ("-std=c11", "-O1", "-g", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DNPU_MEMORY_ACCESS_BY_TEST")
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")

# The small board with what start-up code can meet: a NOR behind a controller, an NPU cache, a firewall.
CONTROL, NOR_CLOCK = 0x5200_0000, 0x5000_0040
NPU_CACHE, NPU_CACHE_CLOCK = 0x5300_0000, 0x5000_0050
RIMC, RIMC_CLOCK = 0x5400_0C14, 0x5000_0060
REGISTERS = replace(
    small.REGISTERS,
    npu_cache=NPU_CACHE,
    npu_cache_clock=NPU_CACHE_CLOCK,
    npu_cache_clock_bit=30,
    rimc_npu=RIMC,
    rimc_npu_value=0x310,
    rimc_clock=RIMC_CLOCK,
    rimc_clock_bit=9,
)
WINDOW = FlashWindow("NOR", CONTROL, 0x3000_0001, 0x3000_0001, NOR_CLOCK, 12)
DESCRIPTOR, DESCRIPTOR_SIZE, STAGING, WEIGHTS = 0x7000_1000, 0x1000, 0x7000_4000, 0x7000_8000
STAMP = "0123456789abcdef"
DCCIMVAC = 0xE000EF70


def board(**changes: Any) -> Board:
    return small.board(**{"registers": REGISTERS, "windows": (WINDOW,), **changes})


def initializer(pool: str, strategy: str, run: int, load: int = 0, **changes: Any) -> Initializer:
    fields: dict[str, Any] = {"network": "net", "capacity": 0x1000, "cacheable": False, **changes}
    return Initializer(pool=pool, strategy=strategy, run_address=run, load_address=load, **fields)


def layout(*initializers: Initializer, descriptor: int | None = DESCRIPTOR) -> Layout:
    places = () if descriptor is None else (Placement("d", "descriptor", descriptor, DESCRIPTOR_SIZE, "x:1", "d"),)
    return Layout("small", places, initializers, descriptor, None)


def entry(pool: str, load: int, data: bytes, *, network: int = 0, stamp: str = STAMP) -> bytes:
    """A row of the identity descriptor."""
    return struct.pack("<8s24sIIII", bytes.fromhex(stamp), pool.encode(), load, len(data), zlib.crc32(data), network)


def descriptor(*entries: bytes, magic: bytes = b"NAID", version: int = 1, total: int | None = None) -> bytes:
    body = bytes(16) + b"".join(entries)
    size = 16 + len(body) if total is None else total
    return struct.pack("<4sHHII", magic, version, len(entries), size, zlib.crc32(body)) + body


class Host:
    """``npu_memory_init`` of some tables, in this process."""

    def __init__(self, library: Path) -> None:
        self.c = ctypes.CDLL(str(library))
        for name in ("text", "pool", "network"):
            getattr(self.c, f"npu_memory_error_{name}").restype = ctypes.c_char_p
        for name in ("fake_value", "fake_mpu_base", "fake_mpu_attributes", "npu_memory_crc32"):
            getattr(self.c, name).restype = ctypes.c_uint32
        self._loader: Any = None
        self.c.fake_reset()

    def power_up(self, board: Board, *, fill: int = 0xA5) -> None:
        """Memories of a board in the state after reset, its flash mapped."""
        self.c.fake_reset()
        r = board.registers
        for region in board.memory:
            self.c.fake_memory(
                region.base, region.size, int(region.kind == "flash"), 0xFF if region.kind == "flash" else fill
            )
            enable = region.enable
            if enable is None:
                continue
            if enable.clock_bit is not None:
                bit = 1 << enable.clock_bit
                self.c.fake_gate(region.base, region.end, r.memory_clock, bit, bit)
                if region.on_at_reset:
                    self.set(r.memory_clock, self.value(r.memory_clock) | bit)
            if enable.ramcfg_offset is not None and r.ramcfg is not None:
                control, bit = r.ramcfg + enable.ramcfg_offset, 1 << (r.shutdown_bit or 0)
                self.c.fake_gate(region.base, region.end, control, bit, 0)
                self.set(control, bit | 1)
        if r.ramcfg is not None and r.ramcfg_clock is not None:
            bit = 1 << (r.ramcfg_clock_bit or 0)
            self.c.fake_gate(r.ramcfg, r.ramcfg + 0x1000, r.ramcfg_clock, bit, bit)
        if r.npu_cache is not None:
            self.c.fake_npu_cache(r.npu_cache, 1)
            bit = 1 << (r.npu_cache_clock_bit or 0)
            self.c.fake_gate(r.npu_cache, r.npu_cache + 0x200, r.npu_cache_clock, bit, bit)
        if r.rimc_npu is not None:
            bit = 1 << (r.rimc_clock_bit or 0)
            self.c.fake_gate(r.rimc_npu, r.rimc_npu + 4, r.rimc_clock, bit, bit)
        for window in board.windows:
            region = board.region(window.region)
            bit = 1 << window.clock_bit
            self.c.fake_gate(region.base, region.end, window.control, window.mask, window.value)
            self.c.fake_gate(window.control, window.control + 4, window.clock_register, bit, bit)
            self.set(window.clock_register, self.value(window.clock_register) | bit)
            self.set(window.control, window.value | 0x0400_0000)

    def set(self, address: int | None, value: int) -> None:
        self.c.fake_register(address, value)

    def lock(self, address: int) -> None:
        """A register keeps its value, whatever is written."""
        self.c.fake_lock(address)

    def value(self, address: int | None) -> int:
        return int(self.c.fake_value(address))

    def put(self, address: int, data: bytes, view: int = 0) -> None:
        """0: everybody sees it; 1: stored by the core, still in its cache; 2: written behind the cache."""
        self.c.fake_put(address, data, len(data), view)

    def memory(self, address: int, size: int) -> bytes:
        """What everybody but the core sees."""
        buffer = ctypes.create_string_buffer(size)
        self.c.fake_get(address, buffer, size)
        return buffer.raw

    def on_load(self, function: Callable[[], None]) -> None:
        self._loader = ctypes.CFUNCTYPE(None)(function)
        self.c.fake_loader(self._loader)

    def init(self) -> int:
        return int(self.c.npu_memory_init())

    def about(self, error: int) -> tuple[str, str, str]:
        """(text, pool, network) of an error."""
        return tuple(getattr(self.c, f"npu_memory_error_{n}")(error).decode() for n in ("text", "pool", "network"))  # type: ignore[return-value]

    def stamps(self, error: int) -> tuple[str, str]:
        firmware, flash = ctypes.c_char_p(), ctypes.c_char_p()
        self.c.npu_memory_stamps(error, ctypes.byref(firmware), ctypes.byref(flash))
        return (firmware.value or b"").decode(), (flash.value or b"").decode()

    def events(self) -> list[tuple[str, int, int]]:
        """(kind, address, value): r, w registers; m, M words of memory; a memory; b barrier; L loader; ! wrong."""
        buffer = (ctypes.c_uint32 * 3 * 65536)()
        count = self.c.fake_events(buffer)
        return [(chr(buffer[n][0]), buffer[n][1], buffer[n][2]) for n in range(count)]

    def writes(self) -> list[tuple[int, int]]:
        """Register writes, without those of cache maintenance."""
        return [(at, value) for kind, at, value in self.events() if kind == "w" and at != DCCIMVAC]

    def cleaned(self) -> list[int]:
        """Lines that were cleaned and invalidated."""
        return [value for kind, at, value in self.events() if (kind, at) == ("w", DCCIMVAC)]

    def wrong(self) -> list[tuple[int, int]]:
        """Accesses to what did not answer at that time."""
        return [(at, value) for kind, at, value in self.events() if kind == "!"]


class Maker:
    """Builds hosts; the fixed code is compiled once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._include = [
            "-I",
            str(firmware_dir() / "runtime" / "include"),
            "-I",
            str(firmware_dir() / "runtime" / "memory"),
        ]
        sources = [*sorted((firmware_dir() / "runtime" / "memory").glob("*.c")), HERE / "npu_memory_fake.c"]
        self._cc("-c", *map(str, sources))
        self._objects = [f"{source.stem}.o" for source in sources]
        self._made = 0

    def _cc(self, *words: str) -> None:
        done = subprocess.run(
            ["cc", *FLAGS, *SANITIZER, *self._include, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")

    def make(
        self,
        board: Board,
        plan: Layout,
        networks: Sequence[Network],
        *,
        extra: Iterable[tuple[str, str]] = (),
        raws: Iterable[tuple[str, str, bytes]] = (),
    ) -> Host:
        """Tables of a board as they are generated, with further C sources (name, text) and linked raw files.

        Args:
            board: The board.
            plan: Its layout.
            networks: The networks.
            extra: C files of the application.
            raws: (network, pool, bytes) of linked initializers.
        """
        self._made += 1
        stem = f"t{self._made}"
        (self.folder / "npu_memory_init.h").write_text(startup.HEADER, "utf-8")
        names = [f"{stem}-init.c"]
        (self.folder / names[0]).write_text(startup.source(board, plan, networks), "utf-8")
        for name, text in extra:
            (self.folder / f"{stem}-{name}").write_text(text, "utf-8")
            names.append(f"{stem}-{name}")
        for network, pool, data in raws:
            (self.folder / f"{stem}-{pool}.raw").write_bytes(data)
            (self.folder / f"{stem}-{pool}.c").write_text(link_source(network, pool, f"{stem}-{pool}.raw"), "utf-8")
            names.append(f"{stem}-{pool}.c")
        library = self.folder / f"{stem}.so"
        # Symbolic: two hosts in one process must not share their weak hooks.
        self._cc("-shared", "-Wl,-Bsymbolic", "-I", ".", "-o", library.name, *names, *self._objects)
        return Host(library)


def region(name: str, **changes: Any) -> MemoryRegion:
    """A memory of the small board, changed."""
    return replace(next(region for region in small.MEMORY if region.name == name), **changes)
