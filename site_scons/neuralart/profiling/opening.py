"""Which files of a compile an estimate is read from: a folder, one of its files, or the last build of a variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.profiling.estimate import NetworkEstimate, PoolSpeed, from_c_info, from_csv, from_network_c

_C_INFO, _CSV, _NETWORK_C = "c_info.json", "network.csv", "network.c"


def _only(found: list[Path], folder: Path, what: str) -> Path | None:
    """The one file of a folder for a role.

    Raises:
        NeuralArtError: Several would do.
    """
    if len(found) > 1:
        names = ", ".join(path.name for path in found[:4])
        raise NeuralArtError(
            f"several could be its {what}: {names}", where=str(folder), hint="name the network with --name"
        )
    return found[0] if found else None


def _c_info(folder: Path, name: str) -> Path | None:
    patterns = (f"{name}_c_info.json", f"{name}.json", _C_INFO) if name else ("*_c_info.json", _C_INFO)
    found = (sorted(folder.glob(pattern)) for pattern in patterns)
    return _only(next((paths for paths in found if paths), []), folder, _C_INFO)


def _network_c(folder: Path, name: str) -> Path | None:
    """The generated C: the file that has an epoch table."""
    candidates = [folder / f"{name}.c"] if name else sorted(folder.glob("*.c"))
    found = [path for path in candidates if path.is_file() and b"EpochBlock" in read_bytes(path)]
    return _only(found, folder, _NETWORK_C)


def speeds_of(pools: Path) -> dict[str, PoolSpeed]:
    """Width and clock ratio of each pool of a pool file, by report name.

    Raises:
        NeuralArtError: It is no pool file.
    """
    from neuralart.vendor import mpool

    return {pool.name: PoolSpeed(pool.byte_width, pool.freq_ratio) for pool in mpool.read(pools).pools}


def of_folder(folder: Path, name: str = "", speeds: Mapping[str, PoolSpeed] | None = None) -> NetworkEstimate:
    """The estimate of the compile whose files are in a folder.

    Args:
        folder: Where ``network.c``, ``c_info.json`` and ``network.csv`` are, as far as there are any.
        name: C name of the network, where the folder holds several.
        speeds: Of the pools, where the files do not tell them.

    Raises:
        NeuralArtError: There is none of them, or one is wrong.
    """
    from neuralart.vendor import network_csv
    from neuralart.vendor.c_info import read as c_info
    from neuralart.vendor.network_c import read as network_c

    info, code = _c_info(folder, name), _network_c(folder, name)
    table = next((path for path in (folder / f"{name}.csv", folder / _CSV) if path.is_file()), None)
    if info is None and table is None and code is None:
        raise NeuralArtError(
            "neither a c_info.json, a network.csv nor a generated network.c is here",
            where=str(folder),
            hint="give the output folder of stedgeai generate, or st_ai_ws/neural_art__NAME",
        )
    of_code = None if code is None else from_network_c(network_c.read(code))
    if info is not None:
        estimate = from_c_info(c_info.read(info), speeds)
        estimate = estimate if estimate.epochs or of_code is None else replace(of_code, missing=estimate.missing)
    elif table is not None:
        types = {epoch.id: epoch.type for epoch in of_code.epochs} if of_code else {}
        estimate = from_csv(network_csv.read(table), types, speeds)
    else:
        assert of_code is not None  # else the folder was refused
        estimate = of_code
    return replace(estimate, missing=(*estimate.missing, *_missing(info, table, code)))


def _missing(info: Path | None, table: Path | None, code: Path | None) -> tuple[str, ...]:
    found = []
    if info is None:
        beside = code or table
        adds = "no operators, no units" if table is not None else "no compiler estimate"
        found.append(f"no c_info.json beside {beside.name if beside else 'the others'}: {adds}")
        if table is not None and code is None:
            found.append("no network.c beside network.csv: types of epochs unknown")
    return tuple(found)


def of_file(path: Path, speeds: Mapping[str, PoolSpeed] | None = None) -> NetworkEstimate:
    """The estimate in one file.

    Args:
        path: A ``c_info.json``, ``network.csv`` or ``network.c``.
        speeds: Of the pools, where the file does not tell them.

    Raises:
        NeuralArtError: It is none of them, or wrong.
    """
    from neuralart.vendor import network_csv
    from neuralart.vendor.c_info import read as c_info
    from neuralart.vendor.network_c import read as network_c

    if path.suffix == ".json":
        return from_c_info(c_info.read(path), speeds)
    if path.suffix == ".csv":
        estimate = from_csv(network_csv.read(path), speeds=speeds)
        return replace(estimate, missing=_missing(None, path, None))
    if path.suffix == ".c":
        return replace(from_network_c(network_c.read(path)), missing=_missing(None, None, path))
    raise NeuralArtError(
        "not a file that holds an estimate",
        where=str(path),
        hint="give a c_info.json, network.csv, network.c or a folder",
    )


def of_variant(variant: str, build: Path) -> list[NetworkEstimate]:
    """The estimates of the networks of the last build of a variant.

    Args:
        variant: Its name.
        build: The build folder.

    Raises:
        NeuralArtError: It was not built, or its files are gone.
    """
    from neuralart.memory.plan.last_build import network_folders

    index = build / variant / "index.json"
    if not index.is_file():
        raise NeuralArtError(
            f"'{variant}' is neither a file, a folder nor a variant that was built",
            where=str(index),
            hint=f"scons {variant}",
        )
    folders = network_folders(index)
    return [of_folder(folder, name) for name, folder in sorted(folders.items())]
