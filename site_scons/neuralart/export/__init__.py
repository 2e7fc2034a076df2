"""A built variant as a folder with fixed names, for repositories that have a build of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuralart.export.folder import Done
    from neuralart.export.types import ExportInputs


def write(folder: Path, inputs: ExportInputs, *, force: bool = False) -> Done:
    """Bring a folder to what a variant made: see :func:`neuralart.export.folder.write`."""
    from neuralart.export import folder as folders

    return folders.write(folder, inputs, force=force)
