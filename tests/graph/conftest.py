"""SCons in this process: nothing is built, the nodes are looked at."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import SCons.Environment
import SCons.Node.Alias
import SCons.Node.FS
import SCons.Node.Python
import SCons.Script

import neuralart
from neuralart import toolchain
from support.fake_stedgeai import install
from support.models.stedgeai_case import make

REPO = Path(__file__).resolve().parents[2]
MakeEnv = Callable[..., Any]


def _forget() -> None:
    """SCons keeps its nodes for the life of the process."""
    SCons.Node.FS.default_fs = None
    SCons.Node.Alias.default_ans.data.clear()
    SCons.Node.Python._memo_lookup_map.clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The top folder of a consumer, with a model in it."""
    _forget()
    top = tmp_path / "a consumer"
    (top / "models").mkdir(parents=True)
    shutil.copy2(REPO / "models" / "digits" / "digits.tflite", top / "models" / "digits.tflite")
    monkeypatch.chdir(top)
    yield top
    _forget()


@pytest.fixture
def make_env(tree: Path) -> MakeEnv:
    """A construction environment with the tool, in a graph of its own; arguments are those of ``Environment``."""

    def make(**variables: Any) -> Any:
        _forget()
        env = SCons.Environment.Environment(tools=[], **variables)
        neuralart.generate(env)
        return env

    return make


@pytest.fixture
def env(make_env: MakeEnv) -> Any:
    return make_env()


@pytest.fixture
def gcc(monkeypatch: pytest.MonkeyPatch) -> toolchain.Toolchain:
    """A cross compiler that is found and never started."""
    found = toolchain.Toolchain(os.path.join(os.sep, "opt", "gcc", "bin"), "arm-none-eabi-", "12.2.1", "picolibc")  # noqa: PTH118
    monkeypatch.setattr(toolchain, "find", lambda *_, **__: found)
    monkeypatch.setattr(toolchain, "libraries", lambda *_, **__: {})
    return found


@pytest.fixture
def nets(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model, profiles and pools in the tree; no installation anywhere."""
    monkeypatch.delenv("STEDGEAI_CORE_DIR", raising=False)
    monkeypatch.setenv("NEURALART_STEDGEAI_ROOTS", str(tmp_path / "nowhere"))
    return make(tree / "nets")


@pytest.fixture
def tool(nets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a version and name it in the environment."""

    def named(version: str = "4.0.1", folder: str = "st") -> Path:
        root = install(tmp_path / folder / version, version)
        monkeypatch.setenv("STEDGEAI_CORE_DIR", str(root))
        return root

    return named
