"""RT-Thread: a network as the sources of a group in a SConscript.

    from building import *
    from neuralart_bring import rt_thread
    src, path = rt_thread.network('digits.tflite', board='art-pi')
    group = DefineGroup('digits', src + Glob('*.c'), depend=['PKG_USING_DIGITS'], CPPPATH=path)
    Return('group')

All that is compiled is in a folder beside the SConscript, which the project files that RT-Thread generates name.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from neuralart.resources import package_parent
from neuralart.scons.failures import at_read_time
from neuralart_bring.scons import worlds


@at_read_time
def _declare(env: Any, here: str, model: str, board: str, name: str, folder: str, options: dict[str, Any]) -> Any:
    env.Tool("neuralart", toolpath=[str(package_parent())])
    # Paths are of the user's tree: RT-Thread reads scripts from a build folder.
    board = str(Path(here, board)) if board.endswith(worlds.BOARD_FILES) else board
    place = os.path.normpath(Path(here, model).parent / folder)
    sources, include_dirs = worlds.parts(env, name, str(Path(here, model)), board, place, **options)
    return sources, [include.get_abspath() for include in include_dirs]


def network(model: str, board: str, name: str = "", folder: str = "net", **options: Any) -> tuple[Any, list[str]]:
    """Compile a network into a folder beside the current SConscript.

    Args:
        model: Relative to the SConscript.
        board: A board of ``neuralart boards``, or its file, relative to the same.
        name: C name of the network; empty: the name of the model's file.
        folder: Of the C, the headers and the runtime.
        **options: As of ``env.Network``.

    Returns:
        Sources and include folders for ``DefineGroup``.

    Raises:
        SCons.Errors.UserError: Something is missing or wrong.
    """
    # RT-Thread's own build script, which has read the project by now.
    building = importlib.import_module("building")
    made: tuple[Any, list[str]] = _declare(building.Env, building.GetCurrentDir(), model, board, name, folder, options)
    return made
