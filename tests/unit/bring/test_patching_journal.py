"""Killed at every write, rename and deletion: all files end up all-old or all-new. Errors of the disk: all-old."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from neuralart import cli
from neuralart.errors import NeuralArtError
from neuralart.resources import package_parent
from neuralart_bring.patching import inplace, journal, mirror, plan
from neuralart_bring.patching.journal import STATE, Change
from support.boards.h747_app import FILES, INTERFACE, MAIN_C, MAIN_H, App, FakeNetwork, FakePool, tree

PRIMITIVES = ("write", "set_mode", "replace", "remove", "make_folder", "remove_folder")
THREE = (FakePool("DTCMRAM", 18428, 1), FakePool("AXIRAM", 311996, 2), FakePool("SDRAM", 266256, 3))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill leaves does not depend on it; only a power cut is another matter."""
    monkeypatch.setattr(os, "fsync", lambda _file: None)


class Killed(BaseException):
    """Stands for SIGKILL: nothing that runs after it changes the disk any more."""


class Faults:
    """Counts what is done to the disk, and stops it.

    Attributes:
        at: Number of the step that fails, from 0.
        how: ``before`` it is done, ``after``, or when ``half`` of a write is done; ``error`` and ``errors``: the disk
            says no, once or from then on.
        step: Steps so far.
    """

    def __init__(self, at: int, how: str) -> None:
        self.at, self.how, self.step, self.hit = at, how, -1, False

    def wrap(self, name: str, real: Callable[..., None]) -> Callable[..., None]:
        def call(*words: Any) -> None:
            self.step += 1
            if self.hit and self.how in ("before", "after", "half"):
                raise Killed
            if self.step == self.at or (self.hit and self.how == "errors"):
                self.hit = True
                if self.how in ("error", "errors"):
                    raise OSError(28, "No space left on device", str(words[0]))
                if self.how == "half" and name == "write":
                    words[0].write_bytes(words[1][: len(words[1]) // 2])
                elif self.how != "before":
                    real(*words)
                raise Killed
            real(*words)

        return call


def run_with(faults: Faults, work: Callable[[], Any]) -> bool:
    """Run until it ends or is stopped; was it stopped?"""
    reals = {name: getattr(journal, name) for name in PRIMITIVES}
    try:
        for name, real in reals.items():
            setattr(journal, name, faults.wrap(name, real))
        work()
    except Killed:
        pass
    except NeuralArtError:
        assert faults.how in ("error", "errors")
    finally:
        for name, real in reals.items():
            setattr(journal, name, real)
    return faults.hit


def every_step(how: str, prepare: Callable[[int], Callable[[], Any]]) -> Iterator[int]:
    """Run something once for each of its steps, stopped there."""
    for at in range(400):
        if not run_with(Faults(at, how), prepare(at)):
            assert at > 5, "nothing was injected"
            return
        yield at
    raise AssertionError("never ends")


def sources(app: App) -> dict[str, bytes]:
    return {path: (app.root / path).read_bytes() for path in FILES}


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, bytes], dict[str, bytes], dict[str, bytes]]:
    """The three files as they come, patched for crop, patched for padding."""
    app = App(tmp_path_factory.mktemp("versions"), FakeNetwork(THREE))
    made = [sources(app)]
    for mode in ("crop", "padding"):
        inplace.patch(app.request(mode))
        made.append(sources(app))
    assert len({tuple(sorted(each.items())) for each in made}) == 3
    return made[0], made[1], made[2]


def fresh(folder: Path, patched: str = "") -> App:
    app = App(folder, FakeNetwork(THREE))
    if patched:
        inplace.patch(app.request(patched))
    return app


@pytest.mark.long
@pytest.mark.parametrize("how", ["before", "half", "after"])
@pytest.mark.parametrize("start", ["", "crop"])
def test_killed_while_patching_in_place(how: str, start: str, versions: Any, tmp_path: Path) -> None:
    original, crop, padding = versions
    old = crop if start else original
    apps: dict[int, App] = {}

    def prepare(at: int) -> Callable[[], Any]:
        apps[at] = fresh(tmp_path / str(at), start)
        return lambda: inplace.patch(apps[at].request("padding"))

    seen = set()
    for at in every_step(how, prepare):
        app = apps[at]
        # The next run, whichever it is, sees only whole versions.
        if at % 3 == 0:
            inplace.patch(app.request("padding"))
            assert sources(app) == padding
        elif at % 3 == 1:
            inplace.restore(app.root)
            assert sources(app) == original
            assert not (app.root / STATE).exists()
        else:
            way = journal.recover(app.root)
            assert sources(app) in (old, padding), at
            assert way != "forward" or sources(app) == padding
            seen.add(way)
        inplace.patch(app.request("padding"))
        assert sources(app) == padding
        inplace.restore(app.root)
        assert sources(app) == original and not (app.root / STATE).exists()
    assert {"", "forward"} <= seen


@pytest.mark.long
@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_while_restoring(how: str, versions: Any, tmp_path: Path) -> None:
    original, crop, padding = versions
    apps: dict[int, App] = {}

    def prepare(at: int) -> Callable[[], Any]:
        apps[at] = fresh(tmp_path / str(at), "crop")
        return lambda: inplace.restore(apps[at].root)

    for at in every_step(how, prepare):
        app = apps[at]
        if at % 2:
            inplace.restore(app.root)
            assert sources(app) == original and not (app.root / STATE).exists()
        else:
            journal.recover(app.root)
            assert sources(app) in (original, crop)
            inplace.patch(app.request("padding"))
            assert sources(app) == padding
            inplace.restore(app.root)
            assert sources(app) == original


@pytest.mark.long
@pytest.mark.parametrize("how", ["before", "half", "after"])
def test_killed_while_copying_out_of_tree(how: str, tmp_path: Path) -> None:
    app = fresh(tmp_path / "app")
    outs = [tmp_path / "first", tmp_path / "second"]
    for out, mode in zip(outs, ("crop", "padding"), strict=True):
        mirror.write(plan.make(app.request(mode)), out)
    first, second = (tree(out) for out in outs)
    before = app.snapshot()
    wanted = plan.make(app.request("padding"))

    def prepare(at: int) -> Callable[[], Any]:
        if at % 2:  # an earlier copy is there, or nothing is
            mirror.write(plan.make(app.request("crop")), tmp_path / str(at))
        return lambda: mirror.write(wanted, tmp_path / str(at))

    for at in every_step(how, prepare):
        out = tmp_path / str(at)
        if at % 4 > 1:
            journal.recover(out) if out.exists() else None
            assert tree(out) in ((first if at % 2 else {}), second), at
        mirror.write(wanted, out)
        assert tree(out) == second
    assert app.snapshot() == before


@pytest.mark.long
@pytest.mark.parametrize("how", ["error", "errors"])
def test_a_disk_that_says_no(how: str, versions: Any, tmp_path: Path) -> None:
    original, _crop, padding = versions
    apps: dict[int, App] = {}

    def prepare(at: int) -> Callable[[], Any]:
        apps[at] = fresh(tmp_path / str(at))
        return lambda: inplace.patch(apps[at].request("padding"))

    for at in every_step(how, prepare):
        app = apps[at]
        if how == "error":
            # Undone at once; or so late that only rubbish could not be cleared away.
            assert sources(app) in (original, padding)
            assert not journal.pending(app.root)
        journal.recover(app.root)
        assert sources(app) in (original, padding)
        inplace.patch(app.request("padding"))
        assert sources(app) == padding
        inplace.restore(app.root)
        assert sources(app) == original and not (app.root / STATE).exists()


# The journal alone, smaller and deeper --------------------------------------------------------------------------------

OLD = {"a/x.h": b"old x", "y.c": b"old y"}
NEW = {"a/x.h": b"", "b/made.h": b"made"}
CHANGES = [Change(path, data) for path, data in NEW.items()] + [Change("y.c", None)]


def small(root: Path) -> Path:
    for path, data in OLD.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    return root


def content(root: Path) -> dict[str, bytes]:
    return {path: data for path, (data, _) in tree(root).items()}


@pytest.mark.parametrize("how", ["before", "half", "after"])
@pytest.mark.parametrize("prefer", [journal.FORWARD, journal.BACK])
def test_killed_again_while_recovering(how: str, prefer: str, tmp_path: Path) -> None:
    """Every step of a commit, then every step of the recovery from it, then a third run."""
    again = {"before": "after", "half": "half", "after": "before"}[how]
    ways = set()
    for at in every_step(how, lambda at: lambda: journal.commit(small(tmp_path / str(at)), CHANGES)):
        killed = content(tmp_path / str(at))
        for second in range(100):
            root = tmp_path / f"{at}-{second}"
            for path, data in killed.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(data)
            hit = run_with(Faults(second, again), lambda root=root: journal.recover(root, prefer))  # type: ignore[misc]
            ways.add(journal.recover(root, prefer))
            assert content(root) in (OLD, NEW), (at, second)
            if not hit:
                break
        else:
            raise AssertionError("never ends")
    assert prefer in ways


def test_new_bytes_that_are_lost_are_rolled_back(tmp_path: Path) -> None:
    root = small(tmp_path / "root")
    run_with(Faults(steps_to_journal(tmp_path / "steps") + 1, "before"), lambda: journal.commit(root, CHANGES))
    assert journal.pending(root)
    for path in sorted((root / STATE / "change" / "new").iterdir()):
        path.write_bytes(b"rubbish")
    assert journal.recover(root) == "back"
    assert content(root) == OLD


def steps_to_journal(tmp_path: Path) -> int:
    """The step that renames the journal into place."""
    for at in every_step("after", lambda at: lambda: journal.commit(small(tmp_path / str(at)), CHANGES)):
        if journal.pending(tmp_path / str(at)):
            return at
    raise AssertionError("there is no journal")


def test_a_file_that_somebody_changed_in_between(tmp_path: Path) -> None:
    at = steps_to_journal(tmp_path / "steps")
    root = small(tmp_path / "root")
    run_with(Faults(at, "after"), lambda: journal.commit(root, CHANGES))
    (root / "a/x.h").write_bytes(b"edited")
    before = content(root)
    with pytest.raises(NeuralArtError, match=r"a patch was interrupted, and since then a/x\.h changed \(say --force"):
        journal.recover(root)
    assert content(root) == before
    assert journal.recover(root, force=True) == "forward"
    assert content(root) == NEW


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": 9, "files": []}',
        '{"schema": 1, "files": [{"path": "../x", "old": "", "new": ""}]}',
        '{"schema": 1, "files": [{"path": "/x", "old": "", "new": ""}]}',
        '{"schema": 1, "files": [{"path": "x", "old": 1, "new": ""}]}',
    ],
)
def test_a_journal_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    (tmp_path / STATE / "change").mkdir(parents=True)
    (tmp_path / STATE / "change" / "journal.json").write_text(text)
    with pytest.raises(NeuralArtError, match="the journal of an interrupted patch cannot be read"):
        journal.recover(tmp_path)
    assert journal.pending(tmp_path)


def test_links_are_not_replaced_by_files(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.h"
    elsewhere.write_bytes(b"old")
    root = tmp_path / "root"
    root.mkdir()
    (root / "x.h").symlink_to(elsewhere)
    (root / "folder").symlink_to(tmp_path)
    for path in ("x.h", "folder/elsewhere.h", "../elsewhere.h"):
        with pytest.raises(NeuralArtError, match=r"link|not within"):
            journal.commit(root, [Change(path, b"new")])
    assert elsewhere.read_bytes() == b"old" and (root / "x.h").is_symlink() and not (root / STATE).exists()


def test_permissions_are_kept(tmp_path: Path) -> None:
    root = small(tmp_path)
    (root / "a/x.h").chmod(0o600)
    (root / "y.c").chmod(0o444)
    journal.commit(root, [Change("a/x.h", b"1"), Change("y.c", b"2"), Change("new.c", b"3", root / "a/x.h")])
    assert [(root / name).stat().st_mode & 0o777 for name in ("a/x.h", "y.c", "new.c")] == [0o600, 0o444, 0o600]


# A record, edits, and kill -9 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 2}', '{"schema": 1, "list": "x", "files": {"a": {"b": 1}}}'])
def test_a_record_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    app = fresh(tmp_path, "crop")
    (app.root / inplace.RECORD).write_text(text)
    for work in (lambda: inplace.patch(app.request("fit")), lambda: inplace.restore(app.root)):
        before = sources(app)
        with pytest.raises(NeuralArtError, match=r"the record of earlier patches .*original"):
            work()
        assert sources(app) == before


def test_other_edits_survive_patch_and_restore(versions: Any, tmp_path: Path) -> None:
    """Restoring takes back what patches wrote, not what their users wrote."""
    original, _, _ = versions
    app = fresh(tmp_path, "crop")
    app.edit(MAIN_C, "int main(void)", "/* mine */\nint main(void)")
    app.edit(MAIN_H, "#define QVGA_RES_WIDTH", "#define MINE 1\n#define QVGA_RES_WIDTH")
    inplace.patch(app.request("padding"))
    assert "/* mine */" in app.read(MAIN_C) and "#define MINE 1" in app.read(MAIN_H)
    inplace.restore(app.root)
    assert app.read(MAIN_C).replace("/* mine */\n", "").encode() == original[MAIN_C]
    assert app.read(MAIN_H).replace("#define MINE 1\n", "").encode() == original[MAIN_H]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    static", "static"),
        ("static uint8_t NN_Act", "static  uint8_t NN_Act"),
        ("/* neuralart patch ", "/* mine */\n/* neuralart patch "),
        (", };\n", ", };\nint mine;\n"),
        ("/* neuralart patch ", "/* was neuralart patch "),
    ],
)
def test_a_block_that_was_changed_by_hand(old: str, new: str, versions: Any, tmp_path: Path) -> None:
    app = fresh(tmp_path, "crop")
    if old not in app.read(MAIN_C):
        app.edit(MAIN_C, "static uint8_t", "    static uint8_t")
    else:
        app.edit(MAIN_C, old, new)
    before = app.snapshot()
    with pytest.raises(NeuralArtError, match=r"the generated block was changed by hand: .*--force"):
        inplace.patch(app.request("padding"))
    with pytest.raises(NeuralArtError, match=r"'block' was changed by hand since the patch \(say --force"):
        inplace.restore(app.root)
    assert app.snapshot() == before
    inplace.patch(app.request("padding", force=True))
    assert sources(app) == versions[2]
    inplace.restore(app.root)
    if old != "/* neuralart patch " or not new.startswith("/* was"):
        assert sources(app) == versions[0]


def test_a_macro_that_was_changed_by_hand_is_the_users(versions: Any, tmp_path: Path) -> None:
    app = fresh(tmp_path, "crop")
    app.edit(MAIN_H, "#define CAM_RES_WIDTH (QVGA_RES_HEIGHT)", "#define CAM_RES_WIDTH (100)")
    with pytest.raises(NeuralArtError, match=r"main\.h:\d+: 'macro CAM_RES_WIDTH' was changed by hand"):
        inplace.restore(app.root)
    inplace.patch(app.request("padding"))
    assert sources(app) == versions[2]
    inplace.restore(app.root)
    assert "#define CAM_RES_WIDTH (100)" in app.read(MAIN_H)


def test_line_ends_that_git_changed_are_no_edit(versions: Any, tmp_path: Path) -> None:
    app = fresh(tmp_path, "crop")
    for path in FILES:
        (app.root / path).write_bytes((app.root / path).read_bytes().replace(b"\n", b"\r\n"))
    inplace.patch(app.request("padding"))
    assert {p: d.replace(b"\r\n", b"\n") for p, d in sources(app).items()} == versions[2]
    inplace.restore(app.root)
    assert {p: d.replace(b"\r\n", b"\n") for p, d in sources(app).items()} == versions[0]


def test_backups_are_those_from_before_the_first_patch(versions: Any, tmp_path: Path) -> None:
    app = fresh(tmp_path, "crop")
    inplace.patch(app.request("padding"))
    for path in FILES:
        assert (app.root / inplace.BACKUP / path).read_bytes() == versions[0][path]
    assert (app.root / STATE / ".gitignore").read_text() == "*\n"
    record = json.loads((app.root / inplace.RECORD).read_text())
    assert sorted(record["files"]) == sorted(FILES)
    assert str(app.folder) not in json.dumps(record)
    assert record["files"][INTERFACE]["block"]["original"].startswith(
        "#define AI_NETWORK_INPUTS_IN_ACTIVATIONS_INDEX 0"
    )


KILLER = """
import os, signal, sys
from neuralart import cli
from neuralart_bring.patching import journal
at, step = int(sys.argv[1]), [-1]
def wrap(real):
    def call(*words):
        step[0] += 1
        if step[0] == at:
            if real.__name__ == "write":
                words[0].write_bytes(words[1][: len(words[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        real(*words)
    return call
for name in ("write", "set_mode", "replace", "remove", "make_folder", "remove_folder"):
    setattr(journal, name, wrap(getattr(journal, name)))
sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def journal_step(tmp_path_factory: pytest.TempPathFactory) -> int:
    """The step of a patch for crop that renames the journal into place: from there on it is decided."""
    place = tmp_path_factory.mktemp("step")
    for at in range(100):
        app = fresh(place / str(at))
        run_with(Faults(at, "after"), lambda app=app: inplace.patch(app.request("crop")))  # type: ignore[misc]
        if journal.pending(app.root):
            return at
    raise AssertionError("there is no journal")


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("steps", [-9, -1, 0, 1, 8, 11, 12, 13, 14, 15])
def test_kill_9(
    steps: int, journal_step: int, versions: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real thing, through the command: before step so many, counted from the journal's."""
    app = fresh(tmp_path)
    environment = {**os.environ, "PYTHONPATH": str(package_parent())}
    words = ["tool", "patch", str(app.folder), "--network", str(app.network), "--aspect-ratio", "crop"]
    killed = [sys.executable, "-c", KILLER, str(journal_step + steps), *words, "--in-place"]
    assert subprocess.run(killed, env=environment, check=False).returncode == -signal.SIGKILL
    pending = journal.pending(app.root)
    assert pending if 0 < steps < 14 else sources(app) == versions[steps > 0]
    mixed = sources(app) not in versions[:2]
    assert mixed is (steps in (12, 13)), [sources(app)[path] == versions[1][path] for path in FILES]
    # What comes after it is another process only in that it knows nothing of the first.
    assert cli.main([*words, "--in-place", "--check"]) == (pending or sources(app) != versions[1])
    assert ("was interrupted" in capsys.readouterr().err) is pending
    code = cli.main([*words, "--in-place"] if steps % 2 else [*words[:3], "--restore"])
    assert code == 0, capsys.readouterr().err
    assert sources(app) == versions[1 if steps % 2 else 0]
