"""The same cache behind the Remote Execution API."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote.client import SharedCache
from neuralart_fleet.remote.messages import message

grpc = pytest.importorskip("grpc")
zstandard = pytest.importorskip("zstandard")

from neuralart_fleet.remote import grpc_store  # noqa: E402 - it needs grpc
from support.servers import reapi_server  # noqa: E402

KEY, NAMES = "a step", ["a.o", "empty", "large"]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "a.o").write_bytes(b"\0object")
    (folder / "empty").touch()
    (folder / "large").write_bytes(bytes(range(250)) * 10_000)
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


@pytest.fixture
def server() -> Iterator[reapi_server.ReapiServer]:
    with reapi_server.serving() as running:
        yield running


def opened(server: reapi_server.ReapiServer, **environ: str) -> SharedCache:
    return SharedCache(CacheConfig(f"grpc://127.0.0.1:{server.port}/main", timeout=5), {"NETRC": os.devnull, **environ})


def same(one: Path, other: Path, names: Sequence[str] = NAMES) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_a_step_comes_back(server: reapi_server.ReapiServer, made: Path, empty: Path) -> None:
    cache = opened(server, NEURALART_CACHE_TOKEN="t0ken")
    assert not cache.retrieve(KEY, NAMES, empty)
    cache.keep(KEY, NAMES, made, 2)
    assert len(server.entries) == 1 and len(server.contents) == 2
    assert cache.retrieve(KEY, NAMES, empty) and same(made, empty)
    assert ": 1 of 2 steps found (2.50 MB" in cache.ended()
    assert [name for name, _ in server.asked].count("GetCapabilities") == 1
    assert {metadata["authorization"] for _, metadata in server.asked} == {"Bearer t0ken"}


@pytest.mark.parametrize(
    ("method", "code", "said"),
    [
        ("GetActionResult", "UNAVAILABLE", "UNAVAILABLE: as the test wants it"),
        ("GetActionResult", "UNAUTHENTICATED", "UNAUTHENTICATED: without it in the rest of the build"),
        ("GetCapabilities", "UNIMPLEMENTED", "UNIMPLEMENTED: without it in the rest of the build"),
        ("Read", "DEADLINE_EXCEEDED", "no answer in 5 s"),
        ("Read", "NOT_FOUND", "a.o is not taken from it: its contents are gone"),
    ],
)
def test_an_error_is_a_miss_with_a_line(
    server: reapi_server.ReapiServer,
    made: Path,
    empty: Path,
    capsys: pytest.CaptureFixture[str],
    method: str,
    code: str,
    said: str,
) -> None:
    first = opened(server)
    first.keep(KEY, NAMES, made, 1)
    first.ended()
    server.fault = lambda name: code if name == method else ""
    cache = opened(server)
    assert not cache.retrieve(KEY, NAMES, empty) and list(empty.iterdir()) == []
    (line,) = capsys.readouterr().out.splitlines()
    assert said in line
    cache.ended()


def test_wrong_answers(
    server: reapi_server.ReapiServer, made: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = opened(server)
    cache.keep(KEY, NAMES, made, 1)
    good = dict(server.contents)
    for said, damage in (
        ("wrong SHA-256", lambda data: bytes([data[0] ^ 1]) + data[1:]),
        ("wrong size", lambda data: data[:-1]),
        ("wrong size", lambda data: data + bytes(100_000)),
    ):
        server.contents = {name: damage(data) for name, data in good.items()}
        assert not cache.retrieve(KEY, NAMES, empty) and list(empty.iterdir()) == []
        assert f"a.o is not taken from it: {said}" in capsys.readouterr().out
    server.entries = dict.fromkeys(server.entries, b"\xff\xff")
    assert not cache.retrieve(KEY, NAMES, empty)
    cache.ended()
    server.functions = b"\2"
    cache = opened(server)
    assert not cache.retrieve(KEY, NAMES, empty) and not cache.reads
    assert "it does not name contents by their SHA-256: without it" in capsys.readouterr().out
    cache.ended()


def test_what_is_small_goes_together(server: reapi_server.ReapiServer, made: Path, empty: Path) -> None:
    """As many as the server takes; what it has already is not sent."""
    names = [f"{number}.o" for number in range(70)]
    for name in names:
        (made / name).write_bytes(name.encode() * 100)
    for batch, messages in ((0, 2), (1 << 20, 5), (1, 0)):
        server.batch, server.contents, server.asked = batch, {}, []
        cache = opened(server)
        cache.keep(KEY, [*NAMES, *names], made, 2)
        assert cache.retrieve(KEY, [*NAMES, *names], empty) and same(made, empty)
        cache.keep("another", [*NAMES, *names], made, 2)
        asked = [name for name, _ in server.asked]
        assert asked.count("BatchUpdateBlobs") == asked.count("BatchReadBlobs") == messages
        assert asked.count("Write") == asked.count("Read") == (1 if messages else 72)
        cache.ended()


# ---- compression


PLAIN, PACKED = "main/blobs/", "main/compressed-blobs/zstd/"


@pytest.mark.parametrize(
    ("packs", "takes"), [(b"", b""), (b"\0\1\2", b""), (b"", b"\1"), (b"\1", b"\0\1"), (b"\2\3", b"\3")]
)
def test_contents_are_compressed_as_the_server_says(
    server: reapi_server.ReapiServer, made: Path, empty: Path, packs: bytes, takes: bytes
) -> None:
    """What is tiny or gets no smaller goes as it is."""
    server.packs, server.takes, server.batch = packs, takes, 1 << 20
    noise = random.Random(1).randbytes(200_000)
    more = {
        "large": bytes(range(250)) * 400,
        "noise": noise,
        "small": b"int x;\n" * 1000,
        "small noise": noise[:5000],
        "tiny": b" " * 511,
    }
    for name, data in more.items():
        (made / name).write_bytes(data)
    names = sorted({*NAMES, *more})
    cache = opened(server)
    cache.keep(KEY, names, made, 2)
    assert cache.retrieve(KEY, names, empty) and same(made, empty, names)
    packed = {
        name.rpartition("/")[2]: "/compressed-blobs/zstd/" in name for name in server.names if "/uploads/" in name
    }
    assert packed == {"100000": 1 in packs, "200000": False}
    read = [name for name in server.names if "/uploads/" not in name]
    assert len(read) == 2 and all(name.startswith(PACKED if 1 in packs else PLAIN) for name in read)
    assert dict(server.how) == {7: 0, 511: 0, 5000: 0, 7000: int(1 in takes)}
    line = cache.ended()
    assert ": 1 of 1 steps found (0.31 MB" in line and ", 1 stored (0.31 MB)" in line
    assert ("over the wire" in line) == (1 in packs + takes)
    assert line.endswith("(0.31 MB); over the wire 0.21 MB sent, 0.21 MB came") == (packs == b"\1")


def _bomb(size: int) -> bytes:
    """Of very much more than it says itself."""
    return zstandard.ZstdCompressor(write_content_size=False).compress(bytes(size))


@pytest.mark.parametrize(
    ("said", "damage"),
    [
        ("wrong SHA-256", lambda data: reapi_server.frames(data[::-1])),
        ("wrong size", lambda data: reapi_server.frames(data)[:-9]),
        ("wrong size", lambda data: reapi_server.frames(data + b"x")),
        ("wrong size", lambda data: reapi_server.frames(data) * 2),
        ("wrong size", lambda data: reapi_server.frames(data) + b"more"),
        ("wrong size", lambda data: _bomb(1 << 26)),
        ("wrong size", lambda data: bytes([0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0]) * 1000),  # a frame to be skipped
        ("wrong size", lambda data: data),
        ("wrong size", lambda data: b"(\xb5/\xfd" + b"\xff" * 100),
        ("wrong size", lambda data: b"\0"),
    ],
)
def test_wrong_compressed_answers(
    server: reapi_server.ReapiServer,
    made: Path,
    empty: Path,
    capsys: pytest.CaptureFixture[str],
    said: str,
    damage: Callable[[bytes], bytes],
) -> None:
    """Among many, and alone; nothing is made of what is more than it should be."""
    server.packs, server.batch = b"\1", 1 << 20
    (made / "small").write_bytes(b"int x;\n" * 1000)
    (made / "large").write_bytes(bytes(range(250)) * 400)
    cache = opened(server)
    for name in ("large", "small"):
        cache.keep(name, [name], made, 1)
        server.packed = damage
        assert not cache.retrieve(name, [name], empty) and list(empty.iterdir()) == []
        (line,) = capsys.readouterr().out.splitlines()
        assert f"/main: {name} is not taken from it: {said}" in line
        server.packed = reapi_server.frames
        assert cache.retrieve(name, [name], empty)
        (empty / name).unlink()
    assert ": 2 of 4 steps found" in cache.ended()


def test_a_bomb_is_not_unpacked() -> None:
    """At most one byte more than there should be, in small pieces, of as little as that needs."""
    asked = 0

    def pieces() -> Iterator[bytes]:
        nonlocal asked
        bomb = _bomb(1 << 26)
        for at in range(0, len(bomb), 100):
            asked += 1
            yield bomb[at : at + 100]

    parts = list(grpc_store.unpacked(pieces(), grpc_store.ZSTD, 300_000))
    assert b"".join(parts) == bytes(300_001) and max(map(len, parts)) <= 1 << 17
    assert asked < 10


def test_a_compressor_that_was_not_asked_for(
    server: reapi_server.ReapiServer, made: Path, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is as if contents were not in that answer: they are asked for alone."""
    (made / "small").write_bytes(b"int x;\n" * 1000)
    server.batch, good = 1 << 20, server.BatchReadBlobs
    cache = opened(server)
    cache.keep(KEY, ["small"], made, 1)
    server.packs = b"\1"
    monkeypatch.setattr(server, "BatchReadBlobs", lambda request, _: good(request + message((3, 1)), None))
    assert cache.retrieve(KEY, ["small"], empty) and same(made, empty, ["small"])
    assert [name.startswith(PLAIN) for name in server.names] == [True]
    cache.ended()


def test_without_the_package_of_compression(
    server: reapi_server.ReapiServer,
    made: Path,
    empty: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.packs = server.takes = b"\1"
    (made / "small").write_bytes(b"int x;\n" * 10_000)
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "zstandard", None)
        cache = opened(server)
        cache.keep(KEY, ["small"], made, 2)
        assert cache.retrieve(KEY, ["small"], empty) and same(made, empty, ["small"])
    assert server.names and not any("compressed" in name for name in server.names)
    assert "over the wire" not in cache.ended() and capsys.readouterr().out == ""


def test_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(NeuralArtError, match=r"need the package grpcio.*pip install 'scons-neuralart\[remote\]'"):
        SharedCache(CacheConfig("grpc://cache.lan:1"), {"NETRC": os.devnull})


@pytest.mark.skipif(not shutil.which("bgd"), reason="bgd of BuildGrid is not installed")
def test_buildgrid(made: Path, empty: Path, tmp_path: Path) -> None:
    with reapi_server.buildgrid(tmp_path / "buildgrid") as url:
        cache = SharedCache(CacheConfig(url), {"NETRC": os.devnull})
        assert not cache.retrieve(KEY, NAMES, empty)
        cache.keep(KEY, NAMES, made, 1)
        other = SharedCache(CacheConfig(url), {"NETRC": os.devnull})
        assert other.retrieve(KEY, NAMES, empty) and same(made, empty)
        assert ", 1 stored" in cache.ended() and ": 1 of 1 steps found" in other.ended()
