"""Imports every operator of this folder, so that each registers itself."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

_HERE = Path(__file__)
for _module in sorted(info.name for info in pkgutil.iter_modules([str(_HERE.parent)])):
    if not _module.startswith("_") and _module != _HERE.stem:
        importlib.import_module(f"{__package__}.{_module}")
