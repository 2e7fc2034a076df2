"""What a watcher answers to ``./sconsw`` from memory: what the stamps say, and nothing that it cannot know."""

from __future__ import annotations

import json
import os
import random
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import pytest

from neuralart import intact

pytest.importorskip("SCons")
from neuralart.scons import answers

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
        world = {"default": ["one"], "words": [], "environ": SUMS, "files": [], "folders": []}
        data = {"format": intact.FORMAT, "build": "build", "worlds": [world], "variants": rows}
        data["files"] = [[name, *intact.state(name)] for name in files]
        data["folders"] = [["src", intact.folder_time("src"), intact.names_in("src")]]
        new = Path("build/.stamps.new")
        new.write_text(json.dumps(data), "utf-8")
        new.rename(Path("build", intact.NAME))


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tree]:
    monkeypatch.chdir(tmp_path)
    # Questions of tests wait: the machine may have much to do.
    monkeypatch.setattr(intact, "_SOON", 20.0)
    if not answers.seen([str(tmp_path)]):
        pytest.skip("this system does not tell of all changes here")
    made = Tree()
    yield made
    made.here.end()


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


def test_what_is_hard_to_see(tree: Tree) -> None:
    """Each of these was missed by an earlier watcher."""

    def asked() -> bool:
        return intact.watched("build", [], SUMS) == ["one"]

    # A folder that another one replaces, with the same files.
    shutil.copytree("src", "copy", symlinks=True)
    Path("src").rename("old")
    Path("copy").rename("src")
    assert not asked()
    tree.stamp()
    assert asked() and asked()
    Path("src/deep/a.c").write_text("b", "utf-8")
    assert not asked()
    # A chain of links, in whose middle one is turned.
    for name in ("v1", "v2"):
        Path("versions", name).mkdir(parents=True)
        Path("versions", name, "b.c").write_text(name, "utf-8")
    Path("versions/current").symlink_to("v1")
    Path("src/link.c").unlink()
    Path("src/link.c").symlink_to("../versions/current/b.c")
    tree.stamp()
    assert asked() and asked()
    Path("versions/next").symlink_to("v2")
    Path("versions/next").rename("versions/current")
    assert not asked()
    # More events than the kernel keeps.
    tree.stamp()
    assert asked() and asked()
    limit = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text("ascii"))
    for number in range(limit // 2 + 100):
        os.utime("versions/v2/b.c" if number % 2 else "build/one.o", (0, 0))
    Path("src/deep/a.c").write_text("c", "utf-8")
    assert not asked()
    # Beside what counts, nothing counts: not even in the folders above.
    tree.stamp()
    assert asked()
    known = dict(tree.here._known)
    Path("build/other.o").write_text("", "utf-8")
    Path("versions/v3").mkdir()
    assert asked() and tree.here._known == known and known


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


@pytest.mark.parametrize("seed", range(4))
def test_an_answer_is_that_of_the_stamps(tree: Tree, seed: int) -> None:
    rng, known, done = random.Random(seed), 0, []
    for _ in range(100):
        done.append(_edit(rng))
        for asked in (["one"], ["two"]):
            said = intact.watched("build", asked, SUMS)
            assert said == intact.answer("build", asked, SUMS), done
            known += said is not None
        if rng.random() < 0.5:
            tree.stamp()
            assert intact.watched("build", ["one", "two"], SUMS) == ["one", "two"], done
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


def test_a_watcher_that_is_stopped_blocks_none(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.here.end()
    Path("build", intact.ANSWERS).mkdir()
    with ExitStack() as opened:
        stopped = opened.enter_context(closing(socket.socket(socket.AF_UNIX)))
        stopped.bind(f"build/{intact.ANSWERS}/socket")
        stopped.listen(0)
        with suppress(BlockingIOError):
            while True:
                line = opened.enter_context(closing(socket.socket(socket.AF_UNIX)))
                line.setblocking(False)
                line.connect(f"build/{intact.ANSWERS}/socket")
        assert intact.watched("build", [], SUMS) is None
        monkeypatch.setattr(answers, "_SECONDS", 0.05)
        tree.here = answers.Answers("build")
        monkeypatch.setattr(answers, "_SECONDS", 20.0)
        assert intact.watched("build", [], SUMS) == ["one"]


def test_where_not_all_is_seen(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mounts = f"here / ext4 rw 0 0\nserver:/x {str(tmp_path).replace(' ', chr(92) + '040')}/far nfs4 rw 0 0\n"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", lambda *_: mounts)
        assert answers.seen([str(tmp_path)])
        assert not answers.seen([str(tmp_path), str(tmp_path / "far" / "below")])
    with monkeypatch.context() as patch:
        patch.setattr(answers, "seen", lambda folders: False)
        assert intact.watched("build", [], SUMS) is None
    # It is not tried again at each question.
    assert intact.watched("build", [], SUMS) is None
    monkeypatch.setattr(answers, "_AGAIN", 0.0)
    assert intact.watched("build", [], SUMS) == ["one"]
