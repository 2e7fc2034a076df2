"""The Remote Execution API (REAPI v2) as a cache: Capabilities, ActionCache, ByteStream for contents of any size."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import urlsplit

from neuralart.config.cache import CacheConfig
from neuralart.errors import NeuralArtError
from neuralart.remote.messages import DAMAGED, DeniedError, Digest, UnansweredError, message, parse

_API, _STREAM = "/build.bazel.remote.execution.v2.", "/google.bytestream.ByteStream/"
_SHA256 = 1  # DigestFunction.Value
_PIECE = 1 << 20  # gRPC takes messages of 4 MB unless it is told otherwise
_DENIED = ("UNAUTHENTICATED", "PERMISSION_DENIED", "UNIMPLEMENTED")


class GrpcStore:
    """A server of the API; the path of the URL is the name of an instance. ``authorization``: a header, or empty."""

    def __init__(self, config: CacheConfig, authorization: str) -> None:
        try:
            import grpc
        except ImportError:
            hint = "pip install 'scons-neuralart[remote]'"
            raise NeuralArtError("caches with gRPC need the package grpcio", where=config.url, hint=hint) from None
        parts = urlsplit(config.url)
        self._error, self._timeout, self._instance = grpc.RpcError, config.timeout, parts.path.strip("/")
        self._metadata = [("authorization", authorization)] if authorization else []
        tls = [grpc.ssl_channel_credentials()] if parts.scheme == "grpcs" else []
        self._channel = (grpc.secure_channel if tls else grpc.insecure_channel)(parts.netloc, *tls)
        self._asked = False

    def read(self, kind: str, digest: Digest, out: BinaryIO) -> bool:
        """Write what is there into a file, not much more than its size; False: it is not there."""
        if kind == "cas":
            request = message((1, self._name(f"blobs/{digest.hash}/{digest.size}")))
            return self._call(f"{_STREAM}Read", request, digest.size, out) is not None
        request = message((1, self._instance), (2, message((1, digest.hash), (2, digest.size))))
        answer = self._call(f"{_API}ActionCache/GetActionResult", request)
        return answer is not None and out.write(answer) > 0

    def write(self, kind: str, digest: Digest, body: BinaryIO) -> None:
        """Store what is in a file."""
        if kind == "cas":
            self._call(f"{_STREAM}Write", self._pieces(digest, body), digest.size)
        else:
            key = message((1, digest.hash), (2, digest.size))
            self._call(
                f"{_API}ActionCache/UpdateActionResult", message((1, self._instance), (2, key), (3, body.read()))
            )

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def _name(self, place: str) -> str:
        return f"{self._instance}/{place}".lstrip("/")

    def _pieces(self, digest: Digest, body: BinaryIO) -> Iterator[bytes]:
        name, at = self._name(f"uploads/{uuid.uuid4()}/blobs/{digest.hash}/{digest.size}"), 0
        while data := body.read(_PIECE):
            at += len(data)
            yield message((1, name), (2, at - len(data)), (3, int(at == digest.size)), (10, data))

    def _check(self) -> None:
        """Before the first question. DeniedError: the server names contents by something else than SHA-256."""
        self._asked = True
        answer = self._call(f"{_API}Capabilities/GetCapabilities", message((1, self._instance))) or b""
        functions = parse(parse(answer)[1][0])[1]
        # A list of numbers is written as one text, or one by one.
        if _SHA256 not in (each for one in functions for each in (one if isinstance(one, bytes) else [one])):
            self._asked = False
            raise DeniedError("it does not name contents by their SHA-256")

    def _call(
        self, name: str, request: bytes | Iterator[bytes], size: int = 0, out: BinaryIO | None = None
    ) -> bytes | None:
        """Ask; pieces go into a file. None: what is asked for is not there."""
        kind = "unary_stream" if out else "unary_unary" if isinstance(request, bytes) else "stream_unary"
        try:
            if not self._asked:
                self._check()
            call = getattr(self._channel, kind)(name)
            answer = call(request, timeout=self._timeout + size / 1e6, metadata=self._metadata)
            if out is None:
                return bytes(answer)
            for piece in answer:
                size -= out.write(parse(piece)[10][0])
                if size < 0:
                    answer.cancel()
                    break
            return b""
        except self._error as error:
            code = error.code().name
            if code == "NOT_FOUND":
                return None
            if code in _DENIED:
                raise DeniedError(code) from error
            late = f"no answer in {self._timeout:g} s"
            raise UnansweredError(late if code == "DEADLINE_EXCEEDED" else f"{code}: {error.details()}") from error
        except DAMAGED as error:
            raise UnansweredError(f"its answer is damaged: {error}") from error
