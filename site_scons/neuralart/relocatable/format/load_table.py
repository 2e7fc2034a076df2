"""The load table: which models the loading application installs, and how. Little-endian words: magic, number of models,
flags, then for each model its address and that of its params (0: in the model's file). Magic, flags and limits are
those of the vendor's ``st_load_and_run`` 2.0; ``firmware/app_loader/load_table.c`` reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from neuralart.errors import NeuralArtError, nearest
from neuralart.quick import dataclass

MAGIC = 0x4C45524D
MOST_MODELS = 4
# A table says xip or copy; the firmware knows copy by the missing flag.
FLAGS = {"xip": 1, "ext": 2, "clear": 4, "no-overlay": 8}
WORDS = ("xip", "copy", "ext", "clear", "no-overlay")
# Where the vendor's applications read it: in the last sector in front of the first model.
VENDOR_PLACE = 0x70FFF000
_ERASED = 0xFFFFFFFF
_HEAD = struct.Struct("<3I")
_ROW = struct.Struct("<2I")


@dataclass(frozen=True)
class LoadTable:
    # Of WORDS, in that order: xip (code stays in flash) or copy, ext (executive RAM is in the external RAM), clear
    # (activation pools are filled with zeros), no-overlay (no two models may share memory for activations).
    mode: tuple[str, ...]
    # Of each its address, and where the params of a split one are (0: they are in its file).
    models: tuple[tuple[int, int], ...]


def place(slot: int, sector: int) -> int:
    """Where the table of a model for the vendor's runtime goes. ``slot``: address of the load table's slot; ``sector``:
    bytes of an erase sector. Returns the vendor's place if that is in the first sector of the slot, else the slot: the
    user has moved it for a firmware that reads it there.
    """
    return VENDOR_PLACE if slot <= VENDOR_PLACE < slot + sector else slot


def make(mode: Sequence[str], models: Sequence[tuple[int, int]]) -> bytes:
    """The table's bytes. ``mode``: as in :class:`LoadTable`, in any order; ``models``: one to four, as in
    :class:`LoadTable`. NeuralArtError: a word of the mode is wrong, too few or too many models, or an address that
    cannot be one.
    """
    for word in mode:
        if word not in WORDS:
            raise NeuralArtError(f"no mode '{word}' of a load table", hint=nearest(word, WORDS))
    if len({"xip", "copy"} & set(mode)) != 1 or len(set(mode)) != len(mode):
        raise NeuralArtError(f"mode '{' '.join(mode)}' of a load table: one of xip and copy, and no word twice")
    if not 1 <= len(models) <= MOST_MODELS:
        raise NeuralArtError(f"{len(models)} models: a load table names 1 to {MOST_MODELS}")
    for number, (model, params) in enumerate(models):
        for what, address in (("model", model), *([("params", params)] if params else [])):
            if not 0 < address < _ERASED or address % 4:
                text = f"model {number} of a load table: 0x{address:08x} is no address of {what}, a multiple of 4"
                raise NeuralArtError(text)
    flags = sum(FLAGS.get(word, 0) for word in mode)
    return _HEAD.pack(MAGIC, len(models), flags) + b"".join(_ROW.pack(*model) for model in models)


def read(data: bytes, where: str) -> LoadTable:
    """Read a table. ``data``: its bytes, and perhaps more; ``where``: for messages. NeuralArtError: it is none, or
    damaged.
    """
    if len(data) < _HEAD.size:
        raise NeuralArtError(f"{len(data)} bytes are no load table", where=where)
    magic, count, flags = _HEAD.unpack_from(data)
    if magic != MAGIC:
        what = "nothing was written there" if magic in (0, _ERASED) else f"0x{magic:08x} instead of MREL"
        raise NeuralArtError(f"no load table: {what}", where=f"{where}@0x0")
    if not 1 <= count <= MOST_MODELS:
        raise NeuralArtError(f"{count} models: a load table names 1 to {MOST_MODELS}", where=f"{where}@0x4")
    unknown = flags & ~sum(FLAGS.values())
    if unknown:
        raise NeuralArtError(f"unknown flags 0x{unknown:08x} in 0x{flags:08x}", where=f"{where}@0x8")
    end = _HEAD.size + count * _ROW.size
    if len(data) < end:
        raise NeuralArtError(f"cut off: {count} models take {end} bytes, {len(data)} are there", where=where)
    models = tuple(_ROW.unpack_from(data, _HEAD.size + n * _ROW.size) for n in range(count))
    for number, (model, params) in enumerate(models):
        at = f"{where}@0x{_HEAD.size + number * _ROW.size:x}"
        if model in (0, _ERASED):
            raise NeuralArtError(f"model {number} has no address: 0x{model:08x}", where=at)
        if params == _ERASED:
            raise NeuralArtError(f"cut off: the address of the params of model {number} was not written", where=at)
    set_ = {word for word, bit in FLAGS.items() if flags & bit} | (set() if flags & FLAGS["xip"] else {"copy"})
    return LoadTable(tuple(word for word in WORDS if word in set_), models)
