"""Files as inputs of a network: raw bytes, NumPy arrays, CSV, sound, pictures, and folders of the last two."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from neuralart.emulator.inputs.media import PICTURES, SOUNDS, picture, sound
from neuralart.emulator.inputs.preprocessing import (
    AS_THEY_ARE,
    Array,
    Preprocessing,
    elements,
    encoded,
    library,
    of_array,
)
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.network.facts import Port


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


def arrays(path: Path) -> dict[str, Array]:
    """The arrays of an .npz file by name, or that of an .npy file, which has none. NeuralArtError: it is damaged."""
    np = library("numpy", f"a file {path.suffix}")
    data = io.BytesIO(read_bytes(path))
    try:
        loaded = np.load(data, allow_pickle=False)
        return {name: loaded[name] for name in loaded.files} if hasattr(loaded, "files") else {"": loaded}
    except (OSError, ValueError, EOFError, KeyError, MemoryError, zipfile.BadZipFile) as error:
        raise NeuralArtError(f"not a file of NumPy: {error}", where=str(path)) from error


def _numpy(path: Path, ports: Sequence[Port], how: Preprocessing) -> list[bytes]:
    where, found = str(path), arrays(path)
    if len(found) == 1:
        return of_array(next(iter(found.values())), _only(ports, where), how, where)
    columns = []
    for port in ports:
        if port.name not in found:
            raise NeuralArtError(f"no array '{port.name}'", where=where, hint=nearest(port.name, list(found)))
        columns.append(of_array(found[port.name], port, how, f"{where}:{port.name}"))
    if len({len(column) for column in columns}) > 1:
        raise NeuralArtError(f"has {' and '.join(str(len(c)) for c in columns)} vectors of its inputs", where=where)
    return [b"".join(parts) for parts in zip(*columns, strict=True)]


def _csv_row(cells: Sequence[str], ports: Sequence[Port], how: Preprocessing, where: str) -> bytes:
    np = library("numpy", "CSV")
    try:
        values = np.array([float(cell) for cell in cells])
    except ValueError as error:
        raise NeuralArtError(str(error), where=where) from error
    count = sum(map(elements, ports))
    if len(values) != count:
        raise NeuralArtError(f"{len(values)} numbers, a vector has {count}", where=where)
    if not np.isfinite(values).all():
        raise NeuralArtError("holds values that are no numbers", where=where)
    parts, at = [], 0
    for port in ports:
        parts.append(encoded(values[at : at + elements(port)], port, how))
        at += elements(port)
    return b"".join(parts)


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Number and cells of each line that is not empty; a first line without any number is a heading, and left out.

    NeuralArtError: it is no CSV file.
    """
    try:
        rows = list(csv.reader(read_bytes(path).decode("utf-8-sig").splitlines(), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise NeuralArtError(f"not a CSV file: {error}", where=str(path)) from error
    numbered = [(number, row) for number, row in enumerate(rows, 1) if row]
    if numbered and not any(map(_number, numbered[0][1])):
        del numbered[0]
    return numbered


def _csv(path: Path, ports: Sequence[Port], how: Preprocessing) -> list[bytes]:
    """A vector in each line."""
    return [_csv_row(row, ports, how, f"{path}:{number}") for number, row in csv_rows(path)]


def _media(path: Path, ports: Sequence[Port], how: Preprocessing) -> list[bytes]:
    one = picture if path.suffix.lower() in PICTURES else sound
    return one(path, _only(ports, str(path)), how)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix.lower() in (*PICTURES, *SOUNDS) and path.is_file())


_READERS: dict[str, Callable[[Path, Sequence[Port], Preprocessing], list[bytes]]] = {
    **dict.fromkeys((".npy", ".npz"), _numpy),
    ".csv": _csv,
    **dict.fromkeys((*PICTURES, *SOUNDS), _media),
}


def read(path: Path, ports: Sequence[Port], how: Preprocessing = AS_THEY_ARE) -> list[bytes]:
    """Inputs of a file or folder, for each vector those of all ports, concatenated.

    The ending of the name says what a file is; any other is raw. Files of a folder come in the order of their paths.
    NeuralArtError: it cannot be read, or does not fit the inputs; ``where`` is the file.
    """
    if path.is_dir():
        found = [data for file in _files(path) for data in _media(file, ports, how)]
    else:
        reader = _READERS.get(path.suffix.lower())
        found = _raw(path, ports) if reader is None else reader(path, ports, how)
    if not found:
        raise NeuralArtError("holds no inputs", where=str(path), hint=f"known: {', '.join(_READERS)}, and raw elements")
    return found
