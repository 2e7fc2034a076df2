"""The vendor's runtime as a user has it: in an installation of ST Edge AI Core or in an application's Middlewares.

Nothing of it is copied: the user's files are compiled in place. The names of files, folders and macros are its
interface (versions 2.0 to 4.0.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.applications import archives
from neuralart.applications.archives import ArchiveName
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.lint.types import RUNTIME_HEADER, RuntimeHeader, parse_runtime
from neuralart.text.c_source import decode
from neuralart.vendor.releases import of_runtime

# Where Npu, Lib and Inc are below what a user names, and what else the folder of them may be called.
_TOPS = (".", "Middlewares/ST/AI", "ST/AI", "AI", "AI_Runtime")
_LL_ATON = "Npu/ll_aton"
# Only for relocatable models; includes what other programs do not have.
_NOT_COMPILED = ("ll_aton_reloc_callbacks.c", "ll_aton_reloc_network.c")
_OSAL = "ll_aton_osal_"
_CACHES = ("mcu_cache.c", "npu_cache.c")
DEFINES = (
    "LL_ATON_PLATFORM=LL_ATON_PLAT_STM32N6",
    "LL_ATON_OSAL=LL_ATON_OSAL_BARE_METAL",
    "LL_ATON_RT_MODE=LL_ATON_RT_ASYNC",
    "LL_ATON_SW_FALLBACK",
    "LL_ATON_DBG_BUFFER_INFO_EXCLUDED=1",
)


@dataclass(frozen=True)
class VendorRuntime:
    """A runtime.

    Attributes:
        root: The folder with Npu, Lib and Inc in it.
        header: Its version, and where that is written.
        include_dirs: Folders of its headers.
        sources: Its C, for a program without an operating system.
        defines: What networks on an STM32N6 are compiled with.
        archive: Library of kernels for the core; None if it has none for GCC.
    """

    root: Path
    header: RuntimeHeader
    include_dirs: tuple[Path, ...]
    sources: tuple[Path, ...]
    defines: tuple[str, ...]
    archive: Path | None


def _top(folder: Path, where: str) -> Path:
    for name in _TOPS:
        if (folder / name / _LL_ATON / RUNTIME_HEADER).is_file():
            return folder / name if name != "." else folder
    what = "no such folder" if not folder.is_dir() else f"has no {_LL_ATON}/{RUNTIME_HEADER}"
    raise NeuralArtError(
        f"runtime: {folder.as_posix()}: {what}",
        where=where,
        hint="name an installation of ST Edge AI Core, or the Middlewares/ST/AI of an application",
    )


def _archive(top: Path, core: str, header: RuntimeHeader) -> Path | None:
    """The library for a core: that of the headers' release where there are several, else the newest."""
    release = of_runtime(header.version)
    wanted = release.core if release is not None else ""
    found: list[tuple[ArchiveName, Path]] = []
    for path in sorted((top / "Lib").rglob("NetworkRuntime*")):
        name = archives.parse_name(path.name)
        if name is not None and name.compiler == "GCC" and not name.pic and name.core == core:
            found.append((name, path))

    def fitness(each: tuple[ArchiveName, Path]) -> tuple[int, tuple[int, int, int], str]:
        mine = ".".join(map(str, each[0].release or ()))
        same = 2 if mine == wanted else int(bool(wanted) and mine.rpartition(".")[0] == wanted.rpartition(".")[0])
        return same, each[0].cube, each[1].as_posix()

    return max(found, key=fitness)[1] if found else None


def _devices(top: Path) -> list[Path]:
    """Folders of the NPU's registers: of the STM32N6 where there are several."""
    found = sorted(path for path in (top / "Npu" / "Devices").glob("*") if path.is_dir())
    n6 = [path for path in found if path.name.upper().startswith("STM32N6")]
    return n6 or found


def find(folder: Path, core: str = "CM55", where: str = "") -> VendorRuntime:
    """Describe the runtime in a folder.

    Args:
        folder: An installation, a Middlewares folder, or what is below it.
        core: ``CM55``, ``CM7``.
        where: Who names it.

    Raises:
        NeuralArtError: There is none, or its version cannot be read.
    """
    top = _top(folder, where)
    path = top / _LL_ATON / RUNTIME_HEADER
    header = parse_runtime(decode(read_bytes(path)), path.as_posix())
    if header is None:
        raise NeuralArtError("does not define LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV", where=path.as_posix())
    sources = [
        each
        for each in sorted((top / _LL_ATON).glob("*.c"))
        if each.name not in _NOT_COMPILED and not each.name.startswith(_OSAL)
    ]
    devices = _devices(top)
    sources += [device / name for device in devices for name in _CACHES if (device / name).is_file()]
    include = [top / _LL_ATON, *devices, *([top / "Inc"] if (top / "Inc").is_dir() else [])]
    return VendorRuntime(top, header, tuple(include), tuple(sources), DEFINES, _archive(top, core, header))
