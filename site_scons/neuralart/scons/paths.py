"""Paths and words of commands. Paths are relative if possible, so that equal trees give equal commands. All quoting of
words is here.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections import UserList
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import IO, Any

from SCons.Subst import Literal

from neuralart.errors import NeuralArtError
from neuralart.quick import lazy_regex
from neuralart.resources import PACKAGE


class LiteralWord(Literal):
    """A word that neither SCons nor the shell changes."""

    def for_signature(self) -> str:
        """The word in the signature, without SCons's marks ``$(`` and ``$)``."""
        return str(self).replace("$", "<dollar>")


# What is remembered of tools, in the build folder; made anew where it is missing.
TOOLCHAIN_CACHE, COMPILER_CACHE, STAMPS = ".toolchain.json", ".stedgeai.json", ".stamps.json"
# Every command of a build names it.
_FOLDER = lazy_regex(r"[\w .,+@=/-]+")


def top(env: Any) -> Path:
    """The folder of the top SConstruct, where commands run."""
    return Path(env.Dir("#").abspath)


@cache
def _resolved(folder: str) -> Path:
    return Path(folder).resolve()


def named(env: Any, path: Path) -> str:
    """A path as commands and messages name it: below the top folder relative, with slashes. NeuralArtError: there are
    bytes in it that are no UTF-8: SCons has no signature for them.
    """
    try:
        text = path.resolve().relative_to(_resolved(str(env.Dir("#").abspath))).as_posix()
    except ValueError:
        return str(path)
    if not text.isascii() and (shown := text.encode("utf-8", "backslashreplace").decode()) != text:
        raise NeuralArtError("its name has bytes that are no UTF-8", where=shown, hint="rename it")
    return text


def build_dir(env: Any) -> str:
    """``NEURALART_BUILD_DIR``: where everything of ours goes, relative to the top folder, with slashes.
    NeuralArtError: It lies outside the tree: commands and signatures name files relative to the top folder. Or it has
    letters that mean something to a shell.
    """
    text = str(env.subst(str(env["NEURALART_BUILD_DIR"]))).replace("\\", "/").removeprefix("#").rstrip("/")
    path = PurePosixPath(text)
    wrong = path.is_absolute() or PureWindowsPath(text).drive or ".." in path.parts or not _FOLDER.fullmatch(text)
    if not path.parts or wrong:
        hint = "name a folder below the top folder, with letters, digits, blanks and any of _.,+@=-: 'build'"
        raise NeuralArtError(f"NEURALART_BUILD_DIR is {str(env['NEURALART_BUILD_DIR'])!r}", hint=hint)
    return path.as_posix()


def stable(env: Any, path: Path) -> str:
    """A path's name that is equal on every machine, also for files of this package outside the tree."""
    text = named(env, path)
    if Path(text).is_absolute() and path.resolve().is_relative_to(PACKAGE):
        return f"neuralart:{path.resolve().relative_to(PACKAGE).as_posix()}"
    return text


def anchored(value: Any) -> Any:
    """Make a path relative to the top folder, whichever SConscript is being read; nodes stay."""
    if not isinstance(value, (str, PurePath)):
        return value
    text = str(value)
    return text if text.startswith("#") or PurePath(text).is_absolute() else f"#{text}"


def literal(env: Any, value: Any) -> str:
    """The path that a user names (text with variables, a ``pathlib`` path, a node), for ``env.fs``. Whatever stands in
    a path that was found is meant: ``env.File`` would expand it once more.
    """
    if isinstance(value, (list, tuple, UserList)) and len(value) == 1:
        value = value[0]
    if isinstance(value, PurePath):
        return str(value)
    return str(env.subst(value)) if isinstance(value, str) else str(value.get_abspath())


def named_source(env: Any, text: str) -> str:
    """The path of a user's file or folder for commands; empty stays empty."""
    return named(env, Path(env.fs.Entry(text).srcnode().get_abspath())) if text else ""


def readable(node: Any) -> Path:
    """The path of a source to open now: short below the current folder, else absolute."""
    path = Path(node.srcnode().get_abspath())
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def place(node: Any) -> Path:
    """Where commands find a file: SCons's own choice between a copy in a variant_dir and its original. ``str(node)``
    says the same, but relative to the SConscript that is being read.
    """
    if node.has_builder() or node.duplicate or not node.srcnode().exists():
        return Path(node.get_abspath())
    return Path(node.srcnode().get_abspath())


def word(env: Any, path: Path, prefix: str = "") -> list[Any]:
    """A path as words of a command of :mod:`neuralart.scons.messages`. One outside the tree does not count in the
    command's signature. ``path``: the file or folder; what is in it must be a dependency of its own. ``prefix``: put
    before the path in the same word, for example ``default@``.
    """
    text = named(env, path)
    whole = LiteralWord(prefix + text)
    return ["$(", whole, "$)"] if Path(text).is_absolute() else [whole]


def file_words(env: Any, option: str, node: Any, suffix: str = "") -> list[Any]:
    """An option and the path of a node, with a suffix if there is one, as words of a command."""
    path = Path(node.get_abspath())
    return [option, *word(env, path.with_name(path.name + suffix))]


quote = shlex.quote
"""``ESCAPE`` of our commands on POSIX: SCons's own leaves a backquote to the shell."""

# Quotes as in POSIX.1-2017, Shell Command Language, 2.2. Letters outside ASCII mean nothing to a shell, nor do bytes
# that are no UTF-8, which Python holds as surrogates.
_PLAIN = "[a-zA-Z0-9_@%+=:,./\u0080-\U0010ffff-]+"
_QUOTED = r"""'([^']*)'|"((?:[^"\\$`]|\\[^\n])*)"|\\([^\n])"""
_WORD = lazy_regex(f"(?:{_PLAIN}|{_QUOTED})+")
_IN_QUOTES = lazy_regex(_QUOTED)
_ESCAPED = lazy_regex(r'\\(["\\$`])')
_ASSIGNMENT = lazy_regex(r"[a-zA-Z_][a-zA-Z0-9_]*=")


def words_of(args: Sequence[str]) -> list[str] | None:
    """Words that a program gets when a shell reads these, joined by blanks as SCons does it. None: The shell would do
    more than take off quotes (``>``, ``$HOME``, ``*``, ``NAME=value program``), or quotes are not closed.
    """
    text = " ".join(args)
    words = [match[0] for match in _WORD.finditer(text)]
    if not words or _WORD.sub("", text).strip(" \t") or _ASSIGNMENT.match(words[0]):
        return None
    return [_IN_QUOTES.sub(_bare, word) for word in words]


def _bare(match: re.Match[str]) -> str:
    single, double, letter = match.groups()
    return _ESCAPED.sub(r"\1", double) if double is not None else single if single is not None else letter


def start(
    sh: str,
    args: Sequence[str],
    env: Mapping[str, str],
    out: int | IO[Any] | None = None,
    err: int | IO[Any] | None = None,
) -> Any:
    """Start a command as SCons's own ``SPAWN`` does, but without a shell where that has nothing to do.
    ``sh``: ``$SHELL``; one that a user has set reads every command. ``out``, ``err``: where the streams go.
    Returns the ``Popen``.
    """
    words = words_of(args) if sh == "sh" else None
    if words:
        with contextlib.suppress(OSError):  # the shell says what is wrong
            return subprocess.Popen(words, env=env, stdout=out, stderr=err)
    return subprocess.Popen([sh, "-c", " ".join(args)], env=env, stdout=out, stderr=err)


def direct(spawn: Callable[..., Any]) -> Callable[..., int]:
    """Replace SCons's own ``SPAWN`` or ``PSPAWN`` by :func:`start`."""

    def run(sh: str, escape: Any, cmd: str, args: Sequence[str], env: Mapping[str, str], *outputs: Any) -> int:
        return int(start(sh, args, env, *outputs).wait())

    return run if getattr(spawn, "__module__", "") == "SCons.Platform.posix" else spawn
