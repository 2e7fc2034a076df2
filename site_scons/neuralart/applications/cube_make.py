"""Builds an STM32CubeIDE project without it, with a makefile."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from neuralart.applications.cube_project import LANGUAGES, CubeProject
from neuralart.errors import NeuralArtError
from neuralart.files import write_text

_SPECIAL = re.compile(r"([ #%:])")


def _name(path: str) -> str:
    return _SPECIAL.sub(r"\\\1", path.replace("$", "$$"))


def _words(words: Sequence[str]) -> str:
    return " ".join(shlex.quote(word).replace("$", "$$") for word in words)


def write(project: CubeProject) -> None:
    """Write the makefile and the files of its rules. NeuralArtError: there is no linker script."""
    project.folder.mkdir(parents=True, exist_ok=True)
    if not (project.folder / project.script).is_file():
        raise NeuralArtError(f"there is no linker script {project.script}", where=project.where)
    objects = {f"{name}.o": source for name, source in project.sources.items()}
    languages = {made: LANGUAGES[Path(source).suffix] for made, source in objects.items()}
    elf, linker = f"{project.name}.elf", "g++" if "cpp" in languages.values() else "gcc"
    folders = [word[2:] for word in project.link if word.startswith("-L")]
    names = [word[2:] if word[2] != ":" else word[3:] for word in project.link if word.startswith("-l")]
    places = [f"{folder}/{each}" for folder in folders for name in names for each in (name, f"lib{name}.a")]
    archives = [path for path in places if (project.folder / path).is_file()]
    texts = {f"flags-{language}.txt": "\n".join(words) for language, words in project.flags.items()}
    texts["link.txt"] = "\n".join([*objects, *project.link])
    needs = " ".join(map(_name, (*objects, project.script, *archives, "link.txt")))
    lines = [f"{_name(elf)}: {needs}", f"\tarm-none-eabi-{linker} -o {_words([elf, *objects, *project.link])}"]
    for made, source in objects.items():
        words = ["-c", source, "-o", made, *project.flags[languages[made]], "-MMD", "-MP", "-MF", f"{made}.d"]
        lines += [f"{_name(made)}: {_name(source)} flags-{languages[made]}.txt"]
        compiler = "g++" if languages[made] == "cpp" else "gcc"
        lines += [f"\tarm-none-eabi-{compiler} {_words(words)}", f"-include {_name(made)}.d"]
        (project.folder / made).parent.mkdir(parents=True, exist_ok=True)
    texts["makefile"] = "\n".join([*lines, ""])
    for name, text in texts.items():
        path = project.folder / name
        # Rules look at the time: what stays the same is left alone.
        if not path.is_file() or path.read_bytes() != text.encode():
            write_text(path, text)
