"""``neuralart application``: builds and checks the user's application. All that ``application build`` depends on is on
its command line, so settings are turned into words and back.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from neuralart import outputs
from neuralart.applications.staging import Generated, scan
from neuralart.config.application import (
    BUILDS,
    CONFIGURATION,
    CUBEIDE,
    ELF,
    EXTERNAL,
    ApplicationConfig,
    ExternalConfig,
    StageConfig,
    StageRule,
    check_variable,
    inside,
)
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes, write_text
from neuralart.text.console import say
from neuralart.text.progress import at_work

_NETWORK = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_STEM = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)
# Options with one text each: what they show and say; each is a field of the same name.
_TEXTS = {
    "--folder": ("DIR", "the folder that holds all of the application"),
    "--directory": ("DIR", "below it: where make runs, where CMakeLists.txt or the project is"),
    "--artefact": ("FILE", "the linked program, below that; with cmake below its build folder"),
    "--target": ("NAME", "target of make or cmake"),
    "--generator": ("NAME", "generator of cmake"),
    "--toolchain-file": ("FILE", "of cmake"),
    "--preset": ("NAME", "of cmake"),
    "--configuration": ("NAME", "of STM32CubeIDE"),
    "--build": ("ide|native", "by STM32CubeIDE, or as its project says without it"),
    "--executable": ("FILE", "make, cmake or STM32CubeIDE"),
}


def words(config: ApplicationConfig) -> list[str]:
    """Write the settings of an application as words ``--option=value``."""
    if config.kind == ELF:
        return [f"--with={ELF}", f"--elf={config.elf}"]
    given = config.external
    assert given is not None
    plain = ExternalConfig("", "")
    found = [f"--with={config.kind}"]
    for option in _TEXTS:
        field = option.removeprefix("--").replace("-", "_")
        if getattr(given, field) != getattr(plain, field):
            found.append(f"{option}={getattr(given, field)}")
    found += [f"--variable={name}={value}" for name, value in given.variables]
    found += [f"--option={option}" for option in given.options]
    found += [f"--exclude={pattern}" for pattern in given.exclude]
    if given.stage.folder != plain.stage.folder:
        found.append(f"--stage-folder={given.stage.folder}")
    return found + [f"--stage={rule.pattern}={rule.destination}" for rule in given.stage.rules]


def places(config: ApplicationConfig) -> list[str]:
    """List where the settings were written, for messages only."""
    found = [f"--place={key}={place}" for key, place in sorted(config.places.items())]
    rules = config.external.stage.rules if config.external is not None else ()
    return found + [f"--place=stage:{rule.pattern}={rule.where}" for rule in rules if rule.where]


def generated_words(files: Sequence[Generated]) -> list[str]:
    """Write generated files as words."""
    found = []
    for item in files:
        named = f"{item.network}={item.c_stem}" if item.c_stem else item.network
        option = f"--generated={named}:" if item.place is None else f"--placed={item.place}="
        found.append(f"{option}{item.path.as_posix()}")
    return found


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that :func:`words` gives."""
    parser.add_argument("--with", dest="kind", choices=(*EXTERNAL, ELF), required=True, help="how it is built")
    parser.add_argument("--elf", default="", metavar="FILE", help="a program that is linked already")
    for option, (metavar, text) in _TEXTS.items():
        parser.add_argument(option, default="", metavar=metavar, help=text)
    parser.add_argument("--variable", action="append", default=[], metavar="NAME=VALUE", help="for make")
    parser.add_argument("--option", action="append", default=[], metavar="WORD", help="for the configuration of cmake")
    parser.add_argument("--exclude", action="append", default=[], metavar="PATTERN", help="what is not copied")
    parser.add_argument("--stage-folder", default="", metavar="DIR", help="where generated files go")
    parser.add_argument(
        "--stage", action="append", default=[], metavar="PATTERN=PLACE", help="where some generated files go instead"
    )
    parser.add_argument("--place", action="append", default=[], metavar="KEY=FILE:LINE", help=argparse.SUPPRESS)


def _split(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise NeuralArtError(f"'{text}' is no NAME=VALUE", where=option)
    return name, value


def _variable(text: str) -> tuple[str, str]:
    name, value = _split(text, "--variable")
    try:
        check_variable(name, value)
    except ValueError as error:
        raise NeuralArtError(f"'{text}': {error}", where="--variable") from None
    return name, value


def _inside(text: str, option: str) -> str:
    try:
        return inside(text)
    except ValueError as error:
        raise NeuralArtError(f"'{text}' {error}", where=option) from None


def _rule(text: str, where: dict[str, str]) -> StageRule:
    pattern, destination = _split(text, "--stage")
    if destination:
        plain = _inside(destination, "--stage")
        destination = f"{plain}/" if destination.endswith("/") or plain == "." else plain
    return StageRule(pattern, destination, where.get(f"stage:{pattern}", "--stage"))


def config_of(args: argparse.Namespace) -> ApplicationConfig:
    """Read the application back from arguments. NeuralArtError: a value is wrong or missing."""
    # The key of the application itself is empty.
    where = {key: place for key, _, place in (text.partition("=") for text in args.place)}
    rules = tuple(_rule(text, where) for text in args.stage)
    where = {key: place for key, place in where.items() if not key.startswith("stage:")}
    if args.kind == ELF:
        if not args.elf:
            raise NeuralArtError("is missing", where="--elf")
        return ApplicationConfig(ELF, elf=args.elf, places=where)
    for option, missing in (("--folder", not args.folder), ("--artefact", not args.artefact and args.kind != CUBEIDE)):
        if missing:
            raise NeuralArtError("is missing", where=option)
    if args.build not in ("", *BUILDS):
        raise NeuralArtError(f"'{args.build}' is not {' or '.join(BUILDS)}", where="--build")
    external = ExternalConfig(
        folder=args.folder,
        artefact=_inside(args.artefact, "--artefact") if args.artefact else "",
        directory=_inside(args.directory or ".", "--directory"),
        target=args.target,
        variables=tuple(_variable(text) for text in args.variable),
        generator=args.generator,
        toolchain_file=args.toolchain_file,
        preset=args.preset,
        options=tuple(args.option),
        configuration=args.configuration or CONFIGURATION,
        build=args.build or BUILDS[0],
        executable=args.executable,
        exclude=tuple(args.exclude),
        stage=StageConfig(_inside(args.stage_folder or StageConfig().folder, "--stage-folder"), rules),
    )
    return ApplicationConfig(args.kind, external=external, places=where)


def generated_of(texts: Sequence[str]) -> tuple[Generated, ...]:
    """Read generated files from ``NETWORK:FILE``. NeuralArtError: the text is another, or the file is missing."""
    found = []
    for text in texts:
        names, colon, path = text.partition(":")
        network, _, stem = names.partition("=")
        if not colon or not path or (names and not (_NETWORK.fullmatch(network) and _STEM.fullmatch(stem))):
            raise NeuralArtError(f"'{text}' is no NETWORK:FILE", where="--generated", hint="for all networks: ':FILE'")
        found.append(Generated(network, _file(path, "--generated"), stem))
    return tuple(found)


def _file(path: str, option: str) -> Path:
    if not Path(path).is_file():
        raise NeuralArtError(f"no file {path}", where=option)
    return Path(path)


def placed_of(texts: Sequence[str]) -> tuple[Generated, ...]:
    """Read files with their places from ``PLACE=FILE``. NeuralArtError: the text is another, or the file is missing."""
    found = []
    for text in texts:
        place, equals, path = text.partition("=")
        if not equals or place == ".":
            raise NeuralArtError(f"'{text}' is no PLACE=FILE", where="--placed")
        found.append(Generated("", _file(path, "--placed"), place=_inside(place, "--placed") if place else ""))
    return tuple(found)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the sub-commands and their arguments."""
    kinds = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

    def action(name: str, text: str) -> argparse.ArgumentParser:
        return kinds.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")

    build = action("build", "put generated files into a copy of the user's tree and run the build that it has")
    add(build)
    build.add_argument("--work", type=Path, required=True, metavar="DIR", help="folder for the copy and the log")
    build.add_argument("--output", type=Path, required=True, metavar="FILE", help="the program")
    outputs.add_force(build)
    build.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="what --folder and --elf are relative to"
    )
    build.add_argument("--toolchain", type=Path, metavar="DIR", help="folder of the cross compiler, in front of PATH")
    build.add_argument("--made-with", default="", metavar="TEXT", help="begin anew if this text is another one")
    build.add_argument("--tolerate", action="append", default=[], metavar="FLAG", help="flag that gcc does without")
    build.add_argument("--jobs", type=int, default=1, metavar="N", help="compiles at a time")
    build.add_argument("--quiet", action="store_true", help="print nothing when it went well")
    text = "a file that takes this place in the copy; '=FILE': that of the one file of its name"
    build.add_argument("--placed", action="append", default=[], metavar="PLACE=FILE", help=text)
    compare = action("compare", "say how a project of STM32CubeIDE and a makefile compile the same tree")
    compare.add_argument("--folder", type=Path, required=True, metavar="DIR", help="all of the application")
    compare.add_argument("--directory", default=".", metavar="DIR", help="below it: where the project is")
    compare.add_argument("--configuration", default=CONFIGURATION, metavar="NAME", help="of the project")
    compare.add_argument("--core", required=True, metavar="CM55", help="core of the board, as libraries name it")
    compare.add_argument(
        "--commands", type=Path, required=True, metavar="FILE", help="what make -n -B prints, or a build log; -: stdin"
    )
    compare.add_argument("--ran-in", type=Path, metavar="DIR", help="where make ran (default: the folder)")
    check = action("check", "say whether networks, runtime, libraries and post-processing belong together")
    check.add_argument("--folder", type=Path, action="append", required=True, metavar="DIR", help="the application")
    for each in (build, check):
        each.add_argument(
            "--generated", action="append", default=[], metavar="NETWORK:FILE", help="a generated file; ':FILE' for all"
        )
        each.add_argument("--libc", default="", metavar="NAME", help="C library, if the tree does not name one")
        each.add_argument("--core", default="", metavar="CM55", help="core of the board, as libraries name it")


def run(args: argparse.Namespace) -> int:
    """Build, compare or check; 1 if builds differ or parts do not fit together. NeuralArtError: as ``build``."""
    return {"build": _build, "compare": _compare, "check": _check}[args.action](args)


def _compare(args: argparse.Namespace) -> int:
    from neuralart.applications import cube_project

    top: Path = args.folder.resolve()
    place, shown = top / _inside(args.directory, "--directory"), (args.folder / args.directory).as_posix()
    cpu = f"cortex-m{args.core.lower().removeprefix('cm')}"
    project = cube_project.read(place, top, args.configuration, cpu, shown, "--configuration")
    said = sys.stdin.buffer.read() if str(args.commands) == "-" else read_bytes(args.commands)
    found = cube_project.compare(project, said.decode("utf-8", "replace"), (args.ran_in or top).resolve(), top)
    for line in (*project.notes, *found.differences):
        say(line)
    say(f"{found.sources} sources in both, {len(found.differences)} differences")
    return 1 if found.differences else 0


def _build(args: argparse.Namespace) -> int:
    from hashlib import sha256

    from neuralart.applications import build

    # A program cannot say who put it there. Of one that is only copied, nothing is remembered: it is compared.
    record = args.work / "program.sha256"
    known = record.read_text("ascii", "replace").strip() if record.is_file() else ""
    copied = args.root / args.elf if args.kind == "elf" else None
    if copied is not None and copied.is_file():
        known = sha256(read_bytes(copied)).hexdigest()
    outputs.refuse(args.output, lambda old: sha256(old).hexdigest() == known, force=args.force)
    build.discard(args.output)
    if args.jobs < 1:
        raise NeuralArtError(f"{args.jobs} is no number of compiles", where="--jobs")
    same = ("work", "output", "root", "jobs", "libc", "core", "toolchain", "made_with")
    given = {name: getattr(args, name) for name in same} | {"tolerate": tuple(args.tolerate)}
    files = (*generated_of(args.generated), *placed_of(args.placed))
    request = build.ApplicationRequest(config_of(args), files, **given)
    with at_work(f"build {args.kind}", quiet=args.quiet) as work:
        result = build.build(request, os.environ, work.say)
    if copied is None:
        write_text(record, f"{sha256(result.program).hexdigest()}\n")
    for note in result.notes:
        say(f"neuralart application: note: {note}", file=sys.stderr)
    if not args.quiet:
        text = f"{request.output.as_posix()}: {len(result.program):,} bytes"
        if result.changes is not None:
            text += f"; {len(result.changes.written)} files new, {result.changes.kept} as they were"
            text += f", {len(result.changes.removed)} removed" if result.changes.removed else ""
        print(text)
    return 0


def _check(args: argparse.Namespace) -> int:
    from neuralart.applications import lock_facts, version_lock

    tree: dict[str, Path] = {}
    for folder in args.folder:
        found = scan(folder, where="--folder")
        tree |= {f"{folder.as_posix()}/{name}": path for name, path in found.files.items()}
    facts = lock_facts.gather(generated_of(args.generated), tree, libc=args.libc, libc_where="--libc", core=args.core)
    found_conflicts = version_lock.conflicts(facts)
    for conflict in found_conflicts:
        say(f"{conflict.where}: {conflict.level}: {conflict.text}")
    errors = sum(conflict.level == version_lock.ERROR for conflict in found_conflicts)
    say(f"{errors} error{'' if errors == 1 else 's'}, {len(found_conflicts) - errors} notes")
    return 1 if errors else 0
