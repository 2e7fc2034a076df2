"""The same cache behind the Remote Execution API."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuralart.config.cache import CacheConfig
from neuralart.errors import NeuralArtError
from neuralart.remote.client import SharedCache

grpc = pytest.importorskip("grpc")

from support import reapi_server  # noqa: E402 - it needs grpc

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


def same(one: Path, other: Path) -> bool:
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in NAMES)


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
