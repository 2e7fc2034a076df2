"""scons-neuralart: a quantized neural network becomes firmware that runs on an STM32 board. This package is also the
SCons tool: ``env.Tool("neuralart", toolpath=[...])``. So nothing heavy is imported here.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.2.0"


def generate(env: Any, **kw: Any) -> None:
    """Add the builders and methods to a construction environment (called by SCons)."""
    from neuralart.scons.tool import add_to

    add_to(env, **kw)


def exists(env: Any) -> bool:
    """The tool needs nothing but itself (called by SCons)."""
    return True
