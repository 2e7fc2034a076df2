"""The compiled network of :mod:`support.npu.npu_network` as a relocatable model: its constants can be anywhere."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import replace

from support.npu import npu_network as made
from support.relocatable import rel_images as images
from support.relocatable.rel_images import P0, P1, RAM, Pool, Recipe

_SYMBOL = f"_mem_pool_xSPI2_{made.NAME}"
_FLASH = f"0x{made.FLASH:08x}UL"
# Tables at the start of the data: epochs, inputs, outputs, the shape of both.
_ITEM, _ROW = 48, 56


def network_c(weights: made.Weights, *, controller: bool) -> str:
    """network.c whose pool of constants is relative."""
    text = made.network_c(weights, controller=controller)
    text = re.sub(rf"\({_FLASH}\)( /\*[^*]*\*/)?", f"({_SYMBOL})", text).replace(_FLASH, _SYMBOL)
    return text.replace(f"offset=0x{made.FLASH:08x}  absolute_mode", f"offset=0x{made.FLASH:08x}  relative_mode")


def program(weights: made.Weights) -> bytes:
    """The program behind a table of the words that move with the pool."""
    data = made.program(weights)
    words = list(struct.unpack(f"<{len(data) // 4}I", data))
    moving = [at for at, word in enumerate(words) if made.FLASH <= word < made.FLASH + made.SIZE]
    for at in moving:
        words[at] -= made.FLASH
    table = struct.pack("<4I", 1, 16, len(moving), 24) + b"xSPI2\0\0\0"
    table += struct.pack(f"<{len(moving)}I", *(at - 2 for at in moving))
    table += bytes(-len(table) % 8)
    head = struct.pack("<6I", 0xECBF0050, 24, 0, 0, 24 + len(table), 0)
    return head + table + struct.pack(f"<{len(words)}I", *words)


def _tables(where: dict[str, int], flags: Sequence[int]) -> list[tuple[int, bool]]:
    """Epochs by their flags, then one input and one output: the average that epoch 4 writes."""
    words: list[tuple[int, bool]] = []

    def add(*values: int, listed: Sequence[int] = ()) -> None:
        words.extend((value, at in listed) for at, value in enumerate(values))

    for number, flag in enumerate(flags):
        first, last = (1, 4) if flag & 4 else (number + 4, number + 4)
        add(
            where["entry0"],
            0,
            RAM + 0x1000 if flag & 4 else 0,
            0,
            first << 16 | flag,
            last,
            *[0] * 6,
            listed=(0, 2) if flag & 4 else (0,),
        )
    add(0, 0, 0, 0, 8, *[0] * 7)
    shapes = 4 * len(words) + 4 * _ROW
    buffers = (("image", made.INPUT, made.IN_ELEMENTS, shapes), ("average", made.AVERAGE, made.COUNT, shapes + 16))
    for name, start, size, shape in buffers:
        row = (where[name], made.RAM, start, start + size, start + size, 4 << 16, 4, RAM + shape)
        add(*row, 0x07010004, 0x04000007, 8, RAM + shape, 0, 0, listed=(0, 7, 11))
        add(*[0] * 14)
    add(1, made.SIDE, made.SIDE, made.DEPTH, 1, 1, 1, made.COUNT)
    return words


def recipe(weights: made.Weights, *, flags: Sequence[int] = (0x17,), external: bool = False, **more: object) -> Recipe:
    """What to assemble: the constants where they are, or copied to external RAM. ``flags``: of the epochs."""
    kind, name = (0x01030601, P1) if external else (0x01010500, P0)
    pools = (Pool("xSPI2", kind, made.SIZE, raw=weights.data()), Pool("AXISRAM5", 0x03020200, 0x620, dst=made.RAM))
    inputs = _ITEM * (len(flags) + 1)
    how = {
        **{"pools": pools, "blobs": (program(weights),), "name": made.NAME, "texts": ("image", "average")},
        **{"got": (RAM, RAM + inputs, RAM + inputs + 2 * _ROW), "getters": ((6, 0), (8, 1), (7, 2)), "bss": 0x2000},
        **{"tables": lambda where: _tables(where, flags), "pointers": (name + 8,)},
    }
    return replace(images.CORE_22, **{**how, **more})
