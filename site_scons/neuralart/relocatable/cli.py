"""``neuralart relocatable``: what can be done with a relocatable model."""

from __future__ import annotations

import argparse
import importlib

ACTIONS = {
    "build": ("neuralart.relocatable.build.build_cli", "make an image from network.c and its initializers"),
    "verify": ("neuralart.relocatable.verify.verify_cli", "prove every invariant of an image"),
    "check": (
        "neuralart.relocatable.predict.check_cli",
        "predict what a loader will do with an image at given addresses",
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions with their options."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, (module, text) in ACTIONS.items():
        action = actions.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        importlib.import_module(module).configure(action)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    return int(importlib.import_module(ACTIONS[args.action][0]).run(args))
