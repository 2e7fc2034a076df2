"""What a watcher answers to ``./sconsw`` from memory: what the stamps say, and nothing that it cannot know."""

from __future__ import annotations

import json
import os
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from neuralart import intact

pytest.importorskip("SCons")
watchfiles = pytest.importorskip("watchfiles", reason="watchfiles is not installed")
from neuralart.scons import answers  # noqa: E402

pytestmark = pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="only Linux tells of all changes")
SUMS = {"HOME": 1}


class Tree:
    """A project in the folder of the test: what counts for two variants, and a watcher."""

    def __init__(self) -> None:
        for name in ("src/deep/a.c", "elsewhere/b.c", "build/one.o", "build/two.o"):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_text(name, "utf-8")
        Path("src/link.c").symlink_to("../elsewhere/b.c")
        self.stamp()
        self.here = answers.Answers("build")
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        assert self._ready.wait(10)

    def stamp(self) -> None:
        """Write stamps of how everything is now."""
        of = {
            "one": ["src/deep/a.c", "src/link.c", "build/one.o", "later/on/c.c"],
            "two": ["src/link.c", "build/two.o"],
        }
        files = sorted({name for names in of.values() for name in names})
        rows: dict[str, Any] = {
            name: {"world": 0, "at": 0, "files": [files.index(each) for each in names], "folders": [0]}
            for name, names in of.items()
        }
        world = {"words": [], "environ": SUMS, "files": [], "folders": []}
        data = {"format": intact.FORMAT, "build": "build", "default": ["one"], "worlds": [world], "variants": rows}
        data["files"] = [[name, *intact.state(name)] for name in files]
        data["folders"] = [["src", intact.folder_time("src"), intact.names_in("src")]]
        new = Path("build/.stamps.new")
        new.write_text(json.dumps(data), "utf-8")
        new.rename(Path("build", intact.NAME))

    def _watch(self) -> None:
        while not self._stop.is_set():
            folders = answers.folders_of(intact.load(f"build/{intact.NAME}") or {"files": (), "folders": ()})
            places = sorted(path for path in {*folders, str(self.here.folder)} if os.access(path, os.R_OK))
            more = {"recursive": False, "step": 20, "rust_timeout": 50, "yield_on_timeout": True}
            turns = watchfiles.watch(*places, watch_filter=None, stop_event=self._stop, **more)
            self.here.begin(folders)
            for changes in turns:
                self._ready.set()
                if self.here.see(path for _, path in changes):
                    break

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self.here.end()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    monkeypatch.chdir(tmp_path)
    # Questions of tests wait: the machine may have much to do.
    monkeypatch.setattr(intact, "_SOON", 20.0)
    made = Tree()
    if not answers.seen([str(tmp_path)]):
        made.end()
        pytest.skip("this system does not tell of all changes here")
    yield made
    made.end()


def test_nothing_is_looked_at_twice(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    plain = intact.state

    def state(path: str) -> list[int | None]:
        looked.append(path)
        return plain(path)

    monkeypatch.setattr(intact, "state", state)
    assert intact.watched("build", [], SUMS) == ["one"]
    assert sorted(looked) == ["build/one.o", "later/on/c.c", "src", "src/deep/a.c", "src/link.c"]
    assert intact.watched("build", ["two"], SUMS) == ["two"]
    looked.clear()
    assert intact.watched("build", [], SUMS) == ["one"]
    assert intact.watched("build", ["two"], SUMS) == ["two"]
    assert not looked
    # Others are asked SCons: another command line, another environment.
    assert intact.watched("build", ["NEURALART_VERBOSE=1"], SUMS) is None
    assert intact.watched("build", [], {**SUMS, "CC": 1}) is None
    Path("src/deep/a.c").write_text("changed", "utf-8")
    assert intact.watched("build", [], SUMS) is None
    assert intact.watched("build", ["two"], SUMS) == ["two"]
    assert oct(tree.here.folder.stat().st_mode & 0o777) == "0o700"
    assert [path.name for path in tree.here.folder.iterdir()] == ["socket"]


def _edit(rng: random.Random) -> str:
    """Something that people and builds do."""
    files = ["src/deep/a.c", "elsewhere/b.c", "build/one.o", "build/two.o", "src/link.c"]
    name = Path(rng.choice(files))
    kind = rng.choice(["write", "same", "remove", "time", "mode", "folder", "later", "link", "beside", "replace"])
    if kind == "write" and (name.is_file() or not name.is_symlink()):
        name.parent.mkdir(parents=True, exist_ok=True)
        name.write_text(str(rng.random()), "utf-8")
    elif kind == "same" and name.is_file():
        with name.open("r+b") as file:
            file.write(b"x")
    elif kind == "remove":
        name.unlink(missing_ok=True)
    elif kind == "time" and name.exists():
        os.utime(name, ns=(rng.randrange(10**18), rng.randrange(10**18)))
    elif kind == "mode" and name.exists():
        name.chmod(rng.choice([0o600, 0o644]))
    elif kind == "folder":
        one, other = rng.sample(["src/deep", "src/other", "elsewhere", "far"], 2)
        if Path(one).is_dir() and not Path(other).exists():
            Path(one).rename(other)
    elif kind == "later":
        Path("later/on").mkdir(parents=True, exist_ok=True)
        Path("later/on/c.c").write_text("c", "utf-8")
    elif kind == "link":
        Path("src/link.c").unlink(missing_ok=True)
        Path("src/link.c").symlink_to(rng.choice(["../elsewhere/b.c", "deep/a.c"]))
    elif kind == "beside":
        Path("src", rng.choice("abc")).write_text("", "utf-8")
    elif kind == "replace" and name.parent.is_dir():
        new = name.with_name(".new")
        new.write_text(str(rng.random()), "utf-8")
        new.rename(name)
    return f"{kind} {name}"


@pytest.mark.parametrize("seed", range(2))
def test_an_answer_is_that_of_the_stamps(tree: Tree, seed: int) -> None:
    rng, known, done = random.Random(seed), 0, []
    for _ in range(40):
        done.append(_edit(rng))
        for asked in (["one"], ["two"]):
            said = intact.watched("build", asked, SUMS)
            assert said == intact.answer("build", asked, SUMS) or said is None, done
            known += said is not None
        if rng.random() < 0.5:
            tree.stamp()
            # The first question may be one for folders that are not watched yet; the next is answered.
            answered = [intact.watched("build", ["one", "two"], SUMS) for _ in range(3)]
            assert answered[-1] == ["one", "two"], done
    assert known > 5


def test_who_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert intact.watched("build", [], SUMS) is None
    Path("build", intact.ANSWERS).mkdir(parents=True)
    assert intact.watched("build", [], SUMS) is None
    with closing(socket.socket(socket.AF_UNIX)) as line:
        line.bind(f"build/{intact.ANSWERS}/socket")
        assert intact.watched("build", [], SUMS) is None, "nobody listens: it has died"
        line.listen()
        monkeypatch.setattr(intact, "_SOON", 0.05)
        assert intact.watched("build", [], SUMS) is None, "it does not answer"
        line.accept()[0].close()

        def said(text: bytes) -> list[str] | None:
            def answer() -> None:
                with line.accept()[0] as other:
                    while other.recv(4096):
                        pass
                    other.sendall(text)

            teller = threading.Thread(target=answer)
            teller.start()
            found = intact.watched("build", [], SUMS)
            teller.join()
            return found

        monkeypatch.setattr(intact, "_SOON", 20.0)
        assert said(b"one\ntwo\n.") == ["one", "two"]
        assert [said(text) for text in (b"", b"one", b"one\n", b"\xff\n.")] == [None] * 4
        monkeypatch.setattr(os, "getuid", lambda: -1)
        assert intact.watched("build", [], SUMS) is None, "it is another user's"


def test_what_is_no_question(tree: Tree) -> None:
    for question in (b"", b"(", b"1", b"([], {}, {})", b"(" * 500, b"\xff", b"(['one'], 7)", b"x" * 100_000):
        with closing(socket.socket(socket.AF_UNIX)) as line:
            line.settimeout(20)
            line.connect(f"build/{intact.ANSWERS}/socket")
            line.sendall(question)
            line.shutdown(socket.SHUT_WR)
            assert line.recv(100) == b""
    assert intact.watched("build", [], SUMS) == ["one"]


def test_one_watcher_answers(tree: Tree) -> None:
    other = answers.Answers("build")
    other.end()
    assert intact.watched("build", [], SUMS) == ["one"]


def test_where_not_all_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert answers.seen([str(tmp_path)])
    assert not answers.seen([str(tmp_path), str(tmp_path / "missing")])
    monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "1")
    assert not answers.seen([str(tmp_path)])
    monkeypatch.delenv("WATCHFILES_FORCE_POLLING")
    mounts = f"here / ext4 rw 0 0\nserver:/x {tmp_path}/far nfs4 rw 0 0\n"
    monkeypatch.setattr(Path, "read_text", lambda *_: mounts)
    (tmp_path / "far" / "below").mkdir(parents=True)
    assert answers.seen([str(tmp_path)])
    assert not answers.seen([str(tmp_path / "far" / "below")])
