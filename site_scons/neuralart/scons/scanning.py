"""What SCons must not look for in files."""

from __future__ import annotations

from typing import Any

import SCons.Scanner


def _nothing(*_: Any) -> list[Any]:
    return []


# For commands that take C as it is. SCons would make what the C includes a dependency of theirs, and forget it
# again while what the C is made from is out of date.
NO_INCLUDES = SCons.Scanner.ScannerBase(function=_nothing, name="neuralart-no-includes")
