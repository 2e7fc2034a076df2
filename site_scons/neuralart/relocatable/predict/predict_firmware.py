"""The loader's questions on core, firmware and runtime: all their answers are error -1."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.errors import NeuralArtError
from neuralart.memory.findings import Finding, error, warning
from neuralart.network.facts import NEURALART_VERSION
from neuralart.relocatable.format import flags
from neuralart.relocatable.format.types import CONTEXT_WORDS, Image
from neuralart.relocatable.predict.prediction import Firmware, Refused
from neuralart.relocatable.verify.verify_context import STRUCTS, words_of
from neuralart.vendor.releases import Version, dotted, of_runtime, relocatable, relocation_of

STM32N6_CPUID = 0xD22


def version_of(image: Image) -> Version:
    """The runtime that an image was built with."""
    return (*image.context.version, image.context.extra)


def text_of(version: Version) -> str:
    """``1.1.3.8 (ST Edge AI Core 3.0.0)``."""
    release = of_runtime(version)
    if version == NEURALART_VERSION:
        return f"{dotted(version)} (the reference runtime)"
    return f"{dotted(version)} (ST Edge AI Core {release.core})" if release is not None else dotted(version)


def read_version(text: str) -> Version:
    """A runtime's version as users write it.

    Raises:
        NeuralArtError: It is not four numbers.
    """
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


def _flags(image: Image, firmware: Firmware) -> None:
    decoded = flags.decode(image.header["flags"])
    differ = [decoded.api[0] != flags.API[0], decoded.api[1] != flags.API[1]]
    # The vendor's loader refuses an interface only if both of its numbers differ.
    if any(differ) if firmware.ours else all(differ):
        raise Refused(-1, f"the image has API {decoded.api[0]}.{decoded.api[1]}, the loader 8.0")
    if decoded.cpuid != STM32N6_CPUID:
        core = flags.CPUS.get(decoded.cpuid, f"CPUID 0x{decoded.cpuid:03X}")
        raise Refused(-1, f"the image is for {core}, an STM32N6 has a Cortex-M55 (CPUID 0xD22)")
    if decoded.secure and not firmware.secure:
        raise Refused(-1, "the image is for the secure state, the firmware is non-secure", "build it with --no-secure")
    if not decoded.secure and firmware.secure and not _any_state(firmware.version):
        raise Refused(-1, "the image is for the non-secure state, the firmware is secure", "build without --no-secure")
    if decoded.dbg_info != firmware.dbg_info:
        has = "has" if decoded.dbg_info else "lacks"
        lacks = "lacks" if decoded.dbg_info else "has"
        raise Refused(
            -1,
            f"the image {has} debug information of epochs (LL_ATON_EB_DBG_INFO), the firmware {lacks} it",
            "compile the firmware as the image, or build the image "
            + ("with" if decoded.dbg_info else "without")
            + " --no-dbg-info",
        )
    if not decoded.asynchronous:
        raise Refused(-1, "the image is for the polling mode of the runtime, the firmware waits for interrupts")


def check(image: Image, firmware: Firmware) -> None:
    """All of them, in the loader's order.

    Raises:
        Refused: The first that fails.
    """
    _flags(image, firmware)
    version, mine = version_of(image), firmware.version
    if version[:3] != mine[:3] or (firmware.ours and version != mine):
        raise Refused(
            -1,
            f"the image is for runtime {text_of(version)}, the firmware has {text_of(mine)}",
            "build the image with the release that the firmware has",
        )
    if firmware.ours and words_of(image)[CONTEXT_WORDS.index("rt_version")] & 0xFF:
        raise Refused(-1, "the lowest 8 bits of rt_version are not 0", "the image is damaged, build it again")
    if firmware.ours and not image.context.description.startswith("neuralart-reference"):
        raise Refused(-1, f"the image is for the runtime '{image.context.description}', not for neuralart-reference")
    sizes = STRUCTS[firmware.dbg_info]
    if not firmware.ours and image.context.struct_sizes not in (None, sizes):
        raise Refused(
            -1, f"the structures of the image have {image.context.struct_sizes} bytes, the firmware's {sizes}"
        )


def unnoticed(image: Image, firmware: Firmware) -> Iterator[Finding]:
    """What these questions let pass."""
    version, mine = version_of(image), firmware.version
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
    if firmware.secure and not flags.decode(image.header["flags"]).secure and _any_state(mine):
        yield warning(
            "runtime", "the image is for the non-secure state, the firmware is secure: no loader refuses that"
        )
