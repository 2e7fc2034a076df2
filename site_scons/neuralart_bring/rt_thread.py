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
import sys
from pathlib import Path
from typing import Any

from neuralart.resources import package_parent
from neuralart.scons.failures import at_read_time


@at_read_time
def _declare(env: Any, model: Path, board: str, name: str, folder: str, options: dict[str, Any]) -> Any:
    env.Tool("neuralart", toolpath=[str(package_parent())])
    place = os.path.normpath(model.parent / folder)
    net = env.Network(name or model.stem, model=str(model), board=board, folder=place, **options)
    parts = [net, env.NetworkCalls(net, folder=net.folder)]
    if hasattr(net, "pools"):
        parts.append(env.MemoryInitializers(net, folder=f"{net.folder}/memory"))
    # No plain list: DefineGroup would lose its order, and link anew in each build.
    sources = sys.modules["SCons.Node"].NodeList(source for part in parts for source in part.sources)
    return sources, [include.get_abspath() for part in parts for include in part.include_dirs]


def network(model: str, board: str, name: str = "", folder: str = "net", **options: Any) -> tuple[Any, list[str]]:
    """Compile a network into a folder beside the current SConscript.

    Args:
        model: Relative to the SConscript.
        board: A board of ``neuralart boards``.
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
    made: tuple[Any, list[str]] = _declare(
        building.Env, Path(building.GetCurrentDir(), model), board, name, folder, options
    )
    return made
