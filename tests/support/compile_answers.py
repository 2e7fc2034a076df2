"""Answers of the compiler that all builds of a run have in common: what is equal is compiled once.

An answer is found by all that it depends on: the compiler, its words and its folder, the bytes of the source and of
each header that is not the compiler's own, and what the preprocessor makes of them. So a build starts each command that
it finds necessary, and whatever it has overlooked is missing here, too. Only the place of a tree does not count, if the
compiler is told to leave it out of what it writes (``-ffile-prefix-map``): tests of that compile anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

# Of the preprocessor: where lines come from; 3 stands for a header of the compiler's.
_MARKER = re.compile(rb'^# \d+ "([^"<]+)"((?: \d)*)$', re.M)
# Words that make other files or no object, or that an answer depends on in a way that is not looked at; and what is
# compiled sooner than looked up.
_OTHER = re.compile(
    r"@|-O0$|-M|-E$|-S$|-x|-save-temps|-fstack-usage|-g3|-gsplit|--coverage|-fprofile|-fdump|-Wa,|-specs=/"
)
# What changes the answer without a word on the command line.
_VARIABLES = ("COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_PRELOAD")


# Where the answers are; None: everything is compiled.
folder: Path | None = None
_plain: Any = subprocess.Popen
_NOTHING = shutil.which("true")
_SCONS = """\
import os, runpy, sys
sys.path[0] = {place!r}
from support import compile_answers
compile_answers.install({folder!r})
sys.path[0], sys.argv[0] = os.getcwd(), "SCons"
runpy.run_module("SCons", run_name="__main__", alter_sys=True)"""


class _Popen(_plain):  # type: ignore[misc]
    """A command; of a compiler only if nobody has its answer."""

    def __init__(self, args: Any, *more: Any, **options: Any) -> None:
        if folder and _NOTHING and not more and isinstance(args, list) and args:
            if args[0] == sys.executable and "SCons" in args and args[args.index("SCons") - 1] == "-m":
                at = args.index("SCons")
                code = _SCONS.format(place=str(Path(__file__).parents[1]), folder=str(folder))
                args = [*args[: at - 1], "-c", code, *args[at + 1 :]]
            elif all(isinstance(word, str) for word in args) and _answered(folder, args, options):
                args = [_NOTHING]
        super().__init__(args, *more, **options)


def install(kept: Path | str) -> None:
    """From now on, compilers that this process starts are asked for what is not there, and answers are kept there.

    It holds for each ``python -m SCons`` that it starts, too.
    """
    global folder
    folder = Path(kept)
    subprocess.Popen = _Popen  # type: ignore[misc]


def relocatable_objects(otherwise: Path) -> Path:
    """Where relocatable models have their objects: one folder for all models of a run, unless everything is compiled.

    Args:
        otherwise: The folder then.
    """
    return folder.with_name("relocatable") if folder else otherwise


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
    text = _silent([*rest, "-E"], around)
    if text is None or b"incbin" in text:
        return False
    # What -I and -D do is seen in the text; only debug information names the folder.
    others = [word for word in rest if not word.startswith(("-I", "-D"))]
    key = _key([compiler, str(here) if any(word.startswith("-g") for word in rest) else "", *others], text, here)
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


def _key(words: Sequence[str], text: bytes, here: Path) -> str:
    """Stands for all that decides about an object."""
    digest = hashlib.sha256()
    # Comments and blanks move what the debugger shows, and the preprocessor leaves them out.
    files = {name for name, flags in _MARKER.findall(text) if b"3" not in flags.split()}
    parts = ["\0".join(words).encode("utf-8", "surrogateescape"), text]
    for name in sorted(files):
        path = here / os.fsdecode(name)
        parts += [name, path.read_bytes() if path.is_file() else b""]
    for word in words:
        if word.startswith("-ffile-prefix-map="):
            old, _, new = word.partition("=")[2].rpartition("=")
            parts = [part.replace(os.fsencode(old), os.fsencode(new)) for part in parts]
    for part in parts:
        digest.update(f"{len(part)} ".encode() + part)
    return digest.hexdigest()
