"""``network.mk`` and ``network.cmake`` for the user's own build. They find their folder themselves: without paths."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from neuralart.resources import templates

if TYPE_CHECKING:
    from jinja2 import Environment

EXACT = "-ffp-contract=off"
OLDEST_CMAKE = "3.16"
_PLAIN = re.compile(r"[A-Za-z0-9_=.,:+/-]*", re.ASCII)


@dataclass(frozen=True)
class ExportedNetwork:
    """Files of a network: its name, its C, its folder, and whether the assembler reads files of that folder."""

    name: str
    sources: tuple[str, ...]
    folder: str
    linked: bool


@dataclass(frozen=True)
class BuildText:
    """What both files say; names are relative to the folder."""

    name: str  # Of the variant
    title: str  # For people
    board: str  # Name of the board
    networks: tuple[ExportedNetwork, ...]  # In order
    sources: tuple[str, ...]  # C that all networks share
    include_dirs: tuple[str, ...]  # Folders of headers that all networks share
    hex_files: tuple[str, ...]  # What is to be loaded beside the program
    defines: tuple[str, ...]  # Preprocessor definitions
    exact_floats: bool  # Compile so that products and sums are rounded one by one


def make_word(word: str) -> str:
    """A word of a command line: quoted for the shell, then for make."""
    if not _PLAIN.fullmatch(word):
        word = "'" + word.replace("'", "'\\''") + "'"
    # Backslashes in front of a # are halved by make, and only there.
    return re.sub(r"(\\*)#", lambda match: match[1] * 2 + "\\#", word.replace("$", "$$"))


def make(text: BuildText) -> str:
    """``network.mk``: variables with the files and flags of all networks."""

    def below(*names: str) -> list[str]:
        return [f"$(NEURALART_DIR)/{name}" for name in names]

    defines = [make_word(f"-D{define}") for define in text.defines]
    lists = {
        "NETWORKS": [network.name for network in text.networks],
        "SOURCES": below(*(name for each in text.networks for name in each.sources), *text.sources),
        "INCLUDE_DIRS": below(*(network.folder for network in text.networks), *text.include_dirs),
        "CPPFLAGS": ["$(addprefix -I,$(NEURALART_INCLUDE_DIRS))", *defines],
        "CFLAGS": [EXACT] if text.exact_floats else [],
        "HEX_FILES": below(*text.hex_files),
    }
    return _templates().get_template("network.mk.j2").render(**vars(text), lists=lists)


def cmake_word(word: str) -> str:
    """A quoted argument; an element of a list may hold no ``;``, so that comes as a generator expression."""
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("$", "\\$"), (";", "$<SEMICOLON>")):
        word = word.replace(old, new)
    return f'"{word}"'


def cmake(text: BuildText) -> str:
    """``network.cmake``: an imported INTERFACE library for each network, and one for what they share."""
    options = [f'"$<$<COMPILE_LANG_AND_ID:C,GNU,Clang,ARMClang>:{EXACT}>"'] if text.exact_floats else []
    # CMake hands folders of imported targets over as system folders, which the assembler (.incbin) does not look into.
    folders = [network.folder for network in text.networks if network.linked]
    options += [f'"$<$<COMPILE_LANGUAGE:C>:-I${{CMAKE_CURRENT_LIST_DIR}}/{folder}>"' for folder in folders]
    template = _templates().get_template("network.cmake.j2")
    return template.render(**vars(text), options=options, oldest=OLDEST_CMAKE)


def _templates() -> Environment:
    found = templates(Path(__file__).with_name("templates"))
    found.filters.update(word=cmake_word, below=lambda name: f'"${{CMAKE_CURRENT_LIST_DIR}}/{name}"')
    return found
