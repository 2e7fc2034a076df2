"""Pictures and sound as inputs of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart.emulator.inputs.preprocessing import Preprocessing, elements, encoded, library, little_endian, shape_text
from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port

PICTURES = (".png", ".jpg", ".jpeg", ".bmp")
SOUNDS = (".wav", ".flac")
_MODES = {1: "L", 3: "RGB"}


def _size(port: Port, where: str) -> tuple[int, int, int]:
    """Width, height and channels of an input. NeuralArtError: it is no picture."""
    shape = port.shape
    if len(shape) == 4:
        height, width, channels = shape[1:] if port.channel_position != "first" else (*shape[2:], shape[1])
        if shape[0] == 1 and channels in _MODES:
            return width, height, channels
    what = f"input '{port.name}' is {shape_text(shape)}, no picture with 1 or 3 channels"
    raise NeuralArtError(what, where=where, hint="an .npy file can have any shape")


def _resized(picture: Any, size: tuple[int, int], how: str, where: str) -> Any:
    if picture.size == size:
        return picture
    ops = library("PIL.ImageOps", "a picture")
    bilinear = library("PIL.Image", "a picture").Resampling.BILINEAR
    if how == "fit":
        return picture.resize(size, bilinear)
    if how == "crop":
        return ops.fit(picture, size, bilinear)
    if how == "padding":
        return ops.pad(picture, size, bilinear)
    what = f"a picture of {picture.size[0]}x{picture.size[1]}, the network takes {size[0]}x{size[1]}"
    hint = "--resize fit stretches it, crop cuts the middle out, padding adds black"
    raise NeuralArtError(what, where=where, hint=hint)


def picture(path: Path, port: Port, how: Preprocessing) -> list[bytes]:
    """One picture. Without a scale and an offset its pixels stay what they are: 0 to 255, 128 less for int8.

    NeuralArtError: it cannot be read, has another size, or the input is no picture.
    """
    np, image = library("numpy", "a picture"), library("PIL.Image", "a picture")
    where = str(path)
    width, height, channels = _size(port, where)
    try:
        with image.open(path) as opened:
            found = _resized(opened.convert(_MODES[channels]), (width, height), how.resize, where)
            pixels = np.asarray(found, np.int16).reshape(height, width, channels)
    except (OSError, ValueError, SyntaxError, image.DecompressionBombError) as error:
        raise NeuralArtError(f"not a picture that can be read: {error}", where=where) from error
    if how.color == "bgr":
        pixels = pixels[:, :, ::-1]
    if port.channel_position == "first":
        pixels = pixels.transpose(2, 0, 1)
    if how.untouched and port.dtype in ("uint8", "int8"):
        return [little_endian(pixels - (128 if port.dtype == "int8" else 0), port.dtype)]
    return [encoded(pixels, port, how)]


def sound(path: Path, port: Port, how: Preprocessing) -> list[bytes]:
    """Sound as values from -1 to 1, channels mixed, cut into pieces as long as the input; zeros fill up the last one.

    NeuralArtError: it cannot be read, has another sample rate, or the input is no waveform.
    """
    where = str(path)
    if elements(port) != max(port.shape, default=0):
        hint = "compute what it takes (a spectrogram?) and give that as an .npy file"
        raise NeuralArtError(f"input '{port.name}' is {shape_text(port.shape)}, no waveform", where=where, hint=hint)
    np, soundfile = library("numpy", "sound"), library("soundfile", "sound")
    try:
        samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise NeuralArtError(f"not a sound that can be read: {error}", where=where) from error
    if how.rate and rate != how.rate:
        raise NeuralArtError(f"{rate} samples per second, the network takes {how.rate}", where=where)
    if not len(samples):
        raise NeuralArtError("holds no samples", where=where)
    mono, length = samples.mean(axis=1), elements(port)
    mono = np.concatenate([mono, np.zeros(-len(mono) % length)])
    return [encoded(piece, port, how) for piece in mono.reshape(-1, length)]
