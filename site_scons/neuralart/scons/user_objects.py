"""Objects of a user's sources: C, and C++ and assembler, which no code of this project needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from neuralart.scons.recipes import Recipe, compile_object
from neuralart.scons.registry import Registry
from neuralart.toolchain import Toolchain

_CXX = (".cc", ".cpp", ".cxx")
_ASSEMBLER = (".s", ".S")
# Without these each C++ file needs a part of libstdc++ that says goodbye to nobody on a microcontroller.
_CXX_FLAGS = ("-fno-exceptions", "-fno-rtti", "-fno-use-cxa-atexit")
# gcc decides by the suffix whether it preprocesses.
_ASSEMBLE = "$CC $CCFLAGS $_CCCOMCOM -c -o $TARGET $SOURCES"


def _more_languages(registry: Registry, env: Any, found: Toolchain) -> Any:
    """The environment with the toolchain's C++ compiler and its assembler behind gcc."""

    def make() -> Any:
        made = env.Clone()
        for tool in ("as", "c++"):
            made.Tool(tool)
        quiet = not made["NEURALART_VERBOSE"]
        made.Replace(
            CXX=f"{found.prefix}g++",
            CXXFLAGS=[],
            OBJSUFFIX=".o",
            CXXCOMSTR="CXX      $TARGET" if quiet else "",
            ASCOM=_ASSEMBLE,
            ASPPCOM=_ASSEMBLE,
            ASCOMSTR="AS       $TARGET" if quiet else "",
            ASPPCOMSTR="AS       $TARGET" if quiet else "",
        )
        return made

    return registry.once("languages", f"{found.folder}|{found.prefix}", make)


def _recipe(recipe: Recipe, registry: Registry, suffix: str, found: Toolchain) -> Recipe:
    if suffix not in (*_CXX, *_ASSEMBLER):
        return recipe
    flags = tuple(flag for flag in recipe.flags if not flag.startswith("-std="))
    env = _more_languages(registry, recipe.env, found)
    if suffix in _CXX:
        return replace(recipe, env=env, flags=(*flags, *_CXX_FLAGS))
    # gcc tells the assembler this option only.
    return replace(recipe, env=env, flags=flags, rename="-fdebug-prefix-map")


def object_names(sources: Sequence[Path]) -> list[str]:
    """A name for the object of each source, without its suffix.

    Sources of one name in several folders get several names, also where upper and lower case are the same.
    """
    taken: set[str] = set()
    made = []
    for source in sources:
        name, count = source.stem, 1
        while name.casefold() in taken:
            count += 1
            name = f"{source.stem}.{count}"
        taken.add(name.casefold())
        made.append(name)
    return made


def user_objects(
    registry: Registry, recipe: Recipe, folder: str, sources: Sequence[Any], paths: Sequence[Any], found: Toolchain
) -> list[Any]:
    """Declare one object for each source.

    Args:
        registry: Of the tool.
        recipe: How C is compiled; C++ and assembler likewise, but for what is C's alone.
        folder: For the objects, relative to the top folder.
        sources: Nodes.
        paths: For CPPPATH.
        found: The toolchain of the recipe.
    """
    names = object_names([Path(str(source)) for source in sources])
    return [
        compile_object(
            _recipe(recipe, registry, Path(str(source)).suffix, found), f"{folder}/{name}.o", source, paths, found
        )
        for name, source in zip(names, sources, strict=True)
    ]
