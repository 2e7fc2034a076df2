"""Decides whether an SConstruct only describes a project. Then all that it depends on is known, and stamps may answer
in its place. Other SConstructs are programs, which may depend on anything.
"""
# Beside stamps, which compare thousands of paths as text:
# ruff: noqa: PTH109, PTH111, PTH118

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import Any

from neuralart.plugins import origins

# Settings of this package, but none that holds a program.
_SETTING = r"(, NEURALART_(?!PYTHON=|\w*(COM|COMSTR|EMITTER)=)\w+=<constant>)*"
_LINES = (
    r"(DefaultEnvironment\(tools=\[\]\)\n)?",
    rf"(?P<env>\w+) = Environment\(tools=\[\]{_SETTING}\)\n",
    r"(PyPackageDir\('neuralart'\) or Exit\(<constant>\)\n)?",
    rf"(?P=env)\.Tool\('neuralart', toolpath=(<constant>|\[PyPackageDir\('neuralart'\)\.up\(\)\]){_SETTING}\)\n",
    r"(?P<project>(?P<name>\w+) = )?(?P=env)\.NeuralArtProject\((<constant>)?\)(?(project)\n(?P=name))\.main\(\)",
)
# Where SCons looks for a folder site_scons besides the project, on any system.
_SITES: tuple[str, ...] = (
    "/usr/share/scons",
    "/opt/sfw/scons",
    "/opt/local/share/scons",
    "/sw/share/scons",
    "~/.scons",
)
_SITES += ("/Library/Application Support/SCons", "~/Library/Application Support/SCons", "%AppData%\\scons")
_SITES += ("%AllUsersProfile%\\scons", "%AllUsersProfile%\\Application Data\\scons", "%LocalAppData%\\scons")


class _Constants(ast.NodeTransformer):
    """Writes ``<constant>`` for constants and lists of them. In text, SCons would compute what stands behind ``$``."""

    def visit(self, node: ast.AST) -> Any:
        try:
            value = ast.literal_eval(node) if isinstance(node, ast.expr) else "neuralart"
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return self.generic_visit(node)
        kept = value in ("neuralart", []) or "$" in repr(value)
        return self.generic_visit(node) if kept else ast.Name("<constant>")


def is_description(text: bytes) -> bool:
    """Whether an SConstruct only makes an environment, loads this tool into it and calls ``main()`` of one
    ``NeuralArtProject``, all with constants.
    """
    try:
        tree = ast.parse(text)
        # Text alone, such as the first line, does nothing.
        alone = [step for step in tree.body if isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)]
        steps = [ast.unparse(_Constants().visit(step)) for step in tree.body if step not in alone]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    found = re.fullmatch("".join(_LINES), "\n".join(steps))
    return found is not None and not {found["env"], found["name"]} & {"DefaultEnvironment", "PyPackageDir", "Exit"}


def folders(top: str) -> list[str]:
    """List folders, existing or not, whose contents decide whether the project in ``top`` is a description: those of
    SCons's ``site_init.py`` and of plugins.
    """
    places = [top, *(os.path.expanduser(os.path.expandvars(place)) for place in _SITES)]
    return [*(os.path.join(top, place, "site_scons") for place in places), os.path.join(top, origins.FOLDER)]


def described(top: str) -> bool:
    """Whether the project in the current folder is a description: no ``site_init.py``, no tool or plugin of others."""
    *sites, plugins = folders(top)
    others = [os.path.join(site, name) for site in sites for name in ("site_init.py", "site_tools")]
    if os.getcwd() != top or any(map(os.path.lexists, others)) or any(Path(plugins).glob("*.py")):
        return False
    try:
        return not origins.others_installed() and is_description(Path(top, "SConstruct").read_bytes())
    except OSError:
        return False
