"""What a watcher answers to ``./sconsw`` (:func:`neuralart.intact.watched`): which variants are intact, from memory.

A question makes a file that the watcher sees among all that changes: when it is seen, so is whatever changed before the
question. Anything that changes in a folder with a file that counts, or in one above it, makes the watcher look at the
files again. So events that the system loses are no matter: it loses them only behind thousands that arrive.
"""

from __future__ import annotations

import ast
import contextlib
import os
import platform
import shutil
import socket
import sys
import threading
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

from neuralart import intact

# File systems whose changes are not all seen on this machine.
_FAR = ("9p", "afs", "ceph", "cifs", "drvfs", "fuse", "lustre", "nfs", "smb", "vboxsf", "virtiofs")
_SECONDS = 1.0  # within which a question is to be read


def folders_of(data: dict[str, Any]) -> set[str]:
    """Folders in which all happens that may make stamps wrong: those of files, behind links too, and all above them."""
    links = {str(Path(row[0]).absolute()) for row in data["files"]}
    found = {os.path.dirname(path) for path in links}  # noqa: PTH120 - thousands of texts
    found |= {str(Path(row[0]).absolute()) for row in data["folders"]}
    found |= {os.path.realpath(path) for path in found}
    found |= {str(Path(path).resolve().parent) for path in links if Path(path).is_symlink()}
    found |= {str(above) for path in list(found) for above in Path(path).parents}
    return {path for path in found if Path(path).is_dir()}


def seen(folders: Iterable[str]) -> bool:
    """If everything that happens in some folders is told to a watcher."""
    forced = os.environ.get("WATCHFILES_FORCE_POLLING") or "microsoft" in platform.release()
    if forced or not sys.platform.startswith("linux"):
        return False
    rows = [line.split() for line in Path("/proc/self/mounts").read_text("utf-8", "surrogateescape").splitlines()]
    far = tuple(row[1].replace("\\040", " ").rstrip("/") + "/" for row in rows if row[2].startswith(_FAR))
    return all(os.access(path, os.R_OK) and not f"{path}/".startswith(far) for path in folders)


class Answers:
    """Answers by a socket that only this user can open, for as long as it lives. Nothing it cannot do is an error.

    Args:
        build: The build folder.
    """

    def __init__(self, build: str) -> None:
        self.folder = Path(build, intact.ANSWERS).absolute()
        self._build, self._open, self._new = build, False, True
        self.busy = False  # with a build: a question would wait too long
        self._known: dict[str, list[str]] = {}
        self._waiting: dict[str, tuple[socket.socket, str]] = {}
        self._watched: set[str] | None = None
        if intact.watched(build, [], {}) is None and not self._another(build):
            with contextlib.suppress(OSError, AttributeError):
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(mode=0o700, parents=True)
                self._socket = socket.socket(socket.AF_UNIX)
                # Its name from here: that of a socket is short.
                self._socket.bind(str(Path(build, intact.ANSWERS, "socket")))
                self._socket.listen(16)
                self._open = True
                threading.Thread(target=self._listen, daemon=True).start()

    @staticmethod
    def _another(build: str) -> bool:
        """If another watcher of this tree is alive."""
        with contextlib.suppress(OSError, AttributeError), socket.socket(socket.AF_UNIX) as line:
            line.connect(str(Path(build, intact.ANSWERS, "socket")))
            return True
        return False

    def begin(self, folders: set[str]) -> None:
        """From now on, what happens in these folders is told to :meth:`see`."""
        self._known.clear()
        self._new = True
        self._watched = folders if self._open and seen(folders) else None

    def _listen(self) -> None:
        for number in count():
            try:
                line = self._socket.accept()[0]
            except OSError:
                return
            try:
                line.settimeout(_SECONDS)
                question = b""
                while part := line.recv(1 << 16):
                    question += part
                mark = self.folder / str(number)
                self._waiting[str(mark)] = (line, question.decode("utf-8", "surrogateescape"))
                if self.busy or self._watched is None:
                    self._waiting.pop(str(mark))[0].close()
                else:
                    mark.touch()
            except OSError:
                line.close()

    def see(self, paths: Iterable[str]) -> bool:
        """Take what has changed, and answer the questions whose files are among it.
        Returns if there are files now that are in no folder that is watched.
        """
        asked, more = [], False
        if self._new:
            self._new = False
            for mark in list(self._waiting):  # made between two watches
                Path(mark).touch()
        for path in paths:
            if path in self._waiting:
                asked.append(self._waiting.pop(path))
                Path(path).unlink(missing_ok=True)
            elif not path.startswith(str(self.folder)):
                self._known.clear()
        for line, question in asked:
            with line, contextlib.suppress(OSError, SyntaxError, *intact.DAMAGED):
                if question not in self._known:
                    names = intact.answer(self._build, *ast.literal_eval(question))
                    more = not folders_of(intact.load(f"{self._build}/{intact.NAME}") or {}) <= (self._watched or set())
                    if names is None or more:
                        continue
                    self._known[question] = names
                line.sendall("\n".join([*self._known[question], "."]).encode())
        return more

    def end(self) -> None:
        """Answer no more questions."""
        if self._open:
            self._socket.shutdown(socket.SHUT_RDWR)  # its thread waits
            self._socket.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            while self._waiting:
                self._waiting.popitem()[1][0].close()
