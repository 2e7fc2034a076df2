"""The operators: one small file each, found by itself.

A file registers a function with :func:`operator`; the function checks what it is given and emits kernel calls. Files
whose name starts with an underscore are shared helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from neuralart.compilers.reference.context import Lowering
from neuralart.model.graph import Operator

Lower = Callable[[Lowering, Operator], None]


@dataclass(frozen=True)
class Registration:
    """A supported operator.

    Attributes:
        kind: Upper-case TFLite name.
        limits: What of it is supported, for people.
        lower: Emits its calls.
        floats: It takes float32 tensors itself.
    """

    kind: str
    limits: str
    lower: Lower
    floats: bool = False


_registered: dict[str, Registration] = {}


def operator(kind: str, *, limits: str, floats: bool = False) -> Callable[[Lower], Lower]:
    """Register the lowering of an operator kind.

    Args:
        kind: Upper-case TFLite name.
        limits: What of it is supported, for people: types, shapes, options.
        floats: It takes float32 tensors itself; otherwise they are refused before it is called.
    """

    def register(lower: Lower) -> Lower:
        if kind in _registered:
            raise ValueError(f"operator {kind} is registered twice")
        _registered[kind] = Registration(kind, limits, lower, floats)
        return lower

    return register


@cache
def registry() -> Mapping[str, Registration]:
    """All supported operators by kind, in alphabetical order."""
    for module in sorted(info.name for info in pkgutil.iter_modules(__path__)):
        if not module.startswith("_"):
            importlib.import_module(f"{__name__}.{module}")
    return dict(sorted(_registered.items()))
