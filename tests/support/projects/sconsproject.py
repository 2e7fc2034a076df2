"""A project in a folder of its own, built by a real ``scons``, with the verbs that tests of a build need."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

from neuralart.files import write_bytes
from support.projects import compile_answers, warm_scons

REPO = Path(__file__).resolve().parents[3]
# Says to that example where its tool is.
TOOL = f"tool={REPO}"
# What variants.yaml names.
MODELS = ("digits", "mobilenet", "heatmap", "detector")
# What a command of ours prints: a tag in capitals and the file it makes.
_COMMAND = re.compile(
    r"^(NETWORK|CC|LINK|OBJCOPY|IMAGE|MEMORY|BOARD|SOURCES|SUMMARY|PLAN|CHECK|RELOC|MODEL|TABLE|RUN|LOAD|BOOT|FLASH|VERIFY"
    r"|EXPORT|PROFILE|SBOM|REPORT|SIGN|FSBL|BUDGETS|MAKE|CMAKE|CUBEIDE|ELF|VERSIONS|AS|CXX|HEADER|PATCH)"
    r" +(\S+)",
    re.M,
)
_NUMBER = re.compile(r"^\[\d+/\d+\] |^\.\.\. .*\n", re.M)
# What SCons says of a target that is not up to date.
_EXPLAINED = re.compile(r"^scons: (?:(?:re)?building `|Cannot explain why `)", re.M)


@dataclass(frozen=True)
class Result:
    """What a call of scons did."""

    code: int
    raw: str
    err: str

    @property
    def out(self) -> str:
        """What it printed, without the numbers of the steps, and the lines that a slow machine has more."""
        return _NUMBER.sub("", self.raw)

    @property
    def commands(self) -> set[tuple[str, str]]:
        """(tag, target) of the commands that ran."""
        return set(_COMMAND.findall(self.out))

    @property
    def tags(self) -> set[str]:
        """Kinds of commands that ran."""
        return {tag for tag, _ in self.commands}

    @property
    def errors(self) -> list[str]:
        """Lines on stderr that say something; a hint in a line of its own stands in brackets behind its message."""
        said: list[str] = []
        for line in self.err.splitlines():
            if said and line.startswith("  ") and re.match(r"scons: \*\*\* |neuralart[ \w-]*: error: ", said[-1]):
                said[-1] += f" ({line.strip()})"
            elif line.strip():
                said.append(line)
        return said


@dataclass(frozen=True)
class Project:
    """A folder with a SConstruct."""

    root: Path

    def run(self, *args: str, code: int | None = 0, env: dict[str, str] | None = None, timeout: float = 300) -> Result:
        """Call scons; fail the test unless it ends as expected."""
        variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        if hasattr(os, "fork") and not any(name.startswith("PYTHON") for name in env or ()):
            result = Result(*warm_scons.run(["-Q", *args], self.root, variables, timeout))
        else:
            done = subprocess.run(
                [sys.executable, "-W", "error", "-m", "SCons", "-Q", *args],
                cwd=self.root,
                capture_output=True,
                text=True,
                timeout=timeout,
                env=variables,
            )
            result = Result(done.returncode, done.stdout, done.stderr)
        if code is not None:
            assert result.code == code, f"scons {args}: exit {result.code}\n{result.out}\n{result.err}"
        assert "Traceback" not in result.err + result.out, result.err + result.out
        return result

    def run_raw(self, *args: str, env: dict[str, str] | None = None) -> Result:
        """Call scons where the SConstruct itself may be wrong: a traceback is SCons's answer then."""
        words, own = [sys.executable, "-m", "SCons", "-Q", *args], {**os.environ, **(env or {})}
        done = subprocess.run(words, cwd=self.root, env=own, capture_output=True, text=True, timeout=300)
        return Result(done.returncode, done.stdout, done.stderr)

    def on_a_terminal(self, *args: str, **env: str) -> str:
        """What scons writes to a terminal."""
        try:
            import pty

            ours, theirs = pty.openpty()
        except (ImportError, OSError) as error:
            pytest.skip(f"no pseudo terminal on this machine: {error}")
        own = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CLICOLOR_FORCE")}
        words = [sys.executable, "-W", "error", "-m", "SCons", "-Q", *args]
        files = {"stdin": subprocess.DEVNULL, "stdout": theirs, "stderr": theirs}
        with subprocess.Popen(words, cwd=self.root, env={**own, "TERM": "xterm", **env}, **files):
            os.close(theirs)
            said = b""
            try:
                while part := os.read(ours, 65536):
                    said += part
            except OSError:
                pass  # the other end is closed
            os.close(ours)
        return said.decode().replace("\r\n", "\n")

    def up_to_date(self, *args: str) -> None:
        """Nothing at all runs: SCons explains each target that it makes, whatever its command says or does not say.

        It looks for itself: stamps would say that nothing is to be looked at.
        """
        stamps = ["--no-stamps"] if "NeuralArtProject" in self.path("SConstruct").read_text("utf-8") else []
        result = self.run("--debug=explain", *stamps, *args)
        assert result.commands == set(), f"ran {sorted(result.commands)}\n{result.out}"
        assert not _EXPLAINED.search(result.out), result.out

    def files(self, *below: str) -> dict[str, bytes]:
        """All files below some folders, with their bytes."""
        found = {}
        for folder in below:
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file():
                    found[path.relative_to(self.root).as_posix()] = path.read_bytes()
        return found

    def path(self, name: str) -> Path:
        """A file of the project."""
        return self.root / name

    def network_folder(self, variant: str) -> Path:
        """The folder of the one network of a variant that was built."""
        index = json.loads(self.path(f"build/{variant}/index.json").read_text("utf-8"))
        (facts,) = [name for name in index["artefacts"] if name.endswith("/network.json")]
        return self.path(facts).parent

    def results(self) -> dict[str, bytes]:
        """Everything built but what is only remembered for later: answers of the compiler, objects of models."""
        found = self.files("build")
        return {
            name: data
            for name, data in found.items()
            if not name.startswith(
                (
                    *("build/.toolchain.json", "build/.stamps.json", "build/.seen-"),
                    *("build/relocatable/objects/", "build/relocatable/.objects-"),
                )
            )
        }

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a text file."""
        path = self.root / name
        text = path.read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new), "utf-8")


def common(factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this run have in common."""
    base = factory.getbasetemp()
    return base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that one worker of this run fills, and the others find filled. No test changes it.

    Args:
        factory: Knows the folder of this run.
        name: Of the folder.
        make: Fills it; called with a folder that is not there yet. One that fails is tried again by the next worker.
    """
    folder = common(factory) / "shared" / name
    done = folder.with_name(f"{name}.done")
    folder.parent.mkdir(exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            done.touch()
    return folder


# In front of an SConstruct. Only objects: a test of the rest is to see it made.
_STORE = """import SCons.CacheDir as _cache
_retrieve, _push = _cache.CacheDir.retrieve, _cache.CacheDir.push
_cache.CacheDir.retrieve = lambda self, node: str(node).endswith(".o") and _retrieve(self, node)
_cache.CacheDir.push = lambda self, node: _push(self, node) if str(node).endswith(".o") else None
CacheDir({!r})
"""


def _take_over(source: Path, target: Path) -> None:
    """Copy what a store of objects has more than another. What somebody else writes meanwhile has no such suffix."""
    for path in source.glob("*"):
        if path.suffix in (".o", ".json", ".elf", ".map", ".parts") and not (target / path.name).exists():
            write_bytes(target / path.name, path.read_bytes())


def prepare(project: Project, factory: pytest.TempPathFactory, *args: str, timeout: float = 300) -> Result:
    """Build with objects that another tree of this run has compiled, and leave one's own to the others.

    They have the same bytes wherever the tree is: tests/build/steps/test_incremental.py holds that. What a test builds
    by itself is compiled.

    Args:
        project: A tree whose compiler and flags are as they are in this repository.
        factory: Knows the folder of this run; its workers have one in common.
        args: Of scons.
        timeout: Seconds.
    """
    store = common(factory) / "objects"
    script = project.path("SConstruct")
    text = script.read_text("utf-8")
    script.write_text(_STORE.format(str(store)) + text, "utf-8")
    # Those of relocatable models have a store of their own.
    ours = project.path("build/relocatable/objects")
    others = compile_answers.relocatable_objects(ours)
    _take_over(others, ours)
    try:
        return project.run(*args, timeout=timeout)
    finally:
        script.write_text(text, "utf-8")
        _take_over(ours, others)


def shared_objects(factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables for any scons that is started: objects come from the same place as those of :func:`prepare`."""
    folder = common(factory) / "site"
    folder.mkdir(exist_ok=True)
    text = "from SCons.Script import CacheDir, DefaultEnvironment\nDefaultEnvironment(tools=[])\n"
    (folder / "site_init.py").write_text(text + _STORE.format(str(common(factory) / "objects")), "utf-8")
    # SCons takes this variable apart at blanks, and knows no quotes in it. Then everything is compiled anew.
    return {"SCONSFLAGS": f"--site-dir={folder}"} if len(str(folder).split()) == 1 else {}


@cache
def _compile_package() -> None:
    """Bytecode of the package, which copies take with them: no call of scons compiles it again."""
    compileall.compile_dir(REPO / "site_scons", quiet=2)


def _copied(source: Path, target: Path) -> None:
    """A copy of a folder, links and times as they are."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if sys.platform == "linux":
        # It takes half of the time of shutil's, and there are hundreds of copies of two thousand files.
        subprocess.run(["cp", "-aT", source, target], check=True)
    else:
        shutil.copytree(source, target, symlinks=True)


def copy_sources(target: Path, models: Sequence[str] = MODELS) -> Project:
    """This repository's own sources in another folder, with some of its models, without anything built."""
    _compile_package()
    target.mkdir(parents=True, exist_ok=True)
    for name in ("SConstruct", "variants.yaml", "pyproject.toml"):
        shutil.copy2(REPO / name, target / name)
    for name in ("site_scons", "firmware", *(f"models/{model}" for model in models)):
        _copied(REPO / name, target / name)
    return Project(target)


def copy_small(target: Path, variants: str) -> Project:
    """Sources of digits alone, with the kernels that it computes with: to compile all others takes most of a build.

    Args:
        target: A folder that is not there yet.
        variants: Text of variants.yaml.
    """
    project = copy_sources(target, models=("digits",))
    project.path("variants.yaml").write_text(variants, "utf-8")
    for path in project.path("firmware/runtime/kernels").glob("*.c"):
        if path.stem not in ("conv2d", "fully_connected", "pool", "softmax", "add"):
            path.unlink()
    return project


def unoptimized(product: Project) -> Project:
    """Somebody's product, for a test that does not look at its code: the runtime compiles in a quarter of the time."""
    product.edit("SConstruct", "-O2", "-O0")
    return product


def plain_scons(factory: pytest.TempPathFactory, target: Path) -> Project:
    """A built copy of the example of builders alone, with this repository as its tool; it is built once in a run."""

    def make(folder: Path) -> None:
        ignored = shutil.ignore_patterns("build", ".sconsign*", "__pycache__")
        shutil.copytree(REPO / "examples" / "plain-scons", folder, ignore=ignored)
        unoptimized(Project(folder)).run(TOOL)

    return copy_built(Project(once(factory, "plain-scons", make)), target)


def copy_built(source: Project, target: Path) -> Project:
    """A built tree in another folder, times kept."""
    _copied(source.root, target)
    return Project(target)
