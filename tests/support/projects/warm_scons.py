"""SCons without its start: a process that has loaded SCons and what we use makes a copy of itself for each call.

A call does what ``python -W error -m SCons`` does in a folder; a third of the time of a small build is saved. The
package itself is not loaded beforehand: each tree has its own. What Python generates for its dataclasses is compiled
once. Compilers are asked once for what is equal.
"""

from __future__ import annotations

import atexit
import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType
from typing import Any

from support.projects import compile_answers

_LOADED = """\
SCons.Script, SCons.Tool.cc, SCons.Tool.link, SCons.Scanner.C, SCons.CacheDir, SCons.Platform.posix
import yaml, jinja2, filelock, packaging.specifiers, argparse, socket, encodings.utf_8_sig
"""
# Python makes the methods of a dataclass as a text, and compiles it: half of the time that our modules take.
_methods: dict[str, CodeType] = {}
_server: tuple[subprocess.Popen[bytes], socket.socket] | None = None


def _run_method(text: str, *names: Any) -> None:
    """``exec`` of dataclasses, for which equal texts are compiled once."""
    exec(_methods.get(text) or _methods.setdefault(text, compile(text, "<string>", "exec")), *names)


def _learn_methods() -> None:
    """Compile what another process compiles when it loads the package of this repository, as a build does."""
    code = "import dataclasses, json; texts = []\n"
    code += "dataclasses.exec = lambda text, *names: texts.append(text) or exec(text, *names)\n"
    code += "import neuralart.scons.project, neuralart.scons.tool; print(json.dumps(texts))"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3] / "site_scons")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=env, check=True)
    dataclasses.exec = _run_method  # type: ignore[attr-defined]
    for text in json.loads(done.stdout):
        _methods[text] = compile(text, "<string>", "exec")


def serve(control: socket.socket) -> None:
    """Answer requests, one after the other, until the other end is closed."""
    _learn_methods()
    with control, control.makefile("rw", encoding="utf-8") as lines:
        for line in lines:
            request = json.loads(line)
            child = os.fork()
            if child == 0:
                control.detach()
                _become(**request)
            _, status = os.waitpid(child, 0)
            lines.write(f"{os.waitstatus_to_exitcode(status)}\n")
            lines.flush()


def _become(args: list[str], cwd: str, env: dict[str, str], out: str, err: str, timeout: float, answers: str) -> None:
    """Be the process that was asked for. Its time limit is a signal, whose default ends it."""
    import runpy

    import SCons.Script

    signal.setitimer(signal.ITIMER_REAL, timeout)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, os.open(out, flags)), (2, os.open(err, flags))):
        os.dup2(file, number)
        os.close(file)
    time.sleep(0.025)  # longer than the step of the clock of files (stamps.py): what was edited before is older
    SCons.Script.start_time = time.time()
    sys.path[:2], sys.argv = [cwd], ["SCons", *args]
    if answers:
        compile_answers.install(Path(answers))
    sys.dont_write_bytecode = "PYTHONDONTWRITEBYTECODE" in env
    code: object = 1
    try:
        runpy.run_module("SCons", run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = 0 if end.code is None else end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def run(args: Sequence[str], cwd: Path, env: dict[str, str], timeout: float) -> tuple[int, str, str]:
    """Exit code, output and errors of a call. subprocess.TimeoutExpired: it took too long."""
    global _server
    if _server is None or _server[0].poll() is not None:
        ours, theirs = socket.socketpair()
        code = f"import {_LOADED}\nfrom support.projects import warm_scons\nwarm_scons.serve(warm_scons.inherited())"
        path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
        words = [sys.executable, "-W", "error", "-c", code, str(theirs.fileno())]
        started = subprocess.Popen(words, pass_fds=[theirs.fileno()], env={**os.environ, "PYTHONPATH": path})
        theirs.close()
        _server = (started, ours)
        atexit.register(_end, started, ours)
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        request = {"args": [*args], "cwd": str(cwd), "env": env, "out": str(out), "err": str(err), "timeout": timeout}
        request["answers"] = str(compile_answers.folder or "")
        _server[1].sendall((json.dumps(request) + "\n").encode())
        answer = b""
        while not answer.endswith(b"\n"):
            part = _server[1].recv(100)
            if not part:
                raise RuntimeError("the process with SCons has ended")
            answer += part
        if int(answer) == -signal.SIGALRM:
            raise subprocess.TimeoutExpired(["scons", *args], timeout)
        texts = [path.read_text("utf-8") if path.exists() else "" for path in (out, err)]
    return int(answer), texts[0], texts[1]


def inherited() -> socket.socket:
    """The connection that the process was started with."""
    return socket.socket(fileno=int(sys.argv[-1]))


def _end(started: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    started.wait(10)
