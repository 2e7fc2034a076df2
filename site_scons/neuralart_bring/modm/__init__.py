"""modm: a network in the program of a project, as the lbuild module ``neuralart:network`` of the folder of this file.

<repositories><repository><path>.../neuralart_bring/modm/repo.lb</path></repository></repositories>
<options><option name="neuralart:network:model">digits.tflite</option></options>
<options><option name="neuralart:network:board">nucleo-h743zi</option></options>
<modules><module>neuralart:network</module></modules>
"""

from __future__ import annotations

from typing import Any

from neuralart.resources import package_parent
from neuralart.scons.failures import at_read_time
from neuralart_bring.scons import worlds


@at_read_time
def add(env: Any, model: str, board: str, name: str = "", memory: str = "") -> None:
    """Compile a network, and link it into the program of modm's environment.

    Args:
        env: modm's, with its flags.
        model: Relative to the top folder.
        board: A board of ``neuralart boards``, or its file, relative to the same.
        name: C name of the network; empty: the name of the model's file.
        memory: The network's key of that name; empty: without.

    Raises:
        SCons.Errors.UserError: Something is missing or wrong.
    """
    folder = worlds.build_folder(env, env["BUILDPATH"], "project.xml, modm:build:build.path")
    env.Tool("neuralart", toolpath=[str(package_parent())], NEURALART_BUILD_DIR=folder)
    sources, include_dirs = worlds.parts(
        env, name, f"#{model}", worlds.anchored_board(board), **({"memory": memory} if memory else {})
    )
    # A compiler that may fuse products and sums rounds differently.
    own = env.Clone()
    own.AppendUnique(CPPPATH=include_dirs, CCFLAGS=["-ffp-contract=off"])
    library = own.StaticLibrary(f"#{folder}/network", sources)
    env.AppendUnique(CPPPATH=include_dirs, LIBS=library)
