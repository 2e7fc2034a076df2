"""``neuralart application``: the user's own application around networks."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their arguments."""
    from neuralart.applications import arguments

    kinds = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    text = "put generated files into a copy of the user's tree and run the build that it has"
    build = kinds.add_parser("build", help=text, description=text[0].upper() + text[1:] + ".")
    arguments.add(build)
    build.add_argument("--work", type=Path, required=True, metavar="DIR", help="folder for the copy and the log")
    build.add_argument("--output", type=Path, required=True, metavar="FILE", help="the program")
    build.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="what --folder and --elf are relative to"
    )
    build.add_argument("--toolchain", type=Path, metavar="DIR", help="folder of the cross compiler, in front of PATH")
    build.add_argument("--made-with", default="", metavar="TEXT", help="begin anew if this text is another one")
    build.add_argument("--jobs", type=int, default=1, metavar="N", help="compiles at a time")
    build.add_argument("--quiet", action="store_true", help="print nothing when it went well")
    text = "say whether networks, runtime, libraries and post-processing belong together"
    check = kinds.add_parser("check", help=text, description=text[0].upper() + text[1:] + ".")
    check.add_argument("--folder", type=Path, action="append", required=True, metavar="DIR", help="the application")
    for each in (build, check):
        each.add_argument(
            "--generated", action="append", default=[], metavar="NETWORK:FILE", help="a generated file; ':FILE' for all"
        )
        each.add_argument("--libc", default="", metavar="NAME", help="C library, if the tree does not name one")
        each.add_argument("--core", default="", metavar="CM55", help="core of the board, as libraries name it")


def run(args: argparse.Namespace) -> int:
    """Build or check.

    Returns:
        0, or 1 where parts do not belong together.

    Raises:
        NeuralArtError: As :func:`~neuralart.applications.build.build`.
    """
    return _build(args) if args.action == "build" else _check(args)


def _build(args: argparse.Namespace) -> int:
    from neuralart.applications import arguments, build
    from neuralart.errors import NeuralArtError

    build.discard(args.output)
    if args.jobs < 1:
        raise NeuralArtError(f"{args.jobs} is no number of compiles", where="--jobs")
    request = build.Request(
        config=arguments.config_of(args),
        generated=arguments.generated_of(args.generated),
        work=args.work,
        output=args.output,
        root=args.root,
        jobs=args.jobs,
        libc=args.libc,
        core=args.core,
        toolchain=args.toolchain,
        made_with=args.made_with,
    )
    live = not args.quiet and sys.stderr.isatty()

    def listen(text: str) -> None:
        if live:
            print(f"\r\x1b[K{args.kind}: {text}", end="", file=sys.stderr, flush=True)

    try:
        result = build.build(request, os.environ, listen)
    finally:
        if live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    for note in result.notes:
        print(f"neuralart application: note: {note}", file=sys.stderr)
    if not args.quiet:
        print(_summary(request.output, result))
    return 0


def _summary(output: Path, result: object) -> str:
    from neuralart.applications.build import Result

    assert isinstance(result, Result)
    text = f"{output.as_posix()}: {len(result.program):,} bytes"
    if result.changes is not None:
        text += f"; {len(result.changes.written)} files new, {result.changes.kept} as they were"
        text += f", {len(result.changes.removed)} removed" if result.changes.removed else ""
    return text


def _check(args: argparse.Namespace) -> int:
    from neuralart.applications import arguments, lock_facts, version_lock
    from neuralart.applications.tree import scan

    tree: dict[str, Path] = {}
    for folder in args.folder:
        found = scan(folder, where="--folder")
        tree |= {f"{folder.as_posix()}/{name}": path for name, path in found.files.items()}
    facts = lock_facts.gather(
        arguments.generated_of(args.generated), tree, libc=args.libc, libc_where="--libc", core=args.core
    )
    found_conflicts = version_lock.conflicts(facts)
    for conflict in found_conflicts:
        print(f"{conflict.where}: {conflict.level}: {conflict.text}")
    errors = sum(conflict.level == version_lock.ERROR for conflict in found_conflicts)
    print(f"{errors} error{'' if errors == 1 else 's'}, {len(found_conflicts) - errors} notes")
    return 1 if errors else 0
