"""Which variants a command line makes SCons read."""

from __future__ import annotations

import pytest

from neuralart.scons.flash.effects import VERBS
from neuralart.scons.project import requested

NAMES = ["a", "b", "run", "c-n6"]
DEFAULT = ["c-n6", "a"]


@pytest.mark.parametrize(
    ("targets", "read"),
    [
        pytest.param([], DEFAULT, id="a bare call: the default list"),
        pytest.param(["b"], ["b"], id="one variant"),
        pytest.param(["b", "a"], ["b", "a"], id="in the order of the command line"),
        pytest.param(["b", "b"], ["b"], id="once"),
        pytest.param(["run-b"], ["b"], id="what an effect needs"),
        pytest.param(["run-b", "a", "b"], ["b", "a"], id="effect and variant"),
        pytest.param(["run"], ["run"], id="a variant named like a verb"),
        pytest.param(["run-run"], ["run"], id="and its effect"),
        pytest.param(["run-c-n6"], ["c-n6"], id="a name with a dash"),
        pytest.param(["c"], NAMES, id="a beginning of a name is no name"),
        pytest.param(["run-"], NAMES, id="a verb alone"),
        pytest.param(["."], NAMES, id="everything"),
        pytest.param(["build/a/firmware.bin"], NAMES, id="a path may belong to any"),
        pytest.param(["a", "build/b/firmware.bin"], NAMES, id="a path beside a variant"),
        pytest.param(["A"], NAMES, id="case matters"),
    ],
)
def test_requested(targets: list[str], read: list[str]) -> None:
    assert requested(NAMES, DEFAULT, targets) == read


def test_a_bare_clean_means_all() -> None:
    assert requested(NAMES, DEFAULT, [], everything=True) == NAMES
    assert requested(NAMES, DEFAULT, ["b"], everything=True) == ["b"]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_known(verb: str) -> None:
    assert requested(NAMES, DEFAULT, [f"{verb}-b"]) == ["b"]


def test_no_default() -> None:
    assert requested(NAMES, [], []) == []


def test_the_lists_given_are_not_changed() -> None:
    names, default = list(NAMES), list(DEFAULT)
    requested(names, default, []).append("x")
    requested(names, default, ["."]).append("x")
    assert (names, default) == (NAMES, DEFAULT)
