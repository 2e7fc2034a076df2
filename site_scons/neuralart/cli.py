"""The ``neuralart`` command. Its sub-commands are plugins (:class:`neuralart.command.Command`).

The module of one is imported only when it is asked for, so that ``neuralart X --help`` starts fast.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from neuralart import __version__, plugins
from neuralart.command import DAILY, GROUPS
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
    """Load all commands, by name, in the order of the help. A command that fails to load is left out with a line."""
    for problem in plugins.problems("commands"):
        print(f"neuralart: {problem}", file=sys.stderr)
    return {plugin.name: plugin for plugin in sorted(plugins.known("commands"), key=_place_in_help)}


def _place_in_help(plugin: plugins.Plugin) -> tuple[int, int]:
    daily = DAILY.index(plugin.name) if plugin.name in DAILY else len(DAILY)
    return list(GROUPS).index(_group(plugin)), daily


def _group(plugin: plugins.Plugin) -> str:
    return plugin.made.group if plugin.made.group in GROUPS else "more"


def overview(listed: Iterable[plugins.Plugin], explained: Collection[str]) -> str:
    """Format the commands by group: one line each for the explained groups, names alone for the others."""
    lines: list[str] = []
    for group, title in GROUPS.items():
        members = [plugin for plugin in listed if _group(plugin) == group]
        if members and group in explained:
            lines += ["", title, *(f"  {plugin.name:<12} {plugin.made.help}" for plugin in members)]
        elif members:
            names = ", ".join(plugin.name for plugin in members)
            lines += ["", title, textwrap.fill(names, 80, initial_indent="  ", subsequent_indent="  ", **_WHOLE)]
    return "\n".join(lines[1:])


_WHOLE: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}


def parser_of(asked: Collection[str | None]) -> argparse.ArgumentParser:
    """Make the parser, with arguments only for the asked commands; None among them also lists the others."""
    parser = _Parser(
        prog="neuralart",
        usage="neuralart [--version] [--no-color] COMMAND ...",
        description="From a quantized network to a running STM32 board.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument("--no-color", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"neuralart {__version__}", help=argparse.SUPPRESS)
    choices = parser.add_subparsers(dest="command", required=True, help=argparse.SUPPRESS, prog="neuralart")
    listed = commands() if None in asked else {}
    if listed:
        parser.epilog = overview(listed.values(), ("daily", "begin", "look"))
    steps: Any = None
    for name in listed or [name for name in asked if name is not None]:
        plugin = listed.get(name) or plugins.find("commands", name)
        text, place = plugin.made.help, choices
        if listed and _group(plugin) == "tool":
            steps = steps or choices.add_parser("tool", help="single steps").add_subparsers(
                dest="command", prog="neuralart tool"
            )
            place = steps
        command = place.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name in asked:
            command.formatter_class = argparse.RawDescriptionHelpFormatter  # An example is not folded
            plugin.call("configure", command)
            example = f"example: neuralart {'tool ' * (_group(plugin) == 'tool')}{plugin.made.example}"
            command.epilog = "\n".join(filter(None, (example, command.epilog)))
    return parser


def _as_target(words: list[str]) -> list[str]:
    """``run digits-n6`` builds the target ``run-digits-n6``. A path, an option or an output file means the command."""
    name, *rest = words
    if not rest or rest[0][:1] in ("-", "") or Path(rest[0]).name != rest[0] or {"-o", "--output"} & {*rest}:
        return words
    if not getattr(plugins.find("commands", name).made, "target", False):
        return words
    count = next((at for at, word in enumerate(rest) if word.startswith("-") or "=" in word), len(rest))
    return ["build", *(f"{name}-{variant}" for variant in rest[:count]), *rest[count:]]


def _help_of_tool() -> str:
    listed = overview(commands().values(), ("more", "tool")).partition(GROUPS["more"])
    return f"usage: neuralart tool COMMAND ...\n\nmore commands, with or without 'tool':{listed[2]}"


def _say_where(name: str) -> None:
    """A command of ours that is a single step is called below ``tool``; this release takes its name alone, too."""
    plugin = plugins.find("commands", name)
    if plugin.source is plugins.OWN and _group(plugin) == "tool":
        text = f"neuralart {name}: note: write 'neuralart tool {name}'; a later release takes nothing else"
        print(text, file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command. Returns 0 on success, 1 if it refuses the input, 2 for wrong usage and for outputs that
    differ. Without a command it prints the help and returns 2.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["--no-color"]:
        os.environ["NO_COLOR"] = words.pop(0)
    console.output_streams()
    asked = next((word for word in words if not word.startswith("-")), None)
    try:
        if (words[:1] == ["tool"] and len(words) < 2) or (words[1:2] in (["-h"], ["--help"]) and asked == "tool"):
            print(_help_of_tool())
            return 0
        below_tool = words[:1] == ["tool"]
        words = words[below_tool:]
        asked = asked if not below_tool else next((word for word in words if not word.startswith("-")), None)
        if asked is not None and asked == words[0]:
            known = plugins.names("commands", asked)
            if asked not in known:
                parser_of(()).error("; ".join(filter(None, (f"no command '{asked}'", similar(asked, known)))))
            if not below_tool:
                _say_where(asked)
            words = _as_target(words)
            asked = words[0]
        if words[:1] == ["build"] and words[1:2] not in (["-h"], ["--help"]):
            words.insert(1, "--")  # The rest is for scons, from the first option on
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
