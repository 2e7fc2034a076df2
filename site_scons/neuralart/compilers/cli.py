"""``neuralart compile``: takes the options and hands them to the compiler that is meant."""

from __future__ import annotations

import argparse
from pathlib import Path

from neuralart.compilers.command_line import board_as_target, configure

__all__ = ["configure", "run"]


def run(args: argparse.Namespace) -> int:
    """Compile."""
    from neuralart.compilers.protocol import Job, compile_job

    board_as_target(args)
    text = compile_job(args.compiler, Job(args), Path(args.output or "st_ai_output"))
    if text and not args.quiet and args.verbosity != "0":
        print(text)
    return 0
