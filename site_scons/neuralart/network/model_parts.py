"""Files beside an .onnx that hold constants of it (its external data), found without the package ``onnx``."""

from __future__ import annotations

from pathlib import PurePosixPath

from neuralart.quick import lazy_regex

# StringStringEntryProto of TensorProto.external_data (onnx.proto3): field 1 is "location", field 2 the file's name.
_LOCATION = lazy_regex(r"\x0a\x08location\x12([\x01-\x7f])")


def external(data: bytes) -> list[str]:
    """The names of such files, relative to the folder of the model, sorted; of names that leave it, none."""
    text, names = data.decode("latin-1"), set[str]()
    for match in _LOCATION.finditer(text):
        name = data[match.end() : match.end() + ord(match[1])].decode("utf-8", "replace")
        path = PurePosixPath(name)
        if not path.is_absolute() and ".." not in path.parts:
            names.add(name)
    return sorted(names)
