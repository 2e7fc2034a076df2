"""A built tree in a folder of its own, with the verbs that rows of the table of changes need (:mod:`rows`)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.projects import warm_scons
from support.projects.sconsproject import REPO, Result
from support.projects.torture import LONG

VARIANT = "digits-n6"
VARIANTS = """\
schema: 1
default: digits-n6
networks:
  digits: {model: models/digits/digits.tflite, vectors: models/digits/vectors}
variants:
  digits-n6: {title: Digits, board: stm32n6570-dk, network: digits}
"""
MAIN = "firmware/app/main.c"
MODEL = "models/digits/digits.tflite"
DATABASE, LIST = ".sconsign.dblite", "made.sha256"
# A string of the firmware, in place of which another of the same length stands.
TEXT, OTHER, THIRD = '"reference application"', '"seference application"', '"deference application"'
# Times of files: years ago, as in an archive with fixed times, and that of files in a wheel.
OLD, WHEEL = 1_577_880_000, 315_532_800
_SECONDS = 300
# What `./sconsw` asks first: its own program, which the shell hands to Python.
_QUESTION = re.compile(r"^    answer='(.+?)'", re.M | re.S)
_KEPT = frozenset(("__pycache__", "compile_commands.json"))


@dataclass
class Tree:
    """A project with what lies around it.

    Attributes:
        base: Folder of all of it.
        env: The environment of each call, all of it.
        words: What is asked for.
        jobs: Of each build.
        umask: Of each call.
        stdin: What a call may read there.
        own: Files of the build folder that the user has put there: a clean build has them, too.
        cleared: What else is to be removed before a clean build: caches.
        alone: The clean result is that of this tree alone: it depends on more than contents of files and environment.
    """

    base: Path
    env: dict[str, str]
    words: list[str] = field(default_factory=lambda: [VARIANT])
    jobs: int = 2
    umask: int = 0o022
    stdin: bytes = b""
    own: list[str] = field(default_factory=list)
    cleared: list[Path] = field(default_factory=list)
    alone: bool = False
    ends: list[Callable[[], object]] = field(default_factory=list)  # What must be stopped when the row is done

    @property
    def root(self) -> Path:
        """The project."""
        return self.base / "tree"

    @property
    def outside(self) -> Path:
        """A folder beside the project."""
        return self.base / "outside"

    def path(self, name: str) -> Path:
        """A file of the project; ``../outside/x``: one beside it."""
        return Path(os.path.normpath(self.root / name))

    # ---- files -----------------------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        """Its text."""
        return self.path(name).read_text("utf-8")

    def write(self, name: str, text: str | bytes, when: float | None = None) -> Path:
        """Make a file, or other contents of it in place; ``when``: its time."""
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        if when is not None:
            os.utime(path, (when, when))
        return path

    def edit(self, name: str, old: str = TEXT, new: str = OTHER, *, keep: bool = False) -> None:
        """Change a text in place; ``keep``: the file gets its time back."""
        text = self.read(name)
        assert old in text, f"{old!r} is not in {name}"
        with self.kept_time(name) if keep else contextlib.nullcontext():
            self.write(name, text.replace(old, new, 1))

    def flip(self, name: str, at: int = -1, *, keep: bool = True) -> None:
        """Change a bit of the byte ``at``, in place."""
        path = self.path(name)
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        with self.kept_time(name) if keep else contextlib.nullcontext():
            path.write_bytes(data)

    @contextlib.contextmanager
    def kept_time(self, name: str) -> Iterator[None]:
        """What is done to the file leaves its time as it is."""
        before = self.path(name).stat()
        yield
        os.utime(self.path(name), ns=(before.st_atime_ns, before.st_mtime_ns))

    def age(self, *names: str, when: float = OLD) -> None:
        """Give files another time; of a folder: all of it, and links themselves."""
        for name in names:
            path = self.path(name)
            for each in [path, *(path.rglob("*") if path.is_dir() and not path.is_symlink() else ())]:
                os.utime(each, (when, when), follow_symlinks=False)

    def one(self, pattern: str) -> str:
        """The name of the one file of a pattern."""
        (path,) = self.root.glob(pattern)
        return path.relative_to(self.root).as_posix()

    def copy(self, source: str, target: str) -> None:
        """A file or a folder, with its times and links, as ``cp -a``; what was there goes."""
        self.remove(target)
        self.path(target).parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", self.path(source), self.path(target)], check=True)

    def move(self, source: str, target: str) -> None:
        """Rename; a file that was there goes, as with ``mv``."""
        self.path(source).replace(self.path(target))

    def remove(self, name: str) -> None:
        """A file, a link or a folder, if it is there."""
        path = self.path(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def link(self, name: str, target: str) -> None:
        """A symbolic link, also in place of a file or another link."""
        self.remove(name)
        self.path(name).symlink_to(target)

    # ---- calls -----------------------------------------------------------------------------------------------

    def call(self, words: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        """Run a program in the project."""
        more = {"capture_output": True, "text": True, "timeout": _SECONDS, "umask": self.umask, **options}
        given = {"stdin": subprocess.DEVNULL} if not self.stdin else {"input": self.stdin.decode()}
        return subprocess.run(words, cwd=self.root, env=self.env, **{**given, **more})  # type: ignore[call-overload]

    def git(self, *words: str) -> None:
        """Run git there; nobody's own settings count."""
        who = ["-c", "user.name=nobody", "-c", "user.email=nobody@localhost", "-c", "init.defaultBranch=a"]
        done = self.call(["git", *who, *words])
        assert done.returncode == 0, done.stderr

    def scons(self, *words: str) -> Result:
        """Build as ``./sconsw`` does when it has no answer."""
        args = ["-Q", f"-j{self.jobs}", *(words or self.words)]
        if not (LONG or self.stdin or self.umask != 0o022 or any(name.startswith("PYTHON") for name in self.env)):
            return Result(*warm_scons.run(args, self.root, self.env, _SECONDS))
        done = self.call([sys.executable, "-m", "SCons", *args])
        return Result(done.returncode, done.stdout, done.stderr)

    def build(self) -> None:
        """A build that must succeed."""
        done = self.scons()
        assert done.code == 0, f"the build that the row begins with failed:\n{done.out}{done.err}"

    def start(self, *words: str) -> Running:
        """A build that goes on while the row does something."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "SCons", "-Q", f"-j{self.jobs}", *(words or self.words)],
            cwd=self.root,
            env=self.env,
            text=True,
            start_new_session=True,
            **options,  # type: ignore[call-overload]
        )
        running = Running(process)
        self.ends.append(running.kill)
        return running

    def ask(self) -> bool:
        """If the front door says that what is asked for is up to date: the first thing that ``./sconsw`` does."""
        found = _QUESTION.search((REPO / "sconsw").read_text("utf-8"))
        assert found is not None, "sconsw asks nothing first"
        done = self.call([sys.executable, "-I", "-S", "-c", found[1], *self.words])
        said = done.stdout.splitlines()
        assert done.returncode or (said and all(" is up to date." in line for line in said)), done.stdout
        return done.returncode == 0

    # ---- results ---------------------------------------------------------------------------------------------

    def products(self) -> dict[str, str]:
        """What stands in the build folder, by name, as hashes; without hidden files, which remember something.

        Of a list of what was made, each line counts by itself: it has more lines the more has been asked for.
        """
        found = {}
        for folder, folders, names in os.walk(self.root / "build"):
            folders[:] = sorted(each for each in folders if each[0] != ".")
            for name in (*names, *folders):
                path = Path(folder, name)
                if name[0] == "." or (path.is_dir() and not path.is_symlink()):
                    continue
                where = path.relative_to(self.root / "build").as_posix()
                if path.is_symlink():
                    found[where] = f"link to {path.readlink()}"
                elif name == LIST:
                    lines = path.read_text("utf-8", "replace").splitlines()
                    found |= {f"{where}: {line[66:]}": line[:64] for line in lines}
                else:
                    found[where] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def identity(self) -> str:
        """A hash of all that decides about a clean build; the tree's own place does not count."""
        lines = [repr((self.words, self.umask, self.jobs, self.stdin))]
        lines += [f"{name}={text}" for name, text in sorted(self.env.items())]
        lines += [
            f"{name} {hashlib.sha256(self.path(name).read_bytes()).hexdigest()}"
            for name in self.own
            if self.path(name).is_file()
        ]
        for folder, folders, names in os.walk(self.base):
            inside = Path(folder) == self.root
            folders[:] = sorted(each for each in folders if each not in _KEPT and not (inside and each == "build"))
            for name in sorted((*names, *folders)):
                path = Path(folder, name)
                if name in _KEPT or name.startswith(DATABASE) or (path.is_dir() and not path.is_symlink()):
                    continue
                where = path.relative_to(self.base).as_posix()
                known = str(path.readlink()) if path.is_symlink() else hashlib.sha256(path.read_bytes()).hexdigest()
                lines.append(f"{where} {path.lstat().st_mode:o} {known}")
        text = "\n".join(lines).replace(str(self.base), "")
        return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

    def clear(self) -> None:
        """Leave nothing that a build has made, but what the user has put into the build folder."""
        kept = {name: self.path(name).read_bytes() for name in self.own if self.path(name).is_file()}
        self.remove("build")
        for path in (*self.root.glob(f"{DATABASE}*"), *self.cleared):
            self.remove(str(path))
        for name, data in kept.items():
            self.write(name, data)

    def expect(self, text: str, name: str = "build/digits-n6/firmware.bin") -> None:
        """A text is in what was built."""
        assert text.strip('"').encode() in self.path(name).read_bytes(), f"{text!r} is not in {name}"


class Running:
    """A build in a process group of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.lines: list[str] = []

    def until(self, text: str) -> None:
        """Wait for a line with a text, or the end."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"no line with {text!r}: {''.join(self.lines)}")

    def end(self) -> int:
        """Wait for it; returns the exit code."""
        output = self._process.stdout
        if output is not None and not output.closed:
            self.lines += output.readlines()
            output.close()
        return self._process.wait(_SECONDS)

    def kill(self) -> None:
        """SIGKILL of all of it, if it still runs."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self.end()
