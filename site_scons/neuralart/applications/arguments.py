"""``neuralart application build`` as words, both ways: what a build depends on is on its command line."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from neuralart.applications.staging import Generated
from neuralart.config.application import (
    CONFIGURATION,
    ELF,
    EXTERNAL,
    ApplicationConfig,
    ExternalConfig,
    StageConfig,
    StageRule,
    inside,
)
from neuralart.errors import NeuralArtError

_NETWORK = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Options with one text each, and the fields that they are.
_TEXTS = {
    "--folder": "folder",
    "--directory": "directory",
    "--artefact": "artefact",
    "--target": "target",
    "--generator": "generator",
    "--toolchain-file": "toolchain_file",
    "--configuration": "configuration",
    "--executable": "executable",
}


def words(config: ApplicationConfig) -> list[str]:
    """The settings of an application as arguments; each is one word, ``--option=value``.

    Args:
        config: An external application, or a linked program.
    """
    if config.kind == ELF:
        return [f"--with={ELF}", f"--elf={config.elf}"]
    given = config.external
    assert given is not None
    plain = ExternalConfig("", "")
    found = [f"--with={config.kind}"]
    for option, field in _TEXTS.items():
        value = getattr(given, field)
        if value != getattr(plain, field):
            found.append(f"{option}={value}")
    found += [f"--variable={name}={value}" for name, value in given.variables]
    found += [f"--option={option}" for option in given.options]
    found += [f"--exclude={pattern}" for pattern in given.exclude]
    if given.stage.folder != plain.stage.folder:
        found.append(f"--stage-folder={given.stage.folder}")
    return found + [f"--stage={rule.pattern}={rule.destination}" for rule in given.stage.rules]


def places(config: ApplicationConfig) -> list[str]:
    """Where the settings were written, for messages; the program does not depend on it."""
    found = [f"--place={key}={place}" for key, place in sorted(config.places.items())]
    rules = config.external.stage.rules if config.external is not None else ()
    return found + [f"--place=stage:{rule.pattern}={rule.where}" for rule in rules if rule.where]


def generated_words(files: Sequence[Generated]) -> list[str]:
    """Generated files as arguments."""
    return [f"--generated={item.network}:{item.path.as_posix()}" for item in files]


def add(parser: argparse.ArgumentParser) -> None:
    """Add the arguments."""
    parser.add_argument("--with", dest="kind", choices=(*EXTERNAL, ELF), required=True, help="how it is built")
    parser.add_argument("--elf", default="", metavar="FILE", help="a program that is linked already")
    for option, metavar, text in (
        ("--folder", "DIR", "the folder that holds all of the application"),
        ("--directory", "DIR", "below it: where make runs, where CMakeLists.txt or the project is"),
        ("--artefact", "FILE", "the linked program, below that; with cmake below its build folder"),
        ("--target", "NAME", "target of make or cmake"),
        ("--generator", "NAME", "generator of cmake"),
        ("--toolchain-file", "FILE", "of cmake"),
        ("--configuration", "NAME", "of STM32CubeIDE"),
        ("--executable", "FILE", "make, cmake or STM32CubeIDE"),
    ):
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
    """The application that arguments describe.

    Raises:
        NeuralArtError: A value is wrong, or one is missing.
    """
    where: dict[str, str] = {}
    for text in args.place:
        # The key of the application itself is empty.
        key, _, place = text.partition("=")
        where[key] = place
    rules = tuple(_rule(text, where) for text in args.stage)
    where = {key: place for key, place in where.items() if not key.startswith("stage:")}
    if args.kind == ELF:
        if not args.elf:
            raise NeuralArtError("is missing", where="--elf")
        return ApplicationConfig(ELF, elf=args.elf, places=where)
    if not args.folder:
        raise NeuralArtError("is missing", where="--folder")
    if not args.artefact and args.kind != "cubeide":
        raise NeuralArtError("is missing", where="--artefact")
    external = ExternalConfig(
        folder=args.folder,
        artefact=_inside(args.artefact, "--artefact") if args.artefact else "",
        directory=_inside(args.directory or ".", "--directory"),
        target=args.target,
        variables=tuple(_split(text, "--variable") for text in args.variable),
        generator=args.generator,
        toolchain_file=args.toolchain_file,
        options=tuple(args.option),
        configuration=args.configuration or CONFIGURATION,
        executable=args.executable,
        exclude=tuple(args.exclude),
        stage=StageConfig(_inside(args.stage_folder or StageConfig().folder, "--stage-folder"), rules),
    )
    return ApplicationConfig(args.kind, external=external, places=where)


def generated_of(texts: Sequence[str]) -> tuple[Generated, ...]:
    """Generated files that arguments name.

    Raises:
        NeuralArtError: One is no ``NETWORK:FILE``, or the file is not there.
    """
    found = []
    for text in texts:
        network, colon, path = text.partition(":")
        if not colon or not path or (network and not _NETWORK.fullmatch(network)):
            raise NeuralArtError(f"'{text}' is no NETWORK:FILE", where="--generated", hint="for all networks: ':FILE'")
        if not Path(path).is_file():
            raise NeuralArtError(f"no file {path}", where="--generated")
        found.append(Generated(network, Path(path)))
    return tuple(found)
