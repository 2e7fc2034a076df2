"""How a project of STM32CubeIDE and a makefile of the same tree compile it: objects and flags of one alone."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from neuralart.applications.cube_project import LANGUAGES, CubeProject

# Options that say where a compiler writes or what it tells, not what code it makes; those with a word behind them.
_TOLD = re.compile(r"-c|-M.*|-W(?!l,).*|-fstack-usage|-fcyclomatic-complexity|-x.*|-o.*")
_WITH_WORD = ("-o", "-MF", "-MT", "-MQ", "-x")


def _compiled(lines: Sequence[str], folder: Path) -> Iterator[tuple[str, set[str]]]:
    """Sources that commands compile, and the flags that matter, both with whole paths."""
    for line in lines:
        try:
            given = shlex.split(line)
        except ValueError:
            continue
        words = [word for before, word in zip(["", *given], given, strict=False) if before not in _WITH_WORD]
        sources = [word for word in words if Path(word).suffix in LANGUAGES and not word.startswith("-")]
        if "-c" in words and len(sources) == 1:
            flags = {word for word in words if word.startswith("-") and not _TOLD.fullmatch(word)}
            paths = {word for word in flags if word.startswith("-I")}
            flags = {word.replace("--specs", "-specs") for word in flags - paths}
            flags |= {f"-I{os.path.normpath(folder / word[2:])}" for word in paths}
            yield os.path.normpath(folder / sources[0]), flags


def differences(project: CubeProject, lines: Sequence[str], folder: Path, root: Path) -> list[str]:
    """How commands of another build (``lines``, run in ``folder``) compile the same tree: objects and flags that only
    one of them has, with paths from the ``root`` of the tree.
    """
    theirs = dict(_compiled(lines, folder))
    own = [["-c", source, *project.flags[LANGUAGES[Path(source).suffix]]] for source in project.sources.values()]
    ours = dict(_compiled([shlex.join(words) for words in own], project.folder))
    made = []
    for who, mine, other in (("project", ours, theirs), ("makefile", theirs, ours)):
        flags = {flag for source in mine.keys() & other.keys() for flag in mine[source] - other[source]}
        made += [f"only the {who} compiles {source}" for source in sorted(mine.keys() - other.keys())]
        made += [f"only the {who} has {flag}" for flag in sorted(flags)]
    return [text.replace(f"{root}/", "") for text in made]
