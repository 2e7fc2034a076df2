"""How many steps a build will take: nodes that another thread has done meanwhile are no mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import SCons.Environment
import SCons.Node

from neuralart.scons import step_counter


@pytest.fixture
def made(tmp_path: Path) -> Any:
    env = SCons.Environment.Environment(tools=[])
    (tmp_path / "a").write_text("1", "utf-8")
    (node,) = env.Command(str(tmp_path / "b"), str(tmp_path / "a"), [lambda target, source, env: None])
    return node


@pytest.mark.parametrize("lost", ["sources", "depends"])
@pytest.mark.parametrize(("state", "step"), [(SCons.Node.up_to_date, False), (SCons.Node.pending, True)])
def test_lists_that_scons_has_dropped(made: Any, lost: str, state: int, step: bool) -> None:
    Path(str(made)).write_text("2", "utf-8")
    made.clear_memoized_values()
    setattr(made, lost, None)
    made.set_state(state)
    assert all(each is not None for each in step_counter._below(made))
    assert step_counter._changed(made, object()) is step
