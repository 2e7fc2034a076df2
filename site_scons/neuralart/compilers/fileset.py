"""The files of a compile: which there are, and how they get into a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import write_bytes
from neuralart.network.facts import MANIFEST

FACTS = "network.json"
PROVENANCE = "provenance.txt"
_RAW = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_]+\.raw")


def _earlier(folder: Path, network: str) -> set[str]:
    """Names that an earlier run of this network wrote here; another network's facts would be lost: refused."""
    names: set[str] = set()
    try:
        data = jsontext.loads((folder / MANIFEST).read_bytes())
        owner = data["network"]
        names = {row["name"] for row in data["files"]}
    except OSError:
        owner = network
    except (ValueError, KeyError, TypeError):
        # Not one of ours, or damaged: it gives no names to remove, and will be replaced.
        owner = network
    if owner != network:
        what = f"the folder holds network '{owner}', whose {FACTS} would be lost"
        hint = "give each network a folder of its own (--output), or empty this one"
        raise NeuralArtError(what, where=str(folder), hint=hint)
    if folder.is_dir():
        names |= {
            path.name
            for path in folder.iterdir()
            if path.name.startswith(f"{network}_") and _RAW.fullmatch(path.name.removeprefix(f"{network}_"))
        }
    # A compile that was killed has taken the manifest away, and what was not written yet is of the one before.
    names |= {name for name in (f"{network}_generate_report.txt",) if (folder / name).is_file()}
    safe = (f"{network}.", f"{network}_")
    return {name for name in names if Path(name).name == name and (name.startswith(safe) or name == FACTS)}


def write_set(folder: Path, network: str, files: Mapping[str, bytes]) -> None:
    """Write a complete set and remove what an earlier run left and this one does not write. The manifest goes first and
    comes back last: where it is, it is right. Raises NeuralArtError when the folder cannot be written or belongs to
    another network.
    """
    stale = _earlier(folder, network) - set(files)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in sorted(stale):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        hint = "is it a folder, and writable?"
        raise NeuralArtError(f"cannot write: {error.strerror}", where=str(folder), hint=hint) from error
    for name in sorted(files, key=lambda name: (name == MANIFEST, name)):
        write_bytes(folder / name, files[name])
