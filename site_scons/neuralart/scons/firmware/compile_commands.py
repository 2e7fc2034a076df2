"""``compile_commands.json`` at the top: how each object of each built variant is compiled, for editors.

It is no target: nothing depends on it, so it is no reason to build anything. It is brought up to date when SCons ends,
if objects were built. What other tools wrote into it stays.
"""

from __future__ import annotations

import atexit
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import SCons.Node

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.scons.paths import build_dir, named, place, top
from neuralart.scons.registry import registry_of

NAME = "compile_commands.json"


@dataclass
class _Objects:
    """The objects that were declared, with compiler and flags."""

    path: Path
    folder: str  # Where all of them are, relative to the top folder
    rows: list[tuple[Any, Any, Sequence[str], Sequence[Any]]] = field(default_factory=list)


def note(env: Any, target: Any, source: Any, words: Sequence[str], include: Sequence[Any]) -> None:
    """Remember an object.
    ``words``: compiler, flags and definitions. ``include``: nodes of folders.
    """

    def make() -> _Objects:
        made = _Objects(top(env) / NAME, build_dir(env))
        atexit.register(_at_exit, env, made)
        return made

    registry_of(env).once("compile-commands", "", make).rows.append((target, source, words, include))


def _row(env: Any, target: Any, source: Any, words: Sequence[str], include: Sequence[Any]) -> dict[str, Any]:
    node = env.arg2nodes(source, env.fs.File)[0]
    file, output = named(env, place(node)), named(env, Path(target.get_abspath()))
    folders = [f"-I{named(env, Path(each.get_abspath()))}" for each in include]
    arguments = [*words, *folders, "-o", output, "-c", file]
    return {"directory": str(top(env)), "file": file, "arguments": arguments, "output": output}


def _known(path: Path) -> list[dict[str, Any]]:
    """The rows of the file. ValueError: it is something else."""
    if not path.exists():
        return []
    rows = jsontext.loads(read_bytes(path))
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("no list of objects")
    return rows


def merged(
    known: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]], directory: Path, folder: str
) -> list[dict[str, Any]]:
    """Rows of a file and new ones, in the order of their outputs.

    Rows of objects below ``folder`` (relative to ``directory``) that are not there any more are left out; those of
    other tools stay.
    """
    new = {row["output"]: row for row in made}
    kept = []
    for row in known:
        output = str(row.get("output", ""))
        ours = row.get("directory") == str(directory) and output.startswith(f"{folder}/")
        if not ours or (output not in new and (directory / output).exists()):
            kept.append(row)
    return sorted([*kept, *new.values()], key=lambda row: (str(row.get("output", "")), str(row.get("file", ""))))


def _at_exit(env: Any, objects: _Objects) -> None:
    from SCons.Script import GetOption

    states = {target.get_state() for target, *_ in objects.rows}
    there = objects.path.exists()
    done = {SCons.Node.executed} if there else {SCons.Node.executed, SCons.Node.up_to_date}
    if (not states & done and not (there and GetOption("clean"))) or GetOption("no_exec") or GetOption("question"):
        return
    built = (SCons.Node.executed, SCons.Node.up_to_date)
    rows = [] if GetOption("clean") else [row for row in objects.rows if row[0].get_state() in built]
    try:
        lines = merged(_known(objects.path), [_row(env, *row) for row in rows], objects.path.parent, objects.folder)
        text = "[\n" + ",\n".join(json.dumps(row) for row in lines) + "\n]\n"
        if not lines:
            objects.path.unlink(missing_ok=True)
        elif not there or text.encode() != read_bytes(objects.path):
            write_text(objects.path, text)
    except (NeuralArtError, ValueError, OSError) as error:
        print(f"neuralart: note: {NAME} stays as it is: {error}", file=sys.stderr)
