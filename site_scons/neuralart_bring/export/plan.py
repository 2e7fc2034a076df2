"""Which files an export has, and what is in each: no folder is touched here but to read what is exported."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from neuralart import products
from neuralart.applications.runtime import RuntimePart
from neuralart.errors import NeuralArtError
from neuralart.network.facts import NEURALART
from neuralart.text.ihex import ihex
from neuralart_bring.export import makefiles

SCHEMA = 1
MANIFEST = "manifest.json"
MAKE, CMAKE = "network.mk", "network.cmake"
NETWORKS, PROGRAM, IMAGES, RUNTIME = "networks", "program", "images", "runtime"
# Make splits at blanks and expands $, CMake splits at ;. What we write has neither.
_NAME = re.compile(r"[A-Za-z0-9_+.-]+(?:/[A-Za-z0-9_+.-]+)*", re.ASCII)
_DEFINE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:=[^\n\r]*)?", re.ASCII)


@dataclass(frozen=True)
class Raw:
    """The constants of a pool as the compiler wrote them."""

    pool: str  # fname
    address: int  # Base of the pool: where the network reads them
    path: Path  # The file


@dataclass(frozen=True)
class NetworkPart:
    name: str  # Its C name
    runtime: str  # ``neuralart`` or ``ll_aton``
    runtime_version: tuple[int, int, int, int]  # Four numbers, as in the guard of its C
    abi_stamp: str  # As in its ``network.json``
    sources: tuple[Path, ...]  # C to compile
    headers: tuple[Path, ...] = ()  # Headers beside them
    raws: tuple[Raw, ...] = ()  # Constants by pool
    others: tuple[Path, ...] = ()  # Files that nothing compiles: facts, reports
    linked: bool = False  # Some of its constants are linked into the program, so its folder is on the assembler's path


@dataclass(frozen=True)
class ImagePart:
    """Bytes to load beside the program."""

    network: str  # Name of the network; empty for the identity descriptor
    pool: str  # fname; empty for the identity descriptor; the slot of a relocatable model's file
    address: int  # Of the first byte
    binary: Path  # The bytes; an empty file: nothing to load
    hex: Path | None  # The same as Intel HEX; None: made of them
    external: bool = False  # Another program (a debugger) loads it into RAM while this one waits


@dataclass(frozen=True)
class ExportInputs:
    name: str  # Of the variant
    title: str  # For people, one line
    board: str  # Name of the board
    networks: tuple[NetworkPart, ...]  # In order
    sources: tuple[Path, ...] = ()  # C for all networks together: start-up code of the memories, linked constants
    headers: tuple[Path, ...] = ()  # Their headers, and ``network_io.h``
    images: tuple[ImagePart, ...] = ()  # In the order to load them
    # Sources and headers of our runtime; only ``npu_memory`` where the networks need another one
    runtime: tuple[RuntimePart, ...] = ()
    defines: tuple[str, ...] = ()  # Preprocessor definitions of the generated C, ``NAME`` or ``NAME=value``
    cpu_flags: tuple[str, ...] = ()  # GCC flags of the core that the board's own build uses, for information


@dataclass
class _Draft:
    """Files so far, by name."""

    files: dict[str, bytes] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, data: bytes, origin: str) -> str:
        if not is_name(name):
            hint = "letters, digits, '_', '.', '+' and '-'"
            raise NeuralArtError(f"'{name}' cannot be the name of an exported file", where=origin, hint=hint)
        for known in self.files:
            # Some file systems do not tell A from a.
            if known.casefold() == name.casefold() and (known != name or self.files[known] != data):
                what = f"two different files would become {name}: {self.origin[known]} is the other"
                raise NeuralArtError(what, where=origin)
        self.files[name], self.origin[name] = data, origin
        return name

    def copy(self, folder: str, path: Path) -> str:
        return self.put(f"{folder}/{path.name}", products.read(path), str(path))


def is_name(name: str) -> bool:
    """A relative path that every build system takes and that leads nowhere else."""
    parts = name.split("/")
    return bool(_NAME.fullmatch(name)) and not any(part in (".", "..") or part.endswith(".") for part in parts)


def _network(draft: _Draft, part: NetworkPart) -> makefiles.ExportedNetwork:
    folder = f"{NETWORKS}/{part.name}"
    for path in (*part.headers, *part.others):
        draft.copy(folder, path)
    for raw in part.raws:
        draft.copy(folder, raw.path)
    sources = tuple(draft.copy(folder, path) for path in part.sources)
    return makefiles.ExportedNetwork(part.name, sources, folder, part.linked)


def _runtime_version(part: NetworkPart) -> str:
    return ".".join(map(str, part.runtime_version))


def _images(inputs: ExportInputs, draft: _Draft) -> list[dict[str, Any]]:
    rows = []
    for image in inputs.images:
        binary = draft.copy(IMAGES, image.binary)
        if image.hex is not None:
            hexa = draft.copy(IMAGES, image.hex)
        else:
            text = ihex(image.address, draft.files[binary])
            hexa = draft.put(f"{binary.removesuffix('.bin')}.hex", text.encode(), str(image.binary))
        said = {"network": image.network, "pool": image.pool, "address": image.address}
        said |= {"bytes": len(draft.files[binary]), "binary": binary, "hex": hexa, "external": image.external}
        rows.append(said)
    return rows


def _check(inputs: ExportInputs) -> None:
    where = f"export of {inputs.name}"
    if not inputs.networks:
        raise NeuralArtError("there is no network to export", where=where)
    names = [part.name for part in inputs.networks]
    for name in names:
        if names.count(name) > 1:
            raise NeuralArtError(f"network {name} is there twice", where=where)
    runtimes = {(part.runtime, part.runtime_version): part for part in inputs.networks}
    if len(runtimes) > 1:
        one, other, *_ = runtimes.values()
        what = f"network {one.name} is made for runtime {one.runtime} {_runtime_version(one)}, "
        what += f"network {other.name} for {other.runtime} {_runtime_version(other)}: no program has both"
        raise NeuralArtError(what, where=where, hint="compile all networks with the same compiler")
    for define in inputs.defines:
        if not _DEFINE.fullmatch(define):
            raise NeuralArtError(f"'{define}' is no preprocessor definition", where=where, hint="NAME or NAME=value")


def files(inputs: ExportInputs) -> dict[str, bytes]:
    """All files of an export by their names below its folder; the manifest comes last. NeuralArtError: a file cannot be
    read, or two of them want one name, or the networks do not go together.
    """
    _check(inputs)
    draft = _Draft()
    networks = [_network(draft, part) for part in inputs.networks]
    for path in inputs.headers:
        draft.copy(PROGRAM, path)
    sources = [draft.copy(PROGRAM, path) for path in inputs.sources]
    runtime = [draft.put(f"{RUNTIME}/{part.name}", products.read(part.path), str(part.path)) for part in inputs.runtime]
    images = _images(inputs, draft)
    include = [PROGRAM] if any(name.startswith(f"{PROGRAM}/") for name in draft.files) else []
    folders = (f"{RUNTIME}/include", f"{RUNTIME}/legacy/include")
    include += [each for each in folders if any(name.startswith(f"{each}/") for name in runtime)]
    text = makefiles.BuildText(
        name=inputs.name,
        title=" ".join(inputs.title.split()),
        board=inputs.board,
        networks=tuple(networks),
        sources=(*sources, *(name for name in runtime if name.endswith(".c"))),
        include_dirs=tuple(include),
        hex_files=tuple(row["hex"] for row in images if row["bytes"] and not row["external"]),
        defines=inputs.defines,
        exact_floats=all(part.runtime == NEURALART for part in inputs.networks),
    )
    draft.put(MAKE, makefiles.make(text).encode(), MAKE)
    draft.put(CMAKE, makefiles.cmake(text).encode(), CMAKE)
    made = dict(sorted(draft.files.items()))
    made[MANIFEST] = _manifest(inputs, text, images, made)
    return made


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _manifest(
    inputs: ExportInputs, text: makefiles.BuildText, images: list[dict[str, Any]], made: Mapping[str, bytes]
) -> bytes:
    data = {
        "schema": SCHEMA,
        "name": inputs.name,
        "board": inputs.board,
        "cpu_flags": list(inputs.cpu_flags),
        "networks": [
            {
                "name": part.name,
                "runtime": part.runtime,
                "runtime_version": _runtime_version(part),
                "abi_stamp": part.abi_stamp,
                "initializers": [
                    {
                        "pool": raw.pool,
                        "address": raw.address,
                        "bytes": len(made[name := f"{NETWORKS}/{part.name}/{raw.path.name}"]),
                        "file": name,
                    }
                    for raw in part.raws
                ],
            }
            for part in inputs.networks
        ],
        "images": images,
        "sources": [*(name for each in text.networks for name in each.sources), *text.sources],
        "include_dirs": [*(each.folder for each in text.networks), *text.include_dirs],
        "defines": list(text.defines),
        "files": [{"name": name, "bytes": len(body), "sha256": sha256(body)} for name, body in made.items()],
    }
    return (json.dumps(data, indent=1) + "\n").encode()
