"""The Remote Execution API (REAPI v2) over gRPC: capabilities, entries of steps, contents of any size by digest.

Contents travel compressed (Zstandard) where the package for it is installed.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import SimpleNamespace
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from neuralart.errors import NeuralArtError
from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote.messages import DAMAGED, AbsentError, DeniedError, Digest, UnansweredError, message, parse

ZSTD = 1  # Compressor.Value; 0: as it is
_LEAST = 512  # Bytes: of less, a name and a message are the larger part


def usable(values: Iterable[int]) -> int:
    """``ZSTD`` if that is among the compressors of a server, and here; else 0."""
    try:
        import zstandard  # noqa: F401 - is it there?
    except ImportError:
        return 0
    return ZSTD if ZSTD in values else 0


def compressed(data: bytes, how: int) -> tuple[bytes, int]:
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


_API, _STREAM = "/build.bazel.remote.execution.v2.", "/google.bytestream.ByteStream/"
_CONTENTS = f"{_API}ContentAddressableStorage/"
_SHA256 = 1  # DigestFunction.Value
_PIECE = 1 << 20
_BATCH = 3 << 20  # gRPC takes messages of 4 MB unless it is told otherwise
_SMALL = 1 << 16  # Bytes of contents that go together with others
_NOTHING = [b""]
_DENIED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED")


class GrpcStore:
    """A server of the API; the path of the URL is the name of an instance. ``authorization``: a header, or empty."""

    def __init__(self, config: CacheConfig, authorization: str) -> None:
        os.environ.setdefault("GRPC_VERBOSITY", "ERROR")  # Else it says itself, too, what we say in one line
        try:
            import grpc
        except ImportError:
            hint = "pip install 'scons-neuralart[remote]'"
            raise NeuralArtError("servers with gRPC need the package grpcio", where=config.url, hint=hint) from None
        parts = urlsplit(config.url)
        self._error, self._timeout, self.instance = grpc.RpcError, config.timeout, parts.path.strip("/")
        self._metadata = [("authorization", authorization)] if authorization else []
        tls = [grpc.ssl_channel_credentials()] if parts.scheme == "grpcs" else []
        self._channel = (grpc.secure_channel if tls else grpc.insecure_channel)(parts.netloc, *tls)
        self._asked = False
        self._together = 0  # Small contents in one message
        self._packs = self._batches = 0  # Compressors: of contents, and of those that are sent together
        self._lock, self._bytes = threading.Lock(), [0, 0]  # Of messages: sent, came
        self._counted = partial(self._count, 0), partial(self._count, 1)

    def read(self, kind: str, digest: Digest, out: BinaryIO) -> bool:
        """Write what is there into a file, not much more than its size; False: it is not there."""
        with contextlib.suppress(AbsentError), self._asking():
            if kind != "cas":
                request = message((1, self.instance), (2, digest.written))
                return out.write(self.call(f"{_API}ActionCache/GetActionResult", request)) > 0
            how, left = self._packs, digest.size
            request = message((1, self._name(digest, how=how)))
            pieces = self.stream(f"{_STREAM}Read", request, self._timeout + left / 1e6)
            for data in unpacked((parse(piece).get(10, _NOTHING)[0] for piece in pieces), how, left):
                left -= out.write(data)
                if left < 0:
                    break
            return True
        return False

    def small(self, digests: Iterable[Digest]) -> dict[Digest, bytes]:
        """Contents of few bytes, many in one answer; what is large or not there is left out."""
        found = {}
        for group in self._groups(digests):
            request = message((1, self.instance), (2, [digest.written for digest in group]), (3, self._packs))
            with self._asking():
                for one in map(parse, parse(self.call(f"{_CONTENTS}BatchReadBlobs", request, _BATCH)).get(1, ())):
                    digest, how = Digest.read(one[1][0]), one.get(4, [0])[0]
                    if digest in group and how in (0, self._packs) and not parse(one.get(3, _NOTHING)[0]).get(1):
                        found[digest] = b"".join(unpacked(one.get(2, _NOTHING), how, digest.size))
        return found

    def write(self, kind: str, digest: Digest, body: BinaryIO) -> None:
        """Store what is in a file."""
        if kind == "cas":
            data, how = compressed(body.read(), self._packs)
            name = self._name(digest, f"uploads/{uuid.uuid4()}/", how)
            self.call(f"{_STREAM}Write", _written(name, data), digest.size)
        else:
            entry = message((1, self.instance), (2, digest.written), (3, body.read()))
            self.call(f"{_API}ActionCache/UpdateActionResult", entry)

    def upload(self, contents: Mapping[Digest, Callable[[], bytes]]) -> int:
        """Store what the server does not have, each read when it is sent; the bytes of that."""
        request = message((1, self.instance), (2, [digest.written for digest in contents]))
        with self._asking():
            answer = parse(self.call(f"{_CONTENTS}FindMissingBlobs", request))
            missing = {*map(Digest.read, answer.get(2, ()))} & contents.keys()
            large = set(missing)
            for group in self._groups(missing):
                packed = ((digest, *compressed(contents[digest](), self._batches)) for digest in group)
                rows = [message((1, digest.written), (2, data), (3, how)) for digest, data, how in packed]
                batch = self.call(f"{_CONTENTS}BatchUpdateBlobs", message((1, self.instance), (2, rows)), _BATCH)
                if any(parse(parse(one).get(2, _NOTHING)[0]).get(1) for one in parse(batch)[1]):
                    raise UnansweredError("it does not take contents")
                large.difference_update(group)
            for digest in large:
                self.write("cas", digest, io.BytesIO(contents[digest]()))
        return sum(digest.size for digest in missing)

    def close(self) -> str:
        """End the connection. Returns what went over it, if contents were compressed."""
        self._channel.close()
        sent, came = (f"{size / 1e6:.2f} MB" for size in self._bytes)
        return f"; over the wire {sent} sent, {came} came" if self._packs or self._batches else ""

    def _check(self) -> None:
        """Before the first question. DeniedError: The server names contents by something else than SHA-256."""
        self._asked = True
        said = parse(parse(self.call(f"{_API}Capabilities/GetCapabilities", message((1, self.instance))))[1][0])
        # A list of numbers is written as one text, or one by one.
        lists = [[n for one in said.get(i, ()) for n in (one if isinstance(one, bytes) else [one])] for i in (1, 6, 7)]
        if _SHA256 not in lists[0]:
            raise DeniedError("it does not name contents by their SHA-256")
        self._packs, self._batches = map(usable, lists[1:])
        self._together = min(said.get(4, [0])[0] or _BATCH, _BATCH) // _SMALL

    def call(self, name: str, request: bytes | Iterator[bytes], size: int = 0) -> bytes:
        """Ask for one message. ``size``: of what is sent or comes, about. UnansweredError: There is no answer."""
        kind = "unary_unary" if isinstance(request, bytes) else "stream_unary"
        ask = getattr(self._channel, kind)(name, *self._counted)
        with self._asking():
            if not self._asked:
                self._check()
            return bytes(ask(request, timeout=self._timeout + size / 1e6, metadata=self._metadata))

    def stream(self, name: str, request: bytes, seconds: float, stop: Any = None) -> Iterator[bytes]:
        """Messages of an answer that takes so many seconds at most, and that ``stop`` ends; errors as of ``call``."""
        with self._asking():
            answer = self._channel.unary_stream(name, *self._counted)(request, timeout=seconds, metadata=self._metadata)
            if stop is not None:
                threading.Thread(target=_watch, args=(answer, stop), daemon=True).start()
            try:
                yield from answer
            finally:
                answer.cancel()

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except self._error as error:
            code = error.code().name
            if code in _DENIED:
                raise DeniedError(code) from error
            late = f"no answer in {self._timeout:g} s"
            said = late if code == "DEADLINE_EXCEEDED" else f"{code}: {error.details()}"
            raise (AbsentError if code == "NOT_FOUND" else UnansweredError)(said) from error
        except DAMAGED as error:
            raise UnansweredError(f"its answer is damaged: {error}") from error

    def _name(self, digest: Digest, before: str = "", how: int = 0) -> str:
        kind = "compressed-blobs/zstd" if how else "blobs"
        return f"{self.instance}/{before}{kind}/{digest.hash}/{digest.size}".lstrip("/")

    def _count(self, way: int, data: bytes) -> bytes:
        with self._lock:
            self._bytes[way] += len(data)
        return data

    def _groups(self, digests: Iterable[Digest]) -> Iterator[list[Digest]]:
        small = sorted(digest for digest in digests if self._together and digest.size <= _SMALL)
        return (small[at : at + self._together] for at in range(0, len(small), self._together or 1))


def _written(name: str, data: bytes) -> Iterator[bytes]:
    """Messages that write contents; the last one says so."""
    for at in range(0, len(data), _PIECE):
        yield message((1, name), (2, at), (3, int(at + _PIECE >= len(data))), (10, data[at : at + _PIECE]))


def _watch(answer: Any, stop: Callable[[], bool]) -> None:
    while answer.is_active():
        if stop():
            answer.cancel()
        time.sleep(0.1)
