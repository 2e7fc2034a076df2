"""Plugins in the two places that are not the package: a project's folder, and installed packages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from neuralart import plugins
from support.projects.sconsproject import REPO

EXAMPLE = REPO / "examples" / "plugin" / "src" / "neuralart_example"
LINT_RULE = """\
from neuralart_insight.lint.types import NOTE, Hit, Rule
from neuralart.plugins import register

register(
    "lint", "{name}", Rule("{name}", NOTE, "x", "y", "z", ("network",), {check}), protocol={protocol}
)
"""


def rule(name: str = "house-rule", protocol: int = 1, check: str = "lambda facts: ()") -> str:
    """A module with a lint rule."""
    return LINT_RULE.format(name=name, protocol=protocol, check=check)


@dataclass
class Places:
    """A project, and a folder that Python imports from.

    Attributes:
        top: The project.
        site: The folder.
    """

    top: Path
    site: Path

    def project(self, name: str, text: str) -> Path:
        """Write a file of the project's own plugins."""
        path = self.top / "site_scons" / "neuralart_plugins" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        plugins.forget()
        return path

    def install(self, package: str, points: dict[str, dict[str, str]], version: str = "1.0", **modules: str) -> Path:
        """Put a package there, as pip would.

        Args:
            package: Name of the package, and of its folder.
            points: Group -> name -> module.
            version: Of the package.
            **modules: Name -> text.
        """
        folder = self.site / package
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {"__init__": "", **modules}.items():
            (folder / f"{name}.py").write_text(text, "utf-8")
        info = self.site / f"{package}-{version}.dist-info"
        info.mkdir(exist_ok=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n", "utf-8")
        lines = [
            line
            for group, names in points.items()
            for line in (f"[{group}]", *(f"{name} = {module}" for name, module in names.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join([*lines, ""]), "utf-8")
        plugins.forget()
        return folder


def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Places]:
    """A project as the current folder and an empty folder on Python's path, forgotten afterwards."""
    places = Places(tmp_path / "project", tmp_path / "site")
    for folder in (places.top, places.site):
        folder.mkdir()
    monkeypatch.chdir(places.top)
    monkeypatch.syspath_prepend(str(places.site))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    plugins.forget()
    yield places
    plugins.forget()
    for name in [
        name for name, module in sys.modules.items() if str(places.site) in str(getattr(module, "__file__", ""))
    ]:
        del sys.modules[name]
