"""A cache and farm of the Remote Execution API in this process, and BuildGrid's cache in one of its own."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import zstandard

from neuralart_fleet.remote.messages import Digest, message, parse
from support.servers.cache_server import free_port, wait_for

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


_BUILDGRID_FARM = """server:
  - !channel
    address: localhost:{port}
    insecure-mode: true
connections:
  - !sql-connection &sql
    connection-string: {database}
instances:
  - name: main
    storages:
      - !lru-storage &cas
        size: 64M
    caches:
      - !lru-action-cache &ac
        storage: *cas
        max-cached-refs: 256
        allow-updates: true
    schedulers:
      - !sql-scheduler &scheduler
        storage: *cas
        sql: *sql
        action-cache: *ac
        bot-session-keepalive-timeout: 5
        session-expiry-timer-interval: 1
        poll-interval: 0.2
        assigners:
          - !priority-age-assigner
            interval: 0.2
    services:
      - !action-cache
        cache: *ac
      - !cas
        storage: *cas
      - !bytestream
        storage: *cas
      - !execution
        scheduler: *scheduler
      - !bots
        scheduler: *scheduler
thread-pool-size: 20
"""


@dataclass(frozen=True)
class Task:
    """What a worker is given."""

    words: list[str]
    environment: dict[str, str]
    properties: dict[str, str]
    files: dict[str, bytes]
    outputs: list[str]
    anew: bool


@dataclass(frozen=True)
class Done:
    """What a worker answers."""

    code: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    out: bytes = b""
    err: bytes = b""


def worker(folder: Path, **more: str) -> Callable[[Task], Done]:
    """One that runs what it is asked for in new folders, with this Python and more variables."""

    def work(task: Task) -> Done:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            top = Path(place)
            for name, data in task.files.items():
                (top / name).parent.mkdir(parents=True, exist_ok=True)
                (top / name).write_bytes(data)
            for name in task.outputs:
                (top / name).parent.mkdir(parents=True, exist_ok=True)
            env = {**task.environment, **more, "PATH": f"{Path(sys.executable).parent}:{task.environment['PATH']}"}
            ran = subprocess.run(task.words, cwd=top, env=env, capture_output=True)
            made = {name: (top / name).read_bytes() for name in task.outputs if (top / name).is_file()}
            return Done(ran.returncode, made, ran.stdout, ran.stderr)

    return work


_PACKED = ["compressed-blobs", "zstd"]
_QUEUED, _EXECUTING = 2, 3


def frames(data: bytes) -> bytes:
    """Data as servers compress it that make a frame of each piece."""
    half = len(data) // 2
    return b"".join(zstandard.ZstdCompressor(level=1).compress(part) for part in (data[:half], data[half:]))


def _plain(data: bytes, how: str, announced: bytes) -> bytes:
    """What a client has sent, compressed (``how``: zstd) or not, in one frame."""
    assert how in ("", "zstd") and (not how or 1 in announced), "only what the server takes"
    return zstandard.decompress(data) if how else data


class ReapiServer(grpc.GenericRpcHandler):
    """Entries and contents by digest; ``fault`` is asked with the name of a method for the code to end it with.

    Attributes:
        work: The farm's worker; None: it executes nothing.
        lost: Asked with the name of a method whose answer is a stream: what becomes of that: ``cut``: it ends before
            the step does; ``queue``: no worker takes the step; ``held``: the worker never ends; or the name of a code.
        tasks: What workers were given.
        after: Asked with the name of a file that a worker has made: what becomes of that; None: it is gone.
        canceled: Names of operations.
        packs: Compressors of ``ByteStream`` and of answers (numbers, as a list is written); ``takes``: of batches.
        packed: Makes a compressed stream of contents.
        names: Resources that were read and written; ``how``: of each in a batch, its size and compressor.
    """

    def __init__(self) -> None:
        self.work: Callable[[Task], Done] | None = None
        self.lost: Callable[[str], str] = lambda method: ""
        self.after: Callable[[str], bytes | None] | None = None
        self.tasks: list[Task] = []
        self.canceled: list[str] = []
        self.packs = self.takes = b""
        self.packed: Callable[[bytes], bytes] = frames
        self.names: list[str] = []
        self.how: list[tuple[int, int]] = []
        self.batch = 0
        self.entries: dict[bytes, bytes] = {}
        self.contents: dict[str, bytes] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.fault: Callable[[str], str] = lambda method: ""
        self.functions = b"\1\2"
        self.port = 0

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        streams = dict.fromkeys(("Read", "Execute", "WaitExecution"), "unary_stream")
        kind = {**streams, "Write": "stream_unary"}.get(name, "unary_unary")
        made = getattr(grpc, f"{kind}_rpc_method_handler")

        def answer(request: Any, context: Any) -> Any:
            self.asked.append((name, dict(context.invocation_metadata())))
            if code := self.fault(name):
                context.abort(grpc.StatusCode[code], "as the test wants it")
            return getattr(self, name)(request, context)

        return made(answer)

    def GetCapabilities(self, request: bytes, context: Any) -> bytes:
        assert parse(request)[1] == [b"main"]
        return message((1, message((1, self.functions), (4, self.batch), (6, self.packs), (7, self.takes))))

    def GetActionResult(self, request: bytes, context: Any) -> bytes:
        key = parse(request)[2][0]
        if key not in self.entries:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such entry")
        return self.entries[key]

    def UpdateActionResult(self, request: bytes, context: Any) -> bytes:
        fields = parse(request)
        self.entries[fields[2][0]] = fields[3][0]
        return fields[3][0]

    def FindMissingBlobs(self, request: bytes, context: Any) -> bytes:
        digests = map(Digest.read, parse(request).get(2, ()))
        return message((2, [each.written for each in digests if each.hash not in self.contents]))

    def BatchUpdateBlobs(self, request: bytes, context: Any) -> bytes:
        rows = []
        for one in map(parse, parse(request)[2]):
            digest, how = Digest.read(one[1][0]), one.get(3, [0])[0]
            self.how.append((digest.size, how))
            data = _plain(one.get(2, [b""])[0], "zstd" * how, self.takes)
            good = digest == (hashlib.sha256(data).hexdigest(), len(data))
            if good:
                self.contents[digest.hash] = data
            rows.append(message((1, digest.written), (2, message((1, 0 if good else 3)))))
        return message((1, rows))

    def BatchReadBlobs(self, request: bytes, context: Any) -> bytes:
        rows, fields = [], parse(request)
        how = fields.get(3, [0])[0]
        assert how in (0, *self.packs)
        for digest in map(Digest.read, fields[2]):
            data = self.contents.get(digest.hash)
            status = message((1, 5 if data is None else 0))
            made = self.packed(data or b"") if how else data or b""
            rows.append(message((1, digest.written), (2, made), (3, status), (4, how)))
        return message((1, rows))

    def Read(self, request: bytes, context: Any) -> Iterator[bytes]:
        self.names.append(parse(request)[1][0].decode())
        instance, *blobs, name, _ = self.names[-1].split("/")
        assert instance == "main" and (blobs == ["blobs"] or (blobs == _PACKED and 1 in self.packs))
        if name not in self.contents:
            context.abort(grpc.StatusCode.NOT_FOUND, "no such contents")
        data = self.contents[name] if blobs == ["blobs"] else self.packed(self.contents[name])
        for at in range(0, len(data), 1000):
            yield message((10, data[at : at + 1000]))
            if not at:
                yield b""  # A message may have no data, and others follow

    def Write(self, requests: Iterator[bytes], context: Any) -> bytes:
        name, data, ended = "", b"", False
        for fields in map(parse, requests):
            assert not ended and fields.get(2, [0]) == [len(data)]
            name = fields[1][0].decode()
            data += fields[10][0]
            ended = fields.get(3, [0]) == [1]
        self.names.append(name)
        instance, uploads, _, *blobs, digest, size = name.split("/")
        assert blobs in (["blobs"], _PACKED)
        plain = _plain(data, "".join(blobs[1:]), self.packs)
        assert (instance, uploads, int(size)) == ("main", "uploads", len(plain)) and ended
        assert digest == hashlib.sha256(plain).hexdigest()
        self.contents[digest] = plain
        return message((1, len(data)))

    def Execute(self, request: bytes, context: Any) -> Iterator[bytes]:
        fields = parse(request)
        assert fields[1] == [b"main"]
        if self.work is None:
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "a cache is no farm")
        yield from self._operation(Digest.read(fields[6][0]).hash, "Execute", context, anew=3 in fields)

    def WaitExecution(self, request: bytes, context: Any) -> Iterator[bytes]:
        yield from self._operation(parse(request)[1][0].decode().partition("/")[2], "WaitExecution", context)

    def CancelOperation(self, request: bytes, context: Any) -> bytes:
        self.canceled.append(parse(request)[1][0].decode())
        return b""

    def _operation(self, action: str, method: str, context: Any, *, anew: bool = False) -> Iterator[bytes]:
        lost, name = self.lost(method), f"operations/{action}"
        yield message((1, name), (2, _any(message((1, _QUEUED)))))
        if lost == "queue":
            self._hold(context)
        yield message((1, name), (2, _any(message((1, _EXECUTING)))))
        if lost == "held":
            self._hold(context)
        if lost == "cut":
            return
        if lost:
            context.abort(grpc.StatusCode[lost], "as the test wants it")
        response = message((1, self._result(action, anew=anew)))
        yield message((1, name), (2, _any(message((1, 4)))), (3, 1), (5, _any(response)))

    def _hold(self, context: Any) -> None:
        """Until the client goes."""
        gone = threading.Event()
        context.add_callback(gone.set)
        assert gone.wait(20)
        context.abort(grpc.StatusCode.ABORTED, "it went")

    def _blob(self, digest: bytes) -> bytes:
        return self.contents[Digest.read(digest).hash] if Digest.read(digest).size else b""

    def _files(self, folder: bytes, above: str = "") -> Iterator[tuple[str, bytes]]:
        fields = parse(folder)
        names = [parse(each)[1][0] for kind in (1, 2) for each in fields.get(kind, ())]
        assert len(set(names)) == len(names)
        for kind in (1, 2):
            rows = [parse(each) for each in fields.get(kind, ())]
            assert [row[1] for row in rows] == sorted(row[1] for row in rows), "the API wants them sorted"
            for row in rows:
                name, data = above + row[1][0].decode(), self._blob(row[2][0])
                yield from [(name, data)] if kind == 1 else self._files(data, f"{name}/")

    def _result(self, action: str, *, anew: bool) -> bytes:
        fields = parse(self.contents[action])
        command = parse(self._blob(fields[1][0]))
        variables = [parse(each) for each in command.get(2, ())]
        assert [each[1] for each in variables] == sorted(each[1] for each in variables)
        assert fields.get(10) == command.get(5) and command.get(3) == command.get(7)
        rows = [parse(each) for each in parse(fields.get(10, [b""])[0]).get(1, ())]
        task = Task(
            [word.decode() for word in command[1]],
            {each[1][0].decode(): each.get(2, [b""])[0].decode() for each in variables},
            {each[1][0].decode(): each[2][0].decode() for each in rows},
            dict(self._files(self._blob(fields[2][0]))),
            [name.decode() for name in command.get(7, ())],
            anew,
        )
        self.tasks.append(task)
        assert self.work is not None and anew == (7 in fields)
        done, files = self.work(task), []
        for name, data in done.files.items():
            digest = Digest(hashlib.sha256(data).hexdigest(), len(data))
            kept = data if self.after is None else self.after(name)
            self.contents.pop(digest.hash, None)
            self.contents |= {} if kept is None else {digest.hash: kept}
            files.append(message((1, name), (2, digest.written)))
        # The one stream is in the result, the other among the contents.
        err = Digest(hashlib.sha256(done.err).hexdigest(), len(done.err))
        self.contents[err.hash] = done.err
        return message((2, files), (4, done.code), (5, done.out), (8, err.written if done.err else b""))


def _any(data: bytes) -> bytes:
    return message((1, "type.googleapis.com/some.Message"), (2, data))


@contextlib.contextmanager
def serving(certificate: tuple[str, str] | None = None) -> Iterator[ReapiServer]:
    """A server, until the end of the block; with files of a certificate and its key it speaks TLS."""
    handler = ReapiServer()
    with ThreadPoolExecutor(8) as pool:
        server = grpc.server(pool, handlers=[handler])
        if certificate:
            chain, key = (Path(name).read_bytes() for name in certificate)
            handler.port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(key, chain)]))
        else:
            handler.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield handler
        finally:
            server.stop(None).wait()


@contextlib.contextmanager
def buildgrid(folder: Path, database: str = "") -> Iterator[str]:
    """The URL of BuildGrid's cache, which keeps what it has in memory; with an empty PostgreSQL database of a farm."""
    folder.mkdir()
    port = free_port()
    text = _BUILDGRID.format(port=port)
    if database:
        subprocess.run(["bgd", "migrate", "apply", database], check=True, capture_output=True)
        text = _BUILDGRID_FARM.format(port=port, database=database)
    (folder / "server.yml").write_text(text, "utf-8")
    words = ["bgd", "server", "start", str(folder / "server.yml")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            wait_for(port, process)
            yield f"grpc://localhost:{port}/main"
        finally:
            process.terminate()
            process.wait()
