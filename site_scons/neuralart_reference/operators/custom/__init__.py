"""Operators that TensorFlow Lite calls custom: they have a name instead of a number, and options in a map."""

from __future__ import annotations

import importlib
import math
from typing import Any

from neuralart_reference.context import Lowering
from neuralart_reference.model.flexbuffer import numbers
from neuralart_reference.model.graph import Operator


class Options:
    """The options of a custom operator. NeuralArtError: they are damaged."""

    def __init__(self, ctx: Lowering, op: Operator) -> None:
        self._ctx, self._op = ctx, op
        data = op.options.get("custom_options", b"")
        try:
            self._values: dict[str, Any] = numbers(data) if data else {}
        except ValueError as error:
            ctx.refuse(op, str(error), "is the file damaged?")

    def _value(self, name: str, default: float | None) -> Any:
        if (value := self._values.get(name, default)) is None:
            self._ctx.refuse(self._op, f"its option {name} is absent", "is the file damaged?")
        return value

    def integer(self, name: str, low: int, high: int, default: int | None = None) -> int:
        """A whole number within bounds; NeuralArtError when it is none, or absent without a default."""
        value = self._value(name, default)
        if not math.isfinite(value) or not low <= int(value) <= high:
            self._ctx.refuse(self._op, f"its option {name} is {value:g}", f"supported: {low} to {high}")
        return int(value)

    def real(self, name: str) -> float:
        """A float32; NeuralArtError when it is absent or not finite."""
        value = float(self._value(name, None))
        if not abs(value) < 2.0**127:
            self._ctx.refuse(self._op, f"its option {name} is {value:g}", "supported: float32 values")
        return value


for _name in ("detections", "speech", "spectrum"):
    importlib.import_module(f"{__name__}.{_name}")
