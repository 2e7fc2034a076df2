"""``neuralart compile``: hands its options to the compiler that is meant. ``neuralart operators``: what ours takes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.compilers.command_line import ADOPTED, STEDGEAI, board_as_target, configure

if TYPE_CHECKING:
    from neuralart_reference.operators import Registration

__all__ = ["configure", "run"]

_RELOCATABLE = {
    "split": "--split",
    "gen-c-files": "--gen-c-file",
    "no-secure": "--no-secure",
    "ecblob-in-params": "--ecblob-in-params",
}


def _relocatable(args: argparse.Namespace, folder: str) -> list[str]:
    """The command that makes a relocatable model of what was compiled; NeuralArtError for words of the list."""
    from neuralart.errors import NeuralArtError, nearest

    words = ["relocatable", "build", "--input", folder, "--output", folder]
    words += ["--name", args.name or "network"] if args.compiler != ADOPTED else []
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
    from neuralart.compilers.protocol import Job, compile_job
    from neuralart.network.targets import NPU, flow_of

    board_as_target(args)
    if args.relocatable is not None and flow_of(args.target or "stm32n6") == NPU:
        args.then = _relocatable(args, args.output or "st_ai_output")
    text = compile_job(args.compiler, Job(args), Path(args.output or "st_ai_output"))
    if text and not args.quiet and args.verbosity != "0":
        print(text)
    return 0


SCHEMA = 1
_ONNX = "of a quantized ONNX model (float between DequantizeLinear and QuantizeLinear)"
NOTE = "uint8 tensors are computed as int8 with shifted zero points; what is constant is computed by the compiler"


def configure_operators(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("operator", nargs="*", metavar="KIND", help="only these, by their TensorFlow Lite names")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="for programs")
    form.add_argument("--markdown", action="store_true", help="the table of docs/reference/operators.md")


def markdown(operators: Sequence[Registration]) -> str:
    """A table with a row per operator."""
    rows = [f"| {each.kind} | {each.limits} |" for each in operators]
    return "\n".join(["| operator | limits |", "|---|---|", *rows, ""])


def text(operators: Sequence[Registration]) -> str:
    """Columns for a terminal."""
    width = max(len(each.kind) for each in operators)
    return "".join(f"{each.kind:<{width}}  {each.limits}\n" for each in operators) + f"\n{NOTE}\n"


def run_operators(args: argparse.Namespace) -> int:
    """Print them; NeuralArtError if one that was asked for is not supported."""
    import json

    from neuralart.errors import NeuralArtError, nearest
    from neuralart.model.reader import onnx_kinds
    from neuralart_reference.operators import every

    found: Sequence[Registration] = every()
    known = {each.kind: each for each in found}
    for kind in args.operator:
        if kind.upper() not in known:
            raise NeuralArtError(f"operator {kind.upper()} is not supported", hint=nearest(kind.upper(), list(known)))
    if args.operator:
        found = [known[kind] for kind in sorted({kind.upper() for kind in args.operator})]
    if args.json:
        rows = [{"kind": each.kind, "limits": each.limits} for each in found]
        print(json.dumps({"schema": SCHEMA, "operators": rows, "onnx": onnx_kinds()}, indent=1))
    else:
        print(markdown(found) if args.markdown else text(found), end="")
        print("" if args.markdown or args.operator else f"\n{_ONNX}:\n{' '.join(onnx_kinds())}\n", end="")
    return 0
