"""``network.mk`` and ``network.cmake`` for the user's own build. They find their folder themselves: without paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def _head(text: BuildText, lines: Sequence[str]) -> list[str]:
    title = f": {text.title}" if text.title else ""
    return [f"# {text.name}{title}, for {text.board}. Generated.", *(f"# {line}".rstrip() for line in lines), ""]


# ---- make ------------------------------------------------------------------------------------------------------------


def make_word(word: str) -> str:
    """A word of a command line: quoted for the shell, then for make."""
    if not _PLAIN.fullmatch(word):
        word = "'" + word.replace("'", "'\\''") + "'"
    # Backslashes in front of a # are halved by make, and only there.
    return re.sub(r"(\\*)#", lambda match: match[1] * 2 + "\\#", word.replace("$", "$$"))


def _make_list(name: str, words: Iterable[str]) -> list[str]:
    given = list(words)
    return [f"{name} :={' ' if given else ''}" + " \\\n  ".join(given)] if given else [f"{name} :="]


def make(text: BuildText) -> str:
    folder = "$(NEURALART_DIR)"
    include = [*(each.folder for each in text.networks), *text.include_dirs]
    sources = [*(name for each in text.networks for name in each.sources), *text.sources]
    lines = _head(
        text,
        [
            "",
            "    include path/to/network.mk",
            "    OBJECTS += $(patsubst $(NEURALART_DIR)/%.c,build/neuralart/%.o,$(NEURALART_SOURCES))",
            "    build/neuralart/%.o: $(NEURALART_DIR)/%.c",
            "    \t$(CC) $(CPPFLAGS) $(NEURALART_CPPFLAGS) $(CFLAGS) $(NEURALART_CFLAGS) -c -o $@ $<",
            "",
            "NEURALART_HEX_FILES go into flash beside the program; their addresses are in them and in manifest.json.",
        ],
    )
    lines += ["NEURALART_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))"]
    lines += _make_list("NEURALART_NETWORKS", [each.name for each in text.networks])
    lines += _make_list("NEURALART_SOURCES", [f"{folder}/{name}" for name in sources])
    lines += _make_list("NEURALART_INCLUDE_DIRS", [f"{folder}/{name}" for name in include])
    defines = [make_word(f"-D{define}") for define in text.defines]
    lines += _make_list("NEURALART_CPPFLAGS", ["$(addprefix -I,$(NEURALART_INCLUDE_DIRS))", *defines])
    lines += _make_list("NEURALART_CFLAGS", [EXACT] if text.exact_floats else [])
    lines += _make_list("NEURALART_HEX_FILES", [f"{folder}/{name}" for name in text.hex_files])
    return "\n".join(lines) + "\n"


# ---- CMake -----------------------------------------------------------------------------------------------------------


def cmake_word(word: str) -> str:
    """A quoted argument; an element of a list may hold no ``;``, so that comes as a generator expression."""
    for old, new in (("\\", "\\\\"), ('"', '\\"'), ("$", "\\$"), (";", "$<SEMICOLON>")):
        word = word.replace(old, new)
    return f'"{word}"'


def _cmake_paths(names: Iterable[str]) -> list[str]:
    return [f'    "${{CMAKE_CURRENT_LIST_DIR}}/{name}"' for name in names]


def _property(target: str, name: str, words: Sequence[str]) -> list[str]:
    return [f"set_property(TARGET {target} PROPERTY {name}", *words, ")"] if words else []


def _target(target: str) -> list[str]:
    return [
        f"if(TARGET {target})",
        f'  message(FATAL_ERROR "${{CMAKE_CURRENT_LIST_FILE}}: there is a target {target} already. '
        'Networks of one program are exported together, as one variant.")',
        "endif()",
        f"add_library({target} INTERFACE IMPORTED)",
    ]


def cmake(text: BuildText) -> str:
    """``network.cmake``: an imported INTERFACE library for each network, and one for what they share."""
    shared = "neuralart-shared"
    first = text.networks[0].name
    lines = _head(
        text,
        [
            "",
            "    include(path/to/network.cmake)",
            f"    target_link_libraries(app PRIVATE neuralart::{first})",
            "",
            "The sources are compiled with the flags of app. NEURALART_HEX_FILES go into flash beside the program;",
            "their addresses are in them and in manifest.json.",
        ],
    )
    lines += [
        f"if(CMAKE_VERSION VERSION_LESS {OLDEST_CMAKE})",
        f'  message(FATAL_ERROR "${{CMAKE_CURRENT_LIST_FILE}} needs CMake {OLDEST_CMAKE}")',
        "endif()",
        "include_guard(DIRECTORY)",
        "get_property(_neuralart_languages GLOBAL PROPERTY ENABLED_LANGUAGES)",
        'if(NOT "C" IN_LIST _neuralart_languages)',
        '  message(FATAL_ERROR "${CMAKE_CURRENT_LIST_FILE}: the networks are C: name the language, project(NAME C)")',
        "endif()",
        "",
        *_target(shared),
        *_property(shared, "INTERFACE_SOURCES", _cmake_paths(text.sources)),
        *_property(shared, "INTERFACE_INCLUDE_DIRECTORIES", _cmake_paths(text.include_dirs)),
        *_property(shared, "INTERFACE_COMPILE_DEFINITIONS", [f"    {cmake_word(each)}" for each in text.defines]),
    ]
    options = [f'    "$<$<COMPILE_LANG_AND_ID:C,GNU,Clang,ARMClang>:{EXACT}>"'] if text.exact_floats else []
    # CMake hands folders of imported targets over as system folders, which the assembler (.incbin) does not look into.
    folders = [each.folder for each in text.networks if each.linked]
    options += [f'    "$<$<COMPILE_LANGUAGE:C>:-I${{CMAKE_CURRENT_LIST_DIR}}/{folder}>"' for folder in folders]
    lines += _property(shared, "INTERFACE_COMPILE_OPTIONS", options)
    for each in text.networks:
        target = f"neuralart::{each.name}"
        lines += [
            "",
            *_target(target),
            *_property(target, "INTERFACE_SOURCES", _cmake_paths(each.sources)),
            *_property(target, "INTERFACE_INCLUDE_DIRECTORIES", _cmake_paths([each.folder])),
            *_property(target, "INTERFACE_LINK_LIBRARIES", [f"    {shared}"]),
        ]
    lines += ["", "set(NEURALART_HEX_FILES", *_cmake_paths(text.hex_files), ")"]
    return "\n".join(lines) + "\n"
