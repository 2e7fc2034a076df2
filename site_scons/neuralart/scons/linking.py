"""Links an image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuralart import toolchain as toolchains
from neuralart.resources import firmware_dir
from neuralart.scons.paths import named
from neuralart.scons.recipes import Recipe, cache_file
from neuralart.toolchain import Toolchain

_LINK_FLAGS = ("-nostartfiles", "-Wl,--gc-sections", "-Wl,--fatal-warnings", "-Wl,--build-id=none")


def link_image(recipe: Recipe, folder: str, objects: list[Any], memory_ld: Any, found: Toolchain) -> tuple[Any, Any]:
    """Declare an image that is laid out as the board says, and its map."""
    return link(recipe, folder, objects, firmware_dir() / "boards" / "sections.ld", found, [memory_ld])


def link(
    recipe: Recipe, folder: str, objects: Sequence[Any], path: Path, found: Toolchain, included: Sequence[Any] = ()
) -> tuple[Any, Any]:
    """Declare an image and its map.

    Args:
        recipe: How its objects are compiled.
        folder: The variant's, relative to the top folder.
        objects: All of them.
        path: The linker script.
        found: The toolchain of the recipe.
        included: Files that the script includes.
    """
    env = recipe.env
    script = env.fs.File(str(path))
    script_path = named(env, Path(script.get_abspath()))
    script_words = ["$(", script_path, "$)"] if Path(script_path).is_absolute() else [script_path]
    elf = env.Program(
        [f"#{folder}/firmware.elf", f"#{folder}/firmware.map"],
        objects,
        LINKFLAGS=[
            *recipe.flags,
            *_LINK_FLAGS,
            f"-Wl,-Map={folder}/firmware.map",
            *(f"-L{node.dir}" for node in included),
            "-T",
            *script_words,
        ],
    )
    env.Depends(elf, [script, *included, env.Value(found.identity, name="toolchain")])
    env.Depends(
        elf, [env.fs.File(str(path)) for path in toolchains.libraries(found, recipe.cpu_flags, cache=cache_file(env))]
    )
    return elf[0], elf[1]
