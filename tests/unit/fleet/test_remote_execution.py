"""A farm that is wrong, slow, empty or gone: the step is done here, and one line says so."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from neuralart.errors import NeuralArtError
from neuralart.text import yaml_values
from neuralart_fleet import config as config
from neuralart_fleet.config import FarmConfig
from neuralart_fleet.remote.messages import Digest

grpc = pytest.importorskip("grpc")
pytest.importorskip("zstandard")

from neuralart_fleet.remote.client import Farm, FarmStep  # noqa: E402 - it needs grpc
from support.servers import reapi_server  # noqa: E402
from support.servers.cache_server import certificate  # noqa: E402
from support.servers.reapi_server import Done, Task  # noqa: E402

PROPERTIES = (("stedgeai", "4.0.1"), ("OSFamily", "linux"))
OUTPUTS = {"out/net.c": b"int net;\n", "out/large.raw": bytes(range(250)) * 1000, "out/empty": b""}


def good(task: Task) -> Done:
    return Done(0, {name: OUTPUTS[name] for name in task.outputs if name in OUTPUTS}, b"done\n", b"a warning\n")


@pytest.fixture
def server() -> Iterator[reapi_server.ReapiServer]:
    with reapi_server.serving() as running:
        running.work = good
        yield running


@pytest.fixture
def step(tmp_path: Path) -> FarmStep:
    files = {"model.tflite": b"model" * 30_000, "pools/a/x.mpool": b"{}", "pools/b.mpool": b"", "a-b/z": b"z"}
    paths = {name: tmp_path / "in" / name for name in files}
    for name, data in files.items():
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_bytes(data)
    inputs = {name: (path, Digest.of_file(path)) for name, path in paths.items()}
    return FarmStep(["python3", "-c", "", "a b"], {"PATH": "/bin", "A": ""}, inputs, list(OUTPUTS), ["out/log.txt"])


OPENED: list[Farm] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().ended()


def opened(server: reapi_server.ReapiServer, kind: type[Farm] = Farm, token: str = "", **more: float) -> Farm:
    said = FarmConfig(f"grpc://127.0.0.1:{server.port}/main", timeout=5, properties=PROPERTIES, **more)  # type: ignore[arg-type]
    environ = {"NETRC": os.devnull, **({"NEURALART_EXECUTE_TOKEN": token} if token else {})}
    OPENED.append(kind(said, environ))
    return OPENED[-1]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_step_is_done_there(server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path) -> None:
    farm, top = opened(server, token="t0ken"), tmp_path / "top"
    top.mkdir()
    assert farm.run(step, top) == (0, "done\n", "a warning\n")
    assert files(top) == OUTPUTS
    (task,) = server.tasks
    assert (task.words, task.environment) == (step.words, step.environment) and task.properties == dict(PROPERTIES)
    assert task.files == {name: path.read_bytes() for name, (path, _) in step.files.items()}
    assert task.outputs == sorted([*OUTPUTS, "out/log.txt"])
    assert farm.run(step._replace(anew=True), top) == (0, "done\n", "a warning\n")
    assert [each.anew for each in server.tasks] == [False, True], "a run is a run"
    assert farm.ended().endswith(f"/main: 2 of 2 steps done there (0.15 MB sent, {2 * 0.250009:.2f} MB came)")
    assert {metadata["authorization"] for _, metadata in server.asked} == {"Bearer t0ken"}
    writes = [name for name, _ in server.asked].count("Write")
    assert writes == 1, "what is large and new; the rest goes together"


def test_contents_are_compressed(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inputs, results and what a worker says, as of a cache."""
    server.packs = server.takes = b"\1"
    server.work = lambda task: replace(good(task), err=b"a warning\n" * 1000)
    farm, top = opened(server), tmp_path / "top"
    top.mkdir()
    assert farm.run(step, top) == (0, "done\n", "a warning\n" * 1000) and files(top) == OUTPUTS
    assert server.tasks[0].files == {name: path.read_bytes() for name, (path, _) in step.files.items()}
    assert len(server.names) == 3 and all("compressed-blobs/zstd/" in name for name in server.names)
    server.packed = lambda data: reapi_server.frames(data)[:-1]
    assert farm.run(step, top) is None
    assert "wrong size" in capsys.readouterr().out
    assert farm.ended().endswith(" (0.15 MB sent, 0.25 MB came); over the wire 0.00 MB sent, 0.00 MB came")


ASKS = """import os, sys
from pathlib import Path
from neuralart_fleet.config import CacheConfig, FarmConfig
from neuralart_fleet.remote.client import Farm, FarmStep, SharedCache
for port in sys.argv[1:]:
    farm = Farm(FarmConfig(f"grpcs://127.0.0.1:{port}/main", timeout=5), {"NETRC": os.devnull})
    print(farm.run(FarmStep(["true"], {"PATH": "/bin"}, {}, ["out/net.c", "out/large.raw"]), Path(port)))
    print(farm.ended())
    cache = SharedCache(CacheConfig(f"grpcs://127.0.0.1:{port}/main", timeout=5), {"NETRC": os.devnull})
    if cache.keep("a step", ["out/net.c"], Path(sys.argv[1]), 1) or cache.retrieve("a step", ["out/net.c"], Path(port)):
        print(cache.ended())"""


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate, and is not installed")
def test_tls(tmp_path: Path) -> None:
    """In a process of its own: gRPC reads the certificates that it trusts, and how much it says, once."""
    with contextlib.ExitStack() as stack:
        pairs = [certificate(tmp_path, name) for name in ("trusted", "other")]
        servers = [stack.enter_context(reapi_server.serving(pair)) for pair in pairs]
        for server in servers:
            server.work, server.packs, server.takes = good, b"\1", b"\1"
        ports = [str(server.port) for server in servers]
        more = {"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH": pairs[0][0], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        words = [sys.executable, "-c", ASKS, *ports]
        done = subprocess.run(words, cwd=tmp_path, env=os.environ | more, capture_output=True, text=True, check=True)
    first, said, cached, line, second, none, *_ = done.stdout.splitlines()
    assert ": 1 of 1 steps found (0.00 MB" in cached and len(servers[0].entries) == 1
    assert (first, second, done.stderr) == (r"(0, 'done\n', 'a warning\n')", "None", "")
    assert files(tmp_path / ports[0]) == {name: OUTPUTS[name] for name in ("out/net.c", "out/large.raw")}
    assert said.startswith(f"farm grpcs://127.0.0.1:{ports[0]}/main: 1 of 1 steps done there (") and "wire" in said
    assert line.startswith(f"scons: farm grpcs://127.0.0.1:{ports[1]}/main: UNAVAILABLE: ")
    assert "CERTIFICATE_VERIFY_FAILED" in line
    assert line.endswith(": out/large.raw is done here") and ": 0 of 1 steps" in none and not servers[1].asked


def test_a_step_that_fails_is_that_steps_failure(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.work = lambda task: Done(1, {"out/log.txt": b"why\n", "out/net.c": b"half"}, b"", b"neuralart: no\n")
    farm = opened(server)
    assert farm.run(step, tmp_path / "top") == (1, "", "neuralart: no\n")
    assert files(tmp_path / "top") == {"out/log.txt": b"why\n"}, "half a result is none"
    assert capsys.readouterr().out == "" and ": 1 of 1 steps done there (" in farm.ended()


@pytest.mark.parametrize(
    ("lost", "done", "said"),
    [
        ("UNAVAILABLE", None, "UNAVAILABLE: as the test wants it: out/empty is done here"),
        ("cut", None, "its answer is cut off: out/empty is done here"),
        ("queue", None, "no worker has begun: out/empty is done here"),
        ("held", None, "it takes too long: out/empty is done here"),
        ("RESOURCE_EXHAUSTED", None, "RESOURCE_EXHAUSTED"),
        ("", Done(137, {}, b"", b"sh: killed\n"), "its worker ended with 137: sh: killed: out/empty is done here"),
        ("", Done(127, {}, b"", b"python3: not found\n"), "its worker ended with 127: python3: not found"),
        ("", Done(1, {}, b"", b"Trace\nModuleNotFoundError: No module named 'yaml'\n"), "No module named 'yaml'"),
        ("", Done(0, {"out/net.c": b"x"}), "it has not made out/empty: out/empty is done here"),
    ],
)
def test_a_failure_of_the_farm(
    server: reapi_server.ReapiServer,
    step: FarmStep,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    lost: str,
    done: Done | None,
    said: str,
) -> None:
    server.lost = lambda method: lost
    if done is not None:
        server.work = lambda task: done
    farm = opened(server, queue=0.3, longest=0.6)
    assert farm.run(step, tmp_path / "top") is None
    assert files(tmp_path / "top") == {}
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"scons: farm grpc://127.0.0.1:{server.port}/main: ") and said in line
    assert farm.ended().endswith(": 0 of 1 steps done there (0.00 MB sent, 0.00 MB came)")
    assert bool(server.canceled) == (lost in ("queue", "held", "cut", "UNAVAILABLE", "RESOURCE_EXHAUSTED"))


def test_a_stream_that_breaks_off_is_taken_up_again(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As when a worker is killed and another one takes its step."""
    for broken in ("cut", "UNAVAILABLE"):
        server.lost = lambda method, broken=broken: broken if method == "Execute" else ""
        assert opened(server).run(step, tmp_path / broken) is not None
        assert files(tmp_path / broken) == OUTPUTS
    assert [name for name, _ in server.asked].count("WaitExecution") == 2
    assert len(server.tasks) == 2 and capsys.readouterr().out == ""


def test_damaged_results(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damages: list[tuple[str, Callable[[bytes], bytes | None]]] = [
        ("wrong SHA-256", lambda data: data[::-1]),
        ("wrong size", lambda data: data[:-1]),
        ("wrong size", lambda data: data + b"x"),
        ("its contents are gone", lambda data: None),
    ]
    for said, damage in damages:
        server.after = lambda name, damage=damage: damage(OUTPUTS[name]) if OUTPUTS[name] else b""
        assert opened(server).run(step, tmp_path / "top") is None
        assert said in capsys.readouterr().out and files(tmp_path / "top") == {}


def test_offline_after_three_failures(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.lost = lambda method: "UNAVAILABLE"
    farm = opened(server)
    for _ in range(5):
        assert farm.run(step, tmp_path) is None
    lines = capsys.readouterr().out.splitlines()
    assert [line.endswith("is done here") for line in lines] == [True, True, False]
    assert lines[2].endswith("as the test wants it: the rest of the build does without it")
    assert [name for name, _ in server.asked].count("Execute") == 3
    assert ": 0 of 5 steps done there" in farm.ended()


def test_a_cache_is_no_farm_and_nobody_is_there(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.work = None
    assert opened(server).run(step, tmp_path) is None
    assert "UNIMPLEMENTED: out/empty is done here" in capsys.readouterr().out
    server.fault = lambda method: "PERMISSION_DENIED" if method == "FindMissingBlobs" else ""
    assert opened(server).run(step, tmp_path) is None
    assert "PERMISSION_DENIED: without it in the rest of the build" in capsys.readouterr().out
    server.fault = lambda method: ""
    server.port = 1
    assert opened(server, token="s3cret").run(step, tmp_path) is None
    out = capsys.readouterr().out
    assert "UNAVAILABLE" in out and out.count("\n") == 1 and "s3cret" not in out


def test_who_ends_the_build_ends_the_step(
    server: reapi_server.ReapiServer, step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.lost, pressed = lambda method: "held", threading.Event()
    threading.Timer(0.2, pressed.set).start()

    class Ended(Farm):
        def interrupted(self) -> bool:
            return pressed.is_set()

    assert opened(server, Ended).run(step, tmp_path / "top") == (130, "", "")
    assert len(server.canceled) == 1 and capsys.readouterr().out == "" and files(tmp_path / "top") == {}


# ---- BuildGrid


@contextlib.contextmanager
def worker(url: str, *more: str) -> Iterator[subprocess.Popen[bytes]]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = [sys.executable, "-m", "support.servers.reapi_worker", url, *more]
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"there\n"
            yield process
        finally:
            process.kill()


@pytest.mark.skipif(
    not shutil.which("bgd") or not os.environ.get("NEURALART_BUILDGRID"),
    reason="bgd of BuildGrid is not installed, or NEURALART_BUILDGRID names no empty database (postgresql+psycopg2://)",
)
def test_buildgrid(step: FarmStep, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A worker is killed in the middle: another one does the step; and where there is none, the step is done here."""
    copied = ["/bin/sh", "-c", "cp model.tflite out/net.c; cp pools/a/x.mpool out/large.raw; echo said; echo so >&2"]
    mine = step._replace(words=copied, outputs=["out/net.c", "out/large.raw"], more=["out/log.txt"])
    with reapi_server.buildgrid(tmp_path / "buildgrid", os.environ["NEURALART_BUILDGRID"]) as url:
        farm = Farm(FarmConfig(url, queue=60), {"NETRC": os.devnull})
        found: list[object] = []
        with worker(url, "hold") as first:
            waiting = threading.Thread(target=lambda: found.append(farm.run(mine, tmp_path / "top")))
            waiting.start()
            assert first.stdout is not None and first.stdout.readline() == b"begun\n"
        with worker(url):
            waiting.join(60)
        assert found == [(0, "said\n", "so\n")]
        assert files(tmp_path / "top") == {
            "out/net.c": mine.files["model.tflite"][0].read_bytes(),
            "out/large.raw": b"{}",
        }
        alone = Farm(FarmConfig(url, queue=2), {"NETRC": os.devnull})
        assert alone.run(mine._replace(anew=True), tmp_path / "top") is None
        assert "no worker has begun: out/large.raw is done here" in capsys.readouterr().out
        assert ": 1 of 1 steps done there" in farm.ended() and ": 0 of 1" in alone.ended()


# ---- what variants.yaml and the process say


def said(text: str) -> FarmConfig:
    return config.read_farm(yaml_values.parse(text.encode(), "variants.yaml"))


def test_a_url_or_a_table() -> None:
    assert said("grpc://farm.lan:8980/main") == FarmConfig("grpc://farm.lan:8980/main")
    text = "{url: 'grpcs://farm.lan', properties: {stedgeai: 4.0.1, a: b}, environment: {PATH: /opt/bin}, steps: [run],"
    found = said(f"{text} queue: 5, longest: 100, timeout: 3}}")
    assert found == FarmConfig(
        "grpcs://farm.lan",
        timeout=3.0,
        properties=(("a", "b"), ("stedgeai", "4.0.1")),
        environment=(("PATH", "/opt/bin"),),
        steps=("run",),
        queue=5.0,
        longest=100.0,
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "http://farm.lan",
            "is no URL of a farm (such as grpc://farm.lan:9090; it begins with one of grpc://, grpcs://)",
        ),
        ("grpc://me:s3cret@farm.lan", "NEURALART_EXECUTE_TOKEN, or NEURALART_EXECUTE with the whole URL"),
        ("{properties: {a: b}}", "names no url"),
        ("{url: grpc://x, properties: [a]}", "properties"),
        ("{url: grpc://x, properties: {a: [b]}}", "properties.a"),
        ("{url: grpc://x, steps: [compile]}", "'compile' is not allowed"),
        ("{url: grpc://x, steps: [run, run]}", "'run' is named twice"),
        ("{url: grpc://x, queue: 0}", "queue: 0 is out of range"),
        ("{url: grpc://x, access: read-only}", "unknown key 'access'"),
    ],
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(NeuralArtError) as caught:
        said(text)
    assert message in str(caught.value) and str(caught.value).startswith("variants.yaml:1")
    assert "s3cret" not in str(caught.value)


def test_the_variable_comes_first() -> None:
    mine = FarmConfig("grpc://a", steps=("run",))
    assert config.chosen(mine, {}, FarmConfig) is mine and config.chosen(None, {}, FarmConfig) is None
    assert config.chosen(mine, {"NEURALART_EXECUTE": "off"}, FarmConfig) is None
    found = config.chosen(mine, {"NEURALART_EXECUTE": "grpcs://me:p@b"}, FarmConfig)
    assert found == FarmConfig("grpcs://b", steps=("run",), user="me", password="p") and "p@" not in repr(found)
    assert config.chosen(None, {"NEURALART_EXECUTE": "grpc://b"}, FarmConfig) == FarmConfig("grpc://b")
    with pytest.raises(NeuralArtError, match=r"^NEURALART_EXECUTE is no URL of a farm") as caught:
        config.chosen(None, {"NEURALART_EXECUTE": "http://me:s3cret@x"}, FarmConfig)
    assert "s3cret" not in str(caught.value)
