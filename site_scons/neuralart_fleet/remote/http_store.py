"""The cache protocol of Bazel over HTTP, as bazel-remote, nginx with WebDAV and gateways of object stores speak it:
``/ac/KEY`` and ``/cas/SHA256``, read with GET and written with PUT.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote.messages import DeniedError, Digest, UnansweredError

_STALE = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
_PIECE = 1 << 16


class _Timed(io.RawIOBase):
    """What a socket receives until a time: a limit for all of it, not for each of its pieces."""

    def __init__(self, socket: socket.socket, end: float) -> None:
        # The file is what keeps the socket open behind a connection that ends with its answer.
        self._socket, self._file, self._end = socket, socket.makefile("rb"), end

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if (left := self._end - time.monotonic()) <= 0:
            raise TimeoutError
        self._socket.settimeout(left)
        return self._socket.recv_into(room)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Response(http.client.HTTPResponse):
    def __init__(self, end: float, socket: socket.socket, **given: Any) -> None:
        super().__init__(socket, **given)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(socket, end))


class HttpStore:
    """Keeps its connections open. ``authorization``: value of that header, or empty."""

    def __init__(self, config: CacheConfig, authorization: str) -> None:
        self._timeout, self._parts = config.timeout, urlsplit(config.url)
        self._headers = {"Authorization": authorization} if authorization else {}
        self._tls = ssl.create_default_context() if self._parts.scheme == "https" else None
        self._idle: list[http.client.HTTPConnection] = []

    def read(self, kind: str, digest: Digest, out: BinaryIO) -> bool:
        """Write what is there into a file, not much more than its size; False: it is not there."""
        return self._ask("GET", f"{kind}/{digest.hash}", out, digest.size) == 200

    def write(self, kind: str, digest: Digest, body: BinaryIO) -> None:
        """Store what is in a file."""
        self._ask("PUT", f"{kind}/{digest.hash}", io.BytesIO(), digest.size, body)

    def small(self, digests: Iterable[Digest]) -> dict[Digest, bytes]:
        """Nothing: one answer has one file."""
        return {}

    def upload(self, contents: Mapping[Digest, Callable[[], bytes]]) -> None:
        """Store contents, each read when it is sent."""
        for digest, read in contents.items():
            self.write("cas", digest, io.BytesIO(read()))

    def close(self) -> str:
        """End all connections; nothing is compressed."""
        while self._idle:
            self._idle.pop().close()
        return ""

    def _ask(self, method: str, place: str, out: BinaryIO, size: int, body: BinaryIO | None = None) -> int:
        """The status of an answer, whose contents go into a file; ``size``: of what is read or written, about."""
        end, most = time.monotonic() + self._timeout + size / 1e6, max(size, _PIECE)
        kept, whole = None, False
        with contextlib.suppress(IndexError):
            kept = self._idle.pop()
        connection = kept or self._connection()
        try:
            length = {"Content-Length": str(body.seek(0, io.SEEK_END))} if body else {}
            (body or out).seek(0)
            if kept:
                kept.sock.settimeout(self._timeout)
            # Who refuses a large body does not wait for all of it.
            with contextlib.suppress(BrokenPipeError):
                connection.request(method, f"{self._parts.path}/{place}", body, self._headers | length)
            connection.response_class = functools.partial(_Response, end)  # type: ignore[assignment]
            response = connection.getresponse()
            sink, done = out if response.status == 200 else io.BytesIO(), 0
            while done <= most and (piece := response.read1(_PIECE)):
                done += sink.write(piece)
            if response.length and done <= most:
                raise UnansweredError("its answer is cut off")
            response.close()
            whole = done <= most and not response.will_close
        except (OSError, http.client.HTTPException) as error:
            # A server ends connections that were not used for a while.
            if kept and isinstance(error, _STALE):
                return self._ask(method, place, out, size, body)
            late = isinstance(error, TimeoutError)
            reason = getattr(error, "verify_message", None) or getattr(error, "strerror", None) or type(error).__name__
            raise UnansweredError(f"no answer in {self._timeout:g} s" if late else reason) from error
        finally:
            # Nothing of an answer may be left for the next question.
            (self._idle.append if whole else http.client.HTTPConnection.close)(connection)
        if response.status not in ((200, 201, 202, 204) if body else (200, 404, 410)):
            raise (DeniedError if response.status in (401, 403, 405) else UnansweredError)(f"HTTP {response.status}")
        return response.status

    def _connection(self) -> http.client.HTTPConnection:
        place = (self._parts.hostname or "", self._parts.port)
        if self._tls:
            return http.client.HTTPSConnection(*place, timeout=self._timeout, context=self._tls, blocksize=_PIECE)
        return http.client.HTTPConnection(*place, timeout=self._timeout, blocksize=_PIECE)
