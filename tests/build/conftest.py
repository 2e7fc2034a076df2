"""One tree that is built once for all workers; each test works in a copy of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.sconsproject import Project, copy_built, copy_sources, once, prepare


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """This repository's default variants, built once."""

    def make(folder: Path) -> None:
        prepare(copy_sources(folder), tmp_path_factory, "-j2")

    shared = once(tmp_path_factory, "default variants", make)
    return copy_built(Project(shared), tmp_path_factory.mktemp("template") / "tree")


@pytest.fixture
def built(template: Project, tmp_path: Path) -> Project:
    """A built tree to change."""
    return copy_built(template, tmp_path / "a tree with spaces")


@pytest.fixture
def sources(tmp_path: Path) -> Project:
    """A tree in which nothing is built."""
    return copy_sources(tmp_path / "tree")
