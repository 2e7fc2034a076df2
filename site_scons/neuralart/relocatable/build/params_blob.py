"""The params: initial contents of the pools, one after the other."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.relocatable.build.network_source import NetworkSource
from neuralart.relocatable.build.pool_table import PARAM, RELOC, TableEntry
from neuralart.relocatable.format.types import PoolDescriptor

_OTHER_FORMATS = {
    ".hex": "FORMAT_HEX",
    ".c": "FORMAT_C",
    ".h": "FORMAT_C",
    ".bin": "FORMAT_BIN",
    ".txt": "FORMAT_TXT",
}


@dataclass(frozen=True)
class Params:
    """Initial contents.

    Attributes:
        data: All bytes.
        descriptors: The table, in its order.
    """

    data: bytes = field(repr=False)
    descriptors: tuple[PoolDescriptor, ...]

    @property
    def crc32(self) -> int:
        """zlib CRC-32."""
        return zlib.crc32(self.data)


def align(size: int, to: int) -> int:
    """The next multiple."""
    return -(-size // to) * to


def find_raw(source: NetworkSource, fname: str, where: str) -> Path:
    """The initializer of a pool, beside network.c.

    ``<network>_atonbuf.<fname>.raw`` or another name that starts with the network's; else the only ``.raw`` for this
    pool in the folder.

    Raises:
        NeuralArtError: It is missing, written in another format, or cannot be told from others.
    """
    folder, stem = source.path.parent, source.path.stem
    files = sorted(path for path in folder.iterdir() if path.is_file())
    own = [path for path in files if path.name.startswith((f"{stem}_", f"{source.c_name}_"))]
    ours = [path for path in own if path.name.endswith(f".{fname}.raw")]
    found = ours or [path for path in files if path.name.endswith(f".{fname}.raw")]
    exact = folder / f"{stem}_atonbuf.{fname}.raw"
    if exact in found:
        return exact
    if len(found) > 1:
        raise NeuralArtError(
            f"{len(found)} files could be the initializer of pool {fname}: {', '.join(path.name for path in found)}",
            where=str(folder),
            hint="delete those of earlier compiles",
        )
    if found:
        return found[0]
    for path in own:
        kind = _OTHER_FORMATS.get(path.suffix)
        if kind and path.name.removesuffix(path.suffix).endswith(f".{fname}"):
            raise NeuralArtError(
                f"pool {fname} was written as {kind} ({path.name}), a relocatable model takes raw bytes",
                where=where,
                hint='give it "fformat": "FORMAT_RAW" in the .mpool and compile again',
            )
    raise NeuralArtError(
        f"pool {fname} holds constants, but there is no {exact.name}",
        where=str(folder),
        hint="copy the raw files beside network.c",
    )


def collect(source: NetworkSource, entries: Sequence[TableEntry], *, alignment: int, moved_first: bool) -> Params:
    """Read all initializers and give each its place.

    Args:
        source: The network.
        entries: The table.
        alignment: Of each pool's contents, in bytes.
        moved_first: The contents of the relative read-only pool come first: what stands in front of all contents (the
            epoch-controller blobs) then has the same base as they.

    Raises:
        NeuralArtError: An initializer is missing, or too large.
    """
    order = [entry for entry in entries if entry.has_data]
    if moved_first:
        order.sort(key=lambda entry: not (entry.type == RELOC and entry.data == PARAM))
    data = bytearray()
    offsets: dict[str, int] = {}
    for entry in order:
        pool, size = entry.use.pool, entry.use.size
        path = find_raw(source, pool.fname, pool.where)
        raw = read_bytes(path)
        if len(raw) > pool.capacity:
            raise NeuralArtError(f"{len(raw):,} bytes, pool {pool.fname} has {pool.capacity:,}", where=str(path))
        if len(raw) < entry.use.params:
            raise NeuralArtError(
                f"{len(raw):,} bytes, network.c keeps {entry.use.params:,} bytes of constants in pool {pool.fname}",
                where=str(path),
                hint="it is of another compile, or cut off",
            )
        data += bytes(align(len(data), alignment) - len(data))
        offsets[pool.fname] = len(data)
        data += raw.ljust(align(max(len(raw), size), 8), b"\0")
    return Params(bytes(data), tuple(entry.descriptor(offsets.get(entry.use.pool.fname, 0)) for entry in entries))
