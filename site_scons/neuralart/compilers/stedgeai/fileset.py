"""Lists the files that ST Edge AI Core writes, by release and options, and reads what a run left."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralart.compilers.fileset import FACTS, PROVENANCE
from neuralart.compilers.stedgeai.options import OUTPUT, WORKSPACE
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.facts import MANIFEST
from neuralart.network.pools import PoolFile, initializer_name
from neuralart.quick import dataclass, field
from neuralart.vendor.releases import CoreVersion, Release, is_known, release_of

LICENSE = "LICENSE.txt"
_RAW = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_]+\.(?:raw|c|hex|ihex)")


@dataclass(frozen=True)
class FileConditions:
    """What decides which files a compile writes."""

    name: str  # C name of the network
    stem: str  # Name of the model without its last extension
    npu: bool = True  # The Neural-ART flow
    controller: bool = False  # Its hardware epochs go into blobs
    report: bool = True  # A text report is written
    csv: bool = False  # The profile asks for the table of epochs
    c_api: str = ""  # ``legacy`` or ``st-ai``; empty: the version's own. Only without NPU.
    binary: bool = False  # ``--binary``. Only without NPU.
    relocatable: bool = False  # ``--relocatable``. Only without NPU.


@dataclass(frozen=True)
class Expected:
    """The files of the tool's output folder."""

    needed: tuple[str, ...]  # Without one of them the run was none
    # Written by the documented runs; a run without them still counts, and something stands in for them
    usual: tuple[str, ...]


def _npu(given: FileConditions, release: Release) -> list[str]:
    name = given.name
    files = [f"{name}.c"]
    files += [f"{name}.h"] if release.habits.header else []
    files += [f"stai_{name}.c", f"stai_{name}.h"] if release.habits.stai else []
    return files + ([f"{name}_ecblobs.h"] if given.controller else [])


def _cpu(given: FileConditions, release: Release) -> list[str]:
    name = given.name
    files = [f"{name}.c", f"{name}.h", f"{name}_data.c", f"{name}_data.h"]
    if (given.c_api or release.habits.c_api) == "legacy":
        files += [f"{name}_config.h", f"{name}_data_params.c", f"{name}_data_params.h"]
    else:
        files.append(f"{name}_details.h")
    files += [f"{name}_data.bin"] if given.binary else []
    return files + ([f"{name}_rel.bin", f"{name}_img_rel.c", f"{name}_img_rel.h"] if given.relocatable else [])


def front_end_files(given: FileConditions, release: Release) -> tuple[str, str]:
    """Names of the exported model and its quantization."""
    exported = f"{given.stem}_OE_{release.habits.front_end}"
    return f"{exported}.onnx", f"{exported}_Q.json"


def c_info_name(name: str) -> str:
    """Name of the file that describes the network."""
    return f"{name}_c_info.json"


def report_name(name: str) -> str:
    """Name of the text report of ``generate``."""
    return f"{name}_generate_report.txt"


def csv_output(name: str) -> str:
    """Name of the delivered table of epochs, which the tool leaves in its workspace."""
    return f"{name}.csv"


def expected(given: FileConditions, version: CoreVersion) -> Expected:
    """List what ``stedgeai generate`` writes into its output folder, without initializers."""
    release = release_of(version)
    needed = _npu(given, release) if given.npu else _cpu(given, release)
    # Another version may call the export otherwise: nothing is built on its name then.
    needed += front_end_files(given, release) if given.npu and is_known(version.numbers) else ()
    usual = [report_name(given.name)] if given.report else []
    # Without NPU nothing else tells what the network needs.
    (usual if given.npu else needed).insert(0, c_info_name(given.name))
    return Expected(tuple(needed), tuple(usual))


def initializers(given: FileConditions, pools: PoolFile, declared: Sequence[str]) -> dict[str, str]:
    """Name the file of each declared initializer, by the fname of its pool."""
    files: dict[str, str] = {}
    formats = {pool.fname: pool for pool in pools.pools}
    for fname in declared:
        pool = formats.get(fname)
        raw = initializer_name(given.name, pools.prefix, fname)
        files[fname] = f"{raw.removesuffix('.raw')}.c" if pool is not None and pool.in_c else raw
    return files


def file_names(given: FileConditions, version: CoreVersion, raws: Mapping[str, str]) -> tuple[str, ...]:
    """List every file of a compile before it runs; ``raws``: from :func:`initializers`."""
    files = expected(given, version)
    csv = (csv_output(given.name),) if given.csv else ()
    return (*files.needed, *files.usual, *csv, FACTS, MANIFEST, PROVENANCE, *raws.values())


def is_initializer(name: str, network: str) -> bool:
    """Whether a file may be an initializer of a network, declared or not."""
    return name.startswith(f"{network}_") and _RAW.fullmatch(name.removeprefix(f"{network}_")) is not None


_ORIGIN = ("atonn_options.ini",)


@dataclass(frozen=True)
class Collected:
    """The files of a run."""

    files: Mapping[str, bytes] = field(repr=False)  # Name -> content of the set, initializers excepted
    initializers: Mapping[str, tuple[str, bytes]] = field(repr=False)  # fname -> (file name, content); empty ones too
    # Kept for the record: license text, options in effect, pools as the compiler understood them
    aside: Mapping[str, bytes] = field(repr=False)
    notes: tuple[str, ...] = ()  # What was not as usual


def stand_in(name: str) -> bytes:
    """Make a file in place of one that the tool usually writes; it says so, and readers of the format accept it."""
    if name.endswith(".json"):
        return json.dumps({"json_schema_version": "2.0", "environment": {}}, indent=1).encode() + b"\n"
    return b"The compiler wrote no report.\n"


def _refuse_undeclared(name: str, found: Mapping[str, int], declared: Mapping[str, str]) -> None:
    """Refuse initializers that would never be loaded: the network would compute with zeros. ``found`` has the bytes of
    every file that is there, ``declared`` the file of each declared fname.
    """
    extra = {file: size for file, size in found.items() if size and file not in declared.values()}
    if not extra:
        return
    pools = {file.removeprefix(f"{name}_").split(".")[1]: size for file, size in sorted(extra.items())}
    wanted = [*declared, *(pool for pool in pools if pool not in declared)]
    sizes = ", ".join(f"{pool} ({size} bytes)" for pool, size in pools.items())
    if all(pool in declared for pool in pools):
        files = ", ".join(sorted(extra))
        what = f"network {name} has initializers in another format than its pool file says: {files}"
        hint = "is the fformat of the pool the one that was meant?"
        raise NeuralArtError(what, where=", ".join(declared[pool] for pool in pools), hint=hint)
    what = f"network {name} has constants in {sizes}, whose initializer is not declared and would not be loaded"
    hint = f"add the line   initializers: [{', '.join(wanted)}]   or --initializers {','.join(wanted)}"
    raise NeuralArtError(what, where=f"network {name}", hint=hint)


def collect(
    folder: Path, given: FileConditions, version: CoreVersion, declared: Mapping[str, str] | None, csv: str = ""
) -> Collected:
    """Read and judge what a run left in a folder; NeuralArtError if a file is missing, or an initializer not declared.

    ``folder``: where it ran; ``given``: what decides which files there are; ``version``: of the tool; ``declared``:
    fname -> file of the declared initializers; None: whichever there are; ``csv``: file of the table of epochs in the
    workspace; empty: not asked for.
    """
    out = folder / OUTPUT
    there = {path.name: path for path in sorted(out.iterdir()) if path.is_file()} if out.is_dir() else {}
    wanted = expected(given, version)
    missing = [name for name in wanted.needed if name not in there]
    if missing:
        what = f"the tool ended without an error but wrote no {', '.join(missing)}"
        hint = "a damaged installation, or a version whose files are not known"
        raise NeuralArtError(what, where=f"network {given.name}", hint=hint)
    notes: list[str] = []
    files = {name: read_bytes(there[name]) for name in wanted.needed}
    for name in wanted.usual:
        if name not in there:
            notes.append(f"the tool wrote no {name}: an empty one stands for it")
        files[name] = read_bytes(there[name]) if name in there else stand_in(name)
    if given.csv:
        table = folder / WORKSPACE / f"neural_art__{given.name}" / csv
        if not table.is_file():
            notes.append(f"the tool wrote no {csv}: an empty one stands for it")
        files[csv_output(given.name)] = read_bytes(table) if table.is_file() else b""
    found = {name: path for name, path in there.items() if given.npu and is_initializer(name, given.name)}
    raws = _initializers(given, found, declared)
    aside = _aside(folder, given)
    for name, path in there.items():
        if name in files or name in found:
            continue
        if name.endswith((".c", ".h")):
            notes.append(f"{name} was not expected: it is delivered, but a build does not know it")
            files[name] = read_bytes(path)
        else:
            aside[name] = read_bytes(path)
            if name not in (LICENSE, c_info_name(given.name), report_name(given.name)):
                notes.append(f"{name} was not expected: it is kept aside")
    return Collected(files, raws, aside, tuple(notes))


def _initializers(
    given: FileConditions, found: Mapping[str, Path], declared: Mapping[str, str] | None
) -> dict[str, tuple[str, bytes]]:
    if declared is None:
        chosen = {name: path for name, path in found.items() if path.stat().st_size}
        return {name.removeprefix(f"{given.name}_").split(".")[1]: (name, read_bytes(p)) for name, p in chosen.items()}
    _refuse_undeclared(given.name, {name: path.stat().st_size for name, path in found.items()}, declared)
    raws: dict[str, tuple[str, bytes]] = {}
    for fname, name in declared.items():
        content = read_bytes(found[name]) if name in found else b""
        if not content and name.endswith(".c"):
            content = f"/* Pool {fname} of network {given.name} holds no constants. */\n".encode()
        raws[fname] = (name, content)
    return raws


def _aside(folder: Path, given: FileConditions) -> dict[str, bytes]:
    place = folder / WORKSPACE / f"neural_art__{given.name}"
    if not given.npu or not place.is_dir():
        return {}
    return {p.name: read_bytes(p) for p in sorted(place.iterdir()) if p.name in _ORIGIN or p.suffix == ".mpool"}


def sizes(raws: Mapping[str, tuple[str, bytes]]) -> dict[str, int]:
    """Count the bytes of initializers by pool; of C sources those of the data."""
    from neuralart.vendor.network_c.pools import parse_initializer

    def size(name: str, content: bytes) -> int:
        if not name.endswith(".c"):
            return len(content)
        text = content.decode("utf-8", "replace")
        return len(parse_initializer(text, name).data) if "_mem_pool_" in text else 0

    return {fname: size(name, content) for fname, (name, content) in raws.items()}
