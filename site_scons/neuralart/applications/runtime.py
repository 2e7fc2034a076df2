"""Runtimes of networks: ours as files, and the vendor's as a user has it: in an installation of ST
Edge AI Core or in an application's Middlewares. Nothing of the vendor's is copied: the user's files
are compiled in place. The names of files, folders and macros are its interface (versions 2.0 to
4.0.1). Of its library, the name tells the version, the symbols tell the C library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from neuralart.errors import NeuralArtError
from neuralart.files import note, read_bytes, searched
from neuralart.quick import dataclass
from neuralart.resources import firmware_dir
from neuralart.text.c_source import decode
from neuralart.text.elf import UNDEFINED, Elf
from neuralart.vendor.releases import of_runtime
from neuralart.vendor.runtime_header import RUNTIME_HEADER, RuntimeHeader, parse_runtime

NAME = re.compile(r"NetworkRuntime(\d{3,6})_(CM\w+?)_(GCC|IAR|Keil|ARM)(_PIC)?(\w*)\.(?:a|lib)")
_MAGIC, _THIN = b"!<arch>\n", b"!<thin>\n"
_HEADER = 60
# ST Edge AI Core 2.0 has component 10.0.
_OFFSET = 8
_OLDEST = 10
NEWLIB, PICOLIBC = "newlib", "picolibc"
# What only one of them has: newlib keeps errno and the standard streams in a structure that it reaches through these,
# picolibc has them as variables (errno of each thread).
_SYMBOLS = {
    **dict.fromkeys(("_impure_ptr", "_global_impure_ptr", "__errno", "__getreent", "__sinit", "__swbuf_r"), NEWLIB),
    **dict.fromkeys(("errno", "stdout", "stderr", "stdin", "__aeabi_read_tp"), PICOLIBC),
}


@dataclass(frozen=True)
class ArchiveName:
    """The parts of a name such as ``NetworkRuntime1201_CM55_GCC.a``."""

    text: str  # the name
    cube: tuple[int, int, int]  # version of the component (STM32Cube.AI): major, minor, patch
    core: str  # ``CM55``, ``CM7``...
    compiler: str  # ``GCC``, ``IAR``...
    pic: bool  # for relocatable models

    @property
    def release(self) -> tuple[int, int, int] | None:
        """Version of ST Edge AI Core; None for those before 2.0, which count differently."""
        major, minor, patch = self.cube
        return (major - _OFFSET, minor, patch) if major >= _OLDEST else None

    @property
    def said(self) -> str:
        """Name and release of the tool, for people."""
        if self.release is None:
            return f"{self.text} (STM32Cube.AI {'.'.join(map(str, self.cube))}, before ST Edge AI Core 2.0)"
        return f"{self.text} (ST Edge AI Core {'.'.join(map(str, self.release))})"


def parse_name(name: str) -> ArchiveName | None:
    """Read a file name; None if it is no library of the runtime."""
    found = NAME.fullmatch(name)
    if found is None:
        return None
    digits = found[1]
    cube = (int(digits[:-2]), int(digits[-2]), int(digits[-1]))
    return ArchiveName(name, cube, found[2], found[3], found[4] is not None)


def members(data: bytes, where: str) -> Iterator[tuple[str, bytes]]:
    """Names and contents of an archive's members, without its tables. Format: the common ``ar`` with the extension of
    System V and GNU for long names. NeuralArtError: it is none, or damaged.
    """
    if data[:8] == _THIN:
        raise NeuralArtError("is a thin archive: its members are elsewhere", where=where)
    if data[:8] != _MAGIC:
        raise NeuralArtError("is no archive", where=where, hint="a pointer of Git LFS? then: git lfs pull")
    at = len(_MAGIC)
    long_names = b""
    while at + _HEADER <= len(data):
        header = data[at : at + _HEADER]
        size = header[48:58].strip()
        body = at + _HEADER
        if header[58:] != b"`\n" or not size.isdigit() or body + int(size) > len(data):
            raise NeuralArtError("damaged: the header of a member is none", where=f"{where}@0x{at:x}")
        content = data[body : body + int(size)]
        name = header[:16].rstrip()
        if name == b"//":
            long_names = content
        elif name not in (b"/", b"/SYM64/"):
            if name[:1] == b"/" and name[1:].isdigit():
                name = long_names[int(name[1:]) :].partition(b"\n")[0]
            yield name.removesuffix(b"/").decode("utf-8", "replace"), content
        at = body + int(size) + int(size) % 2


def _symbols(content: bytes, where: str) -> tuple[set[str], set[str]]:
    """Undefined and defined symbols of an object."""
    symbols = [each for each in Elf(content, where).symbols if each.name and each.binding != "STB_LOCAL"]
    undefined = {each.name for each in symbols if each.section == UNDEFINED}
    return undefined, {each.name for each in symbols if each.section != UNDEFINED}


@dataclass(frozen=True)
class LibraryNeed:
    """The C library that an archive needs."""

    libc: str  # ``newlib`` or ``picolibc``
    symbol: str  # that gives it away
    member: str  # the object that needs the symbol


def needed_library(path: Path) -> LibraryNeed | None:
    """Find the C library that an archive was compiled for; None: unknown. NeuralArtError: not readable, or damaged."""
    where = str(path)
    wanted: dict[str, str] = {}
    has: set[str] = set()
    for name, content in members(read_bytes(path), where):
        if content[:4] != b"\x7fELF":
            continue
        undefined, defined = _symbols(content, f"{where}: member {name}")
        has |= defined
        for symbol in undefined & _SYMBOLS.keys():
            wanted.setdefault(symbol, name)
    symbol = min(wanted.keys() - has, default="")
    return LibraryNeed(_SYMBOLS[symbol], symbol, wanted[symbol]) if symbol else None


# Where Npu, Lib and Inc are below what a user names, and what else the folder of them may be called.
_TOPS = (".", "Middlewares/ST/AI", "ST/AI", "AI", "AI_Runtime")
_LL_ATON = "Npu/ll_aton"
# A part of relocatable models, and what installs them: it includes what other programs do not have.
_OF_MODELS, _LOADER = "ll_aton_reloc_callbacks.c", "ll_aton_reloc_network.c"
_OSAL = "ll_aton_osal_"
_CACHES = ("mcu_cache.c", "npu_cache.c")
DEFINES = (
    *("LL_ATON_PLATFORM=LL_ATON_PLAT_STM32N6", "LL_ATON_OSAL=LL_ATON_OSAL_BARE_METAL"),
    *("LL_ATON_RT_MODE=LL_ATON_RT_ASYNC", "LL_ATON_SW_FALLBACK", "LL_ATON_DBG_BUFFER_INFO_EXCLUDED=1"),
)


@dataclass(frozen=True)
class VendorRuntime:
    """A runtime of ST."""

    root: Path  # the folder with Npu, Lib and Inc in it
    header: RuntimeHeader  # its version, and where that is written
    include_dirs: tuple[Path, ...]  # folders of its headers
    sources: tuple[Path, ...]  # its C, for a program without an operating system
    defines: tuple[str, ...]  # what networks on an STM32N6 are compiled with
    archive: Path | None  # library of kernels for the core; None if it has none for GCC


def _top(folder: Path, where: str) -> Path:
    for name in _TOPS:
        note(header := folder / name / _LL_ATON / RUNTIME_HEADER)
        if header.is_file():
            return folder / name if name != "." else folder
    what = "no such folder" if not folder.is_dir() else f"has no {_LL_ATON}/{RUNTIME_HEADER}"
    hint = "name an installation of ST Edge AI Core, or the Middlewares/ST/AI of an application"
    raise NeuralArtError(f"runtime: {folder.as_posix()}: {what}", where=where, hint=hint)


def _archive(top: Path, core: str, header: RuntimeHeader) -> Path | None:
    """The library for a core: that of the headers' release where there are several, else the newest."""
    release = of_runtime(header.version)
    wanted = release.core if release is not None else ""
    found: list[tuple[ArchiveName, Path]] = []
    for path in sorted(searched(top / "Lib", deep=True).rglob("NetworkRuntime*")):
        name = parse_name(path.name)
        if name is not None and name.compiler == "GCC" and not name.pic and name.core == core:
            found.append((name, path))

    def fitness(each: tuple[ArchiveName, Path]) -> tuple[int, tuple[int, int, int], str]:
        mine = ".".join(map(str, each[0].release or ()))
        same = 2 if mine == wanted else int(bool(wanted) and mine.rpartition(".")[0] == wanted.rpartition(".")[0])
        return same, each[0].cube, each[1].as_posix()

    return max(found, key=fitness)[1] if found else None


def _devices(top: Path) -> list[Path]:
    """Folders of the NPU's registers: of the STM32N6 where there are several."""
    found = sorted(path for path in searched(top / "Npu" / "Devices").glob("*") if path.is_dir())
    n6 = [path for path in found if path.name.upper().startswith("STM32N6")]
    return n6 or found


def find(folder: Path, core: str = "CM55", where: str = "", *, loads: bool = False) -> VendorRuntime:
    """Find the runtime in or below a folder: an installation or Middlewares. ``loads``: with the loader of relocatable
    models. NeuralArtError: there is none, or its version cannot be read.
    """
    top = _top(folder, where)
    path = top / _LL_ATON / RUNTIME_HEADER
    header = parse_runtime(decode(read_bytes(path)), path.as_posix())
    if header is None:
        raise NeuralArtError("does not define LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV", where=path.as_posix())
    found, out = sorted(searched(top / _LL_ATON).glob("*.c")), (_OF_MODELS, "" if loads else _LOADER)
    sources = [each for each in found if each.name not in out and not each.name.startswith(_OSAL)]
    devices = _devices(top)
    caches = [device / name for device in devices for name in _CACHES]
    note(*caches, top / "Inc")
    sources += [path for path in caches if path.is_file()]
    include = [top / _LL_ATON, *devices, *([top / "Inc"] if (top / "Inc").is_dir() else [])]
    return VendorRuntime(top, header, tuple(include), tuple(sources), DEFINES, _archive(top, core, header))


_KERNELS, _OTHER_KERNELS = "kernels/", "kernels_"


# Code of relocatable models, and of networks for a core without an NPU.
_OF_OTHER_PROGRAMS = ("relocatable/", "legacy/")


_OF_CORES = (_KERNELS, "include/", "legacy/")


# What other runtimes have themselves; the start-up code of the memories is ours with any of them.
_MEMORY = ("memory/", "include/npu_memory.h")


_CODE = (".c", ".h")


@dataclass(frozen=True)
class RuntimePart:
    """A file of our runtime."""

    name: str  # Below the folder ``runtime``, with ``/``
    path: Path  # The file


def runtime_parts(ours: bool, kernels: str = "c", *, cpu: bool = False) -> tuple[RuntimePart, ...]:
    """Sources and headers of our runtime. ``kernels``: ``c``, or others that stand for the plain ones of the same name;
    empty: none. ``cpu``: that of networks for a core without an NPU.
    """
    root = firmware_dir() / "runtime"
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*") if path.suffix in _CODE}
    plain = {name: path for name, path in found.items() if not name.startswith(_OTHER_KERNELS)}
    if not kernels:
        plain = {name: path for name, path in plain.items() if not name.startswith(_KERNELS)}
    others = f"kernels_{kernels}/"
    for name in [name for name in found if name.startswith(others)]:
        plain.pop(f"{_KERNELS}{name.removeprefix(others)}", None)
        plain[name] = found[name]
    if cpu:
        chosen = [name for name in plain if name.startswith((*_OF_CORES, others))]
    else:
        chosen = [name for name in plain if not name.startswith(_OF_OTHER_PROGRAMS)]
    return tuple(RuntimePart(name, plain[name]) for name in sorted(chosen) if ours or name.startswith(_MEMORY))
