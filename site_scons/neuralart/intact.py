"""Which variants are as their last good build left them, by one ``stat`` of each file that the build read or wrote.

Nothing but a little of the standard library is imported: ``python -I -S intact.py BUILD [WORDS]`` answers ``./sconsw``
before SCons is loaded. It ends with 0 when all that is asked is intact, else with :data:`ASK`, without a word.
:mod:`neuralart.scons.stamps` writes what is compared here, for an SConstruct that is only a description.
"""

# Loading pathlib takes longer than all of this, and os a tenth of it:
# ruff: noqa: PTH123

from __future__ import annotations

import sys
from _json import make_scanner
from binascii import crc32

TYPE_CHECKING = False  # as of typing
if TYPE_CHECKING or "os" in sys.modules or "posix" not in sys.builtin_module_names:
    import os
else:
    import posix as os
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

NAME = ".stamps.json"
"""In the build folder. A file of the machine it is on: it holds inodes and times."""
FORMAT = 8
DAMAGED = (LookupError, TypeError, ValueError, AttributeError)
"""What stamps raise that are no stamps."""
ASK = 3
"""Exit code: ask SCons."""
NO_STAMPS = "--no-stamps"
"""Option of SCons: every variant that is asked for is declared, and leaves no stamp."""
VARIABLES = frozenset(
    (
        # What commands get of the environment (:func:`neuralart.scons.registry.child_environment`),
        *("PATH", "HOME", "USERPROFILE", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG", "LC_ALL"),
        # what finds compilers, caches and their passwords,
        *("STEDGEAI_CORE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "NETRC", "PATHEXT", "COMSPEC"),
        # what compilers read that are asked for their version, and where SCons looks for site_scons on Windows.
        *("GCC_EXEC_PREFIX", "COMPILER_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "LD_LIBRARY_PATH"),
        *("LD_PRELOAD", "ALLUSERSPROFILE", "APPDATA"),
    )
)
"""Variables of the environment that this package, SCons, Python or a compiler that is asked something reads."""
PREFIXES = ("NEURALART_", "PYTHON", "SCONS_", "GIT_")
"""So do all that begin like this. ``SCONSFLAGS`` counts as words of the command line."""
# Options that change what is shown, or in which order, not what is built.
_SHOWN = frozenset(("-Q", "-k", "--keep-going", "-s", "--silent", "--quiet", "--no-color"))
OURS = frozenset((NAME, ".scons.lock", ".scons.owner", "compile_commands.json", "__pycache__"))
"""Names that count in no folder: what a build leaves beside its results, and what Python compiles."""


def variables() -> Mapping[str, str]:
    """Return the environment as the module ``os`` has it."""
    found: Any = os.environ
    of = sys.getfilesystemencoding(), "surrogateescape"
    # That of posix has bytes.
    return {str(name, *of): str(text, *of) for name, text in found.items()} if isinstance(found, dict) else found


def given(argv: Sequence[str]) -> list[str]:
    """List all words that SCons gets: those of SCONSFLAGS and of the command line."""
    return [*variables().get("SCONSFLAGS", "").split(), *argv]


def words_of(argv: Sequence[str], targets: Collection[str], options: Collection[str] = ()) -> list[str] | None:
    """Read the ``NAME=VALUE`` of a command line; of equal names the last one counts. ``options``: allowed options with
    a value. Returns None if there is an option or a target that stamps do not cover.
    """
    words, rest = [], iter(given(argv))
    for word in rest:
        if word in _SHOWN or word in targets or ("=" in word and word.partition("=")[0] in options):
            continue
        if "=" in word and word[0] != "-":
            words.append(word)
        elif word in ("-j", "--jobs") and next(rest, "").isdecimal():
            continue
        elif not (word[7:] if word[:7] == "--jobs=" else word[2:] if word[:2] == "-j" else "").isdecimal():
            return None
    return words


def _sum(text: str) -> int:
    return 1 + crc32(text.encode("utf-8", "surrogateescape"))  # 0: nothing is there


def environment(environ: Mapping[str, str]) -> dict[str, int]:
    """Hash each environment variable that counts (values may be secrets), and the Python in use."""
    kept = {name: text for name, text in environ.items() if name in VARIABLES or name.startswith(PREFIXES)}
    folder = (sys.executable or "").replace("\\", "/").rpartition("/")[0]
    kept["(Python)"] = f"{sys.version} {way(folder)}"
    return {name: _sum(text) for name, text in kept.items()}


def state(path: str) -> int:
    """Which file it is, behind links, with its size and times: no program can set that of its last change. 0: none."""
    try:
        of = os.stat(path)
    except (OSError, ValueError):
        return 0
    return hash((of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino))


def way(path: str) -> int:
    """Identify a folder, whatever it contains, or a link. 0: nothing is there."""
    try:
        of = os.lstat(path)
    except (OSError, ValueError):
        return 0
    kind = of.st_mode >> 12
    return hash((kind, of.st_ino, of.st_ctime_ns if kind == 0o12 else 0))


def names_in(folder: str) -> int:
    """Hash the names in a folder, hidden ones too. 0: no such folder."""
    try:
        return _sum("\0".join(sorted({*os.listdir(folder)} - OURS)))
    except OSError:
        return 0


def paths_in(group: Sequence[dict[str, Any]]) -> dict[str, int]:
    """List the paths of the files that count in a group of places, with their states."""
    return {_before(each["at"]) + name: then for each in group for name, then in each["files"].items()}


def _before(at: str) -> str:
    return "" if at == "." else at.rstrip("/") + "/"


def changed(group: Sequence[dict[str, Any]]) -> list[str]:
    """List what has changed at places: ``at`` (its path), ``files`` (the state of each that counts); ``way``, if it is
    a folder or a link that leads to what counts; ``folder`` (state, way, names), if the names in it count.
    """
    texts, stat = [], os.stat
    for place in group:
        at, before = place["at"], _before(place["at"])
        for name, then in place["files"].items():
            try:  # As in state(), which would be called thousands of times
                of = stat(before + name)
                now = hash((of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino))
            except (OSError, ValueError):
                now = 0
            if now != then:
                texts.append(f"{before}{name} {'changed' if now and then else 'is new' if now else 'is gone'}")
        if "folder" in place:
            then, whither, names = place["folder"]
            # In a folder of another time may be the same files.
            if (now := state(at)) != then and (way(at), names_in(at)) != (whither, names):
                what = f"folder {at}: files came or went" if way(at) == whither else f"{at} leads elsewhere"
                texts.append(what if now and then else f"{at} is {'new' if now else 'gone'}")
        if "way" in place and way(at) != place["way"]:
            texts.append(f"{at} leads elsewhere")
    return texts


def with_checksum(text: str) -> str:
    """Put the checksum of stamps (JSON) before them: a flipped bit may leave a good number of another group."""
    return f"{_sum(text)} {text}"


def load(path: str) -> dict[str, Any] | None:
    """Load the stamps of a build folder; None if there are none, or they cannot be read."""
    try:
        with open(path, encoding="utf-8") as file:
            kept, _, text = file.read().partition(" ")
        data = make_scanner(_Scanned)(text, 0)[0] if int(kept) == _sum(text) else {"format": 0}  # type: ignore[arg-type]
        return data if data["format"] == FORMAT else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError, StopIteration):
        return None


class _Scanned:  # What ``json.load`` uses, without all that it loads
    strict, object_hook, object_pairs_hook, parse_constant, parse_float, parse_int = True, None, None, None, float, int


def files_of(data: dict[str, Any], name: str) -> list[str]:
    """List the files that only this variant has read or written."""
    keys = data["variants"].get(name, {"groups": ()})["groups"]
    return [path for key in keys for path in paths_in(data["groups"][key])]


class Checker:
    """Compares stamps with the disk; what variants share is compared once. ``data``: from :func:`load`; ``words``: from
    :func:`words_of`; ``environ``: from :func:`environment`. Damaged stamps raise one of :data:`DAMAGED`.
    """

    def __init__(self, data: dict[str, Any], words: Sequence[str], environ: Mapping[str, int]) -> None:
        self._data, self._words, self._environ = data, list(words), environ
        self._known: dict[int | str, list[str]] = {}  # Of groups and worlds

    def broken(self, name: str) -> list[str]:
        """List what has changed since the last good build of a variant; empty if it is intact."""
        entry = self._data["variants"].get(name)
        if entry is None:
            return ["no good build of it is known"]
        return [*self.of_world(entry["world"]), *self._of_groups(entry["groups"])]

    def of_world(self, key: str) -> list[str]:
        """The same of what all variants of a build depend on."""
        if key not in self._known:
            world = self._data["worlds"][key]
            texts = [f"the command line: {' '.join(world['words']) or 'no variables'} then"]
            names = sorted({*world["environ"].items()} ^ {*self._environ.items()})
            texts = texts * (world["words"] != self._words) + [
                f"variable {name} of the environment" for name in dict(names)
            ]
            # What builds remember belongs to what they have made: the one of an archive is not that of the other.
            self._known[key] = [*texts, *changed(self._data["remembered"]), *self._of_groups(world["groups"])]
        return self._known[key]

    def _of_groups(self, keys: Sequence[int]) -> list[str]:
        for key in keys:
            if key not in self._known:
                self._known[key] = changed(self._data["groups"][key])
        return [text for key in keys for text in self._known[key]]


def answer(build: str, argv: Sequence[str]) -> list[str]:
    """List the variants that a command line asks for, if all are intact; empty: SCons must answer."""
    data = load(f"{build}/{NAME}") if NO_STAMPS not in given(argv) else None
    try:
        words = words_of(argv, data["variants"]) if data is not None else None
        if data is None or words is None:
            return []
        checker = Checker(data, words, environment(variables()))
        # What is built when nothing is named may depend on the command line.
        default = (world["default"] for key, world in data["worlds"].items() if not checker.of_world(key))
        asked = [word for word in given(argv) if word in data["variants"]] or [*next(default, ())]
        return [] if any(map(checker.broken, asked)) else asked
    except DAMAGED:
        return []


def in_color(environ: Mapping[str, str], terminal: bool) -> bool:
    """Whether to color lines: on a terminal, unless ``NO_COLOR`` or ``CLICOLOR_FORCE`` decides it."""
    if environ.get("NO_COLOR"):
        return False
    return environ.get("CLICOLOR_FORCE", "0") not in ("", "0") or (terminal and environ.get("TERM") != "dumb")


def say(build: str, argv: Sequence[str], frame: Sequence[str] = ("", "")) -> bool:
    """Print a line for each variant asked for, if all are intact. ``frame``: lines before and after them."""
    names = answer(build, argv)
    if names and not {"-s", "--silent", "--quiet"} & {*given(argv)}:
        colored = "--no-color" not in given(argv) and in_color(variables(), sys.stdout.isatty())
        begin, end = ("\x1b[32m", "\x1b[0m") if colored else ("", "")
        lines = [f"{begin}scons: `{each}' is up to date.{end}\n" for each in dict.fromkeys(names)]
        print(frame[0], *lines, frame[1], sep="", end="", flush=True)
    return bool(names)


if __name__ == "__main__":
    sys.exit(0 if say(sys.argv[1], sys.argv[2:]) else ASK)
