"""Answers of the compiler that all builds of a run have in common: what is equal is compiled once.

An answer is found by all that it depends on: the compiler, its words and its folder, the bytes of the source and of
each header that is not the compiler's own, and what the preprocessor makes of them; for files that it has read before,
it is not asked again. So a build starts each command that it finds necessary, and whatever it has overlooked is missing
here, too. Only the place of a tree does not count, if the compiler is told to leave it out of what it writes
(``-ffile-prefix-map``): tests of that compile anew. The compiler itself is hashed once, too.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock

# Of the preprocessor: where lines come from; 3 stands for a header of the compiler's.
_MARKER = re.compile(rb'^# \d+ "([^"<]+)"((?: \d)*)$', re.M)
# Words that make other files or no object, or that an answer depends on in a way that is not looked at; and what is
# compiled sooner than looked up.
_OTHER = re.compile(
    r"@|-O0$|-M|-E$|-S$|-x|-save-temps|-fstack-usage|-g3|-gsplit|--coverage|-fprofile|-fdump|-Wa,|-specs=/"
)
# What changes the answer without a word on the command line.
_VARIABLES = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_PRELOAD", "CPATH", "C_INCLUDE_PATH")
# A text that has another meaning each time, or when a file is there that is not read.
_CLOCK = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__|__has_include")
# Of folders with more names, it takes longer to look than to ask the preprocessor.
_NAMES = 300
# Other ways to say where headers are.
_SEARCH = re.compile(r"-I$|-i|-B|--sysroot|-nostdinc")
_REPO = Path(__file__).parents[3]


# Where the answers are; None: everything is compiled.
folder: Path | None = None
_plain: Any = subprocess.Popen
_plain_digest: Any = hashlib.file_digest
_NOTHING = shutil.which("true")
_SCONS = """\
import os, runpy, sys
sys.path[0] = {place!r}
from support.projects import compile_answers
compile_answers.install({folder!r})
sys.path[0], sys.argv[0] = os.getcwd(), "SCons"
runpy.run_module("SCons", run_name="__main__", alter_sys=True)"""


class _Digest:
    """Of a file that was read before."""

    def __init__(self, kept: str) -> None:
        self.hexdigest = lambda: kept


def _file_digest(file: Any, name: str) -> Any:
    """The hash of what is installed, above all of the compiler, whose hundred megabytes each new build folder reads."""
    if folder is None or not str(file.name).startswith("/usr/") or (of := os.fstat(file.fileno())).st_size < 1 << 16:
        return _plain_digest(file, name)
    path = shared("digests", folder) / f"{name}-{of.st_dev}-{of.st_ino}-{of.st_size}-{of.st_mtime_ns}-{of.st_ctime_ns}"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        new = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
        new.write_text(_plain_digest(file, name).hexdigest(), "utf-8")
        new.replace(path)
    return _Digest(path.read_text("utf-8"))


class _Popen(_plain):  # type: ignore[misc]
    """A command; of a compiler only if nobody has its answer."""

    def __init__(self, args: Any, *more: Any, **options: Any) -> None:
        if folder and _NOTHING and not more and isinstance(args, list) and args:
            if args[0] == sys.executable and "SCons" in args and args[args.index("SCons") - 1] == "-m":
                at = args.index("SCons")
                code = _SCONS.format(place=str(Path(__file__).parents[2]), folder=str(folder))
                args = [*args[: at - 1], "-c", code, *args[at + 1 :]]
            elif all(isinstance(word, str) for word in args) and _answered(folder, args, options):
                if subprocess.PIPE not in (options.get("stdin"), options.get("stdout"), options.get("stderr")):
                    # It has ended, and well: to start a process that does nothing would take longer than the answer.
                    self.args, self.stdin, self.stdout, self.stderr = args, None, None, None
                    self.pid, self.returncode = 0, 0
                    self._communication_started = self._child_created = False
                    return
                args = [_NOTHING]
        super().__init__(args, *more, **options)


def install(kept: Path | str) -> None:
    """From now on, compilers that this process starts are asked for what is not there, and answers are kept there.

    It holds for each ``python -m SCons`` that it starts, too.
    """
    global folder
    folder = Path(kept)
    subprocess.Popen = _Popen  # type: ignore[misc]
    hashlib.file_digest = _file_digest  # type: ignore[assignment]


def shared(name: str, otherwise: Path) -> Path:
    """A folder of this name that all workers of a run have in common; ``otherwise``, while everything is compiled."""
    return folder.with_name(name) if folder else otherwise


def relocatable_objects(otherwise: Path) -> Path:
    """Where relocatable models have their objects: one folder for all models of a run."""
    return shared("relocatable", otherwise)


def objects(name: str, make: Callable[[Path], Sequence[Path]], otherwise: Path) -> list[Path]:
    """What ``make`` compiles into a folder (:func:`shared`): once for all workers of a run."""
    place = shared(name, otherwise)
    listed = place.with_name(f"{place.name}.made")
    with FileLock(f"{place}.lock"):
        if not listed.exists():
            place.mkdir(parents=True, exist_ok=True)
            listed.write_text("".join(f"{path}\n" for path in make(place)), "utf-8")
    return [Path(line) for line in listed.read_text("utf-8").splitlines()]


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Everything is compiled meanwhile: for tests of objects that must not depend on the place of a tree."""
    global folder
    kept, folder = folder, None
    try:
        yield
    finally:
        folder = kept


def _answered(answers: Path, words: list[str], options: Mapping[str, Any]) -> bool:
    """Is the object there? An answer that nobody had is in the folder from now on, unless the compiler complains."""
    env = os.environ if (given := options.get("env")) is None else given
    compiler = _compiler(words[0], env.get("PATH", "")) if words[0].endswith("cc") else ""
    sources = [word for word in words if word.endswith(".c")]
    named = "-o" in words
    if not compiler or not sources or words.count("-c") != 1 or words.count("-o") > 1 or (named and len(sources) > 1):
        return False
    if any(_OTHER.match(word) for word in words) or any(name in env for name in _VARIABLES):
        return False
    here = Path(options.get("cwd") or Path.cwd())
    place = words.index("-o") if named else len(words)
    objects = [words[place + 1]] if named else [f"{Path(source).stem}.o" for source in sources]
    rest = [word for word in words[:place] + words[place + 2 :] if word != "-c"]
    around: dict[str, Any] = {name: options.get(name) for name in ("env", "cwd")}
    # Only debug information names the folder.
    first = [compiler, str(here) if any(word.startswith("-g") for word in rest) else ""]
    read = answers.with_name(f"{answers.name}-read") / _key([*first, *rest], b"", here, [])
    key = _read_before(read, rest, here)
    if not key:
        text = _silent([*rest, "-E"], around)
        if text is None or b"incbin" in text:
            return False
        # What -I and -D do is seen in the text. Comments and blanks move what the debugger shows, and it has none.
        files = sorted({os.fsdecode(name) for name, flags in _MARKER.findall(text) if b"3" not in flags.split()})
        key = _key([*first, *(word for word in rest if not word.startswith(("-I", "-D")))], text, here, files)
        _note(read, key, files, rest, here)
    kept = {here / name: answers / f"{key}-{number}" for number, name in enumerate(objects)}
    if not all(path.exists() for path in kept.values()):
        if _silent(words, around) is None:
            return False
        for made, path in kept.items():
            new = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}")
            shutil.copyfile(made, new)
            new.replace(path)
    else:
        for made, path in kept.items():
            made.unlink(missing_ok=True)
            shutil.copyfile(path, made)
    return True


@functools.cache
def _compiler(name: str, path: str) -> str:
    """What stands for a compiler; empty if it is a script, of which nothing is known."""
    found = shutil.which(name, path=path)
    if found is None:
        return ""
    real = Path(found).resolve()
    with real.open("rb") as file:
        script = file.read(2) == b"#!"
    return "" if script else f"{real} {real.stat().st_size} {real.stat().st_mtime_ns}"


def _silent(words: Sequence[str], around: Mapping[str, Any]) -> bytes | None:
    """The output of a command that ends well and does not complain."""
    with _plain(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **around) as process:
        out, err = process.communicate()
    return None if process.returncode or err else out


def _key(words: Sequence[str], text: bytes, here: Path, files: Sequence[str]) -> str:
    """Stands for all that decides about an object: words, what the preprocessor makes of them, and files."""
    digest = hashlib.sha256()
    parts = ["\0".join(words).encode("utf-8", "surrogateescape"), text]
    for name in files:
        path = here / name
        parts += [os.fsencode(name), path.read_bytes() if path.is_file() else b""]
    for word in words:
        if word.startswith("-ffile-prefix-map="):
            old, _, new = word.partition("=")[2].rpartition("=")
            parts = [part.replace(os.fsencode(old), os.fsencode(new)) for part in parts]
    for part in parts:
        digest.update(f"{len(part)} ".encode() + part)
    return digest.hexdigest()


def _names(folders: Sequence[str], files: Sequence[str], here: Path) -> list[str] | None:
    """Whatever has the name of one of the files, below folders of headers. None: there is too much to look at."""
    wanted, found, seen = {Path(name).name for name in files}, [], 0
    for folder in folders:
        for place, inner, names in os.walk(here / folder):
            seen += len(inner) + len(names)
            if seen > _NAMES:
                return None
            found += [os.path.relpath(Path(place, name), here / folder) for name in names if name in wanted]
    return sorted(found)


def _folders(words: Sequence[str], files: Sequence[str]) -> list[str]:
    """Where headers are looked for."""
    return [
        *(word[2:] for word in words if word.startswith("-I")),
        *sorted({Path(name).parent.as_posix() for name in files}),
    ]


def _note(read: Path, key: str, files: Sequence[str], words: Sequence[str], here: Path) -> None:
    """Remember what the preprocessor has read for these words, so that it need not be asked again."""
    # With -g, the folder itself is among them, and ends with two slashes.
    found = {name: Path(os.path.normpath(here / name)) for name in files if not name.endswith("//")}
    if any(_SEARCH.match(word) for word in words) or not all(
        path.is_file() and not _CLOCK.search(path.read_bytes()) for path in found.values()
    ):
        return
    # In another tree, the same names mean its own files.
    files = [str(path.relative_to(here)) if path.is_relative_to(here) else name for name, path in found.items()]
    names = _names(_folders(words, files), files, here)
    if names is None or any(Path(name).is_absolute() and not Path(name).is_relative_to(_REPO) for name in files):
        return
    rows = json.loads(read.read_bytes()) if read.exists() else []
    read.parent.mkdir(exist_ok=True)
    new = read.with_name(f"{read.name}.{os.getpid()}.{threading.get_ident()}")
    new.write_text(json.dumps([*rows, [files, names, _key(words, b"", here, files), key]]), "utf-8")
    new.replace(read)


def _read_before(read: Path, words: Sequence[str], here: Path) -> str:
    """The key of an answer, if all files are there that the preprocessor has read before, and no other names."""
    for files, names, digest, key in json.loads(read.read_bytes()) if read.exists() else []:
        if _names(_folders(words, files), files, here) == names and _key(words, b"", here, files) == digest:
            return str(key)
    return ""
