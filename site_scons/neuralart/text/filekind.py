"""Says what a file is that is not the expected model."""

from __future__ import annotations

_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "a ZIP archive (a .keras model, a .pt checkpoint or an .mltk archive, for example)"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras .h5 model, for example)"),
    (b"version https://git-lfs", "a Git LFS pointer; the file itself was not downloaded"),
    (b"\x1f\x8b", "a gzip file"),
    (b"\x7fELF", "an ELF file"),
    (b"\x80", "a Python pickle (a PyTorch checkpoint, for example)"),
    (b"\x93NUMPY", "a NumPy array"),
)
# Field numbers that may follow the version in ONNX's ModelProto: producer, graph, opset.
_ONNX_NEXT = b"\x12\x1a\x22\x2a\x32\x3a\x42"


def describe(data: bytes) -> str:
    """Describe bytes that are no TensorFlow Lite model: ``an HDF5 file (...)``, ``text, beginning with '...'``, or the
    bytes. The beginning of a file is enough.
    """
    for magic, name in _MAGICS:
        if data.startswith(magic):
            return name
    if len(data) > 3 and data[0] == 8 and data[2] in _ONNX_NEXT:
        if data[1] == 1:
            return "a TensorFlow SavedModel"
        if 3 <= data[1] <= 32:
            return "an ONNX model"
    head = data[:24]
    if head and all(byte in b"\t\r\n" or 32 <= byte < 127 for byte in head):
        return f"text, beginning with {' '.join(head.decode('ascii').split())!r}"
    return f"no known kind of file, beginning with bytes {data[:8].hex(' ')}"
