"""Which files ST Edge AI Core writes, by version and condition, and what a compile makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.fileset import FACTS, PROVENANCE, initializer_name
from neuralart.compilers.stedgeai.version import release_of
from neuralart.errors import NeuralArtError
from neuralart.network.facts import MANIFEST
from neuralart.network.pools import PoolFile
from neuralart.vendor.core_version import CoreVersion
from neuralart.vendor.releases import Release, is_known

LICENSE = "LICENSE.txt"
_UNDOCUMENTED = ("FORMAT_HEX", "FORMAT_HEX16", "FORMAT_HEX32", "FORMAT_IHEX")
_RAW = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_]+\.(?:raw|c|hex|ihex)")


@dataclass(frozen=True)
class Conditions:
    """What decides which files there are.

    Attributes:
        name: C name of the network.
        stem: Name of the model without its last extension.
        npu: The Neural-ART flow.
        controller: Its hardware epochs go into blobs.
        report: A text report is written.
        csv: The profile asks for the table of epochs.
        c_api: ``legacy`` or ``st-ai``; empty: the version's own. Only without NPU.
        binary: ``--binary``. Only without NPU.
        relocatable: ``--relocatable``. Only without NPU.
    """

    name: str
    stem: str
    npu: bool = True
    controller: bool = False
    report: bool = True
    csv: bool = False
    c_api: str = ""
    binary: bool = False
    relocatable: bool = False


@dataclass(frozen=True)
class Expected:
    """Files of the tool's output folder.

    Attributes:
        needed: Without one of them the run was none.
        usual: Written by the documented runs; a run without them still counts, and something stands in for them.
    """

    needed: tuple[str, ...]
    usual: tuple[str, ...]


def _npu(given: Conditions, release: Release) -> list[str]:
    name = given.name
    files = [f"{name}.c"]
    files += [f"{name}.h"] if release.habits.header else []
    files += [f"stai_{name}.c", f"stai_{name}.h"] if release.habits.stai else []
    return files + ([f"{name}_ecblobs.h"] if given.controller else [])


def _cpu(given: Conditions, release: Release) -> list[str]:
    name = given.name
    files = [f"{name}.c", f"{name}.h", f"{name}_data.c", f"{name}_data.h"]
    if (given.c_api or release.habits.c_api) == "legacy":
        files += [f"{name}_config.h", f"{name}_data_params.c", f"{name}_data_params.h"]
    else:
        files.append(f"{name}_details.h")
    files += [f"{name}_data.bin"] if given.binary else []
    return files + ([f"{name}_rel.bin", f"{name}_img_rel.c", f"{name}_img_rel.h"] if given.relocatable else [])


def front_end_files(given: Conditions, release: Release) -> tuple[str, str]:
    """The exported model and its quantization."""
    exported = f"{given.stem}_OE_{release.habits.front_end}"
    return f"{exported}.onnx", f"{exported}_Q.json"


def c_info_name(name: str) -> str:
    """The file that describes the network."""
    return f"{name}_c_info.json"


def report_name(name: str) -> str:
    """The text report of ``generate``."""
    return f"{name}_generate_report.txt"


def csv_output(name: str) -> str:
    """The table of epochs as a compile delivers it; the tool leaves it in its workspace."""
    return f"{name}.csv"


def expected(given: Conditions, version: CoreVersion) -> Expected:
    """What ``stedgeai generate`` writes into its output folder, initializers excepted."""
    release = release_of(version)
    needed = _npu(given, release) if given.npu else _cpu(given, release)
    # Another version may call the export otherwise: nothing is built on its name then.
    needed += front_end_files(given, release) if given.npu and is_known(version.numbers) else ()
    usual = [report_name(given.name)] if given.report else []
    # Without NPU nothing else tells what the network needs.
    (usual if given.npu else needed).insert(0, c_info_name(given.name))
    return Expected(tuple(needed), tuple(usual))


def initializers(given: Conditions, pools: PoolFile, declared: Sequence[str]) -> dict[str, str]:
    """File of each declared initializer, by the fname of its pool.

    Raises:
        NeuralArtError: A pool has a file format whose file nobody knows.
    """
    files: dict[str, str] = {}
    formats = {pool.fname: pool for pool in pools.pools}
    for fname in declared:
        pool = formats.get(fname)
        if pool is not None and pool.fformat in _UNDOCUMENTED:
            raise NeuralArtError(
                f"pool {fname} has the format {pool.fformat}, whose file is not documented",
                where=pool.where or pools.path,
                hint='write "FORMAT_RAW": the build makes hex files itself',
            )
        raw = initializer_name(given.name, pools.prefix, fname)
        as_code = pool is not None and pool.fformat == "FORMAT_C"
        files[fname] = f"{raw.removesuffix('.raw')}.c" if as_code else raw
    return files


def file_names(given: Conditions, version: CoreVersion, raws: Mapping[str, str]) -> tuple[str, ...]:
    """Every file of a compile, known before it runs.

    Args:
        given: The conditions.
        version: Of the tool.
        raws: What :func:`initializers` returned.
    """
    files = expected(given, version)
    csv = (csv_output(given.name),) if given.csv else ()
    return (*files.needed, *files.usual, *csv, FACTS, MANIFEST, PROVENANCE, *raws.values())


def is_initializer(name: str, network: str) -> bool:
    """Whether a file may be an initializer of a network, declared or not."""
    return name.startswith(f"{network}_") and _RAW.fullmatch(name.removeprefix(f"{network}_")) is not None
