"""PlatformIO: a network as sources of an environment of ``platformio.ini``.

    extra_scripts = pre:network.py

``network.py`` has three lines. It may be the extra script of a library, too::

    from neuralart_bring import platformio
    Import("env")
    platformio.add(env, "models/digits.tflite", board="stm32h747i-disco")
"""

from __future__ import annotations

from typing import Any

from neuralart.errors import NeuralArtError
from neuralart.resources import package_parent
from neuralart.scons.failures import at_read_time
from neuralart_bring.scons import worlds

_MADE = "_NEURALART_PLATFORMIO"


@at_read_time
def add(env: Any, model: str = "", board: str = "", name: str = "", **options: Any) -> None:
    """Compile a network, and link it into the program of an environment.

    Args:
        env: What PlatformIO gives to the script: its environment before the build script of the platform (``pre:``), or
            that of a library.
        model: Relative to the folder of the script; empty: ``custom_network_model``, relative to the project.
        board: A board of ``neuralart boards``, or its file; empty: ``custom_network_board``.
        name: C name of the network; empty: ``custom_network_name``, or the name of the model's file.
        **options: As of ``env.Network``.

    Raises:
        SCons.Errors.UserError: The script runs too late, or something is missing or wrong.
    """
    program = worlds.default_environment()
    if _MADE not in program:
        program[_MADE] = _declare(program, model, board, name, options)
    # The environment of a library hands its folders on to those that use it.
    for each in (program, env):
        each.AppendUnique(CPPPATH=program[_MADE])


def _declare(program: Any, model: str, board: str, name: str, options: dict[str, Any]) -> list[Any]:
    """Add the sources to the program; their include folders."""
    where = f"platformio.ini, [env:{program['PIOENV']}]"
    if "PIOMAINPROG" in program:
        raise NeuralArtError("the program is declared already", where=where, hint="extra_scripts = pre:network.py")

    def option(key: str) -> str:
        return str(program.GetProjectOption(f"custom_network_{key}", "")).strip()

    model = model or (f"#{text}" if (text := option("model")) else "")
    board, name = board or worlds.anchored_board(option("board")), name or option("name")
    for key, value in (("model", model), ("board", board)):
        if not value:
            raise NeuralArtError(f"no custom_network_{key}", where=where, hint="docs/how-to/platformio.md")
    folder = worlds.build_folder(program, "$BUILD_DIR", where)
    program.Tool("neuralart", toolpath=[str(package_parent())], NEURALART_BUILD_DIR=folder)
    sources, include_dirs = worlds.parts(program, name, model, board, **options)
    # Sources, not objects: the platform's flags are not known before its build script.
    program.Append(PIOBUILDFILES=sources)
    return include_dirs
