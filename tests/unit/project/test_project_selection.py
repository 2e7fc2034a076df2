"""Which variants a command line makes SCons read."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import SCons.Errors

from neuralart import plugins
from neuralart.scons.project import Project, requested

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


@pytest.mark.parametrize("verb", plugins.names("targets"))
def test_every_verb_is_known(verb: str) -> None:
    assert requested(NAMES, DEFAULT, [f"{verb}-b"]) == ["b"]


def test_no_default() -> None:
    assert requested(NAMES, [], []) == []


def test_the_lists_given_are_not_changed() -> None:
    names, default = list(NAMES), list(DEFAULT)
    requested(names, default, []).append("x")
    requested(names, default, ["."]).append("x")
    assert (names, default) == (NAMES, DEFAULT)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.chdir(tmp_path)
    titles = dict.fromkeys(("digits-n6", "digits-n6-rel", "digits-an547", "tracker-n6"), "")
    file: Any = SimpleNamespace(config=SimpleNamespace(titles=titles, default=()))
    return Project(None, file, tmp_path)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("digits-n7", "did you mean 'digits-n6', 'digits-an547' or 'run-digits-n6'? scons -h lists all"),
        (
            "Run-Digits-AN547",
            "did you mean 'run-digits-an547', 'digits-an547' or 'plan-digits-an547'? scons -h lists all",
        ),
        ("zzz", "scons -h lists all"),
    ],
)
def test_an_unknown_target_gets_the_three_nearest(project: Project, target: str, hint: str) -> None:
    with pytest.raises(SCons.Errors.UserError) as refused:
        project.check_targets(["digits-n6", "build/none.o", target])
    assert str(refused.value) == f"unknown target '{target}' ({hint})"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("BOARD", "known: DRY, FORCE, PORT, RUNNER, SERIAL, SERVER, VERBOSE, WAIT"),
        ("serail", "did you mean 'SERIAL'? known: DRY, FORCE, PORT, RUNNER, SERIAL, SERVER, VERBOSE, WAIT"),
    ],
)
def test_a_variable_that_the_sconstruct_does_not_read(project: Project, name: str, hint: str) -> None:
    known = {"VERBOSE": "0", "WAIT": "1"}
    project.check_variables({"WAIT": "0", "SERIAL": "0042"}, known)
    with pytest.raises(SCons.Errors.UserError) as refused:
        project.check_variables({"WAIT": "0", name: "xx"}, known)
    assert str(refused.value) == f"unknown variable '{name}=' on the command line ({hint})"
