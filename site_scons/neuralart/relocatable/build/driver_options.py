"""Options of the vendor's driver about the build: a file with places, other compilers, special modes."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.relocatable.build.request import BuildRequest, WantedClang

CUSTOM = "custom.json"
PLACES = ("runtime_network_lib", "stedgeai_install_path", "extra_system_path")
_CLANG_PLACES = ("llvm_install_path", "target_triplet", "llvm_sysroot")
_KEYS = (*PLACES, *_CLANG_PLACES)


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--custom", nargs="?", const=CUSTOM, metavar="FILE", help=f"places of library and tools (default {CUSTOM})")
    which = parser.add_mutually_exclusive_group().add_argument
    which("--llvm", action="store_true", help="made by clang and lld; the secure flag is off")
    which("--st-clang", action="store_true", help="made by the clang of ST; the secure flag is off")
    add("--compatible-mode", action="store_true", help="for clang: short enums, as firmware of gcc has")
    add("--dev-mode", nargs="?", const="", help=argparse.SUPPRESS)


def read_custom(path: Path) -> Mapping[str, str]:
    """Read the file of ``--custom``. NeuralArtError: it is another file."""
    try:
        found = jsontext.loads(read_bytes(path).decode("utf-8", "replace"))
    except ValueError as error:
        raise NeuralArtError(f"not JSON: {error}", where=str(path)) from error
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise NeuralArtError("must be an object of texts", where=str(path), hint=f"keys: {', '.join(_KEYS)}")
    for key in found:
        if key not in _KEYS:
            raise NeuralArtError(f"unknown key '{key}'", where=str(path), hint=nearest(key, _KEYS))
    return found


def applied(request: BuildRequest, args: argparse.Namespace) -> BuildRequest:
    """Apply these options to the request. NeuralArtError: one is refused, or its file is wrong."""
    clang = WantedClang(args.st_clang, short_enums=args.compatible_mode) if args.llvm or args.st_clang else None
    notes = ["--dev-mode: no effect: it is for the vendor's own developers"] if args.dev_mode is not None else []
    if args.compatible_mode and clang is None:
        notes.append("--compatible-mode: no effect: gcc has short enums for this core anyway")
    if clang is not None and request.secure:
        notes.append(f"{clang.option}: made without -mcmse, the secure flag is off")
    if args.custom is not None:
        found = read_custom(Path(args.custom))
        if clang is None:
            notes += [f"{args.custom}: {key}: no effect: it is for clang" for key in _CLANG_PLACES if found.get(key)]
        else:
            folder, target, sysroot = (found.get(key, "") for key in _CLANG_PLACES)
            if sysroot and not Path(sysroot).is_dir():
                raise NeuralArtError(f"no folder {sysroot}", where=f"{args.custom}: llvm_sysroot")
            clang = replace(clang, folder=Path(folder).expanduser() if folder else None, sysroot=sysroot)
            clang = replace(clang, target=target or clang.target)
        library, pack, programs = (Path(found[key]).expanduser() if found.get(key) else None for key in PLACES)
        if library is not None and not library.is_file():
            raise NeuralArtError(f"no file {library}", where=f"{args.custom}: runtime_network_lib")
        request = replace(request, archive=library, pack=pack or request.pack, programs=programs)
    return replace(request, clang=clang, notes=tuple(notes))
