"""Checks whether the boot loader copies all of an image."""

from __future__ import annotations

from collections.abc import Iterator

from neuralart.boards.types import Board, Boot
from neuralart.memory.findings import Finding, error, warning
from neuralart.memory.image.bin_facts import HEADER
from neuralart.memory.image.image_facts import ImageFacts, Part


def copied(boot: Boot, image: ImageFacts) -> tuple[list[Part], list[Part]]:
    """Loaded parts that make up the binary behind the header, and the others.

    A gap of a whole copy is no padding: what lies behind it, or before the header, is something else.
    """
    inside: list[Part] = []
    others: list[Part] = []
    end = boot.copy_to
    for part in sorted(image.loaded, key=lambda part: part.load):
        if boot.copy_to <= part.load < end + boot.copy_size:
            inside.append(part)
            end = max(end, part.load_end)
        else:
            others.append(part)
    return inside, others


def slot_bytes(board: Board, image: ImageFacts) -> int:
    """Bytes of the image in its slot, header included (of the image alone on a board without boot chain)."""
    boot = board.boot
    if image.slot_bytes:
        return image.slot_bytes
    inside = copied(boot, image)[0] if boot is not None else []
    parts = inside or list(image.loaded)
    first = boot.copy_to if boot is not None and inside else min(part.load for part in parts)
    return max(part.load_end for part in parts) - first


def size(board: Board, image: ImageFacts) -> Iterator[Finding]:
    """Check that the image is not larger than what the boot loader copies."""
    boot = board.boot
    if boot is None:
        return
    inside, others = copied(boot, image)
    target = f"[0x{boot.copy_to:08x}, 0x{boot.copy_to + boot.copy_size:08x})"
    if not inside:
        yield error(
            "size",
            f"no byte of the image is in {target}, where the boot loader copies to",
            f"link the image to 0x{boot.copy_to + boot.header:08x}",
        )
        return
    if inside[0].load < boot.copy_to + boot.header:
        yield error(
            "size",
            f"{inside[0].name} is loaded to 0x{inside[0].load:08x}, into the {boot.header} bytes that the header takes",
            f"link the image to 0x{boot.copy_to + boot.header:08x}",
        )
    has = slot_bytes(board, image)
    if has > boot.copy_size:
        yield error(
            "size",
            f"header and image have {has} bytes ({boot.header} + {has - boot.header}), the boot loader copies exactly "
            f"{boot.copy_size} bytes: {has - boot.copy_size} bytes are cut off",
            "move constants to flash, or use a boot loader that copies more and say so in the board's file",
        )
    for part in others:
        yield error(
            "size",
            f"{part.name}: {len(part.data)} bytes at 0x{part.load:08x} are not copied: the boot loader writes {target}",
            "program them on their own, or link them behind the code",
        )


def header(image: ImageFacts) -> Iterator[Finding]:
    """Check that a signed header describes the bytes behind it."""
    if image.payload is None:
        return
    behind = sum(len(part.data) for part in image.loaded)
    missing = image.payload - behind
    if missing > 0:
        # Some releases of the signing tool count the padding of the header as well.
        say = warning if missing <= HEADER else error
        yield say(
            "header",
            f"the signed header announces {image.payload} bytes, {behind} follow it: {missing} bytes are missing",
            "sign it again; the header must be padded to its full length (option -align of the signing tool)",
        )
