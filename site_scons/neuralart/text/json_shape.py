"""JSON files of our own whose members are checked against a shape: what is missing or of another type is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from neuralart import jsontext
from neuralart.errors import NeuralArtError
from neuralart.files import read_bytes


def shaped(value: Any, shape: Any, where: str, name: str = "") -> Any:
    """The members of a JSON value that a shape names; others are of a later version, and left out.

    Args:
        value: What was read.
        shape: A type, several, a list of one shape, or members and their shapes (``...``: any names).
        where: The file.
        name: Of the value in it, for messages.

    Raises:
        NeuralArtError: A member is missing, or of another type.
    """
    place = f"{where}: {name}" if name else where
    if isinstance(shape, dict) and isinstance(value, dict):
        if ... in shape:
            return {key: shaped(each, shape[...], where, f"{name}.{key}") for key, each in value.items()}
        missing = next((key for key in shape if key not in value), None)
        if missing is not None:
            raise NeuralArtError(f"'{missing}' is missing", where=place, hint="build it again")
        return {key: shaped(value[key], each, where, f"{name}.{key}" if name else key) for key, each in shape.items()}
    if isinstance(shape, list) and isinstance(value, list):
        return [shaped(each, shape[0], where, f"{name}[{number}]") for number, each in enumerate(value)]
    kinds = shape if isinstance(shape, tuple) else (type(shape) if isinstance(shape, dict | list) else shape,)
    # A truth value is no number.
    if type(value) not in kinds:
        wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
        raise NeuralArtError(f"{value!r} is no {wanted}", where=place, hint="build it again")
    return value


def document(path: Path, schema: int) -> dict[str, Any]:
    try:
        data = jsontext.loads(read_bytes(path))
    except ValueError as error:
        raise NeuralArtError(f"no JSON: {error}", where=str(path), hint="build it again") from error
    found = shaped(data, {"schema": int}, str(path))["schema"]
    if found != schema:
        raise NeuralArtError(f"schema {found}, this version reads {schema}", where=str(path), hint="build it again")
    return dict(data)
