"""What a watcher answers to ``./sconsw`` (:func:`neuralart.intact.watched`): which variants are intact, from memory.

The kernel tells of a change before the call that makes it returns: where nothing has been told since the files were
looked at, they are as they were. inotify is asked by itself here; watchfiles tells neither at once nor of all.
"""
# Thousands of paths, as text:
# ruff: noqa: PTH100, PTH112, PTH114, PTH115, PTH118

from __future__ import annotations

import ast
import contextlib
import ctypes
import os
import platform
import shutil
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from neuralart import intact

# File systems that change without this kernel.
_FAR: tuple[str, ...] = ("9p", "afs", "beegfs", "ceph", "cifs", "drvfs", "fuse", "gfs", "gpfs", "lustre", "nfs", "ocfs")
_FAR += ("prl", "smb", "vboxsf", "virtiofs", "vmhgfs")
# IN_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF, _ONLYDIR
_MASK = 0x2 | 0x4 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200 | 0x400 | 0x800 | 0x1000000
_EVENT = struct.Struct("iIII")  # Watch, mask, cookie, bytes of the name behind it
_SECONDS = 1.0  # within which a question is to be read
_AGAIN = 10.0  # seconds until it is tried again to see what could not be seen


def folders_of(data: dict[str, Any], *more: str) -> dict[str, set[bytes] | None]:
    """Folders in which all happens that may make stamps wrong, and the names in them that count (None: all): files and
    whatever leads to them, links too.
    """
    names: dict[str, set[bytes]] = {}
    todo = [os.path.abspath(path) for path in (*more, *(row[0] for row in (*data["files"], *data["folders"])))]
    done = set()
    while todo:
        path = todo.pop()
        above, name = os.path.split(path)
        if path in done or not name:
            continue
        done.add(path)
        names.setdefault(above, set()).add(os.fsencode(name))
        todo.append(above)
        if os.path.islink(path):
            todo.append(os.path.join(above, os.readlink(path)))
    whole = {os.path.abspath(row[0]) for row in data["folders"]}
    return {path: None if path in whole else names.get(path) for path in {*names, *whole} if os.path.isdir(path)}


def seen(folders: Iterable[str]) -> bool:
    """If this kernel makes all that happens in some folders."""
    if not sys.platform.startswith("linux") or "microsoft" in platform.release():
        return False
    rows = [line.split() for line in Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines()]
    far = tuple(row[1].replace("\\040", " ").rstrip("/") + "/" for row in rows if row[2].startswith(_FAR))
    return not any(f"{path}/".startswith(far) for path in folders)


class _Eyes:
    """Sees if anything happens to what stamps depend on, from now on. ``build``: the build folder."""

    def __init__(self, build: str) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd: int = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._names: dict[int, set[bytes] | None] = {}
        stamps = os.path.join(build, intact.NAME)
        # The stamps first: what they say is what is to be seen.
        self.open = self._fd >= 0 and self._look({os.path.abspath(build): {os.fsencode(intact.NAME)}})
        try:
            folders = folders_of(intact.load(stamps) or {"files": (), "folders": ()}, stamps)
            self.open = self.open and seen(folders) and self._look(folders)
        except (OSError, *intact.DAMAGED):
            self.open = False

    def _look(self, folders: dict[str, set[bytes] | None]) -> bool:
        for path, names in folders.items():
            watch = self._libc.inotify_add_watch(self._fd, os.fsencode(path), _MASK)
            if watch < 0:
                return False
            known = self._names.get(watch, set())  # the same folder by another name
            self._names[watch] = None if names is None or known is None else known | names
        return True

    def still(self) -> bool:
        """If nothing has happened. Events that the kernel has lost are one, too."""
        while self.open:
            try:
                data, at = os.read(self._fd, 1 << 16), 0
            except BlockingIOError:
                break
            while at < len(data):
                watch, _, _, size = _EVENT.unpack_from(data, at)
                name, at = data[at + _EVENT.size : at + _EVENT.size + size].rstrip(b"\0"), at + _EVENT.size + size
                counts = self._names.get(watch)
                if not name or counts is None or name in counts:
                    self.open = False
        return self.open

    def end(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self.open = -1, False


class Answers:
    """Answers by a socket that only this user can open, for as long as it lives. Nothing it cannot do is an error.

    Args:
        build: The build folder.

    Attributes:
        quiet: Held while it works: a process that is copied then would have half of that.
    """

    def __init__(self, build: str) -> None:
        self.folder = Path(build, intact.ANSWERS)
        self.quiet = threading.Lock()
        self._build, self._open = build, False
        self._eyes: _Eyes | None = None
        self._known: dict[str, list[str]] = {}
        self._blind = 0.0  # Since when it cannot see
        if sys.platform.startswith("linux") and not self._another():
            with contextlib.suppress(OSError, AttributeError):
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(mode=0o700, parents=True)
                self._socket = socket.socket(socket.AF_UNIX)
                # Its name from here: that of a socket is short.
                self._socket.bind(str(self.folder / "socket"))
                self._socket.listen(16)
                self._open = True
                threading.Thread(target=self._listen, daemon=True).start()

    def _another(self) -> bool:
        """If another watcher of this tree is alive."""
        with contextlib.suppress(OSError, AttributeError), socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_SECONDS)  # One that is stopped takes no more at some time
            line.connect(str(self.folder / "socket"))
            return True
        return False

    def _listen(self) -> None:
        while True:
            try:
                line = self._socket.accept()[0]
            except OSError:
                return
            with line, contextlib.suppress(OSError, MemoryError, RecursionError, SyntaxError, *intact.DAMAGED):
                line.settimeout(_SECONDS)
                question = b""
                while part := line.recv(1 << 16):
                    question += part
                with self.quiet:
                    names = self._answer(question.decode("utf-8", "surrogateescape"))
                if names:
                    line.sendall("\n".join([*names, "."]).encode())

    def _answer(self, question: str) -> list[str] | None:
        if self._eyes is None or not self._eyes.still():
            self._known.clear()
            if time.monotonic() - self._blind < _AGAIN:
                return None
            if self._eyes is not None:
                self._eyes.end()
            self._eyes = _Eyes(self._build)
            if not self._eyes.open:
                self._blind = time.monotonic()
                return None  # who asks looks himself
        if question not in self._known:
            names = intact.answer(self._build, *ast.literal_eval(question))
            if names is None or not self._eyes.still():
                return names
            self._known[question] = names
        return self._known[question]

    def end(self) -> None:
        """Answer no more questions."""
        if self._open:
            self._open = False
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)  # its thread waits
            self._socket.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            with self.quiet:
                if self._eyes is not None:
                    self._eyes.end()
