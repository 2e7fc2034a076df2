"""What a relocatable model is built with: ours, or the one of a vendor's installation; one shape for both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from neuralart.network.facts import NEURALART, NEURALART_VERSION
from neuralart.relocatable.build.request import ALIGNED, BuildRequest
from neuralart.resources import firmware_dir

_PIC = ("-fpic", "-mno-pic-data-is-text-relative", "-msingle-pic-base", "-mpic-register=r9")
# An M55 executes these instructions and so does every machine that runs our firmware.
_BASELINE = ("-mcpu=cortex-m33", "-mfpu=fpv5-sp-d16", "-mfloat-abi=hard", "-mthumb")


@dataclass(frozen=True)
class Source:
    """A C file of a runtime.

    Attributes:
        path: The file.
        defines: Its own, beside those of the runtime.
        flags: Likewise.
        late: Linked behind the archives.
    """

    path: Path
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    late: bool = False


@dataclass(frozen=True)
class Runtime:
    """Everything that differs between runtimes.

    Attributes:
        name: ``neuralart`` or ``ll_aton``.
        version: Major, minor, micro, dev.
        include_dirs: In the order of the compiler's search.
        sources: Compiled into each image; the linker drops what no network uses.
        per_network: Compiled with the configuration of the network.
        defines: Of all C files.
        flags: Of all C files.
        archives: Linked last.
        link: Words for the linker, before the objects.
        libraries: Words for the linker, behind everything.
        script: Linker script of the installation, for the layout ``vendor``.
        footer: What follows network.c in its translation unit.
        callbacks: What the firmware provides, in the order of its table.
        header_words: 24 or 26.
        context_words: 16 or 17.
        layout: The default.
        libc: Whose headers to prefer.
        root: Folder that messages of asserts must not show, if any.
        pools_late: The pools of the network are linked behind the archives.
    """

    name: str
    version: tuple[int, int, int, int]
    include_dirs: tuple[Path, ...]
    sources: tuple[Source, ...]
    per_network: tuple[Source, ...]
    defines: tuple[str, ...]
    flags: tuple[str, ...]
    archives: tuple[Path, ...]
    link: tuple[str, ...]
    libraries: tuple[str, ...]
    script: Path | None
    footer: str
    callbacks: tuple[str, ...]
    header_words: int
    context_words: int
    layout: str
    libc: str
    root: Path
    pools_late: bool = False

    @property
    def version_text(self) -> str:
        """``1.1.3.262``."""
        return ".".join(map(str, self.version))


def neuralart(request: BuildRequest) -> Runtime:
    """Our runtime: kernels in C, libgcc, nothing from a C library, nothing asked of the firmware."""
    root = firmware_dir()
    runtime = root / "runtime"
    own = runtime / "relocatable"
    kernels = sorted((runtime / "kernels").glob("*.c"))
    return Runtime(
        name=NEURALART,
        version=NEURALART_VERSION,
        include_dirs=(runtime / "include",),
        sources=(
            *map(Source, kernels),
            Source(own / "memory_functions.c", flags=("-fno-tree-loop-distribute-patterns",)),
        ),
        per_network=(Source(own / "model_entry.c"),),
        defines=("LL_ATON_DBG_BUFFER_INFO_EXCLUDED=1", *(("LL_ATON_EB_DBG_INFO",) if request.debug_info else ())),
        flags=(
            *_BASELINE,
            *(("-mcmse",) if request.secure else ()),
            *("-std=gnu11", "-O2", "-ffreestanding", "-ffunction-sections", "-fdata-sections", "-fno-common"),
            *("-ffp-contract=off", "-fvisibility=hidden", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables"),
            *_PIC,
        ),
        archives=(),
        link=(*_BASELINE, "-nostartfiles", "-nostdlib"),
        libraries=("-lgcc",),
        script=None,
        footer="",
        callbacks=(),
        header_words=26,
        context_words=17,
        layout=ALIGNED,
        libc="auto",
        root=root,
    )
