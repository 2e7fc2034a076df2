"""Which camera resolution an application captures for a network, and how large its image buffers are.

The table follows from three sentences: *crop* cuts a square as high as the picture, *padding* adds borders until the
picture is as high as it is wide, *fit* takes it as it is; the first resolution whose result holds the network's input
is taken. Buffers are sized as the application's header sizes them: always two bytes a pixel (RGB565), whatever the
network's channels are, rounded up to whole cache lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError, nearest

CROP, PADDING, FIT = "crop", "padding", "fit"
MODES = (CROP, PADDING, FIT)
CHANNELS = (1, 3)
LINE = 32


@dataclass(frozen=True)
class Resolution:
    """A resolution of the camera."""

    constant: str  # what the driver calls it, ``CAMERA_R320x240``
    width: int  # pixels
    height: int  # pixels
    width_symbol: str  # macro of the application for the width
    height_symbol: str  # macro of the application for the height


@dataclass(frozen=True)
class Camera:
    """What is decided."""

    mode: str  # ``crop``, ``padding`` or ``fit``
    constant: str  # value of the resolution macro
    width: str  # value of the width macro, a symbol
    height: str  # value of the height macro, a symbol
    buffer_width: int  # pixels of the capture buffer
    buffer_height: int  # pixels of the capture buffer
    crop_x: int  # column at which the cut-out begins for it to be in the middle; 0 if nothing is cut
    crop_x_text: str  # the same as an expression of symbols


def whole_lines(size: int) -> int:
    """Bytes rounded up to whole cache lines."""
    return -(-size // LINE) * LINE


def image_bytes(width: int, height: int, bytes_per_pixel: int) -> int:
    """Bytes of an image buffer as the C header computes them."""
    return whole_lines(width * height * bytes_per_pixel)


def _room(mode: str, resolution: Resolution) -> tuple[int, int]:
    """Pixels of the capture buffer."""
    if mode == CROP:
        return resolution.height, resolution.height
    if mode == PADDING:
        return resolution.width, resolution.width
    return resolution.width, resolution.height


def decide(mode: str, ladder: Sequence[Resolution], width: int, height: int, channels: int, where: str = "") -> Camera:
    """Choose.

    Args:
        mode: ``crop``, ``padding`` or ``fit``.
        ladder: Resolutions of the camera, smallest first.
        width: Of the network's input, in pixels.
        height: Of the network's input, in pixels.
        channels: Of the network's input.
        where: For messages.

    Raises:
        NeuralArtError: The mode is unknown, the input is no picture, or no resolution is large enough.
    """
    if mode not in MODES:
        raise NeuralArtError(f"aspect ratio '{mode}' is not known", where=where, hint=nearest(mode, MODES))
    if channels not in CHANNELS:
        raise NeuralArtError(
            f"the network's input has {channels} channels; a camera application feeds 1 (grayscale) or 3 (RGB)",
            where=where,
        )
    if width < 1 or height < 1:
        raise NeuralArtError(f"the network's input is {width}x{height} pixels", where=where)
    for each in ladder:
        room = _room(mode, each)
        if width <= room[0] and height <= room[1]:
            symbol = each.height_symbol if mode == CROP else each.width_symbol
            return Camera(
                mode=mode,
                constant=each.constant,
                width=symbol,
                height=each.height_symbol,
                buffer_width=room[0],
                buffer_height=room[1],
                crop_x=(each.width - each.height) // 2 if mode == CROP else 0,
                crop_x_text=f"({each.width_symbol} - {each.height_symbol}) / 2" if mode == CROP else "0",
            )
    largest = ladder[-1]
    room = _room(mode, largest)
    raise NeuralArtError(
        f"the network's input of {width}x{height} pixels exceeds what the camera gives: at most {room[0]}x{room[1]} "
        f"with {mode} (from {largest.width}x{largest.height})",
        where=where,
        hint="use a network with a smaller input, or another aspect ratio",
    )
