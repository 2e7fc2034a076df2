"""Where the inputs of a run come from: files, chance, or golden vectors, which alone say what must come out."""

from __future__ import annotations

import csv
import io
import math
import random
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.facts import Network, Port
from neuralart_virtual.emulator import vectors as golden
from neuralart_virtual.emulator.inputs import preprocessing
from neuralart_virtual.emulator.inputs.preprocessing import AS_THEY_ARE, Array, Preprocessing
from neuralart_virtual.emulator.vectors import Vectors

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
    what = f"input '{port.name}' is {preprocessing.shape_text(shape)}, no picture with 1 or 3 channels"
    raise NeuralArtError(what, where=where, hint="an .npy file can have any shape")


def _resized(picture: Any, size: tuple[int, int], how: str, where: str) -> Any:
    if picture.size == size:
        return picture
    ops = preprocessing.library("PIL.ImageOps", "a picture")
    bilinear = preprocessing.library("PIL.Image", "a picture").Resampling.BILINEAR
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
    np, image = preprocessing.library("numpy", "a picture"), preprocessing.library("PIL.Image", "a picture")
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
        return [preprocessing.little_endian(pixels - (128 if port.dtype == "int8" else 0), port.dtype)]
    return [preprocessing.encoded(pixels, port, how)]


def sound(path: Path, port: Port, how: Preprocessing) -> list[bytes]:
    """Sound as values from -1 to 1, channels mixed, cut into pieces as long as the input; zeros fill up the last one.
    NeuralArtError: it cannot be read, has another sample rate, or the input is no waveform.
    """
    where = str(path)
    if preprocessing.elements(port) != max(port.shape, default=0):
        hint = "compute what it takes (a spectrogram?) and give that as an .npy file"
        raise NeuralArtError(
            f"input '{port.name}' is {preprocessing.shape_text(port.shape)}, no waveform", where=where, hint=hint
        )
    np, soundfile = preprocessing.library("numpy", "sound"), preprocessing.library("soundfile", "sound")
    try:
        samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise NeuralArtError(f"not a sound that can be read: {error}", where=where) from error
    if how.rate and rate != how.rate:
        raise NeuralArtError(f"{rate} samples per second, the network takes {how.rate}", where=where)
    if not len(samples):
        raise NeuralArtError("holds no samples", where=where)
    mono, length = samples.mean(axis=1), preprocessing.elements(port)
    mono = np.concatenate([mono, np.zeros(-len(mono) % length)])
    return [preprocessing.encoded(piece, port, how) for piece in mono.reshape(-1, length)]


def _raw(path: Path, ports: Sequence[Port]) -> list[bytes]:
    """Elements as the network takes them, vector after vector, all inputs in order."""
    data, size = read_bytes(path), sum(port.bytes for port in ports)
    if not data or len(data) % size:
        what = f"{len(data)} bytes are no whole number of vectors of {size} bytes"
        hint = "raw elements of all inputs in order; .npy, .npz, .csv, .wav and .png are read as such"
        raise NeuralArtError(what, where=str(path), hint=hint)
    return [data[at : at + size] for at in range(0, len(data), size)]


def _only(ports: Sequence[Port], where: str) -> Port:
    if len(ports) == 1:
        return ports[0]
    hint = "an .npz file has an array for each input, by its name"
    raise NeuralArtError(f"feeds one input, this network has {len(ports)}", where=where, hint=hint)


# Of zipfile: NotImplementedError for a method or a version that it does not know, RuntimeError for a password.
_DAMAGED = (OSError, ValueError, EOFError, KeyError, MemoryError, RuntimeError, zlib.error, zipfile.BadZipFile)


def arrays(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, or that of an .npy file, which has none. NeuralArtError: it is damaged."""
    np = preprocessing.library("numpy", f"a file {path.suffix}")
    data = io.BytesIO(read_bytes(path))
    try:
        loaded = np.load(data, allow_pickle=False)
        return {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}
    except _DAMAGED as error:
        raise NeuralArtError(f"not a file of NumPy: {error}", where=str(path)) from error


def _numpy(path: Path, ports: Sequence[Port], how: Preprocessing) -> list[bytes]:
    where, found = str(path), arrays(path)
    if len(found) == 1:
        return preprocessing.of_array(next(iter(found.values())), _only(ports, where), how, where)
    columns = []
    for port in ports:
        if port.name not in found:
            raise NeuralArtError(f"no array '{port.name}'", where=where, hint=nearest(port.name, list(found)))
        columns.append(preprocessing.of_array(found[port.name], port, how, f"{where}:{port.name}"))
    if len({len(column) for column in columns}) > 1:
        raise NeuralArtError(f"has {' and '.join(str(len(c)) for c in columns)} vectors of its inputs", where=where)
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _csv_row(cells: Sequence[str], ports: Sequence[Port], how: Preprocessing, where: str) -> bytes:
    np = preprocessing.library("numpy", "CSV")
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise NeuralArtError(str(error), where=where) from error
    count = sum(map(preprocessing.elements, ports))
    if len(values) != count:
        raise NeuralArtError(f"{len(values)} numbers, a vector has {count}", where=where)
    if not np.isfinite(values).all():
        raise NeuralArtError("holds values that are no numbers", where=where)
    parts, at = [], 0
    for port in ports:
        parts.append(preprocessing.encoded(values[at : at + preprocessing.elements(port)], port, how))
        at += preprocessing.elements(port)
    return b"".join(parts)


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Number and cells of each filled line; a first one without numbers is a heading. NeuralArtError: it is no CSV."""
    try:
        rows = list(csv.reader(read_bytes(path).decode("utf-8-sig").splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise NeuralArtError(f"not a CSV file: {error}", where=str(path)) from error
    numbered = [(number, row) for number, row in enumerate(rows, 1) if row]
    if numbered and not any(map(_number, numbered[0][1])):
        del numbered[0]
    return numbered


def _media(path: Path, ports: Sequence[Port], how: Preprocessing) -> list[bytes]:
    one = picture if path.suffix.lower() in PICTURES else sound
    return one(path, _only(ports, str(path)), how)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (*PICTURES, *SOUNDS) and path.is_file())


_READERS: dict[str, Callable[[Path, Sequence[Port], Preprocessing], list[bytes]]] = {
    **dict.fromkeys((".npy", ".npz"), _numpy),
    ".csv": lambda path, ports, how: [_csv_row(row, ports, how, f"{path}:{line}") for line, row in csv_rows(path)],
    **dict.fromkeys((*PICTURES, *SOUNDS), _media),
}


def read(path: Path, ports: Sequence[Port], how: Preprocessing = AS_THEY_ARE) -> list[bytes]:
    """Inputs of a file or folder, for each vector those of all ports, concatenated. The ending of the name says what a
    file is; any other is raw. Files of a folder come in the order of their paths. NeuralArtError: it cannot be read, or
    does not fit the inputs; ``where`` is the file.
    """
    if path.is_dir():
        found = [data for file in _files(path) for data in _media(file, ports, how)]
    else:
        reader = _READERS.get(path.suffix.lower())
        found = _raw(path, ports) if reader is None else reader(path, ports, how)
    if not found:
        raise NeuralArtError("holds no inputs", where=str(path), hint=f"known: {', '.join(_READERS)}, and raw elements")
    return found


# Larger ones could be an index or a length that no input of its own would have.
_LARGEST_WIDE = 127


@dataclass(frozen=True)
class InputFile:
    """Inputs from a file or folder of the user's."""

    path: Path  # What :func:`~neuralart_virtual.emulator.inputs.source.read` takes
    preprocessing: Preprocessing = AS_THEY_ARE  # What makes numbers of the file into inputs

    def __str__(self) -> str:
        return self.path.as_posix()


@dataclass(frozen=True)
class RandomInputs:
    """Inputs that are pseudo-random: the same on every machine."""

    count: int = 1  # How many vectors; the first ones of more are the same
    seed: int = 0  # Another one gives other inputs

    def __str__(self) -> str:
        return f"pseudo-random inputs, seed {self.seed}"


@dataclass(frozen=True)
class GivenInputs:
    """Inputs that were read already."""

    data: tuple[bytes, ...]  # For each vector those of all ports, concatenated
    origin: str = "given inputs"  # Where they come from, for messages

    def __str__(self) -> str:
        return self.origin


Feed: TypeAlias = Path | InputFile | RandomInputs | GivenInputs
"""A path is that of a folder of golden vectors."""


def _tensor_at_random(port: Port, source: random.Random) -> bytes:
    """Any bytes for small integers, 0 to 127 for wide ones, -1 to 1 for floats."""
    if port.dtype in ("int8", "uint8", "int16", "uint16"):
        return source.randbytes(port.bytes)
    code = golden.DTYPES[port.dtype]
    count = port.bytes // struct.calcsize(f"<{code}")
    if port.dtype.startswith("float"):
        return struct.pack(f"<{count}{code}", *(2 * source.random() - 1 for _ in range(count)))
    limit = 1 if port.dtype == "bool" else _LARGEST_WIDE
    return struct.pack(f"<{count}{code}", *(source.randint(0, limit) for _ in range(count)))


def at_random(ports: Sequence[Port], wanted: RandomInputs) -> list[bytes]:
    """Pseudo-random inputs, for each vector those of all ports, concatenated."""
    source = random.Random(wanted.seed)
    return [b"".join(_tensor_at_random(port, source) for port in ports) for _ in range(wanted.count)]


def input_data(feed: InputFile | RandomInputs | GivenInputs, ports: Sequence[Port]) -> list[bytes]:
    """Inputs, for each vector those of all ports, concatenated. NeuralArtError: a file does not fit them."""
    if isinstance(feed, GivenInputs):
        return list(feed.data)
    return at_random(ports, feed) if isinstance(feed, RandomInputs) else read(feed.path, ports, feed.preprocessing)


def inputs_of(feed: Feed, network: Network) -> Vectors:
    """Everything that a network is to be fed with. NeuralArtError: it cannot be read, or belongs to another network."""
    if isinstance(feed, Path):
        vectors = golden.load(feed)
        golden.check(vectors, network)
        return vectors
    sides = golden.tensors_of(network.inputs), golden.tensors_of(network.outputs)
    return Vectors(str(feed), *sides, tuple(input_data(feed, network.inputs)), ())
