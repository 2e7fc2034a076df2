"""``budgets=`` of ``env.Network``: the compile ends in an error where a limit is not kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.projects.sconsproject import Project, copy_sources

SCONSTRUCT = """\
DefaultEnvironment(tools=[])
env = Environment(tools=["install"])
env.Tool("neuralart", toolpath=["#site_scons"])
net = env.Network(
    "digits", model="models/digits/digits.tflite", board="stm32n6570-dk", budgets={"max_weights": 5000}
)
env.Default(env.Install("out", net.c))
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = copy_sources(tmp_path / "tree")
    made.path("SConstruct").write_text(SCONSTRUCT, "utf-8")
    return made


def test_a_limit_that_is_kept(project: Project) -> None:
    assert {"NETWORK", "BUDGETS"} <= project.run().tags
    assert project.path("out/digits.c").is_file()
    project.up_to_date()
    # Where the limit stands is no part of it.
    project.edit("SConstruct", "net = ", "\n\nnet = ")
    project.up_to_date()


def test_a_limit_that_is_not_kept_stops_whatever_uses_the_network(project: Project) -> None:
    project.run()
    before = project.path("out/digits.c").stat().st_mtime_ns
    project.edit("SConstruct", "5000", '"4K"')
    for words in ((), ("-k",), ("-j2",)):
        failed = project.run(*words, code=2)
        (said,) = [line for line in failed.errors if "max_weights" in line]
        assert "SConstruct:4: max_weights: bytes of constants of network digits: 4136, allowed: 4096" in said, said
        assert "Install" not in failed.out and project.path("out/digits.c").stat().st_mtime_ns == before
    project.edit("SConstruct", '"4K"', '"5K"')
    assert "BUDGETS" in project.run().tags
    project.up_to_date()


def test_limits_of_two_calls_hold_both(project: Project) -> None:
    call = SCONSTRUCT[SCONSTRUCT.index("net = ") : SCONSTRUCT.index("env.Default")]
    project.edit("SConstruct", "env.Default", call.replace("5000", "1") + "env.Default")
    said = project.run(code=2).err
    assert "SConstruct:7: max_weights" in said and "allowed: 1" in said
