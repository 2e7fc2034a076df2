"""Things that are made once for all variants: base environment, networks, shared objects."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import SCons.Node.Python

from neuralart.boards.types import Board
from neuralart.fingerprint import fingerprint
from neuralart.resources import package_parent
from neuralart.scons import paths
from neuralart.scons.paths import anchored, readable

T = TypeVar("T")

# What a tool that we start may need from the user's environment.
_PASSED_ON = (
    *("PATH", "HOME", "USERPROFILE", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG", "LC_ALL"),
    # An installation that was found when the SConstruct was read must be found again.
    *("STEDGEAI_CORE_DIR", "NEURALART_STEDGEAI_ROOTS", "NEURALART_STEDGEAI_PATIENCE", "NEURALART_FAILURES"),
)


def child_environment(own: dict[str, str]) -> dict[str, str]:
    """The process environment of every command of ours.
    ``own``: ``env["ENV"]`` of the consumer; its values win, its PATH comes before the user's.
    """
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    path = [part for text in (own.get("PATH", ""), env.get("PATH", "")) for part in text.split(os.pathsep) if part]
    env.update(own)
    env["PATH"] = os.pathsep.join(dict.fromkeys(path))
    # A base environment comes here twice.
    given = own.get("PYTHONPATH", "").split(os.pathsep)
    env["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([str(package_parent()), *filter(None, given)]))
    # Messages are UTF-8 on every system, bytecode is written beside the sources as usual.
    env.setdefault("PYTHONUTF8", "1")
    return env


def identity(board: Board) -> str:
    """Hash all that a board says about builds, without the places of its files."""
    return hashlib.sha256(said_by(board).encode()).hexdigest()


def said_by(board: Board) -> str:
    """The board's keys that count; how a probe reaches it (``debug``) does not."""
    return repr(replace(board, where="", files=(), mpool="", profile="", memory_pools="", clocks={}, debug=None))


class Registry:
    """The registry of one root environment. It is no dict, because ``Clone`` copies dicts deeply."""

    def __init__(self, env: Any) -> None:
        self._root = env
        self._made: dict[tuple[str, str], Any] = {}
        #: Reports (``--junit``) that commands write, by target; None: none is asked for.
        self.reports: dict[str, list[Path]] | None = None
        #: Variant of each target that does something instead of making a file.
        self.effects: dict[str, str] = {}
        #: Whether all effects of a variant are declared, or those that are named.
        self.every_effect = True
        #: Files that are as they should be, whatever they are made of, relative to the top folder.
        self.intact_files: Collection[str] = ()
        #: Nodes that were looked at for what is made of them.
        self.watched: set[Any] = set()
        #: What must be there before a node, though the node is not made of it.
        self.prerequisites: dict[Any, list[Any]] = {}

    def once(self, kind: str, key: str, make: Callable[[], T]) -> T:
        """Get the thing of a key; the first call makes it."""
        found = self._made.get((kind, key))
        if found is None:
            found = self._made[(kind, key)] = make()
        return found

    def intact(self, target: str) -> list[Any]:
        """The node of a file that need not be declared; none: it is to be. ``target``: relative to the top folder."""
        return [self._root.fs.File(f"#{target}")] if target in self.intact_files else []

    def known(self, kind: str, key: str) -> Any:
        """Get the thing of a key, or None if it was not made."""
        return self._made.get((kind, key))

    @property
    def base(self) -> Any:
        """An environment without the consumer's C flags, for our own sources."""

        def make() -> Any:
            base = self._root.Clone()
            base["ENV"] = child_environment(dict(base["ENV"]))
            base.Decider("content")  # whatever the consumer's own steps go by
            if os.name == "posix":
                base["ESCAPE"] = paths.quote
            # What declares the target of a name does not ask whose it is.
            base.lookup_list = list(base.lookup_list)
            return base

        return self.once("env", "base", make)

    def requires(self, targets: Any, before: Any) -> None:
        """Call ``Requires``, and remember what SCons forgets when targets are made."""
        for target in self.base.Requires(targets, before):
            self.prerequisites.setdefault(target, []).extend(self.base.arg2nodes(before))

    def board(self, name: str, where: str = "") -> Board:
        """A board, built in or of the user's own files.
        NeuralArtError: There is none of that name, or its file is wrong.
        """
        from neuralart import boards

        files = [readable(node) for node in self.board_files]
        return self.once("board", name, lambda: boards.load(name, files, where))

    def add_board_files(self, files: list[str]) -> None:
        """Add to ``NEURALART_BOARD_FILES``; names are relative to the top folder."""
        self._root.AppendUnique(NEURALART_BOARD_FILES=files)

    @property
    def board_files(self) -> list[Any]:
        """``NEURALART_BOARD_FILES`` as nodes; names are relative to the top folder, whichever SConscript asks."""
        files = self._root["NEURALART_BOARD_FILES"]
        return [self._root.File(anchored(file)) for file in ([files] if isinstance(files, str) else files)]


def registry_of(env: Any) -> Registry:
    """The registry of an environment."""
    found: Registry = env["NEURALART_REGISTRY"]
    return found


_LONGEST = 60


@cache
def fact(value: str, name: str) -> Any:
    """A node for what a target depends on and that is no file. ``--tree`` and ``--debug=explain`` show its words,
    ``name`` in front; of a long value its hash.
    """
    said = value if len(value) <= _LONGEST else hashlib.sha256(value.encode()).hexdigest()[:16]
    # SCons remembers words, and finds the same node for the same words: an equal fact is no new dependency.
    node: Any = SCons.Node.Python.ValueWithMemo(f"{name}: {said}")
    # The generators of RT-Thread's project files ask each node for its path, as of a file that is no copy.
    node.name, node.abspath, node.rfile = name, "neuralart.fact", lambda: node
    return node


def names_value(nodes: Iterable[Any]) -> Any:
    """What a file that names these nodes depends on: to SCons, equal contents under another name are no change."""
    return fact(" ".join(map(str, nodes)), name="names")


def code_value(env: Any, name: str, *rooms: str) -> Any:
    """What depends on code depends on this: :func:`~neuralart.fingerprint.fingerprint` of some rooms."""
    return fact(fingerprint(*rooms), name=f"code of {name}")


def board_value(env: Any, board: Board) -> Any:
    """Make a node of a board's identity."""
    return fact(identity(board), name=f"board {board.name}")
