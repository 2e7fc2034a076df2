"""Compiles without a start of Python each: every one is a copy of a process that has loaded the compiler.

Loading Python and the compiler takes ten times as long as a small compile. So the first compile of a build starts a
process that loads both, and copies of it become the commands, each with its own words, environment, folder, output and
end: one that crashes is a step that failed. Where processes cannot be copied (Windows), each compile starts Python.
A process that is there anyway makes copies that run virtual boards, too.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from neuralart import jsontext
from neuralart.plugins import origins
from neuralart.scons import paths

# Our packages name modules that import what a compile, and what a run of a virtual board needs.
_COMPILE, _RUN = "compile", "run"


class _Copy:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def wait(self) -> int:
        said = b""
        # It is reset by one that was ended before it has read what it is to do.
        with contextlib.suppress(ConnectionResetError), self._connection, self._connection.makefile("rb") as file:
            said = file.read()
        if not said:
            print("neuralart: the process that compiles was ended", file=sys.stderr)
        return int(said or 1)


class _Server:
    def __init__(self, env: Mapping[str, str], *more: str) -> None:
        self.control, theirs = socket.socketpair()
        self.settings, self._owner = _settings(env), os.getpid()
        words = [sys.executable, "-m", __name__, str(theirs.fileno()), *more]
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # It is not interrupted while it loads
        try:
            with theirs:
                self.process = subprocess.Popen(
                    words, env=env, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
                )
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        atexit.register(self.end)

    def alive(self) -> bool:
        """If it may be; only who started it is told when it ends."""
        return self._owner != os.getpid() or self.process.poll() is None

    def end(self) -> None:
        self.control.close()
        self.process.wait()


_servers: list[_Server] = []
_starting = threading.Lock()


def _settings(env: Mapping[str, str]) -> dict[str, str]:
    """What Python itself reads when it starts."""
    return {name: text for name, text in env.items() if name.startswith("PYTHON")}


def start(env: Mapping[str, str]) -> None:
    """Start a process that imports what compiles and runs need, to be copied for commands with this environment."""
    _servers.append(_Server(env, _RUN))


def end() -> None:
    """End the server processes."""
    while _servers:
        _servers.pop().end()


def begin(words: Sequence[str], env: Mapping[str, str], output: tuple[int, int] = (1, 2)) -> _Copy | None:
    """Run a command in a copy; None: it cannot run in one. ``words``: quoted for a shell; ``output``: file descriptors
    of standard output and error.
    """
    argv = paths.words_of(words) or []
    ours_too = [sys.executable, "-m", "neuralart"] == argv[:3] and hasattr(os, "fork")
    if not ours_too or argv[3:4] not in (["compile"], ["run"] if _servers else []):
        return None
    ours, theirs = socket.socketpair()
    try:
        with theirs, _starting:
            if not _servers or not _servers[-1].alive():
                _servers.append(_Server(env))
            if _servers[-1].settings == _settings(env):
                socket.send_fds(_servers[-1].control, [b"."], [theirs.fileno(), 0, *output])
        # It fails where no process has the other end.
        ours.sendall(json.dumps([argv[3:], str(Path.cwd()), dict(env)]).encode())
        ours.shutdown(socket.SHUT_WR)
    except OSError:
        ours.close()
        return None
    return _Copy(ours)


def spawn(plain: Callable[..., int], sh: str, escape: Any, cmd: str, words: list[str], env: Any) -> int:
    """Run a command in a copy, else as SCons does."""
    return copy.wait() if (copy := begin(words, env)) else plain(sh, escape, cmd, words, env)


def load(more: Sequence[str] = ()) -> None:
    """Import what compiles need; ``more``: further groups, such as ``run``."""
    for name in (_COMPILE, *more):
        for module in origins.of_distribution(f"neuralart.preload_{name}").values():
            importlib.import_module(module)


def _serve(control: socket.socket, more: Sequence[str]) -> None:
    """Make copies until the other end is closed."""
    load(more)
    # Copies share these objects with this process: looking for garbage among them would copy their memory.
    gc.freeze()
    # What a user interrupts are the commands.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    children = []
    while streams := socket.recv_fds(control, 1, 4)[1]:
        child = os.fork()
        if not child:
            control.close()
            signal.signal(signal.SIGINT, interrupt)
            _become(socket.socket(fileno=streams[0]), streams[1:])
        children.append(child)
        for stream in streams:
            os.close(stream)
        # A watcher's lives long.
        children = [child for child in children if not os.waitpid(child, os.WNOHANG)[0]]
    # Their CPU time becomes that of this process.
    for child in children:
        os.waitpid(child, 0)


def _become(connection: socket.socket, streams: Sequence[int]) -> NoReturn:
    """Be the command that is asked for, and say how it ended."""
    from neuralart.cli import main

    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        with connection.makefile("rb") as file:
            argv, folder, env = jsontext.loads(file.read())
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        code = main(argv)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            connection.sendall(str(code).encode())
        os._exit(0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
