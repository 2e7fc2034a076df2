"""``--shard``, ``--junit`` and ``neuralart watch`` on real builds."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from xml.etree import ElementTree

import pytest

from neuralart import cli
from support.projects.sconsproject import Project

pytestmark = [pytest.mark.arm, pytest.mark.long]
DEFAULT = ["digits-n6", "digits-an547", "digits-n6-rel", "mobilenet-n6-rel", "digits-n6-rel-ext"]
OUTPUTS = "models/digits/vectors/outputs.bin"


def _shard(project: Project, text: str, *words: str) -> list[str]:
    out = project.run(f"--shard={text}", *words).out
    built = re.findall(r"^scons: `(.*)' is up to date\.$", out, re.M)
    assert out.splitlines()[0] == f"scons: shard {text}: {' '.join(built) or 'nothing to build'}"
    return built


def test_shards_of_a_command_line(built: Project) -> None:
    parts = [_shard(built, f"{number}/2") for number in (1, 2)]
    assert sorted(name for part in parts for name in part) == sorted(DEFAULT)
    assert {len(part) for part in parts} == {2, 3}
    # Who is expensive is alone.
    built.path("variants.costs.json").write_text('{"digits-n6-rel": 10, "digits-n6": 3, "digits-an547": 4}', "utf-8")
    words = ["digits-n6", "digits-an547", "digits-n6-rel"]
    assert [_shard(built, f"{number}/2", *words) for number in (1, 2)] == [["digits-n6-rel"], words[:2]]
    assert _shard(built, "4/4", *words) == []
    for words, said in (
        (["--shard=3/2"], "--shard: '3/2' is no shard"),
        (["--shard=1/2", "build"], "--shard: 'build' is no target of one variant"),
    ):
        failed = built.run(*words, code=2)
        assert said in failed.err and not failed.commands


def _cases(project: Project, name: str = "report.xml") -> dict[tuple[str, str], str]:
    """What is said of each case: nothing if it is good."""
    top = ElementTree.fromstring(project.path(name).read_bytes())
    assert top.get("tests") == str(len(top.findall(".//testcase")))
    found = {}
    for case in top.iter("testcase"):
        wrong = [each.get("message", "") for each in case if each.tag in ("failure", "skipped")]
        found[case.get("classname", ""), case.get("name", "")] = " ".join(wrong)
    return found


def test_reports(built: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("unicorn", reason="Unicorn is not installed")
    built.run("--junit=report.xml", "run-digits-n6", "digits-n6", "digits-an547")
    assert _cases(built) == {
        ("run digits-n6 on stm32n6570-dk", "digits"): "",
        **{("scons", name): "" for name in ("digits-n6", "digits-an547")},
    }
    assert not list(built.path("build").glob(".junit*"))

    # An output that differs; a limit that is not kept; what comes after it.
    data = bytearray(built.path(OUTPUTS).read_bytes())
    data[7] ^= 1
    built.path(OUTPUTS).write_bytes(data)
    built.run("-k", "--junit=report.xml", "run-digits-n6", "digits-n6", code=2)
    cases = _cases(built)
    assert "index 7: expected" in cases["run digits-n6 on stm32n6570-dk", "run"] and cases["scons", "digits-n6"] == ""
    vectors = "    vectors: models/digits/vectors\n"
    built.edit("variants.yaml", vectors, f"{vectors}    budgets: {{max_weights: 16}}\n")
    built.run("--junit=report.xml", "-j1", "digits-n6", "digits-an547", code=2)
    cases = _cases(built)
    assert re.match("build/.*: max_weights: bytes of constants of network digits: ", cases["scons", "digits-n6"])
    assert cases["scons", "digits-an547"].startswith("not made, because of build/")
    # What it says is of this call, even where SCons does not come to build.
    built.edit("variants.yaml", "schema: 1", "schema: 1\nwrong: 1")
    built.run("--junit", "report.xml", "digits-n6", code=2)
    assert _cases(built) == {("scons", "digits-n6"): "SCons ended before it came to this"}

    monkeypatch.chdir(built.root)
    built.edit("variants.yaml", "\nwrong: 1", "")
    built.edit("variants.yaml", f"{vectors}    budgets: {{max_weights: 16}}\n", vectors)
    assert cli.main(["validate", "digits-n6", "--random", "1", "--junit", "validate.xml"]) == 0
    assert _cases(built, "validate.xml") == {("validate digits-n6 --on virtual", "digits"): ""}


# ---- watch


class Watcher:
    """``neuralart watch`` in a tree, and what it says."""

    def __init__(self, project: Project, *words: str) -> None:
        env = {**os.environ, "PYTHONPATH": str(project.path("site_scons")), "PYTHONDONTWRITEBYTECODE": "1"}
        env["PYTHONUNBUFFERED"] = "1"
        self.env = env
        command = [sys.executable, "-m", "neuralart", "watch", *words]
        said = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        # What starts tests in the background may have it ignored, which processes inherit.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            self.process = subprocess.Popen(command, cwd=project.root, env=env, start_new_session=True, **said)
        finally:
            signal.signal(signal.SIGINT, before)
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)

    def until(self, wanted: str, seconds: float = 60) -> str:
        """All that is said until a line begins so."""
        text, end = "", time.monotonic() + seconds
        while not text.rpartition("\n")[0].rpartition("\n")[2].startswith(wanted):
            try:
                text += self._lines.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line {wanted!r}:\n{text}") from None
        return text

    def silent(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._lines.empty()

    def end(self) -> int:
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(30)
        self._reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


@pytest.fixture
def watch() -> Iterator[Callable[..., Watcher]]:
    if importlib.util.find_spec("watchfiles") is None or "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("watchfiles is not installed, or this system copies no processes")
    pytest.importorskip("unicorn", reason="Unicorn is not installed")
    made: list[Watcher] = []

    def start(project: Project, *words: str) -> Watcher:
        made.append(Watcher(project, *words))
        return made[-1]

    yield start
    for each in made:
        if each.process.poll() is None:
            each.end()


def test_watch_builds_and_runs_what_changed(built: Project, watch: Callable[..., Watcher]) -> None:
    watcher = watch(built, "digits-n6", "--run")
    said = watcher.until("watch: ")
    assert "bit-exact" in said and said.splitlines()[-1].startswith("watch: good after "), said
    model, outputs = built.path("models/digits/digits.tflite"), built.path(OUTPUTS)
    before, wrong = outputs.read_bytes(), bytearray(outputs.read_bytes())
    wrong[7] ^= 1
    # As editors do it: another file takes the name.
    built.path("models/digits/vectors/.new").write_bytes(wrong)
    built.path("models/digits/vectors/.new").rename(outputs)
    said = watcher.until("watch: failed")
    assert "index 7: expected" in said, said
    outputs.write_bytes(before)
    said = watcher.until("watch: good")
    assert f"watch: {OUTPUTS} changed\n" in said and "bit-exact" in said, said
    # The model: a byte behind its end changes nothing but the file.
    model.write_bytes(model.read_bytes() + b"\0")
    said = watcher.until("watch: good")
    assert "NETWORK" in said and "bit-exact" in said and "digits.tflite changed" in said.splitlines()[0], said
    # What does not concern the variant, and what the build itself writes.
    built.path("models/digits/.digits.swp").write_text("x", "utf-8")
    assert watcher.silent(1.0)
    # The stamps are those of any build: from here on SCons has nothing to do.
    assert built.run("digits-n6").out == "scons: `digits-n6' is up to date.\n"
    assert watcher.end() == 130
    assert not built.path("build/.scons.owner").exists()


def test_watch_goes_on_after_a_mistake_in_the_project_file(built: Project, watch: Callable[..., Watcher]) -> None:
    built.edit("variants.yaml", "schema: 1", "schema: 7")
    watcher = watch(built, "digits-n6")
    assert "schema" in watcher.until("watch: failed (2)")
    built.edit("variants.yaml", "schema: 7", "schema: 1")
    said = watcher.until("watch: good")
    assert said.splitlines()[0] == "watch: variants.yaml changed" and "is up to date" in said
    assert watcher.end() == 130


def test_watch_survives_a_folder_that_goes_and_comes_back(built: Project, watch: Callable[..., Watcher]) -> None:
    """Within the project and beside it, as on a drive that is taken off; also while the watch begins."""
    beside = built.root.parent / "models of others"
    built.path("models/digits").rename(beside)
    built.path("models/digits").symlink_to(beside)
    built.edit("variants.yaml", "schema: 1", "schema: 7")
    watcher = watch(built, "digits-n6")
    watcher.until("watch: failed (2)")
    built.edit("variants.yaml", "schema: 7", "schema: 1")
    watcher.until("watch: good")
    model = (beside / "digits.tflite").read_bytes()
    for path in (beside, built.path("firmware")):
        away = path.with_name("away")
        path.rename(away)
        watcher.until("watch: failed")
        away.rename(path)
        watcher.until("watch: good")
    assert watcher.silent(0.5)
    (beside / "digits.tflite").write_bytes(model + b"\0")
    assert "digits.tflite changed" in watcher.until("watch: good")
    assert watcher.end() == 130
