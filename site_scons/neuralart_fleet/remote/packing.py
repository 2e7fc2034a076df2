"""Contents that travel compressed (Zstandard), where the package for it is installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from types import SimpleNamespace
from typing import Any

ZSTD = 1  # Compressor.Value; 0: as it is
_LEAST = 512  # Bytes: of less, a name and a message are the larger part


def usable(values: Iterable[int]) -> int:
    """``ZSTD`` if that is among the compressors of a server, and here; else 0."""
    try:
        import zstandard  # noqa: F401 - is it there?
    except ImportError:
        return 0
    return ZSTD if ZSTD in values else 0


def packed(data: bytes, how: int) -> tuple[bytes, int]:
    """What is sent, and its compressor, which is ``how`` or 0: what gets no smaller goes as it is."""
    if not how or len(data) < _LEAST:
        return data, 0
    import zstandard

    made = zstandard.ZstdCompressor().compress(data)
    return (made, how) if len(made) < len(data) else (data, 0)


def unpacked(pieces: Iterable[bytes], how: int, size: int) -> Iterator[bytes]:
    """What was packed, at most one byte more than ``size``; up to where it is damaged: digests are checked later."""
    if not how:
        yield from pieces
        return
    import zstandard

    # Frames may follow each other: some servers make one of each piece. No piece but the last one is empty here.
    came, left = filter(None, pieces), size + 1
    source: Any = SimpleNamespace(read=lambda most: next(came, b""))
    reader = zstandard.ZstdDecompressor().stream_reader(source, read_across_frames=True)
    with contextlib.suppress(zstandard.ZstdError):
        while data := reader.read(min(left, zstandard.DECOMPRESSION_RECOMMENDED_OUTPUT_SIZE)):
            left -= len(data)
            yield data
