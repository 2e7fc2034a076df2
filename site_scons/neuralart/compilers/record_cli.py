"""``neuralart record``: compile with the user's ST Edge AI Core and keep the result for machines without it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from neuralart.compilers import command_line
from neuralart.compilers.command_line import STEDGEAI
from neuralart.errors import NeuralArtError


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of ``neuralart compile``; ``--recording`` says where to."""
    command_line.configure(parser)
    parser.set_defaults(compiler=STEDGEAI)


def run(args: argparse.Namespace) -> int:
    """Compile and record.

    Raises:
        NeuralArtError: As of a compile; or the recording cannot be written.
    """
    from neuralart.compilers.recorded import check_folder, record
    from neuralart.compilers.stedgeai.cli import find_install, request_of
    from neuralart.compilers.stedgeai.compile import compile_network

    if not args.recording:
        raise NeuralArtError("is required", where="--recording", hint="the folder to record into")
    if args.compiler != STEDGEAI:
        raise NeuralArtError(
            f"'{args.compiler}' is not recorded", where="--compiler", hint="the reference compiler is there everywhere"
        )
    request = request_of(args)
    install = find_install(args, os.environ)
    folder = Path(args.recording)
    check_folder(folder)  # before the tool needs a minute
    output = Path(args.output or "st_ai_output")
    result = compile_network(request, install, output, os.environ, tables=tuple(args.failures or ()))
    made = record(request, install, result, folder)
    if not args.quiet:
        inputs = ", ".join(f"{each.role} {each.name}" for each in made.inputs)
        print(f"recorded network {made.network} by {install.identity} in {args.recording}: {inputs}")
    return 0


def replay(args: argparse.Namespace, output: Path) -> str:
    """``neuralart compile --compiler recorded``.

    Args:
        args: The words, parsed.
        output: Where to.

    Returns:
        What a person wants to know.

    Raises:
        NeuralArtError: There is no recording, or it was made from something else.
    """
    from neuralart.compilers.recorded import load
    from neuralart.compilers.recorded import replay as bring_back
    from neuralart.compilers.stedgeai.cli import request_of
    from neuralart.vendor.releases import check_pin, fits

    if not args.recording:
        raise NeuralArtError(
            "is required", where="--recording", hint="the folder that 'neuralart record' made with the tool"
        )
    folder = Path(args.recording)
    if args.compiler_version:
        check_pin(args.compiler_version, "--compiler-version")
        tool = load(folder).tool
        if not fits(tool, args.compiler_version):
            raise NeuralArtError(
                f"was made by ST Edge AI Core {tool.full}, wanted {args.compiler_version}",
                where=args.recording,
                hint="record it again with that version, or change the pin",
            )
    found = bring_back(request_of(args), folder, output)
    return (
        f"network {found.network}: recorded with ST Edge AI Core {found.tool.text}\n"
        f"  {output}: {len(found.files)} files"
    )
