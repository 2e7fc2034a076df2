"""``neuralart compile``: calls the chosen compiler."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from neuralart.compilers.command_line import ADOPTED, STEDGEAI, board_as_target, configure
from neuralart.errors import NeuralArtError, nearest

__all__ = ["configure", "run"]

_RELOCATABLE = {
    "split": "--split",
    "gen-c-files": "--gen-c-file",
    "no-secure": "--no-secure",
    "ecblob-in-params": "--ecblob-in-params",
}


def _relocatable(args: argparse.Namespace, folder: str) -> list[str]:
    """The command that makes a relocatable model of what was compiled; NeuralArtError for words of the list."""
    words = ["relocatable", "build", "--input", folder, "--output", folder]
    words += ["--name", args.name or "network"] if args.compiler != ADOPTED else []
    words += ["--force"] * args.force
    for word in filter(None, args.relocatable.split(",")):
        if word not in _RELOCATABLE:
            raise NeuralArtError(f"no '{word}'", where="--relocatable", hint=nearest(word, list(_RELOCATABLE)))
        words.append(_RELOCATABLE[word])
    if args.compiler == STEDGEAI:
        from neuralart.compilers.stedgeai import install

        cache = Path(args.tool_cache) if args.tool_cache else install.default_cache(os.environ, sys.platform)
        root = install.find(args.compiler_version or "", os.environ, where="--compiler-version", cache=cache).root
        words += ["--pack-dir", str(root)] if root is not None else []
    return [*words, *(["--verbosity", "0"] if args.quiet else [])]


def run(args: argparse.Namespace) -> int:
    """Compile."""
    from neuralart.compilers.protocol import Job, compile_job, refuse_foreign
    from neuralart.network.targets import NPU, flow_of

    board_as_target(args)
    if args.relocatable is not None and flow_of(args.target or "stm32n6") == NPU:
        args.then = _relocatable(args, args.output or "st_ai_output")
    job, output = Job(args), Path(args.output or "st_ai_output")
    refuse_foreign(args.compiler, job, output)
    text = compile_job(args.compiler, job, output)
    if text and not args.quiet and args.verbosity != "0":
        print(text)
    return 0
