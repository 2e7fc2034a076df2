"""Finds the files beside an .onnx that hold its constants (external data), without the package ``onnx``."""

from __future__ import annotations

from pathlib import PurePosixPath

from neuralart.quick import lazy_regex

# StringStringEntryProto of TensorProto.external_data (onnx.proto3): field 1 is "location", field 2 the file's name.
_LOCATION = lazy_regex(r"\x0a\x08location\x12([\x01-\x7f])")


def external(data: bytes) -> list[str]:
    """List these files, relative to the model's folder, sorted; names outside of it are left out."""
    text, names = data.decode("latin-1"), set[str]()
    for match in _LOCATION.finditer(text):
        name = data[match.end() : match.end() + ord(match[1])].decode("utf-8", "replace")
        path = PurePosixPath(name)
        if not path.is_absolute() and ".." not in path.parts:
            names.add(name)
    return sorted(names)
