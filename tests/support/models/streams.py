"""A model with a variable: what it computes depends on the inference before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tflite_writer import ModelWriter

SHAPE = (1, 5)


def stream(dtype: str = "int8", first: object = -3, change: Callable[[ModelWriter], None] | None = None) -> bytes:
    """y = maximum of x and of what x was the last time, by two handles of one variable."""
    writer = ModelWriter()
    ends = (0.5, 4 if dtype == "uint8" else -4)
    x, old, y = (writer.tensor(name, SHAPE, dtype, *ends) for name in ("x", "old", "y"))
    handles = [writer.tensor(name, (), "resource") for name in ("h", "i")]
    writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
    writer.op("VAR_HANDLE", [], [handles[0]], shared_name="last", container="")
    writer.op("READ_VARIABLE", [handles[0]], [old])
    writer.op("VAR_HANDLE", [], [handles[1]], shared_name="last", container="")
    writer.op("ASSIGN_VARIABLE", [handles[1], x], [])
    writer.op("MAXIMUM", [x, old], [y])
    once = writer.once()
    handle = once.tensor("h", (), "resource")
    value = once.tensor("c", SHAPE, dtype, *ends, data=np.broadcast_to(np.array(first), SHAPE))
    once.op("VAR_HANDLE", [], [handle], shared_name="last", container="")
    once.op("ASSIGN_VARIABLE", [handle, value], [])
    if change is not None:
        change(writer)
    return writer.finish([x], [y])
