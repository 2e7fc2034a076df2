"""Records of images with the header that the boot chain of an STM32N6 wants: one for each image of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.flashing import image_header
from neuralart.inspect.tables import address
from neuralart.text.ihex import parse


def records(path: Path) -> list[dict[str, Any]]:
    """A record of each image of a binary, or of an Intel HEX file, in the order of the file. Raises NeuralArtError: it
    cannot be read or is damaged, or holds no image with a header that is known.
    """
    data = read_bytes(path)
    parts = parse(data, str(path)).parts if data.lstrip().startswith(b":") else ((0, data),)
    found = [
        image_header.record(image_header.read(part, at, str(path)), base + at)
        for base, part in parts
        for at in image_header.find(part)
    ]
    if not found:
        # Says what is wrong with the header that gave the file its kind.
        image_header.read(parts[0][1] if parts else b"", 0, str(path))
        raise NeuralArtError("no image header in it", where=str(path))
    return found


def record(path: Path) -> dict[str, Any]:
    """The first image of the file; the others are under ``_more``. Raises NeuralArtError: as :func:`records`."""
    first, *more = records(path)
    return {**first, "_more": more}


def text(record: dict[str, Any]) -> str:
    """For people."""
    return "".join(_image(each) for each in (record, *record.get("_more", ())))


def _image(record: dict[str, Any]) -> str:
    version, table = record["header_version"], record["vector_table_offset"]
    kind = "first-stage boot loader" if record["binary_type"] == image_header.TYPES["fsbl"] else "application"
    lines = [
        f"image at {address(record['at'])}: header {version >> 16}.{version >> 8 & 0xFF}, {kind}, "
        f"{record['image_length']:,} bytes behind the header, {'signed' if record['signed'] else 'no signature'}",
        f"  entry {address(record['entry_point'])}, vector table "
        + ("not found" if table is None else f"at 0x{table:x}, stack {address(record['stack_pointer'])}"),
        *(f"  problem: {problem}" for problem in record["problems"]),
    ]
    return "\n".join(lines) + "\n"
