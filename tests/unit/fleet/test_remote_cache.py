"""A cache on another machine that is wrong, slow, closed or gone costs time, and never more."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values
from neuralart_fleet import config as cache_config
from neuralart_fleet.config import CacheConfig
from neuralart_fleet.remote import messages
from neuralart_fleet.remote.client import SharedCache
from neuralart_fleet.remote.messages import Digest, StepResult, message, parse
from support.servers.cache_server import CacheServer, certificate, nginx, serving

NAMES = ["out/a.o", "out/empty", "out/run"]
KEY = "a step"


@pytest.fixture
def server() -> Iterator[CacheServer]:
    with serving() as running:
        yield running


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with what a step has made."""
    folder = tmp_path / "made"
    (folder / "out").mkdir(parents=True)
    (folder / "out" / "a.o").write_bytes(b"\0object" * 20_000)
    (folder / "out" / "empty").touch()
    (folder / "out" / "run").write_bytes(b"#!")
    (folder / "out" / "run").chmod(0o755)
    return folder


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    (folder / "out").mkdir(parents=True)
    return folder


OPENED: list[SharedCache] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().ended()


def opened(server: CacheServer, environ: dict[str, str] | None = None, **config: object) -> SharedCache:
    OPENED.append(SharedCache(CacheConfig(server.url, **config), environ or {"NETRC": os.devnull}))  # type: ignore[arg-type]
    return OPENED[-1]


def files(folder: Path) -> dict[str, tuple[bytes, bool]]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for path in found}


def test_a_step_comes_back_as_it_was(server: CacheServer, made: Path, empty: Path) -> None:
    first = opened(server)
    assert not first.retrieve(KEY, NAMES, empty)
    first.keep(KEY, NAMES, made, 12.5)
    assert len(server.of("ac")) == 1 and len(server.of("cas")) == 2, "an empty file needs no contents"
    second = opened(server)
    assert second.retrieve(KEY, NAMES, empty)
    assert files(empty) == files(made)
    assert first.ended() == f"cache {server.url}: 0 of 1 steps found (0.00 MB), 1 stored (0.14 MB)"
    assert second.ended().startswith(f"cache {server.url}: 1 of 1 steps found (0.14 MB, 12.")
    assert not opened(server, salt="another").retrieve(KEY, NAMES, empty)
    assert not second.retrieve("another step", NAMES, empty)


def test_a_connection_is_kept_and_opened_again(server: CacheServer, made: Path, empty: Path) -> None:
    cache = opened(server)
    cache.keep(KEY, NAMES, made, 0)
    (connection,) = cache._store._idle
    assert cache.retrieve(KEY, NAMES, empty) and not cache.retrieve("other", NAMES, empty)
    assert cache._store._idle == [connection]
    connection.sock.shutdown(2)  # as a server does that waited for long
    assert cache.retrieve(KEY, NAMES, empty)


@pytest.mark.parametrize(
    ("kind", "fault", "said"),
    [
        ("cas", "flip", "out/a.o is not taken from it: wrong SHA-256"),
        ("cas", "long", "out/a.o is not taken from it: wrong size, 140004 of 140000 bytes"),
        ("cas", "cut", "its answer is cut off"),
        ("cas", "404", "out/a.o is not taken from it: its contents are gone"),
        ("cas", "drop", "RemoteDisconnected"),
        ("cas", "slow", "no answer in 0.3 s"),
        ("ac", "slow", "no answer in 0.3 s"),
        ("cas", "drip", "no answer in 0.3 s"),
        ("ac", "continue", "no answer in 0.3 s"),
        ("ac", "flip", "out/a.o is not taken from it: "),
        ("ac", "cut", "its answer is cut off"),
        ("ac", "500", "HTTP 500"),
        ("ac", "302", "HTTP 302"),
    ],
)
def test_a_wrong_answer_is_a_miss_with_a_line(
    server: CacheServer, made: Path, empty: Path, capsys: pytest.CaptureFixture[str], kind: str, fault: str, said: str
) -> None:
    opened(server).keep(KEY, NAMES, made, 1)
    if said.startswith("no answer"):  # of few bytes: the time limit grows with them
        for path in server.of("cas"):
            server.kept[path] = server.kept[path][:40]
    server.fault = lambda method, path: fault if f"/{kind}/" in path else ""
    cache = opened(server, timeout=0.3)
    assert not cache.retrieve(KEY, NAMES, empty)
    assert files(empty) == {}, "all files of a step, or none"
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"scons: cache {server.url}: {said}"), line
    assert f"cache {server.url}: 0 of 1 steps found (0.00 MB)" == cache.ended()
    server.fault = lambda method, path: ""
    cache.keep(KEY, NAMES, made, 1)
    assert cache.retrieve(KEY, NAMES, empty), "what was made takes the place of what was wrong"


def test_an_entry_of_another_key_or_with_other_files_is_refused(
    server: CacheServer, made: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = opened(server)
    cache.keep(KEY, NAMES, made, 1)
    (path,) = server.of("ac")
    key = cache._digest(KEY).hash
    good = server.kept[path]
    result = StepResult.read(good, key)
    away = [("../out/a.o", *result.files[0][1:]), *result.files[1:]]
    for bad, said in (
        (result.written("0" * 64), "its checksum is wrong"),
        (StepResult(away).written(key), "it has other files"),
        (StepResult(result.files[1:]).written(key), "it has other files"),
        (good + message((4, 1)), "its checksum is wrong"),
        (b"<html>welcome</html>", ""),
    ):
        server.kept[path] = bad
        assert not cache.retrieve(KEY, NAMES, empty)
        assert f"out/a.o is not taken from it: {said}" in capsys.readouterr().out
    assert files(empty.parent) == {f"made/{name}": one for name, one in files(made).items()}


def test_offline_after_three_failures(
    server: CacheServer, made: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = opened(server)
    server.fault = lambda method, path: "500"
    for number in range(6):
        if cache.reads:
            assert not cache.retrieve(f"step {number}", NAMES, empty)
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("without it") for line in lines] == [False, False, True], lines
    assert len(server.asked) == 3 and not cache.reads and not cache.writes
    cache = opened(server)
    for number in range(6):  # not in a row
        server.fault = lambda method, path, bad=number % 3: "500" if bad else ""
        cache.retrieve(f"step {number}", NAMES, empty)
    assert cache.reads


def test_nobody_there(made: Path, empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as gone:
        pass
    cache = opened(gone)
    assert not cache.retrieve(KEY, NAMES, empty)
    cache.keep(KEY, NAMES, made, 1)
    assert capsys.readouterr().out.count("Connection refused") == 2


@pytest.mark.parametrize("status", ["401", "403"])
def test_refused_credentials_are_tried_once(
    server: CacheServer, empty: Path, capsys: pytest.CaptureFixture[str], status: str
) -> None:
    server.fault = lambda method, path: status
    cache = opened(server, {"NEURALART_CACHE_TOKEN": "very secret"})
    assert not cache.retrieve(KEY, NAMES, empty)
    assert not cache.reads and not cache.writes
    out = capsys.readouterr().out
    assert f"HTTP {status}: without it in the rest of the build (are the credentials right, and 'access'?)" in out
    assert "secret" not in out and server.asked[0][2] == "Bearer very secret"


def test_a_cache_that_takes_nothing_is_read(
    server: CacheServer, made: Path, empty: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = opened(server)
    cache.keep(KEY, NAMES, made, 1)
    server.fault = lambda method, path: "405" if method == "PUT" else ""
    cache.keep("other", NAMES, made, 1)
    assert "HTTP 405: nothing is stored there in the rest of the build" in capsys.readouterr().out
    assert cache.reads and not cache.writes and cache.retrieve(KEY, NAMES, empty)


def test_access() -> None:
    asked = {access: SharedCache(CacheConfig("http://x", access), {"NETRC": os.devnull}) for access in ACCESS}
    assert [(each.reads, each.writes) for each in asked.values()] == [(True, True), (True, False), (False, True)]


ACCESS = ("read-write", "read-only", "write-only")


def test_credentials(server: CacheServer, made: Path, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password of-netrc\n", "utf-8")
    netrc.chmod(0o600)
    of_url = server.url.replace("//", "//you:p%40ss@")
    for environ, said in (
        ({"NETRC": str(netrc)}, "me:of-netrc"),
        ({"NETRC": str(netrc), "NEURALART_CACHE": of_url}, "you:p@ss"),
    ):
        config = cache_config.chosen(CacheConfig(server.url), environ)
        assert config is not None and config.url == server.url and "ss" not in repr(config).replace("access", "")
        cache = SharedCache(config, environ)
        OPENED.append(cache)
        cache.keep(KEY, NAMES, made, 1)
        scheme, _, text = server.asked[-1][2].partition(" ")
        assert scheme == "Basic" and base64.b64decode(text).decode() == said
        assert "ss" not in cache.ended()
    netrc.write_text("machine 127.0.0.1 password s3cret lgoin x\n", "utf-8")
    with pytest.raises(NeuralArtError, match="netrc:1: is no netrc file") as caught:
        opened(server, {"NETRC": str(netrc)})
    assert "s3cret" not in str(caught.value)
    # As a file has it: the line's end is none of the token. What cannot be sent is not quoted by who sends it.
    opened(server, {"NEURALART_CACHE_TOKEN": "s3cret\n"}).keep(KEY, NAMES, made, 1)
    assert server.asked[-1][2] == "Bearer s3cret"
    for token in ("s3cret\nX: y", "s3cr€t", "s3cret\x00"):
        with pytest.raises(NeuralArtError, match=r"^NEURALART_CACHE_TOKEN: is no token") as caught:
            opened(server, {"NEURALART_CACHE_TOKEN": token})
        assert "s3cr" not in str(caught.value)


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate, and is not installed")
def test_tls(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made_up, key = certificate(tmp_path)
    with serving((made_up, key)) as server:
        opened(server).keep(KEY, NAMES, made, 1)
        assert "its certificate" in (out := capsys.readouterr().out) or "self-signed certificate" in out, out
        assert server.kept == {}
        monkeypatch.setenv("SSL_CERT_FILE", made_up)
        assert ssl.get_default_verify_paths().cafile == made_up
        opened(server).keep(KEY, NAMES, made, 1)
        assert len(server.kept) == 3


def test_several_threads(server: CacheServer, made: Path, tmp_path: Path) -> None:
    cache = opened(server)
    cache.keep(KEY, NAMES, made, 1)
    folders = [tmp_path / str(number) for number in range(8)]
    for folder in folders:
        (folder / "out").mkdir(parents=True)
    threads = [threading.Thread(target=cache.retrieve, args=(KEY, NAMES, folder)) for folder in folders]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(files(folder) == files(made) for folder in folders)
    assert cache.ended().startswith(f"cache {server.url}: 8 of 8 steps found (1.12 MB")


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed")
def test_nginx(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "fetched"
    (folder / "out").mkdir(parents=True)
    with nginx(tmp_path / "nginx") as url:
        cache = SharedCache(CacheConfig(url), {"NETRC": os.devnull})
        OPENED.append(cache)
        assert not cache.retrieve(KEY, NAMES, folder)
        cache.keep(KEY, NAMES, made, 1)
        kept = [path for path in (tmp_path / "nginx" / "root" / "cache" / "cas").iterdir() if path.stat().st_size > 2]
        assert cache.retrieve(KEY, NAMES, folder) and files(folder) == files(made)
        kept[0].write_bytes(kept[0].read_bytes()[:-1])
        assert not cache.retrieve(KEY, NAMES, folder)
        assert "wrong size, 139999 of 140000 bytes" in capsys.readouterr().out
        cache.keep(KEY, NAMES, made, 1)
        assert cache.retrieve(KEY, NAMES, folder)


# ---- messages


def test_entries_are_messages_of_the_api() -> None:
    """As the protobuf package reads them."""
    descriptor = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    file = descriptor.FileDescriptorProto(name="api.proto", package="api", syntax="proto3")
    number, text, inner = (getattr(descriptor.FieldDescriptorProto, f"TYPE_{t}") for t in ("INT64", "BYTES", "MESSAGE"))
    layout = {
        "Digest": [("hash", 1, text, ""), ("size_bytes", 2, number, "")],
        "OutputFile": [("path", 1, text, ""), ("digest", 2, inner, "Digest"), ("is_executable", 4, number, "")],
        "Timestamp": [("seconds", 1, number, ""), ("nanos", 2, number, "")],
        "Metadata": [("start", 7, inner, "Timestamp"), ("completed", 8, inner, "Timestamp")],
        "ActionResult": [
            *(("output_files", 2, inner, "OutputFile"), ("exit_code", 4, number, "")),
            *(("stdout_raw", 5, text, ""), ("execution_metadata", 9, inner, "Metadata")),
        ],
    }
    for name, members in layout.items():
        made = file.message_type.add(name=name)
        for member, at, kind, of in members:
            label = 3 if member == "output_files" else 1
            made.field.add(name=member, number=at, type=kind, label=label, type_name=f".api.{of}" if of else None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    result_class = message_factory.GetMessageClass(pool.FindMessageTypeByName("api.ActionResult"))
    result = StepResult([("a.o", Digest("0" * 64, 1 << 40), False), ("b", Digest("f" * 64, 0), True)], 61_001)
    data = result.written("key")
    read = result_class.FromString(data)
    assert [(f.path, f.digest.hash, f.digest.size_bytes, f.is_executable) for f in read.output_files] == [
        (path.encode(), digest.hash.encode(), digest.size, runs) for path, digest, runs in result.files
    ]
    assert (read.execution_metadata.completed.seconds, read.execution_metadata.completed.nanos) == (61, 1_000_000)
    # A server may write it anew, and add to it.
    assert StepResult.read(read.SerializeToString(deterministic=True) + message((15, "more")), "key") == result


@given(st.binary(max_size=60), st.integers(0, 300), st.integers(0, 255))
def test_damaged_entries(junk: bytes, at: int, byte: int) -> None:
    result = StepResult([("a.o", Digest("0" * 64, 7), False)], 5)
    data = result.written("key")
    edited = data[:at] + bytes([byte]) + data[at + 1 :]
    for bad in (junk, edited, data[:at]):
        with contextlib.suppress(*messages.DAMAGED):
            assert StepResult.read(bad, "key") == result


@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.integers(1, (1 << 64) - 1) | st.binary(min_size=1))))
def test_messages_come_back(fields: list[tuple[int, int | bytes]]) -> None:
    found = parse(message(*fields))
    assert found == {number: [value for other, value in fields if other == number] for number, _ in fields}


# ---- what variants.yaml and the process say


def config_of(text: str) -> CacheConfig:
    return cache_config.read(yaml_values.parse(text.encode(), "variants.yaml"))


def test_a_url_or_a_table() -> None:
    assert config_of("http://cache.lan:9090/") == CacheConfig("http://cache.lan:9090")
    text = "{url: 'https://cache.lan/main', access: read-only, timeout: 2.5, salt: bookworm}"
    assert config_of(text) == CacheConfig("https://cache.lan/main", "read-only", 2.5, "bookworm")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cache.lan:9090", "is no URL of a cache"),
        ("ftp://cache.lan", "is no URL of a cache"),
        ("http://", "is no URL of a cache"),
        ("http://cache.lan:70000", "is no URL of a cache"),
        ("'http://cache.lan/x y'", "is no URL of a cache"),
        ("'http://[::1'", "is no URL of a cache"),
        ("http://cache.lan/?x=1", "is no URL of a cache"),
        ("http://me:s3cret@cache.lan", "holds a name or a password"),
        ("{url: 'http://me:s3cret@cache.lan'}", "url: holds a name or a password"),
        ("{access: read-only}", "names no url"),
        ("{url: http://x, access: all}", "access: 'all' is not allowed"),
        ("{url: http://x, timeout: 0}", "timeout: 0 is out of range, allowed: 0.1 to 3600"),
        ("{url: http://x, password: s3cret}", "unknown key 'password'"),
        ("[http://x]", "text"),
    ],
)
def test_refused(text: str, said: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        config_of(text)
    assert said in str(caught.value) and str(caught.value).startswith("variants.yaml:1")
    assert "s3cret" not in str(caught.value)


def test_the_variable_comes_first() -> None:
    said = CacheConfig("http://a", "read-only", 3.0, "salt")
    assert cache_config.chosen(said, {}) is said and cache_config.chosen(None, {}) is None
    assert cache_config.chosen(said, {"NEURALART_CACHE": "off"}) is None
    found = cache_config.chosen(said, {"NEURALART_CACHE": "https://b"})
    assert found == CacheConfig("https://b", "read-write", 3.0, "salt"), "who names it may write"
    with pytest.raises(NeuralArtError, match=r"^NEURALART_CACHE is no URL of a cache") as caught:
        cache_config.chosen(None, {"NEURALART_CACHE": "http://me:s3cret@:80"})
    assert "s3cret" not in str(caught.value)
