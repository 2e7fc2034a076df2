"""Finds the cross compiler."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from neuralart import intact, jsontext
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import note, write_text
from neuralart.quick import dataclass, lazy_regex

if TYPE_CHECKING:
    # Loading what reads variants.yaml takes a fifth of the time of a relocatable model with new weights.
    from neuralart.config.types import ToolchainConfig

# No contraction and no fast-math: the kernels round exactly as their oracle does.
C_FLAGS = ("-std=gnu11", "-g", "-ffunction-sections", "-fdata-sections", "-fno-common", "-ffp-contract=off")
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
_PROGRAM = lazy_regex(r"[A-Za-z0-9._+-]+")


@dataclass(frozen=True)
class Toolchain:
    """A cross compiler on this machine."""

    folder: str  # Where its programs are (absolute)
    prefix: str  # For example ``arm-none-eabi-``
    version: str  # Of gcc, for example ``12.2.1``
    libc: str  # ``picolibc``, ``newlib`` or ``newlib-nano``
    driver: str = ""  # SHA-256 of its programs and headers, 16 hex digits: two makes of gcc may have one version
    compiler: ClassVar[str] = "gcc"

    @property
    def identity(self) -> str:
        """Name and version, for users."""
        return f"{self.prefix}{self.compiler} {self.version}, {self.libc}"

    @property
    def counts(self) -> str:
        """What objects depend on; equal for equal tools in different folders."""
        return f"{self.identity}, {self.driver}"

    @property
    def program(self) -> Path:
        """The compiler driver, which also links."""
        program = Path(self.folder) / f"{self.prefix}{self.compiler}"
        return program if program.is_file() else program.with_suffix(".exe")

    @property
    def libc_flags(self) -> tuple[str, ...]:
        """Flags that choose the C library, to compile and to link."""
        return LIBC_FLAGS.get(self.libc, ())


def candidates(prefix: str, environ: Mapping[str, str]) -> list[Path]:
    """List folders to search, in order. A prefix with a folder in it is searched alone; else ``NEURALART_TOOLCHAIN`` (a
    folder, its parent, or gcc itself), PATH, STM32CubeCLT and STM32CubeIDE.
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
        note(root)
        if Path(root).is_dir():
            folders.extend(sorted(Path(root).glob(pattern), reverse=True))
    return folders


def ask(gcc: Path, *words: str) -> str:
    """Run a compiler and return its answer. NeuralArtError: it gives none."""
    import subprocess  # most runs start no compiler

    try:
        done = subprocess.run(
            [str(gcc), *words], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError) as error:
        hint = "is it a cross compiler for Arm?"
        raise NeuralArtError(f"does not answer '{words[0]}': {error}", where=str(gcc), hint=hint) from error
    return done.stdout.strip()


def _known(gcc: Path, file: str) -> Path | None:
    # gcc answers with the bare name when it does not know the file.
    path = Path(ask(gcc, f"-print-file-name={file}"))
    return path if path.parent != Path() else None


def _started(gcc: Path) -> Iterator[Path]:
    """The programs of a compiler by their names: driver, what it starts, and what a build starts beside it."""
    folders = os.pathsep.join([str(gcc.parent), os.environ.get("PATH", "")])
    stem = gcc.name.removesuffix(".exe").removesuffix("gcc")
    for name in ("cc1", "cc1plus", "collect2", "as", "ld"):
        # gcc answers with the bare name when it leaves the search to the system.
        with contextlib.suppress(NeuralArtError):
            yield Path(shutil.which(ask(gcc, f"-print-prog-name={name}") or name, path=folders) or "")
    for name in ("gcc", "g++", "ar", "objcopy"):
        yield Path(shutil.which(f"{stem}{name}", path=folders) or "")


def _headers(gcc: Path, libc: str) -> list[Path]:
    """The folders in which it finds the headers of C and of the C library; none if it does not say."""
    import subprocess

    words = [str(gcc), *LIBC_FLAGS.get(libc, ()), "-E", "-Wp,-v", "-xc", os.devnull]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(words, capture_output=True, text=True, timeout=_PROBE_SECONDS, errors="replace")
        lines = (line.strip() for line in done.stderr.splitlines() if line.startswith(" "))
        return [Path(line) for line in lines if os.path.isabs(line) and os.path.isdir(line)]  # noqa: PTH112, PTH117
    return []


def version_and_libcs(gcc: Path) -> tuple[str, list[str]]:
    """Ask a compiler for its version and its C libraries, best first. NeuralArtError: it does not answer."""
    known = [("picolibc", "picolibc.specs"), ("newlib-nano", "libc_nano.a"), ("newlib", "libc.a")]
    return ask(gcc, "-dumpfullversion"), [name for name, file in known if _known(gcc, file) is not None]


def probe(gcc: Path) -> dict[str, Any]:
    """Ask a compiler for its ``version``, ``libcs`` (space separated, best first), ``driver`` (a hash of its programs
    and C headers) and ``states`` (of all these files and folders, to notice a change). NeuralArtError: it does not
    answer.
    """
    version, libcs = version_and_libcs(gcc)
    digest, states = hashlib.sha256(), dict[str, int]()
    specs = (_known(gcc, flag.removeprefix("--specs=")) for name in libcs for flag in LIBC_FLAGS[name])
    files = [(path.name, path) for path in (*_started(gcc), *filter(None, specs)) if path.is_file()]
    for root in _headers(gcc, libcs[0] if libcs else ""):
        for folder, below, names in os.walk(root):
            below.sort()
            states[folder] = intact.state(folder)
            paths = [Path(folder, name) for name in sorted(names)]
            files += [(path.relative_to(root).as_posix(), path) for path in paths if path.is_file()]
    for name, path in files:
        states[str(path)] = intact.state(str(path))
        digest.update(name.encode() + b"\0" + bytes.fromhex(_sha256(path)))
    return {"version": version, "libcs": " ".join(libcs), "driver": digest.hexdigest()[:16], "states": states}


def _sha256(path: Path) -> str:
    """Hash a file in pieces: a compiler has thirty megabytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remembered(cache: Path | None) -> dict[str, dict[str, Any]]:
    """What the cache file knows of compilers that are as they were; a damaged cache knows nothing."""
    if cache is None or not cache.is_file():
        return {}
    try:
        known = jsontext.loads(cache.read_text("utf-8"))
        return {str(gcc): answer for gcc, answer in known.items() if _holds(answer)}
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return {}


def _holds(answer: dict[str, Any]) -> bool:
    texts = all(isinstance(answer[name], str) for name in ("version", "libcs", "driver"))
    return texts and all(intact.state(path) == then for path, then in answer["states"].items())


def _answer(gcc: Path, cache: Path | None) -> dict[str, Any]:
    """Starting a compiler ten times costs more than a whole build in which nothing changed."""
    known = _remembered(cache)
    if str(gcc) not in known:
        known[str(gcc)] = probe(gcc)
        _remember(known, cache)
    # A shell script that is given a gcc: what it starts cannot be known.
    note(*known[str(gcc)]["states"])
    return known[str(gcc)]


def _remember(known: dict[str, dict[str, Any]], cache: Path | None) -> None:
    if cache is not None:
        # Variants may ask for different compilers. Answers of those that are gone or were replaced go.
        write_text(cache, json.dumps(known, sort_keys=True) + "\n")


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


def libraries(toolchain: Toolchain, flags: Sequence[str], *, cache: Path | None = None) -> dict[Path, str]:
    """Find the C library and libgcc that these flags link, with their hashes. NeuralArtError: there are none."""
    gcc, words = toolchain.program, [*flags, *toolchain.libc_flags]
    name = f"libraries for {' '.join(words)}"
    known = _remembered(cache)
    rows = known.get(str(gcc), {}).get(name, {})
    if not rows or not all(intact.state(path) == then for path, (then, _) in rows.items()):
        rows = {}
        for path in _trace_libraries(gcc, words):
            found = Path(path) if Path(path).is_file() else Path(os.devnull)
            rows[path] = [intact.state(path), _sha256(found)]
        answer = known.get(str(gcc)) or {"version": toolchain.version, "libcs": toolchain.libc, "states": {}}
        _remember({**known, str(gcc): {"driver": toolchain.driver, **answer, name: rows}}, cache)
    return {Path(path): digest for path, (_, digest) in rows.items()}


def compiles(toolchain: Toolchain, flags: Sequence[str], text: str) -> bool:
    """Whether a compiler accepts a C text with these flags."""
    import subprocess

    words = [str(toolchain.program), *flags, "-fsyntax-only", "-xc", "-"]
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False)
    return not done.returncode


def programs(toolchain: Toolchain) -> list[Path]:
    """List the driver and the programs that it starts: compiler, assembler, linker."""
    beside = [path for path in _started(toolchain.program) if path.is_file()]
    return list(dict.fromkeys([toolchain.program, *beside]))


@dataclass(frozen=True)
class WantedCompiler:
    """Which cross compiler is wanted, where there is no variants.yaml."""

    prefix: str  # Of the programs, with or without a folder
    libc: str = "auto"  # C library
    version: str = ""  # Of gcc; empty: any


def find(
    config: ToolchainConfig | WantedCompiler, environ: Mapping[str, str], *, cache: Path | None = None, where: str = ""
) -> Toolchain:
    """Find the wanted compiler. NeuralArtError: there is none, or none of this version or with this C library."""
    program = Path(config.prefix).name + "gcc"
    if not _PROGRAM.fullmatch(program):
        what = f"'{program}' is no name of a compiler"
        raise NeuralArtError(what, where=where, hint="letters, digits, '.', '_', '-'")
    hit = None
    for folder in candidates(config.prefix, environ):
        note(folder / program)  # It may come later
        if hit := shutil.which(program, path=str(folder)):
            break
    if hit is None:
        tried = "NEURALART_TOOLCHAIN" if environ.get("NEURALART_TOOLCHAIN") else "PATH, STM32CubeCLT, STM32CubeIDE"
        hint = "install gcc-arm-none-eabi with a C library, or set NEURALART_TOOLCHAIN to the folder of its programs"
        hint = hint if config.prefix.endswith("-") else f"a prefix ends with '-': {config.prefix}-"
        raise NeuralArtError(f"no {program} found ({tried} looked at)", where=where, hint=hint)
    gcc = Path(hit).absolute()
    answer = _answer(gcc, cache)
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
    return Toolchain(str(gcc.parent), Path(config.prefix).name, version, libc, answer["driver"])
