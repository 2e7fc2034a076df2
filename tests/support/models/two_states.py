"""A project whose sources go to and fro between two states, for builds that are killed or meet a full disk.

Nothing is compared with what the tree itself has built: each state is built once in a folder of its own.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.projects import sconsproject
from support.projects.sconsproject import Project

VARIANTS = """\
schema: 1
default: [one, moved]
networks:
  digits: {model: models/digits/digits.tflite, vectors: models/digits/vectors}
variants:
  one: {board: stm32n6570-dk, network: digits}
  moved: {board: stm32n6570-dk, network: digits, relocatable: true}
"""
# The weights' address, and sources of the firmware. The model stays: its vectors go with both states.
EDITS = (
    ("site_scons/neuralart/boards/data/pools/stm32n6570-dk.mpool", "0x70380000", "0x70390000"),
    ("firmware/app/host_link.h", "E_PARAMS = 10", "E_PARAMS = 11"),
    ("firmware/app/main.c", '"reference application"', '"the reference application"'),
)
# What a test puts in front of each program; SCons does not hand on the environment.
_HANDED_ON = """\
import os
env["ENV"].update((name, os.environ[name]) for name in os.environ if name.startswith(("LD_PRELOAD", "FAILING_")))
"""
_LIST = re.compile(rb"(?:[0-9a-f]{64}  [^\n]+\n)*")
_LOCKS = (".scons.lock", ".scons.owner")
# What a killed or failing call does. It builds everything as well, to compare all of it.
TARGETS = {
    "build": ["one", "moved"],
    "load": ["one", "moved", "load-moved"],
    "flash": ["one", "moved", "flash-one"],
    "export": ["one", "moved", "export-one"],
    # What it compares with must have been flashed.
    "verify": ["one", "moved", "verify-one"],
}


@dataclass
class TwoStates:
    """The tree, and what clean builds of its two states made.

    Attributes:
        base: Folder of all of it.
        environment: For each SCons.
        state: Of the sources: 0 or 1.
        known: Results of a clean build, by verb and state.
        seconds: How long a verb takes behind its first change, when nothing goes wrong.
    """

    base: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    state: int = 0
    known: dict[tuple[str, int], dict[str, bytes]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.project = self._sources("tree")

    def _sources(self, name: str) -> Project:
        project = sconsproject.copy_sources(self.base / name)
        project.path("variants.yaml").write_text(VARIANTS, "utf-8")
        line = "env = Environment(tools=[])\n"
        project.edit("SConstruct", line, line + _HANDED_ON)
        return project

    def switch(self) -> None:
        """To the other state, in another order of edits each time: nothing but the contents is as it was."""
        self.state = 1 - self.state
        for name, *texts in EDITS:
            self.project.edit(name, texts[1 - self.state], texts[self.state])

    def prepare(self, *verbs: str) -> None:
        """Make what the two states are compared with, and leave the tree built."""
        for state in (1, 0):
            clean = self._sources(f"state{state}")
            for name, *texts in EDITS if state else ():
                clean.edit(name, *texts)
            everything = clean.results()
            for verb in ("build", *verbs):
                clean.run("-j2", *TARGETS[verb], env=dict(self.environment))
                before, everything = everything, clean.results()
                own = {name: data for name, data in everything.items() if name not in before}
                # What a flash holds beside the plan's writes depends on what was written before.
                own.pop("build/one/flash.nor", None)
                self.known[verb, state] = {**self.known.get(("build", state), {}), **own}
        shutil.rmtree(self.project.root)
        clean.root.rename(self.project.root)

    def finish(self, verb: str) -> None:
        """Bring the tree to the present state."""
        self.project.run("-j2", *TARGETS[verb], env=dict(self.environment))

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """SCons in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "SCons", "-Q", "-j2", *words],
            cwd=self.project.root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def files(self, verb: str) -> dict[str, tuple[int, int, int]]:
        """What the file system says of all that is built, without the locks. A verification changes nothing else."""
        found = {}
        for here, _, names in os.walk(self.project.path("build")):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    known = os.lstat(os.path.join(here, name))  # noqa: PTH118 - this runs many times a second
                    found[f"{here}/{name}"] = (known.st_size, known.st_mtime_ns, known.st_ino)
        return {name: each for name, each in found.items() if verb == "verify" or not name.endswith(_LOCKS)}

    def first_change(self, verb: str) -> tuple[float, subprocess.Popen[bytes]]:
        """Start a verb; returns when it has changed a file or has ended, with the time."""
        before = self.files(verb)
        process = self.start(*TARGETS[verb])
        while process.poll() is None and self.files(verb) == before:
            time.sleep(0.05)
        return time.monotonic(), process

    def kill(self, verb: str, chance: random.Random) -> bool:
        """One kill of the whole group; was it in time, and behind the first change?"""
        before = self.files(verb)
        if verb not in self.seconds:
            began, process = self.first_change(verb)
            self.seconds[verb] = (process.wait(), time.monotonic() - began)[1]
            return False
        _, process = self.first_change(verb)
        time.sleep(chance.random() * self.seconds[verb])
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == -signal.SIGKILL and self.files(verb) != before

    def differences(self, verb: str) -> list[str]:
        """Names of files that differ from those of a clean build, once the verb has run to its end."""
        done = self.project.run("-j2", *TARGETS[verb], code=None, env=dict(self.environment))
        if done.code:
            return [f"the next call ends with {done.code}: {done.out}{done.err}"]
        now, wanted = self.project.results(), self.known[verb, self.state]
        now.pop("build/one/flash.nor", None)
        expected = {name for known in self.known.values() for name in known}
        found = sorted(name for name in now if name not in expected or now[name] != wanted.get(name, now[name]))
        found += sorted(wanted.keys() - now.keys())
        if verb == "flash" and self.project.run("verify-one", code=None, env=dict(self.environment)).code:
            found.append("the flash does not hold what the plan says")
        if not found and verb == "build" and self.project.run("-q", code=None, env=dict(self.environment)).code:
            found = ["a second run has something to do"]
        return found

    def halves(self) -> list[str]:
        """Files that are as no state wants them, but for what gcc itself writes and SCons then makes again, the note of
        a set of files that is not whole, and lists of what was made: a step that failed is missing in those.
        """
        known: dict[str, set[bytes]] = {}
        for made in self.known.values():
            for name, data in made.items():
                known.setdefault(name, set()).add(data)
        now = self.project.results()
        ends = (".o", ".elf", ".map", ".scons.lock", "flash.nor", ".neuralart-unfinished")
        others = {name for name in now if now[name] not in known.get(name, ()) and not name.endswith(ends)}
        return sorted(name for name in others if not (name.endswith("made.sha256") and _LIST.fullmatch(now[name])))
