"""The cross compiler, and whether it has a C library for the cores of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart import toolchain
from neuralart.config.types import ToolchainConfig
from neuralart.doctor.finding import on_path
from neuralart.doctor.types import BROKEN, MISSING, NOTE, OK, UNFIT, WARNING, Remark, Row
from neuralart.errors import NeuralArtError

NAME = "arm-none-eabi-gcc"
_MEANS = "every firmware image; ST Edge AI Core leaves out the sizes of its code without it"
_GET = (
    "install gcc-arm-none-eabi with a C library (Debian, Ubuntu: picolibc-arm-none-eabi or libnewlib-arm-none-eabi), "
    "or STM32CubeCLT; NEURALART_TOOLCHAIN names the folder of its programs where it is not on PATH"
)


@dataclass(frozen=True)
class Wanted:
    """A compiler that variants ask for."""

    config: ToolchainConfig  # Their ``toolchain:``
    cores: tuple[tuple[str, ...], ...] = ()  # GCC flags of the cores that it has to link for

    @property
    def program(self) -> str:
        """File name of the program."""
        return Path(self.config.prefix).name + "gcc"

    @property
    def name(self) -> str:
        """How its row is called: the program, and what variants ask of it."""
        libc = "" if self.config.libc == "auto" else self.config.libc
        return " ".join(part for part in (self.program, libc, self.config.version) if part)


def row(wanted: Wanted, environ: Mapping[str, str]) -> Row:
    """Look for a compiler as a build does."""
    try:
        found = toolchain.find(wanted.config, environ)
    except NeuralArtError as error:
        at = f"{error.where}: " if error.where else ""
        # One that is there without a library, or in another version, is not simply missing.
        starts = {"no ": MISSING, "does not answer": BROKEN}
        status = next((status for start, status in starts.items() if error.what.startswith(start)), UNFIT)
        return Row(wanted.name, status, problem=f"{at}{error.what}", means=_MEANS, get=_got(error))
    path = _program(found)
    details = _libraries(path, found.libc)
    for flags in wanted.cores:
        try:
            toolchain.libraries(found, flags)
        except NeuralArtError as error:
            return Row(wanted.name, UNFIT, found.version, str(path), details, error.what, _MEANS, _got(error))
    return Row(wanted.name, OK, found.version, str(path), details, means=_MEANS, get=_GET)


def _got(error: NeuralArtError) -> str:
    return _GET if error.what.startswith("no ") or not error.hint else f"{error.hint}; {_GET}"


def _program(found: toolchain.Toolchain) -> Path:
    path = Path(found.folder) / f"{found.prefix}gcc"
    return path if path.is_file() else path.with_suffix(".exe")


def _libraries(path: Path, chosen: str) -> tuple[str, ...]:
    """The C libraries that it has, the one that is used first."""
    try:
        others = [name for name in toolchain.probe(path)["libcs"].split() if name != chosen]
    except NeuralArtError:
        others = []
    more = f" (also {', '.join(others)})" if others else ""
    return (f"C library {chosen}{more}",)


def shadowed(environ: Mapping[str, str], system: str, compilers: Sequence[Wanted]) -> list[Remark]:
    """Say that a second compiler of the same name is on PATH."""
    found = []
    for name in dict.fromkeys(each.program for each in compilers if Path(each.config.prefix).parent == Path()):
        hits = on_path((name,), environ, system)
        if len(hits) > 1:
            said = []
            for path in hits[:2]:
                try:
                    said.append(toolchain.probe(path)["version"])
                except NeuralArtError:
                    said.append("does not answer")
            message = (
                f"{name} is on PATH {len(hits)} times: {hits[0]} ({said[0]}) is used, {hits[1]} ({said[1]}) is not"
            )
            remedy = "a variant can ask for one of them: toolchain: {prefix: ..., version: ...}"
            found.append(Remark(f"shadowed-{name}", NOTE if said[0] == said[1] else WARNING, message, remedy))
    return found


def wanted(configs: Sequence[tuple[ToolchainConfig, tuple[str, ...]]]) -> list[Wanted]:
    """The different compilers among those that variants ask for, each by its ``toolchain:`` and the GCC flags of its
    core; the default one if none does.
    """
    cores: dict[ToolchainConfig, dict[tuple[str, ...], None]] = {}
    for config, flags in configs:
        cores.setdefault(config, {})
        if flags:
            cores[config][flags] = None
    if not cores:
        cores[ToolchainConfig()] = {}
    return [Wanted(config, tuple(flags)) for config, flags in cores.items()]
