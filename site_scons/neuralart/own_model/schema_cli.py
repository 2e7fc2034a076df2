"""``neuralart schema``: what editors check and complete YAML files with."""

from __future__ import annotations

import argparse

KINDS = ("variants", "board")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    text = "of variants.yaml or of board files (default: variants)"
    parser.add_argument("kind", nargs="?", choices=KINDS, default=KINDS[0], help=text)


def run(args: argparse.Namespace) -> int:
    """Print a schema."""
    print(text_of(args.kind), end="")
    return 0


def text_of(kind: str) -> str:
    """One of KINDS as JSON Schema. Words that plugins of this installation add are in it."""
    import json

    if kind == "board":
        from neuralart.boards import schema as boards

        return json.dumps(boards.board(), indent=1) + "\n"
    from neuralart.config import schema

    return json.dumps(schema.variants(), indent=1) + "\n"
