"""Finds installations of ST Edge AI Core and their versions."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from neuralart import intact, jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import note, write_text
from neuralart.quick import dataclass
from neuralart.vendor.releases import OLDEST, CoreVersion, check_pin, fits, parse_answer, parse_core

CORE_DIR = "STEDGEAI_CORE_DIR"
ROOTS = "NEURALART_STEDGEAI_ROOTS"
_FOLDERS = {"win32": ("windows",), "darwin": ("mac", "macarm")}
_ROOTS = {
    "win32": ("C:/ST/STEdgeAI",),
    "darwin": ("/Applications/ST/STEdgeAI", "/opt/ST/STEdgeAI"),
    "linux": ("/opt/ST/STEdgeAI", "/opt/stedgeai"),
}
_PACKS = "STM32Cube/Repository/Packs/STMicroelectronics/X-CUBE-AI"


@dataclass(frozen=True)
class Place:
    """A folder to search."""

    said: str  # How a message names it
    programs: tuple[Path, ...]  # The program, if it is there, by any of these paths
    root: Path | None = None  # The root of the installation; None: it follows from the program

    @property
    def program(self) -> Path | None:
        """The program of an installation there, or None."""
        note(*self.programs)  # It may come later
        return next((path for path in self.programs if path.is_file()), None)


def _program_name(system: str) -> str:
    return "stedgeai.exe" if system == "win32" else "stedgeai"


def _programs(root: Path, system: str) -> tuple[Path, ...]:
    folders = _FOLDERS.get(system, ("linux",))
    return tuple(root / "Utilities" / folder / _program_name(system) for folder in folders)


def home_of(environ: Mapping[str, str], system: str) -> Path | None:
    """The user's home folder."""
    found = environ.get("USERPROFILE" if system == "win32" else "HOME", "")
    return Path(found) if found else None


def usual_roots(environ: Mapping[str, str], system: str) -> list[Path]:
    """List the folders in which installers put versions on a system (``sys.platform``). ``NEURALART_STEDGEAI_ROOTS``, a
    list like PATH, replaces them.
    """
    if ROOTS in environ:
        return [Path(entry) for entry in environ[ROOTS].split(os.pathsep) if entry]
    home = home_of(environ, system)
    roots = [Path(folder) for folder in _ROOTS.get(system, _ROOTS["linux"])]
    if home is not None:
        roots += [home / "ST" / "STEdgeAI", home / "STEdgeAI", home / _PACKS]
    return roots


def _newest_first(folder: Path) -> tuple[tuple[int, ...], str]:
    numbers = tuple(int(part) for part in re.findall(r"\d{1,9}", folder.name))
    return tuple(-number for number in (*numbers, *(0,) * (8 - len(numbers)))), folder.name


def _below(root: Path, system: str) -> list[Place]:
    """The versions in a root; a root that is an installation itself is one, too."""
    note(root)
    try:
        folders = sorted((folder for folder in root.iterdir() if folder.is_dir()), key=_newest_first)
    except OSError:
        folders = []
    found = [Place(str(folder), _programs(folder, system), folder) for folder in (root, *folders)]
    found = [place for place in found if place.program is not None]
    return found or [Place(str(root), (), root)]


def places(environ: Mapping[str, str], system: str) -> Iterator[Place]:
    """List all places to search, the preferred first."""
    named = environ.get(CORE_DIR, "")
    if named:
        yield Place(f"{CORE_DIR}={named}", _programs(Path(named), system), Path(named))
    entries = [entry for entry in environ.get("PATH", "").split(os.pathsep) if entry]
    on_path = [Place(f"PATH ({entry})", (Path(entry) / _program_name(system),)) for entry in entries]
    on_path = [place for place in on_path if place.program is not None]
    yield from on_path or [Place("PATH", ())]
    for root in usual_roots(environ, system):
        yield from _below(root, system)


def root_of(program: Path) -> Path | None:
    """Find the installation of a program; None if its place is unusual."""
    real = program.resolve()
    return real.parents[2] if len(real.parents) > 2 and real.parents[1].name == "Utilities" else None


PATIENCE = "NEURALART_STEDGEAI_PATIENCE"
CACHE_DIR = "NEURALART_CACHE_DIR"
_SECONDS = 120.0
# The tool carries a Python of its own: what is meant for ours would mislead it.
_NOT_FOR_IT = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP")


def child_environment(environ: Mapping[str, str], root: Path | None) -> dict[str, str]:
    """Make the tool's environment: the user's, with the folder of the installation."""
    child = {name: value for name, value in environ.items() if name not in _NOT_FOR_IT}
    if root is not None:
        child[CORE_DIR] = str(root)
    return child


def default_cache(environ: Mapping[str, str], system: str) -> Path | None:
    """The file that remembers versions; None if the user has no folder for it."""
    folder = environ.get(CACHE_DIR, "")
    if folder:
        return Path(folder) / "stedgeai.json"
    home = home_of(environ, system)
    if system == "win32":
        base = Path(environ["LOCALAPPDATA"]) if environ.get("LOCALAPPDATA") else None
    elif system == "darwin":
        base = home / "Library" / "Caches" if home is not None else None
    else:
        given = environ.get("XDG_CACHE_HOME", "")
        base = Path(given) if given else home / ".cache" if home is not None else None
    return base / "scons-neuralart" / "stedgeai.json" if base is not None else None


def _patience(environ: Mapping[str, str]) -> float:
    text = environ.get(PATIENCE, "")
    try:
        seconds = float(text) if text else _SECONDS
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < 1e6:
        raise NeuralArtError(f"'{text}' is no number of seconds", where=PATIENCE)
    return seconds


def ask(program: Path, root: Path | None, environ: Mapping[str, str]) -> CoreVersion:
    """Run the program and return its answer. NeuralArtError: none in time, or none with a version."""
    import subprocess

    seconds = _patience(environ)
    try:
        done = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=child_environment(environ, root),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        what = f"does not answer '--version' within {seconds:g} seconds"
        hint = f"the first start of a new installation is slow: run it once by hand, or set {PATIENCE}"
        raise NeuralArtError(what, where=str(program), hint=hint) from error
    except OSError as error:
        raise NeuralArtError(f"cannot be started: {error.strerror}", where=str(program)) from error
    return parse_answer(done.stdout.decode("utf-8", "replace"), str(program))


def _remembered(cache: Path | None) -> dict[str, str]:
    """What the cache knows; a damaged one knows nothing."""
    if cache is None:
        return {}
    try:
        known = jsontext.loads(cache.read_bytes())
        return {str(key): answer for key, answer in known.items() if isinstance(answer, str)}
    except (OSError, ValueError, AttributeError):
        return {}


def version_of(program: Path, root: Path | None, environ: Mapping[str, str], cache: Path | None) -> CoreVersion:
    """Find the version of a program. Running it takes seconds, so ``cache`` (a file; None: none) remembers it until the
    program changes. Errors as of :func:`ask`.
    """
    key = f"{program}|{intact.state(str(program))}"
    known = _remembered(cache)
    found = parse_core(known.get(key, ""))
    if found is not None:
        return found
    answer = ask(program, root, environ)
    if cache is not None:
        kept = {k: v for k, v in known.items() if (file := k.split("|")[0]) != str(program) and Path(file).is_file()}
        with contextlib.suppress(NeuralArtError):  # it is only asked again
            write_text(cache, json.dumps({**kept, key: answer.text}, indent=1, sort_keys=True) + "\n")
    return answer


_DOC = "docs/reference/stedgeai.md"
# Up to 2.2, and from 3.0.
_PROFILES = ("neural_art.json", "NPU/STM32N6xx/neural_art.json")


@dataclass(frozen=True)
class Install:
    """An installation."""

    program: Path  # The program ``stedgeai``
    # The folder that holds ``Utilities`` and ``Middlewares``; None where the program lies like no installation
    root: Path | None
    version: CoreVersion  # Its version
    found: str  # Where it was found, in words

    @property
    def identity(self) -> str:
        """What results depend on; equal for the same version in other folders."""
        return f"ST Edge AI Core {self.version.text}"

    @property
    def stock_profiles(self) -> Path | None:
        """The file of the tool's own profiles; None: not where known versions have it."""
        folder = self.program.resolve().parent / "targets" / "stm32" / "resources"
        return next((path for each in _PROFILES if (path := folder / each).is_file()), None)


def _look(place: Place, pin: str, environ: Mapping[str, str], cache: Path | None) -> tuple[Install | None, str]:
    """The installation at a place if it is a wanted one, else why not."""
    program = place.program
    if program is None:
        return None, f"{place.said}: none"
    program = program.absolute()
    root = place.root.absolute() if place.root is not None else root_of(program)
    try:
        version = version_of(program, root, environ, cache)
    except NeuralArtError as error:
        if place.said.startswith(CORE_DIR):
            raise
        return None, f"{place.said}: {error.what}"
    if version.numbers[:2] < OLDEST:
        return None, f"{place.said}: {version.full}, which has no Neural-ART compiler"
    if not fits(version, pin):
        return None, f"{place.said}: {version.full}"
    return Install(program, root, version, place.said), ""


def find(
    pin: str, environ: Mapping[str, str], *, where: str = "", cache: Path | None = None, system: str = sys.platform
) -> Install:
    """Find the installation to use.

    ``STEDGEAI_CORE_DIR`` comes first, then PATH, then the folders installers use (newest version first), then the packs
    of STM32CubeMX. Without a pin the first one is taken; with one the first that fits
    (:func:`~neuralart.vendor.releases.fits`). ``cache`` remembers versions; None: the user's own file. NeuralArtError:
    none fits; the message says where was looked and what was there.
    """
    if pin:
        check_pin(pin, where)
    cache = cache if cache is not None else default_cache(environ, system)
    trail: list[str] = [] if environ.get(CORE_DIR) else [f"{CORE_DIR}: not set"]
    seen: set[Path] = set()
    for place in places(environ, system):
        program = place.program
        if place.said.startswith(CORE_DIR) and program is None:
            what = f"no ST Edge AI Core in it: there is no {' or '.join(path.as_posix() for path in place.programs)}"
            hint = "it must be the folder that holds Utilities and Middlewares; unset it to search the usual places"
            raise NeuralArtError(what, where=place.said, hint=hint)
        if program is not None:
            if program.resolve() in seen:
                continue
            seen.add(program.resolve())
        found, why = _look(place, pin, environ, cache)
        if found is not None:
            return found
        trail.append(why)
    wanted = f"ST Edge AI Core {pin}" if pin else "ST Edge AI Core"
    hint = f"install it, or set {CORE_DIR} to the folder that holds Utilities and Middlewares ({_DOC})"
    raise NeuralArtError(f"no {wanted} found; looked at {'; '.join(trail)}", where=where, hint=hint)


def find_install(args: argparse.Namespace, environ: Mapping[str, str]) -> Install:
    """Find the installation for a command line. NeuralArtError: there is none."""
    cache = Path(args.tool_cache) if args.tool_cache else None
    pin = args.compiler_version or ""
    return find(pin, environ, where="--compiler-version" if pin else "--compiler stedgeai", cache=cache)


def choose(pin: str, environ: Mapping[str, str], *, cache: Path | None = None, system: str = sys.platform) -> str:
    """Decide ``auto``: ``stedgeai`` if a fitting one is installed, else ``reference``. NeuralArtError: the pin or
    ``STEDGEAI_CORE_DIR`` is wrong.
    """
    if pin:
        check_pin(pin, "")
    try:
        find(pin, environ, cache=cache, system=system)
    except NeuralArtError:
        if environ.get(CORE_DIR):
            raise
        return "reference"
    return "stedgeai"
