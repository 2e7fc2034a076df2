"""``neuralart tool schema``: what editors check variants.yaml and board files with."""

from __future__ import annotations

import argparse
import json

from neuralart.boards import fields, loading
from neuralart.config.keys import all_machines
from neuralart.text.values import Value
from neuralart_bring.schema import json_schema
from neuralart_bring.schema.json_schema import Schema, closed

KINDS = ("variants", "board")


def board() -> Schema:
    """The schema of board files. No key is needed: a family or another board may have it."""
    readers = {
        "schema": lambda value: value.integer(loading.SCHEMA, loading.SCHEMA),
        **fields.BOARD,
        "family": Value.text,
        "base": Value.text,
    }
    keys = {key: json_schema.found(readers[key]).schema({}) for key in loading.KEYS}
    machines = keys["machines"]["properties"]
    machines.update(dict.fromkeys(set(all_machines()) - set(machines), machines["silicon"]))
    return {**json_schema.HEAD, "title": "board of scons-neuralart", **closed(keys)}


def configure(parser: argparse.ArgumentParser) -> None:
    text = "of variants.yaml or of board files (default: variants)"
    parser.add_argument("kind", nargs="?", choices=KINDS, default=KINDS[0], help=text)


def run(args: argparse.Namespace) -> int:
    print(schema_text(args.kind), end="")
    return 0


def schema_text(kind: str) -> str:
    """One of KINDS as JSON Schema. Words that plugins of this installation add are in it."""
    if kind == "board":
        return json.dumps(board(), indent=1) + "\n"
    from neuralart_bring.schema import variants as schema

    return json.dumps(schema.variants(), indent=1) + "\n"
