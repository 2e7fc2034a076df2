"""Makes a network's inputs and outputs from ``c_info.json``. Files of CPU targets omit the batch in shapes, those of
the NPU have it; a :class:`~neuralart.network.facts.Port` always has it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from neuralart.errors import NeuralArtError
from neuralart.network.facts import Port
from neuralart.vendor.c_info.types import CInfo, InfoBuffer

_FORMAT = re.compile(r"STAI_FORMAT_(FLOAT|BOOL|S|U|Q)(\d*)")
_DTYPES = {"S": "int", "U": "uint", "FLOAT": "float", "Q": "q"}
_BATCH = "BATCH"
_LETTERS = {"H": "H", "HEIGHT": "H", "W": "W", "WIDTH": "W", "CH": "C", "CHANNEL": "C", "D": "D"}
# What stands between batch and channels; sequences have one such axis, of either name.
_SPACES = ("", "H", "W", "HW", "DHW")


def dtype_of(buffer: InfoBuffer) -> str:
    """``int8``, ``uint16``, ``float32``, ``bool``...; empty if the format is not known."""
    found = _FORMAT.match(buffer.format)
    if found is None:
        return ""
    if found[1] == "BOOL":
        return "bool"
    bits = found[2] or buffer.bits or (32 if found[1] == "FLOAT" else "")
    return f"{_DTYPES[found[1]]}{bits}"


def position_of(buffer: InfoBuffer) -> str:
    """Position of the channels: ``last``, ``first`` or ``undefined``; by the names of the axes, if they are given."""
    if buffer.axes:
        letters = "".join(_LETTERS.get(axis, "?") for axis in buffer.axes if axis != _BATCH)
        if letters.endswith("C") and letters[:-1] in _SPACES:
            return "last"
        return "first" if letters.startswith("C") and letters[1:] in _SPACES else "undefined"
    return "last" if buffer.channel_last else "first" if buffer.channel_first else "undefined"


def shape_of(buffer: InfoBuffer, where: str) -> tuple[int, ...]:
    """Shape of an input or output with the batch, in memory order. NeuralArtError: no axis, or a length is open."""
    sizes = tuple(size for size in buffer.shape if size is not None)
    if not sizes or len(sizes) != len(buffer.shape):
        shown = ", ".join("?" if size is None else str(size) for size in buffer.shape)
        what = f"'shape' of '{buffer.name}' is [{shown}], it must be whole numbers from 1 on"
        raise NeuralArtError(what, where=where, hint="no dynamic sizes")
    left_out = bool(buffer.axes) and _BATCH not in buffer.axes
    return (max(buffer.batch, 1), *sizes) if left_out else sizes


def ports(info: CInfo, ids: Sequence[int]) -> tuple[Port, ...]:
    """Make the ports of some buffers. NeuralArtError: a buffer is not listed, or its shape is not fixed."""
    buffers = {buffer.id: buffer for buffer in info.buffers}
    pools = {pool.id: pool for pool in info.pools}
    found = []
    for number in ids:
        buffer = buffers.get(number)
        if buffer is None:
            raise NeuralArtError(f"there is no buffer {number}, which is an input or output", where=info.file)
        pool = pools.get(buffer.pool)
        provided = pool is None or pool.user_allocated
        found.append(
            Port(
                name=buffer.name,
                pool="" if pool is None or provided else pool.name,
                address=pool.address + buffer.offset if pool is not None and pool.address is not None else 0,
                bytes=buffer.size,
                shape=shape_of(buffer, info.file),
                dtype=dtype_of(buffer),
                scale=buffer.scales[0] if buffer.scales else 0.0,
                zero_point=buffer.zero_points[0] if buffer.zero_points else 0,
                channel_position=position_of(buffer),
                user_allocated=provided,
            )
        )
    return tuple(found)
