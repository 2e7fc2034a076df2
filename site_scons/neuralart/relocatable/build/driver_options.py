"""Options of the vendor's driver that say how it builds: a file with places, other compilers, modes of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from neuralart import jsontext
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes
from neuralart.relocatable.build.request import BuildRequest

CUSTOM = "custom.json"
PLACES = ("runtime_network_lib", "stedgeai_install_path", "extra_system_path")
_CLANG_PLACES = ("llvm_install_path", "target_triplet", "llvm_sysroot")
_LIBRARIES = "Middlewares/ST/AI/Lib"
_NO_EFFECT = {
    "compatible_mode": "gcc has short enums for this core anyway",
    "dev_mode": "it is for the vendor's own developers",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare them."""
    add = parser.add_argument
    add("--custom", nargs="?", const=CUSTOM, metavar="FILE", help=f"places of library and tools (default {CUSTOM})")
    add("--llvm", action="store_true", help="refused: images are made by gcc")
    add("--st-clang", action="store_true", help="refused: images are made by gcc")
    add("--compatible-mode", action="store_true", help="nothing: it is for clang")
    add("--dev-mode", nargs="?", const="", help=argparse.SUPPRESS)


def read_custom(path: Path) -> Mapping[str, str]:
    """What a file says. NeuralArtError: it is no such file."""
    try:
        found = jsontext.loads(read_bytes(path).decode("utf-8", "replace"))
    except ValueError as error:
        raise NeuralArtError(f"not JSON: {error}", where=str(path)) from error
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise NeuralArtError("must be an object of texts", where=str(path), hint=f"keys: {', '.join(PLACES)}")
    for key in found:
        if key not in (*PLACES, *_CLANG_PLACES):
            raise NeuralArtError(f"unknown key '{key}'", where=str(path), hint=nearest(key, PLACES))
    return found


def _refuse_clang(option: str, pack: Path | None) -> None:
    libraries = sorted((pack / _LIBRARIES).rglob("*_PIC.a")) if pack is not None else []
    theirs = [path.name for path in libraries if any(word in path.name.lower() for word in ("clang", "llvm"))]
    missing = f"{pack or 'the runtime of this project'} has no library for it (NetworkRuntime*CLANG*_PIC.a)"
    what = f"images are made by gcc here, {theirs[0]} is not used" if theirs else missing
    raise NeuralArtError(what, where=option, hint="leave it out: images of gcc run in both modes")


def applied(request: BuildRequest, args: argparse.Namespace) -> BuildRequest:
    """The request with these options. NeuralArtError: one is refused, or its file is wrong."""
    given = {key: why for key, why in _NO_EFFECT.items() if getattr(args, key) not in (None, False)}
    notes = [f"--{key.replace('_', '-')}: no effect: {why}" for key, why in given.items()]
    if args.custom is not None:
        found = read_custom(Path(args.custom))
        notes += [f"{args.custom}: {key}: no effect: it is for clang" for key in _CLANG_PLACES if found.get(key)]
        library, pack, programs = (Path(found[key]).expanduser() if found.get(key) else None for key in PLACES)
        if library is not None and not library.is_file():
            raise NeuralArtError(f"no file {library}", where=f"{args.custom}: runtime_network_lib")
        request = replace(request, archive=library, pack=pack or request.pack, programs=programs)
    for option in ("llvm", "st_clang"):
        if getattr(args, option):
            _refuse_clang(f"--{option.replace('_', '-')}", request.pack)
    return replace(request, notes=tuple(notes))
