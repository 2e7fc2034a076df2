"""Inputs and answers of the install predictor; the loader's checks of core, firmware and runtime, which all give error
-1.
"""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.errors import NeuralArtError
from neuralart.findings import Finding, error, warning
from neuralart.network.facts import NEURALART_VERSION
from neuralart.quick import dataclass
from neuralart.relocatable.format.types import CONTEXT_WORDS, CPUS, LOADER_API, Image
from neuralart.relocatable.verify.verify_context import STRUCTS, words_of
from neuralart.vendor.releases import Version, dotted, of_runtime, relocatable, relocation_of

ERRORS = {
    0: "NONE",
    -1: "INVALID_BIN",
    -2: "MEMORY",
    -3: "NOT_SUPPORTED",
    -4: "ARG",
    -5: "INVALID_HDL",
    -6: "INSTALL",
    -7: "PARAM_ADDR",
    -8: "PARAM_DESC",
}


@dataclass(frozen=True)
class Room:
    start: int  # its address
    size: int  # bytes

    @property
    def end(self) -> int:
        """First address behind it."""
        return self.start + self.size

    def shares(self, other: Room) -> int:
        """Number of bytes that both have."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


@dataclass(frozen=True)
class LoadingFirmware:
    """The firmware that loads the image."""

    version: Version  # of its runtime: major, minor, micro, extra
    secure: bool  # runs in the secure state
    dbg_info: bool  # compiled with LL_ATON_EB_DBG_INFO

    @classmethod
    def of(cls, image: Image) -> LoadingFirmware:
        """The firmware that an image was made for."""
        return cls(image.version, image.flags.secure, image.flags.dbg_info)

    @property
    def ours(self) -> bool:
        """Whether its loader is that of the reference runtime: it checks more, all before it writes."""
        return self.version[0] == 0

    @property
    def text(self) -> str:
        """The runtime's version, ``1.1.3.262``."""
        return dotted(self.version)


@dataclass(frozen=True)
class InstallCall:
    at: int  # address of the image
    ram: Room  # executive RAM
    ext_ram: Room | None = None  # external RAM; None: not given
    params: int = 0  # address of a split model's params; 0: not given
    copy: bool = False  # mode COPY instead of XIP
    clear: bool = False  # mode CLEAR too

    @property
    def mode(self) -> str:
        """``XIP``, ``COPY``, with ``, CLEAR``."""
        return ("COPY" if self.copy else "XIP") + (", CLEAR" if self.clear else "")


@dataclass(frozen=True)
class Prediction:
    code: int  # what the install returns, a key of ERRORS
    reason: str  # why, if that is an error
    remedy: str  # what to do about it
    ram_needed: int  # bytes of executive RAM
    ext_ram_needed: int  # bytes of external RAM
    steps: tuple[str, ...]  # what is done, in the loader's order
    unnoticed: tuple[Finding, ...]  # what the loader lets pass: errors that show when the model runs, and warnings

    @property
    def name(self) -> str:
        """The code's name in the interface, ``PARAM_ADDR``."""
        return ERRORS[self.code]

    @property
    def works(self) -> bool:
        """Whether it installs, and nothing is known that breaks it later."""
        return self.code == 0 and all(finding.level != "error" for finding in self.unnoticed)


class Refused(Exception):
    """The loader's answer: a key of :data:`ERRORS`, the reason, the remedy."""

    def __init__(self, code: int, reason: str, remedy: str = "") -> None:
        self.code, self.reason, self.remedy = code, reason, remedy
        super().__init__(code, reason, remedy)


STM32N6_CPUID = 0xD22


def text_of(version: Version) -> str:
    """Version with its release: ``1.1.3.8 (ST Edge AI Core 3.0.0)``."""
    release = of_runtime(version)
    if version == NEURALART_VERSION:
        return f"{dotted(version)} (the reference runtime)"
    return f"{dotted(version)} (ST Edge AI Core {release.core})" if release is not None else dotted(version)


def read_version(text: str) -> Version:
    """Read a runtime's version. NeuralArtError: it is not four numbers."""
    parts = text.split(".")
    if len(parts) != 4 or not all(part.isascii() and part.isdigit() and len(part) <= 9 for part in parts):
        known = ", ".join(map(dotted, (NEURALART_VERSION, *(release.runtime for release in relocatable()))))
        raise NeuralArtError(f"'{text}' is not the version of a runtime", where="--runtime", hint=f"known: {known}")
    major, minor, micro, extra = (int(part) for part in parts)
    return major, minor, micro, extra


def _any_state(version: Version) -> bool:
    """A secure firmware of that runtime loads images for the non-secure state."""
    form = relocation_of(version)
    return form is None or form.any_state


def _flags(image: Image, firmware: LoadingFirmware) -> None:
    decoded = image.flags
    differ = [number != known for number, known in zip(decoded.api, LOADER_API, strict=True)]
    # The vendor's loader refuses an interface only if both of its numbers differ.
    if any(differ) if firmware.ours else all(differ):
        raise Refused(-1, f"the image has API {decoded.api[0]}.{decoded.api[1]}, the loader 8.0")
    if decoded.cpuid != STM32N6_CPUID:
        core = CPUS.get(decoded.cpuid, f"CPUID 0x{decoded.cpuid:03X}")
        raise Refused(-1, f"the image is for {core}, an STM32N6 has a Cortex-M55 (CPUID 0xD22)")
    if decoded.secure and not firmware.secure:
        raise Refused(-1, "the image is for the secure state, the firmware is non-secure", "build it with --no-secure")
    if not decoded.secure and firmware.secure and not _any_state(firmware.version):
        raise Refused(-1, "the image is for the non-secure state, the firmware is secure", "build without --no-secure")
    if decoded.dbg_info != firmware.dbg_info:
        has, lacks, way = ("has", "lacks", "with") if decoded.dbg_info else ("lacks", "has", "without")
        what = f"the image {has} debug information of epochs (LL_ATON_EB_DBG_INFO), the firmware {lacks} it"
        raise Refused(-1, what, f"compile the firmware as the image, or build the image {way} --no-dbg-info")
    if not decoded.asynchronous:
        raise Refused(-1, "the image is for the polling mode of the runtime, the firmware waits for interrupts")


def check_firmware(image: Image, firmware: LoadingFirmware) -> None:
    """Ask all of these questions in the loader's order. Refused: the first that fails."""
    _flags(image, firmware)
    version, mine = image.version, firmware.version
    if version[:3] != mine[:3] or (firmware.ours and version != mine):
        what = f"the image is for runtime {text_of(version)}, the firmware has {text_of(mine)}"
        raise Refused(-1, what, "build the image with the release that the firmware has")
    if firmware.ours and words_of(image)[CONTEXT_WORDS.index("rt_version")] & 0xFF:
        raise Refused(-1, "the lowest 8 bits of rt_version are not 0", "the image is damaged, build it again")
    if firmware.ours and not image.context.description.startswith("neuralart-reference"):
        raise Refused(-1, f"the image is for the runtime '{image.context.description}', not for neuralart-reference")
    sizes = STRUCTS[firmware.dbg_info]
    if not firmware.ours and image.context.struct_sizes not in (None, sizes):
        what = f"the structures of the image have {image.context.struct_sizes} bytes, the firmware's {sizes}"
        raise Refused(-1, what)


def unnoticed_by_firmware(image: Image, firmware: LoadingFirmware) -> Iterator[Finding]:
    """List faults that these checks do not find."""
    version, mine = image.version, firmware.version
    theirs, own = of_runtime(version), of_runtime(mine)
    known = theirs is not None and own is not None
    # With the same table of callbacks they may be mixed.
    same = theirs is not None and own is not None and theirs.relocation == own.relocation
    if version[:3] == mine[:3] and version != mine and not same:
        level = error if known else warning
        yield level(
            "runtime",
            f"the image is for runtime {text_of(version)}, the firmware has {text_of(mine)}: the loader compares only "
            f"{dotted(mine[:3])}, but the tables of callbacks {'differ' if known else 'may differ'}: "
            f"the model {'crashes' if known else 'may crash'} when it calls the firmware",
            "build the image with the release that the firmware has",
        )
    if firmware.secure and not image.flags.secure and _any_state(mine):
        what = "the image is for the non-secure state, the firmware is secure: no loader refuses that"
        yield warning("runtime", what)
