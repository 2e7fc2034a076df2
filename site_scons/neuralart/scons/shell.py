"""Words of a command, and the text of it that a shell reads: what quotes, what takes quotes off, what starts a command.

SCons joins the words of a command to one text for ``sh -c``. It quotes literals as ``ESCAPE`` says, and puts ``"``
around other words with blanks. Who looks at a command takes this text apart as a shell does (:func:`words_of`): then
it is the same list of words however it was quoted. Where a shell has nothing else to do, none is started.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any

from neuralart.patterns import later

quote = shlex.quote
"""``ESCAPE`` of our commands on POSIX: SCons's own leaves a backquote to the shell."""

# Quotes as in POSIX.1-2017, Shell Command Language, 2.2. Letters outside ASCII mean nothing to a shell, nor do bytes
# that are no UTF-8, which Python holds as surrogates.
_PLAIN = "[a-zA-Z0-9_@%+=:,./\u0080-\U0010ffff-]+"
_QUOTED = r"""'([^']*)'|"((?:[^"\\$`]|\\[^\n])*)"|\\([^\n])"""
_WORD = later(f"(?:{_PLAIN}|{_QUOTED})+")
_IN_QUOTES = later(_QUOTED)
_ESCAPED = later(r'\\(["\\$`])')
_ASSIGNMENT = later(r"[a-zA-Z_][a-zA-Z0-9_]*=")


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
    """``SPAWN`` or ``PSPAWN`` of an environment; :func:`start` instead of SCons's own."""

    def run(sh: str, escape: Any, cmd: str, args: Sequence[str], env: Mapping[str, str], *outputs: Any) -> int:
        return int(start(sh, args, env, *outputs).wait())

    return run if getattr(spawn, "__module__", "") == "SCons.Platform.posix" else spawn
