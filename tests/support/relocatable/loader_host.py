"""The loader of relocatable models in a process of this machine, with the target's memory map, and images for it.

The images are put together here word by word: the loader is not tested with what another part of the project writes.
"""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
import sys
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.resources import firmware_dir

HERE = Path(__file__).parent
FLAGS = ("-std=gnu11", "-O1", "-g", "-pie", "-fPIE", "-Wall", "-Wextra", "-Werror")
DEFINES = ("-DLL_ATON_RT_RELOC", "-DNPU_MEMORY_ACCESS_BY_TEST")
SANITIZER = ("-fsanitize=undefined", "-fno-sanitize-recover=undefined")

NBIN, ASYNC, DBG_INFO, SECURE, FPU, M55 = 0x4E49424E, 1 << 22, 1 << 21, 1 << 20, 1 << 12, 0xD22
DEFAULT_FLAGS = 0x80085D22 | ASYNC
FLASH, RAM, PARAM_0, PARAM_1 = 0x20000000, 0x40000000, 0x80000000, 0x90000000
XIP, COPY, CLEAR = 1, 2, 4
CPUID, CPACR = 0x411FD221, 0x00F00000
# Entry points: names of loader_host.c's calls in the order of the header, from word 13 on.
ENTRIES = ("network_init", "inference_init", "set_input", "get_input", "set_output", "get_output", "items", "outputs")
ENTRIES_24 = (*ENTRIES, "inputs", "internal")
ENTRIES_26 = (*ENTRIES, "inputs", "weight_encryption", "blob_encryption", "internal")


def unavailable() -> str:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "maps the target's addresses, on x86-64 Linux only"
    return "" if shutil.which("cc") else "no C compiler for this machine"


@dataclass
class Model:
    """A relocatable image: what it says, and after :meth:`build` where.

    Data: the pointers, the context, the memory pools, the GOT.
    """

    flags: int = DEFAULT_FLAGS
    header_words: int = 26
    name: str = "toy"
    description: str = "neuralart-reference (RELOC.GCC)"
    version: int = 0x00010000
    extra: int = 0
    sizes: int = 0
    pools: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    pointers: list[int] = field(default_factory=lambda: [RAM + 4, FLASH + 0x201, 0, PARAM_0 + 0x20])
    got: list[int] = field(default_factory=lambda: [RAM + 8, PARAM_0 + 4, FLASH + 0x200, 0, 0, 0])
    extra_relocations: list[int] = field(default_factory=list)
    code: bytes = bytes(range(256)) * 2
    bss: int = 0x50
    params: bytes = bytes(n * 7 & 0xFF for n in range(0x100))
    split: bool = False
    ro_padding: int = 0
    ext_ram: int = 0
    header: dict[int, int] = field(default_factory=dict)
    words: dict[int, int] = field(default_factory=dict)

    def build(self) -> bytes:
        """The file. `header` replaces words of the header, `words` those at other offsets."""
        strings = bytearray(4 * self.header_words)
        names = []
        for text in (self.name, self.description, *(pool[0] for pool in self.pools)):
            names.append(FLASH + len(strings))
            strings += text.encode() + b"\0"
        self.code_at = -(-len(strings) // 8) * 8
        ro = bytes(strings).ljust(self.code_at, b"\xff") + self.code + b"\xff" * self.ro_padding
        self.ro = len(ro)
        self.context = 4 * len(self.pointers)
        context = [0] * 17
        context[5:15] = [names[0], 0x400, len(self.params), self.ext_ram, names[1], self.version, self.extra]
        context[12:] = [len(self.params), zlib.crc32(self.params), self.sizes, 0, RAM]
        self.pools_at = self.context + 68
        rows = [(name, *pool[1:]) for name, pool in zip(names[2:], self.pools, strict=True)]
        table = b"".join(struct.pack("<5I", *row) for row in [*rows, (0,) * 5])
        self.got_at = self.pools_at + len(table)
        data = _words([*self.pointers, *context]) + table + _words(self.got)
        self.stored = len(data)
        self.bss_at = -(-self.stored // 8) * 8
        self.rw = self.bss_at + self.bss
        self.relocations = [RAM + 4 * n for n in range(len(self.pointers))]
        self.relocations += [RAM + self.context + 4 * n for n in (5, 9, 16)]
        self.relocations += [RAM + self.pools_at + 20 * n for n in range(len(rows))] + self.extra_relocations
        body = (ro + data).ljust(-(-(len(ro) + len(data)) // 8) * 8, b"\0")
        self.rel_at = len(body)
        body += _words(self.relocations)
        body = body.ljust(-(-len(body) // 8) * 8, b"\0")
        self.params_at = 0 if self.split else len(body)
        entries = ENTRIES_26 if self.header_words == 26 else ENTRIES_24
        header = [NBIN, self.flags, RAM, RAM + self.got_at, FLASH + self.ro, RAM + self.bss_at, RAM + self.rw]
        header += [RAM + self.got_at, RAM + self.got_at + 4 * len(self.got)]
        header += [FLASH + self.rel_at, FLASH + self.rel_at + 4 * len(self.relocations), RAM + self.pools_at]
        header += [self.params_at, *(FLASH + self.code_at + 16 * n + 1 for n in range(len(entries)))]
        header += [RAM + self.context]
        for index, value in self.header.items():
            header[index] = value
        image = bytearray(_words(header) + body[len(header) * 4 :] + (b"" if self.split else self.params))
        for at, value in self.words.items():
            struct.pack_into("<I", image, at, value)
        return bytes(image)

    def entry(self, name: str) -> int:
        """Offset of an entry point, without the Thumb bit."""
        entries = ENTRIES_26 if self.header_words == 26 else ENTRIES_24
        return self.code_at + 16 * entries.index(name)

    @property
    def xip(self) -> int:
        return -(-self.rw // 8) * 8

    @property
    def copy(self) -> int:
        return self.xip + -(-self.ro // 8) * 8


def _words(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


class Host:
    """A process with the loader in it."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.core()

    def ask(self, command: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer.endswith("\n"), f"the process ended ({self._process.wait()}) at {command[:80]}"
        return answer[:-1]

    def died(self, command: str) -> bool:
        """True if the process ends at a command."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline() == "" and self._process.wait() < 0

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait()

    def core(self, cpuid: int = CPUID, cpacr: int = CPACR, secure: bool = True) -> None:
        self.sizes = int(self.ask(f"core {cpuid:x} {cpacr:x} {secure:x}"), 16)

    def map(self, base: int, size: int = 0x10000, fill: int = 0xA5) -> None:
        self.ask(f"map {base:x} {size:x} {fill:x}")

    def put(self, address: int, data: bytes, *, cached: bool = False) -> None:
        """Bytes that everybody sees, or that only the core sees so far."""
        self.ask(f"{'store' if cached else 'put'} {address:x} {data.hex()}")

    def get(self, address: int, size: int, view: str = "get") -> bytes:
        """What the core reads; view ``ram``: what others see; ``code``: what the core fetches."""
        return bytes.fromhex(self.ask(f"{view} {address:x} {size:x}"))

    def word(self, address: int) -> int:
        return int.from_bytes(self.get(address, 4), "little")

    def install(
        self, file: int, exec_ram: int, size: int, mode: int = XIP, *, ext: tuple[int, int] = (0, 0), params: int = 0
    ) -> tuple[int, str]:
        """Error and reason."""
        words = f"{file:x} {exec_ram:x} {size:x} {ext[0]:x} {ext[1]:x} {params:x} {mode:x}"
        error, reason, npu = self.ask(f"install {words}").split("|")
        self.npu_cache = tuple(int(part, 16) for part in npu.split())
        return int(error), reason

    def call(self, name: str, number: int = 0) -> tuple[int, str]:
        """Result, and the calls into the model: function(arguments)@r9."""
        result, calls = self.ask(f"call {name} {number:x}").split("|")
        return int(result), calls


def compile_host(folder: Path) -> Path:
    """The program."""
    runtime = firmware_dir() / "runtime"
    sources = [*sorted(runtime.glob("relocatable_*.c")), runtime / "memory" / "dcache.c", HERE / "loader_host.c"]
    include = ["-I", str(runtime), "-I", str(runtime / "include"), "-I", str(runtime / "memory")]
    program = folder / "loader_host"
    command = ["cc", *FLAGS, *DEFINES, *SANITIZER, *include, "-o", str(program), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return program
