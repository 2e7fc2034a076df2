"""Record of a relocatable model (``network_rel.bin``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes

if TYPE_CHECKING:
    from neuralart.relocatable.format.types import Image


def open_image(path: Path, offset: int = 0, params: Path | None = None) -> Image:
    """Read an image that begins at ``offset``; ``params``: file with the params of a split model. Raises
    NeuralArtError: a file cannot be read, or is no image.
    """
    from neuralart.relocatable.format import container

    data = read_bytes(path)
    if offset and offset >= len(data):
        raise NeuralArtError(
            f"--offset 0x{offset:x} is behind the end of the file, which has {len(data)} bytes", where=str(path)
        )
    return container.parse(data[offset:], str(path), read_bytes(params) if params is not None else None)


def record(path: Path, offset: int = 0, params: Path | None = None) -> dict[str, Any]:
    """What an image says. Raises NeuralArtError: as :func:`open_image`."""
    from neuralart.relocatable.verify import report

    image = open_image(path, offset, params)
    return {
        "kind": "relocatable",
        "schema": report.SCHEMA,
        "reloc_binary_image": report.image_data(image),
        "_text": report.as_text(image),
    }


def text(record: dict[str, Any]) -> str:
    """For people: the tables."""
    return str(record["_text"])
