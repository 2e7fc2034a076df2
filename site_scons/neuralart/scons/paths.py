"""Paths in commands: relative where that is possible, so that equal trees give equal command texts."""

from __future__ import annotations

from collections import UserList
from functools import cache
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from SCons.Subst import Literal

from neuralart.errors import NeuralArtError
from neuralart.patterns import later
from neuralart.resources import PACKAGE


class LiteralWord(Literal):
    """A word that SCons neither expands nor leaves to the shell, whatever it holds."""

    def for_signature(self) -> str:
        """In the signature, SCons would look for its own marks ``$(`` and ``$)``."""
        return str(self).replace("$", "<dollar>")


# What is remembered of tools, in the build folder; made anew where it is missing.
TOOLCHAIN_CACHE, COMPILER_CACHE, STAMPS = ".toolchain.json", ".stedgeai.json", ".stamps.json"
# Every command of a build names it.
_FOLDER = later(r"[\w .,+@=/-]+")


def top(env: Any) -> Path:
    """Folder of the top SConstruct: where commands run."""
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
    """A name for a path that is the same on every machine, also for files of this package outside the tree."""
    text = named(env, path)
    if Path(text).is_absolute() and path.resolve().is_relative_to(PACKAGE):
        return f"neuralart:{path.resolve().relative_to(PACKAGE).as_posix()}"
    return text


def anchored(value: Any) -> Any:
    """A path relative to the top folder, whichever SConscript is being read; nodes stay what they are."""
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
    """A file or folder of the user's as commands find it; empty stays empty."""
    return named(env, Path(env.fs.Entry(text).srcnode().get_abspath())) if text else ""


def readable(node: Any) -> Path:
    """The path of a source file, for opening it now: short below the current folder, else absolute."""
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
