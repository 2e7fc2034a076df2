"""Requests to build a relocatable model."""

from __future__ import annotations

from pathlib import Path

from neuralart.errors import NeuralArtError, nearest
from neuralart.network.targets import check_name
from neuralart.quick import dataclass

ALIGNED, VENDOR = "aligned", "vendor"
LAYOUTS = (ALIGNED, VENDOR)
# Beside the store of objects: what the compiler said of itself.
ANSWERS = ".objects-toolchain.json"


@dataclass(frozen=True)
class WantedClang:
    """The clang that makes an image, instead of gcc."""

    st: bool = False  # that of ST
    folder: Path | None = None  # its installation; None: on PATH
    target: str = "arm-none-eabi"
    sysroot: str = ""  # with the headers of a C library; empty: clang knows
    short_enums: bool = False  # like the firmware of a gcc

    @property
    def option(self) -> str:
        """The option that asks for it."""
        return "--st-clang" if self.st else "--llvm"


@dataclass(frozen=True)
class BuildRequest:
    """The options of ``neuralart relocatable build``."""

    network: Path  # network.c
    output: Path  # folder of the results
    name: str  # base name of all outputs; its lower case is the C name in the image
    secure: bool = True  # made for the secure state (-mcmse, flag bit 20)
    split: bool = False  # weights into a file of their own
    debug_info: bool = True  # epoch items carry numbers and estimates; the firmware must agree
    blobs_in_params: bool = False  # epoch-controller blobs stand in front of the weights instead of among the code
    c_file: bool = False  # also write the image as C
    keep: bool = False  # keep sources, map and ELF that were made on the way
    pack: Path | None = None  # installation of ST Edge AI Core; None: none was named
    prefix: str = "arm-none-eabi-"  # program prefix of the cross compiler
    layout: str = ""  # aligned, vendor, or empty for the default of the runtime
    objects: Path | None = None  # folder that remembers objects; None: objects in the output folder
    archive: Path | None = None  # runtime library instead of the installation's
    programs: Path | None = None  # folder of the cross compiler, looked at first
    clang: WantedClang | None = None  # None: gcc
    notes: tuple[str, ...] = ()  # on options without effect

    @property
    def toolchain(self) -> tuple[int, str]:
        """The compiler's number in the flags word, and its name in the description of the runtime."""
        return (8, "GCC") if self.clang is None else (0xA, "ST_CLANG") if self.clang.st else (9, "CLANG")


def find_network(given: Path, name: str = "") -> Path:
    """The network.c that ``--input`` means. ``given``: network.c itself, or a folder that holds ``<name>.c``; ``name``:
    ``--name``; without it a folder holds ``network.c``, or one C file that looks like a network. NeuralArtError: there
    is none, or more than one.
    """
    if given.is_file():
        return given
    if not given.is_dir():
        raise NeuralArtError("no such file or folder", where=str(given), hint="--input names network.c or its folder")
    wanted = given / f"{name or 'network'}.c"
    if wanted.is_file():
        return wanted
    # stai_*.c stands beside newer networks and is another interface to the same network.
    found = sorted(p for p in given.glob("*.c") if _is_network(p))
    if name:
        hint = nearest(name, [path.stem for path in found]) + " (--name)"
        raise NeuralArtError(f"no {name}.c in it", where=str(given), hint=hint)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(path.name for path in found)
        raise NeuralArtError(f"{len(found)} networks in it: {names}", where=str(given), hint="name one with --name")
    raise NeuralArtError("no network.c in it", where=str(given), hint="is it the folder of a compile?")


def _is_network(path: Path) -> bool:
    try:
        return b"LL_ATON_EpochBlockItems_" in path.read_bytes()
    except OSError:
        return False


def check(request: BuildRequest) -> None:
    """Refuse names that cannot become file names or symbols. NeuralArtError: one cannot."""
    check_name(request.name, "--name")
    if request.layout and request.layout not in LAYOUTS:
        raise NeuralArtError(f"no layout '{request.layout}'", where="--layout", hint=nearest(request.layout, LAYOUTS))
    if request.network.resolve() == (request.output / f"{request.name}_rel.c").resolve():
        what = f"is the network: the image of --name {request.name} as C would have its place"
        raise NeuralArtError(what, where=str(request.network), hint="name another folder with --output")
