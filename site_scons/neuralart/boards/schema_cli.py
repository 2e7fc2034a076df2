"""``neuralart schema``: what editors check variants.yaml and board files with."""

from __future__ import annotations

import argparse
import json

KINDS = ("variants", "board")


def configure(parser: argparse.ArgumentParser) -> None:
    text = "of variants.yaml or of board files (default: variants)"
    parser.add_argument("kind", nargs="?", choices=KINDS, default=KINDS[0], help=text)


def run(args: argparse.Namespace) -> int:
    print(schema_text(args.kind), end="")
    return 0


def schema_text(kind: str) -> str:
    """One of KINDS as JSON Schema. Words that plugins of this installation add are in it."""
    if kind == "board":
        from neuralart.boards import schema as boards

        return json.dumps(boards.board(), indent=1) + "\n"
    from neuralart.config import schema

    return json.dumps(schema.variants(), indent=1) + "\n"
