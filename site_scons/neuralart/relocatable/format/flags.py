"""The flags word of the header: what the image was built for."""

from __future__ import annotations

from dataclasses import dataclass

API = (8, 0)
CPUS = {0xD22: "Cortex-M55", 0xD21: "Cortex-M33", 0xD23: "Cortex-M85", 0xC27: "Cortex-M7", 0xC24: "Cortex-M4"}
TOOLCHAINS = {0x8: "GCC", 0x9: "LLVM clang", 0xA: "ST clang"}
FLOAT_ABIS = {0: "soft", 1: "softfp", 2: "hard"}


@dataclass(frozen=True)
class Flags:
    """The word, decoded.

    Attributes:
        api: Major and minor number of the interface between image and loader (bits 31..24).
        asynchronous: Epochs wait for interrupts (bit 22).
        dbg_info: Epoch items carry debug information (bit 21).
        secure: Built for the secure state (bit 20).
        toolchain: Key of :data:`TOOLCHAINS` (bits 19..16).
        float_abi: Key of :data:`FLOAT_ABIS` (bits 14..13).
        fpu: Code uses the FPU (bit 12).
        cpuid: Part number of the core, as bits 15..4 of CPUID have it (bits 11..0).
        reserved: Bits 23 and 15, where they stand; 0 in a sound image.
    """

    api: tuple[int, int]
    asynchronous: bool
    dbg_info: bool
    secure: bool
    toolchain: int
    float_abi: int
    fpu: bool
    cpuid: int
    reserved: int

    @property
    def clang(self) -> bool:
        """Built by a clang: absolute words in FLASH are allowed, the GOT is empty."""
        return self.toolchain in (0x9, 0xA)

    @property
    def text(self) -> str:
        """In words: ``API 8.0, Cortex-M55, GCC, float ABI hard, FPU, secure, debug information, asynchronous``."""
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


def decode(word: int) -> Flags:
    """Take the word apart."""
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
