"""Finding and reading what the generator wrote."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.patching import family
from neuralart.patching.defines import definitions, integer
from neuralart.patching.inputs import NetworkForPatching, activation_pools, network_for_patching, read_c_info
from neuralart.text.c_source import CSource
from neuralart.vendor.c_info.types import CInfo

# Which activation buffer has which number: the generator's own headers say, nobody guesses --------------------------

_ASSIGNED = re.compile(r"\b(\w+)\s*\.\s*data\s*=\s*AI_PTR\s*\(\s*g_\w+_activations_map\s*\[\s*([0-9]{1,4})\s*\]")


@dataclass(frozen=True)
class Headers:
    """What the generator's headers say.

    Attributes:
        where: The header with the sizes, for messages.
        sizes: Number of an activation buffer, from 1 -> bytes.
        input: Height, width and channels of the first input; empty if no header says.
    """

    where: str
    sizes: Mapping[int, int]
    input: tuple[int, ...] = ()


def read_headers(headers: Sequence[CSource], name: str) -> Headers | None:
    """Read ``network_data_params.h``, ``network_data.h``, ``network_config.h``, ``network.h``: whichever there are.

    Args:
        headers: The files.
        name: C name of the network; macros begin with ``AI_<NAME>_``.

    Returns:
        None if they are not of the legacy C API.

    Raises:
        NeuralArtError: They contradict themselves or each other.
    """
    prefix = f"AI_{name.upper()}_"
    numbered = re.compile(rf"{re.escape(prefix)}DATA_ACTIVATION_([1-9][0-9]{{0,3}})_SIZE")
    sizes: dict[int, int] = {}
    count: int | None = None
    dims: dict[str, int] = {}
    where, legacy = "", False
    for source in headers:
        for each in definitions(source):
            place = source.where(each.start)
            found = numbered.fullmatch(each.name)
            if found:
                number, size = int(found.group(1)), integer(source, each)
                if sizes.setdefault(number, size) != size:
                    raise NeuralArtError(f"{each.name} is {size} here and {sizes[number]} before", where=place)
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
        raise NeuralArtError(
            f"{prefix}DATA_ACTIVATION_n_SIZE is there for n = {sorted(sizes)}, "
            f"{prefix}DATA_ACTIVATIONS_COUNT is {'missing' if count is None else count}",
            where=where,
            hint="headers of different compiles?",
        )
    whole = len(dims) == 3
    return Headers(where, sizes, (dims["HEIGHT"], dims["WIDTH"], dims["CHANNEL"]) if whole else ())


def assigned(info: CInfo, network_c: CSource | None) -> dict[int, int]:
    """Id of a pool -> number, as ``network.c`` assigns the arrays that lie in it; pools it says nothing of are missing.

    Raises:
        NeuralArtError: It assigns arrays of one pool to several buffers.
    """
    if network_c is None:
        return {}
    pool_of = {buffer.name: buffer.pool for buffer in info.buffers if buffer.name}
    told: dict[int, int] = {}
    for match in _ASSIGNED.finditer(network_c.code):
        pool, number = pool_of.get(match.group(1)), int(match.group(2)) + 1
        if pool is not None and told.setdefault(pool, number) != number:
            raise NeuralArtError(
                f"array {match.group(1)} lies in activation buffer {number}, others of its pool in {told[pool]}",
                where=network_c.where(match.start()),
                hint=f"of another compile than {info.file}?",
            )
    return told


def numbers(info: CInfo, headers: Headers, network_c: CSource | None = None) -> dict[int, int]:
    """Id of each pool with activations -> its number.

    Args:
        info: What the compile tells.
        headers: What the headers say.
        network_c: The generated C, which tells where sizes do not.

    Raises:
        NeuralArtError: Pools and header do not belong together, or which is which is not told.
    """
    pools = activation_pools(info)
    listed = ", ".join(f"{name} {used}" for _, name, used in pools) or "none"
    said = ", ".join(f"{number}: {size}" for number, size in sorted(headers.sizes.items())) or "none"
    if sorted(used for _, _, used in pools) != sorted(headers.sizes.values()):
        raise NeuralArtError(
            f"the activation buffers of the header ({said} bytes) are not the pools of {info.file} ({listed} bytes)",
            where=headers.where,
            hint="files of different compiles? take both from one",
        )
    told = assigned(info, network_c)
    result: dict[int, int] = {}
    for pool, name, used in pools:
        candidates = [number for number, size in headers.sizes.items() if size == used]
        if pool in told:
            if told[pool] not in candidates:
                raise NeuralArtError(
                    f"network.c says that pool {name} is activation buffer {told[pool]}, but it uses {used} bytes and "
                    f"buffer {told[pool]} has {headers.sizes.get(told[pool], 'no')} bytes",
                    where=headers.where,
                    hint="files of different compiles? take all from one",
                )
            result[pool] = told[pool]
        elif len(left := [number for number in candidates if number not in told.values()]) == 1:
            result[pool] = left[0]
        else:
            same = ", ".join(each for _, each, size in pools if size == used)
            raise NeuralArtError(
                f"pools {same} use {used} bytes each: which of them are the activation buffers "
                f"{', '.join(map(str, candidates))} is not told",
                where=headers.where,
                hint="put network.c beside the header, it tells",
            )
    if len(set(result.values())) != len(result):
        raise NeuralArtError(f"two pools would be one activation buffer: {result}", where=headers.where)
    return result


# ---------------------------------------------------------------------------------------------------------------------

HEADERS = ("{}_data_params.h", "{}_data.h", "{}_config.h", "{}.h")


@dataclass(frozen=True)
class NetworkFiles:
    """Where they are.

    Attributes:
        c_info: ``network_c_info.json``.
        headers: Folder of the headers.
        sources: Folder of ``network.c``; need not hold it.
    """

    c_info: Path
    headers: Path
    sources: Path

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
    """Read a network.

    Args:
        files: Where it is.
        name: The C name that the application expects.

    Raises:
        NeuralArtError: Something is missing or wrong, or it is a network that no application is patched for.
    """
    if not files.c_info.is_file():
        others = sorted(path.name for path in files.c_info.parent.glob("*_c_info.json"))
        hint = f"there is {', '.join(others)}: the application wants --name {name}" if others else "generate writes it"
        raise NeuralArtError("no such file", where=str(files.c_info), hint=hint)
    info = read_c_info(read_bytes(files.c_info), str(files.c_info))
    family.check_network(info)
    headers = [
        CSource(str(path), read_bytes(path))
        for path in (files.headers / each.format(name) for each in HEADERS)
        if path.is_file()
    ]
    said = read_headers(headers, name)
    if said is None:
        raise family.legacy_missing(info, headers, str(files.headers), name)
    generated = files.sources / f"{name}.c"
    network_c = CSource(str(generated), read_bytes(generated)) if generated.is_file() else None
    network = network_for_patching(info, name, numbers(info, said, network_c))
    shape = (network.height, network.width, network.channels)
    if said.input and said.input != shape:
        raise NeuralArtError(
            f"the input is {_picture(shape)} by {info.file}, and {_picture(said.input)} by the generated header",
            where=str(files.headers),
            hint="files of different compiles? take all from one",
        )
    return network


def _picture(shape: tuple[int, ...]) -> str:
    height, width, channels = shape
    return f"{width}x{height}, {channels} channel{'s' if channels > 1 else ''}"
