"""Files of a project that Python takes for something else, and packages that are installed twice."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from neuralart import __version__
from neuralart.doctor.types import ERROR, WARNING, Remark
from neuralart.resources import PACKAGE

# What we import, and what the tool is to SCons.
MODULES = ("neuralart", "SCons", "yaml", "jinja2", "elftools", "filelock")
# SCons puts these on the path of modules and of tools; ``python -m`` puts the folder it runs in there.
_FOLDERS = ("", "site_scons", "site_scons/site_tools")
_TAKEN = "a file of this name stands in front of the real module"


def project_files(folder: Path) -> list[Remark]:
    """Files and folders of a project that shadow a module that a build imports. ``folder``: where the project's
    SConstruct is, and builds are started.
    """
    remarks = []
    for below in _FOLDERS:
        for name in MODULES:
            for path in (folder / below / f"{name}.py", folder / below / name / "__init__.py"):
                if path.is_file() and path.parent.resolve() != PACKAGE.resolve():
                    shown = path.parent if path.name == "__init__.py" else path
                    # A checkout of this very package is what a submodule is.
                    ours = (path.parent / "scons" / "tool.py").is_file() and path.name == "__init__.py"
                    if ours:
                        message = f"{shown} is another copy of neuralart than {PACKAGE}, which runs now"
                        remedy = "use one of them: the submodule, or what pip installed"
                    else:
                        message = f"{shown} shadows the module {name}"
                        remedy = f"rename it: {_TAKEN}"
                    remarks.append(Remark("shadowed-module", WARNING if ours else ERROR, message, remedy))
    return remarks


def installed_twice() -> list[Remark]:
    """A version of the package that pip knows, and another one that runs."""
    try:
        version = metadata.version("scons-neuralart")
    except metadata.PackageNotFoundError:
        return []
    if version == __version__:
        return []
    return [
        Remark(
            "shadowed-package",
            WARNING,
            f"pip has scons-neuralart {version}, {__version__} in {PACKAGE} runs",
            "use one of them: pip uninstall scons-neuralart, or take the submodule off PYTHONPATH",
        )
    ]
