"""The compilers that a build would use: the cross compiler with its C library, and ST Edge AI Core."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from neuralart import toolchain
from neuralart.compilers.stedgeai import install
from neuralart.compilers.stedgeai.install import ROOTS, places
from neuralart.config.types import ToolchainConfig
from neuralart.errors import NeuralArtError
from neuralart.findings import NOTE, WARNING
from neuralart.vendor.programs import on_path
from neuralart.vendor.tools import BROKEN, MISSING, OK, UNFIT, Host, Remark, ToolRow

_GCC_MEANS = "every firmware image; ST Edge AI Core leaves out the sizes of its code without it"
_GET_GCC = (
    "install gcc-arm-none-eabi with a C library (Debian, Ubuntu: picolibc-arm-none-eabi or libnewlib-arm-none-eabi), "
    "or STM32CubeCLT; NEURALART_TOOLCHAIN names the folder of its programs where it is not on PATH"
)
STEDGEAI = "stedgeai"
_STEDGEAI_MEANS = (
    "networks with compiler: stedgeai, hence the NPU of an STM32N6; networks of the reference compiler need none"
)
_GET_STEDGEAI = "install ST Edge AI Core 2.0 or later of ST with its component stneuralart, or set STEDGEAI_CORE_DIR"
_SYSTEMS = {"linux": "linux", "windows": "win32", "mac": "darwin"}


@dataclass(frozen=True)
class Wanted:
    """A cross compiler that variants ask for."""

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


def gcc_row(wanted: Wanted, host: Host) -> ToolRow:
    """Look for a cross compiler as a build does."""
    made = partial(ToolRow, wanted.name, means=_GCC_MEANS)
    try:
        found = toolchain.find(wanted.config, host.environ)
    except NeuralArtError as error:
        at = f"{error.where}: " if error.where else ""
        # One that is there without a library, or in another version, is not simply missing.
        starts = {"no ": MISSING, "does not answer": BROKEN}
        status = next((status for start, status in starts.items() if error.what.startswith(start)), UNFIT)
        return made(status, problem=f"{at}{error.what}", get=_get_gcc(error))
    path = Path(found.folder) / f"{found.prefix}gcc"
    path = path if path.is_file() else path.with_suffix(".exe")
    try:
        others = ", ".join(name for name in toolchain.version_and_libcs(path)[1] if name != found.libc)
    except NeuralArtError:
        others = ""
    details = (f"C library {found.libc}{f' (also {others})' if others else ''}",)
    for flags in wanted.cores:
        try:
            toolchain.libraries(found, flags)
        except NeuralArtError as error:
            return made(UNFIT, found.version, str(path), details, error.what, get=_get_gcc(error))
    return made(OK, found.version, str(path), details, get=_GET_GCC)


def _get_gcc(error: NeuralArtError) -> str:
    return _GET_GCC if error.what.startswith("no ") or not error.hint else f"{error.hint}; {_GET_GCC}"


def gcc_shadowed(host: Host, compilers: Sequence[Wanted]) -> list[Remark]:
    """Say that a second cross compiler of the same name is on PATH."""
    found = []
    for name in dict.fromkeys(each.program for each in compilers if Path(each.config.prefix).parent == Path()):
        hits = on_path((name,), host.environ, host.system)
        if len(hits) < 2:
            continue
        said = []
        for path in hits[:2]:
            try:
                said.append(toolchain.version_and_libcs(path)[0])
            except NeuralArtError:
                said.append("does not answer")
        message = f"{name} is on PATH {len(hits)} times: {hits[0]} ({said[0]}) is used, {hits[1]} ({said[1]}) is not"
        remedy = "a variant can ask for one of them: toolchain: {prefix: ..., version: ...}"
        found.append(Remark(f"shadowed-{name}", NOTE if said[0] == said[1] else WARNING, message, remedy))
    return found


def _environment(host: Host, seconds: float) -> dict[str, str]:
    # NEURALART_STEDGEAI_PATIENCE counts instead of our time limit where it is set.
    return {install.PATIENCE: f"{seconds:g}", **({} if host.usual_places else {ROOTS: ""}), **host.environ}


def stedgeai_row(pin: str, host: Host) -> ToolRow:
    """Look for an installation of ST Edge AI Core as a build does; ``pin``: version that networks ask for, or empty."""
    made = partial(ToolRow, f"{STEDGEAI} {pin}".strip(), means=_STEDGEAI_MEANS, get=_GET_STEDGEAI)
    child, system = _environment(host, host.seconds), _SYSTEMS[host.system]
    with tempfile.TemporaryDirectory() as folder:
        # What is remembered of earlier answers is used, and not added to: looking at a machine changes nothing on it.
        known = install.default_cache(child, system)
        cache = Path(folder) / "stedgeai.json"
        if known is not None and known.is_file():
            shutil.copy(known, cache)
        try:
            found = install.find(pin, child, cache=cache, system=system)
        except NeuralArtError as error:
            status = MISSING if error.what.startswith("no ") else BROKEN
            return made(status, problem=f"{error.where}: {error.what}" if error.where else error.what)
    said = (".".join(map(str, found.version.numbers)), str(found.program), (f"by {found.found}",))
    if not found.program.with_name("atonn" + found.program.suffix).is_file():
        return made(UNFIT, *said, "there is no atonn beside it: the component stneuralart is not installed")
    return made(OK, *said)


def stedgeai_shadowed(host: Host) -> list[Remark]:
    """Installations of ST Edge AI Core beside the one that is used."""
    found: dict[Path, str] = {}
    for place in places(_environment(host, 0), _SYSTEMS[host.system]):
        if place.program is not None:
            found.setdefault(place.program.resolve(), place.said)
    if len(found) < 2:
        return []
    first, *others = found.values()
    on_path = sum(said.startswith("PATH") for said in found.values())
    message = f"{len(found)} installations of ST Edge AI Core: {first} is looked at first, then {', '.join(others)}"
    remedy = 'a pin takes the one that is meant, for example compiler: {stedgeai: "4.0.*"}'
    return [Remark(f"shadowed-{STEDGEAI}", WARNING if on_path > 1 else NOTE, message, remedy)]
