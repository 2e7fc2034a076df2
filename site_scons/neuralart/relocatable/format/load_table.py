"""The load table: which models the loading application installs, and how.

Words, little endian: magic, number of models, flags, then for each model its address and that of its params (0: they
are in the model's file). Magic, flags and limits are those of the vendor's ``st_load_and_run`` 2.0;
``firmware/app_loader/load_table.c`` reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from neuralart.errors import NeuralArtError, nearest

MAGIC = 0x4C45524D
MOST_MODELS = 4
# A table says xip or copy; the firmware knows copy by the missing flag.
FLAGS = {"xip": 1, "ext": 2, "clear": 4, "no-overlay": 8}
WORDS = ("xip", "copy", "ext", "clear", "no-overlay")
_ERASED = 0xFFFFFFFF
_HEAD = struct.Struct("<3I")
_ROW = struct.Struct("<2I")


def make(mode: Sequence[str], models: Sequence[tuple[int, int]]) -> bytes:
    """The table's bytes.

    ``mode``: of WORDS, in any order: ``xip`` (code stays in flash) or ``copy``, ``ext`` (executive RAM is in the
    external RAM), ``clear`` (activation pools are filled with zeros), ``no-overlay`` (no two models may share memory
    for activations). ``models``: one to four, each its address and that of its params if it is split (0: they are in
    its file). NeuralArtError: a word of the mode is wrong, there are too few or too many models, or an address cannot
    be one.
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
