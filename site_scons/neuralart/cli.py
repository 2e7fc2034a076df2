"""The ``neuralart`` command. Its sub-commands are plugins (:class:`neuralart.command.Command`).

The module of one is imported only when it is asked for, so that ``neuralart X --help`` starts fast.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any, NoReturn

from neuralart import __version__, plugins
from neuralart.command import GROUPS
from neuralart.errors import NeuralArtError, of_system, similar
from neuralart.text import console

USER_ERROR = 1
USAGE_ERROR = 2


class _Parser(argparse.ArgumentParser):
    """Wrong usage is one line, too."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE_ERROR, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = super().parse_known_args(args, namespace)
        several = next((each for each in self._get_positional_actions() if each.nargs in ("*", "+")), None)
        if several is not None and not any(word.startswith("-") for word in unknown):
            # argparse takes words of one list only where no option stands between them.
            more = [self._get_value(several, word) for word in unknown]
            setattr(found, several.dest, [*(getattr(found, several.dest) or ()), *more])
            unknown = []
        if unknown:
            near = similar(unknown[0].partition("=")[0], self._option_string_actions)
            self.error("; ".join(filter(None, (f"unknown argument '{unknown[0]}'", near))))
        return found, unknown


def commands() -> dict[str, plugins.Plugin]:
    """All commands, by name, in the order of the help. One that cannot be loaded is left out, with a line."""
    for problem in plugins.problems("commands"):
        print(f"neuralart: {problem}", file=sys.stderr)
    ordered = sorted(plugins.known("commands"), key=lambda plugin: GROUPS.index(plugin.made.group))
    return {plugin.name: plugin for plugin in ordered}


def parser_of(asked: Collection[str | None]) -> argparse.ArgumentParser:
    """The command line, with arguments for the asked commands alone; None among them: the others are listed, too."""
    parser = _Parser(prog="neuralart", description="From a quantized network to a running STM32 board.")
    parser.add_argument("--no-color", action="store_true", help="no colors on a terminal, as with NO_COLOR=1")
    parser.add_argument("--version", action="version", version=f"neuralart {__version__}")
    choices = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listed = commands() if None in asked else {}
    for name in listed or [name for name in asked if name is not None]:
        plugin = listed.get(name) or plugins.find("commands", name)
        text = plugin.made.help
        command = choices.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in asked:
            command.formatter_class = argparse.RawDescriptionHelpFormatter  # An example is not folded
            plugin.call("configure", command)
            example = f"example: neuralart {plugin.made.example}"
            command.epilog = "\n".join(filter(None, (example, command.epilog)))
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command. Returns 0 when it did what was asked, 1 for a refusal of the user's input, 2 for wrong usage
    (and for a difference between expected and computed outputs). Without a command it prints the help, and returns 2.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--no-color"]:
        os.environ["NO_COLOR"] = words.pop(0)
    if words[:1] == ["build"] and words[1:2] not in (["-h"], ["--help"]):
        words.insert(1, "--")  # The rest is for scons, from the first option on
    console.output_streams()
    asked = next((word for word in words if not word.startswith("-")), None)
    try:
        if asked is not None and asked == words[0] and asked not in (known := plugins.names("commands", asked)):
            parser_of(()).error("; ".join(filter(None, (f"no command '{asked}'", similar(asked, known)))))
        parser = parser_of((asked,) if words[:1] == [asked] else (asked, None))
        if not words:
            parser.print_help()
            return USAGE_ERROR
        args = parser.parse_args(words)
        if "outputs" in args:
            from neuralart import outputs

            outputs.check(args)
        status = int(plugins.find("commands", args.command).call("run", args))
        sys.stdout.flush()
        # Rooms of one floor do not know each other: a command says which one follows it.
        then = getattr(args, "then", None)
        return main(then) if then and not status else status
    except NeuralArtError as error:
        print(f"neuralart {asked}: error: {error}", file=sys.stderr)
        return USER_ERROR
    except BrokenPipeError:
        # The reader has seen enough (``| head``); the interpreter must not try to write the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (Exception, SystemExit) as error:
        found = plugins.blamed(error)
        if found is None and isinstance(error, OSError):
            found = of_system(error)
        if found is None:
            raise
        print(f"neuralart {asked}: error: {found}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print(f"neuralart {asked or ''}: interrupted".replace(" :", ":"), file=sys.stderr)
        return 130
