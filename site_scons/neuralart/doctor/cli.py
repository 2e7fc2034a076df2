"""``neuralart doctor``: is everything there that the project needs, and what does each missing thing mean?"""

from __future__ import annotations

import argparse
from pathlib import Path

_DEFAULT = "variants.yaml"


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 600:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds up to 600")
    return value


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a variant, or run-VARIANT and the like (default: build all variants)",
    )
    parser.add_argument(
        "--file", type=Path, metavar="FILE", help="project file (default: variants.yaml, if there is one)"
    )
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--path-only", action="store_true", help="look for programs on PATH alone")
    parser.add_argument(
        "--seconds", type=_seconds, default=10.0, metavar="N", help="time limit of each program's answer (default: 10)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the report: 0, or 1 if something is missing that the targets need. Raises NeuralArtError: the project file
    is wrong, or a target is none.
    """
    import os
    import sys

    from neuralart import boards, config
    from neuralart.doctor import views
    from neuralart.doctor.examine import Machine, examine, system_of

    file: Path | None = args.file or (Path(_DEFAULT) if Path(_DEFAULT).is_file() else None)
    variants = []
    others = {}
    if file is not None:
        project = config.read(file, file.as_posix())
        extra = [file.parent / path for path in project.config.boards]
        for name in project.config.titles:
            variant = project.variant(name)
            variants.append((variant, boards.load(variant.board, extra, variant.said("board"))))
            for other in variant.relocatable.also_on if variant.relocatable is not None else ():
                others[other] = boards.load(other, extra, variant.said("relocatable"))
    machine = Machine(os.environ, system_of(sys.platform), args.seconds, not args.path_only)
    report = examine(
        machine,
        variants,
        args.targets,
        project=file.as_posix() if file is not None else "",
        folder=file.parent if file is not None else Path(),
        others=others,
    )
    # A console may not know the letters of a path.
    shown = views.to_json(report) if args.json else views.text(report)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(shown.encode(encoding, "backslashreplace").decode(encoding), end="")
    return 0 if report.ok else 1
