"""scons-neuralart: a quantized neural network becomes firmware that runs on an STM32 board. This package is also the
SCons tool: ``env.Tool("neuralart", toolpath=[...])``. So nothing heavy is imported here.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Any

__version__ = "1.0.0"


def generate(env: Any, **kw: Any) -> None:
    """Add the builders and methods to a construction environment (called by SCons).
    A command line that names nothing but intact variants ends here: nothing has to be declared for them.
    """
    # A toolpath is on Python's path only while SCons looks for the tool; the packages beside this one are found by it.
    beside = os.path.dirname(os.path.dirname(__file__))  # noqa: PTH120
    if beside not in sys.path:
        sys.path.append(beside)
    # In the script of a subfolder, which may be a project itself, names are of another one.
    if "SCons.Script.Main" in sys.modules and os.getcwd() == env.Dir("#").abspath:  # noqa: PTH109
        from neuralart import intact

        begun = "scons: done reading SConscript files.\nscons: Building targets ...\n"
        told = begun, "scons: done building targets.\n"
        frame = ("", "") if env.GetOption("no_progress") else told
        folder = kw.get("NEURALART_BUILD_DIR", env.get("NEURALART_BUILD_DIR", "build"))
        if intact.say(str(folder), sys.argv[1:], frame):
            env.Exit(0)
    # Nodes live until the end: looking for garbage among them costs a tenth of a build in which nothing changed.
    gc.set_threshold(5_000, 200, 100)  # Among new ones: the library for ELF files leaves each behind in a circle
    atexit.register(gc.freeze)  # nor when Python ends
    from neuralart.scons.tool import add_to

    add_to(env, **kw)


def exists(env: Any) -> bool:
    """The tool needs nothing but itself (called by SCons)."""
    return True
