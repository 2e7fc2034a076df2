"""Which variants are as their last good build left them, by one ``stat`` of each file that the build read or wrote.

Nothing but a little of the standard library is imported: ``python -I -S intact.py BUILD [WORDS]`` answers ``./sconsw``
before SCons is loaded. It ends with 0 when all that is asked is intact, else with :data:`ASK`, without a word.
"""

# Loading pathlib takes longer than all of this:
# ruff: noqa: PTH105, PTH110, PTH116, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import sys
import zlib
from _imp import source_hash
from _json import make_scanner
from marshal import dumps, loads

TYPE_CHECKING = False  # as of typing
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any

NAME = ".stamps.json"
"""In the build folder. A file of the machine it is on: it holds inodes and times."""
FORMAT = 3
DAMAGED = (LookupError, TypeError, ValueError, AttributeError)
"""What stamps raise that are no stamps."""
ANSWERS = ".watch"
"""In the build folder: the folder in which a watcher has its socket (:mod:`neuralart.scons.answers`)."""
_SOON = 0.1  # seconds within which a watcher answers, or is not believed
ASK = 3
"""Exit code: ask SCons."""
NO_STAMPS = "--no-stamps"
"""Option of SCons: every variant that is asked for is declared, and leaves no stamp."""
# Options with which SCons is to answer: it knows the costs of variants, and writes the report.
_FLEET = ("--shard", "--junit")
# Options with which SCons prints what it knows of nodes, or does with them what it is told later: they are declared.
_NODES = ("--tree", "--debug", "--interactive", "--config", "--cache-force", "--cache-populate")
# Options that change what is shown, not what is built; those with a word behind them apart.
_SHOWN = frozenset(
    ("-Q", "-k", "--keep-going", "-s", "--silent", "--quiet", "--no-color", "-w", "--print-directory", NO_STAMPS)
)
_SHOWN_BY = ("--jobs", *_NODES, *_FLEET)
# Variables of terminals, sessions and CI services, which differ from run to run.
_NEUTRAL = frozenset(
    (
        *("_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "LS_COLORS", "NO_COLOR", "CLICOLOR"),
        *("CLICOLOR_FORCE", "HOSTNAME", "LOGNAME", "MAIL", "PS1", "EDITOR", "PAGER", "LESS", "DISPLAY", "WINDOWID"),
        *("WAYLAND_DISPLAY", "INVOCATION_ID", "PYTHONDONTWRITEBYTECODE"),
    )
)
_NEUTRAL_BY = ("SSH_", "XDG_SESSION_", "DBUS_", "GITHUB_", "RUNNER_", "CI_", "PYTEST_", "COV_", "VSCODE_", "TERM_")


def words_of(argv: Sequence[str], targets: Iterable[str]) -> list[str]:
    """What of a command line counts besides its targets. Of ``X=1 X=2`` the last one counts: the order stays."""
    known, left = frozenset(targets), list[str]()
    for before, word in zip(("", *argv), argv, strict=False):
        shown = before in ("-j", "--jobs", *_FLEET) or word in _SHOWN
        shown = shown or word.startswith("-j") or word.partition("=")[0] in _SHOWN_BY
        # Behind an option of the user's, the name of a target may be its value.
        if not shown and (word not in known or (before[:1] == "-" and left[-1:] == [before])):
            left.append(word)
    return left


def _given(argv: Sequence[str], options: tuple[str, ...]) -> bool:
    return any(word.partition("=")[0] in options for word in (*argv, *os.environ.get("SCONSFLAGS", "").split()))


def stampless(argv: Sequence[str]) -> bool:
    """If stamps are neither believed nor left: that is asked for, or the script is one that no stamp can know, of a
    pipe (``-f -``).
    """
    return _given(argv, (NO_STAMPS,)) or any(word[:1] == "-" == word[-1:] for word in argv)


def shows_nodes(argv: Sequence[str]) -> bool:
    """If SCons is to print what it knows of nodes."""
    return _given(argv, _NODES)


def environment(environ: Mapping[str, str]) -> dict[str, int]:
    """A checksum of each variable that may count (no value is kept: some are secrets), and of which Python this is."""
    kept = {name: text for name, text in environ.items() if name not in _NEUTRAL and not name.startswith(_NEUTRAL_BY)}
    kept["(Python)"] = f"{sys.version} {os.path.realpath(os.path.dirname(sys.executable or ''))}"
    return {name: zlib.crc32(f"{len(text)} {text}".encode("utf-8", "surrogateescape")) for name, text in kept.items()}


def state(path: str) -> list[int | None]:
    """Size, times of the last change of contents and of anything (ns), inode; of what is not there: None."""
    try:
        found = os.stat(os.fspath(path))  # A number, of damaged stamps, would be an open file
    except OSError:
        return [None]
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]


def folder_time(path: str) -> int | None:
    """When files came or went (ns), which no program can set; None: it is not there."""
    return (state(path) * 3)[2]


def names_in(folder: str, leave_out: str = "") -> list[str] | None:
    """What a folder holds, without hidden files and ``leave_out`` (the build folder); None: it is not there."""
    try:
        found = os.listdir(folder)
    except OSError:
        return None
    ours = ("__pycache__", "compile_commands.json", leave_out)
    return sorted(name for name in found if not name.startswith(".") and name not in ours)


class _Scanned:  # What ``json.load`` uses, without all that it loads
    strict, object_hook, object_pairs_hook, parse_constant, parse_float, parse_int = True, None, None, None, float, int


def load(path: str) -> dict[str, Any] | None:
    """The stamps; None: there are none that can be read."""
    try:
        with open(path, encoding="utf-8") as file:
            data = make_scanner(_Scanned)(file.read(), 0)[0]  # type: ignore[arg-type]
        return data if data["format"] == FORMAT else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError, StopIteration):
        return None


class Checker:
    """Compares stamps with the disk; looks at each file once. ``data``: as :func:`load` gives it; ``words``: of
    :func:`words_of`; ``environ``: of :func:`environment`. LookupError, TypeError, ValueError, AttributeError: the
    stamps are damaged (from any method).
    """

    def __init__(self, data: dict[str, Any], words: Sequence[str], environ: Mapping[str, int]) -> None:
        self._data, self._words, self._environ = data, list(words), environ
        self._files: dict[int, str] = {}
        self._folders: dict[int, str] = {}
        self._worlds: dict[int, list[str]] = {}

    def intact(self, name: str) -> bool:
        """If the variant is as it was left."""
        row = self._data["variants"].get(name)
        return row is not None and not self.of_world(row["world"]) and not next(self._changed(row), "")

    def broken(self, name: str) -> list[str]:
        """What has changed since the last good build of a variant; nothing: it is intact."""
        row = self._data["variants"].get(name)
        if row is None:
            return ["no good build of it is known"]
        return [*self.of_world(row["world"]), *self._changed(row)]

    def of_world(self, number: int) -> list[str]:
        """What all its variants depend on, and has changed."""
        if number not in self._worlds:
            world = self._data["worlds"][number]
            said = []
            if world["words"] != self._words:
                said.append(f"the command line: {' '.join(world['words']) or 'no options'} then")
            then, now = world["environ"], self._environ
            names = sorted({*then, *now})
            said += [f"variable {name} of the environment" for name in names if then.get(name) != now.get(name)]
            self._worlds[number] = [*said, *self._changed(world)]
        return self._worlds[number]

    def _changed(self, row: dict[str, Any]) -> Iterator[str]:
        known, files = self._files, self._data["files"]
        for number in row["files"]:
            if number not in known:
                path, *then = files[number]
                now = state(path)
                known[number] = "" if now == then else _said(path, then, now)
            if known[number]:
                yield known[number]
        for number in row["folders"]:
            if number not in self._folders:
                self._folders[number] = self._of_folder(*self._data["folders"][number])
            if self._folders[number]:
                yield self._folders[number]

    def _of_folder(self, path: str, then: int | None, names: list[str] | None) -> str:
        # The time of a folder changes when files come or go: then their names tell if one stayed away.
        if folder_time(path) == then or (names is not None and names_in(path, self._data["build"]) == names):
            return ""
        return f"folder {path}: files came or went"


def _said(path: str, then: list[int | None], now: list[int | None]) -> str:
    return f"{path} {'is gone' if now == [None] else 'is new' if then == [None] else 'changed'}"


def answer(build: str, argv: Sequence[str], environ: Mapping[str, int]) -> list[str] | None:
    """The variants that a command line asks for, if all are; None: ask SCons. ``environ``: :func:`environment`."""
    data = load(os.path.join(build, NAME))
    if data is None:
        return None
    try:
        variants = data["variants"]
        checker = Checker(data, words_of(argv, variants), environ)
        # What is built when nothing is named may depend on the command line.
        defaults = (list(row["default"]) for at, row in enumerate(data["worlds"]) if not checker.of_world(at))
        asked = [word for word in argv if word in variants] or next(defaults, [])
        return asked if asked and all(checker.intact(name) for name in asked) else None
    except DAMAGED:
        return None


def watched(build: str, argv: Sequence[str], environ: Mapping[str, int]) -> list[str] | None:
    """What a watcher of this tree answers, with no look at files; None: it does not know, is slow, or there is none."""
    folder = os.path.join(build, ANSWERS)
    try:
        found = os.lstat(folder)
        if found.st_uid != os.getuid() or found.st_mode & 0o170022 != 0o040000:
            return None  # It is no folder that this user alone writes to
        from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket

        line, said = socket(AF_UNIX, SOCK_STREAM), b""
        try:
            line.settimeout(_SOON)
            line.connect(os.path.join(folder, "socket"))
            line.sendall(repr((list(argv), environ)).encode("utf-8", "surrogateescape"))
            line.shutdown(SHUT_WR)
            while part := line.recv(1 << 16):
                said += part
        finally:
            line.close()
        # The dot is the end of an answer: one that is cut has none.
        return said.decode().split("\n")[:-1] if said.endswith(b"\n.") else None
    except (AttributeError, ImportError, OSError, UnicodeError):
        return None


def _again(path: str, question: bytes) -> list[str] | None:
    """The last answer, if the question is the same and all that counted is as it was; else, or if damaged: None."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        names, rows = loads(data[8:]) if data[:8] == source_hash(1, question + data[8:]) else (None, ())
        for name, size, mtime, ctime, inode in rows:
            if ctime is None and not os.path.exists(name):
                continue
            now = os.stat(name)  # Of a folder, only this time counts
            same = size is None or (now.st_mtime_ns == mtime and now.st_size == size and now.st_ino == inode)
            if now.st_ctime_ns != ctime or not same:
                return None
        return names
    except OSError:
        return None


def _anew(path: str, question: bytes, build: str, argv: Sequence[str]) -> list[str] | None:
    """The answer of a watcher, or of the stamps; what was looked at is kept in a form that is read in less time."""
    stamps, sums = f"{build}/{NAME}", environment(os.environ)
    rows: list[Any] = [[stamps, *state(stamps), None, None, None][:5]]
    names = (told := watched(build, argv, sums)) or _again(path, question) or answer(build, argv, sums)
    try:
        data = (None if told or not names else load(stamps)) or {}  # Nothing to keep: the next line ends it
        parts = list(map(data["variants"].__getitem__, names or ()))
        parts += [data["worlds"][part["world"]] for part in parts]
        rows += [[*data["files"][i], None, None, None][:5] for i in {i for part in parts for i in part["files"]}]
        folders = [data["folders"][i] for i in {i for part in parts for i in part["folders"]}]
        kept = dumps((names, [*rows, *([name, None, None, then, None] for name, then, _ in folders)]))
        with open(new := f"{path}.{os.getpid()}", "xb") as file:  # Never through a link
            file.write(source_hash(1, question + kept) + kept)
        os.replace(new, path)
    except (OSError, *DAMAGED):
        pass
    return names


def say(build: str, argv: Sequence[str], frame: Sequence[str] = ()) -> bool:
    """Print a line per variant asked for, if all are intact. ``frame``: round them; then variants must be named."""
    if stampless(argv) or _given(argv, (*_NODES, *_FLEET)):
        return False
    question = repr((sys.version, sys.executable, argv, sorted(os.environ.items()))).encode()
    path = f"{build}/{NAME}.said{source_hash(1, question)[0] % 32}"  # Questions in turns: mostly, each has its own
    names = (not os.path.exists(f"{build}/{ANSWERS}") and _again(path, question)) or _anew(path, question, build, argv)
    if not names or (frame and names[0] not in argv):
        return False
    if not {"-s", "--silent", "--quiet"} & {*argv}:
        lines = [f"scons: `{each}' is up to date.\n" for each in dict.fromkeys(names)]
        print(*frame[:1], *lines, *frame[1:], sep="", end="", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(0 if say(sys.argv[1], sys.argv[2:]) else ASK)
