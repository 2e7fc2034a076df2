"""What a command of ``neuralart`` is: the protocol that our commands and those of plugins satisfy."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

GROUPS = {
    "daily": "every day, with a VARIANT of variants.yaml, from any folder of the project:",
    "begin": "to begin:",
    "look": "to look:",
    "more": "more: neuralart COMMAND --help",
    "tool": "single steps: neuralart tool COMMAND --help",
}
"""Groups of commands with their titles, in the order in which ``neuralart --help`` lists them; of the last two it lists
the names alone. Another word (0.3.0 had ``build``, ``run`` and ``board``) counts as ``more``.
"""
DAILY = ("build", "run", "flash", "load", "debug", "monitor", "validate", "watch")
"""Order of the first group; what others add to it comes behind."""


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

    Attributes:
        target: ``NAME VARIANT`` builds the target ``NAME-VARIANT``; the module is for calls that begin with an option.
    """

    name: str
    group: str
    help: str
    example: str
    module: str
    target: bool = False

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


def module_commands(table: str) -> Iterator[ModuleCommand]:
    """The commands of a table: a line ``GROUP MODULE: HELP`` each (``target`` behind the module where it has one), and
    below it its example, which begins with its name.
    """
    lines = table.strip().splitlines()
    for line, example in zip(lines[::2], lines[1::2], strict=True):
        head, _, words = line.partition(": ")
        group, module, *target = head.split()
        yield ModuleCommand(example.split()[0], group, words, example.strip(), module, bool(target))
