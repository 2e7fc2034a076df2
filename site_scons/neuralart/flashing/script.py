"""Command lines of a flash runner, for people without this package: text, POSIX shell script, Windows batch file."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path, PureWindowsPath

from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass

_BARE = re.compile(r"[A-Za-z0-9_./:=+,@-]+")
_NOT_IN_BATCH = re.compile(r'["\r\n]')


@dataclass(frozen=True)
class Loader:
    """An external loader of STM32CubeProgrammer's folder."""

    name: str  # Its file


@dataclass(frozen=True)
class Beside:
    """A file of ours that lies beside a script."""

    path: Path  # The file
    name: str  # What it is called there


@dataclass(frozen=True)
class Around:
    """A path inside a line of Tcl, quoted as one word."""

    before: str  # Text in front of it
    path: Path  # The path
    behind: str  # Text behind it


Word = str | Path | Loader | Beside | Around


@dataclass(frozen=True)
class CommandScript:
    """Commands in order; paths are those of a plan, relative to the top folder."""

    rows: Sequence[tuple[Word, ...]]  # Program and words of each

    def files(self) -> dict[str, Path]:
        """The files to copy beside a script, by their names there."""
        return {word.name: word.path for row in self.rows for word in row if isinstance(word, Beside)}

    def _uses_loaders(self) -> bool:
        return any(isinstance(word, Loader) for row in self.rows for word in row)

    def lines(self, top: Path, programs: dict[str, str], loaders: Path) -> list[str]:
        """The commands as typed on this machine, with the found programs."""

        def shown(word: Word) -> str:
            if isinstance(word, Loader):
                return str(loaders / word.name)
            if isinstance(word, Around):
                return f"{word.before}{_tcl((top / word.path).as_posix())}{word.behind}"
            if isinstance(word, Beside):
                return str(word.path)
            return str(top / word) if isinstance(word, Path) else programs.get(word, word)

        return [shlex.join(shown(word) for word in row) for row in self.rows]

    def shell(self, top: Path, folder: Path) -> str:
        """Write a POSIX shell script for a folder; script and files may be moved together."""

        def said(word: Word) -> str:
            if isinstance(word, Loader):
                return f'"$loaders"/{shlex.quote(word.name)}'
            word = _plain(top, folder, word)
            return f"./{shlex.quote(_below(top, folder, word))}" if isinstance(word, Path) else shlex.quote(word)

        head = ["#!/bin/sh", "# Written by neuralart. Each command ends the script if it fails.", "set -eu"]
        head.append('cd "$(dirname "$0")"')
        if self._uses_loaders():
            missing = '{ echo "no STM32_Programmer_CLI" >&2; exit 1; }'
            head.append(f"programmer=$(command -v STM32_Programmer_CLI) || {missing}")
            head.append('loaders=$(dirname "$programmer")/ExternalLoader')
        return "\n".join([*head, *(" ".join(said(word) for word in row) for row in self.rows), ""])

    def batch(self, top: Path, folder: Path) -> str:
        """The same for Windows. NeuralArtError: a name cannot be written there."""

        def said(word: Word) -> str:
            if isinstance(word, Loader):
                return f'"%LOADERS%\\{_batch_text(word.name)}"'
            word = _plain(top, folder, word)
            if isinstance(word, Path):
                return f'"{_batch_text(str(PureWindowsPath(_below(top, folder, word))))}"'
            return word if _BARE.fullmatch(word) else f'"{_batch_text(word)}"'

        # Names of files are UTF-8, as all that we write.
        head = ["@echo off", "chcp 65001 >nul", "rem Written by neuralart. Each command ends the script if it fails."]
        head += ["setlocal", 'cd /d "%~dp0"']
        if self._uses_loaders():
            head.append('for %%I in (STM32_Programmer_CLI.exe) do set "LOADERS=%%~dp$PATH:IExternalLoader"')
        rows = [f"{' '.join(said(word) for word in row)} || exit /b 1" for row in self.rows]
        return "\r\n".join([*head, *rows, ""])


def _plain(top: Path, folder: Path, word: str | Path | Beside | Around) -> str | Path:
    """A word that is a text or a path."""
    if isinstance(word, Around):
        return f"{word.before}{_tcl(_below(top, folder, word.path))}{word.behind}"
    return word.name if isinstance(word, Beside) else word


def _below(top: Path, folder: Path, path: Path) -> str:
    try:
        return Path(os.path.relpath(top / path, folder)).as_posix()
    except ValueError as error:
        raise NeuralArtError("it lies on another drive than the script", where=str(path)) from error


def _tcl(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_./:-])", r"\\\1", text)


def _batch_text(text: str) -> str:
    """Within double quotes only a percent sign means something."""
    if _NOT_IN_BATCH.search(text):
        raise NeuralArtError(f"{text!r} cannot stand in a script for Windows", hint="rename the file")
    return text.replace("%", "%%")
