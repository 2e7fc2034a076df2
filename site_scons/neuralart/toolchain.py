"""Finds the cross compiler and says what it is."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from neuralart import jsontext
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import read_bytes, write_text
from neuralart.patterns import later

if TYPE_CHECKING:
    # Loading what reads variants.yaml takes a fifth of the time of a relocatable model with new weights.
    from neuralart.config.types import ToolchainConfig

# Newest first by name. STM32CubeCLT and STM32CubeIDE bring GCC with newlib on all three systems.
_CLT = "GNU-tools-for-STM32/bin"
_IDE = "com.st.stm32cube.ide.mcu.externaltools.gnu-tools-for-stm32.*/tools/bin"
VENDOR_ROOTS = (
    ("/opt/st", f"stm32cubeclt_*/{_CLT}"),
    ("/opt/ST", f"STM32CubeCLT_*/{_CLT}"),
    ("C:/ST", f"STM32CubeCLT_*/{_CLT}"),
    ("/opt/st", f"stm32cubeide_*/plugins/{_IDE}"),
    ("C:/ST", f"STM32CubeIDE_*/STM32CubeIDE/plugins/{_IDE}"),
    ("/Applications/STM32CubeIDE.app/Contents/Eclipse/plugins", _IDE),
)
LIBC_FLAGS: Mapping[str, tuple[str, ...]] = {
    "picolibc": ("--specs=picolibc.specs",),
    "newlib": (),
    "newlib-nano": ("--specs=nano.specs",),
}

_PROBE_SECONDS = 20
# A command line begins with it.
_PROGRAM = later(r"[A-Za-z0-9._+-]+")


@dataclass(frozen=True)
class Toolchain:
    """A cross compiler that was found."""

    folder: str  # Where its programs are (absolute)
    prefix: str  # For example ``arm-none-eabi-``
    version: str  # Of gcc, for example ``12.2.1``
    libc: str  # ``picolibc``, ``newlib`` or ``newlib-nano``
    driver: str = ""  # SHA-256 of gcc, 16 hex digits: two makes of gcc may have one version
    compiler: ClassVar[str] = "gcc"

    @property
    def identity(self) -> str:
        """What users are told of it."""
        return f"{self.prefix}{self.compiler} {self.version}, {self.libc}"

    @property
    def counts(self) -> str:
        """What the objects depend on; the same on machines that have the same tools in different places."""
        return f"{self.identity}, {self.driver}"

    @property
    def program(self) -> Path:
        """The driver of compiler and linker."""
        program = Path(self.folder) / f"{self.prefix}{self.compiler}"
        return program if program.is_file() else program.with_suffix(".exe")

    @property
    def libc_flags(self) -> tuple[str, ...]:
        """For compiling and linking."""
        return LIBC_FLAGS.get(self.libc, ())


def candidates(prefix: str, environ: Mapping[str, str]) -> list[Path]:
    """Folders to look into, in order; a prefix with a folder in it decides alone. ``NEURALART_TOOLCHAIN`` (a folder,
    its parent, or gcc itself) comes first, then PATH, then the places where STM32CubeCLT and STM32CubeIDE install
    themselves.
    """
    named = Path(prefix)
    if named.parent != Path():
        return [named.parent]
    asked = environ.get("NEURALART_TOOLCHAIN")
    if asked:
        path = Path(asked)
        return [path.parent] if path.is_file() else [path, path / "bin"]
    folders = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    for root, pattern in VENDOR_ROOTS:
        if Path(root).is_dir():
            folders.extend(sorted(Path(root).glob(pattern), reverse=True))
    return folders


def ask(gcc: Path, *words: str) -> str:
    """What a compiler answers. NeuralArtError: nothing."""
    import subprocess  # most runs start no compiler

    try:
        done = subprocess.run(
            [str(gcc), *words], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError) as error:
        hint = "is it a cross compiler for Arm?"
        raise NeuralArtError(f"does not answer '{words[0]}': {error}", where=str(gcc), hint=hint) from error
    return done.stdout.strip()


def _has(gcc: Path, file: str) -> bool:
    # gcc answers with the bare name when it does not know the file.
    return os.path.dirname(ask(gcc, f"-print-file-name={file}")) != ""  # noqa: PTH120 - "" is the answer looked for


def probe(gcc: Path) -> dict[str, str]:
    """A compiler's ``version``, ``libcs`` (space separated, best first) and ``driver`` (of its own file).
    NeuralArtError: it does not answer.
    """
    version = ask(gcc, "-dumpfullversion")
    found = [("picolibc", "picolibc.specs"), ("newlib-nano", "libc_nano.a"), ("newlib", "libc.a")]
    libcs = " ".join(name for name, file in found if _has(gcc, file))
    return {"version": version, "libcs": libcs, "driver": hashlib.sha256(read_bytes(gcc)).hexdigest()[:16]}


def _remembered(cache: Path | None) -> dict[str, dict[str, str]]:
    """What the cache file knows; a damaged cache knows nothing."""
    if cache is None or not cache.is_file():
        return {}
    try:
        known = jsontext.loads(cache.read_text("utf-8"))
        return {
            str(key): {str(name): str(text) for name, text in answer.items()}
            for key, answer in known.items()
            if {"version", "libcs", "driver"} <= set(answer)
        }
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _cached_probe(gcc: Path, cache: Path | None) -> dict[str, str]:
    """Starting a compiler three times costs more than a whole build in which nothing changed."""
    known = _remembered(cache)
    key = _key(gcc)
    if key in known:
        return known[key]
    answer = probe(gcc)
    _remember(gcc, answer, known, cache)
    return answer


def _key(gcc: Path) -> str:
    stat = gcc.stat()
    return f"{gcc}|{stat.st_size}|{stat.st_mtime_ns}"


def _remember(gcc: Path, answer: dict[str, str], known: dict[str, dict[str, str]], cache: Path | None) -> None:
    if cache is not None:
        # Variants may ask for different compilers. Answers of those that are gone or were replaced go with them.
        kept = {k: v for k, v in known.items() if (file := k.split("|")[0]) != str(gcc) and Path(file).is_file()}
        write_text(cache, json.dumps({**kept, _key(gcc): answer}, indent=1, sort_keys=True) + "\n")


def _trace_libraries(gcc: Path, flags: Sequence[str]) -> list[str]:
    """Link an empty program and have the linker name the archives it looks into."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "empty")
        words = [str(gcc), *flags, "-nostartfiles", "-Wl,--trace,-e,0", "-T", os.devnull, "-o", out, "-xc", "-"]
        try:
            done = subprocess.run(
                words, input="", capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False, errors="replace"
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise NeuralArtError(f"does not link: {error}", where=str(gcc)) from error
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        what = f"cannot link for {' '.join(flags)}: {said[-1] if said else 'no reason given'}"
        raise NeuralArtError(what, where=str(gcc), hint="is there a C library for this core and floating-point ABI?")
    found = [line.strip() for line in done.stdout.splitlines() if line.strip().endswith(".a")]
    return list(dict.fromkeys(found))


def libraries(toolchain: Toolchain, flags: Sequence[str], *, cache: Path | None = None) -> list[Path]:
    """The C library and libgcc that images with these flags are linked with. NeuralArtError: there are none."""
    gcc = toolchain.program
    words = [*flags, *toolchain.libc_flags]
    name = f"libraries for {' '.join(words)}"
    known = _remembered(cache)
    answer = known.get(_key(gcc), {})
    paths = answer.get(name, "").split("\n")
    if not all(Path(path).is_file() for path in paths):
        paths = _trace_libraries(gcc, words)
        answer = answer or {"version": toolchain.version, "libcs": toolchain.libc, "driver": toolchain.driver}
        _remember(gcc, {**answer, name: "\n".join(paths)}, known, cache)
    return [Path(path) for path in paths]


def compiles(toolchain: Toolchain, flags: Sequence[str], text: str) -> bool:
    """Whether a compiler takes a C file with these flags."""
    import subprocess

    words = [str(toolchain.program), *flags, "-fsyntax-only", "-xc", "-"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    return not done.returncode


def programs(toolchain: Toolchain) -> list[Path]:
    """The driver, and what it starts: compiler, assembler, linker. NeuralArtError: It does not answer."""
    gcc = toolchain.program
    # gcc answers with the bare name when it does not know a program.
    answers = (Path(ask(gcc, f"-print-prog-name={name}")) for name in ("cc1", "cc1plus", "as", "ld"))
    return [gcc, *(path for path in answers if path.is_absolute() and path.is_file())]


@dataclass(frozen=True)
class WantedCompiler:
    """Which cross compiler, for those that read no variants.yaml."""

    prefix: str  # Of the programs, with or without a folder
    libc: str = "auto"  # C library
    version: str = ""  # Of gcc; empty: any


def find(
    config: ToolchainConfig | WantedCompiler, environ: Mapping[str, str], *, cache: Path | None = None, where: str = ""
) -> Toolchain:
    """Find the compiler that a variant asks for. NeuralArtError: none, or not with this version or library."""
    program = Path(config.prefix).name + "gcc"
    if not _PROGRAM.fullmatch(program):
        what = f"'{program}' is no name of a compiler"
        raise NeuralArtError(what, where=where, hint="letters, digits, '.', '_', '-'")
    folders = candidates(config.prefix, environ)
    gcc = next((Path(hit) for folder in folders if (hit := shutil.which(program, path=str(folder)))), None)
    if gcc is None:
        tried = "NEURALART_TOOLCHAIN" if environ.get("NEURALART_TOOLCHAIN") else "PATH, STM32CubeCLT, STM32CubeIDE"
        hint = "install gcc-arm-none-eabi with a C library, or set NEURALART_TOOLCHAIN to the folder of its programs"
        hint = hint if config.prefix.endswith("-") else f"a prefix ends with '-': {config.prefix}-"
        raise NeuralArtError(f"no {program} found ({tried} looked at)", where=where, hint=hint)
    answer = _cached_probe(gcc.absolute(), cache)
    version, libcs = answer["version"], answer["libcs"].split()
    if config.version and not re.match(re.escape(config.version) + r"(\.|$)", version):
        raise NeuralArtError(f"{program} is {version}, wanted {config.version}", where=where, hint=f"found at {gcc}")
    if config.libc != "auto" and config.libc not in LIBC_FLAGS:
        what = f"unknown libc '{config.libc}'"
        raise NeuralArtError(what, where=where, hint=nearest(config.libc, [*LIBC_FLAGS, "auto"]))
    if not libcs or (config.libc != "auto" and config.libc not in libcs):
        wanted = "C library" if config.libc == "auto" else config.libc
        install = "install picolibc-arm-none-eabi or libnewlib-arm-none-eabi"
        hint = "it has " + ", ".join(libcs) if libcs else install
        raise NeuralArtError(f"{program} {version} has no {wanted}", where=where or str(gcc), hint=hint)
    libc = libcs[0] if config.libc == "auto" else config.libc
    return Toolchain(str(gcc.absolute().parent), Path(config.prefix).name, version, libc, answer["driver"])
