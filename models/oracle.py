"""What LiteRT itself computes: the reference that our bytes are compared with.

Always ``ai-edge-litert`` with ``OpResolverType.BUILTIN_REF``: the other resolvers (and XNNPACK, which the
default one uses) give different bytes for the same model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np


def identity() -> str:
    """Name and version of the oracle, as written into vectors.json."""
    return f"ai-edge-litert {metadata.version('ai-edge-litert')} BUILTIN_REF"


@cache
def _module() -> Any:
    from ai_edge_litert import interpreter

    return interpreter


def interpreter(model: Path | str | bytes, *, preserve_all: bool = False, reference: bool = True) -> Any:
    """An interpreter with its tensors allocated.

    Args:
        model: The file or its bytes.
        reference: False: of operators that have no reference kernel.
        preserve_all: Keep every intermediate tensor readable.
    """
    module = _module()
    content = bytes(model) if isinstance(model, (bytes, bytearray)) else Path(model).read_bytes()
    resolver = "BUILTIN_REF" if reference else "BUILTIN_WITHOUT_DEFAULT_DELEGATES"
    made = module.Interpreter(
        model_content=content,
        num_threads=1,
        experimental_op_resolver_type=getattr(module.OpResolverType, resolver),
        experimental_preserve_all_tensors=preserve_all,
    )
    made.allocate_tensors()
    return made


def run(
    model: Path | str | bytes, inputs: Sequence[Sequence[np.ndarray]], *, reference: bool = True
) -> list[list[np.ndarray]]:
    """The model's outputs.

    Args:
        model: The file or its bytes.
        inputs: For each vector its inputs, in the order of the model.
        reference: As of :func:`interpreter`.

    Returns:
        For each vector its outputs, in the order of the model.
    """
    made = interpreter(model, reference=reference)
    outputs = [detail["index"] for detail in made.get_output_details()]
    result = []
    for vector in inputs:
        _feed(made, vector)
        result.append([np.array(made.get_tensor(index)) for index in outputs])
    return result


def trace(model: Path | str | bytes, inputs: Sequence[Sequence[np.ndarray]]) -> list[dict[int, np.ndarray]]:
    """All tensors of the model, constants too.

    Args:
        model: The file or its bytes.
        inputs: For each vector its inputs, in the order of the model.

    Returns:
        For each vector: tensor number -> value (tensors without data are left out).
    """
    made = interpreter(model, preserve_all=True)
    known = [(detail["index"], detail["name"]) for detail in made.get_tensor_details()]
    result = []
    for vector in inputs:
        _feed(made, vector)
        values: dict[int, np.ndarray] = {}
        for index, _ in known:
            try:
                values[index] = np.array(made.get_tensor(index))
            except ValueError:
                continue
        result.append(values)
    return result


def _feed(made: Any, vector: Sequence[np.ndarray]) -> None:
    details = made.get_input_details()
    if len(details) != len(vector):
        raise ValueError(f"the model has {len(details)} inputs, {len(vector)} given")
    for detail, value in zip(details, vector, strict=True):
        made.set_tensor(detail["index"], np.asarray(value, detail["dtype"]).reshape(detail["shape"]))
    made.invoke()
