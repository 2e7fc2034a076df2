"""What a relocatable model is built with: our runtime, or the one of an installation of ST Edge AI Core. Nothing of the
latter is copied: the user's files are compiled in place. The names of files, macros, flags and sections are the
interface of that installation (versions 2.1 to 4.0.1).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes
from neuralart.network.facts import LL_ATON, NEURALART, NEURALART_VERSION
from neuralart.quick import dataclass
from neuralart.relocatable.build.request import ALIGNED, VENDOR, BuildRequest, WantedClang
from neuralart.resources import firmware_dir
from neuralart.vendor.releases import Version, dotted, of_runtime, relocatable

_PIC = ("-fpic", "-mno-pic-data-is-text-relative", "-msingle-pic-base", "-mpic-register=r9")
# An M55 executes these instructions and so does every machine that runs our firmware.
_BASELINE = ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb")


class RuntimeSource(NamedTuple):
    path: Path  # the file
    defines: tuple[str, ...] = ()  # its own, beside those of the runtime
    flags: tuple[str, ...] = ()  # likewise
    late: bool = False  # linked behind the archives


@dataclass(frozen=True)
class Runtime:
    """Everything that differs between runtimes."""

    name: str  # neuralart or ll_aton
    version: Version  # major, minor, micro, dev
    include_dirs: tuple[Path, ...]  # in the order of the compiler's search
    sources: tuple[RuntimeSource, ...]  # compiled into each image; the linker drops what no network uses
    defines: tuple[str, ...]  # of all C files
    flags: tuple[str, ...]  # of all C files
    link: tuple[str, ...]  # words for the linker, before the objects
    header_words: int  # 24 or 26
    layout: str  # the default
    libc: str  # whose headers to prefer
    root: Path  # folder that messages of asserts must not show, if any
    per_network: tuple[RuntimeSource, ...] = ()  # compiled with the configuration of the network
    archives: tuple[Path, ...] = ()  # linked behind the code of the network, in front of its pools
    libraries: tuple[str, ...] = ()  # words for the linker, behind everything
    script: Path | None = None  # linker script of the installation, for the layout vendor
    footer: str = ""  # what follows network.c in its translation unit
    callbacks: tuple[str, ...] = ()  # what the firmware provides, in the order of its table


def neuralart(request: BuildRequest) -> Runtime:
    """Our runtime: C kernels and libgcc, without a C library and without demands on the firmware."""
    root = firmware_dir()
    runtime = root / "runtime"
    own = runtime / "relocatable"
    kernels = sorted((runtime / "kernels").glob("*.c"))
    loops = () if request.clang else ("-fno-tree-loop-distribute-patterns",)
    return Runtime(
        name=NEURALART,
        version=NEURALART_VERSION,
        include_dirs=(runtime / "include",),
        sources=(*map(RuntimeSource, kernels), RuntimeSource(own / "memory_functions.c", flags=loops)),
        per_network=(RuntimeSource(own / "model_entry.c"),),
        defines=("LL_ATON_DBG_BUFFER_INFO_EXCLUDED=1", *(("LL_ATON_EB_DBG_INFO",) if request.debug_info else ())),
        flags=(
            *_BASELINE,
            *(("-mcmse",) if request.secure else ()),
            *("-std=gnu11", "-O2", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-fno-common"),
            *("-ffp-contract=off", "-fvisibility=hidden", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
            *_PIC,
        ),
        link=(*_BASELINE, "-nostartfiles", "-nostdlib"),
        libraries=("-lgcc",),
        header_words=26,
        layout=ALIGNED,
        libc="auto",
        root=root,
    )


_NPU = "Middlewares/ST/AI/Npu"
_ALL_LIBRARIES = "Middlewares/ST/AI/Lib"
_LIBRARIES = f"{_ALL_LIBRARIES}/GCC/ARMCortexM55"
_INC = "Middlewares/ST/AI/Inc"
_SCRIPTS = "scripts/N6_reloc"
_LINKER_SCRIPT = "reloc_network_gcc.lkr"
_REGISTERS = "ATON.h"
_HINT = "is it the root of an installation (with Middlewares and scripts in it), and complete?"
_NUMBER = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+LL_ATON_VERSION_(MAJOR|MINOR|MICRO|DEV)[ \t]+\(?[ \t]*(\d+)", re.M)

_CORE_FLAGS = (*("-mthumb", "-mcpu=cortex-m55", "-mfpu=fpv4-sp-d16", "-mtune=cortex-m55", "-mfloat-abi=hard"),)
_OTHER_FLAGS = (
    *("-std=gnu99", "-mno-thumb-interwork", "-ffast-math", "-fsingle-precision-constant", "-fvisibility=hidden"),
    *("-fno-unwind-tables", "-fstack-reuse=all", "-ffunction-sections", "-fdata-sections", "-fno-math-errno"),
    *("-fomit-frame-pointer", "-fno-builtin", "-Os"),
)
_DEFINES = (
    "LL_ATON_DUMP_DEBUG_API",
    "LL_ATON_PLATFORM=LL_ATON_PLAT_STM32N6",
    "LL_ATON_OSAL=LL_ATON_OSAL_BARE_METAL",
    "LL_ATON_RT_MODE=LL_ATON_RT_ASYNC",
    "LL_ATON_SW_FALLBACK",
    "LL_ATON_DBG_BUFFER_INFO_EXCLUDED=1",
    "LL_ATON_RT_RELOC",
    "BUILD_AI_NETWORK_RELOC",
)
# The asserts of the other files stay: that is what the installation's own build does.
_SOURCES = (
    ("ll_aton.c", ()),
    ("ll_aton_util.c", ()),
    ("ll_sw_integer.c", ()),
    ("ll_sw_float.c", ()),
    ("ll_aton_lib_sw_operators.c", ("NDEBUG",)),
    ("ecloader.c", ("NDEBUG",)),
    ("ll_aton_reloc_callbacks.c", ()),
)
# Linked behind the archive, the pools of the network in front of it.
_LATE = "ll_aton_reloc_callbacks.c"
FOOTER = '\n#if defined(BUILD_AI_NETWORK_RELOC)\n#include "ll_aton_reloc_network.h"\nAI_RELOC_NETWORK();\n#endif\n'


def _folder(root: Path, name: str) -> Path:
    if not (root / name).is_dir():
        raise NeuralArtError(f"has no folder {name}", where=str(root), hint=_HINT)
    return root / name


def _file(places: tuple[Path, ...], name: str, root: Path) -> Path:
    for place in places:
        if (place / name).is_file():
            return place / name
    raise NeuralArtError(f"has no {name}", where=str(root), hint=_HINT)


def version_of(root: Path) -> Version:
    """The ll_aton version of an installation. NeuralArtError: it is not an installation."""
    if not root.is_dir():
        hint = "--pack-dir and pack_dir: name an installation of ST Edge AI Core"
        raise NeuralArtError("no such folder", where=str(root), hint=hint)
    header = _file((root / _NPU / "ll_aton",), "ll_aton_version.h", root)
    found = {part.decode(): int(number) for part, number in _NUMBER.findall(read_bytes(header))}
    if len(found) < 4:
        raise NeuralArtError("does not define LL_ATON_VERSION_MAJOR, MINOR, MICRO and DEV", where=str(header))
    return found["MAJOR"], found["MINOR"], found["MICRO"], found["DEV"]


def _platform(root: Path) -> Path:
    """Folder with the platform's ATON.h and stm32n6xx.h."""
    scripts = _folder(root, _SCRIPTS)
    found = sorted(path.parent for path in scripts.rglob("stm32n6xx.h"))
    if not found:
        raise NeuralArtError("has no stm32n6xx.h of the relocatable build", where=str(scripts), hint=_HINT)
    with_registers = [folder for folder in found if (folder / _REGISTERS).is_file()]
    return (with_registers or found)[0]


def _registers(root: Path, platform: Path) -> tuple[Path, ...]:
    """Where ATON.h is, if not beside the platform's other headers."""
    if (platform / _REGISTERS).is_file() or (platform.parent / _REGISTERS).is_file():
        return ()
    return tuple(sorted(path.parent for path in (root / _NPU / "Devices").glob(f"*/{_REGISTERS}")))


def _archive_of_clang(root: Path, clang: WantedClang) -> Path:
    found = sorted(_folder(root, _ALL_LIBRARIES).rglob("NetworkRuntime*_PIC.a"))
    named = {path: path.name.upper() for path in found if "CM55" in path.name or path.parent.name.endswith("M55")}
    theirs = [path for path, name in named.items() if "CLANG" in name and (clang.st or "ST_CLANG" not in name)]
    theirs.sort(key=lambda path: "ST_CLANG" not in named[path])
    if not theirs:
        what = f"{root} has no library for it (NetworkRuntime*CLANG*_PIC.a)"
        hint = "leave it out, images of gcc run in both modes; or name one: --custom FILE with runtime_network_lib"
        raise NeuralArtError(what, where=clang.option, hint=hint)
    return theirs[0]


def _archive(root: Path) -> Path:
    folder = _folder(root, _LIBRARIES)
    found = sorted(folder.glob("NetworkRuntime*_PIC.a"))
    gcc = [path for path in found if "GCC" in path.name] or [path for path in found if "CLANG" not in path.name]
    if not gcc:
        what = "has no NetworkRuntime*_PIC.a: this installation cannot make relocatable models"
        raise NeuralArtError(what, where=str(folder), hint=_HINT)
    return gcc[0]


def inputs(pack: Path) -> list[Path]:
    """List files of an installation that images depend on. NeuralArtError: incomplete, or an unknown version."""
    nothing = BuildRequest(Path(), Path(), "")
    found = installed(pack, version_of(pack.resolve()), nothing, str(pack))
    headers = [path for folder in found.include_dirs for path in folder.glob("*.h")]
    scripts = [found.script] if found.script is not None else []
    return sorted({*(source.path for source in found.sources), *found.archives, *scripts, *headers})


def installed(pack: Path, wanted: Version, request: BuildRequest, where: str) -> Runtime:
    """Describe the installation whose root is ``pack``; ``wanted``: the version that the network.c ``where`` asks for.
    NeuralArtError: it is incomplete, of an unknown version, or not the one that network.c was made with.
    """
    root = pack.resolve()
    version = version_of(root)
    if version != wanted:
        asked = of_runtime(wanted)
        core = f"ST Edge AI Core {asked.core}" if asked is not None else "another version of ST Edge AI Core"
        what = f"network.c is made for {LL_ATON} {dotted(wanted)} ({core}), {pack} has {dotted(version)}"
        hint = "compile the model again with this installation, or name the one it was made with"
        raise NeuralArtError(what, where=where, hint=hint)
    release = of_runtime(version)
    if release is None or release.relocation is None:
        what = f"{LL_ATON} {dotted(version)} is unknown: its header and callbacks may differ"
        hint = f"known: {', '.join(dotted(each.runtime) for each in relocatable())}"
        raise NeuralArtError(what, where=str(pack), hint=hint)
    form = release.relocation
    npu = root / _NPU / "ll_aton"
    platform = _platform(root)
    include = _folder(root, _INC)
    places = (npu, include, root / _NPU, root / _SCRIPTS, platform, platform.parent)
    scripts = sorted((root / _SCRIPTS).rglob(_LINKER_SCRIPT))
    secure = ("-mcmse",) if request.secure else ()
    return Runtime(
        name=LL_ATON,
        version=version,
        include_dirs=(npu, platform, platform.parent, *_registers(root, platform), include),
        sources=tuple(
            RuntimeSource(_file(places, name, root), defines, late=name == _LATE) for name, defines in _SOURCES
        ),
        defines=(*_DEFINES, *(("LL_ATON_EB_DBG_INFO",) if request.debug_info else ())),
        flags=(*_CORE_FLAGS, *secure, *_PIC, *_OTHER_FLAGS),
        archives=(request.archive or (_archive_of_clang(root, request.clang) if request.clang else _archive(root)),),
        link=(*_CORE_FLAGS, "-nostartfiles", "-nostdlib"),
        script=scripts[0] if scripts else None,
        footer=FOOTER,
        callbacks=form.callbacks,
        header_words=form.header_words,
        layout=VENDOR,
        libc="newlib",
        root=root,
    )
