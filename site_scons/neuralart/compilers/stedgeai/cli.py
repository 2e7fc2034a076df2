"""``neuralart compile --compiler stedgeai``: from parsed arguments to a compile."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.compilers.command_line import option_values, parsed, split_words
from neuralart.errors import NeuralArtError

if TYPE_CHECKING:
    from neuralart.compilers.stedgeai.compile import Result
    from neuralart.compilers.stedgeai.install import Install
    from neuralart.compilers.stedgeai.request import ProfileChoice, ToolRequest


def profile_choice(args: argparse.Namespace) -> ProfileChoice:
    """The profile that was named; a board's own one if none was.

    Raises:
        NeuralArtError: It is named in no known form, or the target has no board.
    """
    from neuralart.compilers.stedgeai.request import ProfileChoice
    from neuralart.network.targets import usable
    from neuralart.resources import board_data_dir
    from neuralart.vendor.profile import parse_argument

    own = board_data_dir() / "profiles"
    given = args.st_neural_art or ""
    argument = parse_argument(given)
    path: Path | None = Path(argument.file) if argument.file else None
    if not given:
        path = own / f"{usable(args.target).board}.json"
    return ProfileChoice(
        argument=argument,
        path=path,
        stock=path is not None and path.resolve().parent == own.resolve(),
        # The tool takes it from a profile only.
        add=(*split_words(args.profile_add), *(("--all-buffers-info",) if args.all_buffers_info else ())),
        remove=split_words(args.profile_remove),
        profiling=args.pair == "profiling",
    )


def request_of(args: argparse.Namespace) -> ToolRequest:
    """What the command line asks for.

    Raises:
        NeuralArtError: Something is missing or contradicts.
    """
    from neuralart.compilers.stedgeai.request import NPU_TARGET, ToolRequest, check_target

    for needed in ("model", "target"):
        if not getattr(args, needed):
            raise NeuralArtError("is required", where=f"--{needed}")
    check_target(args.target)
    if args.verbosity not in (None, "0", "1", "2", "3"):
        raise NeuralArtError(f"'{args.verbosity}' is refused", where="--verbosity", hint="possible: 0, 1, 2, 3")
    npu = args.target == NPU_TARGET
    only_npu = ("st_neural_art", "profile_add", "profile_remove", "pair")
    if not npu:
        for name in only_npu:
            if getattr(args, name) is not None:
                raise NeuralArtError(
                    f"target {args.target} has no Neural-ART", where=f"--{name.replace('_', '-')}", hint="leave it out"
                )
    initializers: tuple[str, ...] | None = None
    if args.initializers is not None:
        text = args.initializers.strip()
        initializers = () if text.lower() in ("", "none") else tuple(part.strip() for part in text.split(","))
    return ToolRequest(
        model=Path(args.model),
        model_display=args.model,
        name=args.name or "network",
        target=args.target,
        profile=profile_choice(args) if npu else None,
        mpool=Path(args.mpool) if args.mpool is not None else None,
        mpool_display=args.mpool or "",
        values=option_values(args),
        extra=split_words(args.extra_options),
        controller=bool(args.enable_epoch_controller),
        initializers=initializers,
        report=not args.no_report,
    )


def request_from_words(words: Sequence[str], where: str = "") -> ToolRequest:
    """What the words of a command line ask for, without running it; arguments and errors as of :func:`parsed`."""
    return request_of(parsed(words, where))


def find_install(args: argparse.Namespace, environ: Mapping[str, str]) -> Install:
    """The installation that the command line asks for.

    Raises:
        NeuralArtError: There is none.
    """
    from neuralart.compilers.stedgeai.install import find

    cache = Path(args.tool_cache) if args.tool_cache else None
    pin = args.compiler_version or ""
    return find(pin, environ, where="--compiler-version" if pin else "--compiler stedgeai", cache=cache)


def summary(result: Result, install: Install, folder: str, verbosity: int) -> str:
    """What a person wants to know after a compile."""
    facts = result.facts
    kinds = [epoch.kind for epoch in facts.epochs]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("HW", "EC", "HYBRID", "SW") if kind in kinds)
    version = ".".join(map(str, facts.runtime_version))
    lines = [
        f"network {facts.name}: {len(kinds)} epochs ({counts}), {facts.macc:,} MAC, "
        f"for {facts.runtime} {version}, by {install.identity}"
    ]
    for pool in facts.pools:
        if not pool.virtual and (pool.used or verbosity > 1):
            share = 100 * pool.used / pool.size if pool.size else 0.0
            place = f"0x{pool.address:08x}" if pool.address else "by linker"
            lines.append(
                f"  {pool.fname:<12} {place:<10}  weights {pool.weights:>10,} B  "
                f"activations {pool.activations:>10,} B  {share:6.2f} % of {pool.size:,} B"
            )
    lines += [f"  note: {note}" for note in result.notes]
    if verbosity > 1:
        lines += [f"  without effect: {note}" for note in result.ineffective]
    elif result.ineffective:
        lines.append(f"  options without effect here: {len(result.ineffective)} (--verbosity 2 lists them)")
    names = ", ".join(sorted(name for name, data in result.files.items() if data or verbosity > 1))
    return "\n".join([*lines, f"  {folder}: {names}"])


def compile_by_tool(args: argparse.Namespace, output: Path) -> str:
    """Compile.

    Args:
        args: The words, parsed.
        output: Where to.

    Returns:
        What a person wants to know.

    Raises:
        NeuralArtError: As :func:`~neuralart.compilers.stedgeai.compile.compile_network`.
    """
    from neuralart.compilers.stedgeai.compile import compile_network

    request = request_of(args)
    verbosity = 0 if args.quiet else int(args.verbosity or 1)
    live = verbosity > 0 and sys.stderr.isatty()

    def listen(text: str) -> None:
        if live:
            print(f"\r\x1b[K{request.name}: compiling, {text}", end="", file=sys.stderr, flush=True)

    install = find_install(args, os.environ)
    folder = args.output or "st_ai_output"
    try:
        result = compile_network(request, install, output, os.environ, tables=tuple(args.failures or ()), listen=listen)
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    return summary(result, install, folder, verbosity)
