"""Finds the files of a generated network in a folder. Its C is recognized by its functions, the others by names beside
it. For a core, headers give inputs, outputs and sizes if ``c_info.json`` is gone. File names do not give the C name
(``network.c`` of release 2.0 has symbols with ``Default``).
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, searched
from neuralart.network.facts import LL_ATON, NETWORK_RUNTIME, NEURALART, NEURALART_VERSION
from neuralart.network.pools import MemoryPool, PoolFile
from neuralart.network.targets import CPU, NPU
from neuralart.quick import dataclass, field
from neuralart.text.c_source import decode
from neuralart.vendor.network_c import read as network_c
from neuralart.vendor.network_c.checks import extent, rows_by_pool
from neuralart.vendor.network_c.types import BufferRow, GeneratedNetwork

_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(?:ST)?AI_(\w+)[ \t]+((?:[^\n\\]|\\\n?)*)", re.M)
_NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]{1,8}|\d{1,10})")
_FORMATS = {"FLOAT": "float32", "FLOAT32": "float32", "S8": "int8", "U8": "uint8", "S16": "int16", "U16": "uint16"}
_FORMATS |= {"S32": "int32", "U32": "uint32", "BOOL": "bool", "Q": "int8"}
_AXES = ("HEIGHT", "WIDTH", "CHANNEL")
_MOST = 64


@dataclass(frozen=True)
class HeaderPort:
    name: str  # As the header names it; ``in_1`` where it does not
    shape: tuple[int, ...]  # With the batch, the channels last
    bytes: int  # Size
    dtype: str  # ``int8``, ``float32``...; empty if the header does not tell


@dataclass(frozen=True)
class CpuHeader:
    """The contents of the headers; None: they do not say it."""

    inputs: tuple[HeaderPort, ...]  # In order
    outputs: tuple[HeaderPort, ...]  # In order
    macc: int | None  # Multiply-accumulate operations
    activations: int | None  # Bytes
    weights: int | None  # Bytes


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each, 16 if "x" in each.lower() else 10) for each in _NUMBER.findall(text))


def _number(values: dict[str, str], *names: str) -> int | None:
    for name in names:
        found = _numbers(values.get(name, ""))
        if len(found) == 1:
            return found[0]
    return None


def _port(values: dict[str, str], kind: str, number: int) -> HeaderPort | None:
    prefix = f"{kind}_{number}"
    size = _number(values, f"{prefix}_SIZE_BYTES")
    shape = _numbers(values.get(f"{prefix}_SHAPE", ""))
    if not shape:
        axes = [_number(values, f"{prefix}_{axis}") for axis in _AXES]
        batch = _number(values, f"{prefix}_BATCH") or 1
        shape = (batch, *(each for each in axes if each is not None)) if any(axes) else ()
    word = re.search(r"FORMAT_([A-Z]+\d*)", values.get(f"{prefix}_FORMAT", ""))
    dtype = _FORMATS.get(word[1], "") if word else ""
    if size is None or not shape:
        return None
    name = values.get(f"{prefix}_NAME", "").strip().strip('()"')
    return HeaderPort(name if name not in ("", "NULL") else prefix.lower(), shape, size, dtype)


def parse(texts: list[str], c_name: str) -> CpuHeader:
    """Read the headers of a network. ``texts``: of ``network.h``, ``network_data.h``, ``network_data_params.h``, if
    they exist; ``c_name``: the network's name in C.
    """
    head = f"{c_name.upper()}_"
    values: dict[str, str] = {}
    for text in texts:
        for match in _DEFINE.finditer(text):
            name = match[1]
            if name.startswith(head):
                values.setdefault(name.removeprefix(head), match[2].strip())
    ports = {}
    for kind in ("IN", "OUT"):
        count = min(_number(values, f"{kind}_NUM") or 0, _MOST)
        made = [_port(values, kind, number) for number in range(1, count + 1)]
        ports[kind] = tuple(each for each in made if each is not None)
    return CpuHeader(
        inputs=ports["IN"],
        outputs=ports["OUT"],
        macc=_number(values, "MACC_NUM"),
        activations=_number(values, "ACTIVATIONS_SIZE_BYTES", "DATA_ACTIVATIONS_SIZE", "ACTIVATIONS_SIZE"),
        weights=_number(values, "WEIGHTS_SIZE_BYTES", "DATA_WEIGHTS_SIZE", "WEIGHTS_SIZE"),
    )


_OURS = "neuralart_kernels.h"
_NPU = re.compile(rb"\bLL_ATON_EpochBlockItems_(\w+)\s*\(")
_OF_NPU = re.compile(rb"\bLL_ATON_(?!VERSION)")
# A function that every network for the core has (not X-CUBE-AI's of a name, which finds one of several networks).
_CPU = re.compile(
    rb"^[ \t]*(?:AI_API_ENTRY\s+)?(?:ai_error\s+ai|stai_return_code\s+stai)_(\w+?)(?:_create_and)?_(?:create|init)"
    rb"\s*\((?!\s*const\s+char\b)",
    re.M,
)
_LARGEST = 64 << 20
# Files of a network for the core, behind its stem.
_CPU_PARTS = ("_data.c", "_data_params.c", ".h", "_config.h", "_data.h", "_data_params.h", "_details.h", "_data.bin")
_HINT = "compiler: {adopted: FOLDER}: the folder with the network.c that the tool wrote"


@dataclass(frozen=True)
class GeneratedSet:
    """A network in a folder."""

    folder: Path
    c_file: str  # Name of its C in the folder
    flow: str  # ``NPU``, or ``CPU``: it runs on the core
    c_name: str  # Suffix of its symbols
    code: tuple[str, ...]  # Names of its C files and headers, its own C first
    text: str = field(repr=False)  # Of its C
    shown: str = ""  # Its folder in messages
    beside: tuple[str, ...] = ()  # Names of the other C files in its folder, without suffix
    c_info: str = ""  # Name of the compiler's description; empty: there is none
    report: str = ""  # Name of the compiler's report; empty: there is none

    @property
    def stem(self) -> str:
        """File name of its C without suffix, with which its other files begin."""
        return self.c_file.removesuffix(".c")

    @property
    def where(self) -> str:
        """The name of its C in messages."""
        return f"{self.shown}/{self.c_file}" if self.shown not in ("", ".") else self.c_file

    @cached_property
    def network(self) -> GeneratedNetwork:
        """Its C, read, for the NPU."""
        return network_c.parse(self.text, self.where)

    @property
    def runtime(self) -> str:
        """The runtime that its C needs: ours, or the vendor's for its flow."""
        if self.flow == CPU:
            return NEURALART if _OURS in self.text else NETWORK_RUNTIME
        return NEURALART if self.network.runtime == NEURALART_VERSION else LL_ATON

    @cached_property
    def _placed(self) -> dict[str, list[BufferRow]]:
        return rows_by_pool(self.network)

    @cached_property
    def needed(self) -> dict[str, int]:
        """Pools (fname) with constants, and the bytes of each up to the last constant."""
        if self.flow == CPU:
            return {}
        placed = self._placed
        found = {}
        for pool in self.network.pools:
            constants = [row for row in placed[pool.fname] if row.is_param]
            if constants:
                found[pool.fname] = extent(pool, constants)
            elif pool.rights == "READ_ONLY" and pool.told[0]:
                # Nothing but constants can be there, also where the tables leave them out.
                found[pool.fname] = max(0, pool.told[0] - pool.told[1])
        return found

    @cached_property
    def idle(self) -> tuple[str, ...]:
        """Pools (fname) that its comments declare and nothing uses, not through a virtual pool either."""
        pools, placed = self.network.pools, self._placed
        used = [range(pool.address, pool.address + pool.size) for pool in pools if pool.told[0] or placed[pool.fname]]
        return tuple(
            pool.fname
            for pool in pools
            if not any(pool.address < each.stop and each.start < pool.address + pool.size for each in used)
        )

    @cached_property
    def pools(self) -> PoolFile:
        """The memory pools as its C describes them; NeuralArtError: nothing describes them."""
        pools = tuple(
            MemoryPool(
                fname=pool.fname,
                name=pool.name,
                address=pool.address,
                size=pool.size,
                rights="ACC_WRITE" if pool.writable else "ACC_READ",
                mode="USEMODE_RELATIVE" if pool.relative else "USEMODE_ABSOLUTE",
                cacheable=pool.cacheable,
                where=self.where,
            )
            for pool in self.network.pools
            if not pool.virtual and not pool.of_user
        )
        if not pools:
            raise NeuralArtError("no comment describes a memory pool", where=self.where, hint="is it complete?")
        return PoolFile(self.where, "atonbuf", pools)


def check_pool_file(found: GeneratedSet, mpool: PoolFile) -> PoolFile:
    """Read a pool file that the network was compiled for. NeuralArtError: it was not."""
    own = {pool.fname: pool for pool in found.pools.enabled}
    theirs = {pool.fname: pool for pool in mpool.enabled}
    for fname, pool in own.items():
        other = theirs.get(fname)
        if other is None or other.address != pool.address:
            at = "is not in it" if other is None else f"is at 0x{other.address:08x} there"
            what = f"pool {fname} of {found.where} at 0x{pool.address:08x} {at}"
            hint = "it is not the pool file that the network was compiled for: leave 'mpool' out, the C says enough"
            raise NeuralArtError(what, where=other.where if other is not None else mpool.path, hint=hint)
    return mpool


def kind_of(data: bytes) -> tuple[str, str]:
    """Find flow and C name of the network in a C file; empty: it has none."""
    found = _NPU.search(data)
    if found is not None and b"ll_atonn_rt_epoch_block_array" in data:
        return NPU, found[1].decode()
    # stai_network.c of a network for the NPU defines the same functions.
    made = _CPU.search(data) if _OF_NPU.search(data) is None else None
    return (CPU, made[1].decode()) if made is not None else ("", "")


def candidates(folder: Path) -> list[str]:
    """Names of C files in a folder that hold a network, sorted."""
    found = []
    with os.scandir(folder) as entries:
        names = sorted(each.name for each in entries if each.name.endswith(".c") and each.is_file())
    for name in names:
        # stai_network.c and network_data.c belong to network.c.
        owner = re.sub(r"_data(?:_params)?\.c$|^stai_", "", name)
        if owner != name and (owner in names or f"{owner}.c" in names):
            continue
        path = folder / name
        if path.stat().st_size <= _LARGEST and kind_of(read_bytes(path))[0]:
            found.append(name)
    return found


def find(folder: Path, c_file: str = "", shown: str = "", where: str = "") -> GeneratedSet:
    """The network of a folder, by the name of its C where there are several. ``c_file``: name of its C in it; empty:
    the only one there; ``shown``: the folder in messages; empty: as it is; ``where``: who names it. NeuralArtError:
    there is no such folder, no network or several in it, or one of its files is missing.
    """
    shown = shown or folder.as_posix()
    where = where or shown
    try:
        if not searched(folder).is_dir():
            what = "is a file, not a folder" if folder.exists() else "no such folder"
            raise NeuralArtError(f"adopted: {shown} {what}", where=where, hint=_HINT)
        named = [c_file] if c_file else candidates(folder)
        if len(named) > 1:
            hint = f"{{adopted: {{folder: {shown}, c_file: {named[0]}}}}}"
            raise NeuralArtError(f"adopted: {shown} has several networks: {', '.join(named)}", where=where, hint=hint)
        if not named or not (folder / named[0]).is_file():
            what = f"no {c_file}" if c_file else "no C file of a generated network"
            raise NeuralArtError(f"adopted: {shown} has {what}", where=where, hint=_HINT)
        data = read_bytes(folder / named[0])
        flow, name = kind_of(data)
        if not flow:
            raise NeuralArtError(f"adopted: {shown}/{named[0]} is no generated network", where=where, hint=_HINT)
        names = {entry.name for entry in folder.iterdir() if entry.is_file()}
    except OSError as error:
        raise NeuralArtError(f"adopted: cannot read: {error.strerror}", where=str(error.filename or shown)) from error
    text = decode(data)
    stem = named[0].removesuffix(".c")
    code = _npu_code(text, stem, names, f"{shown}/{named[0]}") if flow == NPU else _cpu_code(stem, names)
    infos = [f"{stem}_c_info.json", f"{name}_c_info.json", "c_info.json"]
    reports = [f"{stem}_generate_report.txt", f"{name}_generate_report.txt", f"{stem}_analyze_report.txt"]
    return GeneratedSet(
        folder=folder,
        c_file=named[0],
        flow=flow,
        c_name=name,
        code=(named[0], *code),
        text=text,
        shown=shown,
        beside=tuple(sorted(each.removesuffix(".c") for each in names if each.endswith(".c") and each != named[0])),
        c_info=next((each for each in infos if each in names), ""),
        report=next((each for each in reports if each in names), ""),
    )


def _npu_code(text: str, stem: str, names: set[str], where: str) -> list[str]:
    blobs = network_c.blob_header(text)
    if blobs and blobs not in names:
        hint = "the tool writes both: take them from the same run"
        raise NeuralArtError(f"it includes {blobs}, which is not beside it", where=where, hint=hint)
    usual = [f"{stem}.h", blobs, f"stai_{stem}.c", f"stai_{stem}.h"]
    return [each for each in usual if each in names]


def _cpu_code(stem: str, names: set[str]) -> list[str]:
    return [f"{stem}{part}" for part in _CPU_PARTS if f"{stem}{part}" in names]
