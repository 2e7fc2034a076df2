"""The output folder of a compile: emptied before the tool runs, filled at once when all is well."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from neuralart import jsontext
from neuralart.compilers.reference.fileset import FACTS, PROVENANCE
from neuralart.compilers.stedgeai.fileset import c_info_name, csv_output, is_initializer, report_name
from neuralart.compilers.stedgeai.run import VENDOR
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.network.facts import MANIFEST


def _cannot(folder: Path, error: OSError) -> NeuralArtError:
    return NeuralArtError(f"cannot write: {error.strerror}", where=str(folder), hint="is it a folder, and writable?")


def _listed(folder: Path) -> tuple[str, list[str]]:
    """Owner and files by the manifest; nothing if there is none, or none of ours."""
    try:
        data = jsontext.loads((folder / MANIFEST).read_bytes())
        names = [str(row["name"]) for row in data["files"]]
        return str(data["network"]), [name for name in names if PurePosixPath(name).name == name and "\\" not in name]
    except (OSError, ValueError, KeyError, TypeError):
        return "", []


def check_owner(folder: Path, network: str) -> None:
    """Refuse a folder that holds another network.

    Raises:
        NeuralArtError: It does.
    """
    owner, _ = _listed(folder)
    if owner and owner != network:
        raise NeuralArtError(
            f"the folder holds network '{owner}', whose {FACTS} would be lost",
            where=str(folder),
            hint="give each network a folder of its own (--output), or empty this one",
        )


def clear(folder: Path, network: str) -> None:
    """Remove what an earlier compile left, by its manifest and by the names of such files; nothing else.

    Raises:
        NeuralArtError: The folder belongs to another network, or cannot be changed.
    """
    check_owner(folder, network)
    _, names = _listed(folder)
    sure = [f"{network}.c", f"{network}.h", f"stai_{network}.c", f"stai_{network}.h", f"{network}_ecblobs.h"]
    sure += [c_info_name(network), report_name(network), csv_output(network), FACTS, PROVENANCE]
    try:
        # First: where it is, it is right.
        (folder / MANIFEST).unlink(missing_ok=True)
        raws = [path.name for path in folder.iterdir() if is_initializer(path.name, network)] if folder.is_dir() else []
        for name in sorted({*names, *sure, *raws}):
            (folder / name).unlink(missing_ok=True)
        if (folder / VENDOR).is_dir():
            shutil.rmtree(folder / VENDOR)
    except OSError as error:
        raise _cannot(folder, error) from error


def fill(folder: Path, files: Mapping[str, bytes], vendor: Mapping[str, bytes]) -> None:
    """Write a complete set, the manifest last; if that fails, nothing of it stays.

    Args:
        folder: Cleared before.
        files: Name -> content, the manifest among them.
        vendor: What goes to ``.vendor``: originals, log.

    Raises:
        NeuralArtError: The folder cannot be written.
    """
    keep(folder, vendor)
    order = sorted(files, key=lambda name: (name == MANIFEST, name))
    try:
        for name in order:
            write_bytes(folder / name, files[name])
    except BaseException:
        for name in order:
            with contextlib.suppress(OSError):
                (folder / name).unlink(missing_ok=True)
        raise


def keep(folder: Path, vendor: Mapping[str, bytes]) -> None:
    """Write what goes to ``.vendor``.

    Raises:
        NeuralArtError: The folder cannot be written.
    """
    for name in sorted(vendor):
        write_bytes(folder / VENDOR / name, vendor[name])
