"""What patching must know about a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.errors import NeuralArtError
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo, InfoBuffer

_BATCH, _HEIGHT, _WIDTH, _CHANNEL = "BATCH", "H", "W", "CH"


@dataclass(frozen=True)
class ActivationPool:
    """A memory pool with activations in it."""

    id: int  # number that buffers refer to
    name: str  # as the compiler calls it
    used: int  # bytes
    number: int  # n of the generator's macro ``..._ACTIVATION_n_SIZE``, from 1: the place in the table of handles


@dataclass(frozen=True)
class NetworkForPatching:
    """A network, as far as an application's sources must be fitted to it."""

    file: str  # the ``c_info.json``, for messages
    name: str  # C name
    activations: tuple[ActivationPool, ...]  # by number
    input_pool: int  # number of the pool that holds the input; 0 if the application provides the buffer
    width: int  # of the input, in pixels
    height: int  # of the input, in pixels
    channels: int  # of the input


def read_c_info(data: bytes, file: str) -> CInfo:
    """Read the bytes of the ``c_info.json`` of a compile.

    Raises:
        NeuralArtError: It is none, or graph and pools are not in it (after a validation they are not).
    """
    info = parse_c_info(data, file)
    for key, found in (("memory_pools", info.pools), ("buffers", info.buffers), ("graphs", info.graph)):
        if not found:
            raise NeuralArtError(
                f"'{key}' is missing or empty: a validation writes such files",
                where=file,
                hint="use the c_info.json that generate wrote",
            )
    return info


def image_shape(buffer: InfoBuffer, where: str) -> tuple[int, int, int]:
    """Height, width and channels of an input, whichever way its axes stand.

    Args:
        buffer: The input; axes are named, or its flags say where the channels stand.
        where: For messages.

    Raises:
        NeuralArtError: It is no picture, its size is not fixed, or its layout is not known.
    """
    shape, axes = list(buffer.shape), list(buffer.axes)
    shown = f"input '{buffer.name}' has shape {_listed(shape)}"
    if not axes:
        axes = _axes(buffer, shown, where)
    if len(axes) != len(shape):
        raise NeuralArtError(f"{shown} and {len(axes)} names of axes, {_listed(axes)}", where=where)
    if axes[:1] == [_BATCH]:
        batch = shape.pop(0)
        axes.pop(0)
        if batch not in (1, None):
            raise NeuralArtError(f"{shown}: a batch of {batch}, a camera gives one picture at a time", where=where)
    if sorted(axes) == sorted((_HEIGHT, _WIDTH)):
        axes, shape = [*axes, _CHANNEL], [*shape, 1]
    if sorted(axes) != sorted((_HEIGHT, _WIDTH, _CHANNEL)):
        raise NeuralArtError(
            f"{shown}, axes {_listed(axes)}: no picture", where=where, hint="height, width and channels are needed"
        )
    if axes[0] == _CHANNEL and buffer.channel_last and not buffer.channel_first:
        raise NeuralArtError(f"{shown}, axes {_listed(axes)}, but its channels stand last", where=where)
    sizes = dict(zip(axes, shape, strict=True))
    for axis, size in sizes.items():
        if size is None or size < 1:
            raise NeuralArtError(
                f"{shown}: the size of axis {axis} is not fixed",
                where=where,
                hint="compile a network with a fixed input (--fix-parametric-shapes)",
            )
    height, width, channels = (sizes[axis] or 0 for axis in (_HEIGHT, _WIDTH, _CHANNEL))
    return height, width, channels


def _axes(buffer: InfoBuffer, shown: str, where: str) -> list[str]:
    """Names of the axes where only the flags tell."""
    if buffer.channel_first == buffer.channel_last:
        raise NeuralArtError(f"{shown}, and nothing says which axis is what", where=where)
    plain = [_CHANNEL, _HEIGHT, _WIDTH] if buffer.channel_first else [_HEIGHT, _WIDTH, _CHANNEL]
    return plain if len(buffer.shape) == 3 else [_BATCH, *plain]


def _listed(values: Sequence[object]) -> str:
    return "[" + ", ".join("?" if value is None else str(value) for value in values) + "]"


def activation_pools(info: CInfo) -> list[tuple[int, str, int]]:
    """(id, name, used bytes) of the pools that hold activations and that the application must provide."""
    return [
        (pool.id, pool.name, pool.used)
        for pool in info.pools
        if pool.rights == "ACC_WRITE" and pool.used and not pool.virtual and not pool.user_allocated
    ]


def network_for_patching(info: CInfo, name: str, numbers: Mapping[int, int]) -> NetworkForPatching:
    """Put together what is known.

    Args:
        info: What the compile tells.
        name: C name of the network.
        numbers: Id of a pool -> number of its macro, of every pool with activations.

    Raises:
        NeuralArtError: The network does not take one picture.
    """
    inputs = info.graph.inputs if info.graph is not None else ()
    if len(inputs) != 1:
        raise NeuralArtError(
            f"the network has {len(inputs)} inputs; a camera application feeds one picture", where=info.file
        )
    buffer = next((each for each in info.buffers if each.id == inputs[0]), None)
    if buffer is None:
        raise NeuralArtError(f"input is buffer {inputs[0]}, which is not listed", where=info.file)
    pools = [ActivationPool(number, pool, used, numbers[number]) for number, pool, used in activation_pools(info)]
    pools.sort(key=lambda pool: pool.number)
    height, width, channels = image_shape(buffer, info.file)
    return NetworkForPatching(
        file=info.file,
        name=name,
        activations=tuple(pools),
        input_pool=numbers.get(buffer.pool, 0),
        width=width,
        height=height,
        channels=channels,
    )
