"""Edits the options of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from neuralart.compilers.options import FLAG, PROFILE, find
from neuralart.errors import NeuralArtError, nearest
from neuralart.vendor.profile import LOAD_MPOOL

CONTROLLER = "--enable-epoch-controller"
# They mean nothing without the epoch controller.
_OF_CONTROLLER = (CONTROLLER, "--ec-single-epoch")


class ProfileOption(NamedTuple):
    """An option with its value."""

    name: str  # Canonical spelling; the first word where the option is not known
    words: tuple[str, ...]  # As written


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not word[1].isdigit()


def groups(words: Sequence[str], where: str = "profile options") -> list[ProfileOption]:
    """Group words to options with values; values of unknown options are the words without a dash. NeuralArtError: a
    word belongs to no option.
    """
    found: list[ProfileOption] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not _is_option(word):
            raise NeuralArtError(f"'{word}' belongs to no option", where=where)
        name = word.partition("=")[0]
        short = len(word) == 3 and word.startswith("-O") and word[2].isdigit()
        option = find(PROFILE, word) or find(PROFILE, "-O" if short else name)
        taken = [word]
        closed = short or "=" in word or (option is not None and option.takes == FLAG)
        if not closed and at < len(words) and not _is_option(words[at]):
            taken.append(words[at])
            at += 1
        found.append(ProfileOption(option.name if option is not None else name, tuple(taken)))
    return found


def _words(found: Sequence[ProfileOption]) -> tuple[str, ...]:
    return tuple(word for group in found for word in group.words)


def edit(
    options: Sequence[str], add: Sequence[str] = (), remove: Sequence[str] = (), where: str = "profile"
) -> tuple[str, ...]:
    """Remove options by name, then add others with values; an added option replaces the same one in any spelling.
    NeuralArtError: an option to remove is missing, or a word is no option.
    """
    found = groups(options)
    for group in groups(remove, f"{where}: remove"):
        known = sorted({other.name for other in found})
        if group.name not in known:
            what = f"'{' '.join(group.words)}' is not in the profile"
            raise NeuralArtError(what, where=f"{where}: remove", hint=nearest(group.name, known))
        found = [other for other in found if other.name != group.name]
    for group in groups(add, f"{where}: add"):
        places = [at for at, other in enumerate(found) if other.name == group.name]
        found = [other for other in found if other.name != group.name]
        if group.name == LOAD_MPOOL:
            hint = "use --mpool, or mpool:"
            raise NeuralArtError(f"'{group.words[0]}' names the pools", where=f"{where}: add", hint=hint)
        found.insert(places[0] if places else len(found), group)
    return _words(found)


def has_controller(options: Sequence[str]) -> bool:
    """Whether hardware epochs become blobs of the epoch controller."""
    return any(group.name == CONTROLLER for group in groups(options))


def for_profiling(options: Sequence[str]) -> tuple[str, ...]:
    """Remove the epoch controller, whose blobs hide their epochs from measurements."""
    return _words([group for group in groups(options) if group.name not in _OF_CONTROLLER])


def csv_name(options: Sequence[str]) -> str:
    """The file that ``--csv-file`` makes; empty: none."""
    for group in groups(options):
        if group.name == "--csv-file":
            value = group.words[1] if len(group.words) > 1 else group.words[0].partition("=")[2]
            return value if value.endswith(".csv") or not value else f"{value}.csv"
    return ""
