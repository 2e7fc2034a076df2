"""``neuralart adopt FOLDER``: the entries of variants.yaml for a firmware repository, and what was found where."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart import outputs
from neuralart.errors import NeuralArtError, nearest
from neuralart.files import write_text
from neuralart.text.console import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from neuralart_bring.adopt.entries import Entries, FoundTree

_LOOKED_FOR = (
    ("networks", "C with LL_ATON_EpochBlockItems_<name>, ai_<name>_create or stai_<name>_init; no linked folders"),
    ("constants", "*.raw, *.bin and *.hex with the pool's name (network_atonbuf.xSPI2.raw) or at its address"),
    ("builds", "Makefile, CMakeLists.txt with add_executable, .cproject; .ioc for the board"),
    ("linker scripts", "*.ld"),
    ("flash addresses", "-w FILE ADDRESS and objcopy --change-addresses in scripts, Makefiles and README files"),
)
_NOTHING = "no generated network is in it"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="the repository")
    text = "write the entries here, never over another file (default: print)"
    outputs.add(parser, "-o", "--output", help=text)
    parser.add_argument("--board", default="", metavar="NAME", help="the board, where the tree does not tell")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON instead of entries")


def _found(args: argparse.Namespace) -> FoundTree:
    from neuralart import boards
    from neuralart_bring.adopt import builds, entries, flash, networks, tree

    known = boards.names(())
    if args.board and args.board not in known:
        raise NeuralArtError(f"no board '{args.board}'", where="--board", hint=nearest(args.board, tuple(known)))
    repository = tree.look(args.folder, args.folder.as_posix())
    made = builds.builds(repository)
    scripts, flashed = builds.linker_scripts(repository, made), flash.commands(repository)
    names = [args.board] if args.board else entries.boards_of(repository, made, known)
    return entries.FoundTree(repository, networks.networks(repository), made, scripts, flashed, names)


def record(found: FoundTree, notes: Sequence[str] = ()) -> dict[str, object]:
    """What ``--json`` prints. ``notes``: what cannot be built as it is, and why."""
    return {
        "networks": [
            {"c_name": each.c_name, "runtime": each.runtime, "c_file": each.c_file, "initializers": each.initializers}
            for each in found.networks
        ],
        "board": found.boards[0] if len(found.boards) == 1 else list(found.boards) or None,
        "build": [{"kind": each.kind, "file": each.file} for each in found.builds],
        "linker_scripts": list(found.scripts),
        "flash": [
            {
                "file": each.file,
                "address": None if each.address is None else f"0x{each.address:08x}",
                "said_in": each.said_in,
            }
            for each in found.flash
        ],
        "notes": list(notes),
    }


def _listed(found: FoundTree) -> list[str]:
    lines = [f"board: {', '.join(found.boards) or 'not told'}"]
    for network in found.networks:
        lines.append(
            f"network: {network.c_file}: {network.c_name or '?'}, {network.runtime} {network.version}".rstrip()
        )
        lines += [f"  pool {pool}: {path}" for pool, path in network.initializers.items()]
        lines += [f"  pool file: {network.mpool}"] if network.mpool else []
    lines += [f"build: {build.kind}: {build.file}" for build in found.builds]
    lines += [f"linker script: {script}" for script in found.scripts]
    for each in found.flash:
        place = f"0x{each.address:08x}" if each.address is not None else "where its own addresses say"
        lines.append(f"flash: {each.file} at {place} ({each.said_in})")
    return lines


def _text(made: Entries, shown: str) -> str:
    from neuralart_bring.model_zoo.convert import lines, scalar

    head = [f"# The networks and builds of {scalar(shown)} as they are there, by neuralart adopt.", "schema: 1", ""]
    body = ["networks:", *lines(made.networks, "  "), "", "variants:", *lines(made.variants, "  ")]
    return "\n".join([*head, *body, ""])


def run(args: argparse.Namespace) -> int:
    """Print or write entries, or what was found. NeuralArtError: unreadable, not understood, or the output is there."""
    import json

    from neuralart import boards
    from neuralart_bring.adopt import entries

    found = _found(args)
    output: Path | None = args.output
    base = output.parent if output is not None else Path()
    shown = Path(os.path.relpath(args.folder.resolve(), base.resolve())).as_posix()
    made = entries.entries(found, boards.names(()), shown) if found.networks else None
    if args.json:
        print(json.dumps(record(found, made.notes if made is not None else ()), indent=1))
        if output is None:
            return 0
    looked_for = [f"looked for {what}: {looked}" for what, looked in _LOOKED_FOR] if made is None else []
    for line in [*looked_for, *_listed(found)]:
        say(line, file=sys.stderr)
    if made is None:
        raise NeuralArtError(_NOTHING, where=args.folder.as_posix(), hint="neuralart compile makes one of a model")
    for note in made.notes:
        say(f"note: {note}", file=sys.stderr)
    if not made.variants:
        hint = "the notes above say what is missing"
        raise NeuralArtError("no variant can be made of it", where=args.folder.as_posix(), hint=hint)
    text = _text(made, args.folder.resolve().name or shown)
    if output is None:
        print(text, end="")
    else:
        write_text(output, text)
        say(f"{output.as_posix()}: {len(made.networks)} networks, {len(made.variants)} variants", file=sys.stderr)
    return 0
