"""Lets one SCons at a time use a build folder; another one waits, and names the first."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import SCons.Node.FS
import SCons.SConsign
import SCons.Script

from neuralart.errors import NeuralArtError
from neuralart.files import is_abandoned, write_text
from neuralart.scons.paths import COMPILER_CACHE, STAMPS, TOOLCHAIN_CACHE, build_dir
from neuralart.text.console import say

NAME, OWNER = ".scons.lock", ".scons.owner"
_CACHES = (TOOLCHAIN_CACHE, COMPILER_CACHE, STAMPS)
_held: set[Path] = set()
_remember = SCons.SConsign.write


def _remember_or_say() -> None:
    """Let SCons write what the next build must know. SystemExit: it cannot; one line has said so."""
    try:
        _remember()
    except OSError as error:
        for file in SCons.SConsign.DB_sync_list:
            file._needs_sync = False  # Else it tries again at the end, and says it as a program does
        what = f"cannot write: {error.strerror} (is the disk full? The next build makes again what this one made)"
        say(f"scons: *** {SCons.SConsign.current_sconsign_filename()}: {what}", file=sys.stderr)
        sys.exit(2)


def take(env: Any) -> None:
    """Lock the build folder until this process ends; calls that only look (``-n``, ``-q``, ``-h``) do not wait.
    NeuralArtError: another process has it and ``NEURALART_WAIT`` is false, or the folder cannot be written.
    """
    # An environment outside of a SConstruct builds nothing either.
    if not SCons.Script.sconscript_reading or any(env.GetOption(name) for name in ("no_exec", "question", "help")):
        return
    folder = Path(env.Dir("#").abspath) / build_dir(env)
    if folder in _held:
        return
    from filelock import FileLock, Timeout

    lock, owner = FileLock(folder / NAME, poll_interval=0.1), folder / OWNER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            who = f"process {_read(owner)}, which builds in {build_dir(env)}"
            if not env["NEURALART_WAIT"]:
                raise NeuralArtError(f"another SCons is at work: {who}", hint="wait until it has ended") from None
            say(f"scons: waiting for {who}", flush=True)
            lock.acquire()
        _take_over(env, folder, owner)
    except OSError as error:
        hint = "is the folder writable?"
        raise NeuralArtError(f"cannot write: {error.strerror or error}", where=str(folder), hint=hint) from error
    _held.add(folder)
    SCons.SConsign.write = _remember_or_say
    atexit.register(_release, lock, folder)
    if env.GetOption("clean"):
        atexit.register(_tidy, env.fs.Dir(str(folder)), folder)  # before the release: the last one is called first


def _take_over(env: Any, folder: Path, owner: Path) -> None:
    """Name this process as the owner. OSError, NeuralArtError: the folder cannot be read or written."""
    since = owner.stat().st_mtime_ns if owner.is_file() else None
    if since is not None:
        _doubt(env, folder, since)
    write_text(owner, f"{os.getpid()}\n")
    if since is not None:
        # If this process is killed as well, the next one doubts what either of them wrote.
        os.utime(owner, ns=(since, since))


def _doubt(env: Any, folder: Path, since: int) -> None:
    """Make SCons forget files that a killed SCons wrote: what it remembers of them is older than they are. SCons
    remembers what its targets were made of only when it ends. If the sources then get their old contents back, the
    targets of the killed build would pass for those of the build before.
    """
    for here, _, names in os.walk(folder):
        states = ((name, Path(here, name).lstat()) for name in names)
        # A copy keeps the time of its contents: the time of its own change tells.
        new = [name for name, state in states if max(state.st_mtime_ns, state.st_ctime_ns) >= since]
        if new:
            remembered = env.fs.Dir(here).sconsign()
            for name in new:
                remembered.dirty |= remembered.entries.pop(name, None) is not None
                if is_abandoned(name):  # No step may write there again
                    Path(here, name).unlink(missing_ok=True)


def _read(owner: Path) -> str:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return owner.read_text("ascii").strip() or "?"
    return "?"


def _tidy(node: Any, folder: Path) -> None:
    """After ``scons -c``: no empty folder of a target stays, and what is known of tools goes with the last file."""
    for name, child in node.entries.items():
        if name not in (".", "..") and isinstance(child, SCons.Node.FS.Dir):
            here = Path(child.get_abspath())
            _tidy(child, here)
            with contextlib.suppress(OSError):
                here.rmdir()
    with contextlib.suppress(OSError):
        left = {path.name for path in folder.iterdir()}
        if OWNER in left and left <= {NAME, OWNER, *_CACHES}:
            for name in _CACHES:
                (folder / name).unlink(missing_ok=True)


def _release(lock: Any, folder: Path) -> None:
    # Deleted while it is locked: a process that waits for this file sees that it lost its name, and starts anew.
    for path in (folder / OWNER, folder / NAME):
        with contextlib.suppress(OSError):
            path.unlink()
    lock.release()
    with contextlib.suppress(OSError):
        folder.rmdir()  # a build folder in which nothing was made goes as it came
