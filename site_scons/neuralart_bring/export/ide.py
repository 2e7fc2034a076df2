"""``neuralart ide``: debug configurations of Visual Studio Code (extension cortex-debug) for variants."""

from __future__ import annotations

import argparse
import contextlib
import json
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart import jsontext, project_folder
from neuralart.text.console import say

# Both files may have comments; this one says that they may be replaced.
MARK = "// Made by 'neuralart ide', which replaces this file. Without this line it is yours.\n"
# Ports that no service claims (RFC 6335: dynamic ports end at 65535 and begin above).
_FIRST_PORT, _PORTS = 40000, 9000


def port_of_variant(name: str) -> int:
    """Where ``debug-<variant>`` waits when Visual Studio Code starts it: the same on every machine."""
    return _FIRST_PORT + zlib.crc32(name.encode()) % _PORTS


def _text(version: str, **contents: Any) -> str:
    return MARK + json.dumps({"version": version, **contents}, indent=2) + "\n"


def launch_json(variants: Sequence[str], build: str = "build") -> str:
    """``.vscode/launch.json``; ``build``: relative to the folder that Visual Studio Code opens, with slashes."""
    configurations = [
        {
            "name": f"debug {name}",
            "type": "cortex-debug",
            "request": "launch",
            "servertype": "external",
            "gdbTarget": f"127.0.0.1:{port_of_variant(name)}",
            "gdbPath": "gdb-multiarch",
            "cwd": "${workspaceFolder}",
            "executable": f"${{workspaceFolder}}/{build}/{name}/firmware.elf",
            # The flash plan has written the flash already.
            "loadFiles": [],
            "runToEntryPoint": "main",
            "preLaunchTask": f"debug-{name}",
        }
        for name in variants
    ]
    return _text("0.2.0", configurations=configurations)


def debug_tasks(variants: Sequence[str], scons: str = "scons") -> list[dict[str, Any]]:
    """The tasks that the configurations of :func:`launch_json` start: each builds a variant and waits for gdb."""
    # A background task is ready when it prints the line with which `neuralart run --gdb` begins to listen.
    matcher = {
        "pattern": {"regexp": "^scons: \\*\\*\\* (.*)$", "message": 1, "kind": "file", "file": 1},
        "background": {"activeOnStart": True, "beginsPattern": "^DEBUG ", "endsPattern": "^gdb: "},
    }
    return [
        {
            **{"label": f"debug-{name}", "type": "process", "command": scons, "args": [f"debug-{name}"]},
            "options": {"env": {"NEURALART_GDB": f":{port_of_variant(name)}"}},
            **{"isBackground": True, "problemMatcher": matcher},
        }
        for name in variants
    ]


def with_debug_tasks(text: str, variants: Sequence[str], scons: str = "scons") -> str:
    """A ``tasks.json`` of the user's (or of ``neuralart new``) whose tasks ``debug-...`` are those of the variants; all
    others stay. ValueError: it is no JSON, as a file with comments, or has no list of tasks.
    """
    data = jsontext.loads(text)
    if not isinstance(data, dict) or not isinstance(data.get("tasks"), list):
        raise ValueError("no list of tasks")
    labels = [str(task.get("label", "")) if isinstance(task, dict) else "" for task in data["tasks"]]
    kept = [task for task, label in zip(data["tasks"], labels, strict=True) if not label.startswith("debug-")]
    return json.dumps({**data, "tasks": [*kept, *debug_tasks(variants, scons)]}, indent=2) + "\n"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("variant", nargs="*", metavar="VARIANT", help="variants of the project file (default: all)")
    text = "project file (default: variants.yaml); .vscode goes beside it"
    parser.add_argument("--file", type=Path, default=project_folder.default("variants.yaml"), metavar="FILE", help=text)
    parser.add_argument("--build", default="build", metavar="DIR", help="build folder, relative to it (default: build)")
    parser.add_argument("--force", action="store_true", help="replace files that this command did not write")


def run(args: argparse.Namespace) -> int:
    """Write the files, or none. NeuralArtError: no such variant, or a file is there that this command did not write."""
    from neuralart import config
    from neuralart.errors import NeuralArtError, nearest
    from neuralart.files import read_bytes, write_text

    known = tuple(config.read(args.file, args.file.as_posix()).config.titles)
    for name in args.variant:
        if name not in known:
            raise NeuralArtError(f"no variant '{name}'", where=args.file.as_posix(), hint=nearest(name, known))
    chosen = list(dict.fromkeys(args.variant)) or list(known)
    top = args.file.parent
    scons = "./sconsw" if (top / "sconsw").is_file() else "scons"
    tasks = _text("2.0.0", tasks=debug_tasks(chosen, scons))
    files = {"launch.json": launch_json(chosen, args.build), "tasks.json": tasks}
    for name in files:
        path = top / ".vscode" / name
        if path.exists() and not args.force and not (old := read_bytes(path)).startswith(MARK.encode()):
            if name == "tasks.json":
                with contextlib.suppress(ValueError):
                    files[name] = with_debug_tasks(old.decode("utf-8", "replace"), chosen, scons)
                    continue
            hint = "--force replaces it; or move it away and merge"
            raise NeuralArtError("this command did not write it", where=path.as_posix(), hint=hint)
    (top / ".vscode").mkdir(exist_ok=True)
    for name, text in files.items():
        write_text(top / ".vscode" / name, text)
    say(f"{(top / '.vscode').as_posix()}: launch.json and tasks.json for {', '.join(chosen)}")
    return 0
