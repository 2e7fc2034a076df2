"""``neuralart compile``: takes the options and hands them to the compiler that is meant."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from neuralart.compilers.command_line import AUTO, RECORDED, STEDGEAI, configure
from neuralart.errors import NeuralArtError

__all__ = ["configure", "run"]


def run(args: argparse.Namespace) -> int:
    """Compile.

    Raises:
        NeuralArtError: The input is wrong, or the compiler is missing or failed.
    """
    compiler = args.compiler
    if compiler == AUTO:
        from neuralart.compilers.stedgeai.install import choose

        cache = Path(args.tool_cache) if args.tool_cache else None
        compiler = choose(args.compiler_version or "", os.environ, cache=cache)
    if compiler == STEDGEAI:
        from neuralart.compilers.stedgeai.cli import run as run_stedgeai

        if args.recording is not None:
            raise NeuralArtError(
                "is for --compiler recorded", where="--recording", hint="to make one: neuralart record"
            )
        return run_stedgeai(args)
    if compiler == RECORDED:
        from neuralart.compilers.record_cli import replay

        return replay(args)
    from neuralart.compilers.reference.cli import run as run_reference

    return run_reference(args)
