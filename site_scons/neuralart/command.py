"""What a command of ``neuralart`` is: the protocol that our commands and those of plugins satisfy."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

GROUPS = ("begin", "build", "run", "board", "look", "more")
"""Groups of commands, in the order in which ``neuralart --help`` lists them."""


class Command(Protocol):
    """A command: ``neuralart NAME``, where NAME is what it is registered as.

    An example, which ``neuralart hello`` starts::

        class Hello:
            group, help, example = "more", "greet a board", "hello stm32n6570-dk"

            def configure(self, parser):
                parser.add_argument("board")

            def run(self, args):
                print(f"hello {args.board}")
                return 0

        register("commands", "hello", Hello(), protocol=1)

    Attributes:
        group: Where ``neuralart --help`` lists it: one of :data:`GROUPS`.
        help: One line for that list, without a full stop.
        example: A call, without ``neuralart``; the command's own help shows it.
    """

    group: str
    help: str
    example: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit status.

        Raises:
            NeuralArtError: The input is wrong.
        """


@dataclass(frozen=True)
class ModuleCommand:
    """A command whose module is imported when it is called.

    The module has ``configure`` and ``run``, or ``configure_NAME`` and ``run_NAME`` where several commands share it.
    """

    name: str
    group: str
    help: str
    example: str
    module: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments."""
        self._function("configure")(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit status."""
        return int(self._function("run")(args))

    def _function(self, verb: str) -> Callable[[Any], Any]:
        module = importlib.import_module(self.module)
        own: Callable[[Any], Any] | None = getattr(module, f"{verb}_{self.name}", None)
        return own or getattr(module, verb)
