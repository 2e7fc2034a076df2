"""The command line of all compilers, shaped like that of ``stedgeai generate``."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from neuralart import plugins
from neuralart.errors import NeuralArtError, closest, similar

if TYPE_CHECKING:
    from neuralart.boards.types import Board
    from neuralart.compilers.options import Option

REFERENCE, STEDGEAI, RECORDED, AUTO, ADOPTED = "reference", "stedgeai", "recorded", "auto", "adopted"
COMPILERS = (REFERENCE, STEDGEAI, RECORDED, AUTO, ADOPTED)
DOC = "docs/reference/generate-options.md"
_VENDOR_DOC = "docs/reference/stedgeai.md"
LEVELS = ("0", "1", "2", "3")
"""Of ``-O``, of profiles."""
# What reads the words of a compile.
_WORDS = ("compilers/command_line.py", "compilers/dispatch.py")
_ROOMS = {
    STEDGEAI: ("compilers/stedgeai", *_WORDS),
    RECORDED: ("compilers/recorded.py",),
    ADOPTED: ("compilers/adopted.py",),
}


def rooms_of(kind: str) -> tuple[str, ...]:
    """List the code that decides a compile, for :func:`~neuralart.fingerprint.fingerprint`: only that of the compiler
    itself; of ``auto`` that of all ours. The code of plugins is hashed elsewhere.
    """
    if kind == AUTO:
        return tuple(dict.fromkeys(room for own in (REFERENCE, *_ROOMS) for room in rooms_of(own)))
    package = plugins.package_of("compilers", kind)
    if package not in ("", "neuralart"):
        return (package, *_WORDS)
    return _ROOMS.get(kind, ("compilers/command_line.py", "compilers/protocol.py"))


def option_key(option: Option) -> str:
    """The attribute of an option's value in the parsed arguments."""
    return option.name.lstrip("-").replace("-", "_")


def _compiler(name: str) -> str:
    """The name of a compiler, for argparse; plugins are looked for only where it is none of ours."""
    if name not in COMPILERS:
        known = plugins.names("compilers")
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is not available, known: {', '.join(known)}")
    return name


class _ToProfile(argparse.Action):
    """An option of profiles on the command line is added to the profile's."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        words = [str(option_string), *([values] if isinstance(values, str) else ())]
        namespace.profile_add = [*(namespace.profile_add or ()), shlex.join(words)]


class _Optimization(argparse.Action):
    """``-O time`` is an option of the command line, ``-O3`` one of profiles."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if values in LEVELS:
            namespace.profile_add = [*(namespace.profile_add or ()), f"-O{values}"]
        else:
            setattr(namespace, self.dest, values)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.1 <= seconds <= 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of seconds, 0.1 to 1e6")
    return seconds


def configure(parser: argparse.ArgumentParser) -> None:
    """Add every option of the table, also those that are refused with a reason."""
    # A build that compiles nothing does not load the table.
    from neuralart.compilers.options import FLAG, GENERATE, HONORED, MAYBE, REFUSED, VALUE, of_profile

    parser.allow_abbrev = False
    parser.epilog = f"Options that are accepted without effect, or refused: {DOC}"
    for option in GENERATE:
        shown = option.why if option.effect == HONORED else argparse.SUPPRESS
        form: dict[str, Any]
        if option.effect == REFUSED:
            # Whatever follows, the answer is the reason.
            form = {"nargs": "?", "const": ""}
        elif option.takes == FLAG:
            form = {"action": "store_true", "default": None}
        elif option.takes == MAYBE:
            form = {"nargs": "?", "const": "", "metavar": option.metavar or "VALUE"}
        else:
            form = {"metavar": option.metavar or "{" + ",".join(option.choices) + "}"}
        if option.name == "--optimization":
            form["action"] = _Optimization
        parser.add_argument(*option.names, dest=option_key(option), help=shown, **form)
    more = parser.add_argument_group("which compiler, and what differs from the profile's file", _VENDOR_DOC)
    text = f"who compiles: {', '.join(COMPILERS)} or a plugin's (default reference; auto: stedgeai if found)"
    more.add_argument("--compiler", type=_compiler, default=REFERENCE, metavar="NAME", help=text)
    more.add_argument("--compiler-version", metavar="PIN", help='of ST Edge AI Core: "4.0.*", "4.0.1"')
    more.add_argument("--recording", metavar="DIR", help="folder that 'neuralart record' made, for --compiler recorded")
    more.add_argument("--adopted", metavar="DIR", help="folder with the C of a network, for --compiler adopted")
    more.add_argument("--c-file", metavar="NAME", help="name of that C, where the folder has several networks")
    text = "constants of a pool of it, where they are elsewhere"
    more.add_argument("--initializer", action="append", metavar="POOL=FILE", help=text)
    for name, what in (("add", "options to add to the profile's"), ("remove", "options of the profile to leave out")):
        more.add_argument(
            f"--profile-{name}", action="append", metavar="WORDS", help=f"{what}, as --profile-{name}=WORDS"
        )
    for option in of_profile():
        nargs = {FLAG: 0, VALUE: None, MAYBE: "?"}[option.takes]
        dest, text = "profile_add", argparse.SUPPRESS
        more.add_argument(*option.names, action=_ToProfile, nargs=nargs, dest=dest, help=text)
    more.add_argument("--pair", choices=("profiling",), help="profiling: the same network without the epoch controller")
    more.add_argument(
        "--extra-options", action="append", metavar="WORDS", help="further words for stedgeai, as --extra-options=WORDS"
    )
    more.add_argument("--failures", action="append", metavar="FILE", help="table of failures, asked before our own")
    text = "seconds that stedgeai may take; then it is ended (default: any)"
    more.add_argument("--timeout", type=_seconds, metavar="S", help=text)
    more.add_argument("--tool-cache", metavar="FILE", help="remembers the versions of installations")
    from neuralart import outputs

    outputs.add_force(more)


def split_words(texts: list[str] | None) -> tuple[str, ...]:
    """Split repeated options of several words each. NeuralArtError: an open quote."""
    words: list[str] = []
    for text in texts or ():
        try:
            words += shlex.split(text)
        except ValueError as error:
            where = "--profile-add, --profile-remove, --extra-options"
            raise NeuralArtError(f"'{text}': {error}".lower(), where=where) from error
    return tuple(words)


def option_values(args: argparse.Namespace) -> dict[str, str | bool | None]:
    """The parsed value of every option of the table, by its canonical name."""
    from neuralart.compilers.options import GENERATE

    return {option.name: getattr(args, option_key(option)) for option in GENERATE}


def board_as_target(args: argparse.Namespace) -> None:
    """Replace a board as ``--target`` by its target, with its profile or pool file unless others are named. A name that
    is also a target means the target. NeuralArtError: it is neither, but similar to a board.
    """
    from neuralart import boards
    from neuralart.network.targets import TARGETS

    if not args.target or args.target in TARGETS:
        return
    known = boards.names()
    if args.target not in known:
        if closest(args.target, known, cutoff=0.8):
            hint = f"{similar(args.target, known)} neuralart boards lists them all"
            raise NeuralArtError(f"unknown target or board '{args.target}'", where="--target", hint=hint)
        return
    take_board(args, boards.load(args.target))


def take_board(args: argparse.Namespace, board: Board) -> None:
    """Set the target of a board, with its profile or pool file unless others are named."""
    from neuralart.network.targets import CPU, flow_of
    from neuralart.vendor.profile import parse_argument

    args.target = board.target
    if flow_of(board.target) == CPU:
        args.memory_pool = args.memory_pool or board.memory_pools or None
    elif (args.st_neural_art is not None or args.mpool is None) and board.profile:
        named = parse_argument(args.st_neural_art or "")
        if args.compiler == ADOPTED or (args.st_neural_art and args.compiler in (STEDGEAI, RECORDED)):
            return  # It is compiled; or ``profile-NAME`` is one of the tool's own
        args.st_neural_art = f"{named.name}@{named.file or board.profile}"


def parsed(words: Sequence[str], where: str = "") -> argparse.Namespace:
    """Parse the words after ``neuralart compile``, to know the files of a compile before it runs. Paths start from the
    current folder. NeuralArtError, at ``where``: the words are wrong.
    """

    class CompileParser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise NeuralArtError(message, where=where)

    parser = CompileParser(prog="neuralart compile", add_help=False)
    configure(parser)
    return parser.parse_args(list(words))
