"""Output of a build: numbered steps; colors and bars on a terminal, else a line now and then."""

from __future__ import annotations

import atexit
import io
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import SCons.Node

from neuralart.scons import commands, fork_server, paths
from neuralart.scons.step_counter import Steps
from neuralart.text import console
from neuralart.text.progress import VARIABLE, Reporter, Work, reported

SHOW = "PRINT_CMD_LINE_FUNC"
"""SCons calls this variable of an environment instead of printing a step."""


class BuildConsole:
    """Prints the steps of a build. It is made at the first step. ``targets``: the nodes asked for; ``show``: what
    environments have whose steps are numbered.
    """

    def __init__(self, targets: list[Any], show: Any) -> None:
        streams = console.output_streams(colored=True)
        terminal = next((each.stream for each in streams if each is sys.stdout and each.isatty()), None)
        # Where errors go elsewhere they stay apart: then commands write for themselves.
        self._captures = terminal is not None and sys.stderr.isatty() and sys.platform != "win32"
        self._reporter = Reporter(terminal or sys.stdout, live=self._captures)
        self._works: dict[int, Work] = {}
        for stream in streams:
            stream.before = self._reporter.hide
        atexit.register(self._reporter.close)
        self._steps = Steps(targets, lambda env: env.get(SHOW) is show)

    def step(self, text: str, target: list[Any], env: Any) -> None:
        """Print a step that begins now."""
        env["SPAWN"] = self._shown(env["SPAWN"])
        with console.WRITING:
            sys.stdout.write(f"{self._steps.next(target[0])} {text}\n")
            alive = lambda: target[0].get_state() == SCons.Node.executing  # noqa: E731
            self._works[threading.get_ident()] = self._reporter.start(text.partition("\n")[0], target[0], alive)

    def _shown(self, spawn: Any) -> Any:
        """A ``SPAWN`` whose output does not get into the way of bars."""
        outer = getattr(spawn, "func", spawn)
        if outer in [farm.spawn for farm in commands.FARM]:  # it does here what is not done there
            return partial(outer, self._shown(spawn.args[0]), *spawn.args[1:])
        return spawn if outer == self._spawn else partial(self._spawn, spawn)

    def _spawn(self, plain: Callable[..., int], sh: str, escape: Any, cmd: str, words: list[str], env: Any) -> int:
        """Run a command of the step that this thread has shown, whose words SCons has quoted. On a terminal its lines
        come by a pipe, so that no bar is in their way.
        """
        direct = paths.direct(plain)
        if direct is not plain:
            plain = partial(fork_server.spawn, direct)
        # What a user has put there, and who prints what a compiler said by itself, gets everything.
        if not self._captures or getattr(plain, "func", None) is not fork_server.spawn:
            return plain(sh, escape, cmd, words, {**env, VARIABLE: "off"})
        color = {"CLICOLOR_FORCE": "1"} if console.in_color(sys.stdout) else {"NO_COLOR": "1"}
        work = self._works.get(threading.get_ident()) or Work("", 0.0)
        own = {**env, **color, VARIABLE: "report"}
        read, write = os.pipe()
        process = fork_server.begin(words, own, (write, write)) or paths.start(sh, words, own, write, write)
        os.close(write)
        with io.TextIOWrapper(io.FileIO(read), encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not reported(line, work):
                    sys.stdout.write(line)
        return process.wait()
