"""A cache of the Remote Execution API in this process, and BuildGrid's in one of its own."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc

from neuralart.remote.messages import message, parse
from support.cache_server import free_port, wait_for

_BUILDGRID = """server:
  - !channel
    address: localhost:{port}
    insecure-mode: true
instances:
  - name: main
    storages:
      - !lru-storage &cas
        size: 64M
    services:
      - !action-cache
        cache: !lru-action-cache
          storage: *cas
          max-cached-refs: 256
          allow-updates: true
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
thread-pool-size: 20
"""


class ReapiServer(grpc.GenericRpcHandler):
    """Entries and contents by digest; ``fault`` is asked with the name of a method for the code to end it with."""

    def __init__(self) -> None:
        self.entries: dict[bytes, bytes] = {}
        self.contents: dict[str, bytes] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.fault: Callable[[str], str] = lambda method: ""
        self.functions = b"\1\2"
        self.port = 0

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        kind = {"Read": "unary_stream", "Write": "stream_unary"}.get(name, "unary_unary")
        made = getattr(grpc, f"{kind}_rpc_method_handler")

        def answer(request: Any, context: Any) -> Any:
            self.asked.append((name, dict(context.invocation_metadata())))
            if code := self.fault(name):
                context.abort(grpc.StatusCode[code], "as the test wants it")
            return getattr(self, name)(request, context)

        return made(answer)

    def GetCapabilities(self, request: bytes, context: Any) -> bytes:
        assert parse(request)[1] == [b"main"]
        return message((1, message((1, self.functions))))

    def GetActionResult(self, request: bytes, context: Any) -> bytes:
        key = parse(request)[2][0]
        if key not in self.entries:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such entry")
        return self.entries[key]

    def UpdateActionResult(self, request: bytes, context: Any) -> bytes:
        fields = parse(request)
        self.entries[fields[2][0]] = fields[3][0]
        return fields[3][0]

    def Read(self, request: bytes, context: Any) -> Iterator[bytes]:
        instance, blobs, name, _ = parse(request)[1][0].decode().split("/")
        assert (instance, blobs) == ("main", "blobs")
        if name not in self.contents:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such contents")
        data = self.contents[name]
        for at in range(0, len(data), 1000):
            yield message((10, data[at : at + 1000]))

    def Write(self, requests: Iterator[bytes], context: Any) -> bytes:
        name, data, ended = "", b"", False
        for fields in map(parse, requests):
            assert not ended and fields.get(2, [0]) == [len(data)]
            name = fields[1][0].decode()
            data += fields[10][0]
            ended = fields.get(3, [0]) == [1]
        instance, uploads, _, blobs, digest, size = name.split("/")
        assert (instance, uploads, blobs, int(size)) == ("main", "uploads", "blobs", len(data)) and ended
        assert digest == hashlib.sha256(data).hexdigest()
        self.contents[digest] = data
        return message((1, len(data)))


@contextlib.contextmanager
def serving() -> Iterator[ReapiServer]:
    """A server, until the end of the block."""
    handler = ReapiServer()
    with ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, handlers=[handler])
        handler.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield handler
        finally:
            server.stop(None).wait()


@contextlib.contextmanager
def buildgrid(folder: Path) -> Iterator[str]:
    """The URL of BuildGrid's cache, which keeps what it has in memory."""
    folder.mkdir()
    port = free_port()
    (folder / "server.yml").write_text(_BUILDGRID.format(port=port), "utf-8")
    words = ["bgd", "server", "start", str(folder / "server.yml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            wait_for(port, process)
            yield f"grpc://localhost:{port}/main"
        finally:
            process.terminate()
            process.wait()
