"""What came out of a compile, whichever compiler it was: ``network.json``.

Facts only: no content hashes of weights, no versions, no paths. So whatever depends on this file is rebuilt when the
shape of the network changes, and only then.

``manifest.json`` beside it has sizes and hashes of every file of a compile. Schema 1::

    {"schema": 1, "network": "digits", "files": [
      {"name": "digits.c", "bytes": 81920, "sha256": "...", "crc32": "..."}, ...]}
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.quick import asdict, dataclass

SCHEMA = 1
NEURALART, LL_ATON, NETWORK_RUNTIME = "neuralart", "ll_aton", "network_runtime"
"""Runtimes: ours, the vendor's for the NPU, the vendor's for networks on the CPU alone."""
NEURALART_VERSION = (0, 1, 0, 0)
"""As in firmware/runtime/include/ll_aton_version.h (a test compares them)."""
APPLICATION = "USEMODE_APPLICATION"
"""Mode of the pools of a CPU network: the application's linker script gives them their places, weights too."""
T = TypeVar("T")
MANIFEST_SCHEMA = 1
MANIFEST = "manifest.json"
_LONGEST_NAME = 255
"""Bytes of a file's name, on any system."""


@dataclass(frozen=True)
class PoolUse:
    """A memory pool as the network uses it."""

    name: str  # Report name, for example ``octoFlash``
    fname: str  # File postfix, for example ``xSPI2``
    # Base address as the pool file gives it; of a relative pool the place it has by default; 0 of a pool that gets its
    # place when the application is linked
    address: int
    size: int  # Capacity in bytes
    used: int  # Highest offset used, in bytes (weights and activations)
    weights: int  # Bytes of constants in it
    activations: int | None  # Peak bytes of activations in it; None: unknown
    rights: str  # ``ACC_READ`` or ``ACC_WRITE``
    mode: str = "USEMODE_ABSOLUTE"  # ``USEMODE_ABSOLUTE``, ``USEMODE_RELATIVE`` or APPLICATION
    virtual: bool = False  # Made of adjoining pools; its use is not to be added to theirs
    parts: tuple[str, ...] = ()  # fnames of the pools a virtual pool is made of
    cacheable: bool = False  # Through the NPU cache

    @property
    def relative(self) -> bool:
        """Whether its base is only known when a relocatable model is installed."""
        return self.mode == "USEMODE_RELATIVE"

    @property
    def of_application(self) -> bool:
        """Whether it is an array of the application, whose address the linker chooses."""
        return self.mode == APPLICATION


@dataclass(frozen=True)
class Port:
    """An input or output of the network."""

    name: str  # Name of the tensor in the model
    pool: str  # fname of its pool; empty when the application provides the buffer
    # Absolute address; in a relative pool the one it has if the pool is at its default place; 0 when the application
    # provides the buffer; in a pool of the application the offset in that
    address: int
    bytes: int  # Size
    shape: tuple[int, ...]  # With the batch, in memory order; without one only if the model has none
    dtype: str  # ``int8``, ``uint8``, ``float32``...
    scale: float  # 0.0 when not quantized
    zero_point: int  # 0 when not quantized
    channel_position: str = "last"  # ``last``, ``first`` or ``undefined``
    user_allocated: bool = False  # The application provides the buffer


@dataclass(frozen=True)
class Epoch:
    """One scheduled step."""

    number: int  # From 0
    kind: str  # ``HW``, ``SW``, ``HYBRID`` or ``EC``
    operators: tuple[str, ...]  # Kinds of the model's operators in it


@dataclass(frozen=True)
class Network:
    """The facts of a compiled network."""

    name: str  # What the project calls it; unless ``c_name`` says otherwise, prefix of files and suffix of symbols
    runtime: str  # NEURALART, LL_ATON or NETWORK_RUNTIME
    runtime_version: tuple[int, int, int, int]  # Four numbers, as in the guard of network.c
    abi_stamp: str  # 16 hex digits: hash of the normalized generated C and the layout of the pools
    numerics: str  # Named rounding profile, for example ``litert-2.20``
    pools: tuple[PoolUse, ...]  # In the compiler's order
    inputs: tuple[Port, ...]  # In the model's order
    outputs: tuple[Port, ...]  # In the model's order
    epochs: tuple[Epoch, ...]  # In execution order
    macc: int | None  # Multiply-accumulate operations of one inference; None: unknown
    c_name: str = ""  # What its C calls it, where that is not its name

    @property
    def symbol(self) -> str:
        """Suffix of its symbols in C."""
        return self.c_name or self.name

    @property
    def initializers(self) -> tuple[PoolUse, ...]:
        """Pools with constants that are not linked: each has a raw file that must reach its memory."""
        return tuple(pool for pool in self.pools if pool.weights and not pool.of_application)


def pieces(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """Cut data into pieces of the given sizes, such as the tensors of a vector."""
    ends = itertools.accumulate(sizes, initial=0)
    return [data[start:end] for start, end in itertools.pairwise(ends)]


def to_json(network: Network) -> str:
    """Canonical text of ``network.json``."""
    data = {"schema": SCHEMA, **asdict(network)}
    if not network.c_name:
        del data["c_name"]
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _list(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return tuple(value)


_HINTS: dict[type, dict[str, Any]] = {}  # Of each class once: working them out takes longest.


def _typed(row: Any, cls: type[T]) -> T:
    """A dataclass from a JSON object whose values have the types of its fields."""
    if not isinstance(row, dict):
        raise TypeError(f"{row!r} is no {cls.__name__}")
    if cls not in _HINTS:
        _HINTS[cls] = get_type_hints(cls)
    hints = _HINTS[cls]
    for key, value in row.items():
        hint = hints.get(key)
        if isinstance(hint, UnionType):
            if value is None:
                continue
            hint = get_args(hint)[0]
        kind = get_origin(hint) or hint
        # JSON writes 1.0 as it likes, and a truth value is a number to Python.
        good = isinstance(value, (int, float)) if kind is float else isinstance(value, kind) if kind else True
        if not good or (isinstance(value, bool) and kind is not bool):
            raise TypeError(f"'{key}' is {value!r}")
        if kind is tuple:
            wanted, *more = get_args(hint)
            if more != [...] and len(value) != 1 + len(more):
                raise TypeError(f"'{key}' has {len(value)} values")
            if isinstance(wanted, type) and not all(type(each) is wanted for each in value):
                raise TypeError(f"'{key}' holds {value!r}")
        if kind is int and value < 0 and key in ("address", "size", "used", "weights", "activations", "bytes", "macc"):
            raise TypeError(f"'{key}' is {value}")
    return cls(**row)


@lru_cache(maxsize=8)  # several steps of a build read each
def from_json(text: str, where: str) -> Network:
    """Read the text of :func:`to_json`. NeuralArtError: it is another text, or of another schema."""
    hint = "it is written by the compile of this very version: build it again"
    try:
        data: dict[str, Any] = jsontext.loads(text)
        schema = data.pop("schema")
        if schema != SCHEMA or isinstance(schema, bool):
            raise NeuralArtError(f"schema {schema}, this version reads {SCHEMA}", where=where, hint=hint)
        data["runtime_version"] = _list(data["runtime_version"])
        data["pools"] = tuple(_typed({**p, "parts": _list(p["parts"])}, PoolUse) for p in _list(data["pools"]))
        for key in ("inputs", "outputs"):
            data[key] = tuple(_typed({**p, "shape": _list(p["shape"])}, Port) for p in _list(data[key]))
        data["epochs"] = tuple(_typed({**e, "operators": _list(e["operators"])}, Epoch) for e in _list(data["epochs"]))
        return _typed(data, Network)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise NeuralArtError(f"not a network.json: {error}", where=where, hint=hint) from error


def load(path: Path) -> Network:
    """Read a ``network.json``. NeuralArtError: it is missing, another file, or was changed."""
    from neuralart import products

    return from_json(products.read(path).decode("utf-8", "replace"), str(path))


@dataclass(frozen=True)
class Listed:
    """A file of a compile."""

    name: str  # In the manifest's folder
    bytes: int  # Its size
    sha256: str  # 64 hex digits


def manifest(network: str, files: Mapping[str, bytes]) -> str:
    """Write the manifest; ``files``: name -> content."""
    rows = []
    for name, data in sorted(files.items()):
        hashes = {"sha256": hashlib.sha256(data).hexdigest(), "crc32": f"{zlib.crc32(data):08x}"}
        rows.append({"name": name, "bytes": len(data), **hashes})
    return json.dumps({"schema": MANIFEST_SCHEMA, "network": network, "files": rows}, indent=1) + "\n"


def read_manifest(path: Path) -> tuple[str, tuple[Listed, ...]]:
    """The network's name and the files of a compile. NeuralArtError: it is missing or damaged."""
    try:
        data = jsontext.loads(read_bytes(path))
        network = data.get("network", "")
        rows = [Listed(row["name"], row["bytes"], row["sha256"]) for row in data["files"]]
        if not isinstance(network, str):
            raise TypeError(f"'network' is {network!r}")
        for row in rows:
            kinds = (type(row.name), type(row.bytes), type(row.sha256))
            if kinds != (str, int, str) or row.name in ("", ".", "..") or "/" in row.name or "\\" in row.name:
                raise TypeError(f"'{row.name}' is no row of it")
            if len(row.name.encode("utf-8", "replace")) > _LONGEST_NAME:
                raise TypeError(f"'{row.name}' is no row of it")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "compile the network again"
        raise NeuralArtError(f"not the manifest of a compile: {error}", where=str(path), hint=hint) from error
    return network, tuple(rows)


def listed_files(folder: Path) -> tuple[Listed, ...]:
    """Read the list of a compile's files. NeuralArtError: there is no manifest, or it is damaged."""
    return read_manifest(folder / MANIFEST)[1]


def _is(path: Path, row: Listed) -> bool:
    """A file has the contents that its row says."""
    if path.is_symlink() or path.stat().st_size != row.bytes:
        return False
    return hashlib.sha256(read_bytes(path)).hexdigest() == row.sha256


def changed_files(folder: Path) -> tuple[str, ...]:
    """Names of files that are not what the compile wrote, the manifest itself among them if it says nothing. Missing
    files are not named: the code that needs them reports them. Without a manifest nothing is known. NeuralArtError: a
    file cannot be read.
    """
    if not (folder / MANIFEST).is_file():
        return ()
    try:
        rows = listed_files(folder)
    except NeuralArtError:
        return (MANIFEST,)
    names = []
    for row in rows:
        path = folder / row.name
        if (path.is_file() or path.is_symlink()) and not (path.exists() and _is(path, row)):
            names.append(row.name)
    return tuple(names)


def check_files(folder: Path) -> tuple[Listed, ...]:
    """Read all files of a compile. NeuralArtError: the manifest or a file is missing, damaged or changed."""
    rows = listed_files(folder)
    for row in rows:
        if not (folder / row.name).is_file():
            hint = "compile the network again"
            raise NeuralArtError(f"{row.name} is not there", where=str(folder / MANIFEST), hint=hint)
    refuse_changed(folder)
    return rows


def refuse_changed(folder: Path) -> None:
    """Refuse files that are not what the compile wrote (:func:`changed_files`). NeuralArtError: there is one."""
    wrong = changed_files(folder)
    if wrong:
        hint = f"{MANIFEST} holds the hashes; compile the network again"
        raise NeuralArtError(f"{', '.join(wrong)} changed since the network was compiled", where=str(folder), hint=hint)
