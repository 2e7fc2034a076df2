"""The words of a profile's ``options`` become choices, notes and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuralart.compilers.reference.options import FLAG, MAYBE, NO_EFFECT, PROFILE, REFUSED, Option, find, spellings
from neuralart.errors import NeuralArtError


@dataclass(frozen=True)
class Choices:
    """What a profile asks for."""

    virtual_pools: bool = False  # adjoining pools form one
    all_buffers: bool = False  # fill the table of internal buffers
    keep_inputs: bool = False  # no input is ever overwritten
    notes: tuple[str, ...] = ()  # options without effect here, each with the reason


def _lookup(word: str) -> tuple[Option | None, str | None]:
    """The option of a word, and a value written into the same word."""
    exact = find(PROFILE, word)
    if exact is not None:
        return exact, None
    name, equals, value = word.partition("=")
    if equals and word.startswith("--"):
        return find(PROFILE, name), value
    # -O3
    if len(word) == 3 and word.startswith("-O") and word[2].isdigit():
        return find(PROFILE, "-O"), word[2]
    return None, None


def choices(words: Sequence[str], where: str = "profile options") -> Choices:
    """Interpret a profile's options; NeuralArtError when one is refused, unknown, or lacks its value."""
    seen: set[str] = set()
    notes: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        option, value = _lookup(word)
        if option is None:
            if not word.startswith("-"):
                raise NeuralArtError(f"'{word}' belongs to no option", where=where)
            raise NeuralArtError(f"unknown option '{word}'", where=where, hint=_near(word))
        if value is None and option.takes != FLAG:
            follows = at < len(words) and not words[at].startswith("-")
            if follows:
                value = words[at]
                at += 1
            elif option.takes != MAYBE:
                raise NeuralArtError(f"{word} lacks its value", where=where)
        elif value is not None and option.takes == FLAG:
            raise NeuralArtError(f"{option.name} takes no value, but has '{value}'", where=where)
        if value is not None and option.choices and value not in option.choices:
            allowed = ", ".join(option.choices)
            raise NeuralArtError(f"{option.name} is '{value}'", where=where, hint=f"allowed: {allowed}")
        if option.effect == REFUSED:
            raise NeuralArtError(f"{word} is refused: {option.why}", where=where, hint=option.remedy)
        if option.effect == NO_EFFECT:
            notes[option.name] = f"{option.name}{f' {value}' if value else ''}: {option.why}"
        seen.add(option.name)
    return Choices(
        virtual_pools="--enable-virtual-mem-pools" in seen,
        all_buffers="--all-buffers-info" in seen,
        keep_inputs="--Opreserve-inputs" in seen,
        notes=tuple(notes.values()),
    )


def _near(word: str) -> str:
    """Only what is near: the whole list is long."""
    import difflib

    close = difflib.get_close_matches(word, spellings(PROFILE), n=1, cutoff=0.5)
    listed = "docs/reference/generate-options.md lists them all"
    return f"did you mean '{close[0]}'? {listed}" if close else listed
