"""What the generator wrote for a network: where it is, and what of it patching must know."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.targets import LEGACY_OPTIONS
from neuralart.text.c_source import CSource
from neuralart.vendor.c_info.read import parse_c_info
from neuralart.vendor.c_info.types import CInfo, InfoBuffer
from neuralart_bring.patching.edit_sites import definitions, integer
from neuralart_bring.patching.patchlist import refuse_n6

HEADERS = ("{}_data_params.h", "{}_data.h", "{}_config.h", "{}.h")
_BATCH, _HEIGHT, _WIDTH, _CHANNEL = "BATCH", "H", "W", "CH"
_ASSIGNED = re.compile(r"\b(\w+)\s*\.\s*data\s*=\s*AI_PTR\s*\(\s*g_\w+_activations_map\s*\[\s*([0-9]{1,4})\s*\]")


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


# Its c_info.json -----------------------------------------------------------------------------------------------------


def read_c_info(data: bytes, file: str) -> CInfo:
    """Read a compile's ``c_info.json``. NeuralArtError: it is none, or lacks graph and pools (after a validation)."""
    info = parse_c_info(data, file)
    for key, found in (("memory_pools", info.pools), ("buffers", info.buffers), ("graphs", info.graph)):
        if not found:
            what = f"'{key}' is missing or empty: a validation writes such files"
            raise NeuralArtError(what, where=file, hint="use the c_info.json that generate wrote")
    return info


def image_shape(buffer: InfoBuffer, where: str) -> tuple[int, int, int]:
    """Height, width and channels of an input, whichever way its axes stand: by their names, else by its flags.
    NeuralArtError: it is no picture, its size is not fixed, or its layout is not known.
    """
    shape, axes = list(buffer.shape), list(buffer.axes)
    shown = f"input '{buffer.name}' has shape {_listed(shape)}"

    def refuse(what: str, hint: str = "") -> NeuralArtError:
        return NeuralArtError(f"{shown}{what}", where=where, hint=hint)

    if not axes:
        if buffer.channel_first == buffer.channel_last:
            raise refuse(", and nothing says which axis is what")
        axes = [_CHANNEL, _HEIGHT, _WIDTH] if buffer.channel_first else [_HEIGHT, _WIDTH, _CHANNEL]
        axes = axes if len(shape) == 3 else [_BATCH, *axes]
    if len(axes) != len(shape):
        raise refuse(f" and {len(axes)} names of axes, {_listed(axes)}")
    if axes[:1] == [_BATCH]:
        batch = shape.pop(0)
        axes.pop(0)
        if batch not in (1, None):
            raise refuse(f": a batch of {batch}, a camera gives one picture at a time")
    if sorted(axes) == sorted((_HEIGHT, _WIDTH)):
        axes, shape = [*axes, _CHANNEL], [*shape, 1]
    if sorted(axes) != sorted((_HEIGHT, _WIDTH, _CHANNEL)):
        raise refuse(f", axes {_listed(axes)}: no picture", "height, width and channels are needed")
    if axes[0] == _CHANNEL and buffer.channel_last and not buffer.channel_first:
        raise refuse(f", axes {_listed(axes)}, but its channels stand last")
    sizes = dict(zip(axes, shape, strict=True))
    for axis, size in sizes.items():
        if size is None or size < 1:
            hint = "compile a network with a fixed input (--fix-parametric-shapes)"
            raise refuse(f": the size of axis {axis} is not fixed", hint)
    height, width, channels = (sizes[axis] or 0 for axis in (_HEIGHT, _WIDTH, _CHANNEL))
    return height, width, channels


def _listed(values: Sequence[object]) -> str:
    return "[" + ", ".join("?" if value is None else str(value) for value in values) + "]"


def activation_pools(info: CInfo) -> list[tuple[int, str, int]]:
    """(id, name, used bytes) of the pools that hold activations and that the application must provide."""
    pools = (pool for pool in info.pools if pool.rights == "ACC_WRITE" and pool.used)
    return [(pool.id, pool.name, pool.used) for pool in pools if not pool.virtual and not pool.user_allocated]


def network_for_patching(info: CInfo, name: str, numbers: Mapping[int, int]) -> NetworkForPatching:
    """Put together what is known; ``numbers``: id of a pool -> number of its macro, of every pool with activations.
    NeuralArtError: the network does not take one picture.
    """
    inputs = info.graph.inputs if info.graph is not None else ()
    if len(inputs) != 1:
        what = f"the network has {len(inputs)} inputs; a camera application feeds one picture"
        raise NeuralArtError(what, where=info.file)
    buffer = next((each for each in info.buffers if each.id == inputs[0]), None)
    if buffer is None:
        raise NeuralArtError(f"input is buffer {inputs[0]}, which is not listed", where=info.file)
    pools = [ActivationPool(number, pool, used, numbers[number]) for number, pool, used in activation_pools(info)]
    pools.sort(key=lambda pool: pool.number)
    height, width, channels = image_shape(buffer, info.file)
    return NetworkForPatching(info.file, name, tuple(pools), numbers.get(buffer.pool, 0), width, height, channels)


# Which activation buffer has which number: as the generator's headers say -------------------------------------


@dataclass(frozen=True)
class Headers:
    where: str  # the header with the sizes, for messages
    sizes: Mapping[int, int]  # number of an activation buffer, from 1 -> bytes
    input: tuple[int, ...] = ()  # height, width and channels of the first input; empty if no header says


def read_headers(headers: Sequence[CSource], name: str) -> Headers | None:
    """Read those of :data:`HEADERS` that there are; None if they are not of the legacy C API. Macros begin with
    ``AI_<NAME>_``. NeuralArtError: they contradict themselves or each other.
    """
    prefix = f"AI_{name.upper()}_"
    numbered = re.compile(rf"{re.escape(prefix)}DATA_ACTIVATION_([1-9][0-9]{{0,3}})_SIZE")
    sizes: dict[int, int] = {}
    count: int | None = None
    dims: dict[str, int] = {}
    where, legacy = "", False
    for source in headers:
        for each in definitions(source):
            found = numbered.fullmatch(each.name)
            if found:
                number, size = int(found.group(1)), integer(source, each)
                if sizes.setdefault(number, size) != size:
                    what = f"{each.name} is {size} here and {sizes[number]} before"
                    raise NeuralArtError(what, where=source.where(each.start))
                where = where or source.name
            elif each.name == f"{prefix}DATA_ACTIVATIONS_COUNT":
                count, legacy = integer(source, each), True
                where = where or source.name
            elif each.name in {f"{prefix}IN_1_{axis}" for axis in ("HEIGHT", "WIDTH", "CHANNEL")}:
                with contextlib.suppress(NeuralArtError):  # only compared with what the c_info.json says
                    dims[each.name.rpartition("_")[2]] = integer(source, each)
    if not sizes and not legacy:
        return None
    if sorted(sizes) != list(range(1, len(sizes) + 1)) or (count is not None and count != len(sizes)):
        what = f"{prefix}DATA_ACTIVATION_n_SIZE is there for n = {sorted(sizes)}, "
        what += f"{prefix}DATA_ACTIVATIONS_COUNT is {'missing' if count is None else count}"
        raise NeuralArtError(what, where=where, hint="headers of different compiles?")
    return Headers(where, sizes, (dims["HEIGHT"], dims["WIDTH"], dims["CHANNEL"]) if len(dims) == 3 else ())


def _legacy_missing(info: CInfo, headers: list[CSource], folder: str, name: str) -> NeuralArtError:
    """The error where no header of the legacy C API is: the other API, or nothing at all."""
    generated = [file.name for file in info.files]
    arguments = " ".join(word for tool in info.tools for word in tool.arguments.split())
    st_ai = [source.name for source in headers if f"STAI_{name.upper()}_" in source.code]
    options = " ".join(LEGACY_OPTIONS)
    if st_ai or f"{name}_details.h" in generated or "--c-api st-ai" in arguments:
        what = f"{st_ai[0] if st_ai else info.file} is of the C API st-ai; this application is written for the legacy "
        what += f"API (ai_handle, AI_{name.upper()}_DATA_ACTIVATION_n_SIZE)"
        hint = f"generate with {options}: from ST Edge AI Core 3.0 on st-ai is the default"
        return NeuralArtError(what, where=folder, hint=hint)
    seen = ", ".join(Path(source.name).name for source in headers)
    found = f"read {seen}" if headers else "found none at all"
    hint = f"name the folder of {name}_data_params.h; generate with {options} --name {name}"
    what = f"no header with AI_{name.upper()}_DATA_ACTIVATION_n_SIZE: {found}"
    return NeuralArtError(what, where=folder, hint=hint)


def assigned(info: CInfo, network_c: CSource | None) -> dict[int, int]:
    """Id of a pool -> number, as ``network.c`` assigns the arrays that lie in it; pools it says nothing of are missing.
    NeuralArtError: it assigns arrays of one pool to several buffers.
    """
    if network_c is None:
        return {}
    pool_of = {buffer.name: buffer.pool for buffer in info.buffers if buffer.name}
    told: dict[int, int] = {}
    for match in _ASSIGNED.finditer(network_c.code):
        pool, number = pool_of.get(match.group(1)), int(match.group(2)) + 1
        if pool is not None and told.setdefault(pool, number) != number:
            what = f"array {match.group(1)} lies in activation buffer {number}, others of its pool in {told[pool]}"
            hint = f"of another compile than {info.file}?"
            raise NeuralArtError(what, where=network_c.where(match.start()), hint=hint)
    return told


def numbers(info: CInfo, headers: Headers, network_c: CSource | None = None) -> dict[int, int]:
    """Id of each pool with activations -> its number; ``network.c`` tells where sizes do not. NeuralArtError: pools and
    header do not belong together, or it is unknown which is which.
    """
    pools = activation_pools(info)
    listed = ", ".join(f"{name} {used}" for _, name, used in pools) or "none"
    said = ", ".join(f"{number}: {size}" for number, size in sorted(headers.sizes.items())) or "none"
    if sorted(used for _, _, used in pools) != sorted(headers.sizes.values()):
        what = f"the activation buffers of the header ({said} bytes) are not the pools of {info.file} ({listed} bytes)"
        raise NeuralArtError(what, where=headers.where, hint="files of different compiles? take both from one")
    told = assigned(info, network_c)
    result: dict[int, int] = {}
    for pool, name, used in pools:
        candidates = [number for number, size in headers.sizes.items() if size == used]
        if pool in told:
            if told[pool] not in candidates:
                what = f"network.c says that pool {name} is activation buffer {told[pool]}, but it uses {used} bytes "
                what += f"and buffer {told[pool]} has {headers.sizes.get(told[pool], 'no')} bytes"
                hint = "files of different compiles? take all from one"
                raise NeuralArtError(what, where=headers.where, hint=hint)
            result[pool] = told[pool]
        elif len(left := [number for number in candidates if number not in told.values()]) == 1:
            result[pool] = left[0]
        else:
            same = ", ".join(each for _, each, size in pools if size == used)
            what = f"pools {same} use {used} bytes each: which of them are the activation buffers "
            what += f"{', '.join(map(str, candidates))} is unknown"
            raise NeuralArtError(what, where=headers.where, hint="put network.c beside the header")
    if len(set(result.values())) != len(result):
        raise NeuralArtError(f"two pools would be one activation buffer: {result}", where=headers.where)
    return result


# All of it -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkFiles:
    c_info: Path  # ``network_c_info.json``
    headers: Path  # folder of the headers
    sources: Path  # folder of ``network.c``; need not hold it

    @classmethod
    def in_folder(cls, folder: Path, name: str) -> NetworkFiles:
        """All in one folder, as the generator writes them; or in ``Inc`` and ``Src`` within it."""
        headers = folder / "Inc" if not _any_header(folder, name) and _any_header(folder / "Inc", name) else folder
        sources = folder / "Src" if not (folder / f"{name}.c").is_file() else folder
        return cls(folder / f"{name}_c_info.json", headers, sources)

    def all(self, name: str) -> tuple[Path, ...]:
        """Files that are read if they are there: what a patch depends on."""
        return (self.c_info, *(self.headers / each.format(name) for each in HEADERS), self.sources / f"{name}.c")


def _any_header(folder: Path, name: str) -> bool:
    return any((folder / each.format(name)).is_file() for each in HEADERS)


def read(files: NetworkFiles, name: str) -> NetworkForPatching:
    """Read a network with the C name of the application. NeuralArtError: a part is wrong, or cannot be patched in."""
    c_info, *paths, generated = files.all(name)
    if not c_info.is_file():
        others = sorted(path.name for path in c_info.parent.glob("*_c_info.json"))
        hint = f"there is {', '.join(others)}: the application wants --name {name}" if others else "generate writes it"
        raise NeuralArtError("no such file", where=str(c_info), hint=hint)
    info = read_c_info(read_bytes(c_info), str(c_info))
    if any("ATONN" in tool.name for tool in info.tools):
        raise refuse_n6(info.file, "compiled by the Neural-ART compiler")
    npu = [pool.name for pool in info.pools if pool.name.startswith(("npuRAM", "cpuRAM"))]
    if npu:
        raise refuse_n6(info.file, f"pool {npu[0]} is a memory of the STM32N6")
    headers = [CSource(str(path), read_bytes(path)) for path in paths if path.is_file()]
    said = read_headers(headers, name)
    if said is None:
        raise _legacy_missing(info, headers, str(files.headers), name)
    network_c = CSource(str(generated), read_bytes(generated)) if generated.is_file() else None
    network = network_for_patching(info, name, numbers(info, said, network_c))
    shape = (network.height, network.width, network.channels)
    if said.input and said.input != shape:
        what = f"the input is {_picture(shape)} by {info.file}, and {_picture(said.input)} by the generated header"
        raise NeuralArtError(what, where=str(files.headers), hint="files of different compiles? take all from one")
    return network


def _picture(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{width}x{height}, {channels} channel{'s' if channels > 1 else ''}"
