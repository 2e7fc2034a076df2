"""How a project of STM32CubeIDE and a makefile of the same tree compile it: objects and flags of one alone."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neuralart.applications.cube_project import LANGUAGES, CubeProject
from neuralart.errors import NeuralArtError

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


@dataclass(frozen=True)
class Comparison:
    """What two builds of one tree have in common, and what they have not."""

    sources: int  # Compiled by both
    differences: tuple[str, ...]  # Objects and flags that only one of them has, one line each


def compare(project: CubeProject, text: str, folder: Path, root: Path) -> Comparison:
    """Compare a project with the commands of another build of the same tree.

    ``project``: a build configuration; ``text``: what the other build said (a log, or ``make -n -B``): one command a
    line, or on lines that ``\\`` joins; ``folder``: where its commands ran; ``root``: top of the tree; paths are shown
    from it. NeuralArtError: nothing in the text compiles one source.
    """
    theirs = dict(_compiled(text.replace("\\\n", " ").splitlines(), folder))
    if not theirs:
        hint = "make -n -B prints them; a build log has them, too"
        raise NeuralArtError("no line is a command with -c and one source", where="--commands", hint=hint)
    own = [["-c", source, *project.flags[LANGUAGES[Path(source).suffix]]] for source in project.sources.values()]
    ours = dict(_compiled([shlex.join(words) for words in own], project.folder))
    made = []
    for who, mine, other in (("project", ours, theirs), ("makefile", theirs, ours)):
        flags = {flag for source in mine.keys() & other.keys() for flag in mine[source] - other[source]}
        made += [f"only the {who} compiles {source}" for source in sorted(mine.keys() - other.keys())]
        made += [f"only the {who} has {flag}" for flag in sorted(flags)]
    return Comparison(len(ours.keys() & theirs.keys()), tuple(line.replace(f"{root}/", "") for line in made))
