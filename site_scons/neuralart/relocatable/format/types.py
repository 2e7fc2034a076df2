"""The parts of a relocatable model in the vendor's format (little-endian words of 32 bits). The top four bits of a
virtual address name a segment, the others are an offset into it.
"""

from __future__ import annotations

import zlib

from neuralart.quick import dataclass

MAGIC = 0x4E49424E
SEGMENT = 0xF0000000
OFFSET = 0x0FFFFFFF
FLASH, RAM, PARAM_0, PARAM_1 = 0x20000000, 0x40000000, 0x80000000, 0x90000000

# Header words by position. Up to ll_aton 1.1.1 there are 24, from 1.1.3 on 26.
COMMON_WORDS = (
    "magic",
    "flags",
    "data_start",
    "data_end",
    "data_data",
    "bss_start",
    "bss_end",
    "got_start",
    "got_end",
    "rel_start",
    "rel_end",
    "params_start",
    "params_offset",
    "ec_network_init",
    "ec_inference_init",
    "input_setter",
    "input_getter",
    "output_setter",
    "output_getter",
    "get_epoch_items",
    "get_output_buffers_info",
    "get_input_buffers_info",
)
WORDS_24 = (*COMMON_WORDS, "get_internal_buffers_info", "rt_ctx")
WORDS_26 = (*COMMON_WORDS, "weight_encryption_info", "blob_encryption_info", "get_internal_buffers_info", "rt_ctx")
# Words of the context in front of the two pointers at its end; the last one is missing in ll_aton 1.1.0.
CONTEXT_WORDS = (
    "state",
    "file_addr",
    "ram_addr",
    "rom_addr",
    "cbs",
    "c_name",
    "acts_sz",
    "params_sz",
    "ext_ram_sz",
    "rt_version_desc",
    "rt_version",
    "rt_version_extra",
    "params_bin_sz",
    "params_bin_crc32",
    "rt_c_struct_sizes",
)

SEGMENT_NAMES = {FLASH: "FLASH", RAM: "RAM", PARAM_0: "PARAM_0", PARAM_1: "PARAM_1"}
# What the linker script gives to a segment of params: no pool is larger, whether the params are at hand or not.
PARAMS_WINDOW = 128 << 20
RESERVED_GOT_WORDS = 3
# A relocatable blob's wrapper (2.1, 2.2, from 3.0 on), a blob.
EC_BINARIES = (0xECBF0020, 0xECBF0030, 0xECBF0050)
EC_MAGICS = (*EC_BINARIES, 0xCA057A7A)

RELOC, COPY, RESET = 1, 2, 3
PARAM, ACTIV, MIXED = 1, 2, 3
READ, WRITE, CACHEABLE = 1, 2, 4
MOST_POOLS = 9  # that a loader takes
# Caches serve accesses to external memory only: the NPU's cacheable ones are right from here on.
EXTERNAL = 0x60000000
TYPES = {0: "UNUSED", RELOC: "RELOC", COPY: "COPY", RESET: "RESET"}
DATA = {PARAM: "PARAM", ACTIV: "ACTIV", MIXED: "MIXED"}
ATTRIBUTES = {READ: "READ", WRITE: "WRITE", READ | CACHEABLE: "RCACHED", WRITE | CACHEABLE: "WCACHED"}

LOADER_API = (8, 0)
CPUS = {0xD22: "Cortex-M55", 0xD21: "Cortex-M33", 0xD23: "Cortex-M85", 0xC27: "Cortex-M7", 0xC24: "Cortex-M4"}
TOOLCHAINS = {0x8: "GCC", 0x9: "LLVM clang", 0xA: "ST clang"}
FLOAT_ABIS = {0: "soft", 1: "softfp", 2: "hard"}


def align8(size: int) -> int:
    """The next multiple of 8."""
    return -(-size // 8) * 8


@dataclass(frozen=True)
class PoolDescriptor:
    """An entry of the memory-pool table (20 bytes in the file)."""

    name: str  # file postfix of the pool
    flags: int  # type, data, attributes, id (8 bits each, highest first)
    foff: int  # offset of its initial data from the params base
    dst: int  # absolute destination of COPY and RESET, else 0
    size: int  # bytes used, not rounded

    @property
    def type(self) -> int:
        """Bits 31..24: RELOC, COPY or RESET."""
        return self.flags >> 24

    @property
    def data(self) -> int:
        """Bits 23..16: PARAM, ACTIV or MIXED."""
        return self.flags >> 16 & 0xFF

    @property
    def attributes(self) -> int:
        """Bits 15..8: READ or WRITE, with CACHEABLE or without."""
        return self.flags >> 8 & 0xFF

    @property
    def id(self) -> int:
        """Bits 7..0: 0 PARAM_0, 1 PARAM_1; RELOC only."""
        return self.flags & 0xFF

    @property
    def notation(self) -> str:
        """As the vendor's tools write it: ``RELOC.PARAM.0.RCACHED``, ``RESET.ACTIV.WRITE``."""
        parts = [TYPES.get(self.type, f"type{self.type}"), DATA.get(self.data, f"data{self.data}")]
        if self.type == RELOC:
            parts.append(str(self.id))
        return ".".join([*parts, ATTRIBUTES.get(self.attributes, f"attr{self.attributes}")])


@dataclass(frozen=True)
class Context:
    """The runtime context ``_network_rt_ctx``, as the file has it."""

    c_name: str  # of the network
    acts_sz: int  # bytes of activations
    params_sz: int  # bytes of constants
    ext_ram_sz: int  # bytes of the relative read/write pool
    description: str  # rt_version_desc
    version: tuple[int, int, int]  # major, minor, micro
    extra: int  # number behind the version (31, 14, 8, 262, 275...)
    params_bin_sz: int  # bytes of raw data
    params_bin_crc32: int  # zlib CRC-32 of it
    struct_sizes: tuple[int, int] | None  # bytes of buffer info and of epoch item; None in ll_aton 1.1.0

    @property
    def words(self) -> int:
        """Number of its words in the file."""
        return 16 if self.struct_sizes is None else 17


@dataclass(frozen=True)
class Flags:
    """The flags word of the header, decoded."""

    api: tuple[int, int]  # major and minor number of the interface between image and loader (bits 31..24)
    asynchronous: bool  # epochs wait for interrupts (bit 22)
    dbg_info: bool  # epoch items carry debug information (bit 21)
    secure: bool  # built for the secure state (bit 20)
    toolchain: int  # key of TOOLCHAINS (bits 19..16)
    float_abi: int  # key of FLOAT_ABIS (bits 14..13)
    fpu: bool  # code uses the FPU (bit 12)
    cpuid: int  # part number of the core, as bits 15..4 of CPUID have it (bits 11..0)
    reserved: int  # bits 23 and 15, where they stand; 0 in a sound image

    @property
    def clang(self) -> bool:
        """Whether clang built it: absolute words in FLASH are allowed, the GOT is empty."""
        return self.toolchain in (0x9, 0xA)

    @property
    def text(self) -> str:
        """For people: ``API 8.0, Cortex-M55, GCC, float ABI hard, FPU, secure, debug information, asynchronous``."""
        return ", ".join(
            [
                f"API {self.api[0]}.{self.api[1]}",
                CPUS.get(self.cpuid, f"CPUID 0x{self.cpuid:03X}"),
                TOOLCHAINS.get(self.toolchain, f"toolchain {self.toolchain}"),
                f"float ABI {FLOAT_ABIS.get(self.float_abi, self.float_abi)}",
                "FPU" if self.fpu else "no FPU",
                "secure" if self.secure else "non-secure",
                "debug information" if self.dbg_info else "no debug information",
                "asynchronous" if self.asynchronous else "polling",
            ]
        )


def decode_flags(word: int) -> Flags:
    """Decode the flags word."""
    return Flags(
        api=(word >> 28, word >> 24 & 0xF),
        asynchronous=bool(word >> 22 & 1),
        dbg_info=bool(word >> 21 & 1),
        secure=bool(word >> 20 & 1),
        toolchain=word >> 16 & 0xF,
        float_abi=word >> 13 & 3,
        fpu=bool(word >> 12 & 1),
        cpuid=word & 0xFFF,
        reserved=word & (1 << 23 | 1 << 15),
    )


@dataclass(frozen=True)
class Image:
    where: str  # name of the file, for messages
    data: bytes  # all of them
    header: dict[str, int]  # words by name (WORDS_24 or WORDS_26)
    header_words: int  # 24 or 26
    context: Context
    pools: tuple[PoolDescriptor, ...]
    got: tuple[int, ...]  # words between got_start and got_end, the last three included
    relocations: tuple[int, ...]  # virtual addresses of words to fix, in file order
    params: bytes | None  # behind params_offset, or of the separate file; None if split and not given
    split: bool  # the params are in a file of their own

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the header's words, in order."""
        return WORDS_24 if self.header_words == 24 else WORDS_26

    @property
    def flags(self) -> Flags:
        return decode_flags(self.header["flags"])

    @property
    def version(self) -> tuple[int, int, int, int]:
        return (*self.context.version, self.context.extra)

    @property
    def ro_size(self) -> int:
        """Bytes of header, text and read-only data."""
        return self.header["data_data"] & OFFSET

    @property
    def rw_size(self) -> int:
        """Bytes of data, GOT and bss."""
        return self.header["bss_end"] & OFFSET

    @property
    def xip_size(self) -> int:
        """Bytes of executable RAM in mode XIP."""
        return align8(self.rw_size)

    @property
    def copy_size(self) -> int:
        """Bytes of executable RAM in mode COPY."""
        return self.xip_size + align8(self.ro_size)

    @property
    def copy_only(self) -> bool:
        """Whether its code has addresses to relocate, which is only possible in RAM."""
        return any(place & SEGMENT == FLASH for place in self.relocations)

    @property
    def relative_ram(self) -> PoolDescriptor | None:
        """The pool that is relocated to external RAM."""
        return next((pool for pool in self.pools if pool.type == RELOC and pool.id == 1), None)


def segment_text(address: int) -> str:
    """Name an address's segment: ``segment 4 (RAM)``."""
    name = SEGMENT_NAMES.get(address & SEGMENT)
    return f"segment {address >> 28:X}" + (f" ({name})" if name else "")


def stored_data(header: dict[str, int]) -> int:
    """Bytes of the RAM segment that the file holds: data, context, tables and GOT, without bss."""
    return max(header["data_end"] & OFFSET, header["got_end"] & OFFSET)


def file_offset(header: dict[str, int], address: int) -> int | None:
    """Find a FLASH or RAM address in the file; None if the file has no bytes of it."""
    ro_size, offset = header["data_data"] & OFFSET, address & OFFSET
    if address & SEGMENT == FLASH and offset < ro_size:
        return offset
    if address & SEGMENT == RAM and offset < stored_data(header):
        return ro_size + offset
    return None


def ec_front(image: Image) -> int:
    """Bytes of epoch-controller blobs in front of the raw data; 0 if the params are missing or too short."""
    blob, context = image.params, image.context
    front = len(blob) - context.params_bin_sz if blob is not None else 0
    if blob is None or front <= 0:
        return 0
    # Bytes that are no blobs stand behind the data, not in front: a file with something appended.
    known = int.from_bytes(blob[:4], "little") in EC_MAGICS
    return front if known or (context.params_bin_sz and zlib.crc32(blob[front:]) == context.params_bin_crc32) else 0


def raw_data(image: Image) -> bytes:
    """The memory initializers, without blobs before them and bytes behind them."""
    start = ec_front(image)
    return (image.params or b"")[start : start + image.context.params_bin_sz]


def limits(image: Image) -> dict[int, int]:
    """Size of each segment after the install; segments that do not exist are left out."""
    relocated = {pool.id: pool for pool in reversed(image.pools) if pool.type == RELOC}
    found = {FLASH: image.ro_size, RAM: image.rw_size}
    if 1 in relocated:
        found[PARAM_1] = relocated[1].size
    if image.params is None:
        found[PARAM_0] = PARAMS_WINDOW
    elif 0 in relocated:
        found[PARAM_0] = max(0, len(image.params) - relocated[0].foff)
    elif ec_front(image):
        # Without a pool of its own the segment holds epoch-controller blobs alone.
        found[PARAM_0] = ec_front(image)
    return found


def word_fault(sizes: dict[int, int], value: int) -> str:
    """Why a word that the loader will rebase cannot be rebased, with the sizes of :func:`limits`; empty if it can. One
    past the end of a segment is a valid address, as in C.
    """
    segment, offset = value & SEGMENT, value & OFFSET
    if segment not in SEGMENT_NAMES:
        return f"points to {segment_text(value)}, which no loader knows"
    if segment not in sizes:
        return f"points to {segment_text(value)}, but no pool of the image is relocated there"
    if offset > sizes[segment]:
        return f"points behind {segment_text(value)}, which has 0x{sizes[segment]:x} bytes"
    return ""
