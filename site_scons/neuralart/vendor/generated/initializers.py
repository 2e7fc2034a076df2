"""Finds and reads the file with a pool's constants: raw bytes, Intel HEX or C."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.pools import MemoryPool
from neuralart.text import ihex
from neuralart.text.c_source import decode
from neuralart.vendor.generated.files import GeneratedSet
from neuralart.vendor.network_c.pools import parse_initializer

RAW, HEX = (".raw", ".bin"), (".hex", ".ihex")
SUFFIXES = (*RAW, *HEX)
C = ".c"
"""An array of 64-bit words, as the tool writes it for pools with ``FORMAT_C``."""
_WEIGHTS = re.compile(r"weight|data|atonbuf|param|initializer", re.I)


def is_hex(path: Path) -> bool:
    """Whether a file's name is that of Intel HEX."""
    return path.suffix.lower() in HEX


def read(path: Path, pool: MemoryPool, needed: int, shown: str = "") -> bytes:
    """Read a pool's constants, from its base. ``needed``: bytes that the network uses; ``shown``: the file in messages.
    NeuralArtError: they are at another address, or of another size.
    """
    shown = shown or path.as_posix()
    data = read_bytes(path)
    what = f"pool {pool.fname} of {Path(pool.where).name}"
    if is_hex(path):
        parts = [part for part in ihex.parse(data, shown).parts if part[1]]
        inside = [
            part for part in parts if pool.address <= part[0] and part[0] + len(part[1]) <= pool.address + pool.size
        ]
        if not inside or inside[0][0] != pool.address:
            places = ", ".join(f"0x{at:08x}" for at, _ in parts[:3]) or "nowhere"
            what = f"its bytes belong to {places}, {what} is at 0x{pool.address:08x}"
            hint = "it was made for another memory-pool file: make it again for this address, or compile again"
            raise NeuralArtError(what, where=shown, hint=hint)
        # Holes between the parts are what an erased flash reads.
        filled = bytearray(b"\xff" * (inside[-1][0] + len(inside[-1][1]) - pool.address))
        for at, piece in inside:
            filled[at - pool.address : at - pool.address + len(piece)] = piece
        data = bytes(filled)
    elif path.suffix.lower() == C:
        data = parse_initializer(decode(data), shown).data
    if data.startswith(b"version https://git-lfs"):
        raise NeuralArtError("a Git LFS pointer: its bytes were not downloaded", where=shown, hint="git lfs pull")
    if len(data) < needed or len(data) > pool.size + 8:
        limit = f"reads {needed} of them" if len(data) < needed else f"has room for {pool.size}"
        hint = "it is of another compile of the network"
        raise NeuralArtError(f"holds {len(data)} bytes, {what} {limit}", where=shown, hint=hint)
    return data


def _named(path: Path, pool: str) -> bool:
    return re.search(rf"(?:^|[._-]){re.escape(pool)}(?:[._-]|$)", path.name) is not None


def first_address(data: bytes) -> int | None:
    """Read the first address of an Intel HEX file from its beginning; None: it is not there."""
    upper = 0
    for line in data.decode("ascii", "replace").splitlines():
        record = re.fullmatch(r":([0-9A-Fa-f]{2})([0-9A-Fa-f]{4})(0[024])([0-9A-Fa-f]+)", line.strip())
        if record is None:
            return None
        if record[3] == "00" and record[1] != "00":
            return upper + int(record[2], 16)
        upper = int(record[4][:4], 16) << (16 if record[3] == "04" else 4)
    return None


def _fits(path: Path, pool: MemoryPool, needed: int) -> bool:
    try:
        if is_hex(path):
            with path.open("rb") as stream:
                # Most are of another place: the rest of them need not be read.
                at = first_address(stream.read(512))
            if at is None or at > pool.address:
                return False
        read(path, pool, needed)
    except NeuralArtError:
        return False
    return True


def _of_another(path: Path, found: GeneratedSet) -> bool:
    """Whether a file is named after another C file in the network's folder."""
    stems = (found.stem, *(stem for stem in found.beside if path.name != stem + C))
    owners = [stem for stem in stems if path.name.startswith((f"{stem}_", f"{stem}."))]
    return bool(owners) and max(owners, key=len) != found.stem


def _kinds(found: GeneratedSet, pool: MemoryPool, files: Sequence[Path]) -> tuple[list[Path], ...]:
    """Files that can be a pool's constants, surest first: by pool in the name, address, network's name."""
    other = [each for each in found.needed if each != pool.fname]
    files = [path for path in files if not _of_another(path, found)]
    named = [path for path in files if _named(path, pool.fname)]
    plain = [path for path in files if not any(_named(path, each) for each in other)]
    return (
        [path for path in named if not is_hex(path) and path.name.startswith(found.stem)],
        [path for path in named if not is_hex(path)],
        [path for path in named if is_hex(path)],
        [path for path in plain if is_hex(path) and path.name.startswith(found.stem)],
        [path for path in plain if path.name.startswith(f"{found.stem}_") and _WEIGHTS.search(path.name)],
        [path for path in plain if is_hex(path)],
        [path for path in plain if path.parent == found.folder and _WEIGHTS.search(path.name)],
        # Whatever it is called: exactly the bytes that the network reads.
        [path for path in plain if path.parent == found.folder and path.stat().st_size == found.needed[pool.fname]],
    )


def fitting(found: GeneratedSet, pool: MemoryPool, files: Sequence[Path]) -> list[Path]:
    """List the files that may hold a pool's constants, of the surest kind; several that differ: any may be right."""
    needed = found.needed[pool.fname]
    fits = ([path for path in kind if _fits(path, pool, needed)] for kind in _kinds(found, pool, files))
    kind = next((kind for kind in fits if kind), [])
    same = len(kind) > 1 and len({read(path, pool, needed) for path in kind}) == 1
    return kind[:1] if same else kind


def choose(found: GeneratedSet, pool: MemoryPool, files: Sequence[Path]) -> list[Path]:
    """As :func:`fitting`; if none fits, list the surest of the others, whose error tells the reason."""
    return fitting(found, pool, files) or next((kind for kind in _kinds(found, pool, files) if kind), [])[:1]


def assign(found: GeneratedSet, given: Mapping[str, Path], where: str = "") -> dict[str, Path]:
    """The file of each pool with constants: that which the user (``where``) names, by the fname of the pool, else one
    beside the C. NeuralArtError: There is none for a pool, or several; or the user names a pool without constants.
    """
    where = where or found.where
    pools = {pool.fname: pool for pool in found.pools.pools}
    for fname, path in given.items():
        if fname not in found.needed:
            known = ", ".join(found.needed) or "none"
            what = f"adopted: initializers: pool {fname} of {found.where} holds no constants"
            raise NeuralArtError(what, where=where, hint=f"pools with constants: {known}")
        if not path.is_file():
            raise NeuralArtError(f"adopted: initializers: no file {path.as_posix()}", where=where)
    chosen: dict[str, Path] = {}
    as_c = f"{found.stem}_atonbuf."
    files = sorted(
        each
        for each in found.folder.iterdir()
        if each.is_file() and (each.suffix.lower() in SUFFIXES or (each.name.startswith(as_c) and each.suffix == C))
    )
    for fname, needed in found.needed.items():
        # Of a virtual pool its parts are what is filled.
        if fname not in pools:
            continue
        possible = choose(found, pools[fname], files) if fname not in given else [given[fname]]
        names = [path.name for path in possible]
        if len(possible) != 1:
            what = f"several files may be it: {', '.join(names)}" if names else "no file beside it holds them"
            file = names[0] if names else "FILE"
            what = f"{needed} bytes of constants are in pool {fname} (0x{pools[fname].address:08x}), and {what}"
            hint = f"{{adopted: {{folder: {found.shown}, initializers: {{{fname}: {file}}}}}}}"
            raise NeuralArtError(what, where=found.where, hint=hint)
        chosen[fname] = possible[0]
    return chosen
