"""The nouns of a relocatable model, as the vendor's format has them (all words little-endian, 32 bits)."""

from __future__ import annotations

from dataclasses import dataclass

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

TYPES = {0: "UNUSED", 1: "RELOC", 2: "COPY", 3: "RESET"}
DATA = {1: "PARAM", 2: "ACTIV", 3: "MIXED"}
ATTRIBUTES = {1: "READ", 2: "WRITE", 5: "RCACHED", 6: "WCACHED"}


@dataclass(frozen=True)
class PoolDescriptor:
    """An entry of the memory-pool table (20 bytes in the file).

    Attributes:
        name: File postfix of the pool.
        flags: Type, data, attributes, id (8 bits each, highest first).
        foff: Offset of its initial data from the params base.
        dst: Absolute destination of COPY and RESET, else 0.
        size: Bytes used, not rounded.
    """

    name: str
    flags: int
    foff: int
    dst: int
    size: int

    @property
    def type(self) -> int:
        """Bits 31..24."""
        return self.flags >> 24

    @property
    def data(self) -> int:
        """Bits 23..16."""
        return self.flags >> 16 & 0xFF

    @property
    def attributes(self) -> int:
        """Bits 15..8."""
        return self.flags >> 8 & 0xFF

    @property
    def id(self) -> int:
        """Bits 7..0: 0 PARAM_0, 1 PARAM_1; RELOC only."""
        return self.flags & 0xFF

    @property
    def notation(self) -> str:
        """As the vendor's tools write it: ``RELOC.PARAM.0.RCACHED``, ``RESET.ACTIV.WRITE``."""
        parts = [TYPES.get(self.type, f"type{self.type}"), DATA.get(self.data, f"data{self.data}")]
        if self.type == 1:
            parts.append(str(self.id))
        return ".".join([*parts, ATTRIBUTES.get(self.attributes, f"attr{self.attributes}")])


@dataclass(frozen=True)
class Context:
    """``_network_rt_ctx`` as the file has it.

    Attributes:
        c_name: C name of the network.
        acts_sz: Bytes of activations.
        params_sz: Bytes of constants.
        ext_ram_sz: Bytes of the relative read/write pool.
        description: rt_version_desc.
        version: major, minor, micro.
        extra: Number behind the version (31, 14, 8, 262, 275...).
        params_bin_sz: Bytes of raw data.
        params_bin_crc32: zlib CRC-32 of it.
        struct_sizes: Bytes of buffer info and of epoch item; None in ll_aton 1.1.0.
    """

    c_name: str
    acts_sz: int
    params_sz: int
    ext_ram_sz: int
    description: str
    version: tuple[int, int, int]
    extra: int
    params_bin_sz: int
    params_bin_crc32: int
    struct_sizes: tuple[int, int] | None


@dataclass(frozen=True)
class Image:
    """A parsed image.

    Attributes:
        where: Name of the file, for messages.
        data: All bytes.
        header: Words by name (:data:`WORDS_24` or :data:`WORDS_26`).
        header_words: 24 or 26.
        context: The runtime context.
        pools: The memory-pool table.
        got: Words between got_start and got_end, the last three included.
        relocations: Virtual addresses of words to fix, in file order.
        params: Bytes of the params blob: behind params_offset, or of the separate file; None if split and not given.
        split: The params are in a file of their own.
    """

    where: str
    data: bytes
    header: dict[str, int]
    header_words: int
    context: Context
    pools: tuple[PoolDescriptor, ...]
    got: tuple[int, ...]
    relocations: tuple[int, ...]
    params: bytes | None
    split: bool

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
        """Exec RAM in mode XIP."""
        return -(-self.rw_size // 8) * 8

    @property
    def copy_size(self) -> int:
        """Exec RAM in mode COPY."""
        return self.xip_size + -(-self.ro_size // 8) * 8
