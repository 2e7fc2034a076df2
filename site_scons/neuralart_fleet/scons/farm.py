"""Heavy steps on a farm (``execute:``): our commands, what they read and make. This package's code goes there, too."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sys
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from neuralart import plugins
from neuralart.errors import NeuralArtError
from neuralart.flashing import plan
from neuralart.plugins.origins import own_files
from neuralart.resources import PACKAGE
from neuralart.scons import commands, paths
from neuralart.scons.network.compilers import SLOTS
from neuralart.scons.paths import named, place
from neuralart.scons.registry import registry_of
from neuralart_fleet.config import FarmConfig, chosen
from neuralart_fleet.remote.client import Farm, FarmStep
from neuralart_fleet.remote.messages import Digest

_COMPILES = {"": "reference", "stedgeai": "vendor"}
# Options with a file or folder that is read, which may have an address behind it.
_READ = ("--model", "--failures", "--elf", "--external", "--plan", "--network", "--vectors", "--input", "--labels")
_READ_TOO = ("--model-params", "--board-file", "--memory-pool")
_HOME = ".neuralart-package"  # Where this package is there, below the folder in which a command runs
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": _HOME, "PYTHONUTF8": "1"}
_MARK = "<neuralart>"  # Stands for the package's own folder
_CODE = f"""import sys; from neuralart.cli import main; from neuralart.resources import PACKAGE
sys.exit(main([word.replace("{_MARK}", str(PACKAGE)) for word in sys.argv[1:]]))"""
_slots = threading.Semaphore(SLOTS)  # As SCons has them where there is no farm


class FarmSteps(Farm):
    """Runs commands there, or as they are run here."""

    _told = False  # Why the farm is not used for a step; one line of that is enough

    def spawn(self, plain: Any, targets: Sequence[Any], env: Any, *call: Any) -> int:
        """Run a command of some targets, in their environment. ``call``: what SCons calls ``SPAWN`` with."""
        argv, done = paths.words_of(call[3]) or [], None
        ours, kind = argv[1:3] == ["-m", "neuralart"], _kind(argv)
        if kind in self._config.steps or not ours:
            try:
                if not ours:
                    raise ValueError("its command is not 'python -m neuralart ...' alone")
                if code := [what for what in ("operators", "boards") if plugins.code_of(what)]:
                    raise ValueError(f"plugins bring {' and '.join(code)}, and their code is not sent")
                done = self.run(self._step(kind, argv[3:], targets, env), Path(env.Dir("#").abspath))
            except (NeuralArtError, OSError, ValueError) as error:
                with self._lock:
                    told, self._told = self._told, True
                if not told:
                    self._tell(f"{targets[0]} is done here, and others like it: {error}")
        if done is None:
            with _slots if kind == "vendor" or not ours else contextlib.nullcontext():
                return int(plain(*call))
        print(done[1], end="", flush=True)
        print(done[2], end="", file=sys.stderr, flush=True)
        return done[0]

    def interrupted(self) -> bool:
        """SCons's handler only tells its jobs, which it holds in a default."""
        jobs, *_ = getattr(signal.getsignal(signal.SIGINT), "__defaults__", None) or [None]
        return bool(getattr(jobs, "were_interrupted", bool)())

    def _step(self, kind: str, words: Sequence[str], targets: Sequence[Any], env: Any) -> FarmStep:
        """What goes there. ValueError: It reads something that is neither in the tree nor in this package, or a name is
        not UTF-8.
        """
        paths = [place(node) for target in targets for node in target.children() if hasattr(node, "duplicate")]
        pairs = list(itertools.pairwise(words))
        for option, word in pairs:
            if option in (*_READ, *_READ_TOO) and not word.startswith("["):  # Labels, else a path
                paths += _below(Path(word)) or _below(Path(word.rpartition("@")[0] or word))
            if option == "--plan":
                paths += [Path(write.file) for write in plan.parse(Path(word).read_text("utf-8"), word).writes]
            if option == "--board":
                paths += map(Path, registry_of(env).board(word).files)
        words = [word.replace(str(PACKAGE), _MARK) for word in words]
        places = {named(env, path): path for path in paths if path.is_file()}
        outside = {name for name in places if name.startswith("/")} - {str(path) for path, _ in _shipped().values()}
        outside |= {part for word in words for part in word.replace("@", "=").split("=") if part.startswith("/")}
        if outside:
            raise ValueError(f"it reads {min(outside)}, which is neither in this tree nor in this package")
        if broken := [name for name in (*places, *words) if name.encode("utf-8", "replace").decode() != name]:
            raise ValueError(f"a farm takes names in UTF-8 only, and {broken[0]!a} is none")
        files = {name: (path, Digest.of_file(path)) for name, path in places.items() if not name.startswith("/")}
        made = [] if kind == "run" else [node.get_internal_path() for node in targets]
        logs = [f"{targets[0].dir}/.vendor/{name}.txt" for name in ("log", "command") if kind == "vendor"]
        logs += [word for option, word in pairs if option == "--junit"]
        variables = _ENVIRONMENT | dict(self._config.environment)
        return FarmStep(
            ["python3", "-B", "-c", _CODE, *words], variables, files | _shipped(), made, logs, anew=kind == "run"
        )


def _kind(argv: Sequence[str]) -> str:
    """Which step a command is, as ``steps`` of ``execute:`` calls it, or something else."""
    if argv[1:4] != ["-m", "neuralart", "compile"]:
        return "".join(argv[3:4]) if argv[1:3] == ["-m", "neuralart"] else ""
    return _COMPILES.get(argv[argv.index("--compiler") + 1] if "--compiler" in argv else "", "")


def _below(path: Path) -> list[Path]:
    """A file, or all of a folder; nothing: There is no such thing."""
    return [each for each in (path, *path.rglob("*")) if each.is_file()]


@cache
def _shipped() -> dict[str, tuple[Path, Digest]]:
    return {f"{_HOME}/{name}": (path, Digest.of_file(path)) for name, path in own_files()}


def use(said: FarmConfig | None) -> list[Any]:
    """Use the farm that variants.yaml (``said``) or the process names. NeuralArtError: It cannot be used so."""
    config = chosen(said, os.environ, FarmConfig)
    if config and os.name != "posix":
        print(f"scons: farm {config.url} is not used: steps are sent from POSIX systems only")
        config = None
    commands.FARM[:] = [FarmSteps(config, os.environ)] if config else []
    return commands.FARM
