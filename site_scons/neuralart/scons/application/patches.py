"""Patched sources of applications: what variants need of the builder ``NeuralArtPatchedSources``, a plugin."""

from __future__ import annotations

import importlib
from typing import Any

from neuralart import plugins
from neuralart.errors import NeuralArtError
from neuralart.quick import dataclass

_BUILDER = "NeuralArtPatchedSources"


@dataclass(frozen=True)
class PatchedNodes:
    """What ``env.PatchedSources`` returns."""

    folder: str  # Where the copies are, relative to the top folder
    root: str  # Folder of the application that paths start from, as commands name it
    patched: list[Any]  # The copies that differ from their originals
    copied: list[Any]  # The others
    sources: list[Any]  # C among them, to be compiled instead of the originals
    include_dirs: list[Any]  # For CPPPATH, instead of the application's own
    index: Any  # ``patched.json``: what was decided
    linker_script: Any  # The script that the application is linked with
    folders: tuple[str, ...]  # Folders of the application that were copied, from its root
    aspect_ratio: str  # How the camera's picture becomes the network's
    identity: str  # A hash of how they were made

    @property
    def files(self) -> list[Any]:
        """All copies, and the index."""
        return [*self.patched, *self.copied, self.index]


def methods(where: str) -> Any:
    """The functions of the plugin, in one module: ``list_of``, ``root_of``, ``make_patched``, ``refuse_npu``.
    NeuralArtError: No package that patches applications is installed; ``where``: who needs it.
    """
    if _BUILDER not in plugins.names("builders", _BUILDER):
        what = "no package that patches applications is installed"
        raise NeuralArtError(what, where=where, hint="the whole of scons-neuralart has it")
    return importlib.import_module(plugins.find("builders", _BUILDER).made.METHODS)
