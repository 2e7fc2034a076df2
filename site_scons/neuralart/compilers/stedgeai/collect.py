"""What a run left: is it all that it should have left, and nothing that would be overlooked?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from neuralart.compilers.stedgeai.arguments import OUTPUT, WORKSPACE
from neuralart.compilers.stedgeai.fileset import (
    LICENSE,
    Conditions,
    c_info_name,
    csv_output,
    expected,
    is_initializer,
    report_name,
)
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.vendor.core_version import CoreVersion

_ORIGIN = ("atonn_options.ini",)


@dataclass(frozen=True)
class Collected:
    """The files of a run."""

    files: Mapping[str, bytes] = field(repr=False)  # Name -> content of the set, initializers excepted
    initializers: Mapping[str, tuple[str, bytes]] = field(repr=False)  # fname -> (file name, content); empty ones too
    # Kept for the record: license text, options in effect, pools as the compiler understood them
    aside: Mapping[str, bytes] = field(repr=False)
    notes: tuple[str, ...] = ()  # What was not as usual


def _stand_in(name: str) -> bytes:
    """What stands for a file that the tool usually writes: honest, and readable by whoever reads such files."""
    if name.endswith(".json"):
        return json.dumps({"json_schema_version": "2.0", "environment": {}}, indent=1).encode() + b"\n"
    return b"The compiler wrote no report.\n"


def _refuse_undeclared(name: str, found: Mapping[str, int], declared: Mapping[str, str]) -> None:
    """Refuse initializers that would never be loaded: the network would compute with zeros.

    Args:
        name: The network.
        found: File -> bytes of every initializer that is there.
        declared: fname -> file of the declared ones.
    """
    extra = {file: size for file, size in found.items() if size and file not in declared.values()}
    if not extra:
        return
    pools = {file.removeprefix(f"{name}_").split(".")[1]: size for file, size in sorted(extra.items())}
    wanted = [*declared, *(pool for pool in pools if pool not in declared)]
    sizes = ", ".join(f"{pool} ({size} bytes)" for pool, size in pools.items())
    if all(pool in declared for pool in pools):
        files = ", ".join(sorted(extra))
        raise NeuralArtError(
            f"network {name} has initializers in another format than its pool file says: {files}",
            where=", ".join(declared[pool] for pool in pools),
            hint="is the fformat of the pool the one that was meant?",
        )
    raise NeuralArtError(
        f"network {name} has constants in {sizes}, whose initializer is not declared and would not be loaded",
        where=f"network {name}",
        hint=f"add the line   initializers: [{', '.join(wanted)}]   or --initializers {','.join(wanted)}",
    )


def _csv(folder: Path, name: str, option: str) -> bytes | None:
    path = folder / WORKSPACE / f"neural_art__{name}" / option
    return read_bytes(path) if path.is_file() else None


def collect(
    folder: Path,
    given: Conditions,
    version: CoreVersion,
    declared: Mapping[str, str] | None,
    csv: str = "",
) -> Collected:
    """Read and judge what a run left.

    Args:
        folder: Where it ran.
        given: What decides which files there are.
        version: Of the tool.
        declared: fname -> file of the declared initializers; None: whichever there are.
        csv: File of the table of epochs in the workspace; empty: not asked for.

    Raises:
        NeuralArtError: A file is missing, or an initializer was not declared.
    """
    out = folder / OUTPUT
    there = {path.name: path for path in sorted(out.iterdir()) if path.is_file()} if out.is_dir() else {}
    wanted = expected(given, version)
    missing = [name for name in wanted.needed if name not in there]
    if missing:
        raise NeuralArtError(
            f"the tool ended without an error but wrote no {', '.join(missing)}",
            where=f"network {given.name}",
            hint="a damaged installation, or a version whose files are not known",
        )
    notes: list[str] = []
    files = {name: read_bytes(there[name]) for name in wanted.needed}
    for name in wanted.usual:
        if name not in there:
            notes.append(f"the tool wrote no {name}: an empty one stands for it")
        files[name] = read_bytes(there[name]) if name in there else _stand_in(name)
    if given.csv:
        table = _csv(folder, given.name, csv)
        if table is None:
            notes.append(f"the tool wrote no {csv}: an empty one stands for it")
        files[csv_output(given.name)] = table or b""
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
    given: Conditions, found: Mapping[str, Path], declared: Mapping[str, str] | None
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


def _aside(folder: Path, given: Conditions) -> dict[str, bytes]:
    place = folder / WORKSPACE / f"neural_art__{given.name}"
    if not given.npu or not place.is_dir():
        return {}
    return {p.name: read_bytes(p) for p in sorted(place.iterdir()) if p.name in _ORIGIN or p.suffix == ".mpool"}


def sizes(raws: Mapping[str, tuple[str, bytes]]) -> dict[str, int]:
    """Bytes of the initializers by pool, as files hold them; of C sources the data, not the text."""
    from neuralart.vendor.network_c.initializer_c import parse

    result = {}
    for fname, (name, content) in raws.items():
        if not name.endswith(".c"):
            result[fname] = len(content)
        elif b"_mem_pool_" in content:
            result[fname] = len(parse(content.decode("utf-8", "replace"), name).data)
        else:
            result[fname] = 0
    return result
