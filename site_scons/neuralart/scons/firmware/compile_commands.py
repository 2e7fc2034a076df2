"""``compile_commands.json`` at the top: how each object of each built variant is compiled, for editors. It is no
target: nothing depends on it, so it is no reason to build anything. :mod:`neuralart.scons.firmware.recipes` asks for it
when SCons ends, if objects were built. What other tools wrote into it stays.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.scons.paths import build_dir, named, place, top


def row(env: Any, target: Any, source: Any, words: Sequence[str], include: Sequence[Any]) -> dict[str, Any]:
    """Describe an object. ``words``: compiler, flags and definitions; ``include``: nodes of folders. Paths are relative
    to ``directory``, the top folder, which clangd wants absolute.
    """
    node = env.arg2nodes(source, env.fs.File)[0]
    file, output = named(env, place(node)), named(env, Path(target.get_abspath()))
    folders = [f"-I{named(env, Path(each.get_abspath()))}" for each in include]
    arguments = [*words, *folders, "-o", output, "-c", file]
    return {"directory": str(top(env)), "file": file, "arguments": arguments, "output": output}


def merged(
    known: Sequence[dict[str, Any]], made: Sequence[dict[str, Any]], directory: Path, folder: str
) -> list[dict[str, Any]]:
    """Rows of a file and new ones, in the order of their outputs. Rows of objects below ``folder`` (relative to
    ``directory``) that are not there any more are left out; those of a tree that was moved get its new place. Rows of
    other tools stay.
    """
    new = {each["output"]: each for each in made}
    kept = []
    for each in known:
        output = str(each.get("output", ""))
        if not output.startswith(f"{folder}/"):
            kept.append(each)
        elif output not in new and (directory / output).exists():
            kept.append({**each, "directory": str(directory)})
    return sorted([*kept, *new.values()], key=lambda each: (str(each.get("output", "")), str(each.get("file", ""))))


def _known(path: Path) -> list[dict[str, Any]]:
    rows = jsontext.loads(read_bytes(path)) if path.exists() else []
    if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
        raise ValueError("it is no list of objects")
    return rows


def bring_up_to_date(env: Any, path: Path, objects: Sequence[tuple[Any, ...]]) -> None:
    """Merge objects, the arguments of :func:`row`, into the file. A file that is something else stays, with a note."""
    try:
        lines = merged(_known(path), [row(env, *each) for each in objects], path.parent, build_dir(env))
        text = "[\n" + ",\n".join(json.dumps(each) for each in lines) + "\n]\n"
        if not lines:
            path.unlink(missing_ok=True)
        elif not path.exists() or text.encode() != read_bytes(path):
            write_text(path, text)
    except (NeuralArtError, ValueError, OSError) as error:
        print(f"neuralart: note: {path.name} stays as it is: {error}", file=sys.stderr)
