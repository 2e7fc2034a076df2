"""The stamp of an image: what the loading application says of a model, computed from the files.

``firmware/app_loader/image_stamp.c`` computes the same where the model is.
"""

from __future__ import annotations

import zlib

from neuralart.errors import NeuralArtError
from neuralart.relocatable.format.types import OFFSET, Image


def stamp_of(image: Image) -> str:
    """The stamp of an image.

    Returns:
        CRC-32 of the file without its params, then CRC-32 of its params, 8 hex digits each.

    Raises:
        NeuralArtError: Its params are missing or too short.
    """
    end, size = image.header["rel_end"] & OFFSET, image.context.params_bin_sz
    if image.params is None:
        raise NeuralArtError(
            f"a split model: its {size} bytes of params are in a file of their own",
            where=image.where,
            hint="give its _rel_params.bin as well",
        )
    if len(image.params) < size:
        raise NeuralArtError(
            f"{size} bytes of params belong to it, {len(image.params)} are there",
            where=image.where,
            hint="the file is cut off, or its params are of another model",
        )
    return f"{zlib.crc32(image.data[:end]):08x}{zlib.crc32(image.params[:size]):08x}"
