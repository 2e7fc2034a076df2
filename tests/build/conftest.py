"""One tree that is built once for all workers; each test works in a copy of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.projects.sconsproject import REPO, Project, copy_built, copy_sources, once, prepare


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


@pytest.fixture(scope="session")
def once_copied(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return copy_sources(tmp_path_factory.mktemp("sources") / "tree")


@pytest.fixture
def texts(once_copied: Project) -> Iterator[Project]:
    """A tree in which nothing is built, for tests that leave firmware and code as they are: the rest is put back."""
    before = {path.name for path in once_copied.root.iterdir()}
    yield once_copied
    for path in once_copied.root.iterdir():
        if path.name not in before:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in ("SConstruct", "variants.yaml"):
        shutil.copy2(REPO / name, once_copied.path(name))
    for name in ("models/digits", "site_scons/neuralart/boards/data"):
        shutil.rmtree(once_copied.path(name))
        shutil.copytree(REPO / name, once_copied.path(name))
