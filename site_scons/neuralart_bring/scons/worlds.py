"""A network as sources of a program that a build of another kind declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import SCons.Node
import SCons.Script

from neuralart.errors import NeuralArtError
from neuralart.scons.registry import registry_of

BOARD_FILES = (".yaml", ".yml")
"""Ends of what is a board's file, and not its name."""


def default_environment() -> Any:
    """The environment that a build has of its own."""
    return SCons.Script.DefaultEnvironment()


def anchored_board(board: str) -> str:
    """A board of a file that is relative to the top folder."""
    return f"#{board}" if board.endswith(BOARD_FILES) else board


def build_folder(env: Any, made: str, where: str) -> str:
    """The folder for networks below what another build calls its build folder, relative to the top folder.
    NeuralArtError: it is outside of that.
    """
    folder, top = (Path(path).resolve() for path in (env.subst(made), env.Dir("#").abspath))
    if not folder.is_relative_to(top):
        hint = "name a folder below the project"
        raise NeuralArtError(f"the build folder {folder} is outside of the project", where=where, hint=hint)
    return (folder.relative_to(top) / "neuralart").as_posix()


def parts(env: Any, name: str, model: str, board: str, folder: str = "", **options: Any) -> tuple[Any, list[Any]]:
    """Declare a network, what calls it, and on a board with an NPU what prepares its memories.

    Args:
        env: Has the tool.
        name: C name; empty: that of the model's file.
        model: Relative to the script that is being read.
        board: Name of a board, or its file (``.yaml``), relative to the same.
        folder: Of all that is made, as of ``env.Network``; empty: below the build folder.
        **options: As of ``env.Network``.

    Returns:
        Sources and include folders. The former are a list of SCons: RT-Thread would lose the order of a plain one, and
        link anew in each build.

    Raises:
        NeuralArtError: Something is missing or wrong.
    """
    if board.endswith(BOARD_FILES):
        registry_of(env).add_board_files([env.File(board).srcnode().abspath])
        board = Path(board).stem
    net = env.Network(name or Path(model.lstrip("#")).stem, model=model, board=board, **_in(folder), **options)
    made = [net, env.NetworkCalls(net, **_in(folder and net.folder))]
    if hasattr(net, "pools"):
        made.append(env.MemoryInitializers(net, **_in(folder and f"{net.folder}/memory")))
    sources = SCons.Node.NodeList(source for part in made for source in part.sources)
    return sources, [include for part in made for include in part.include_dirs]


def _in(folder: str) -> dict[str, str]:
    return {"folder": folder} if folder else {}
